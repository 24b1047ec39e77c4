"""Simulated tasks with known truth, sampled example by example and scored like a submission, for testing intervals.

Whether a model is correct on a text depends on the group, the text and chance: three normal components of a latent
variable that is compared with a threshold. The accuracy on infinitely many texts is therefore known exactly, and so is
every score derived from it. Each task has three domains, and a model trained on each of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, NamedTuple, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.folder.manifest import DomainFacts, SplitFacts, TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.classification import accuracy, macro_f1
from shiftbench.scoring.scores.outcomes import Outcomes, TargetRuns
from shiftbench.scoring.scores.shape import Estimate, TaskScores, Total
from shiftbench.scoring.scores.summary import task_scores
from shiftbench.scoring.scores.values import TaskValues, score_target
from shiftbench.validation.vocabulary import TaskKind

Floats = NDArray[np.float64]
Metric = Literal["accuracy", "macro_f1", "token_f1"]

DOMAINS = ("a", "b", "c")
NAMES = {"ss": "SS", "st": "ST", "sd": "SD", "td": "TD", "mean_st": "mean ST", "average_drop": "average drop"}
"""Scores of every simulated task, with their names in tables."""
_OF_TEXT = 0.3
"""Share of the latent variance that is specific to the text, so that models err on the same texts."""
_PARTIAL = 0.8
"""Share of the not fully correct answers that are partly correct (token F1)."""
_N_TRAIN = 40
"""Training texts of a domain: the deepest of them defines the depth weights."""


@dataclass(frozen=True)
class Setting:
    """The parameters of a simulated task.

    Attributes:
        name: its name in tables.
        in_domain, shifted: accuracy in-domain and under shift, in (0, 1); for token F1 the mean.
        sizes: number of examples in each group of a test set.
        alike: share of the latent variance that is common to a group, in [0, 1).
        metric: the score.
        rare: share of the rarer of two classes, in (0, 0.5]; its number of examples is random.
        n_runs: runs per source.
        run_sd: standard deviation of a run's effect on the latent scale.
        has_depth: whether scores are also weighted by depth (accuracy and token F1); depths are independent of
            correctness.
    """

    name: str
    in_domain: float
    shifted: float
    sizes: tuple[int, ...]
    alike: float = 0.0
    metric: Metric = "accuracy"
    rare: float = 0.5
    n_runs: int = 1
    run_sd: float = 0.0
    has_depth: bool = False


class Checked(NamedTuple):
    """A statistic's interval (None if there is none), with the true value that it should contain."""

    figure: str
    truth: float
    low: float | None
    high: float | None


def simulate_task(setting: Setting, rng: np.random.Generator) -> list[Checked]:
    """Simulate a task, score it, and return its intervals with the truth.

    Args:
        setting: its parameters.
        rng: the generator.
    Returns: every score, SD, TD, the mean ST, the average drop and the worst SD, as fractions. If runs differ, all but
        the last have the intervals that include variation between runs, because the truth is a mean over all possible
        runs.
    """
    return list(_checked(task_scores(simulate_values(setting, rng)), setting))


def simulate_values(setting: Setting, rng: np.random.Generator) -> TaskValues:
    """Simulate a task and score its runs on every domain, without intervals; arguments as in ``simulate_task``."""
    values = TaskValues("simulated", _manifest(setting), DOMAINS)
    folder = cast(DatasetFolder, _DepthTables(values.info, setting.has_depth, sum(setting.sizes), rng))
    for target in DOMAINS:
        score_target(values, _target_runs(setting, target, rng), folder)
    return values


def _checked(task: TaskScores, setting: Setting) -> Iterator[Checked]:
    in_domain, shifted = _truth(setting, setting.in_domain), _truth(setting, setting.shifted)
    truths = {
        "ss": in_domain,
        "st": shifted,
        "sd": in_domain - shifted,
        "td": in_domain - shifted,
        "mean_st": shifted,
        "average_drop": in_domain - shifted,
    }
    estimates: list[tuple[str, Estimate, Total]] = [("ss", own.score, own.total) for own in task.in_domain]
    for shift in task.shifts:
        estimates += [(name, getattr(shift, name), shift.total) for name in ("st", "sd", "td")]
    estimates += [(name, getattr(task.summary, name), task.summary.total) for name in ("mean_st", "average_drop")]
    for name, estimate, total in estimates:
        shown = NAMES[name]
        if not setting.run_sd:
            yield Checked(shown, truths[name], estimate.low, estimate.high)
            continue
        ends = total.get("score" if name == "ss" else name)
        yield Checked(shown, truths[name], ends.low if ends else None, ends.high if ends else None)
    if not setting.run_sd:
        yield Checked("worst SD", in_domain - shifted, task.summary.worst_sd.low, task.summary.worst_sd.high)
    for shift in task.shifts:
        for lambda_ in ("0", "75") if setting.has_depth else ():
            score, drop = shift.depth_score[lambda_], shift.depth_td[lambda_]
            yield Checked(f"depth ST@{lambda_}", shifted, score.low, score.high)
            yield Checked(f"depth TD@{lambda_}", in_domain - shifted, drop.low, drop.high)


class _DepthTables:
    """A stand-in for ``DatasetFolder`` with the parts that scoring a target needs."""

    def __init__(self, info: TaskInfo, has_depth: bool, n_texts: int, rng: np.random.Generator) -> None:
        self.has_depth = has_depth
        self._info, self._n_texts, self._rng = info, n_texts, rng

    def task(self, name: str) -> TaskInfo:
        return self._info

    def depths(self, task: str, sources: Sequence[str], target: str) -> dict[str, pl.DataFrame]:
        ids = [f"train {number}" for number in range(_N_TRAIN)] + _ids(self._n_texts)
        return {source: pl.DataFrame({"id": ids, "depth": self._rng.normal(size=len(ids))}) for source in sources}


def _ids(n_texts: int) -> list[str]:
    return [str(number) for number in range(n_texts)]


def _manifest(setting: Setting) -> TaskInfo:
    train = SplitFacts(rows=_N_TRAIN, groups=_N_TRAIN, inputs_sha256="", labels_sha256="")
    facts = DomainFacts(sources=(), rebuild_only=False, splits={"train": train})
    kind = TaskKind.EXTRACTIVE_QA if setting.metric == "token_f1" else TaskKind.CLASSIFICATION
    return TaskInfo(
        title="simulated",
        kind=kind,
        inputs=("text",),
        labels=("common", "rare"),
        metric=setting.metric,
        domains=dict.fromkeys(DOMAINS, facts),
        subsets={},
    )


def _target_runs(setting: Setting, target: str, rng: np.random.Generator) -> TargetRuns:
    """Sample the test texts of a domain, and the predictions of every source's runs."""
    groups = np.repeat(np.arange(len(setting.sizes)), setting.sizes)
    n, runs = groups.size, [(source, seed) for source in DOMAINS for seed in range(setting.n_runs)]
    texts = np.sqrt(setting.alike) * rng.normal(size=len(setting.sizes))[groups]
    texts = texts + np.sqrt(_OF_TEXT * (1 - setting.alike)) * rng.normal(size=n)
    chance = np.sqrt((1 - _OF_TEXT) * (1 - setting.alike)) * rng.normal(size=(len(runs), n))
    shares = np.array([setting.in_domain if source == target else setting.shifted for source, _ in runs])
    latent = texts + chance + setting.run_sd * rng.normal(size=(len(runs), 1))
    labels = (rng.random(n) < setting.rare).astype(np.int64)
    return TargetRuns(
        task="simulated",
        target=target,
        ids=pl.Series("id", _ids(n)),
        groups=groups,
        runs=runs,
        outcomes=_graded(latent, shares, setting, rng) if setting.metric == "token_f1" else _labelled(
            latent < _thresholds(shares, setting), labels
        ),
    )  # fmt: skip


def _thresholds(shares: Floats, setting: Setting) -> Floats:
    spread = np.sqrt(1 + setting.run_sd**2)
    return np.array([[spread * NormalDist().inv_cdf(share)] for share in shares])


def _labelled(right: NDArray[np.bool_], labels: NDArray[np.int64]) -> Outcomes:
    predicted = np.where(right, labels, 1 - labels)

    def table(sums: Floats) -> Floats:
        return sums.reshape(*sums.shape[:-1], 2, 3)

    return Outcomes(
        formulas={
            "accuracy": lambda sums: accuracy(table(sums)),
            "macro_f1": lambda sums: macro_f1(table(sums), [True, True]),
        },
        micro="accuracy",
        n_counts=6,
        example_scores=right.astype(np.float64),
        unparsed=np.zeros(right.shape, dtype=bool),
        cells=3 * labels + predicted,
        example_metric="accuracy",
        gold=(labels == np.arange(2)[:, None]).astype(np.float64),
    )


def _graded(latent: Floats, shares: Floats, setting: Setting, rng: np.random.Generator) -> Outcomes:
    """Sample answers that are correct, partly correct (0.2 to 0.8) or wrong."""
    partly = _PARTIAL * (1 - shares)
    right, some = _thresholds(shares - partly / 2, setting), _thresholds(shares + partly / 2, setting)
    graded = rng.uniform(0.2, 0.8, size=latent.shape)
    scores = np.where(latent < right, 1.0, np.where(latent < some, graded, 0.0))
    return Outcomes(
        formulas={"token_f1": lambda sums: sums[..., 0] / sums[..., 1]},
        micro="token_f1",
        n_counts=2,
        example_scores=scores,
        unparsed=np.zeros(scores.shape, dtype=bool),
        values=np.stack([scores, np.ones(scores.shape)], axis=-1),
        example_metric="token_f1",
    )


def _truth(setting: Setting, share: float) -> float:
    """Return the score on infinitely many texts, over all possible runs."""
    if setting.metric != "macro_f1":
        return share
    prior = np.array([1 - setting.rare, setting.rare])
    counts = np.zeros((2, 3))
    counts[[0, 1], [0, 1]] = prior * share
    counts[[0, 1], [1, 0]] = prior * (1 - share)
    return float(macro_f1(counts, [True, True]))
