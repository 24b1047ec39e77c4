"""One task's scores for an entry's page and for reports: the values that the macros of ``task.html`` render."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.frame.parts import Choice, Matrix, MatrixCell
from shiftbench.scoring.reports.frame.sentences import sentence
from shiftbench.scoring.reports.numbers import drop_points, drop_text, points
from shiftbench.scoring.reports.pictures.charts import (
    depth_curves,
    has_depth,
    reliability,
    scenario_plane,
)
from shiftbench.scoring.reports.pictures.words import (
    ELSEWHERE_MARK,
    shift_key,
    shift_name,
    source_name,
    sources,
    with_drops,
)
from shiftbench.scoring.reports.score_words import detectable_text, mean_flip_words, tail_lines
from shiftbench.scoring.scores.controls import Unseen
from shiftbench.scoring.scores.coverage import LAMBDAS, is_ranked, missing_lines, task_scores, unranked_lines
from shiftbench.scoring.scores.examples import WrongExample, why_hidden
from shiftbench.scoring.scores.floors import is_drop_at_floor
from shiftbench.scoring.scores.shape import OUTSIDE_BASES, Estimate, Interval, Scores, Shift, Summary, TaskScores
from shiftbench.scoring.scores.summary import PAIRING
from shiftbench.validation.vocabulary import ELSEWHERE, PLACEBO, source_parts

MEASURES: Mapping[str, str] = {
    "sd": "Loss (SD)",
    "td": "Against a model trained on the target (TD)",
    "st": "Score (ST)",
}
"""Values that a matrix can show, with their labels; the first is the default."""
_DROPS = ("average_drop", "worst_sd", "worst_td")
Examples = Callable[[str, str, str], Sequence[WrongExample]]
"""Function (task, source, target) -> misclassified texts (see ``shiftbench.scoring.scores.examples``)."""


@dataclass(frozen=True)
class AboveLine:
    """One entry compared with the regression line of logit(OOD) on logit(ID) over other entries; fractions.

    Attributes:
        effective: the OOD score minus the line's prediction, with its 95% interval over test texts and over the line.
        expected: the OOD score predicted by the line.
        n_others: number of entries that the line is fitted to.
        is_extended: whether the entry's ID score is outside the range of the other entries' ID scores.
    """

    effective: Estimate
    expected: float
    n_others: int
    is_extended: bool


@dataclass(frozen=True)
class Tile:
    """A headline value: ``kind`` is 'drop' or 'score', ``total`` its interval with training variance, and remarks."""

    name: str
    estimate: Estimate
    kind: str = "score"
    total: Interval | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class ShiftDetail:
    """One shift: the drop to show (``st`` if it has no drop), and misclassified texts, or why they are hidden."""

    shift: Shift
    drop: str
    examples: Sequence[WrongExample]
    hidden: str


@dataclass(frozen=True)
class Picture:
    """A plot with its anchor on the page, title and caption."""

    id: str
    title: str
    caption: str
    drawn: Markup


@dataclass(frozen=True)
class Asked:
    """The page's query: the matrix's measure, and the selected shift (``""``: the worst one).

    ``address`` returns the URL of the same page for another measure and shift; None in a report.
    """

    measure: str = ""
    shift: str = ""
    address: Callable[[str, str], str] | None = None


@dataclass(frozen=True)
class TaskPage:
    """All results on one task.

    Attributes:
        scores: the scores that may be shown.
        task: the task shown.
        folder: the dataset; without it there are no examples.
        examples: returns misclassified texts.
        unseen: means over the domains that the card does not list as seen in pretraining, if it lists any.
        above_line: the entry compared with the regression line of the board's other entries, if there are enough.
        names: internal domain names by title, if the scores use titles.
        asked: the page's query.
    """

    scores: Scores
    task: TaskScores
    folder: DatasetFolder | None = None
    examples: Examples | None = None
    unseen: Unseen | None = None
    above_line: AboveLine | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    asked: Asked = Asked()

    @property
    def placebo(self) -> TaskScores | None:
        """Return the scores of the task's placebo, if the entry has them."""
        return task_scores(self.scores, self.task.task + PLACEBO)

    @property
    def placebo_words(self) -> str:
        """Write the placebo's average drop (texts assigned to domains at random), or that it was not measured."""
        drop = self.placebo.summary.average_drop if self.placebo and self.placebo.summary.complete else None
        if drop is not None and drop.value is not None:
            return sentence("scores", "placebo", self.task.task, drop)
        has_one = self.folder is not None and self.task.task + PLACEBO in self.folder.manifest.tasks
        is_missing = self.placebo is None and has_one and _has_drops(self.task.summary)
        return sentence("scores", "placebo", self.task.task, None) if is_missing else ""

    @property
    def measures(self) -> list[str]:
        """List the measures that the matrix can show: known drops, and scores."""
        shifts = self.task.shifts
        return [name for name in ("sd", "td") if any(getattr(each, name).value is not None for each in shifts)] + ["st"]

    @property
    def measure(self) -> str:
        """Return the measure that the matrix shows."""
        return self.asked.measure if self.asked.measure in self.measures else self.measures[0]

    @property
    def measure_choices(self) -> list[Choice]:
        """List links to the matrix's measures; empty in a report, and with a single measure."""
        if self.asked.address is None or len(self.measures) < 2:
            return []
        address, shift = self.asked.address, self.asked.shift
        return [Choice(MEASURES[each], address(each, shift), each == self.measure) for each in self.measures]

    @cached_property
    def chosen(self) -> Shift | None:
        """Return the shift next to the matrix: the requested one, else the worst one; None without any."""
        found = (shift for shift in self.task.shifts if shift_key(shift) == self.asked.shift)
        return next(found, next(iter(self.worst(1)), None))

    def worst(self, n: int | None = None) -> list[Shift]:
        """List the worst shifts (by default all) by the measure; drops with a score at chance come last."""

        def rank(shift: Shift) -> tuple[bool, bool, float, str, str]:
            value = getattr(shift, self.measure).value
            lost = value is None or (-value if self.measure != "st" else value)
            low = self.measure != "st" and is_drop_at_floor(shift, self.measure)
            return value is None, low, float(lost), shift.source, shift.target

        return sorted(self.task.shifts, key=rank)[:n]

    def detail(self, shift: Shift) -> ShiftDetail:
        """Return the details of one shift."""
        has_drop = self.measure != "st" and getattr(shift, self.measure).value is not None
        drop = self.measure if has_drop else "sd" if shift.sd.value is not None else "st"
        if self.folder is None or self.examples is None:
            return ShiftDetail(shift, drop, (), "the dataset is not available")
        hidden = why_hidden(self.folder, self.task.task, self.names.get(shift.target, shift.target))
        found = () if hidden else tuple(self.examples(self.task.task, shift.source, shift.target))
        return ShiftDetail(shift, drop, found, hidden)

    @property
    def matrix(self) -> Matrix:
        """Build the source-by-target matrix; each cell links to its shift."""
        measure, task = self.measure, self.task
        cells = {(shift.source, shift.target): shift for shift in task.shifts}
        own = {each.domain: each.score for each in task.in_domain}
        known = [each for each in task.shifts if measure == "st" or not is_drop_at_floor(each, measure)]
        values = [getattr(each, measure).value for each in known]
        most = max((abs(value) for value in values if value is not None), default=0.0)

        def cell(source: str, target: str) -> MatrixCell:
            if (source, target) in cells:
                return self._cell(cells[source, target], most)
            words = points(own[target].value) if source == target and target in own else ""
            return MatrixCell(words, "own" if target in source_parts(source) else "")

        rows = [(source_name(source), [cell(source, target) for target in task.domains]) for source in sources(task)]
        caption = f"{MEASURES[measure]}, points: trained on (rows), tested on (columns)"
        return Matrix(caption, "from → to", task.domains, rows)

    def _cell(self, shift: Shift, most: float) -> MatrixCell:
        kind = "at chance: no scenario" if shift.at_floor else shift.scenario
        estimate: Estimate = getattr(shift, self.measure)
        more = {
            "address": self.asked.address(self.measure, shift_key(shift)) if self.asked.address else "",
            "is_chosen": shift == self.chosen,
            "title": f"{shift_name(shift)}: SD {drop_text(shift.sd)}, TD {drop_text(shift.td)}, {kind}",
        }
        if self.measure == "st":
            return MatrixCell(points(estimate.value), **more)  # type: ignore[arg-type]
        if is_drop_at_floor(shift, self.measure) and estimate.value is not None:
            return MatrixCell(drop_points(estimate.value), "faint", **more)  # type: ignore[arg-type]
        return MatrixCell.of_drop(estimate, most, **more)

    @property
    def tiles(self) -> list[Tile]:
        """List the headline values."""
        return list(_tiles(self.task, self.placebo))

    @property
    def basis(self) -> str:
        """Describe the shifts that the means cover."""
        summary, id_ood = self.task.summary, self.task.id_ood
        if id_ood is not None and id_ood.source != id_ood.id_domain:
            return f"trained on {source_name(id_ood.source)}"
        if summary.complete:
            return "every pair of domains" if summary.basis == "single-source" else summary.basis
        if summary.basis == OUTSIDE_BASES[ELSEWHERE]:
            return f"{ELSEWHERE_MARK}: drops do not apply"
        return "partial" if summary.basis in ("single-source", "id-ood") else f"{summary.basis} only"

    @property
    def has_totals(self) -> bool:
        """Return whether training variance was measured."""
        return bool(self.task.id_ood.total if self.task.id_ood else self.task.summary.total)

    @property
    def notes(self) -> list[str]:
        """List explanations of these scores."""
        task = self.task
        lines = [*tail_lines(task), self.placebo_words]
        lines += [mean_flip_words(task)] if any(shift.flips for shift in task.shifts) else []
        lines += [sentence("scores", "annotators", task.annotators, task.metric)] if task.annotators is not None else []
        if task.near_duplicates is not None and _has_drops(task.summary):
            lines.append(sentence("scores", "near_duplicates", task.near_duplicates))
        return [line for line in lines if line]

    @property
    def missing(self) -> list[str]:
        """List what is missing for this task."""
        task = self.task
        return missing_lines(self.scores, task.task) if is_ranked(task) else unranked_lines(self.scores, task)

    @property
    def pictures(self) -> Iterator[Picture]:
        """Draw the plots available for these scores."""
        if with_drops(self.task):
            caption = "Each mark is a shift. Filled: the 95% intervals of both drops exclude 0 (uncorrected)."
            yield Picture("scenarios", "Scenarios", caption, scenario_plane(self.task, self.placebo))
        if has_depth(self.task):
            caption = "Micro F1 as more source-like texts are excluded."
            yield Picture("depth", "Depth F1", caption, depth_curves(self.task))

    @property
    def reliability(self) -> Picture | None:
        """Draw the reliability diagram; None without confidences."""
        caption = "Accuracy by confidence, in bins of equal size over all texts."
        found = self.task.confidence
        return Picture("reliability", "Reliability", caption, reliability(found)) if found is not None else None


def shown_tasks(scores: Scores) -> list[str]:
    """List the tasks with a section of their own; a placebo is shown with its task."""
    names = [task.task for task in scores.tasks]
    return [name for name in names if not name.endswith(PLACEBO)] or names


def find_task(scores: Scores, name: str | None) -> TaskScores | None:
    """Return a task's scores; without a name, or with an unknown one, those of the first task."""
    names = shown_tasks(scores)
    chosen = name if name in names else next(iter(names), None)
    return task_scores(scores, chosen) if chosen else None


def _tiles(task: TaskScores, placebo: TaskScores | None) -> Iterator[Tile]:
    summary = task.summary
    if task.id_ood is not None:
        id_ood, total = task.id_ood, task.id_ood.total
        four = id_ood.four_types
        folded: dict[str, float | None] = {id_ood.id_domain: four.id, **four.ood} if four else {}
        remarks = {name: (f"4 types {points(value)}",) for name, value in folded.items()}
        mean = (f"4 types {points(four.mean_ood)}",) if four else ()
        yield Tile("Score under shift (mean OOD)", id_ood.mean_ood, total=total.get("mean_ood"), remarks=mean)
        home = f"In domain: {id_ood.id_domain} (ID)"
        yield Tile(home, id_ood.id, total=total.get("id"), remarks=remarks.get(id_ood.id_domain, ()))
        for domain, score in id_ood.ood.items():
            yield Tile(domain, score, total=total.get(f"ood.{domain}"), remarks=remarks.get(domain, ()))
        yield Tile("Drop, ID − OOD", id_ood.drop, "drop", total.get("drop"), _drop_remarks(task, placebo, "drop"))
    elif summary.basis == PAIRING:
        yield Tile("Score under shift (ST)", summary.mean_st)
    else:
        yield Tile("In domain (mean SS)", summary.mean_ss, total=summary.total.get("mean_ss"))
        yield Tile("Score under shift (mean ST)", summary.mean_st, total=summary.total.get("mean_st"))
        average = summary.total.get("average_drop")
        yield Tile("Average drop", summary.average_drop, "drop", average, _drop_remarks(task, placebo, "average_drop"))
    if summary.basis != PAIRING and _has_drops(summary):
        for name, words in (("worst_sd", "Worst SD"), ("worst_td", "Worst TD")):
            estimate: Estimate = getattr(summary, name)
            yield Tile(words, estimate, "drop", summary.total.get(name), _placebo_remark(placebo, name))
    for key in LAMBDAS:
        if key in summary.depth_f1:
            yield Tile(f"Depth F1 (λ = {key})", summary.depth_f1[key])
    if summary.depth_slope is not None:
        yield Tile("Slope on depth", summary.depth_slope, "drop", None, ("above 0: better close to the source",))


def _drop_remarks(task: TaskScores, placebo: TaskScores | None, name: str) -> tuple[str, ...]:
    """Return remarks on an average drop: smallest detectable drop, placebo's drop, drop without near-duplicates."""
    finds = detectable_text((task.id_ood or task.summary).detectable.get(name))
    without = task.near_duplicates.without if task.near_duplicates else None
    has_less = without is not None and without.average_drop.value is not None
    less = (f"without near-duplicates {drop_text(without.average_drop)}",) if without and has_less else ()
    return (*([f"smallest detectable {finds}"] if finds else []), *_placebo_remark(placebo, "average_drop"), *less)


def _placebo_remark(placebo: TaskScores | None, name: str) -> tuple[str, ...]:
    if placebo is None or not placebo.summary.complete:  # as on the board
        return ()
    value: Estimate = getattr(placebo.summary, name)
    return () if value.value is None else (f"placebo {drop_text(value)}",)


def _has_drops(summary: Summary) -> bool:
    return any(getattr(summary, name).value is not None for name in _DROPS)
