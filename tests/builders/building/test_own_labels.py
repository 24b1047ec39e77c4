"""Labels and domains of one's own data that pass for others: one number in several spellings, texts, names alike."""

import re
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

import shiftbench as sb
from shiftbench.builders.building.own_labels import misspelt_labels, spellings
from shiftbench.builders.building.own_rows import name_domains
from shiftbench.cli.command import app
from shiftbench.validation.notices import DataWarning
from shiftbench.validation.report import InvalidInput

N = 80
ROWS: dict[str, Any] = {"domain": ["pub", "shop"] * (N // 2), "text": [f"visit {n}" for n in range(N)]}
BINARY = ["1", "0", "0", "1"] * (N // 4)
SPLIT = (
    r"the program split 80 rows, because no column contains their splits: (\d+) train, (\d+) validation, (\d+) test; "
)


def test_the_same_number_is_one_label_with_a_note(tmp_path: Path) -> None:
    folder = sb.build_own(ROWS | {"label": ["1", "0", "0", "1.0"] * (N // 4)}, out=tmp_path / "a")
    same = sb.build_own(ROWS | {"label": BINARY}, out=tmp_path / "b")
    assert (folder.task("own").labels, folder.content_hash) == (("0", "1"), same.content_hash)
    assert any("'1.0' (20) as '1'" in note for note in folder.task("own").notes)


def test_files_that_spell_numbers_in_their_own_way_are_one_table(tmp_path: Path) -> None:
    for domain, one in (("pub", "1"), ("shop", "1.0")):
        lines = [f"{one if n % 2 else '0'},{domain} {n}\n" for n in range(N)]
        (tmp_path / f"{domain}.csv").write_text("label,text\n" + "".join(lines))
    folder = sb.build_own([tmp_path / "pub.csv", tmp_path / "shop.csv"], out=tmp_path / "out")
    assert folder.task("own").labels == ("0", "1")


def test_labels_and_domains_that_differ_in_case_or_spaces_are_one(tmp_path: Path, wording: SnapshotAssertion) -> None:
    domains, labels = ["Pub", "shop", "pub ", "shop"] * (N // 4), ["good", "bad", "bad", "Good "] * (N // 4)
    rows = ROWS | {"domain": domains, "label": labels, "split": ["test"] * N}
    folder = sb.build_own(rows, out=tmp_path / "a")
    again = {"domain": [each.strip().capitalize() if each != "shop" else each for each in domains]}
    same = sb.build_own(rows | again | {"label": [each.strip().lower() for each in labels]}, out=tmp_path / "b")
    assert (folder.task("own").labels, folder.content_hash) == (("bad", "good"), same.content_hash)
    assert folder.task("own").notes == wording


def test_misspelt_labels_are_refused_at_once(wording: SnapshotAssertion) -> None:
    rows = {name: values * 2 for name, values in ROWS.items()} | {"label": ["positive", "negative"] * N}
    for row, label in ((6, "postive"), (9, "Negitive"), (12, "postive")):
        rows["label"][row] = label
    with pytest.raises(InvalidInput) as plain:
        sb.build_own(rows)
    assert str(plain.value) == wording
    with pytest.raises(InvalidInput) as given:
        sb.build_own(rows, kind="labels")
    assert str(given.value) == wording


@pytest.mark.parametrize(
    ("rare", "frequent", "is_misspelt"),
    [
        ("postive", "positive", True), ("positvie", "positive", True), ("pozitve", "positive", False),
        ("hypotension", "hypertension", False), ("slovakia", "slovenia", False), ("minimum", "maximum", False),
        ("nuetral", "neutral", True), ("very negatve", "very negative", True),
        ("spam", "spat", False), ("music", "magic", False),
        ("happy", "unhappy", False), ("positive1", "positive2", False), ("class b", "class c", False),
        ("very positive", "positive", False), ("非常に良い", "非常に悪い", False),
    ],
)  # fmt: skip
def test_what_is_almost_the_spelling_of_a_frequent_label(rare: str, frequent: str, is_misspelt: bool) -> None:
    expected = {rare: frequent} if is_misspelt else {}
    assert misspelt_labels({frequent: 40, "other": 40, rare: 2}) == expected
    assert misspelt_labels({frequent: 39, "other": 40, rare: 2}) == {}
    assert misspelt_labels({frequent: 400, "other": 40, rare: 3}) == {}


@pytest.mark.parametrize("labels", [["01", "1"], ["1", "one"], ["nan", "inf"], ["1.1.0", "1.1"], ["1", "true"], ["A1"]])
def test_what_is_no_number_stays(labels: list[str]) -> None:
    assert spellings(labels) == {}


@pytest.mark.parametrize(
    ("labels", "chosen"),
    [
        (["0", "1", "1.0"], {"1.0": "1"}),
        (["-1.0", "-1", "+1", "1"], {"-1.0": "-1", "+1": "1"}),
        (["1e3", "1000", "1000.00"], {"1000": "1e3", "1000.00": "1e3"}),
        ([" 2", "2"], {" 2": "2"}),
        (["0", "-0.0"], {"-0.0": "0"}),
        (["9007199254740993", "9007199254740992"], {}),
    ],
)
def test_spellings_of_one_number(labels: list[str], chosen: dict[str, str]) -> None:
    assert spellings(labels) == chosen


def test_predictions_in_another_spelling_are_of_the_same_label(tmp_path: Path) -> None:
    frame = pl.DataFrame(ROWS | {"label": ["1", "0", "0", "1.0"] * (N // 4), "key": [f"k{n}" for n in range(N)]})
    frame.write_csv(tmp_path / "own.csv")
    frame.select(source=pl.lit("pub"), id="key", prediction=pl.Series(BINARY) + ".0").write_csv(tmp_path / "p.csv")
    command = ["score", str(tmp_path / "p.csv"), "--data", str(tmp_path / "own.csv"), "--columns", "id=key"]
    result = CliRunner().invoke(app, [*command, "--json", str(tmp_path / "scores.json")])
    assert result.exception is None, result.output


def test_as_many_labels_as_rows_ask_for_the_kind(tmp_path: Path) -> None:
    every: dict[str, Any] = {"domain": ["a", "b"] * 450, "text": [f"t{n}" for n in range(900)]}
    every["label"] = [f"an answer {n}" for n in range(900)]
    with pytest.raises(InvalidInput, match=r"'label'.* 900 .* 900 .*kind='texts'"):
        sb.build_own(every, out=tmp_path / "out")
    assert len(sb.build_own(every, kind="labels", out=tmp_path / "out").task("own").labels) == 900


def test_domains_that_differ_in_case_are_one_problem_that_names_them() -> None:
    names, problems = name_domains(pl.Series(["A", "a ", "A", "B", "b", "c"] * 10), "own.csv")
    (problem,) = problems
    assert problem.found == "'A' and 'a '; 'B' and 'b'"
    assert (problem.row, names["c"]) == (2, "c")


def test_domains_that_are_one_number_are_noted(tmp_path: Path) -> None:
    rows = {**ROWS, "domain": ["1.1", "1.10"] * (N // 2), "label": BINARY}
    notes = sb.build_own(rows, out=tmp_path / "out").task("own").notes
    assert any("'1.1' and '1.10'" in note for note in notes)


def test_who_splits_says_so_first_with_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIFTBENCH_CACHE", str(tmp_path / "cache"))
    for _ in range(2):  # the second time from the cache
        with pytest.warns(DataWarning) as warned:
            folder = sb.build_own(ROWS | {"label": BINARY})
        said = re.match(SPLIT, str(warned[0].message))
        assert said is not None
        train, validation, test = map(int, said.groups())
        assert (train + validation + test, test) == (N, len(folder.test("own")))
    pl.DataFrame(ROWS | {"label": BINARY}).write_csv(tmp_path / "own.csv")
    command = ["build", "own", "visits", "--raw", str(tmp_path / "own.csv"), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, [*command, "--encoder", "none"])
    assert re.match(f"note: {SPLIT}", " ".join(result.stderr.split()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sb.build_own(ROWS | {"label": BINARY, "split": ["test"] * N})
    with pytest.warns(DataWarning, match=r"\(validation\)"):
        sb.build_own(ROWS | {"label": BINARY, "split": ["train", "train", "test", "test"] * (N // 4)})


def test_labels_and_texts_of_one_frame_are_two_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIFTBENCH_CACHE", str(tmp_path / "cache"))
    frame = ROWS | {"label": BINARY}
    labels, texts = (sb.build_own(frame, kind=kind, label="label") for kind in ("labels", "texts"))
    assert [folder.task("own").kind.value for folder in (labels, texts)] == ["classification", "generation"]
    assert sb.build_own(frame, kind="labels", label="label").path == labels.path


def test_a_cached_folder_that_was_changed_is_built_anew_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHIFTBENCH_CACHE", str(tmp_path / "cache"))
    frame = ROWS | {"label": BINARY}
    folder = sb.build_own(frame)
    (file,) = folder.files("data/own/pub/test-*.parquet")
    pl.read_parquet(file).head(1).write_parquet(file)
    with pytest.raises(InvalidInput, match="changed"):
        sb.build_own(frame)
    assert sb.build_own(frame, overwrite=True).content_hash == folder.content_hash
