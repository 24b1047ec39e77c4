"""Scores over time: sentences, the table of periods, and the section of a check's report."""

from collections.abc import Iterator

from shiftbench.metrics.alarm import ALARM
from shiftbench.scoring.reports.frame.parts import Section
from shiftbench.scoring.reports.numbers import metric_name, p_words, plain_points, plain_score
from shiftbench.scoring.reports.pictures.charts import score_series
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.scoring.scores.shape import AlarmFound, ChangeFound, OverTime, TrendFound
from shiftbench.validation.report import counted

_ABOUT = (
    "The test of a trend has the variance between periods in it (t with periods \N{MINUS SIGN} 2 degrees of freedom)."
)
_EVIDENCE = (
    f" Evidence multiplies bets that scores fell; it reaches {ALARM:g} in at most 5% of histories without a drop, "
    "however often one looks."
)


def time_lines(course: OverTime | None) -> Iterator[str]:
    """List the findings over time: an alarm comes first, its absence last; nothing if domains are not periods."""
    if course is None:
        return
    lines = [_course_line(course)]
    if course.alarm is not None:
        lines.insert(int(course.alarm.at is None), _alarm_line(course.alarm, course))
    yield from lines
    if course.alarm is None and any(each.is_reference for each in course.periods):
        yield "No period follows the reference, so there is no alarm yet."


def _course_line(course: OverTime) -> str:
    """Write the trend or the change, or that neither is significant."""
    measure, line, step = _measure(course), course.trend, course.change
    known = [each for each in course.periods if each.score.low is not None]
    n = counted(len(known), course.unit)
    if line is None:
        return f"No trend of {measure} can be tested over {n}: it takes 3 with an interval."
    span = f"{n}, {known[0].period} to {known[-1].period}"
    if course.shown == "trend":
        way = "falls" if (line.slope.value or 0.0) < 0 else "rises"
        size = f"{_size_words(line)} a {course.unit} (p {p_words(line.p)})"
        jitter = f"beside that, {course.unit}s vary by {plain_points(line.jitter)} points more than their texts explain"
        return f"{_capital(measure)} {way} by {size} over {span}; {jitter}."
    if course.shown == "change" and step is not None:
        way = "fell" if step.step < 0 else "rose"
        return f"{_capital(measure)} {way} by {plain_points(abs(step.step))} points at {_change_words(step)}."
    other = f"; a change: p {p_words(step.p)}" if step is not None else ""
    slope = f"{plain_score(line.slope)} points a {course.unit}, p {p_words(line.p)}"
    what = "Neither a trend nor a change" if step is not None else "No trend"
    return f"{what} of {measure} is shown over {span} (trend: {slope}{other})."


def _size_words(line: TrendFound) -> str:
    """Write the size of a trend, without its sign."""
    slope = line.slope
    ends = sorted(abs(end) for end in (slope.low or 0.0, slope.high or 0.0))
    return f"{plain_points(abs(slope.value or 0.0))} [{plain_points(ends[0])}, {plain_points(ends[1])}] points"


def _change_words(step: ChangeFound) -> str:
    if step.first is None:
        return f"{step.at} (p {p_words(step.p)}), and not there alone: more than one step is shown"
    place = f"between {step.first} and {step.last}" if step.first != step.last else "at no other place"
    return f"{step.at} (95% confidence set of its place: {place}; p {p_words(step.p)})"


def _alarm_line(found: AlarmFound, course: OverTime) -> str:
    """Write whether there is an alarm."""
    first, last = found.reference[0], found.reference[-1]
    where = f"{first} to {last}" if first != last else first
    reference = f"the reference ({where}: {plain_score(found.mean)})"
    assumed = ", assumed, as too few show it" if found.is_assumed else ""
    allowed = f"a jitter of {plain_points(found.allowance)} points between {course.unit}s is allowed for{assumed}"
    if found.at is not None:
        at = next(each for each in course.periods if each.period == found.at)
        score = f"{plain_score(at.score)} there, evidence {evidence_words(at.evidence)}, an alarm takes {ALARM:g}"
        return f"Alarm at {found.at}: {_measure(course)} fell below {reference}: {score}; {allowed}."
    looks = counted(found.n_looks, "look")
    most = f"evidence at most {evidence_words(found.largest)} in {looks}, an alarm takes {ALARM:g}"
    return f"No alarm: {_measure(course)} is not shown to fall below {reference}; {most}; {allowed}."


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _measure(course: OverTime) -> str:
    return metric_name(course.measure)


def evidence_words(evidence: float | None) -> str:
    """Format evidence; ``""`` if there is none.

    >>> evidence_words(0.004), evidence_words(1.23), evidence_words(154.2), evidence_words(5e6), evidence_words(None)
    ('below 0.01', '1.2', '154', 'over 1,000', '')
    """
    if evidence is None:
        return ""
    if evidence > 1000:
        return "over 1,000"
    return "below 0.01" if evidence < 0.01 else f"{evidence:.2g}" if evidence < 10 else f"{evidence:.0f}"


def time_section(course: OverTime) -> Section:
    """Build the report's section: the series with its intervals, the reference and the alarm, and all values."""
    has_looks = course.alarm is not None
    head = [course.unit, "texts", metric_name(course.measure), *(["evidence"] if has_looks else [])]
    rows = [
        [
            f"{each.period}, reference" if each.is_reference else each.period,
            f"{each.n:,}",
            plain_score(each.score),
            *([evidence_words(each.evidence)] if has_looks else []),
        ]
        for each in course.periods
    ]
    meanings = {"evidence": f"that scores fell below the reference; {ALARM:g} is an alarm"}
    return Section(
        f"Over time ({_measure(course)})",
        _ABOUT + (_EVIDENCE if has_looks else ""),
        figures=[score_series(course)],
        tables=[PlainTable("Scores over time, in points", head, rows, meanings=meanings)],
        is_folded=True,
    )
