"""What is shown of one task's scores, on an entry's page and in a report of own data: figures, pictures and tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.reports.above_line_part import AboveLine, above_line_part
from shiftbench.scoring.reports.cells import fact_list, figure_table, number_cell, section
from shiftbench.scoring.reports.confidence import ABOUT, confidence_part
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.headline import WORST_INTERVAL, headline
from shiftbench.scoring.reports.numbers import MINUS, MISSING, count, drop_points, drop_text, points, score_text, share
from shiftbench.scoring.reports.pictures.colours import scenario_class
from shiftbench.scoring.reports.pictures.curves import (
    curve_values,
    depth_curves,
    drops_by_depth,
    drops_by_idd,
    has_depth,
    has_depth_drops,
    has_idd_order,
    mean_drops,
)
from shiftbench.scoring.reports.pictures.flips import flip_bars, has_flips, mean_flip_words
from shiftbench.scoring.reports.pictures.heatmap import DROPS, has_drop_at_floor, heatmap
from shiftbench.scoring.reports.pictures.planes import id_ood_plane, scenario_plane
from shiftbench.scoring.reports.pictures.words import shift_name, source_name, with_drops
from shiftbench.scoring.reports.score_words import ABOUT_DETECTABLE, detectable_note, margin_lines
from shiftbench.scoring.scores.coverage import is_ranked, missing_lines, task_scores, unranked_lines
from shiftbench.scoring.scores.estimate import Estimate
from shiftbench.scoring.scores.examples import WrongExample, why_hidden
from shiftbench.scoring.scores.floors import DROP_SCORES, is_drop_at_floor
from shiftbench.scoring.scores.shape import Flips, PriorFixed, Scores, Shift, TaskScores
from shiftbench.scoring.scores.unseen import Unseen
from shiftbench.validation.report import counted
from shiftbench.validation.vocabulary import OUTSIDE_SOURCES, PLACEBO

_HEADS = (
    ("Trained on", "", False),
    ("Tested on", "", False),
    ("ST", "cross-domain score", True),
    ("SD", "SS \N{MINUS SIGN} ST", True),
    ("TD", "TT \N{MINUS SIGN} ST", True),
    ("IDD", "SS \N{MINUS SIGN} TT", True),
    ("Scenario", "by the signs of SD and TD; resolved where the intervals of both leave out 0", False),
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


def shift_table(task: TaskScores) -> Markup:
    """Build the table of every shift's scores, drops, scenario, flips and sizes."""
    flips = any(shift.flips for shift in task.shifts)
    fixed = any(_fixed_drops(shift.prior_fixed) for shift in task.shifts)
    left_out = {name for name, there in (("Flips", flips), ("SD, TD at one test prior", fixed)) if not there}
    rows = [_shift_row(shift, flips=flips, fixed=fixed) for shift in task.shifts]
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


def _shift_row(shift: Shift, *, flips: bool, fixed: bool) -> Markup:
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
    if shift.at_floor:
        return tag(
            "td", "at chance", tag("span", "no scenario is concluded", class_="sb-interval"), class_="sb-scenario"
        )
    known = shift.scenario != "Unknown"
    swatch = tag("span", class_=f"sb-swatch {scenario_class(shift.scenario)}{'' if shift.resolved else ' sb-open'}")
    notes = [tag("span", certain, class_="sb-interval")] if known else []
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


Examples = Callable[[str, str, str], Sequence[WrongExample]]
"""Task, source and target -> what was predicted wrong there (see ``shiftbench.scoring.scores.examples``)."""

_EVERY_SHIFT = "In brackets: 95% intervals over other test texts, each shift by itself. " + ABOUT_DETECTABLE
_CAPTIONS = {
    "ST": ("Scores (ST)", "Row: trained on. Column: tested on. Bold: trained and tested on the same domain."),
    "SD": ("Source drop (SD)", f"SS {MINUS} ST. Red: lower than on the domain trained on. Blue: higher."),
    "TD": (
        "Target drop (TD)",
        f"TT {MINUS} ST. Red: lower than a model trained on the tested domain. Blue: higher. Same scale as SD.",
    ),
    "plane": (
        "Scenarios",
        "Each mark is one shift, placed by its two drops. Filled: resolved, that is, the 95% intervals of both drops "
        "exclude 0, each shift by itself.",
    ),
    "idd": (
        "Drops, hardest targets first",
        f"Means over the first shifts, sorted by the in-domain difference (IDD = SS {MINUS} TT): how much harder the "
        "target is than the source. Since SD = TD + IDD, SD alone makes shifts to harder targets look worse than they "
        "are. As Figure 2 of the Domain Robustness paper.",
    ),
    "depth": (
        "Depth F1",
        "Micro F1, with each text weighted by its distance from the source's texts. To the right, more of "
        "the source-like "
        "texts are left out.",
    ),
    "drops": (
        "Drops by depth",
        "Means over shifts of SD and TD, weighted in the same way. Small marks are single shifts.",
    ),
    "id_ood": ("Out of distribution", "Score on each data set against the score in distribution, with 95% intervals."),
    "flips": (
        "Flips",
        "What the target drop (TD) is made of, text by text: many texts lost and many gained can cancel "
        "into a small drop.",
    ),
}


@dataclass(frozen=True)
class Shown:
    """What the parts are drawn from.

    Attributes:
        scores: the scores, as they may be shown.
        task: the one of its tasks that is shown.
        folder: the dataset; without it there are no examples.
        examples: gives what was predicted wrong.
        unseen: means over domains not known to be in pretraining, if the card names any.
        above_line: the entry against the line of the board's others, where there are enough.
        names: the folder's names of domains that the scores name as own data does.
    """

    scores: Scores
    task: TaskScores
    folder: DatasetFolder | None = None
    examples: Examples | None = None
    unseen: Unseen | None = None
    above_line: AboveLine | None = None
    names: Mapping[str, str] = field(default_factory=dict)


def shown_tasks(scores: Scores) -> list[str]:
    """List the tasks that are shown by themselves; a placebo stands beside its task."""
    names = [task.task for task in scores.tasks]
    return [name for name in names if not name.endswith(PLACEBO)] or names


def find_task(scores: Scores, name: str | None) -> TaskScores | None:
    """Find a task's scores; without a name, or with one that is not there, those of the first."""
    names = shown_tasks(scores)
    chosen = name if name in names else next(iter(names), None)
    return task_scores(scores, chosen) if chosen else None


def score_parts(shown: Shown) -> Markup:
    """Build everything about one task: headline, pictures, worst shifts, unseen domains, tables, what is missing."""
    placebo = task_scores(shown.scores, shown.task.task + PLACEBO)
    has_placebo = shown.folder is not None and shown.task.task + PLACEBO in shown.folder.manifest.tasks
    parts = [
        headline(shown.task, placebo, has_placebo=has_placebo),
        tag("div", *_matrices(shown.task), class_=f"sb-pictures {_width(shown.task)}"),
        tag("div", *_pictures(shown.task, placebo), class_="sb-pictures"),
    ]
    margins = [tag("p", line) for line in margin_lines(shown.task)]
    parts += [section("No drop above the margin", "", *margins)] if margins else []
    parts += [_worst(shown)] if worst_shifts(shown.task) else []
    parts += [_unseen(shown.unseen)] if shown.unseen else []
    parts += [above_line_part(shown.above_line)] if shown.above_line else []
    if shown.task.shifts:
        parts.append(section("Every shift", _EVERY_SHIFT, shift_table(shown.task)))
    if shown.task.in_domain:
        parts.append(section("In-domain scores", "", home_table(shown.task)))
    if shown.task.confidence:
        parts.append(section("Confidence", ABOUT, confidence_part(shown.task)))
    parts.append(section("What is missing", "", _missing(shown)))
    return join(parts)


def _width(task: TaskScores) -> str:
    """Return the class of a row of matrices: three, two or one beside each other."""
    n_targets = len(task.domains)
    return "sb-narrow" if n_targets <= 5 else "sb-middling" if n_targets <= 7 else "sb-wide"


def _matrices(task: TaskScores) -> Iterator[Markup]:
    yield _figure("ST", heatmap(task, "ST"))
    for measure in DROPS:
        if any(getattr(shift, measure.lower()).value is not None for shift in task.shifts):
            about = "Grey: a score behind the drop is at chance." if has_drop_at_floor(task, measure) else ""
            yield _figure(measure, heatmap(task, measure), about=about)


def _pictures(task: TaskScores, placebo: TaskScores | None) -> Iterator[Markup]:
    if task.id_ood is not None and task.id_ood.ood and task.id_ood.id.value is not None:
        yield _figure("id_ood", id_ood_plane([("", task.id_ood)]))
    if with_drops(task):
        yield _figure("plane", scenario_plane(task, placebo))
    if has_idd_order(task):
        yield _figure("idd", drops_by_idd(task))
    if has_depth(task):
        summary = [("Depth F1, mean", task.summary.depth_f1)]
        yield _figure("depth", depth_curves([("", task)]), curve_values(summary, score_text))
    if has_depth_drops(task):
        yield _figure("drops", drops_by_depth([("", task)]), curve_values(mean_drops(task), drop_text))
    if has_flips(task):
        yield _figure("flips", flip_bars(task), about=mean_flip_words(task))


def _figure(key: str, drawn: Markup, values: Markup | None = None, *, about: str = "") -> Markup:
    title, caption = _CAPTIONS[key]
    caption = f"{caption} {about}".rstrip()
    table = [tag("details", tag("summary", "Values"), values, class_="sb-values")] if values else []
    return tag(
        "figure",
        tag("figcaption", tag("h3", title), tag("p", caption)),
        drawn,
        *table,
        class_=f"sb-figure sb-figure-{key.lower()}",
    )


def _worst(shown: Shown) -> Markup:
    worst = worst_shifts(shown.task)
    summary = shown.task.summary
    drops = [
        f"{name} {drop_text(estimate)}"
        for name, estimate in (("SD", summary.worst_sd), ("TD", summary.worst_td))
        if estimate.value is not None
    ]
    about = f"Worst {' and '.join(drops)}. {WORST_INTERVAL} Each shift below has its own interval." if drops else ""
    items = [_worst_shift(shown, *each) for each in worst]
    return section("Worst shifts", about, *items)


def _worst_shift(shown: Shown, shift: Shift, name: str, estimate: Estimate) -> Markup:
    value = score_text(estimate) if name == "ST" else drop_text(estimate)
    head = tag("h3", shift_name(shift), " ", tag("span", f"{name} {value}", class_="sb-soft"))
    return tag("div", head, _examples(shown, shift), class_="sb-worst")


def _examples(shown: Shown, shift: Shift) -> Markup:
    if shown.folder is None or shown.examples is None:
        return Markup("")
    hidden = why_hidden(shown.folder, shown.task.task, shown.names.get(shift.target, shift.target))
    if hidden:
        return tag("p", f"No examples: {hidden}.", class_="sb-soft")
    return examples_list(shown.examples(shown.task.task, shift.source, shift.target), shift.source, shift.target)


def examples_list(examples: Sequence[WrongExample], source: str, target: str) -> Markup:
    """Build the list of texts of a shift that were predicted wrong, folded up."""
    if not examples:
        return tag("p", "No test text was predicted wrong.", class_="sb-soft")
    items = [tag("li", _example(example, source, target)) for example in examples]
    ahead = sum(example.at_home is not None and example.at_home > example.score for example in examples)
    word = f"Examples: {counted(len(examples), 'text')} that it got wrong"
    if ahead:
        word += f", {ahead} of which a model trained on {target} gets better"
    return tag("details", tag("summary", word), tag("ol", *items, class_="sb-examples"))


def _example(example: WrongExample, source: str, target: str) -> Markup:
    many = len(example.texts) > 1
    texts = [
        tag("p", *([tag("b", f"{name.replace('_', ' ')}: ")] if many else []), text) for name, text in example.texts
    ]
    graded = f" ({points(example.score)} points)" if example.score > 0 else ""
    model = "the model" if source in OUTSIDE_SOURCES else f"trained on {source}"
    answers = [
        tag("span", "correct: ", tag("b", example.gold), class_="sb-right"),
        tag("span", f"{model}: ", tag("b", example.predicted), graded, class_="sb-wrong"),
    ]
    if example.at_home is not None:
        words = {0.0: "wrong", 1.0: "right"}.get(example.at_home, f"{points(example.at_home)} points")
        answers.append(tag("span", f"trained on {target}: ", tag("b", words)))
    spaced = [part for answer in answers for part in (answer, " ")]
    return join([*texts, tag("p", *spaced), tag("span", example.id, class_="sb-mono sb-soft")])


def _unseen(unseen: Unseen) -> Markup:
    facts = [
        ("Score under shift (mean ST)", score_text(unseen.st)),
        ("Mean SD", drop_text(unseen.sd)),
        ("Mean TD", drop_text(unseen.td)),
        ("Shifts", f"{unseen.n_shifts} of {unseen.n_all}"),
    ]
    about = (
        f"The card says that pretraining included {', '.join(unseen.seen)}. "
        "Means over the shifts between the other domains:"
    )
    return section("On domains not known to be in pretraining", about, fact_list(facts, "sb-tiles sb-small"))


def _missing(shown: Shown) -> Markup:
    scores, task = shown.scores, shown.task
    lines = missing_lines(scores, task.task) if is_ranked(task) else unranked_lines(scores, task)
    if not lines:
        return tag("p", "Nothing is missing for this task.", class_="sb-soft")
    return tag("ul", *(tag("li", line) for line in lines), class_="sb-missing")
