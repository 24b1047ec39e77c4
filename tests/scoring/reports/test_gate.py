"""Output of a gate's decision: valid XML, escaped Markdown, the decision first."""

from xml.etree import ElementTree

from syrupy.assertion import SnapshotAssertion

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


def test_the_decision_comes_first(wording: SnapshotAssertion) -> None:
    assert markdown_summary(report()) == wording
    messages = {
        "inconclusive": headline(report(tests=TESTS[1:])),
        "inconclusive, strict": headline(report(tests=TESTS[1:], strict=True)),
        "no test": headline(report(tests=[])),
        "no test, strict": headline(report(tests=[], strict=True)),
    }
    assert messages == wording
