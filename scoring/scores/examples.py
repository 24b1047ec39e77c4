"""Misclassified test texts for an entry's page; shown only if labels and texts are public."""

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl

from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.outcomes import outcomes
from shiftbench.validation.vocabulary import GOLD, OUTSIDE_SOURCES, SPLITS, TOKENS, UNPARSED, TaskKind

MAX_LETTERS = 300
"""Longer texts are clipped, because a page should quote texts, not republish them."""
_AT_FIRST = 300
"""Number of rows searched first, because scoring all rows of a large test set is slow."""
_NO_ANSWER, _NO_SPANS, _UNPARSED = "(no answer)", "(no spans)", "(unusable output)"


@dataclass(frozen=True)
class WrongExample:
    """One test row with a wrong prediction.

    Attributes:
        id: its example id.
        texts: the inputs, as (column name, clipped text).
        gold: the gold answer as text.
        predicted: the model's answer as text.
        score: the prediction's score on this row, a fraction below 1.
        at_home: score on this row of the same entry's model that was trained on the row's domain, a fraction; None if
            the entry has no such model.
    """

    id: str
    texts: tuple[tuple[str, str], ...]
    gold: str
    predicted: str
    score: float
    at_home: float | None = None


def why_hidden(folder: DatasetFolder, task: str, domain: str) -> str:
    """Return why examples of a domain may not be shown.

    Args:
        folder: the dataset.
        task: its task.
        domain: the task's domain.

    Returns: the reason; ``""`` if they may be shown.
    """
    if not folder.has_public_labels:
        return "labels are withheld"
    facts = folder.task(task).domains.get(domain)
    if facts is None or "test" not in facts.splits:
        return "its texts are not available here"
    return "the licence of its texts does not allow showing them" if facts.rebuild_only else ""


def wrong_examples(
    predictions: Path, folder: DatasetFolder, task: str, source: str, target: str, n: int = 5
) -> tuple[WrongExample, ...]:
    """Find misclassified test rows of a shift, the most informative first.

    If the entry also has a model trained on the target, the first rows are those on which that model is furthest ahead
    of the source's: right when trained on the target, wrong when trained on the source. Otherwise, and among ties, rows
    are sorted by score, then by id. Of several runs, the one with the lowest seed is used. Labels and tag sequences are
    right or wrong; answers and generated texts are scored by token F1 or ROUGE-L, and count as wrong below 1.

    Args:
        predictions: the entry's prediction file in the store's format (parquet).
        folder: the dataset.
        task: its task.
        source: what the model was trained on.
        target: the domain that it was tested on.
        n: maximum number of rows.

    Returns: the rows; empty if they may not be shown (see ``why_hidden``), or without such predictions.
    """
    if why_hidden(folder, task, target):
        return ()
    prefix = f"{folder.manifest.benchmark}/{task}/{target}/test/"
    said = _one_run(predictions, prefix, source)
    if said.is_empty():
        return ()
    info = folder.task(task)
    gold = folder.split(task, target, "test")
    # A subset has predictions for only some of the rows.
    rows = gold.join(said, on="id", how="inner", maintain_order="left")
    if rows.is_empty():
        return ()
    home = _one_run(predictions, prefix, target) if target != source else said.clear()
    rows = rows.join(home.select("id", at_home="prediction"), on="id", how="left", maintain_order="left")
    worst = _worst(rows.head(_AT_FIRST), gold, info, n)
    # The first rows suffice if n of them are wrong for the source's model and right for the target's.
    if (worst["score"] - worst["at_home"].fill_null(1) == -1).sum() < n:
        worst = _worst(rows, gold, info, n)
    return tuple(_example(row, info) for row in worst.iter_rows(named=True))


@dataclass(frozen=True)
class Disagreement:
    """A test row on which one of two entries does better: inputs, gold answer, and the worse entry's answer."""

    texts: tuple[tuple[str, str], ...]
    gold: str
    predicted: str
    first_is_right: bool


@dataclass(frozen=True)
class Disagreements:
    """How two entries differ on the texts of a shift.

    Attributes:
        source: what they were trained on.
        target: the domain that they were tested on.
        n: texts that both predicted.
        n_first: texts on which the first does better.
        n_second: texts on which the second does better.
        examples: a few texts of both kinds; empty if they may not be shown.
        hidden: why they may not be shown; ``""`` if they may.
    """

    source: str
    target: str
    n: int
    n_first: int
    n_second: int
    examples: tuple[Disagreement, ...]
    hidden: str


def disagreements(
    predictions: tuple[Path, Path], folder: DatasetFolder, task: str, source: str, target: str, n: int = 3
) -> Disagreements | None:
    """Compare two entries text by text on one shift, each by its run with the lowest seed.

    Args:
        predictions: their prediction files in the store's format (parquet).
        folder: the dataset.
        task: its task.
        source: what they were trained on; an entry trained on no domain is compared for every source.
        target: the domain that they were tested on.
        n: maximum number of examples of each kind, sorted by difference, then by id.
    Returns: the comparison; None if labels are withheld or the entries have no text in common.
    """
    if not folder.has_public_labels:
        return None
    prefix = f"{folder.manifest.benchmark}/{task}/{target}/test/"
    info, gold = folder.task(task), folder.split(task, target, "test")
    scored = []
    for path in predictions:
        said = next(
            (rows for name in (source, *OUTSIDE_SOURCES) if (rows := _one_run(path, prefix, name)).height), None
        )
        if said is None:
            return None
        rows = gold.join(said, on="id", how="inner", maintain_order="left")
        scores = outcomes(info, rows, gold, rows["prediction"], None).example_scores[0]
        scored.append(rows.with_columns(score=pl.Series(scores)))
    both = scored[0].join(
        scored[1].select("id", other="prediction", other_score="score"), on="id", how="inner", maintain_order="left"
    )
    if both.is_empty():
        return None
    both = both.with_columns(lead=pl.col("score") - pl.col("other_score"))
    hidden = why_hidden(folder, task, target)
    examples = []
    for is_first in (True, False):
        lead = pl.col("lead") if is_first else -pl.col("lead")
        for row in both.filter(lead > 0).sort(-lead, "id").head(0 if hidden else n).iter_rows(named=True):
            worse = {**row, "prediction": row["other"] if is_first else row["prediction"]}
            texts = tuple((name, _clipped(_as_text(row[name]))) for name in _quoted_columns(info))
            examples.append(Disagreement(texts, _gold(row, info), _predicted(worse, info), is_first))
    n_first, n_second = both.filter(pl.col("lead") > 0).height, both.filter(pl.col("lead") < 0).height
    return Disagreements(source, target, both.height, n_first, n_second, tuple(examples), hidden)


@dataclass(frozen=True)
class SampleRow:
    """A row of a domain: its id, its clipped inputs by column, and its gold answer as text (``""`` if withheld)."""

    id: str
    texts: tuple[tuple[str, str], ...]
    gold: str


def sample_rows(folder: DatasetFolder, task: str, domain: str, n: int = 3) -> tuple[SampleRow, ...]:
    """Return a domain's first rows by id, from its train split if it has one; the order of ids is arbitrary.

    Args:
        folder: the dataset.
        task: its task.
        domain: the task's domain.
        n: maximum number of rows.

    Returns: the rows; empty if the licence does not allow showing the texts, or they are not available.
    """
    info = folder.task(task)
    facts = info.domains.get(domain)
    if facts is None or facts.rebuild_only or not facts.splits:
        return ()
    split = next(split for split in SPLITS if split in facts.splits)
    has_gold = split == "train" or folder.has_public_labels
    return tuple(
        SampleRow(
            row["id"],
            tuple((name, _clipped(_as_text(row[name]))) for name in _quoted_columns(info)),
            _gold(row, info) if has_gold else "",
        )
        for row in folder.split(task, domain, split).head(n).iter_rows(named=True)
    )


def _worst(rows: pl.DataFrame, gold: pl.DataFrame, info: TaskInfo, n: int) -> pl.DataFrame:
    scores = outcomes(info, rows, gold, rows["prediction"], None).example_scores[0]
    scored = rows.with_columns(score=pl.Series(scores))
    there = scored.filter(pl.col("at_home").is_not_null())
    at_home = (
        there.select("id", at_home=pl.Series(outcomes(info, there, gold, there["at_home"], None).example_scores[0]))
        if there.height
        else there.select("id", at_home=pl.lit(None, pl.Float64))
    )
    compared = scored.drop("at_home").join(at_home, on="id", how="left", maintain_order="left")
    lead = (pl.col("at_home") - pl.col("score")).fill_null(0)
    return compared.filter(pl.col("score") < 1).sort(-lead, "score", "id").head(n)


def _one_run(predictions: Path, prefix: str, source: str) -> pl.DataFrame:
    wanted = (pl.col("source") == source) & pl.col("id").str.starts_with(prefix)
    scan = pl.scan_parquet(predictions, glob=False).filter(wanted)
    columns = ["id", "prediction", *({"seed"} & set(scan.collect_schema().names()))]
    rows = scan.select(columns).collect()
    return rows.filter(pl.col("seed") == pl.col("seed").min()).drop("seed") if "seed" in columns else rows


def _example(row: dict[str, Any], info: TaskInfo) -> WrongExample:
    texts = tuple((name, _clipped(_as_text(row[name]))) for name in _quoted_columns(info))
    return WrongExample(row["id"], texts, _gold(row, info), _predicted(row, info), float(row["score"]), row["at_home"])


def _quoted_columns(info: TaskInfo) -> list[str]:
    """List the columns to quote, with a question before its long context."""
    names = [name for name in info.inputs if name != "title" or info.kind is not TaskKind.EXTRACTIVE_QA]
    return sorted(names, key=lambda name: name == "context")


def _gold(row: dict[str, Any], info: TaskInfo) -> str:
    gold: Any = row[GOLD[info.kind]]
    if info.kind is TaskKind.CLASSIFICATION:
        return info.labels[int(gold)]
    if info.kind is TaskKind.TAGGING:
        return _spans(row[TOKENS], [info.labels[code] for code in gold])
    if info.kind is TaskKind.EXTRACTIVE_QA:
        return _clipped(" / ".join(dict.fromkeys(gold["text"])) or _NO_ANSWER)
    return _clipped(str(gold))


def _predicted(row: dict[str, Any], info: TaskInfo) -> str:
    said: str = row["prediction"]
    if said == UNPARSED:
        return _UNPARSED
    if info.kind is TaskKind.TAGGING:
        return _spans(row[TOKENS], said.split(" "))
    if info.kind is TaskKind.EXTRACTIVE_QA and not said:
        return _NO_ANSWER
    return _clipped(said)


def _spans(tokens: list[str], tags: list[str]) -> str:
    """Format tagged spans as text: the tokens of each span, joined, and its type.

    >>> _spans(["battery", "life", "is", "bad"], ["T-NEG", "T-NEG", "O", "O"])
    'battery life: NEG'
    """
    number, marked = 0, []
    for before, tag in zip(["O", *tags], tags, strict=False):
        kind = tag.partition("-")[2]
        number += tag.startswith("B-") or kind != before.partition("-")[2]
        marked.append((number, kind))
    spans = []
    for (_, kind), part in groupby(zip(marked, tokens, strict=True), key=lambda pair: pair[0]):
        if kind:
            spans.append(f"{' '.join(token for _, token in part)}: {kind}")
    return _clipped("; ".join(spans) or _NO_SPANS)


def _as_text(value: str | list[str]) -> str:
    return value if isinstance(value, str) else " ".join(value)


def _clipped(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= MAX_LETTERS else f"{words[: MAX_LETTERS - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"
