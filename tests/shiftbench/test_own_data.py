"""Scores and the report on a CSV of one's own, without a dataset folder."""

import json
import tempfile
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from shiftbench.builders.building.own import build_own
from shiftbench.builders.building.own_columns import Columns
from shiftbench.checking.own_data import score_own_data
from shiftbench.cli.command import app
from shiftbench.scoring.scores.score import score_file
from shiftbench.validation.notices import DataWarning
from shiftbench.validation.report import InvalidInput, UnknownChoice
from tests.leaderboard.conftest import SCRIPT, Visible

COLUMNS = Columns(domain="topic", label="verdict", text=("body",), id="key")
DOMAINS = ("Sci Fi", "toys", "garden & home")


def rows(n: int = 30) -> pl.DataFrame:
    """Rows with two labels a domain, keys in words, one text with markup in it."""
    found = [
        {"key": f"k{domain[:2]}-{number}", "topic": domain, "verdict": "good" if number % 2 else "bad",
         "body": f"{SCRIPT if number == 3 else 'a'} {domain} thing, seen {number} times"}
        for domain in DOMAINS
        for number in range(n)
    ]  # fmt: skip
    return pl.DataFrame(found)


def predictions(frame: pl.DataFrame, every: int = 7, sources: tuple[str, ...] = DOMAINS) -> pl.DataFrame:
    """Predict the right label but for each so-many-eth row away from home."""
    parts = [
        frame.select(
            source=pl.lit(source),
            id="key",
            prediction=pl.when((pl.int_range(pl.len()) % every == 0) & (pl.col("topic") != source))
            .then(pl.lit("good"))
            .otherwise("verdict"),
        )
        for source in sources
    ]
    return pl.concat(parts)


def write(folder: Path, frame: pl.DataFrame, predicted: pl.DataFrame) -> tuple[Path, Path]:
    frame.write_csv(folder / "my.csv")
    predicted.write_csv(folder / "preds.csv")
    return folder / "my.csv", folder / "preds.csv"


def refusal(folder: Path, frame: pl.DataFrame, predicted: pl.DataFrame, columns: Columns = COLUMNS) -> str:
    csv, preds = write(folder, frame, predicted)
    with pytest.raises(InvalidInput) as refused, score_own_data(preds, csv, columns):
        pass
    return str(refused.value).replace(f"{folder}/", "")


def test_scores_are_those_counted_by_hand(tmp_path: Path) -> None:
    frame = rows()
    csv, preds = write(tmp_path, frame, predictions(frame))
    with score_own_data(preds, csv, COLUMNS) as found:
        (task,) = found.scores.tasks
        place = found.folder.path
    assert task.domains == ("garden-home", "sci-fi", "toys")
    assert task.summary.complete
    assert all(own.score.value == 1.0 and own.n == 30 for own in task.in_domain)
    joined = predictions(frame).join(frame, left_on="id", right_on="key").filter(source="toys", topic="Sci Fi")
    shift = next(shift for shift in task.shifts if (shift.source, shift.target) == ("toys", "sci-fi"))
    right = (joined["prediction"] == joined["verdict"]).mean()
    assert shift.secondary["accuracy"] == pytest.approx(right)
    assert right < 1
    assert not place.exists(), "the rows' folder must go"


def test_rows_that_repeat_leave_with_their_predictions(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    frame = rows()
    again = frame.head(2).with_columns(pl.col("key") + "-again")
    every = pl.concat([frame, again])
    csv, preds = write(tmp_path, every, predictions(every))
    with caplog.at_level("INFO", "shiftbench"), score_own_data(preds, csv, COLUMNS) as found:
        assert "2 rows" in caplog.text
        assert found.scores.tasks[0].in_domain[1].n == 30


def test_a_split_column_says_which_rows_are_tests(
    tmp_path: Path, word_encoder: object, wording: SnapshotAssertion
) -> None:
    frame = rows(40).with_columns(
        part=pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.lit("train")).otherwise(pl.lit("test"))
    )
    tests = frame.filter(part="test")
    columns = Columns("topic", "verdict", ("body",), "key", "part")
    csv, preds = write(tmp_path, frame, predictions(tests))
    with score_own_data(preds, csv, columns, encoder=word_encoder) as found:  # type: ignore[arg-type]
        assert [own.n for own in found.scores.tasks[0].in_domain] == [20, 20, 20]
        assert found.scores.tasks[0].shifts[0].depth_f1
    train = frame.filter(part="train")
    assert refusal(tmp_path, frame, predictions(train), columns) == wording
    write(tmp_path, frame, pl.concat([predictions(tests), predictions(train)]))
    with (
        pytest.warns(DataWarning, match="180 predictions"),
        score_own_data(preds, csv, columns) as found,
    ):
        assert [own.n for own in found.scores.tasks[0].in_domain] == [20, 20, 20]


def test_depths_without_train_rows_are_refused(tmp_path: Path, word_encoder: object) -> None:
    csv, preds = write(tmp_path, rows(), predictions(rows()))
    with (
        pytest.raises(InvalidInput, match="train"),
        score_own_data(preds, csv, COLUMNS, encoder=word_encoder),  # type: ignore[arg-type]
    ):
        pass


def test_without_an_id_column_ids_are_those_of_a_build(tmp_path: Path) -> None:
    frame = rows(60).select(domain="topic", label="verdict", text="body")
    frame.write_csv(tmp_path / "my.csv")
    from shiftbench.builders.folder.reader import DatasetFolder

    build_own("tickets", tmp_path / "my.csv", tmp_path / "built")
    folder = DatasetFolder.open(tmp_path / "built")
    names = dict(enumerate(folder.task("tickets").labels))
    predicted = folder.test("tickets").select(
        "id", source=pl.lit("toys"), prediction=pl.col("label").replace_strict(names, return_dtype=pl.String)
    )
    predicted.write_csv(tmp_path / "preds.csv")
    with score_own_data(tmp_path / "preds.csv", tmp_path / "my.csv", Columns("domain", "label")) as found:
        assert found.scores == score_file(tmp_path / "preds.csv", folder)


def test_refusals_are_in_the_words_of_the_csv(tmp_path: Path, wording: SnapshotAssertion) -> None:
    frame = rows()
    said = {
        name: refusal(tmp_path, frame, predictions(frame), columns)
        for name, columns in {
            "no such domain column": Columns("topc", "verdict", ("body",), "key"),
            "no such id column": Columns("topic", "verdict", "body", "ky"),
            "no text column": Columns("topic", "verdict", (), "key"),
            "one column for two": Columns("topic", "topic", ("body",), "key"),
        }.items()
    }
    said["an id repeated"] = refusal(tmp_path, frame.with_columns(key=pl.lit("same")), predictions(frame))
    said["an unknown source"] = refusal(tmp_path, frame, predictions(frame, sources=("toys", "cars")))
    said["an unknown label"] = refusal(tmp_path, frame, predictions(frame).with_columns(prediction=pl.lit("goood")))
    said["ids of nowhere"] = refusal(tmp_path, frame, predictions(frame), Columns("topic", "verdict", ("body",)))
    said["a row missing"] = refusal(tmp_path, frame, predictions(frame).slice(1))
    assert said == wording


def test_joined_sources_are_named_as_the_csv_names_domains(tmp_path: Path) -> None:
    frame = rows()
    csv, preds = write(tmp_path, frame, predictions(frame, sources=("toys+Sci Fi",)))
    with score_own_data(preds, csv, COLUMNS) as found:
        assert [shift.source for shift in found.scores.tasks[0].shifts] == ["sci-fi+toys"]


def test_the_command_writes_a_report_that_needs_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Other tests and other programs write into the machine's own folder for temporary files.
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    frame = rows()
    csv, preds = write(tmp_path, frame, predictions(frame))
    options = [
        "--columns",
        "domain=topic,label=verdict,text=body,id=key",
    ]
    report = tmp_path / "report.html"
    command = ["score", str(preds), "--data", str(csv), *options, "--report", str(report), "--json", "-"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["tasks"][0]["summary"]["complete"]
    text = report.read_text(encoding="utf-8")
    shown = Visible(text)
    assert "script" not in shown.tags
    inside = [url.removeprefix("#") for url in shown.links if url.startswith("#")]
    assert not [url for url in shown.links if not url.startswith(("data:", "#"))]
    assert inside
    assert not [name for name in inside if f'id="{name}"' not in text]
    assert text.count("url(") == text.count('url("data:')
    for words in ("preds.csv on my.csv", "SD = SS − ST", "Every shift", "What is missing", "kSc-"):
        assert words in shown.text, words
    assert {path.name for path in tmp_path.iterdir()} == {"my.csv", "preds.csv", "report.html", "temporary"}
    assert not list(temporary.glob("shiftbench-*"))


def test_options_of_a_csv_are_refused_for_a_folder(tmp_path: Path) -> None:
    command = ["score", "p.csv", "--data", str(tmp_path), "--columns", "id=key"]
    with pytest.raises(UnknownChoice, match="--columns:"):
        CliRunner().invoke(app, command, catch_exceptions=False)
    with pytest.raises(UnknownChoice, match="--min-texts:"):
        CliRunner().invoke(app, [*command[:-2], "--min-texts", "5"], catch_exceptions=False)
    csv, preds = write(tmp_path, rows(), predictions(rows()))
    with pytest.raises(InvalidInput, match="--columns domain=NAME"):
        CliRunner().invoke(app, ["score", str(preds), "--data", str(csv)], catch_exceptions=False)
