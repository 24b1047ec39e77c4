"""Selections from the paper's tables: the rule must reproduce the paper's."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders import boss
from shiftbench.scoring.papers.protocol import reported
from shiftbench.scoring.papers.protocol.choice import DatasetChoice, Decision
from shiftbench.scoring.papers.protocol.run import choose_reported
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

SUITE = {
    "sa": ("Amazon", {"Dynasent", "SemEval", "SST"}),
    "td": ("Civil Comments", {"AdvCivil", "Implicit Hate", "ToxiGen"}),
    "nli": ("MNLI", {"ANLI", "ContractNLI", "WANLI"}),
    "ner": ("Few-NERD", {"CoNLL", "E-NER", "WNUT"}),
    "eqa": ("SQuAD", {"AdvQA", "NewsQA", "SearchQA"}),
}
"""BOSS paper, Table 4."""


def of(choice: DatasetChoice, name: str) -> Decision:
    return next(item for item in choice.candidates if item.name == name)


@pytest.mark.parametrize("task", SUITE)
def test_the_rule_gives_the_papers_choices(task: str) -> None:
    choice = choose_reported(task, 3)
    id_name, ood = SUITE[task]
    assert choice.id == choice.id_by_rule == id_name
    assert choice.ood is not None
    assert set(choice.ood) == ood
    assert sum(item.frequency or 0 for item in choice.candidates) == pytest.approx(3)
    assert all(item.similarity is not None for item in choice.candidates)
    # docs/compare/choose.md says so.
    assert all((item.frequency or 0) > 0.997 for item in choice.candidates if item.chosen and item.name != "WANLI")


def test_reasons_are_the_papers() -> None:
    sa, nli, eqa = (choose_reported(task, 3) for task in ("sa", "nli", "eqa"))
    assert {name: of(sa, name).id_reason for name in ("DSC", "IMDb", "SemEval", "SST", "Yelp", "Dynasent")} == {
        "DSC": "classes",
        "IMDb": "classes",
        "SemEval": "size",
        "SST": "size",
        "Yelp": "breadth",
        "Dynasent": "challenge",
    }
    assert (of(sa, "IMDb").reason, of(sa, "IMDb").rival) == ("source taken", "SST")
    assert of(sa, "Yelp").reason == "source of the ID"
    assert {of(nli, name).id_reason for name in ("BioNLI", "DocNLI")} == {"classes"}
    assert of(nli, "SNLI").id_reason == "breadth"
    assert of(eqa, "SQuAD Shifts").reason == "source of the ID"
    assert (of(eqa, "NaturalQuestions").reason, of(eqa, "NaturalQuestions").rival) == ("source taken", "SearchQA")
    assert of(eqa, "Trivia-QA").id_reason == "train rows"


def test_wanli_beats_cb_by_less_than_is_known() -> None:
    choice = choose_reported("nli", 3)
    wanli, cb = of(choice, "WANLI"), of(choice, "CB")
    for item in (wanli, cb):
        assert item.margin is not None
        assert item.margin.value == pytest.approx(0.0008)
        assert item.margin.low is not None
        assert item.margin.high is not None
        # CB has 306 rows, so half the interval is about 1.96 x 2.8 points.
        assert item.margin.low == pytest.approx(-0.055, abs=0.003)
        assert item.margin.high == pytest.approx(0.056, abs=0.003)
    assert wanli.rival == "CB"
    assert wanli.frequency == pytest.approx(0.51, abs=0.02)
    assert wanli.frequency + (cb.frequency or 0) == pytest.approx(1)


def test_intervals_are_binomial() -> None:
    cb = of(choose_reported("nli", 3), "CB").score
    assert cb is not None
    error = (0.634 * 0.366 / 306) ** 0.5
    assert cb.low == pytest.approx(0.634 - 1.96 * error, abs=0.003)
    assert cb.high == pytest.approx(0.634 + 1.96 * error, abs=0.003)


def test_the_notes_say_what_intervals_are_worth(wording: SnapshotAssertion) -> None:
    assert {task: choose_reported(task, 3).notes for task in ("sa", "eqa", "ner")} == wording


def test_choices_are_the_same_every_time() -> None:
    assert choose_reported("ner", 2) == choose_reported("ner", 2)


def test_every_data_set_is_in_every_table() -> None:
    for task in SUITE:
        study = reported.reported_study(task)
        names = {facts.name for facts in study.facts}
        assert study.probe is not None
        assert set(study.probe.scores) == names
        assert set(study.similarity) == {(a, b) for a in names for b in names}
        assert all(facts.words for facts in study.facts)
    nli = {facts.name: facts for facts in reported.reported_study("nli").facts}
    assert nli["CB"].words["premise"].train is None
    assert nli["CB"].words["premise"].test == 56.4
    assert nli["CB"].candidate.text_sources == ("Wall Street Journal", "British National Corpus", "Switchboard")


def test_tables_are_those_that_were_reported(shared_reported: Path) -> None:
    for path in Path(reported.__file__).parent.glob("boss_*.csv"):
        assert path.read_bytes() == (shared_reported / path.name).read_bytes()


@pytest.fixture
def shared_reported() -> Path:
    folder = Path(__file__).parents[5] / "shared" / "reported"
    if not folder.is_dir():
        pytest.skip("no tables at ../shared/reported")
    return folder


def test_refusals(wording: SnapshotAssertion) -> None:
    cases = (("nil", 3), ("nli", 3, "SNLI"), ("nli", 3, "MNL"))
    assert [refusal(InvalidInput, choose_reported, *arguments) for arguments in cases] == wording
    assert choose_reported("nli", 3, "MNLI").id == "MNLI"


@pytest.mark.parametrize("task", SUITE)
def test_the_builders_know_the_same_of_each_data_set(task: str) -> None:
    typed = {facts.candidate.name: facts.candidate for facts in reported.reported_study(task).facts}
    specs = {
        domain.provenance.title: domain.provenance
        for spec in boss.TASKS
        if task in (spec.name, spec.candidates_for)
        for domain in spec.domains
        if domain.provenance is not None
    }
    assert set(typed) == set(specs)
    for name, candidate in typed.items():
        known = specs[name]
        assert (candidate.breadth, candidate.challenge, candidate.made_from) == (
            known.breadth,
            known.challenge,
            known.made_from,
        )
        # BOSS has no SQuADShifts rows from Wikipedia, though the paper's table lists that source.
        printed = set(candidate.text_sources) - ({"Wikipedia"} if name == "SQuAD Shifts" else set())
        assert printed == set(known.text_sources)
