"""False positives of 'logs compare': logs whose answers were exchanged among models at random."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tqdm import tqdm

from shiftbench.scoring.comparing.item_scores import ItemComparison, ModelDifference
from shiftbench.scoring.comparing.shape import LEVEL
from shiftbench.scoring.interchange.comparison import Joining, compare_logs, read_logs
from shiftbench.scoring.interchange.log import EvaluationLog
from tests.scoring.interchange.logs import lm_eval_choice, write_lm_eval

N_COPIES, N_PASSAGES, SIZE, N_MODELS = 2_000, 60, 5, 3
GENRES = ("verse", "prose", "letters")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[EvaluationLog]:
    """Logs of three models over 300 invented questions about 60 passages, each passage easier for some models."""
    rng = np.random.default_rng(20)
    paths = []
    hard = rng.normal(0, 1, N_PASSAGES)
    for model in range(N_MODELS):
        logit = 0.5 + hard + rng.normal(0, 1.5, N_PASSAGES)
        right = rng.random((N_PASSAGES, SIZE)) < 1 / (1 + np.exp(-logit))[:, None]
        lines = []
        for place, score in enumerate(right.ravel().astype(float)):
            document = {"id": f"q{place}", "passage": place // SIZE, "genre": GENRES[place // SIZE % len(GENRES)]}
            lines.append(lm_eval_choice(place, {"yes": -1.0, "no": -2.0}, acc=score, doc=document))
        folder = tmp_path_factory.mktemp("null") / f"model{model}"
        paths.append(write_lm_eval(folder, lines))
    return read_logs(paths, Joining(by="genre", cluster="passage"))


def dealt(logs: list[EvaluationLog], rng: np.random.Generator) -> list[EvaluationLog]:
    """Permute the models' answers per passage at random, so that no model is better than another."""
    tables = [log.samples.sort(pl.col("id").str.slice(1).cast(pl.Int64)) for log in logs]
    scores = np.stack([table["score.acc"].to_numpy() for table in tables]).reshape(len(logs), N_PASSAGES, SIZE)
    order = rng.permuted(np.tile(np.arange(len(logs)), (N_PASSAGES, 1)), axis=1).T
    mixed = np.take_along_axis(scores, order[:, :, None], axis=0).reshape(len(logs), -1)
    return [
        replace(log, samples=table.with_columns(pl.Series("score.acc", row)))
        for log, table, row in zip(logs, tables, mixed, strict=True)
    ]


def first_pair(found: ItemComparison) -> ModelDifference:
    """Return the test of the first two models."""
    return next(each for each in found.overall if {each.a, each.b} == {"model0", "model1"})


def leaves_out_zero(each: ModelDifference) -> bool:
    """Check whether an interval of a difference excludes 0."""
    assert each.difference.low is not None
    assert each.difference.high is not None
    return not each.difference.low <= 0 <= each.difference.high


COUNTED: dict[str, Callable[[ItemComparison], bool]] = {
    "one pair": lambda found: first_pair(found).p < LEVEL,
    "any of three pairs, corrected": lambda found: any(each.is_significant for each in found.overall),
    "any pair on any of three domains, corrected": lambda found: any(each.is_significant for each in found.by_domain),
}


@pytest.mark.long
def test_what_does_not_differ_is_told_apart_in_one_case_of_twenty(logs: list[EvaluationLog]) -> None:
    rng = np.random.default_rng(0)
    least = {}
    for how, cluster in (("by passage", "passage"), ("by question, though passages are alike", None)):
        joining = Joining(by="genre", cluster=cluster)
        hits = dict.fromkeys(COUNTED, 0)
        for _ in tqdm(range(N_COPIES), desc=how, disable=None):
            found = compare_logs(dealt(logs, rng), joining).report.comparison
            assert leaves_out_zero(first_pair(found)) == (first_pair(found).p < LEVEL)
            for name, is_hit in COUNTED.items():
                hits[name] += is_hit(found)
        for name, n in hits.items():
            low, high = _interval(n)
            least[how, name] = low
            print(f"{how}, {name}: {100 * n / N_COPIES:.1f}% [{100 * low:.1f}, {100 * high:.1f}] of {N_COPIES:,}")
    for (how, name), low in least.items():
        if how == "by passage":
            assert low <= LEVEL, name
        elif name == "one pair":
            assert low > 0.08, "questions of a passage are no independent items"


def _interval(n: int) -> tuple[float, float]:
    """Return the 95% interval of Clopper and Pearson."""
    from scipy.stats import binomtest

    found = binomtest(n, N_COPIES).proportion_ci(method="exact")
    return float(found.low), float(found.high)
