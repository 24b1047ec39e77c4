"""Names and sentences shared by plots."""

from shiftbench.scoring.reports.numbers import drop_text, score_text
from shiftbench.scoring.scores.shape import Shift, TaskScores
from shiftbench.validation.report import plural
from shiftbench.validation.vocabulary import ELSEWHERE, NO_SOURCE, SOURCE_JOINER

ELSEWHERE_MARK = "trained elsewhere"
"""Label of a model that was trained outside the dataset."""
_OUTSIDE = {NO_SOURCE: "none (zero-shot)", ELSEWHERE: ELSEWHERE_MARK}
ARROW = "\N{RIGHTWARDS ARROW}"
SD_NAME = "SD = SS \N{MINUS SIGN} ST, points"
TD_NAME = "TD = TT \N{MINUS SIGN} ST, points"


def source_name(source: str) -> str:
    """Return a source's display name.

    >>> source_name("fiction+slate"), source_name("none"), source_name("elsewhere")
    ('fiction + slate', 'none (zero-shot)', 'trained elsewhere')
    """
    return _OUTSIDE.get(source) or source.replace(SOURCE_JOINER, " + ")


def shorten(name: str, n_letters: int) -> str:
    """Shorten a name to a number of letters, ending in an ellipsis.

    >>> shorten("restaurants", 11), shorten("restaurants", 5)
    ('restaurants', 'rest…')
    """
    return name if len(name) <= n_letters else f"{name[: n_letters - 1]}\N{HORIZONTAL ELLIPSIS}"


def shift_name(shift: Shift) -> str:
    """Return a shift's display name."""
    return f"{source_name(shift.source)} {ARROW} {shift.target}"


def shift_key(shift: Shift) -> str:
    """Return a shift's key in URLs."""
    return f"{shift.source}>{shift.target}"


def shift_words(shift: Shift) -> str:
    """Return the tooltip of a shift's mark, with all its scores, one per line."""
    lines = [
        shift_name(shift),
        f"ST {score_text(shift.st)}",
        f"SS {score_text(shift.ss)}, TT {score_text(shift.tt)}",
        f"SD {drop_text(shift.sd)}, TD {drop_text(shift.td)}",
        "at chance: no scenario"
        if shift.at_floor
        else f"{shift.scenario}, {'resolved' if shift.resolved else 'not resolved'}",
        f"{plural(shift.n, 'text')}, {plural(shift.runs, 'run')}",
    ]
    return "\n".join(lines)


def sources(task: TaskScores) -> list[str]:
    """List every source that has a score: domains in the task's order, then others by name (``a+b``, ``none``)."""
    found = {shift.source for shift in task.shifts} | {own.domain for own in task.in_domain}
    return [domain for domain in task.domains if domain in found] + sorted(found - set(task.domains))


def summarised(task: TaskScores) -> list[Shift]:
    """List the shifts that the task's summary covers; if it covers single sources, joined sources are excluded."""
    if task.id_ood is not None:
        return [shift for shift in task.shifts if shift.source == task.id_ood.source]
    single = task.summary.basis == "single-source"
    return [shift for shift in task.shifts if shift.source in task.domains or not single]


def with_drops(task: TaskScores) -> list[Shift]:
    """List the shifts that have both drops."""
    return [shift for shift in task.shifts if shift.sd.value is not None and shift.td.value is not None]
