"""The section of a dataset card with a task's statistics: a plot and collapsed Markdown tables."""

from collections.abc import Mapping

from shiftbench.builders.folder.statistics import DomainStatistics, Lengths, TaskStatistics, data_path, picture_path
from shiftbench.builders.statistics.markdown import folded, table
from shiftbench.validation.vocabulary import TaskKind

UNDEFINED = "n/a"


def statistics_section(name: str, statistics: TaskStatistics, *, is_drawn: bool) -> str:
    """Build a task's section of the card.

    Args:
        name: the task's name.
        statistics: its statistics.
        is_drawn: whether the folder contains their plot.
    Returns: Markdown with a level 3 heading; undefined values are 'n/a'.
    """
    parts = [
        _lengths_and_words(statistics),
        _duplicates(statistics),
        *_annotators(statistics),
    ]
    if len(statistics.divergence) > 1:
        parts.append("Jensen-Shannon divergence of train words in bits (0: identical, 1: no word in common):")
        pairs = {
            (a, b): f"{value:.3f}" for a, row in statistics.divergence.items() for b, value in row.items() if a != b
        }
        parts.append(_matrix("", pairs))
    if statistics.depths:
        parts.append(
            "Q: the probability that a train text of the source (row) is at most as deep in the source as a test text "
            "of the target (column). In brackets: the mean depth of these test texts."
        )
        cells = {(pair.source, pair.target): f"{pair.q:.2f} ({pair.mean_depth:.3f})" for pair in statistics.depths}
        parts.append(_matrix("source", cells))
    parts.append(f"All statistics, every split: `{data_path(name)}`.")
    picture = f"![Sizes, shares, lengths, vocabulary and distances of the domains of {name}]({picture_path(name)})\n\n"
    return f"### Statistics of {name}\n\n{picture if is_drawn else ''}" + folded(
        "Lengths, words, duplicates and distances", "\n\n".join(parts)
    )


def _lengths_and_words(statistics: TaskStatistics) -> str:
    unit = "tokens" if statistics.kind is TaskKind.TAGGING else "words"
    generation = statistics.kind is TaskKind.GENERATION
    columns = ["domain", f"input {unit}, train", f"input {unit}, test"]
    columns += ["target words, train", "target words, test"] if generation else []
    columns += ["distinct words, train", "words of test not in train"]
    rows = []
    for domain, facts in statistics.domains.items():
        cells = [_length(_lengths_of(facts, split, "input_words")) for split in ("train", "test")]
        if generation:
            cells += [_length(_lengths_of(facts, split, "target_words")) for split in ("train", "test")]
        rows.append([domain, *cells, _count(facts.vocabulary), _percent(facts.unseen_test_share)])
    return f"Lengths are means, with the 5% and 95% quantiles.\n\n{table(columns, rows)}"


def _duplicates(statistics: TaskStatistics) -> str:
    """Format the duplicates of test rows, which inflate scores; other splits are only in the JSON data."""
    duplicates = statistics.duplicates
    within = {repeats.domain: repeats for repeats in duplicates.within if repeats.split == "test"}
    train = {
        repeats.domain: repeats
        for repeats in duplicates.across_splits
        if (repeats.split, repeats.other) == _TEST_IN_TRAIN
    }
    domains = {repeats.domain: repeats for repeats in duplicates.across_domains if repeats.split == "test"}
    columns = ["domain", "test rows", "in test", "in train", "in other domains"]
    rows, without = [], []
    for domain in [domain for domain in statistics.domains if domain in within]:
        others = [where.get(domain) for where in (within, train, domains)]
        if all(other is not None and other.exact + other.near == 0 for other in others):
            without.append(domain)
            continue
        cells = [UNDEFINED if other is None else f"{other.exact:,} + {other.near:,}" for other in others]
        rows.append([domain, f"{within[domain].rows:,}", *cells])
    if not rows and not without:
        return "There are no test rows."
    said = "Test rows with a duplicate: exact + near (Jaccard similarity of word 3-shingles at least 0.8, other group)."
    if duplicates.uncompared:
        said += " Some similar texts are so frequent that not all pairs were compared: there may be more duplicates."
    none = f"No duplicates: {', '.join(without)}." if without else ""
    return "\n\n".join(filter(None, (said, table(columns, rows), none)))


_TEST_IN_TRAIN = ("test", "train")


def _annotators(statistics: TaskStatistics) -> list[str]:
    """Format the scores of single annotators, if upstream has their votes."""
    rows = [
        [
            domain,
            f"{annotators.texts:,}",
            f"{annotators.votes:.1f}",
            *(
                f"{100 * each[name]:.1f}"
                for each in (annotators.others, annotators.gold)
                for name in ("accuracy", "macro_f1")
            ),
        ]
        for domain, facts in statistics.domains.items()
        if (annotators := facts.annotators) is not None
    ]
    if not rows:
        return []
    columns = ["domain", "test texts", "votes per text", "accuracy", "macro-F1", "accuracy, gold", "macro-F1, gold"]
    words = (
        "Scores of single annotators, in points: each against the majority of the others, and against the gold label, "
        "which includes their own votes."
    )
    return [f"{words}\n\n{table(columns, rows)}"]


def _lengths_of(facts: DomainStatistics, split: str, name: str) -> Lengths | None:
    return getattr(facts.splits[split], name) if split in facts.splits else None


def _length(lengths: Lengths | None) -> str:
    if lengths is None:
        return UNDEFINED
    return f"{lengths.mean:,.1f} ({lengths.quantiles[1]:,.0f}-{lengths.quantiles[5]:,.0f})"


def _count(value: int | None) -> str:
    return UNDEFINED if value is None else f"{value:,}"


def _percent(share: float | None) -> str:
    return UNDEFINED if share is None else f"{100 * share:.1f}%"


def _matrix(corner: str, cells: Mapping[tuple[str, str], str]) -> str:
    rows = dict.fromkeys(row for row, _ in cells)
    names = {column for _, column in cells}
    columns = [name for name in rows if name in names] + sorted(names - set(rows))  # same order as the rows
    return table([corner, *columns], [[row, *(cells.get((row, column), "") for column in columns)] for row in rows])
