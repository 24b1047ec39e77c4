"""``shiftbench check --find-domains``: slices that no column names, the command and ``sb.check`` alike."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

import shiftbench as sb
from benchmarks.slices import invented_sources
from shiftbench.cli.command import app
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal
from tests.shiftbench.checked import headings, stable

RNG = np.random.default_rng


def write_mixed(place: Path, wrong: dict[int, float], *, n: int = 250, seed: int = 0, **columns: Any) -> pl.DataFrame:
    """Write ``data.csv`` and ``preds.csv``: invented sources without their names; errors by the number of a source."""
    rng = RNG(seed)
    sources = list(invented_sources(rng, 4, n).values())
    rows = [(number, text) for number, texts in enumerate(sources) for text in texts]
    order = rng.permutation(len(rows))
    source = np.array([rows[row][0] for row in order])
    label = np.where(rng.random(source.size) < 0.5, "pos", "neg")
    flipped = rng.random(source.size) < np.array([wrong.get(number, 0.1) for number in source])
    said = np.where(flipped, np.where(label == "pos", "neg", "pos"), label)
    frame = pl.DataFrame(
        {
            "key": [f"r{row}" for row in range(source.size)],
            "text": [rows[row][1] for row in order],
            "label": label,
            "channel": rng.choice(["web", "app"], source.size),
            **columns,
        }
    )
    frame.write_csv(place / "data.csv")
    pl.DataFrame({"id": frame["key"], "prediction": said}).write_csv(place / "preds.csv")
    return frame.with_columns(source=pl.Series(source), is_wrong=pl.Series(flipped))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["check", "preds.csv", "--data", "data.csv", "--columns", "id=key", *arguments])


def test_a_hidden_source_is_named_first_and_written_for_the_next_check(place: Path, wording: SnapshotAssertion) -> None:
    rows = write_mixed(place, {2: 0.5})
    result = run("--find-domains", "--write-domains", "found.csv", "--json", "out.json")
    assert result.exit_code == 0, result.exception
    first = result.output.splitlines()[0]
    assert first.startswith("Scores ")
    found = json.loads((place / "out.json").read_text())["slices"]
    slice_ = found["slices"][0]
    assert slice_["difference"]["high"] < 0
    assert slice_["p"] < 0.001
    assert len(slice_["words"]) > 3
    assert slice_["texts"][0].removesuffix("…") in "\n".join(rows["text"])
    assert slice_["words"][0] in first
    assert headings((place / "report.html").read_text()) == wording
    written = pl.read_csv(place / "found.csv")
    assert written.columns == [*pl.read_csv(place / "data.csv").columns, "slice"]
    joined = written.join(rows.select("key", "source"), on="key")
    inside = joined.filter(pl.col("slice").str.starts_with("1 "))
    assert len(inside) == slice_["n"]
    assert (inside["source"] == 2).mean() > 0.9
    in_slices = joined.filter(pl.col("slice") != "rest")
    assert (in_slices["source"] == 2).mean() > 0.9
    assert (in_slices["source"] == 2).sum() / (rows["source"] == 2).sum() > 0.75
    again = CliRunner().invoke(
        app, ["check", "preds.csv", "--data", "found.csv", "--columns", "id=key,domain=slice", "--json", "again.json"]
    )
    assert again.exit_code == 0, again.exception
    domains = {each["domain"]: each for each in json.loads((place / "again.json").read_text())["domains"]}
    assert domains[str(inside["slice"][0])]["n"] == slice_["n"]


def test_the_notebook_finds_the_same(place: Path) -> None:
    write_mixed(place, {2: 0.5})
    first = run("--find-domains", "--json", "out.json").output.splitlines()[0]
    found = sb.check("preds.csv", "data.csv", id="key", find_domains=True)
    assert found.to_json()["slices"] == json.loads((place / "out.json").read_text())["slices"]
    assert str(found).startswith(first)


def test_what_finds_nothing_says_why(place: Path, wording: SnapshotAssertion) -> None:
    said: dict[str, object] = {}
    write_mixed(place, {}, seed=4)
    result = run("--write-domains", "found.csv")
    assert result.exit_code == 0, result.exception
    said["random errors"] = stable(result.output)
    assert not (place / "found.csv").exists()
    write_mixed(place, dict.fromkeys(range(4), 0.0), n=60)
    said["no errors"] = run("--find-domains").output.splitlines()[0]
    write_mixed(place, {}, n=10)
    said["few texts"] = run("--find-domains").output.splitlines()[0]
    said["no domains"] = refusal(InvalidInput, sb.check, "preds.csv", "data.csv", id="key")
    letter = "One long letter about the same parcel that came a week late and was left outside the house"
    data = {"text": [f"{letter}, number {row}" for row in range(600)], "label": ["a", "b"] * 300}
    found = sb.check(["a"] * 600, data, find_domains=True).found.slices
    assert found is not None
    said["near-duplicates"] = found.reason
    assert said == wording


def test_columns_dates_and_numbers_are_candidates(place: Path) -> None:
    n = 1000
    rng = RNG(9)
    age = rng.integers(18, 90, n)
    days = [f"2025-{1 + day // 28:02d}-{1 + day % 28:02d}" for day in rng.integers(0, 280, n)]
    write_mixed(place, {}, age=age, day=days)
    data = pl.read_csv("data.csv", schema_overrides={"age": pl.Int64})
    is_old = (data["age"] > 75).to_numpy()
    said = np.where(is_old & (RNG(1).random(n) < 0.6), "neg", data["label"].to_numpy())
    pl.DataFrame({"id": data["key"], "prediction": said}).write_csv("preds.csv")
    found = sb.check("preds.csv", "data.csv", id="key", find_domains=True).found.slices
    assert found is not None
    assert found.slices[0].name.startswith("age above 7")
    late = np.array([day >= "2025-06" for day in days])
    said = np.where(late & (RNG(1).random(n) < 0.5), "neg", data["label"].to_numpy())
    pl.DataFrame({"id": data["key"], "prediction": said}).write_csv("preds.csv")
    found = sb.check("preds.csv", "data.csv", id="key", find_domains=True).found.slices
    assert found is not None
    assert found.slices[0].name.startswith("day '2025-")


def test_a_rule_of_two_columns_is_searched_for(place: Path) -> None:
    n = 4000
    rng = RNG(5)
    frame = pl.DataFrame(
        {
            "key": [f"r{row}" for row in range(n)],
            "text": [f"invented {row}" for row in range(n)],
            "label": rng.choice(["pos", "neg"], n),
            **{name: rng.choice(["x", "y", "z"], n) for name in ("one", "two")},
        }
    )
    frame.write_csv("data.csv")
    bad = ((frame["one"] == "x") & (frame["two"] == "y")).to_numpy() & (rng.random(n) < 0.6)
    flipped = np.where(frame["label"] == "pos", "neg", "pos")
    pl.DataFrame({"id": frame["key"], "prediction": np.where(bad, flipped, frame["label"])}).write_csv("preds.csv")
    found = sb.check("preds.csv", "data.csv", id="key", find_domains=True, min_texts=40).found.slices
    assert found is not None
    assert any("one 'x'" in each.name and "two 'y'" in each.name for each in found.slices)
    rule = next(each for each in found.slices if each.kind == "errors")
    assert rule.n_tested is not None
    assert rule.n_tested < 0.6 * rule.n


def test_languages_are_told_apart(place: Path) -> None:
    rng = RNG(2)
    english = "the house was near an old river and they were walking there with their friends through this town"
    german = "das haus war nahe an einem alten fluss und sie gingen dort mit ihren freunden durch diese stadt"
    words = (english.split(), german.split())
    texts = [" ".join(rng.choice(words[row % 2], 12)) for row in range(800)]
    labels = rng.choice(["a", "b"], 800)
    said = [label if row % 2 == 0 or rng.random() < 0.5 else "a" for row, label in enumerate(labels)]
    found = sb.check(said, {"text": texts, "label": labels.tolist()}, find_domains=True).found.slices
    assert found is not None
    assert found.slices[0].n == pytest.approx(400, abs=20)
    assert found.slices[0].kind in ("language", "cluster")  # the same texts, but for a few


def test_a_file_with_a_column_slice_is_refused(place: Path) -> None:
    write_mixed(place, {2: 0.5}, slice=["x"] * 1000)
    result = run("--write-domains", "found.csv")
    assert isinstance(result.exception, InvalidInput)
    assert "'slice'" in str(result.exception)


def test_a_slice_of_one_domain_says_so(place: Path) -> None:
    rows = write_mixed(place, {2: 0.5})
    data = pl.read_csv("data.csv").with_columns(domain=(rows["source"] == 2).replace_strict({True: "b", False: "a"}))
    data.write_csv("data.csv")
    found = sb.check("preds.csv", "data.csv", id="key", find_domains=True, trained_on="a", probes=False).found
    assert found.slices is not None
    assert found.slices.slices[0].domain == "b"
    assert found.home == "a"
