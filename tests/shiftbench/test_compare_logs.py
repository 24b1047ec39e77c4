"""The command logs compare: its verdict, its tables in every form, its report, and what it says of domains."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from shiftbench.cli.command import app
from shiftbench.validation.report import InvalidInput
from tests import wording
from tests.scoring.interchange.logs import lm_eval_choice, write_lm_eval

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


def test_two_models_are_told_apart_or_not(logs: dict[str, Path]) -> None:
    text = run(logs["strong"], logs["weak"])
    assert text.startswith("'strong' is better than 'weak' on these items (acc +")
    assert (
        "240 items, taken as independent; p: two-sided, paired on the same items, corrected by Holm over 1 pair."
        in text
    )
    text = run(logs["strong"], logs["close"], "--cluster", "passage", "--names", "Old,New")
    assert "'Old' and 'New' do not differ significantly" in text
    assert "60 clusters (passage)" in text
    assert "drop" not in text


def test_scores_by_domain_come_with_words_on_what_is_no_drop(logs: dict[str, Path]) -> None:
    text = run(*logs.values(), "--by", "genre")
    assert "2 of 3 pairs differ significantly; 'strong' is first; 'close' not significantly different from it." in text
    assert "By genre, acc in points; differences between rows are not drops" in text
    assert "corrected by Holm over 3 pairs, and for domains over 9 tests" in text
    assert "Domains are the values of 'genre'. Differences between domains are not drops" in text
    assert re.search(r"prose_1 +strong +weak", text)


def test_every_form_has_the_same_figures(logs: dict[str, Path], tmp_path: Path) -> None:
    arguments = (*logs.values(), "--by", "genre")
    report, written = tmp_path / "report.html", tmp_path / "found.json"
    latex = run(*arguments, "--format", "latex", "--report", report, "--json", written)
    found = json.loads(written.read_text())
    strong = 100 * found["models"][0]["score"]["value"]
    assert found["package"].startswith("shiftbench ")
    assert [log["model"] for log in found["logs"]] == list(SHARES)
    assert (found["metric"], found["by"], found["n_items"]) == ("acc", "genre", 240)
    assert (found["n_swaps"], found["seed"]) == (None, None), "until 0.4"
    page = report.read_text()
    markdown = run(*arguments, "--format", "markdown")
    for text in (latex, markdown, page):
        plain = re.sub(r"<span[^>]*>|\$|\\(?=\[)|\\scriptsize|[{}]", "", text)
        assert re.search(rf"{strong:.1f} +\[", plain)
        assert "not drops" in text
    assert latex.count(r"\begin{tabular}") == 4
    assert r"prose\_1" in latex
    assert page.startswith("<!doctype html>")
    assert "Content-Security-Policy" in page
    assert "shiftbench logs compare" in page
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


def test_few_items_are_said_to_tell_nothing(tmp_path: Path) -> None:
    paths = [write_lm_eval(tmp_path / name, [_line(place, score) for place in range(4)]) for name, score in
             (("a", 1.0), ("b", 0.0))]  # fmt: skip
    text = run(*paths)
    assert text.startswith("'a' and 'b' do not differ significantly on these items (acc +100.0 points, not tested).")
    assert "With fewer than 5 effective clusters there are no intervals and no tests." in text


def test_what_may_differ_is_said_by_allow(logs: dict[str, Path], tmp_path: Path) -> None:
    lines = [_line(place, 1.0) for place in range(200)]
    few = write_lm_eval(tmp_path / "few", [{**line, "prompt_hash": line["prompt_hash"][::-1]} for line in lines])
    with pytest.raises(InvalidInput, match="--allow items compares on the 200 items that all have"):
        run(logs["strong"], few)
    with pytest.raises(InvalidInput, match=r"allow different prompts \(--allow prompts\)"):
        run(logs["strong"], few, "--allow", "items")
    text = run(logs["strong"], few, "--allow", "items", "--allow", "prompts")
    assert "Compared on the 200 items" in text
    assert run(logs["strong"], few, "--shared-items", "--any-prompts").endswith(text)


def test_options_of_the_test_are_hidden_and_work(logs: dict[str, Path]) -> None:
    shown = run("--help")
    assert "--allow" in shown
    assert not {"--swaps", "--seed", "--shared-items", "--any-prompts"} & set(shown.split())
    typed = ["logs", "compare", *map(str, [logs["strong"], logs["weak"]]), "--swaps", "200", "--seed", "3"]
    done = CliRunner().invoke(app, typed, catch_exceptions=False)
    assert done.stdout == run(*typed[2:4])
    assert f"--swaps: {wording.REMOVED_04_NO_RESAMPLING}, p is that of the interval" in done.stderr
    assert f"--seed: {wording.REMOVED_04_NO_RESAMPLING}" in done.stderr


def test_bad_input_writes_nothing(logs: dict[str, Path], tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    cut = tmp_path / logs["weak"].name
    cut.write_bytes(logs["weak"].read_bytes()[:5000])
    for files, words in (
        ((logs["strong"], cut), "the log is truncated or was changed"),
        ((logs["strong"], logs["strong"]), "a log is given twice"),
        ((logs["strong"], tmp_path / "none.jsonl"), "there is no such log"),
    ):
        with pytest.raises(InvalidInput, match=words):
            run(*files, "--report", report)
    result = CliRunner().invoke(app, ["logs", "compare", str(logs["strong"])])
    assert result.exit_code == 2
    assert "give 2 logs or more" in result.output
    with pytest.raises(InvalidInput, match="these names do not match 2 files"):
        run(logs["strong"], logs["weak"], "--names", "One", "--report", report)
    assert not report.exists()
