"""Output of a gate's decision: valid XML, escaped Markdown, the decision first."""

from xml.etree import ElementTree

from shiftbench.scoring.reports.gate import headline, junit_xml, markdown_summary
from shiftbench.scoring.scores.limits import GateReport, LimitTest, decide

TESTS = [
    LimitTest(limit="max_drop", domain="a|b", bound=0.01, value=0.2, low=0.1, high=0.3, p_broken=0.001, p_kept=0.999),
    LimitTest(limit="min_score", domain="bell\x07 <&>", bound=0.7, value=0.71, p_broken=0.6, p_kept=0.4),
    LimitTest(limit="min_score", domain="few", bound=0.7, value=0.9, reason="fewer than 5 effective groups"),
]


def report(*, strict: bool = False, tests: list[LimitTest] = TESTS) -> GateReport:
    facts = {"data": "0" * 64, "task": "own", "metric": "accuracy", "source": "a", "home": ("a",)}
    return GateReport(
        predictions="preds.csv", baseline=None, strict=strict, verdicts=decide(tests), left_out={}, **facts
    )


def test_the_xml_counts_and_escapes() -> None:
    for strict, failures, skipped in ((False, 1, 2), (True, 3, 0)):
        suite = ElementTree.fromstring(junit_xml(report(strict=strict)))[0]
        assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", str(failures), str(skipped))
        assert len(list(suite.iter("failure"))) == failures
        assert [case.get("name") for case in suite.iter("testcase")] == [
            "a|b",
            "bell\N{REPLACEMENT CHARACTER} <&>",
            "few",
        ]


def test_the_decision_comes_first() -> None:
    text = markdown_summary(report())
    start = "### \N{CROSS MARK} preds.csv: the gate fails: 1 limit broken (a\\|b); the test is inconclusive for 2 of 3"
    assert text.startswith(start)
    assert "| a\\|b | source drop at most 1 point | 20.0 \\[10.0, 30.0\\] | 0.0020 | broken |" in text
    assert "Not tested on few: fewer than 5 effective groups (score)." in text
    assert headline(report(tests=TESTS[1:])).endswith("the gate passes: the test is inconclusive for 2 of 2 limits.")
    assert headline(report(tests=TESTS[1:], strict=True)).endswith("of 2 limits, which --strict counts as a failure.")
    nothing = "no limit was tested, because no domain has enough test texts."
    assert headline(report(tests=[])).endswith(f"the gate passes: {nothing}")
    assert headline(report(tests=[], strict=True)).endswith(f"the gate fails: {nothing}")
