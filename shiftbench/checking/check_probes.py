"""Probes: cheap models trained on each domain at equal sizes and tested on the same domain, for ``shiftbench check``.

If every domain has training rows, probes are trained on them. Otherwise, as with one CSV of test texts, a domain's
texts are split by group into ``FOLDS`` folds, and each fold is predicted by a probe trained on the others. Each probe
is trained ``TRAININGS`` times on resampled texts, so that verdicts do not depend on a single training run.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from shiftbench.baselines import sbert_lr, tfidf_lr
from shiftbench.baselines.runs import FittedClassifier
from shiftbench.builders.encoder import Encoder
from shiftbench.checking.check_data import CheckData
from shiftbench.scoring.scores.by_domain import ProbePredictions, Probes
from shiftbench.validation.progress import progress
from shiftbench.validation.report import InvalidInput, Problem, plural
from shiftbench.validation.vocabulary import TaskKind

log = logging.getLogger(__name__)
FOLDS = TRAININGS = 5
MIN_TEXTS = 100
"""Minimum texts of a domain for a probe: with fewer, its score would depend on their number more than on difficulty."""
MAX_TEXTS = 5_000
"""Maximum training texts of a probe."""

Fit = Callable[[pl.DataFrame, int], FittedClassifier]
"""Maps training rows and a seed to a classifier."""


@dataclass(frozen=True)
class _Part:
    """Rows to sample a probe's training rows from, and rows that it then predicts."""

    domain: str
    train: pl.DataFrame
    test: pl.DataFrame


def run_probes(data: CheckData, encoder: Encoder | None, seed: int = 0) -> Probes:
    """Train the probes, and use each to predict the domain that it was trained on.

    Args:
        data: the data of the check; must be a classification task.
        encoder: embeds texts for the second probe; None: only the first.
        seed: seed of folds, samples and solvers.
    Returns: predictions of TF-IDF and, with an encoder, of frozen sentence embeddings, each with logistic regression,
        for every domain with enough texts and labels; the other domains with the reason.
    Raises: InvalidInput for other kinds of task.
    """
    info = data.info
    if info.kind is not TaskKind.CLASSIFICATION:
        what, cure = "probes need a classification task", "omit --probes"
        raise InvalidInput(Problem(what, "--probes", f"a task of kind '{info.kind.value}'", cure))
    rng = np.random.default_rng(seed)
    parts, without = _split_domains(data, rng)
    if not parts:
        return Probes((), without)
    # Equal sizes, so that differences between domains are not due to the number of training texts.
    n_train = min(MAX_TEXTS, *(len(part.train) for part in parts))
    fits: dict[str, Fit] = {"TF-IDF + LR": lambda rows, seed: tfidf_lr.classifier(rows, info.inputs, seed)}
    if encoder is not None:
        fits["frozen embeddings + LR"] = lambda rows, seed: sbert_lr.classifier(rows, encoder, info.inputs, seed)
    runs = [(part, number, _draw(part.train, n_train, rng)) for part in parts for number in range(TRAININGS)]
    names = dict(enumerate(info.labels))
    predictions = []
    for name, fit in fits.items():
        frames = []
        for part, number, drawn in progress(runs, desc=name, unit="model"):
            with threadpool_limits(1, "blas"):  # on such small problems several threads slow each other down
                codes, _ = fit(drawn, seed).predict(part.test)
            predicted = pl.Series("prediction", codes).replace_strict(names, return_dtype=pl.String)
            frames.append(part.test.select("domain", "id", seed=pl.lit(number, pl.Int64)).with_columns(predicted))
        n_texts = {part.domain: len(part.train) for part in parts}
        predictions.append(ProbePredictions(name, n_train, pl.concat(frames), n_texts))
    log.info("probes: trained on %s of each domain, %d times", plural(n_train, "text"), TRAININGS)
    return Probes(tuple(predictions), without)


def _draw(rows: pl.DataFrame, n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Sample n rows by whole groups with replacement, truncating the last; repeat while all have the same label."""
    while True:
        rows = rows[rng.permutation(len(rows))]
        numbers = rows.with_row_index("number").group_by("group", maintain_order=True).agg("number")["number"]
        drawn = rows[numbers.gather(rng.integers(len(numbers), size=n)).explode().head(n)]
        if drawn["label"].n_unique() > 1:
            return drawn


def _split_domains(data: CheckData, rng: np.random.Generator) -> tuple[list[_Part], dict[str, str]]:
    """Split the rows of each domain into training and test rows of probes.

    Returns: the parts, and the reason for each domain on which no probe can be trained.
    """
    info, folder = data.info, data.folder
    tested = {name: facts.splits for name, facts in info.domains.items() if "test" in facts.splits}
    has_train = all("train" in splits for splits in tested.values())
    parts: list[_Part] = []
    without = {}
    for domain in tested:
        test = folder.split(data.task, domain, "test").with_columns(domain=pl.lit(domain))
        mine = (
            [_Part(domain, folder.split(data.task, domain, "train"), test)]
            if has_train
            else list(_split_into_folds(test, rng))
        )
        n = min(len(part.train) for part in mine)
        n_labels = min(part.train["label"].n_unique() for part in mine)
        if n < MIN_TEXTS:
            without[domain] = f"{plural(n, 'text')} to train on, fewer than {MIN_TEXTS}"
        elif n_labels < 2:
            without[domain] = "only one label"
        else:
            parts += mine
    return parts, without


def _split_into_folds(rows: pl.DataFrame, rng: np.random.Generator) -> Iterator[_Part]:
    """Split a domain's rows by group into folds of similar size, each to be predicted from the others."""
    groups = rows["group"].unique().sort()
    fold_of = dict(zip(groups.to_list(), rng.permutation(np.arange(len(groups)) % FOLDS).tolist(), strict=True))
    fold = rows["group"].replace_strict(fold_of, return_dtype=pl.Int64)
    for number in range(FOLDS):
        test = rows.filter(fold == number)
        if len(test):
            yield _Part(str(rows["domain"][0]), rows.filter(fold != number), test)
