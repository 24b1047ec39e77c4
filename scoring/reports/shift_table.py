"""Every shift of a task in a table: what the pictures show, in digits."""

from collections.abc import Sequence

from shiftbench.scoring.reports.cells import figure_table, number_cell
from shiftbench.scoring.reports.frame.html import Markup, tag
from shiftbench.scoring.reports.numbers import MISSING, count, drop_points, drop_text, points, share
from shiftbench.scoring.reports.pictures.colours import scenario_class
from shiftbench.scoring.reports.pictures.words import source_name
from shiftbench.scoring.reports.score_words import detectable_note
from shiftbench.scoring.scores.estimate import Estimate
from shiftbench.scoring.scores.floors import DROP_SCORES, is_drop_at_floor
from shiftbench.scoring.scores.shape import Flips, PriorFixed, Shift, TaskScores

_HEADS = (
    ("Trained on", "", False),
    ("Tested on", "", False),
    ("ST", "cross-domain score", True),
    ("SD", "SS \N{MINUS SIGN} ST", True),
    ("TD", "TT \N{MINUS SIGN} ST", True),
    ("IDD", "SS \N{MINUS SIGN} TT", True),
    ("Scenario", "by the signs of SD and TD; the percentages are the shares of resamples with each scenario", False),
    (
        "Flips",
        "of 100 texts: lost and gained against a model trained on the target; how many more change than without any "
        "shift (the placebo); how many differ between two seeds, in domain / under shift",
        True,
    ),
    ("SD, TD at one test prior", "with every class at one share of the test; shares in training still matter", True),
    ("Texts", "", True),
    ("Runs", "", True),
    ("Unusable outputs", "could not be read, counted as wrong", True),
)
"""Name, meaning, whether it holds numbers."""
_LEAST_SUPPORT = 0.005
"""Shares of replicates that would be written as 0% are not."""


def shift_table(task: TaskScores) -> Markup:
    """Build the table of every shift's scores, drops, scenario, flips and sizes."""
    flips = any(shift.flips for shift in task.shifts)
    fixed = any(_fixed_drops(shift.prior_fixed) for shift in task.shifts)
    left_out = {name for name, there in (("Flips", flips), ("SD, TD at one test prior", fixed)) if not there}
    rows = [_row(shift, flips=flips, fixed=fixed) for shift in task.shifts]
    heads = [head for head in _HEADS if head[0] not in left_out]
    return figure_table("Every shift", heads, rows, "Every shift, in points")


def home_table(task: TaskScores) -> Markup:
    """Build the table of in-domain scores: SS of shifts from a domain, TT of shifts into it."""
    names = ("Trained and tested on", "Score", "Texts", "Runs", "Unusable outputs")
    heads = [(name, "", bool(number)) for number, name in enumerate(names)]
    rows = [
        tag(
            "tr",
            tag("th", own.domain, scope="row"),
            number_cell(own.score, points),
            _number(count(own.n)),
            _number(str(own.runs)),
            _number(share(own.unparsed)),
        )
        for own in task.in_domain
    ]
    return figure_table("In-domain scores", heads, rows, "In-domain scores, in points")


def _row(shift: Shift, *, flips: bool, fixed: bool) -> Markup:
    cells = [
        tag("th", source_name(shift.source), scope="row"),
        tag("th", shift.target, scope="row"),
        number_cell(shift.st, points, *_floor_notes(shift, "st")),
        number_cell(shift.sd, drop_points, *_drop_notes(shift, "sd")),
        _target_drop(shift),
        number_cell(shift.idd, drop_points),
        _scenario(shift),
        *([_flips(shift.flips)] if flips else []),
        *([_number(_fixed_drops(shift.prior_fixed) or MISSING)] if fixed else []),
        _number(count(shift.n)),
        _number(str(shift.runs)),
        _number(share(shift.unparsed)),
    ]
    return tag("tr", *cells)


def _floor_notes(shift: Shift, *scores: str) -> list[Markup]:
    """Build a note that a score behind a figure is at chance."""
    words = "not shown to be above chance or one label for all texts; a drop from or to it says nothing"
    marked = set(scores) & set(shift.at_floor)
    return [tag("span", "at chance", class_="sb-interval", title=words)] if marked else []


def _drop_notes(shift: Shift, drop: str) -> list[Markup]:
    """Build notes of the smallest detectable drop, and that a score behind it is at chance."""
    return [*detectable_note(shift.detectable.get(drop)), *_floor_notes(shift, *DROP_SCORES[drop])]


def _target_drop(shift: Shift) -> Markup:
    if shift.reference_td is None:
        return number_cell(shift.td, drop_points, *_drop_notes(shift, "td"))
    words = "against the in-domain score of a reference, as this entry has none of its own; never averaged with TD"
    note = tag("span", f"reference {drop_text(shift.reference_td)}", class_="sb-interval", title=words)
    return tag("td", MISSING, note, class_="sb-num sb-na")


def _scenario(shift: Shift) -> Markup:
    certain = "resolved" if shift.resolved else "not resolved"
    shares = sorted(shift.scenario_support.items(), key=lambda item: -item[1])
    support = ", ".join(f"{name} {share(part)}" for name, part in shares if part >= _LEAST_SUPPORT)
    if shift.at_floor:
        return tag(
            "td", "at chance", tag("span", "no scenario is concluded", class_="sb-interval"), class_="sb-scenario"
        )
    known = shift.scenario != "Unknown"
    swatch = tag("span", class_=f"sb-swatch {scenario_class(shift.scenario)}{'' if shift.resolved else ' sb-open'}")
    notes = [tag("span", certain, class_="sb-interval")] if known else []
    notes += [tag("span", support, class_="sb-interval")] if support else []
    return tag("td", *([swatch] if known else []), shift.scenario if known else MISSING, *notes, class_="sb-scenario")


def _flips(flips: Flips | None) -> Markup:
    if flips is None:
        return _number(MISSING)
    churns = [points(churn) for churn in (flips.churn_in_domain, flips.churn_cross_domain) if churn is not None]
    churn = f"between two seeds: {' / '.join(churns)}" if churns else "between two seeds: not measured"
    excess = "not measured" if flips.excess is None else drop_points(flips.excess)
    lost = f"\N{MINUS SIGN}{points(flips.loss)} / +{points(flips.gain)}"
    notes = [tag("span", text, class_="sb-interval") for text in (f"more than without shift: {excess}", churn)]
    return tag("td", lost, *notes, class_="sb-num")


def _fixed_drops(fixed: PriorFixed | None) -> str:
    if fixed is None or (fixed.sd is None and fixed.td is None):
        return ""
    return f"{drop_points(fixed.sd)}, {drop_points(fixed.td)}"


def _number(text: str) -> Markup:
    return tag("td", text, class_="sb-num sb-na" if text == MISSING else "sb-num")


def worst_shifts(task: TaskScores, n: int = 3) -> Sequence[tuple[Shift, str, Estimate]]:
    """Choose the shifts that hurt most: by TD, else by SD, else by ST; with the figure's name and value.

    A drop from or to the floor is no candidate while another drop is known.
    """
    for name in ("td", "sd"):
        known = [(shift, name.upper(), getattr(shift, name)) for shift in task.shifts]
        known = [row for row in known if row[2].value is not None]
        above = [row for row in known if not is_drop_at_floor(row[0], name)]
        if known:
            return sorted(above or known, key=lambda row: (-row[2].value, row[0].source, row[0].target))[:n]
    known = [(shift, "ST", shift.st) for shift in task.shifts if shift.st.value is not None]
    return sorted(known, key=lambda row: (row[2].value or 0.0, row[0].source, row[0].target))[:n]
