"""Both doors to one model's questions, command and notebook: the same figures from files and from tables in memory."""

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

import shiftbench as sb
from shiftbench.cli.command import app
from tests.refusals import refusal

LABELS = ("bad", "good", "so-so")
OPTIONS = "domain=where,label=mark,text=said,id=key"
COLUMNS: dict[str, Any] = {"domain": "where", "label": "mark", "text": "said", "id": "key"}


def random_rows(seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows of a file of one's own, and one model's predictions: sizes, domains, labels and groups by chance."""
    rng = np.random.default_rng(seed)
    labels, rows, predicted = LABELS[: rng.integers(2, 4)], [], []
    names = rng.permutation(["Über uns", "a & b", "shop", "Home, sweet", "x" * 40])[: rng.integers(2, 6)].tolist()
    grouped = bool(rng.integers(2))
    for name in names:
        right = rng.uniform(0.5, 0.99)
        for number in range(int(rng.integers(35, 120))):
            key, mark = f"{name}/{number}", str(rng.choice(labels))
            rows.append((key, name, mark, f"{mark if rng.random() < 0.7 else 'hm'} {name} {number}", f"g{number // 3}"))
            said = mark if rng.random() < right else str(rng.choice(labels))
            predicted.append((names[0], key, said, float(rng.uniform(0.4, 1.0))))
    frame = pl.DataFrame(rows, schema=["key", "where", "mark", "said", "group"], orient="row")
    return frame if grouped else frame.drop("group"), pl.DataFrame(
        predicted, schema=["source", "id", "prediction", "confidence"], orient="row"
    )


def of_command(place: Path, *arguments: str) -> Any:
    out = place / "out.json"
    result = CliRunner().invoke(app, [*arguments, "--json", str(out)])
    assert result.exit_code in (0, 3), result.output
    return json.loads(out.read_text(encoding="utf-8"))


def assert_same(one: Any, other: Any, path: str = "") -> None:
    """Compare JSON to 1e-9; what files are called is their own, and each door has its words for the next command."""
    own = ("model", "predictions", "baseline", "sha256", "made_with", "created", "command")
    if path.rsplit("/", 1)[-1] in own:
        return
    if isinstance(one, dict):
        assert set(one) == set(other), path
        for name in one:
            assert_same(one[name], other[name], f"{path}/{name}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), path
        for number, each in enumerate(one):
            assert_same(each, other[number], f"{path}/{number}")
    elif isinstance(one, float) and isinstance(other, float):
        assert math.isclose(one, other, rel_tol=0, abs_tol=1e-9), path
    else:
        assert one == other, path


def figures(found: Any) -> Iterator[float | int | None]:
    """List the numbers of JSON, in its order."""
    for each in found.values() if isinstance(found, dict) else found:
        if isinstance(each, dict | list):
            yield from figures(each)
        elif not isinstance(each, str):
            yield each


def compare_doors(seed: int, place: Path) -> None:
    """Ask check, gate, score and compare the same questions through the command and in memory."""
    frame, predicted = random_rows(seed)
    home, data, file = predicted["source"][0], place / "mine.csv", place / "preds.csv"
    frame.write_csv(data)
    predicted.write_csv(file)
    own = ("--data", str(data), "--columns", OPTIONS)
    found = of_command(place, "check", str(file), *own, "--report", str(place / "report.html"), "--trained-on", home)
    assert_same(found, sb.check(predicted, frame, trained_on=home, **COLUMNS).to_json())
    limits = ("--max-drop", "4", "--min-score", "60")
    gated = of_command(place, "gate", str(file), *own, *limits)
    assert_same(gated, sb.gate(predicted, frame.to_pandas(), max_drop=4, min_score=60, **COLUMNS).to_json())
    scored = of_command(place, "score", str(file), *own)
    assert_same(scored, sb.score(predicted, frame, **COLUMNS).to_json())
    other = predicted.with_columns(prediction=pl.col("prediction").shift(-1, fill_value=pl.col("prediction").first()))
    other.write_csv(place / "other.csv")
    claim = of_command(place, "compare", str(file), str(place / "other.csv"), *own, "--names", "a,b")
    compared = sb.compare({"a": predicted, "b": other}, frame, **COLUMNS)
    # A claim calls domains as a dataset does, for whoever verifies it.
    assert_same(list(figures(claim["comparisons"])), list(figures(compared.to_json())))


@pytest.mark.parametrize("seed", range(2))
def test_both_doors_find_the_same(seed: int, tmp_path: Path) -> None:
    compare_doors(seed, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 22))
def test_both_doors_find_the_same_on_twenty_files(seed: int, tmp_path: Path) -> None:
    compare_doors(seed, tmp_path)


def test_what_a_check_kept_of_rows_without_ids_and_splits_is_scored_on_all_of_them(tmp_path: Path) -> None:
    """A build would split these rows; a check tests on each, and its predictions are of each."""
    rows = random_rows(5)[0].drop("key", "group", strict=False)
    named: dict[str, Any] = {"domain": "where", "label": "mark", "text": "said"}
    found = sb.check(
        lambda texts: [text.split()[0].replace("hm", LABELS[0]) for text in texts], rows, probes=False, **named
    )
    kept = found.predictions
    assert kept.height > 0.9 * rows.height
    scored = sb.score(kept, rows, **named)
    (task,) = scored.scores.tasks
    assert sum(shift.n for shift in task.shifts) == kept.height
    rows.write_csv(tmp_path / "rows.csv")
    kept.write_parquet(tmp_path / "kept.parquet")
    gate = ["gate", str(tmp_path / "kept.parquet"), "--data", str(tmp_path / "rows.csv"), "--min-score", "2"]
    result = CliRunner().invoke(app, [*gate, "--columns", "domain=where,label=mark,text=said"])
    assert result.exit_code == 0, result.output


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    return random_rows(3)[0]


def fitted(rows: pl.DataFrame) -> Any:
    return make_pipeline(CountVectorizer(), LogisticRegression()).fit(rows["said"].to_list(), rows["mark"].to_list())


def test_a_fitted_pipeline_a_function_and_a_list_are_models(rows: pl.DataFrame) -> None:
    model = fitted(rows)
    predicted = model.predict(rows["said"].to_list())
    by_model = sb.check(model, rows, **COLUMNS)
    for same in (
        sb.check(lambda texts: list(model.predict(texts)), rows, **COLUMNS),
        sb.check(predicted, rows, **COLUMNS),
        sb.check(predicted.tolist(), rows.drop("key"), domain="where", label="mark", text="said"),
    ):
        # A list has no probabilities, so no figures of confidence.
        assert [each.score for each in same.found.domains] == [each.score for each in by_model.found.domains]
    assert by_model.found.domains[0].confidence
    assert "macro-F1" in repr(by_model)


def test_wrong_labels_are_named_before_anything_is_predicted(rows: pl.DataFrame) -> None:
    asked: list[str] = []

    class Never:
        classes_ = np.array(["yes", "no"])

        def predict(self, texts: list[str]) -> list[str]:
            asked.extend(texts)
            return ["yes"] * len(texts)

    with pytest.raises(sb.InvalidInput, match="yes"):
        sb.check(Never(), rows, **COLUMNS)
    assert not asked


def test_refusals_name_the_argument(rows: pl.DataFrame, wording: SnapshotAssertion) -> None:
    given = ["good"] * len(rows)
    said = {
        "one prediction": refusal(sb.InvalidInput, sb.check, ["good"], rows, **COLUMNS),
        "a limit": refusal(sb.InvalidInput, sb.gate, given, rows, **COLUMNS),
        "a setting": refusal(sb.InvalidInput, sb.check, list, rows, settings={"max_lenght": 3}, **COLUMNS),
        "a period": refusal(sb.InvalidInput, sb.score, given, rows, **COLUMNS | {"by": "decade"}),
    }
    for name in ("domain", "id", "label", "group"):
        said[name] = refusal(sb.InvalidInput, sb.score, given, rows, **{**COLUMNS, name: "wher"})
    assert said == wording


def test_nothing_is_printed_and_a_result_has_many_faces(
    rows: pl.DataFrame, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    found = sb.check(fitted(rows), rows, **COLUMNS)
    shown = [repr(found), found._repr_html_(), found.to_markdown(), found.to_latex(), found.to_html()]
    assert capfd.readouterr() == ("", "")
    domain, score = rows["where"][-1], f"{100 * (found.found.domains[-1].score.value or 0):.1f}"
    assert all(score in each for each in shown)
    assert domain in shown[0]
    (table,) = found.tables.values()
    assert len(table) == len(found.found.domains)
    assert found.to_html(tmp_path / "report.html") == (tmp_path / "report.html").read_text(encoding="utf-8")


def test_forecast_label_and_plan(rows: pl.DataFrame, tmp_path: Path) -> None:
    away = rows["where"].unique().sort()[-1]
    home = rows.filter(pl.col("where") != away)["where"][0]
    data = rows.with_columns(mark=pl.when(pl.col("where") != away).then("mark"))
    model = fitted(rows)
    chances = model.predict_proba(rows["said"].to_list())
    predicted = pl.DataFrame(
        {
            "source": [home] * len(rows),
            "id": rows["key"],
            "prediction": [str(model.classes_[row.argmax()]) for row in chances],
            "confidence": chances.max(axis=1),
            "probabilities": chances.tolist(),
        }
    )
    forecasts = sb.forecast(predicted, data, target=away, **COLUMNS)
    (shift,) = [shift for task in forecasts.forecasts.tasks for shift in task.shifts if shift.target == away]
    assert shift.forecasts
    assert away in repr(forecasts)
    assert away in forecasts.to_html()
    drawn = sb.label(predicted, data, 10, domains=away, **COLUMNS)
    assert drawn.table["mark"].null_count() == len(drawn.table)
    assert away in repr(drawn)
    drawn.write(tmp_path / "to_label.csv")
    data.write_csv(tmp_path / "mine.csv")
    predicted.write_parquet(tmp_path / "preds.parquet")
    typed = ["label", str(tmp_path / "preds.parquet"), "--data", str(tmp_path / "mine.csv"), "--columns", OPTIONS]
    out = tmp_path / "typed.csv"
    result = CliRunner().invoke(app, [*typed, "--budget", "10", "--domain", away, "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert out.read_text(encoding="utf-8") == (tmp_path / "to_label.csv").read_text(encoding="utf-8")
    folder = sb.build_own(rows, out=tmp_path / "built", **{name: COLUMNS[name] for name in ("domain", "label", "text")})
    planned = sb.plan(folder, 3, assume={"accuracy": 0.8})
    assert planned.plan.runs == 3
    answers = sb.predict(model, folder, source=folder.test("own")["domain"][0])
    assert sb.score(answers, folder).scores.tasks[0].shifts


def test_columns_come_as_they_are(rows: pl.DataFrame, tmp_path: Path) -> None:
    model = fitted(rows)
    chances = model.predict_proba(rows["said"].to_list())
    predicted = pl.DataFrame({"id": rows["key"], "source": "elsewhere", "prediction": model.predict(rows["said"])})
    lists = predicted.with_columns(probabilities=pl.Series(chances.tolist()))
    columns = {f"probability_{name}": chances[:, code] for code, name in enumerate(model.classes_)}
    wide = predicted.with_columns(**dict(reversed(columns.items())), comment=pl.lit("checked twice"))
    expected = sb.check(lists, rows, **COLUMNS).to_json()
    wide.write_csv(tmp_path / "wide.csv")
    wide.write_ndjson(tmp_path / "wide.jsonl")
    for given in (wide, tmp_path / "wide.csv", tmp_path / "wide.jsonl"):
        with pytest.warns(sb.DataWarning, match="comment") as said:
            found = sb.check(given, rows, **COLUMNS)
        assert len(said) == 1
        assert_same(expected, found.to_json())
        with pytest.warns(sb.DataWarning, match="comment") as said:
            sb.score(given, rows, **COLUMNS)
        assert len(said) == 1
    with pytest.raises(sb.InvalidInput, match="'confidence'"):
        sb.check(predicted.with_columns(confidense=pl.lit(0.5)), rows, **COLUMNS)


def test_a_list_may_hold_the_probabilities_of_all_labels(rows: pl.DataFrame) -> None:
    model = fitted(rows)
    each = model.predict_proba(rows["said"].to_list())
    chances = [dict(zip(reversed(model.classes_), reversed(row), strict=True)) for row in each.tolist()]
    found = sb.check(chances, rows, **COLUMNS).to_json()
    assert_same(sb.check(model, rows, **COLUMNS).to_json()["domains"], found["domains"])
    assert sb.gate(chances, rows, **COLUMNS, min_score=2).passed
    assert sb.score(chances, rows, **COLUMNS).scores.tasks[0].confidence is not None


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_predictions_without_a_source_are_of_a_model_trained_elsewhere(
    rows: pl.DataFrame, ending: str, tmp_path: Path
) -> None:
    predicted = pl.DataFrame({"id": rows["key"], "prediction": rows["mark"].reverse()})
    path = tmp_path / f"p.{ending}"
    {"csv": predicted.write_csv, "jsonl": predicted.write_ndjson, "parquet": predicted.write_parquet}[ending](path)
    expected = sb.score(predicted.with_columns(source=pl.lit("elsewhere")), rows, **COLUMNS)
    assert_same(expected.to_json(), sb.score(path, rows, **COLUMNS).to_json())
    assert sb.gate(path, rows, **COLUMNS, trained_on=rows["where"][0], max_drop=99).passed


@pytest.mark.parametrize("write", [json.dumps, repr])
def test_lists_in_cells_of_a_csv_are_lists(write: Callable[[list[str]], str], tmp_path: Path) -> None:
    rng, cells = np.random.default_rng(0), []
    for number in range(160):
        tokens = ["it's", f"w{number}", '"quoted"', "x, y"]
        tags = [str(rng.choice(["O", "B-PER"])) for _ in tokens]
        cells.append((f"k{number}", ("mail", "web")[number % 2], write(tokens), write(tags)))
    frame = pl.DataFrame(cells, schema=["id", "domain", "tokens", "tags"], orient="row")
    frame.write_csv(tmp_path / "tags.csv")
    predicted = [json.loads(row) if write is json.dumps else eval(row) for row in frame["tags"]]
    for given in (tmp_path / "tags.csv", frame):  # pandas, too, reads such cells as texts
        found = sb.check([" ".join(row) for row in predicted], given, id="id", kind="tags")
        assert [each.score.value for each in found.found.domains] == [1.0, 1.0]


@pytest.mark.parametrize("write", [json.dumps, repr])
def test_lists_in_cells_of_predictions_are_tags(write: Callable[[list[str]], str], tmp_path: Path) -> None:
    tags = [["O", "B-PER"] if number % 3 else ["B-PER", "O"] for number in range(120)]
    rows = {"id": [f"k{n}" for n in range(120)], "domain": ["mail", "web"] * 60, "tokens": ["a b"] * 120, "tags": tags}
    said = pl.DataFrame({"id": rows["id"], "source": "elsewhere", "prediction": [write(row) for row in tags]})
    said.write_csv(tmp_path / "said.csv")
    found = sb.score(tmp_path / "said.csv", pl.DataFrame(rows), id="id", kind="tags")
    assert found.table("shifts")["st"].to_list() == [1.0, 1.0]


@pytest.mark.parametrize("write", [json.dumps, repr])
def test_answers_in_cells_are_those_of_squad(write: Callable[[object], str], tmp_path: Path) -> None:
    years, n = [str(1800 + number) for number in range(120)], 120
    answers = [write({"text": [year], "answer_start": [8]}) for year in years]
    rows = {
        "id": [f"k{number}" for number in range(n)], "domain": ["mail", "web"] * 60, "question": ["when?"] * n,
        "context": [f"It's in {year}." for year in years], "answers": answers,
    }  # fmt: skip
    pl.DataFrame(rows).write_csv(tmp_path / "qa.csv")
    for given in (tmp_path / "qa.csv", rows):
        found = sb.score(years, given, id="id")
        assert found.table("shifts")["st"].to_list() == [1.0, 1.0]
    moved = [each.replace("[8]", "[2]") for each in answers]
    with pytest.raises(sb.InvalidInput, match="context"):
        sb.score(years, rows | {"answers": moved}, id="id")


def test_the_probability_of_the_prediction_is_its_confidence(rows: pl.DataFrame) -> None:
    word = pl.when(mark="good").then(pl.lit("good")).otherwise(pl.lit("bad"))
    said = rows.select(id="key", prediction=word, probability_good=0.7, probability_bad=0.3)
    some = rows.with_columns(mark=pl.when(pl.int_range(pl.len()) % 2 == 0).then("mark"))
    drawn = sb.label(said, some, 10, **COLUMNS)
    expected = said.select("id", "prediction", confidence=pl.when(prediction="good").then(0.7).otherwise(0.3))
    assert drawn.table.equals(sb.label(expected, some, 10, **COLUMNS).table)


def test_a_notebook_shows_a_refusal_in_one_line(rows: pl.DataFrame) -> None:
    with pytest.raises(sb.InvalidInput) as refused:
        sb.gate(["good"] * len(rows), rows, **COLUMNS)
    assert refused.value._render_traceback_() == [f"InvalidInput: {refused.value}"]  # as IPython asks for it
    for call in (lambda: sb.score(5, rows), lambda: sb.compare([rows], rows)):
        with pytest.raises(TypeError, match="type") as wrong:
            call()
        assert wrong.value._render_traceback_() == [f"TypeError: {wrong.value}"]


def test_groups_widen_the_intervals_of_a_score(tmp_path: Path) -> None:
    """A column 'group', one named for it, and the option of the former version: rows of a group count as one draw."""
    n = 240
    rows = pl.DataFrame(
        {"id": [f"k{number}" for number in range(n)], "text": [f"t{number}" for number in range(n)],
         "domain": ["mail", "web"] * (n // 2), "label": ["good", "bad", "bad", "good"] * (n // 4),
         "document": [f"{number % 2}-{number // 12}" for number in range(n)]}
    )  # fmt: skip
    wrong = pl.col("document").str.split("-").list.last().cast(pl.Int64) % 4 == 0
    said = rows.with_columns(prediction=pl.when(wrong).then(pl.lit("good")).otherwise("label")).select(
        "id", "prediction"
    )
    said.write_csv(tmp_path / "said.csv")
    found = {}
    for name, frame, options in (
        ("plain", rows, ["--columns", "id=id"]),
        ("usual", rows.rename({"document": "group"}), ["--columns", "id=id"]),
        ("named", rows, ["--columns", "id=id,group=document"]),
        ("former", rows, ["--columns", "id=id", "--group-column", "document"]),
    ):
        frame.write_csv(tmp_path / "rows.csv")
        files = (str(tmp_path / "said.csv"), "--data", str(tmp_path / "rows.csv"))
        tasks = of_command(tmp_path, "score", *files, *options)["tasks"]
        found[name] = [(st["low"], st["high"]) for st in (shift["st"] for task in tasks for shift in task["shifts"])]
    assert found["usual"] == found["named"] == found["former"]
    for (low, high), (low_plain, high_plain) in zip(found["usual"], found["plain"], strict=True):
        assert high - low > 1.2 * (high_plain - low_plain)
