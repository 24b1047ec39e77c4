"""The rule on toy candidates, where every result can be checked by hand."""

import numpy as np
import pytest

from shiftbench.scoring.papers.protocol.rule import (
    Candidate,
    OodVerdict,
    choose_id,
    choose_ood,
    explain,
    frequencies,
    may_be_ood,
)

ID = Candidate("ID", ("News", "Web"), train=50_000)
NEWS, TWEETS, TWEETS2 = Candidate("news", ("News",)), Candidate("tweets", ("Twitter",)), Candidate("more", ("Twitter",))
FILM, LAW = Candidate("film", ("Film",)), Candidate("law", ("Law",))
BOTH = Candidate("both", ("Twitter", "Film"))


def chosen(candidates: list[Candidate], scores: list[float], n_ood: int = 3) -> list[str]:
    found = choose_ood(candidates, scores, "ID", n_ood)
    return [candidate.name for candidate, is_chosen in zip(candidates, found, strict=True) if is_chosen]


def test_what_keeps_a_data_set_from_being_the_id() -> None:
    candidates = [
        Candidate("two classes", train=90_000, n_classes=2, smallest_class=45_000, breadth=99),
        Candidate("small class", train=90_000, n_classes=3, smallest_class=9_999, breadth=99),
        Candidate("hard", train=90_000, n_classes=3, smallest_class=30_000, challenge=True, breadth=99),
        Candidate("narrow", train=99_000, n_classes=3, smallest_class=33_000, breadth=2),
        Candidate("fewer", train=30_000, n_classes=3, smallest_class=10_000, breadth=5),
        Candidate("best", train=60_000, n_classes=3, smallest_class=20_000, breadth=5),
    ]
    assert choose_id(candidates) == (
        "best",
        {
            "two classes": "classes",
            "small class": "size",
            "hard": "challenge",
            "narrow": "breadth",
            "fewer": "train rows",
            "best": "chosen",
        },
    )
    assert choose_id(candidates[:3])[0] is None


def test_without_classes_all_train_rows_count() -> None:
    assert choose_id([Candidate("a", train=9_999), Candidate("b", train=10_000)]) == ("b", {"a": "size", "b": "chosen"})
    assert choose_id([]) == (None, {})


def test_equals_go_by_order() -> None:
    twins = [Candidate("a", train=20_000), Candidate("b", train=20_000)]
    assert choose_id(twins) == ("a", {"a": "chosen", "b": "train rows"})
    assert chosen([ID, TWEETS, TWEETS2], [0.9, 0.5, 0.5]) == ["tweets"]
    assert chosen([ID, TWEETS2, TWEETS], [0.9, 0.5, 0.5]) == ["more"]


def test_sources_of_the_id_are_out_but_its_adversarial_version_stays() -> None:
    hard = Candidate("hard", ("News",), challenge=True, made_from="ID")
    assert may_be_ood([ID, NEWS, hard, Candidate("unknown")], "ID").tolist() == [False, False, True, True]


def test_one_data_set_a_source_largest_drops_first() -> None:
    assert chosen([ID, NEWS, TWEETS, TWEETS2, FILM, LAW], [0.9, 0.1, 0.6, 0.5, 0.7, 0.8]) == ["more", "film", "law"]
    assert chosen([ID, TWEETS, FILM, LAW], [0.9, 0.6, 0.7, 0.5], n_ood=1) == ["law"]


def test_a_data_set_of_several_sources_takes_them_all() -> None:
    assert chosen([ID, TWEETS, FILM, BOTH, LAW], [0.9, 0.5, 0.6, 0.4, 0.8]) == ["both", "law"]
    assert chosen([ID, TWEETS, FILM, BOTH, LAW], [0.9, 0.5, 0.6, 0.55, 0.8]) == ["tweets", "film", "law"]


def test_unscored_candidates_are_never_chosen() -> None:
    assert chosen([ID, TWEETS, TWEETS2, LAW], [0.9, np.nan, 0.8, np.nan]) == ["more"]
    verdicts = explain([ID, TWEETS, LAW], [np.nan, np.nan, 0.8], "ID", 2)
    assert verdicts["tweets"] == OodVerdict(chosen=False, reason="no score")
    assert verdicts["law"] == OodVerdict(chosen=True, reason="chosen")


def test_verdicts_name_the_rival_and_the_margin() -> None:
    candidates = [ID, NEWS, TWEETS, TWEETS2, FILM, LAW]
    found = explain(candidates, [0.9, 0.1, 0.5, 0.55, 0.7, 0.8], "ID", 2)
    assert found["ID"].reason == "the ID"
    assert found["news"] == OodVerdict(chosen=False, reason="source of the ID")
    # If it were excluded, the other tweets would be selected.
    assert (found["tweets"].rival, found["tweets"].margin) == ("more", pytest.approx(0.05))
    assert found["more"] == OodVerdict(False, "source taken", "tweets", pytest.approx(0.05))
    assert (found["film"].rival, found["film"].margin) == ("law", pytest.approx(0.1))
    assert found["law"] == OodVerdict(False, "drop", "film", pytest.approx(0.1))


def test_who_takes_the_place_is_the_first_to_come_in() -> None:
    # Without tweets, 'both' is chosen, which excludes film; then law is chosen.
    found = explain([ID, TWEETS, FILM, BOTH, LAW], [0.9, 0.4, 0.6, 0.5, 0.8], "ID", 2)
    assert found["tweets"].rival == "both"
    assert found["both"].rival == "tweets"
    assert found["film"].rival == "law"


def test_replicates_are_chosen_from_one_by_one() -> None:
    rng = np.random.default_rng(0)
    candidates = [ID, NEWS, TWEETS, TWEETS2, FILM, LAW, BOTH]
    scores = rng.random((50, len(candidates))).round(1)  # with ties
    together = choose_ood(candidates, scores, "ID", 2)
    assert together.tolist() == [choose_ood(candidates, row, "ID", 2).tolist() for row in scores]


def test_frequencies_sum_to_the_number_chosen() -> None:
    rng = np.random.default_rng(0)
    candidates = [ID, NEWS, TWEETS, TWEETS2, FILM, LAW]
    shares = frequencies(candidates, rng.normal(0.5, 0.1, (400, 6)), "ID", 2)
    assert shares.sum() == pytest.approx(2)
    assert shares[:2].tolist() == [0, 0]
    assert 0.2 < shares[2] < 0.8
