"""``compute`` against scikit-learn's own metrics, by domain."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from shiftbench.adapters.compute import compute
from shiftbench.validation.report import InvalidInput

RNG = np.random.default_rng(2)
GOLD = RNG.choice(["good", "bad", "odd"], 120)
SAID = np.where(RNG.random(120) < 0.7, GOLD, RNG.choice(["good", "bad", "odd"], 120))
DOMAINS = np.array(["a", "b", "c"])[RNG.integers(3, size=120)]


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1"])
def test_scores_are_those_of_scikit_learn_by_domain(metric: str) -> None:
    found = compute(predictions=SAID, references=GOLD, domains=DOMAINS, home="b", metric=metric)
    own = {}
    for name in "abc":
        mine = name == DOMAINS
        own[name] = (
            accuracy_score(GOLD[mine], SAID[mine])
            if metric == "accuracy"
            else f1_score(GOLD[mine], SAID[mine], average="macro")
        )
        assert found[f"{metric}_{name}"] == pytest.approx(own[name])
    assert found["ss"] == found[f"{metric}_b"]
    assert found["mean_st"] == pytest.approx((own["a"] + own["c"]) / 2)
    assert found["worst_sd"] == pytest.approx(own["b"] - min(own["a"], own["c"]))


def test_a_label_that_is_none_counts_as_wrong() -> None:
    found = compute(predictions=["x", 1], references=[0, 1], domains=["a", "a"], metric="accuracy")
    assert found["accuracy_a"] == 0.5


def test_everything_wrong_is_told_at_once() -> None:
    with pytest.raises(InvalidInput) as refused:
        compute(predictions=[1], references=[1, 0], domains=["a"], home="z", metric="acuracy")
    assert [problem.file for problem in refused.value.problems] == [
        "predictions, references, domains",
        "metric",
        "home",
    ]
    assert "'accuracy'" in str(refused.value)
