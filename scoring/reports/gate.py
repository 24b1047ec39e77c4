"""A gate's decision for a terminal, for a CI summary page (Markdown), and as JUnit XML.

JUnit's format is a handful of elements, which the standard library's writer escapes; no dependency is needed.
"""

from collections.abc import Iterator
from xml.etree import ElementTree

from rich.console import RenderableType
from rich.text import Text

from shiftbench.scoring.comparing.shape import p_text
from shiftbench.scoring.reports.frame.sentences import sentence, sentences
from shiftbench.scoring.reports.numbers import metric_name, plain_score
from shiftbench.scoring.reports.plain_tables import PlainTable, as_markdown, markdown_text
from shiftbench.scoring.scores.limits import LIMITS, GateReport, LimitVerdict
from shiftbench.scoring.scores.shape import Estimate

_ASKED = {
    "max_drop": "source drop at most {}",
    "min_score": "score at least {}",
    "max_regression": "loss against the baseline at most {}",
}
_FIGURES = {"max_drop": "drop", "min_score": "score", "max_regression": "loss"}
_ORDER = ("broken", "cannot tell", "kept")


def gate_lines(report: GateReport) -> Iterator[RenderableType]:
    """List the decision, then one row per limit and domain, broken limits first."""
    yield Text(headline(report), style="green" if report.passed else "red")
    yield gate_table(report)
    yield from notes(report)


def markdown_summary(report: GateReport) -> str:
    """Format the decision as Markdown: a heading, a table, notes."""
    sign = "\N{WHITE HEAVY CHECK MARK}" if report.passed else "\N{CROSS MARK}"
    heading = f"### {sign} {markdown_text(headline(report))}"
    return f"{heading}\n\n{as_markdown([gate_table(report), *notes(report)])}"


def junit_xml(report: GateReport) -> str:
    """Format the decision as JUnit XML, with one test case per limit and domain.

    An undecided test is a skipped case, or a failed one in a strict gate.
    """
    failed = report.broken + (report.undecided if report.strict else ())
    skipped = () if report.strict else report.undecided
    counts = {"tests": len(report.verdicts), "failures": len(failed), "skipped": len(skipped), "errors": 0}
    suite = ElementTree.Element("testsuite", {"name": "shiftbench gate", **{key: str(n) for key, n in counts.items()}})
    for each in report.verdicts:
        case = ElementTree.SubElement(suite, "testcase", {"classname": f"gate.{each.limit}", "name": _xml(each.domain)})
        if each in failed or each in skipped:
            why = each.reason or f"corrected p {p_text(each.p_corrected)}"
            found = f"{_FIGURES[each.limit]} {_score_words(each)}, limit: {_limit_words(each)} ({why})"
            words = _xml(f"{each.outcome}: {found}")
            ElementTree.SubElement(case, "failure" if each in failed else "skipped", {"message": words})
    ElementTree.SubElement(suite, "system-out").text = _xml("\n".join([headline(report), *notes(report)]))
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def headline(report: GateReport) -> str:
    """Write in a sentence whether the gate passes and why."""
    return sentence("gate", "headline", report, list(dict.fromkeys(each.domain for each in report.broken)))


def gate_table(report: GateReport) -> PlainTable:
    """Build the table with one row per limit and domain: broken limits first, then undecided ones."""
    rows = sorted(report.verdicts, key=lambda each: (_ORDER.index(each.outcome), LIMITS.index(each.limit)))
    cells = [
        (each.domain, _limit_words(each), _score_words(each), p_text(each.p_corrected), each.outcome) for each in rows
    ]
    title = f"{report.task}: {metric_name(report.metric)} in points, 95% intervals"
    head = ("domain", "limit", "found", "p", "decided")
    return PlainTable(title, head, cells, n_names=2, texts=head[1:])


def notes(report: GateReport) -> list[str]:
    """List explanations of the decision."""
    reasons: dict[str, list[str]] = {}
    for each in report.verdicts:
        if each.reason is not None:
            reasons.setdefault(f"{each.reason} ({_FIGURES[each.limit]})", []).append(each.domain)
    n_tests = sum(each.p_corrected is not None for each in report.verdicts)
    return sentences("gate", "notes", report, n_tests, reasons)


def _limit_words(each: LimitVerdict) -> str:
    limit = f"{100 * each.bound:g}"
    return _ASKED[each.limit].format(f"{limit} {'point' if limit == '1' else 'points'}")


def _score_words(each: LimitVerdict) -> str:
    return plain_score(Estimate(value=each.value, low=each.low, high=each.high))


def _xml(text: str) -> str:
    """Replace characters that XML does not allow: control characters, which a domain's name may contain."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}" for letter in text)
