"""The demo's sample of upstream files: the first rows of each genre, and how many rows there are."""

import json
from pathlib import Path

import pytest

from shiftbench.cli import demo_rows
from shiftbench.cli.demo_rows import sample_genres

GENRES = ("fiction", "government")


def write_lines(path: Path, genres: tuple[str, ...], n_rows: int) -> None:
    rows = [
        {"gold_label": "neutral", "genre": genre, "sentence1": f"A {number}.", "sentence2": f"B {number}."}
        for number in range(n_rows)
        for genre in genres
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_a_sample_has_the_first_rows_of_each_genre(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_rows, "N_ROWS", 3)
    raw, sample = tmp_path / "raw", tmp_path / "sample"
    write_lines(raw / "multinli_1.0/multinli_1.0_train.jsonl", GENRES, 5)
    write_lines(raw / "mnli_genres/fiction_test.jsonl", GENRES[:1], 2)
    write_lines(sample / "mnli_genres/travel_test.jsonl", ("travel",), 1)  # of an earlier demo
    assert sample_genres([raw], sample) == (3 + 3 + 2, 5 + 5 + 2)
    files = sorted(sample.rglob("*.jsonl"))
    assert [file.name for file in files] == ["fiction_test.jsonl", "fiction_train.jsonl", "government_train.jsonl"]
    rows = [json.loads(line) for line in files[2].read_text(encoding="utf-8").splitlines()]
    assert [(row["genre"], row["sentence1"]) for row in rows] == [("government", f"A {number}.") for number in range(3)]


def test_nothing_is_sampled_where_there_are_no_files(tmp_path: Path) -> None:
    assert sample_genres([tmp_path], tmp_path / "sample") == (0, 0)
