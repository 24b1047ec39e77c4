"""The scorer inside scikit-learn's own search and cross-validation."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV, cross_validate

from shiftbench.adapters.domain_scorer import domain_scorer
from shiftbench.validation.report import InvalidInput

N = 90
FRAME = pd.DataFrame({"site": np.tile(["a", "b", "c"], N // 3), "text": [f"text {n}" for n in range(N)]})
LABELS = np.where(FRAME["site"] == "c", np.where(np.arange(N) % 10 == 0, 0, 1), np.arange(N) % 2)


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_a_search_chooses_by_the_worst_domain() -> None:
    strategies = {"strategy": ["constant"], "constant": [0, 1]}
    worst, mean = (
        GridSearchCV(
            DummyClassifier(), strategies, scoring=domain_scorer(figure, column="site", metric="accuracy"), cv=2
        ).fit(FRAME, LABELS)
        for figure in ("worst_st", "mean_st")
    )
    assert mean.best_params_["constant"] == 1
    assert worst.best_params_["constant"] == 1
    assert worst.best_score_ <= mean.best_score_


def test_domains_come_as_metadata_too(routing: None) -> None:
    options = {"cv": 2, "params": {"domains": FRAME["site"].to_numpy()}}
    model = DummyClassifier(strategy="constant", constant=1)
    drop = cross_validate(
        model, FRAME, LABELS, scoring=domain_scorer("worst_sd", home="c", metric="accuracy"), **options
    )
    column = domain_scorer("worst_sd", column="site", home="c", metric="accuracy")
    assert drop["test_score"] == pytest.approx(cross_validate(model, FRAME, LABELS, scoring=column, cv=2)["test_score"])
    assert (drop["test_score"] < -0.3).all(), "a drop is better when smaller"


def test_a_figure_that_lacks_its_home_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'worst_sd'"):
        domain_scorer("worst_sd")
    with pytest.raises(InvalidInput, match="'worst_st'"):
        domain_scorer("worst_s")
