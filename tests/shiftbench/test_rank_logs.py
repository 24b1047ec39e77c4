"""The command ``logs ranks``: what it prints and writes, its gate, and that its JSON can be checked again."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner, Result

import shiftbench as sb
from shiftbench.cli.command import app
from shiftbench.validation.report import InvalidInput
from tests.shiftbench.checked import stable

NAMES = ("acme/m0", "acme/m1", "bits|one")


def write_board(path: Path, effects: tuple[float, ...] = (0.9, 0.5, 0.5), names: tuple[str, ...] = NAMES) -> Path:
    rng = np.random.default_rng(3)
    rows = ["model," + ",".join(f"t{n}" for n in range(20))]
    for name, effect in zip(names, effects, strict=True):
        rows.append(f"{name}," + ",".join(f"{score:.4f}" for score in effect + 0.02 * rng.normal(size=20)))
    path.write_text("\n".join(rows) + "\n")
    return path


def run(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def ranks(*arguments: object, code: int = 0) -> str:
    return run("logs", "ranks", *arguments, code=code).stdout


def test_the_answer_comes_first_in_words(tmp_path: Path, wording: SnapshotAssertion) -> None:
    assert stable(ranks(write_board(tmp_path / "board.csv"))) == wording


def test_families_of_models_duplicates_and_groups_are_three_sentences(tmp_path: Path) -> None:
    names = ("acme/m0", "acme/m1", "acme/m2")
    board = write_board(tmp_path / "board.csv", (0.9, 0.5, 0.5), names)
    twin = board.read_text().splitlines()[-1].replace("acme/m2", "acme/m3")
    board.write_text(f"{board.read_text()}{twin}\n")
    said = ranks(board).splitlines()
    assert [line for line in said if line.startswith(("Identical", "Models of", "1 group"))] == [
        "Identical on every unit, possibly one model under several names: 'acme/m2', 'acme/m3'.",
        "Models of one family, by their names: acme/m* (4, tied for first 1).",
        "1 group of adjacent models without significant differences: 'acme/m1' to 'acme/m3' (3).",
    ]


def test_every_form_has_the_same_ranks(tmp_path: Path) -> None:
    board = write_board(tmp_path / "board.csv")
    report, svg, claim = tmp_path / "r.html", tmp_path / "r.svg", tmp_path / "r.json"
    csv = ranks(board, "--format", "csv", "--report", report, "--picture", svg, "--json", claim)
    assert csv.splitlines()[1].startswith("acme/m0,1,1,1,")
    assert r"$1$ {\scriptsize $[1, 1]$}" in ranks(board, "--format", "latex")
    assert r"bits\|one" in ranks(board, "--format", "markdown")
    found = json.loads(claim.read_text())["ranking"]
    assert found["pairs"] == [".++", "-..", "-.."]
    page = report.read_text()
    assert "<script" not in page
    assert "1 [1, 1]" in page
    assert page.count('class="sb-picture"') == 1
    assert svg.read_text().startswith("<svg")


def test_a_png_is_drawn_from_the_same_shapes(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    ranks(write_board(tmp_path / "board.csv"), "--picture", tmp_path / "r.png")
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")


def test_a_claim_is_checked_again_and_a_changed_one_fails(tmp_path: Path, wording: SnapshotAssertion) -> None:
    board = write_board(tmp_path / "board.csv")
    claim = tmp_path / "claim.json"
    ranks(board, "--json", claim)
    said = [run("study", "verify", claim).stdout]
    content = json.loads(claim.read_text())
    content["ranking"] |= {"claim": "as another version says it", "notes": ["a note of another version"]}
    claim.write_text(json.dumps(content))
    assert run("study", "verify", claim).stdout == said[0]
    content["ranking"]["pairs"][1] = "-.+"
    claim.write_text(json.dumps(content))
    said.append(run("study", "verify", claim, code=3).stdout)
    write_board(board, (0.9, 0.5, 0.7))
    assert [*said, stable(run("study", "verify", claim, code=3).stdout)] == wording


def test_an_undecided_first_place_fails_the_gate(tmp_path: Path) -> None:
    clear, tied = write_board(tmp_path / "a.csv"), write_board(tmp_path / "b.csv", (0.5, 0.5, 0.1))
    ranks(clear, "--fail-if-undecided", "first")
    result = run("logs", "ranks", tied, "--fail-if-undecided", "first", code=3)
    assert "2 models" in result.stderr


def test_what_an_entry_takes_away_from_an_earlier_table_is_said(tmp_path: Path, wording: SnapshotAssertion) -> None:
    old = write_board(tmp_path / "old.csv")
    new = write_board(tmp_path / "new.csv", (0.9, 0.5, 0.5, 1.3), (*NAMES, "corp/new"))
    assert stable(ranks(new, "--against", old, "--json", tmp_path / "claim.json")) == wording
    assert json.loads((tmp_path / "claim.json").read_text())["standing"]["entered"] == ["corp/new"]


def test_wrong_use_is_refused_before_any_work(tmp_path: Path) -> None:
    board = write_board(tmp_path / "board.csv")
    with pytest.raises(InvalidInput, match="'rows'"):
        ranks(board, "--unit", "rows")
    assert ".svg" in run("logs", "ranks", board, "--picture", tmp_path / "r.pdf", code=2).output


def test_a_notebook_has_the_same_ranks(tmp_path: Path) -> None:
    board = write_board(tmp_path / "board.csv")
    claim = tmp_path / "claim.json"
    ranks(board, "--json", claim)
    found = sb.ranks(pl.read_csv(board))
    expected = json.loads(claim.read_text())["ranking"]
    assert found.to_json() | {"notes": None} == expected | {"notes": None}
    assert found.tied_first == ("acme/m0",)
    assert found.table()["best_rank"].to_list() == [1, 2, 2]
    assert "first" in str(found)
    assert found.to_svg().startswith("<svg")
    assert "<h1" in found.to_html()
    earlier = sb.ranks(board, against=board)
    assert earlier.standing is not None
    assert all(claim.holds for claim in earlier.standing.claims)
    with pytest.raises(InvalidInput, match="unit"):
        sb.ranks(board, unit="rows")
