"""Outcomes of runs on test rows, as additive counts; one class for all task kinds.

Every metric of a kind is a formula over sums of counts. Plain and depth-weighted scores differ only in the row weights;
a row's influence on a score is its counts times the formula's slopes.

    classification  k = C (C + 1)   one cell of the confusion table (the last column: unusable output)
    tagging         k = 3           right, gold and predicted spans (3 more for BOSS's four types)
    extractive_qa   k = 6           token F1, exact match and rows, of answerable and of unanswerable questions
    generation      k = 2 or 3      rows, ROUGE-L and, given an encoder, BERTScore-F1

``TargetRuns`` holds the outcomes of all runs on the test rows of one target.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.classification import accuracy, macro_f1
from shiftbench.metrics.generation import bert_score, rouge_l
from shiftbench.metrics.precision import slopes
from shiftbench.metrics.priors import (
    NO_ANSWER_SHARE,
    prior_fixed_accuracy,
    prior_fixed_macro_f1,
    prior_fixed_mean,
)
from shiftbench.metrics.qa import qa_scores
from shiftbench.metrics.tagging import (
    RARER_TO_MISCELLANEOUS,
    span_counts,
    span_f1,
    tag_notation,
    tag_scheme,
)
from shiftbench.validation.vocabulary import GOLD, UNPARSED, TaskKind

Floats = NDArray[np.float64]
Formula = Callable[[Floats], Floats]
"""Sums of counts (..., k) -> scores (...)."""

PRIOR_FIXED = "prior_fixed_"
"""Prefix of metrics under a common class prior: uniform, or for questions a fixed share of unanswerable ones."""
LENIENT = "span_f1_lenient"
"""Span F1 where an orphan I- tag opens a span, as in seqeval's default mode."""
_CANDIDATES = 2000
"""Number of generated texts whose embeddings are in memory at the same time."""
QA_PRIOR = (1 - NO_ANSWER_SHARE, NO_ANSWER_SHARE)


@dataclass(frozen=True)
class Outcomes:
    """Counts of each of n_runs models on each of n test rows.

    Attributes:
        formulas: functions from sums of counts to scores, by metric name.
        micro: name of the metric that Depth F1's micro averaging gives for this kind.
        example_metric: name of the metric that is the mean of ``example_scores``; None without one.
        unweighted: scores of further metrics on the unweighted rows, by name, fractions, shape (n_runs,); they have
            neither depth weights nor intervals.
        gold: number of gold examples of each class in each row, shape (n_classes, n), spans being one class; None if
            every metric is a mean over examples.
        cells: index of the one count that is 1, shape (n_runs, n); None if ``values`` has the counts.
        values: counts, shape (n_runs, n, k); None if ``cells`` is used.
        n_counts: k.
        example_scores: score of each row, fractions, shape (n_runs, n).
        unparsed: whether the output was unusable, shape (n_runs, n).
    """

    formulas: Mapping[str, Formula]
    micro: str
    n_counts: int
    example_scores: Floats
    unparsed: NDArray[np.bool_]
    cells: NDArray[np.int64] | None = None
    values: Floats | None = None
    example_metric: str | None = None
    gold: Floats | None = None
    unweighted: Mapping[str, Floats] = field(default_factory=dict)

    def totals(self, run: int, weights: Floats) -> Floats:
        """Sum one run's counts.

        Args:
            run: index of the run.
            weights: one or more sets of row weights, shape (n_weights, n).

        Returns: sums, shape (n_weights, k).
        """
        if self.cells is not None:
            cells, k = self.cells[run], self.n_counts
            return np.stack([np.bincount(cells, weights=row, minlength=k) for row in weights])
        assert self.values is not None
        return np.asarray(weights @ self.values[run])

    def influences(self, metric: str, run: int, weights: Floats, totals: Floats) -> Floats:
        """Compute the influence of each row on one run's score: its effect on the linearised score.

        Args:
            metric: name of a formula.
            run: index of the run.
            weights: one or more sets of row weights, shape (n_weights, n).
            totals: the run's counts under these weights, shape (n_weights, k).

        Returns: shape (n_weights, n), each row summing to 0.
        """
        if metric == self.example_metric:
            scores, whole = self.example_scores[run], weights.sum(axis=1, keepdims=True)
            means = weights @ scores[:, None] / whole
            return np.asarray(weights * (scores - means) / whole)
        slope = slopes(self.formulas[metric], totals)
        if self.cells is not None:
            return np.asarray(weights * slope[:, self.cells[run]])
        assert self.values is not None
        return np.asarray(weights * (slope @ self.values[run].T))

    def of_rows(self, wanted: NDArray[np.bool_]) -> "Outcomes":
        """Return the outcomes on some rows, without the unweighted scores, which apply to all rows only.

        Args:
            wanted: mask of the rows, shape (n,).
        """
        return replace(
            self,
            example_scores=self.example_scores[:, wanted],
            unparsed=self.unparsed[:, wanted],
            cells=None if self.cells is None else self.cells[:, wanted],
            values=None if self.values is None else self.values[:, wanted],
            gold=None if self.gold is None else self.gold[:, wanted],
            unweighted={},
        )

    def score(self, metric: str, sums: Floats) -> Floats:
        """Score sums of counts; NaN if the sums are 0 (no row has any weight)."""
        something = sums @ np.ones(self.n_counts) != 0  # counts are never negative
        if something.all():
            return np.asarray(self.formulas[metric](sums))
        scores = np.full(something.shape, np.nan)
        if something.any():
            scores[something] = self.formulas[metric](sums[something])
        return scores


def outcomes(
    info: TaskInfo, gold: pl.DataFrame, full_gold: pl.DataFrame, predictions: pl.Series, encoder: Encoder | None
) -> Outcomes:
    """Count outcomes row by row, for every metric that is a function of sums over rows.

    Args:
        info: the task.
        gold: n test rows of a subset.
        full_gold: all test rows of the domain; they define which classes occur.
        predictions: texts as ``check_predictions`` returns them, n per run, run after run.
        encoder: embeds tokens for BERTScore; None omits BERTScore.
    """
    n_runs = len(predictions) // len(gold)
    if info.kind is TaskKind.CLASSIFICATION:
        return _classification(info, gold, full_gold, predictions, n_runs)
    if info.kind is TaskKind.TAGGING:
        return _tagging(info, gold, predictions, n_runs)
    if info.kind is TaskKind.EXTRACTIVE_QA:
        return _extractive_qa(gold, predictions, n_runs)
    return _generation(gold, predictions, n_runs, encoder)


def _classification(
    info: TaskInfo, gold: pl.DataFrame, full_gold: pl.DataFrame, predictions: pl.Series, n_runs: int
) -> Outcomes:
    n_classes = len(info.labels)
    codes = {label: code for code, label in enumerate(info.labels)}
    predicted = predictions.replace_strict(codes, default=n_classes, return_dtype=pl.Int64).to_numpy()
    labels = gold["label"].to_numpy()
    classes = np.bincount(full_gold["label"].to_numpy(), minlength=n_classes) > 0
    predicted = folded_codes(info, classes)[predicted].reshape(n_runs, len(gold))
    shape = (n_classes, n_classes + 1)

    def table(sums: Floats) -> Floats:
        return sums.reshape(*sums.shape[:-1], *shape)

    return Outcomes(
        formulas={
            "accuracy": lambda sums: accuracy(table(sums)),
            "macro_f1": lambda sums: macro_f1(table(sums), classes),
            f"{PRIOR_FIXED}accuracy": lambda sums: prior_fixed_accuracy(table(sums)),
            f"{PRIOR_FIXED}macro_f1": lambda sums: prior_fixed_macro_f1(table(sums)),
        },
        micro="accuracy",
        n_counts=n_classes * (n_classes + 1),
        example_scores=(predicted == labels).astype(np.float64),
        unparsed=predicted == n_classes,
        cells=labels * (n_classes + 1) + predicted,
        example_metric="accuracy",
        gold=(labels == np.flatnonzero(classes)[:, None]).astype(np.float64),
    )


def folded_codes(info: TaskInfo, classes: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the code that each label is scored as; the last is that of unusable output.

    A label absent from gold is merged into its coarser label.

    Args:
        info: a classification task.
        classes: which labels occur in gold, shape (n_classes,).

    Returns: codes, shape (n_classes + 1,).
    """
    codes = np.arange(len(info.labels) + 1)
    for label, fold in info.label_folds.items():
        finer, coarser = info.labels.index(label), info.labels.index(fold)
        if classes[coarser] and not classes[finer]:
            codes[finer] = coarser
    return codes


def _tagging(info: TaskInfo, gold: pl.DataFrame, predictions: pl.Series, n_runs: int) -> Outcomes:
    lengths = gold["tags"].list.len().to_numpy().astype(np.int64)
    unparsed = (predictions == UNPARSED).to_numpy()
    codes = {tag: code for code, tag in enumerate(info.labels)}
    gold_codes = np.tile(gold["tags"].explode().to_numpy().astype(np.int64), n_runs)
    all_lengths = np.tile(lengths, n_runs)
    offsets = np.concatenate([[0], np.cumsum(all_lengths)])
    # An unusable output counts as a sequence without spans.
    predicted = np.full(gold_codes.size, codes["O"], dtype=np.int64)
    usable = np.repeat(~unparsed, all_lengths)
    tags = predictions.filter(pl.Series(~unparsed)).str.split(" ").explode()
    predicted[usable] = tags.replace_strict(codes, return_dtype=pl.Int64).to_numpy()
    notation = tag_notation(info.labels)
    schemes = [tag_scheme(info.labels, notation)]
    formulas: dict[str, Formula] = {"span_f1": lambda sums: span_f1(sums[..., :3])}
    if set(RARER_TO_MISCELLANEOUS) <= set(schemes[0].types):
        schemes.append(tag_scheme(info.labels, notation, merge=RARER_TO_MISCELLANEOUS))
        formulas["span_f1_four_types"] = lambda sums: span_f1(sums[..., 3:])
    counts = [span_counts(gold_codes, predicted, offsets, scheme) for scheme in schemes]
    values = np.concatenate(counts, axis=-1).reshape(n_runs, len(gold), -1)
    right, asked, claimed = np.moveaxis(values[..., :3], -1, 0)
    unweighted = {}
    if notation == "bio":
        lenient = span_counts(gold_codes, predicted, offsets, tag_scheme(info.labels, notation, strict=False))
        if not np.array_equal(lenient, counts[0]):
            unweighted[LENIENT] = span_f1(lenient.reshape(n_runs, len(gold), 3).sum(axis=1))
    return Outcomes(
        formulas=formulas,
        micro="span_f1",
        n_counts=values.shape[-1],
        example_scores=((right == asked) & (right == claimed)).astype(np.float64),
        unparsed=unparsed.reshape(n_runs, -1),
        values=values,
        gold=values[0, :, 1][None],
        unweighted=unweighted,
    )


def _extractive_qa(gold: pl.DataFrame, predictions: pl.Series, n_runs: int) -> Outcomes:
    answers = [row["text"] for row in gold["answers"].to_list()] * n_runs
    texts = [None if text == UNPARSED else text for text in predictions.to_list()]
    scores = qa_scores(texts, answers)
    asked = scores.has_answer.astype(np.float64)
    columns = [part * column for part in (asked, 1 - asked) for column in (scores.f1, scores.exact, 1.0)]
    values = np.stack(columns, axis=-1).reshape(n_runs, len(gold), 6)
    return Outcomes(
        formulas={
            "token_f1": lambda sums: (sums[..., 0] + sums[..., 3]) / (sums[..., 2] + sums[..., 5]),
            "exact_match": lambda sums: (sums[..., 1] + sums[..., 4]) / (sums[..., 2] + sums[..., 5]),
            "answerable_f1": lambda sums: _ratio(sums[..., 0], sums[..., 2]),
            "unanswerable_f1": lambda sums: _ratio(sums[..., 3], sums[..., 5]),
            f"{PRIOR_FIXED}token_f1": lambda sums: prior_fixed_mean(sums[..., [0, 3]], sums[..., [2, 5]], QA_PRIOR),
        },
        micro="token_f1",
        n_counts=6,
        example_scores=scores.f1.reshape(n_runs, -1),
        unparsed=np.array([text is None for text in texts]).reshape(n_runs, -1),
        values=values,
        example_metric="token_f1",
    )


def _generation(gold: pl.DataFrame, predictions: pl.Series, n_runs: int, encoder: Encoder | None) -> Outcomes:
    references = gold["target_text"].to_list() * n_runs
    unparsed = (predictions == UNPARSED).to_numpy()
    candidates = predictions.replace(UNPARSED, "").to_list()
    columns = [np.ones(len(candidates)), rouge_l(candidates, references).f1]
    formulas: dict[str, Formula] = {"rouge_l": lambda sums: sums[..., 1] / sums[..., 0]}
    if encoder is not None:
        columns.append(_bert_score(candidates, references, encoder))
        formulas["bertscore_f1"] = lambda sums: sums[..., 2] / sums[..., 0]
    return Outcomes(
        formulas=formulas,
        micro=list(formulas)[-1],
        n_counts=len(columns),
        example_scores=columns[-1].reshape(n_runs, -1),
        unparsed=unparsed.reshape(n_runs, -1),
        values=np.stack(columns, axis=-1).reshape(n_runs, len(gold), -1),
        example_metric=list(formulas)[-1],
    )


def _bert_score(candidates: list[str], references: list[str], encoder: Encoder) -> Floats:
    """Compute BERTScore-F1 of every pair, embedding each distinct text and scoring each distinct pair only once."""
    pairs = pl.DataFrame({"candidate": candidates, "reference": references})
    distinct = pairs.unique(maintain_order=True)
    known = distinct["reference"].unique(maintain_order=True)
    reference_tokens, reference_offsets = encoder.token_vectors(known.to_list(), "embedding references")
    rows = distinct.with_columns(row=pl.col("reference").replace_strict(known, pl.int_range(len(known), eager=True)))
    texts = distinct["candidate"].unique(maintain_order=True)
    parts = []
    # Embeddings of all generated texts might not fit in memory.
    for start in range(0, len(texts), _CANDIDATES):
        some = pl.DataFrame({"candidate": texts[start : start + _CANDIDATES]}).with_row_index("number")
        tokens, offsets = encoder.token_vectors(some["candidate"].to_list(), "embedding candidates", keep=False)
        chosen = rows.join(some, on="candidate", how="inner", maintain_order="left")
        table = chosen.select("number", "row").to_numpy()
        f1 = bert_score(tokens, offsets, reference_tokens, reference_offsets, table).f1
        parts.append(chosen.select("candidate", "reference", f1=pl.Series(f1)))
    scored = pairs.join(pl.concat(parts), on=pairs.columns, how="left", maintain_order="left")
    return np.asarray(scored["f1"].to_numpy())


def _ratio(total: Floats, rows: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(rows > 0, total / rows, np.nan)


Run = tuple[str, int]
"""Source and seed of one trained model."""


@dataclass(frozen=True)
class TargetRuns:
    """The predictions of all runs on one target's test rows (n of them, in id order).

    Attributes:
        task, target: names.
        ids: shape (n,).
        groups: 0-based group codes, in the order of the groups' names, shape (n,).
        runs: the runs, in order of source and seed.
        outcomes: their counts, in the order of ``runs``.
    """

    task: str
    target: str
    ids: pl.Series
    groups: NDArray[np.int64]
    runs: list[Run]
    outcomes: Outcomes

    def of_source(self, source: str) -> list[int]:
        """List the indices of a source's runs, by seed."""
        return [index for index, (trained_on, _) in enumerate(self.runs) if trained_on == source]

    def of_rows(self, wanted: NDArray[np.bool_]) -> "TargetRuns":
        """Return these runs on a subset of rows, given as a mask of shape (n,) with at least one row."""
        groups = np.unique(self.groups[wanted], return_inverse=True)[1]
        chosen = self.ids.filter(pl.Series(wanted))
        return replace(self, ids=chosen, groups=groups, outcomes=self.outcomes.of_rows(wanted))


def target_runs(
    task: str, predictions: pl.DataFrame, folder: DatasetFolder, subset: str, *, encoder: Encoder | None = None
) -> Iterator[TargetRuns]:
    """Arrange one task's checked predictions by target.

    Args:
        task: its name.
        predictions: rows of this task, with the columns of ``shiftbench.validation.predictions.CHECKED_PREDICTIONS``.
        folder: the dataset.
        subset: the subset of test ids that the predictions cover.
        encoder: needed only for BERTScore.
    Yields: for each target, the outcomes of its runs on the target's test rows, sorted by id.
    """
    info = folder.task(task)
    chosen = folder.test(task, subset, ["id", "domain", "group", GOLD[info.kind]])
    for (target,), part in predictions.group_by("target", maintain_order=True):
        gold = chosen.filter(domain=target).sort("id")
        ordered = part.sort("source", "seed", "id")
        full_gold = gold if subset == "all" else folder.split(task, str(target), "test")
        yield TargetRuns(
            task=task,
            target=str(target),
            ids=gold["id"],
            groups=gold["group"].rank("dense").cast(pl.Int64).to_numpy() - 1,
            runs=list(ordered.select("source", "seed").unique(maintain_order=True).iter_rows()),
            outcomes=outcomes(info, gold, full_gold, ordered["prediction"], encoder),
        )
