"""The command logs compare: its verdict, its tables in every form, its report, and what it says of domains."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from shiftbench.cli.command import app
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal
from tests.scoring.interchange.logs import lm_eval_choice, write_lm_eval
from tests.shiftbench.checked import stable

SHARES = {"strong": 0.9, "close": 0.87, "weak": 0.6}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Logs of three models over the same 240 invented items, four to a passage."""
    folder = tmp_path_factory.mktemp("logs")
    rng = np.random.default_rng(7)
    found = {}
    for name, share in SHARES.items():
        lines = [_line(place, float(luck < share)) for place, luck in enumerate(rng.random(240))]
        found[name] = write_lm_eval(folder / name, lines)
    return found


def _line(place: int, score: float) -> dict[str, Any]:
    document = {"id": f"q{place}", "genre": ("verse", "prose_1", "letters")[place % 3], "passage": place // 4}
    return lm_eval_choice(place, {"yes": -1.0, "no": -2.0}, acc=score, doc=document)


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["logs", "compare", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_two_models_are_told_apart_or_not(logs: dict[str, Path], wording: SnapshotAssertion) -> None:
    text = run(logs["strong"], logs["weak"])
    clustered = run(logs["strong"], logs["close"], "--cluster", "passage", "--names", "Old,New")
    assert "60 clusters" in clustered
    assert [stable(text), stable(clustered)] == wording


def test_scores_by_domain_come_with_words_on_what_is_no_drop(logs: dict[str, Path], wording: SnapshotAssertion) -> None:
    text = run(*logs.values(), "--by", "genre")
    assert text.startswith("2 of 3 pairs")
    assert stable(text) == wording
    assert re.search(r"prose_1 +strong +weak", text)


def test_every_form_has_the_same_figures(logs: dict[str, Path], tmp_path: Path) -> None:
    arguments = (*logs.values(), "--by", "genre")
    report, written = tmp_path / "report.html", tmp_path / "found.json"
    latex = run(*arguments, "--format", "latex", "--report", report, "--json", written)
    found = json.loads(written.read_text())
    strong = 100 * found["models"][0]["score"]["value"]
    assert [log["model"] for log in found["logs"]] == list(SHARES)
    assert (found["metric"], found["by"], found["n_items"]) == ("acc", "genre", 240)
    assert (found["n_swaps"], found["seed"]) == (None, None), "until 0.4"
    page = report.read_text()
    markdown = run(*arguments, "--format", "markdown")
    for text in (latex, markdown, page):
        plain = re.sub(r"<span[^>]*>|\$|\\(?=\[)|\\scriptsize|[{}]", "", text)
        assert re.search(rf"{strong:.1f} +\[", plain)
        assert "drops" in text
    assert latex.count(r"\begin{tabular}") == 4
    assert r"prose\_1" in latex
    assert page.startswith("<!doctype html>")
    assert "Content-Security-Policy" in page
    rows = list(csv.DictReader(io.StringIO(run(*arguments, "--format", "csv"))))
    assert [row["kind"] for row in rows] == ["score"] * 12 + ["difference"] * 12
    assert float(rows[0]["value"]) == found["models"][0]["score"]["value"]
    assert float(rows[-1]["p_corrected"]) == found["differences"][-1]["p_corrected"]


def test_a_name_cannot_run_anything(logs: dict[str, Path], tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    run(logs["strong"], logs["weak"], "--names", "<script>alert(1)</script>,=1+1", "--report", report)
    assert "<script>" not in report.read_text()
    table = run(logs["strong"], logs["weak"], "--names", "a,=1+1", "--format", "csv")
    assert "'=1+1" in table


def test_few_items_are_said_to_tell_nothing(tmp_path: Path, wording: SnapshotAssertion) -> None:
    paths = [write_lm_eval(tmp_path / name, [_line(place, score) for place in range(4)]) for name, score in
             (("a", 1.0), ("b", 0.0))]  # fmt: skip
    assert run(*paths) == wording


def test_what_may_differ_is_said_by_allow_and_bad_input_writes_nothing(
    logs: dict[str, Path], tmp_path: Path, wording: SnapshotAssertion
) -> None:
    lines = [_line(place, 1.0) for place in range(200)]
    few = write_lm_eval(tmp_path / "few", [{**line, "prompt_hash": line["prompt_hash"][::-1]} for line in lines])
    text = run(logs["strong"], few, "--allow", "items", "--allow", "prompts")
    assert "200 items" in text
    assert run(logs["strong"], few, "--shared-items", "--any-prompts").endswith(text)
    report, cut = tmp_path / "report.html", tmp_path / logs["weak"].name
    cut.write_bytes(logs["weak"].read_bytes()[:5000])
    assert {
        name: refusal(InvalidInput, run, logs["strong"], *more, "--report", report)
        for name, more in {
            "other items": (few,),
            "other prompts": (few, "--allow", "items"),
            "cut": (cut,),
            "twice": (logs["strong"],),
            "no file": (tmp_path / "none.jsonl",),
            "one name": (logs["weak"], "--names", "One"),
        }.items()
    } == wording
    assert CliRunner().invoke(app, ["logs", "compare", str(logs["strong"])]).exit_code == 2
    assert not report.exists()


def test_options_of_the_test_are_hidden_and_work(logs: dict[str, Path]) -> None:
    shown = run("--help")
    assert "--allow" in shown
    assert not {"--swaps", "--seed", "--shared-items", "--any-prompts"} & set(shown.split())
    typed = ["logs", "compare", *map(str, [logs["strong"], logs["weak"]]), "--swaps", "200", "--seed", "3"]
    done = CliRunner().invoke(app, typed, catch_exceptions=False)
    assert done.stdout == run(*typed[2:4])
    assert {line.split(":")[0] for line in done.stderr.splitlines()} == {"--swaps", "--seed"}
