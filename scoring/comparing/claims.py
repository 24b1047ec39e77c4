"""A comparison as a claim that others can reproduce: its inputs and results, and the check that repeats it.

``shiftbench compare --json`` writes a claim; ``shiftbench study verify`` repeats it from the files that it names.
"""

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import pydantic

from shiftbench.scoring.comparing.shape import FIGURES, LEVEL, Comparison, Difference, winner
from shiftbench.scoring.comparing.words import method_words
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.outside import OutsideText
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import TaskKind

Status = Literal["agrees", "moved", "differs"]
VALUE_TOLERANCE = 1e-6
"""Tolerance for differences of scores (fractions): the order of summation changes the last digits."""
P_TOLERANCE = 1e-6
"""Tolerance for p values and ends of intervals."""
_MOVERS = {"metric_version", "depth_encoder", "token_encoder"}
"""Fields of a comparison that may differ when it is repeated, and then explain changes of its results."""
_FINDINGS = {"tasks", "only_a", "only_b"}
"""Fields that contain conclusions (such as the kind of claim), other than the differences themselves."""
_FORMER = {"n_swaps", "seed"}
"""Settings in claims of former versions that no longer have any effect."""
_SETTINGS = set(Comparison.model_fields) - _MOVERS - _FINDINGS - _FORMER - {"settings", "shifts", "means"}
"""Fields that must match; the data's settings are checked before a claim's tests are repeated."""
_RUNS = {"run_scores_a", "run_scores_b"}
"""Fields of ``tasks`` that are not compared, because last digits may differ; failure counts, if claimed, must match."""


MAX_BYTES = 64 * 2**20
"""Maximum size of a claim's file."""


_OF_FILE = ("columns", "kind", "min_texts", "label_map")


class ClaimedEntry(pydantic.BaseModel, extra="forbid", frozen=True):
    """A prediction file that a claim is about.

    ``name`` is its name in the comparisons, ``file`` its path as given, ``entry`` its id in a store, or null.
    """

    name: OutsideText
    file: OutsideText
    sha256: str = pydantic.Field(pattern=r"^[0-9a-f]{64}$")
    entry: OutsideText | None = None


class Claim(pydantic.BaseModel, extra="forbid", frozen=True, allow_inf_nan=False):
    """Comparisons of a first entry with others, and everything needed to repeat them.

    Data hash, subset, metric version and encoders are stored in each comparison. ``hypothesis`` has a sentence per pair
    and task (``hypotheses``); its wording depends on the metric version. ``data`` is the dataset's path as given, empty
    if a server made the claim. ``task`` is null if every shared task is compared. If ``data`` is a user's file,
    ``columns`` (as given after ``--columns``), ``kind`` and ``min_texts`` state how it was read, and ``label_map``, if
    given, maps labels of the prediction files; claims of former versions and claims about dataset folders do not have
    these keys.
    """

    claim_version: Literal[1] = 1
    package: OutsideText
    hypothesis: tuple[OutsideText, ...]
    level: float
    benchmark: OutsideText
    data: OutsideText
    task: OutsideText | None
    entries: tuple[ClaimedEntry, ...] = pydantic.Field(min_length=2)
    comparisons: tuple[Comparison, ...] = pydantic.Field(min_length=1)
    columns: tuple[OutsideText, ...] | None = None
    kind: TaskKind | None = None
    min_texts: int | None = pydantic.Field(default=None, ge=0, le=1_000_000_000)
    label_map: dict[OutsideText, OutsideText] | None = None

    @pydantic.model_serializer(mode="wrap")
    def _leave_out_unset(self, write: pydantic.SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Write the keys for user files only if the claim is about one."""
        about_file = self.columns is not None
        written = {name: value for name, value in write(self).items() if about_file or name not in _OF_FILE}
        return written if self.label_map else {name: value for name, value in written.items() if name != "label_map"}

    @pydantic.model_validator(mode="after")
    def _compares_its_entries(self) -> "Claim":
        """Raise ValueError unless comparisons are of the first entry with each of the others, with equal settings."""
        names = [entry.name for entry in self.entries]
        if [(pair.a, pair.b) for pair in self.comparisons] != [(names[0], name) for name in names[1:]]:
            raise ValueError("comparisons must be of the first entry with each other entry, in order")
        for field in ("data", "settings", "subset", "metric_version", "n_swaps", "seed", "margin"):
            if len({getattr(pair, field) for pair in self.comparisons}) > 1:
                raise ValueError(f"all comparisons must have the same {field}")
        return self


def make_claim(
    comparisons: Sequence[Comparison],
    entries: Sequence[ClaimedEntry],
    *,
    benchmark: str,
    data: str = "",
    task: str | None = None,
) -> Claim:
    """Build the claim of some comparisons.

    Args:
        comparisons: comparisons of the first entry with each of the others, corrected together.
        entries: the compared entries, the first entry first.
        benchmark: the dataset's benchmark.
        data: path of the dataset, as given.
        task: the only task that was compared; None for all.
    """
    return Claim(
        package=f"shiftbench {version('shiftbench')}",
        hypothesis=tuple(hypotheses(comparisons)),
        level=LEVEL,
        benchmark=benchmark,
        data=data,
        task=task,
        entries=tuple(entries),
        comparisons=tuple(comparisons),
    )


def read_claim(path: Path) -> Claim:
    """Read a claim's file.

    Args:
        path: JSON written by ``shiftbench compare --json``.

    Returns: the claim; its content is not verified yet.

    Raises: InvalidInput if it is not a valid claim, is truncated, or contradicts itself.
    """
    cure = "give a file written by 'shiftbench compare --json'"
    if not path.is_file():
        raise InvalidInput(Problem("there is no such file", str(path), cure=cure))
    if path.stat().st_size > MAX_BYTES:
        found = f"{path.stat().st_size:,} bytes"
        raise InvalidInput(Problem("the claim is too large", str(path), found, f"the limit is {MAX_BYTES:,} bytes"))
    try:
        return Claim.model_validate_json(path.read_bytes())
    except pydantic.ValidationError as error:
        errors = [(each["msg"], ".".join(map(str, each["loc"]))) for each in error.errors(include_url=False)[:5]]
        raise InvalidInput(
            Problem(f"not a valid claim: {message}", str(path), cure=cure, key=key or None) for message, key in errors
        ) from error


def hypotheses(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """State the null hypotheses of each pair and task, and how they are tested, one sentence each."""
    for pair in comparisons:
        for task in pair.tasks:
            ranked = next((each for each in pair.means if each.task == task.task and each.ranked), None)
            main = f"{ranked.difference.figure} over {', '.join(ranked.targets)}" if ranked else "every statistic"
            margin = "" if pair.margin is None else f"; or differ by more than {100 * pair.margin:g} points (TOST)"
            yield (
                f"{task.task}: {pair.a} and {pair.b}, {task.about}, have the same {main} and the same average drop "
                f"(Holm at {LEVEL:g} over pairs and tasks), and the same value of each other statistic (Holm at "
                f"{LEVEL:g} among these); two-sided, {method_words(task)}{margin}"
            )


class FigureCheck(pydantic.BaseModel, frozen=True):
    """One difference as claimed and as recomputed; None if one side lacks it."""

    pair: str
    where: str
    figure: str
    claimed: Difference | None
    found: Difference | None
    status: Status

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def stands(self) -> bool:
        """Return whether claim and recomputation agree on which entry is better, if any."""
        return _better(self.claimed) == _better(self.found)


class FactCheck(pydantic.BaseModel, frozen=True):
    """A fact, other than a figure, that does not match the claim."""

    what: str
    claimed: str
    found: str


class ClaimCheck(pydantic.BaseModel, frozen=True):
    """The result of repeating a claim's comparison.

    Attributes:
        figures: every difference in the claim or in the recomputed comparison.
        facts: other facts that do not match the claim.
        moved_by: changes of the metric version or encoders, and of facts that may change with these. If there are any,
            figures may change, too.
    """

    figures: tuple[FigureCheck, ...]
    facts: tuple[FactCheck, ...]
    moved_by: tuple[FactCheck, ...]

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def holds(self) -> bool:
        """Return whether every conclusion is reproduced; figures may change with metric versions or encoders."""
        figures = all(each.status != "differs" and each.stands for each in self.figures)
        return figures and not self.facts


def check_claim(claimed: Claim, recomputed: Claim) -> ClaimCheck:
    """Check a claim against the same comparison, repeated.

    Args:
        claimed: the claim.
        recomputed: the claim from the same files and settings now.

    Returns: what matches, what changed with the metric version or encoders, and what differs.
    """
    moved_by = tuple(dict.fromkeys(_compare_facts(claimed, recomputed, _MOVERS)))
    facts = list(dict.fromkeys(_compare_facts(claimed, recomputed, _SETTINGS)))
    for name in ("benchmark", "level"):
        facts += _changed(name, getattr(claimed, name), getattr(recomputed, name))
    findings = list(dict.fromkeys(_compare_facts(claimed, recomputed, _FINDINGS)))
    # Hypotheses may be worded differently in another metric version, so they are compared only within one.
    if not any(each.what == "metric_version" for each in moved_by):
        findings += _changed("hypothesis", "\n".join(claimed.hypothesis), "\n".join(recomputed.hypothesis))
    if moved_by:
        moved_by += tuple(findings)
    else:
        facts += findings
    old, new = _claimed_figures(claimed), _claimed_figures(recomputed)
    figures = []
    for key in dict.fromkeys((*old, *new)):
        sides = old.get(key), new.get(key)
        status: Status = "agrees" if _agree(*sides) else "moved" if moved_by else "differs"
        pair, where, figure = key
        check = FigureCheck(pair=pair, where=where, figure=figure, claimed=sides[0], found=sides[1], status=status)
        figures.append(check)
    return ClaimCheck(figures=tuple(figures), facts=tuple(facts), moved_by=moved_by)


ShiftValues = Mapping[tuple[str, str, str, str], float | None]
"""Figures of an entry by task, source, target and name."""


def read_shift_values(scores: bytes) -> ShiftValues:
    """Read ST, SD and TD of every shift from nested scores of any metric version.

    Args:
        scores: JSON of an entry's scores.

    Returns: fractions by task, source, target and figure; None if undefined.

    Raises: ValueError, KeyError, TypeError or AttributeError if the scores are damaged.
    """
    return {
        (task["task"], shift["source"], shift["target"], figure): (shift[figure.lower()] or {}).get("value")
        for task in parse_json(scores)["tasks"]
        for shift in task["shifts"]
        for figure in FIGURES
    }


def check_against_scores(claimed: Claim, known: Mapping[str, ShiftValues]) -> Iterator[FactCheck]:
    """Check the claimed differences on shifts against scores of the metric version that the claim was made with.

    Args:
        claimed: the claim.
        known: figures of each entry by its name in the comparisons; other entries are not checked.

    Returns: the contradictions.
    """
    differences = [
        (pair, shift, each) for pair in claimed.comparisons for shift in pair.shifts for each in shift.differences
    ]
    for pair, shift, each in differences:
        key = (shift.task, shift.source, shift.target, each.figure)
        a, b = known.get(pair.a, {}).get(key), known.get(pair.b, {}).get(key)
        if each.value is None or a is None or b is None or _is_close(each.value, a - b, VALUE_TOLERANCE):
            continue
        what = f"{each.figure} of {shift.task} {shift.source} -> {shift.target}, {pair.a} - {pair.b}"
        value = f"{a - b:.4f} by scores of metric version {pair.metric_version}"
        yield FactCheck(what=what, claimed=f"{each.value:.4f}", found=value)


def _compare_facts(claimed: Claim, recomputed: Claim, fields: set[str]) -> Iterator[FactCheck]:
    """List the differences between two claims in ``fields`` of their comparisons (facts other than figures)."""
    for old, new in zip(claimed.comparisons, recomputed.comparisons, strict=True):
        has_runs = any(task.failures_a or task.failures_b for task in old.tasks)
        unread = {"tasks": {"__all__": _RUNS if has_runs else _RUNS | {"failures_a", "failures_b"}}}
        left, right = (each.model_dump(mode="json", include=fields, exclude=unread) for each in (old, new))
        for name in left:
            yield from _changed(name, left[name], right[name])


def _changed(what: str, claimed: Any, recomputed: Any) -> Iterator[FactCheck]:
    if claimed != recomputed:
        yield FactCheck(what=what, claimed=str(claimed), found=str(recomputed))


def _claimed_figures(claim: Claim) -> Mapping[tuple[str, str, str], Difference]:
    """Return all differences by pair of entries, description of the mean or shift, and figure."""
    figures = {}
    for pair in claim.comparisons:
        sides = f"{pair.a} - {pair.b}"
        for mean in pair.means:
            source = f" of {mean.source}" if mean.source else ""
            ranked = " (ranked by)" if mean.ranked else ""
            where = f"{mean.task}{source} over {', '.join(mean.targets)}{ranked}"
            figures[sides, where, mean.difference.figure] = mean.difference
        for shift in pair.shifts:
            where = f"{shift.task} {shift.source} -> {shift.target} ({shift.n} texts, {shift.runs} runs)"
            figures |= {(sides, where, each.figure): each for each in shift.differences}
    return figures


def _agree(claimed: Difference | None, recomputed: Difference | None) -> bool:
    if claimed is None or recomputed is None:
        return False
    if claimed.at_floor != recomputed.at_floor or _better(claimed) != _better(recomputed):
        return False
    figures = (
        (claimed.p, recomputed.p),
        (claimed.low, recomputed.low),
        (claimed.high, recomputed.high),
        (claimed.p_corrected, recomputed.p_corrected),
        (claimed.p_equivalent, recomputed.p_equivalent),
    )
    same_value = _is_close(claimed.value, recomputed.value, VALUE_TOLERANCE)
    return same_value and all(_is_close(*pair, P_TOLERANCE) for pair in figures)


def _is_close(claimed: float | None, recomputed: float | None, tolerance: float) -> bool:
    if claimed is None or recomputed is None:
        return claimed is recomputed
    return abs(claimed - recomputed) <= tolerance


def _better(difference: Difference | None) -> str | None:
    return None if difference is None else winner(difference)
