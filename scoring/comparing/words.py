"""Text summaries of comparisons: the score first, then the drop; claims about recipes or about trained models."""

from collections.abc import Iterator, Sequence

from shiftbench.metrics.ranking import FAILURE, RUNS_OF_RARE_FAILURES
from shiftbench.scoring.comparing.shape import (
    AVERAGE_DROP,
    FIGURES,
    LEVEL,
    MEAN_OOD,
    MEAN_ST,
    RECIPES,
    TRAINED_MODELS,
    AtFloor,
    Comparison,
    Difference,
    MeanComparison,
    TaskComparison,
    p_text,
    winner,
)
from shiftbench.validation.report import plural

Names = tuple[str, str]
RANKED = (MEAN_ST, MEAN_OOD)
CORRECTED = (
    "p values are corrected over all tests here (ranked means and average drops separately); intervals are uncorrected"
)
"""The families over which p values are corrected; intervals are not."""


def sentence(pair: Comparison, names: Names, benchmark: str) -> str:
    """Summarise how two entries differ in one sentence, with the figures needed to check it.

    The ranked figure comes first, then the average drop, then the shifts. With few runs it is about these trained
    models, and states how many runs claims about recipes would need.

    Args:
        pair: the comparison of the two.
        names: their display names.
        benchmark: the benchmark's display name.

    Returns: the sentence without a full stop.
    """
    names = _quoted(names)
    if not pair.shifts:
        return f"{names[0]} and {names[1]} share no shift that can be shown"
    parts = [
        part for task in dict.fromkeys(shift.task for shift in pair.shifts) for part in _task_lines(pair, task, names)
    ]
    tasks = ", ".join(f"{benchmark}/{task}" for task in dict.fromkeys(shift.task for shift in pair.shifts))
    subset = "" if pair.subset == "all" else f", subset {pair.subset}"
    facts = (
        f"{tasks}, data {pair.data[:6]}{subset}, entries '{pair.a}' and '{pair.b}', "
        f"metric version {pair.metric_version}"
    )
    return "; ".join([*parts, facts])


def about_lines(pairs: Sequence[Comparison]) -> list[str]:
    """Write for each task whether its tests are about recipes or trained models, and why; then remarks on the tests.

    Args:
        pairs: comparisons of one first entry with others.

    Returns: lines without a full stop, without repetitions.
    """
    lines: dict[str, None] = {}
    for pair in pairs:
        for task in pair.tasks:
            if task.about == RECIPES:
                runs = f"{task.runs_a} and {task.runs_b} runs per source"
                lines[f"{task.task}: about recipes, {method_words(task)} ({runs})"] = None
                lines |= dict.fromkeys(filter(None, [failure_words(task, (pair.a, pair.b))]))
            else:
                why = task.runs_missing or outside_words(task, _quoted((pair.a, pair.b)))
                lines[f"{task.task}: about {TRAINED_MODELS}, {method_words(task)}; {why}"] = None
        if not pair.tasks:
            lines[f"about {TRAINED_MODELS}"] = None
        lines |= dict.fromkeys([*_within_margin(pair), *_tuning(pair)])
    return list(lines)


def method_words(task: TaskComparison) -> str:
    """Describe the sources of variance in a task's intervals and p values."""
    if task.about == RECIPES:
        return "over training runs and groups of texts, if runs are roughly normal"
    return "over groups of texts"


def failure_words(task: TaskComparison, names: Names) -> str:
    """Write how many runs of both entries failed, and whether rare failures can be excluded.

    Args:
        task: the comparison on one task.
        names: display names of both entries.

    Returns: a sentence without a full stop; ``""`` if the runs of an entry are not known.
    """
    known = [(name, each) for name, each in zip(names, (task.failures_a, task.failures_b), strict=True) if each]
    if len(known) < 2:
        return ""
    counts = [
        f"{each.n_failed} of {each.n_runs} of '{name}' (upper bound for all its runs: {100 * each.share_at_most:.0f}%)"
        for name, each in known
    ]
    few = min(each.n_runs for _, each in known) < RUNS_OF_RARE_FAILURES
    doubt = f"; with fewer than {RUNS_OF_RARE_FAILURES} runs per model, rare failures cannot be excluded" if few else ""
    return (
        f"{task.task}: runs more than {100 * FAILURE:g} points below the best of their recipe: {' and '.join(counts)}"
        f"{doubt}"
    )


def outside_words(task: TaskComparison, names: Names) -> str:
    """Write how an entry trained on none of the domains is compared with a trained one; ``""`` otherwise."""
    if task.outside is None:
        return ""
    name = names[task.outside == "b"]
    return (
        f"{name} was trained on none of these domains: its score on a target is compared with the other's score for "
        "each source; drops do not apply"
    )


def not_comparable_words(n_apart: int, n_pairs: int) -> str:
    """Write how many pairs cannot be compared; ``""`` if all can.

    >>> not_comparable_words(15, 28), not_comparable_words(1, 3), not_comparable_words(0, 3)
    ('15 of 28 pairs share no shift.', '1 of 3 pairs shares no shift.', '')
    """
    verb = "shares" if n_apart == 1 else "share"
    return f"{n_apart} of {plural(n_pairs, 'pair')} {verb} no shift." if n_apart else ""


def _quoted(names: Names) -> Names:
    """Return the names in quotes, so that commas in them are not ambiguous."""
    return f"'{names[0]}'", f"'{names[1]}'"


def floor_words(difference: Difference, names: Names) -> str:
    """Write why a drop is not compared; ``""`` if it is.

    >>> floor_words(Difference(figure="TD", value=0.0, p=None, at_floor="b"), ("A", "B"))
    'not compared: B is at chance'
    """
    return f"not compared: {chance_words(difference.at_floor, names)}" if difference.at_floor else ""


def chance_words(at_floor: AtFloor | None, names: Names) -> str:
    """Write which of two entries are at chance; ``""`` if none is.

    >>> chance_words("both", ("A", "B"))
    'A and B are at chance'
    """
    if at_floor is None:
        return ""
    return f"{' and '.join(names)} are at chance" if at_floor == "both" else f"{names[at_floor == 'b']} is at chance"


def _within_margin(pair: Comparison) -> Iterator[str]:
    """Write which means are within the margin, and whether every shift is (no correction needed)."""
    if pair.margin is None:
        return
    for task in pair.tasks:
        means = [mean.difference for mean in pair.means if mean.task == task.task]
        parts = [f"{each.figure} {_is_within(each)}" for each in means if each.figure in (AVERAGE_DROP, *RANKED)]
        shifts = [shift for shift in pair.shifts if shift.task == task.task]
        for number, figure in enumerate(FIGURES):
            tests = [shift.differences[number].p_equivalent for shift in shifts]
            n_within = sum(p is not None and p < LEVEL for p in tests)
            all_within = "shown" if n_within == len(tests) else "not shown"
            parts.append(f"{figure} on every shift {all_within} ({n_within} of {len(tests)} individually)")
        yield (
            f"{task.task}, against '{pair.b}': a difference below {100 * pair.margin:g} points, the margin fixed in "
            f"advance (two one-sided tests at 5%, about {task.about}): {', '.join(parts)}"
        )


def _tuning(pair: Comparison) -> Iterator[str]:
    """Write that two entries were not tuned equally, or that one does not state its tuning."""
    trials = (pair.tuning_trials_a, pair.tuning_trials_b)
    if trials[0] != trials[1]:
        stated = ["not stated" if each is None else plural(each, "trial") for each in trials]
        yield (
            f"unequal tuning: '{pair.a}' {stated[0]}, '{pair.b}' {stated[1]}; more trials by themselves can raise a "
            "score"
        )


def _is_within(difference: Difference) -> str:
    if difference.p_equivalent is None:
        return "not tested"
    return f"{'shown' if difference.p_equivalent < LEVEL else 'not shown'} (p {p_text(difference.p_equivalent)})"


def _task_lines(pair: Comparison, task: str, names: Names) -> Iterator[str]:
    facts = next((each for each in pair.tasks if each.task == task), None)
    means = [mean for mean in pair.means if mean.task == task]
    ranked = next((mean for mean in means if mean.ranked), None)
    drop = next((mean for mean in means if mean.difference.figure == AVERAGE_DROP), None)
    is_recipe = facts is not None and facts.about == RECIPES
    level = _level(ranked, names, " on average" if is_recipe else "")
    lead = [level, *([_drop(drop, names, is_recipe=is_recipe)] if drop else [])]
    subject: str = TRAINED_MODELS
    if facts is not None and is_recipe:
        subject = f"as recipes ({facts.runs_a} and {facts.runs_b} runs per source, if runs are roughly normal)"
    yield f"{subject[0].upper()}{subject[1:]}, {task}: {', '.join(lead)}"
    if facts is not None and is_recipe and (words := failure_words(facts, (names[0][1:-1], names[1][1:-1]))):
        yield words.removeprefix(f"{task}: ")
    yield _by_shift(pair, task, names)
    if facts is not None:
        yield from _floor(facts, names)
        if why := facts.runs_missing or outside_words(facts, names):
            yield why


def _level(ranked: MeanComparison | None, names: Names, how: str) -> str:
    if ranked is None or ranked.difference.value is None:
        return f"no mean score is available for both {names[0]} and {names[1]}"
    first, second, by = _better_first(ranked.difference, names)
    if winner(ranked.difference) is None:
        return f"{names[0]} and {names[1]} do not differ significantly in {by}"
    return f"{first} scores higher{how} than {second} ({by})"


def _drop(drop: MeanComparison, names: Names, *, is_recipe: bool) -> str:
    difference = drop.difference
    if difference.at_floor is not None:
        return f"{AVERAGE_DROP} {floor_words(difference, names)}"
    first, second, by = _better_first(difference, names)
    if winner(difference) is None:
        return f"do not differ significantly in {by}" if difference.value is not None else f"{AVERAGE_DROP} unknown"
    return f"{first} {'is more robust on average' if is_recipe else 'drops less'} than {second} ({by})"


def _better_first(difference: Difference, names: Names) -> tuple[str, str, str]:
    """Return the better entry, the other, and the difference with its interval and p values."""
    first, second = names[::-1] if winner(difference) == "b" else names
    return first, second, f"{difference.figure}, {names[0]} minus {names[1]}: {gap_words(difference)}"


def gap_words(difference: Difference) -> str:
    """Write a difference in points with its interval, its p, and p corrected over the comparison.

    >>> gap_words(Difference(figure="ST", value=0.02, p=0.03, p_corrected=0.06, low=0.002, high=0.038))
    '+2.00 points [+0.20, +3.80], uncorrected p 0.0300, corrected p 0.0600'
    """
    if difference.value is None:
        return "unknown"
    gap = f"{100 * difference.value:+.2f} points"
    if difference.low is None or difference.high is None:
        return f"{gap}, no interval{f': {difference.no_interval}' if difference.no_interval else ''}"
    ends = f"[{100 * difference.low:+.2f}, {100 * difference.high:+.2f}]"
    return f"{gap} {ends}, uncorrected p {p_text(difference.p)}, corrected p {p_text(difference.p_corrected)}"


def _by_shift(pair: Comparison, task: str, names: Names) -> str:
    shifts = [shift for shift in pair.shifts if shift.task == task]
    counts = []
    for number, figure in enumerate(FIGURES):
        tests = [shift.differences[number] for shift in shifts]
        known = [each for each in tests if each.p is not None]
        if known:
            wins = [winner(each) for each in known]
            better = "higher" if figure == "ST" else "lower"
            counts.append(
                f"{figure} is {better} for {names[0]} on {wins.count('a')} and for {names[1]} on {wins.count('b')} "
                f"of {len(known)}"
            )
    return "by shift (corrected p < 0.05), " + ", ".join(counts) if counts else "no shift was compared"


def _floor(facts: TaskComparison, names: Names) -> Iterator[str]:
    if facts.at_floor is not None:
        marked = names if facts.at_floor == "both" else (names[facts.at_floor == "b"],)
        yield (
            f"{' and '.join(marked)}: the mean score is not significantly above chance or always predicting one label, "
            "so drops are not informative"
        )
