"""Selections from hand-made studies: notes if something is unknown, and what determines the ID."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.papers.protocol.choice import Facts, MeanWords, Probe, Study, choose
from shiftbench.scoring.papers.protocol.report import reason_words
from shiftbench.scoring.papers.protocol.rule import Candidate
from shiftbench.scoring.papers.protocol.run import resolve_id_domain
from shiftbench.scoring.scores.figures import Figure, Reason, Score, single

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


def figure(score: float, groups: float = 600) -> Figure:
    reason = Reason.FEW_GROUPS if groups < 5 else None
    return single(Score(score, groups, groups, object(), groups=groups, no_interval=reason))


def test_where_one_data_set_has_no_interval() -> None:
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


def test_margins_and_frequencies_are_those_of_independent_scores() -> None:
    scores = {"Wide": figure(0.9), "Law": figure(0.6), "Court": figure(0.57)}
    choice = choose(study(scores), "Wide", 1)
    court = choice.candidates[2]
    se = np.sqrt((0.6 * 0.4 + 0.57 * 0.43) / 600)
    assert court.frequency == pytest.approx(stats.norm.cdf(0.03 / se), abs=0.015)
    assert court.margin is not None
    assert court.margin.low == pytest.approx(0.03 - 1.96 * se, abs=0.002)


def test_without_an_id_nothing_is_chosen() -> None:
    choice = choose(study({"Law": figure(0.6)}, train=5), None, 1)
    assert (choice.id, choice.id_by_rule, choice.ood, choice.model) == (None, None, None, None)


def test_who_settles_the_id(suite: DatasetFolder, wording: SnapshotAssertion) -> None:
    large, small = study({}), study({}, train=5)
    info = suite.task("nli").model_copy(update={"id_domain": None})
    free = replace(suite, manifest=suite.manifest.model_copy(update={"tasks": {"nli": info}}))
    messages = {
        "the folder and the rule": resolve_id_domain(large, suite, None),
        "the option": resolve_id_domain(large, suite, "law"),
        "the folder": resolve_id_domain(small, suite, None),
        "the rule": resolve_id_domain(large, free, None),
        "nothing": resolve_id_domain(small, free, None),
    }
    assert messages == wording
