"""The report of ``compare``: the figures of its JSON, by target, in one file that needs no other."""

import json
from pathlib import Path

from shiftbench.scoring.comparing.shape import Difference
from shiftbench.scoring.reports.numbers import drop_text, points
from tests.command_line import run
from tests.leaderboard.conftest import SCRIPT, Filled, Visible


def test_the_report_has_the_figures_of_the_claim_and_names_stay_text(filled: Filled, tmp_path: Path) -> None:
    files = [filled.files[name] for name in ("good", "poor", "zero-shot")]
    report, claim = tmp_path / "report.html", tmp_path / "claim.json"
    names = ["--names", f"Good,{SCRIPT},Zero"]
    done = run(
        "compare", *files, *names, "--data", filled.folder.path, "--task", "nli", "--report", report, "--json", claim
    )
    assert done.returncode == 0, done.stderr
    page = report.read_text(encoding="utf-8")
    shown = Visible(page)
    assert "script" not in shown.tags
    assert shown.text.count(SCRIPT) > 3
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")
    for pair in json.loads(claim.read_text())["comparisons"]:
        (mean,) = (Difference.model_validate(each["difference"]) for each in pair["means"] if each["ranked"])
        assert drop_text(mean.estimate) in shown.text
        for shift in pair["shifts"]:
            assert f"[{points(shift['differences'][0]['low'])}, " in shown.text
    assert shown.tags.count("figure") == 2
    assert "Good scores" in shown.text
