"""Several prediction files on a CSV of one's own as one table: score, compare, names, forms."""

import csv
import io
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from shiftbench.cli.command import app
from shiftbench.validation.report import InvalidInput
from tests.shiftbench.checked import stable

DOMAINS = ("a_1", "b", "c", "tiny")
COLUMNS = ("--data", "mine.csv", "--columns", "id=key")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CSV of four domains, one of them tiny on which the worse model shines, and predictions of two models."""
    folder = tmp_path_factory.mktemp("paper")
    rng = np.random.default_rng(5)
    rows = [
        (f"{domain}{n}", domain, ("good", "bad")[n % 2], f"{domain} seen {n} times")
        for domain in DOMAINS
        for n in range(8 if domain == "tiny" else 150)
    ]
    frame = pl.DataFrame(rows, schema=["key", "domain", "label", "text"], orient="row")
    frame.write_csv(folder / "mine.csv")
    for name, share in (("strong", 0.9), ("weak", 0.7)):
        luck = pl.Series(rng.random(len(frame)))
        right = pl.when(pl.col("domain") == "tiny").then(name == "weak").otherwise(luck < share)
        other = pl.when(pl.col("label") == "good").then(pl.lit("bad")).otherwise(pl.lit("good"))
        said = pl.when(right).then("label").otherwise(other)
        parts = [frame.select(source=pl.lit(source), id="key", prediction=said) for source in DOMAINS]
        pl.concat(parts).write_csv(folder / f"{name}.csv")
    return folder


def shown(place: Path, monkeypatch: pytest.MonkeyPatch, *command: str) -> str:
    monkeypatch.chdir(place)
    result = CliRunner().invoke(app, list(command), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_paper_s_table_tests_against_the_best(
    place: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    command = ("compare", "weak.csv", "strong.csv", *COLUMNS, "--names", "Old_1,New")
    rows = list(csv.DictReader(io.StringIO(shown(place, monkeypatch, *command, "--format", "csv"))))
    assert [(row["model"], row["best"], row["shifts"]) for row in rows] == [
        ("New", "true", "6"),
        ("Old_1", "false", "6"),
    ]
    assert (rows[0]["st_p"], float(rows[1]["st_p"]) < 0.05) == ("", True)
    assert float(rows[0]["st_low"]) < float(rows[0]["st"]) < float(rows[0]["st_high"])
    text = shown(place, monkeypatch, *command, "--format", "latex")
    assert text.startswith("\\begin{table}")
    assert f"$\\mathbf{{{100 * float(rows[0]['st']):.1f}}}$" in text
    assert f"Old\\_1 & ${100 * float(rows[1]['ss']):.1f}$" in text
    assert "^{*}$ {" in text.split("Old")[1]
    assert stable(text.split("\\caption")[-1].split(" Data ")[0]) == wording


def test_several_files_are_scored_in_one_table(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(place, monkeypatch, "score", "weak.csv", "strong.csv", *COLUMNS)
    assert text.index("strong") < text.index("weak")
    assert "significantly" in text
    alone = shown(place, monkeypatch, "score", "weak.csv", *COLUMNS, "--format", "markdown", "--names", "Old_1")
    assert "| Old\\_1 | " in alone
    assert "significantly" not in alone


def test_a_tiny_domain_decides_no_comparison_of_means(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(place, monkeypatch, "compare", "weak.csv", "strong.csv", *COLUMNS)
    means = text.split("A minus B")[1]
    assert "tiny" not in means
    assert "a_1 -> tiny" in text


def test_names_that_do_not_fit_are_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for names in ("One", "One,One", "One,"):
        with pytest.raises(InvalidInput, match="2 files"):
            shown(place, monkeypatch, "score", "weak.csv", "strong.csv", *COLUMNS, "--names", names)
