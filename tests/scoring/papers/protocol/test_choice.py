"""Choices from studies made by hand: notes where something is not known, and who decides the ID."""

from dataclasses import replace

import numpy as np
import pytest
from shiftbench.scoring.scores.intervals import Figure, Reason

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.papers.protocol.choice import Facts, MeanWords, Probe, Study, choose
from shiftbench.scoring.papers.protocol.report import reason_words
from shiftbench.scoring.papers.protocol.rule import Candidate
from shiftbench.scoring.papers.protocol.run import resolve_id_domain

NAMES = {"Wide": "wide", "Law": "law", "Court": "court"}


def study(scores: dict[str, Figure], train: int = 20_000) -> Study:
    facts = [
        Facts(
            Candidate(name, (name,), train=train if name == "Wide" else 0),
            test=50,
            words={"text": MeanWords(train=None, test=9.0)},
            task="nli",
            domain=domain,
        )
        for name, domain in NAMES.items()
    ]
    return Study("nli", "accuracy", "data", facts, probe=Probe("Wide", "a model", scores))


def figure(score: float, groups: float = 40, n_draws: int = 200) -> Figure:
    rng = np.random.default_rng([round(1000 * score)])
    if groups < 5:
        return Figure(np.array([score, *[np.nan] * n_draws]), groups, no_interval=Reason.FEW_GROUPS)
    values = np.concatenate([[score], rng.normal(score, 0.02, n_draws)])
    return Figure(values, groups, low=score - 0.04, high=score + 0.04)


def test_where_one_data_set_has_no_replicates() -> None:
    choice = choose(study({"Wide": figure(0.9), "Law": figure(0.6), "Court": figure(0.5, groups=1)}), "Wide", 1)
    _, law, court = choice.candidates
    assert choice.ood == ("Court",)
    assert law.score is not None
    assert law.score.low is not None
    for item in (law, court):
        assert item.margin is not None
        assert item.margin.value == pytest.approx(0.1)
        assert item.margin.low is None
        assert item.frequency is None
    assert (reason_words(law), reason_words(court)) == ("smaller drop than Court", "chosen; next: Law")


def test_margins_share_the_replicates_of_the_scores() -> None:
    scores = {"Wide": figure(0.9), "Law": figure(0.6), "Court": figure(0.57)}
    choice = choose(study(scores), "Wide", 1)
    court = choice.candidates[2]
    differences = scores["Law"].values[1:] - scores["Court"].values[1:]
    assert court.frequency == pytest.approx((differences > 0).mean())
    assert court.margin is not None
    assert court.margin.low is not None
    assert court.margin.low == pytest.approx(np.quantile(differences, 0.025), abs=0.01)


def test_without_an_id_nothing_is_chosen() -> None:
    choice = choose(study({"Law": figure(0.6)}, train=5), None, 1)
    assert (choice.id, choice.id_by_rule, choice.ood, choice.model) == (None, None, None, None)


def test_who_settles_the_id(suite: DatasetFolder) -> None:
    large, small = study({}), study({}, train=5)
    assert resolve_id_domain(large, suite, None) == ("Wide", "ID: Wide, as the folder says; the rule agrees.")
    assert resolve_id_domain(large, suite, "law") == ("Law", "ID: Law, as --id says; but the rule would choose Wide.")
    assert resolve_id_domain(small, suite, None)[0] == "Wide"
    info = suite.task("nli").model_copy(update={"id_domain": None})
    free = replace(suite, manifest=suite.manifest.model_copy(update={"tasks": {"nli": info}}))
    assert resolve_id_domain(large, free, None) == ("Wide", "ID: Wide, by the rule.")
    assert resolve_id_domain(small, free, None)[0] is None
