"""Statistics of small invented frames: by hand, and against Counter, scipy and plain Python."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import ks_2samp
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from shiftbench.builders.folder.statistics import TaskStatistics
from shiftbench.builders.specs.spec import Balance
from shiftbench.builders.statistics.card import statistics_section
from shiftbench.builders.statistics.task_statistics import task_statistics
from shiftbench.validation.vocabulary import WORD, TaskKind


@dataclass(frozen=True)
class Spec:
    kind: TaskKind
    inputs: tuple[str, ...]
    labels: tuple[str, ...] = ()
    balance: Balance | None = None


SA = Spec(TaskKind.CLASSIFICATION, ("text",), ("negative", "positive", "neutral"))
AB = Spec(TaskKind.TAGGING, ("tokens",), ("O", "T-POS", "T-NEG"))
TG = Spec(TaskKind.GENERATION, ("source_text",))
ANSWERS = pl.Struct({"text": pl.List(pl.String), "answer_start": pl.List(pl.Int32)})


def frame(domain: str, split: str, **columns: Any) -> pl.DataFrame:
    n = len(next(iter(columns.values())))
    ids = [f"own/t/{domain}/{split}/{number:012x}" for number in range(n)]
    groups = columns.pop("group", [f"{split}{number}" for number in range(n)])
    return pl.DataFrame({"id": ids, "domain": [domain] * n, "group": groups, **columns})


def questions(domain: str, split: str, answered: list[bool]) -> pl.DataFrame:
    answers = [{"text": ["yes"] if yes else [], "answer_start": [0] if yes else []} for yes in answered]
    n = len(answered)
    texts = {"context": ["yes it is"] * n, "question": [f"is it {number}" for number in range(n)]}
    return frame(domain, split, **texts, answers=pl.Series(answers, dtype=ANSWERS))


def statistics_of(*facts: Any) -> TaskStatistics:
    return task_statistics(*facts).statistics


def sentiment() -> TaskStatistics:
    lamps = {
        "train": frame("lamps", "train", text=["The bright lamp", "lamp's oil, lamp"], label=[0, 1], group=["g", "h"]),
        "test": frame("lamps", "test", text=["a new LAMP", "the bright LAMP burns!"], label=[1, 1], group=["h", "i"]),
    }
    tents = {
        "train": frame("tents", "train", text=["bright tent tent tent"], label=[2]),
        "validation": frame("tents", "validation", text=["wet"], label=[2]),
    }
    return statistics_of(SA, {"lamps": lamps, "tents": tents}, {})


def test_sizes_labels_and_lengths() -> None:
    lamps = sentiment().domains["lamps"]
    assert list(lamps.splits) == ["train", "test"]
    assert lamps.splits["test"].labels == {"negative": 0, "positive": 2, "neutral": 0}
    assert lamps.splits["train"].shares == {"negative": 0.5, "positive": 0.5, "neutral": 0.0}
    test = lamps.splits["test"]
    assert (test.rows, test.groups, test.unanswered, test.tags, test.target_words) == (2, 2, None, {}, None)
    assert (test.input_words.mean, test.input_words.sd) == (3.5, 0.5)
    assert test.input_words.quantiles == pytest.approx((3, 3.05, 3.25, 3.5, 3.75, 3.95, 4))


def test_vocabulary_and_what_a_missing_split_leaves_undefined() -> None:
    domains = sentiment().domains
    # Train: the, bright, lamp, lamp's, oil. Test: a, new and burns are new, of 7 occurrences.
    assert domains["lamps"].vocabulary == 5
    assert domains["lamps"].unseen_test_share == pytest.approx(3 / 7)
    assert (domains["tents"].vocabulary, domains["tents"].unseen_test_share) == (2, None)
    assert (domains["lamps"].groups_in_several_splits, domains["tents"].groups_in_several_splits) == (1, 0)


def test_divergence_leaves_stop_words_out() -> None:
    # bright, lamp, lamp's, oil, tent: the is a stop word.
    wanted = jensenshannon([1, 2, 1, 1, 0], [1, 0, 0, 0, 3], base=2) ** 2
    divergence = sentiment().divergence
    assert divergence["lamps"]["tents"] == pytest.approx(wanted)
    assert divergence["lamps"]["tents"] == divergence["tents"]["lamps"]
    assert divergence["tents"]["tents"] == 0


def test_words_are_those_of_a_plain_count() -> None:
    rng = np.random.default_rng(0)
    pool = ["The", "the", "it's", "IT’S", "über", "x-ray", "3.5", "'quoted'", "...", "end.", "a_b", "of"]
    texts = {
        (domain, split): [" ".join(rng.choice(pool, size=rng.integers(1, 12))) for _ in range(40)]
        for domain in "ab"
        for split in ("train", "test")
    }
    domains = {
        domain: {split: frame(domain, split, text=texts[domain, split], label=[0] * 40) for split in ("train", "test")}
        for domain in "ab"
    }
    found = statistics_of(SA, domains, {})
    counts = {cell: Counter(re.findall(WORD, " ".join(of).lower())) for cell, of in texts.items()}
    for domain in "ab":
        train, test = counts[domain, "train"], counts[domain, "test"]
        assert found.domains[domain].vocabulary == len(train)
        unseen = sum(n for word, n in test.items() if word not in train)
        assert found.domains[domain].unseen_test_share == pytest.approx(unseen / test.total())
        lengths = [len(re.findall(WORD, text.lower())) for text in texts[domain, "test"]]
        assert found.domains[domain].splits["test"].input_words.mean == pytest.approx(np.mean(lengths))
        assert found.domains[domain].splits["test"].input_words.sd == pytest.approx(np.std(lengths))
    words = sorted((counts["a", "train"] | counts["b", "train"]).keys() - ENGLISH_STOP_WORDS)
    shares = [[counts[domain, "train"][word] for word in words] for domain in "ab"]
    assert found.divergence["a"]["b"] == pytest.approx(jensenshannon(*shares, base=2) ** 2)


def test_tags_count_tokens() -> None:
    rows = frame("x", "train", tokens=[["Good", "lamp", "!"], ["Bad"]], tags=[[0, 1, 0], [2]])
    split = statistics_of(AB, {"x": {"train": rows}}, {}).domains["x"].splits["train"]
    assert split.tags == {"O": 2, "T-POS": 1, "T-NEG": 1}
    assert (split.input_words.mean, split.input_words.sd) == (2.0, 1.0)
    assert split.shares["O"] == 0.5


def test_questions_without_an_answer() -> None:
    inputs = ("context", "question")
    balance = Balance(
        "answered", (pl.col("answers").struct.field("text").list.len() > 0).cast(pl.Int64), {0: 0.2, 1: 0.8}
    )
    rows = {"x": {"test": questions("x", "test", [True, True, False, True])}}
    asked = statistics_of(Spec(TaskKind.EXTRACTIVE_QA, inputs, balance=balance), rows, {})
    assert asked.domains["x"].splits["test"].unanswered == 1
    assert asked.domains["x"].splits["test"].shares == {"no answer": 0.25, "answer": 0.75}
    assert asked.no_answer_wanted == 0.2
    assert statistics_of(Spec(TaskKind.EXTRACTIVE_QA, inputs), rows, {}).no_answer_wanted is None


def test_target_lengths_and_their_largest_distance() -> None:
    rng = np.random.default_rng(1)
    lengths = {domain: rng.integers(1, high, size=30) for domain, high in [("a", 9), ("b", 9), ("c", 14)]}
    domains = {
        domain: {"train": frame(domain, "train", source_text=["x"] * 30, target_text=["w " * n for n in of])}
        for domain, of in lengths.items()
    }
    found = statistics_of(TG, domains, {})
    distances = {(a, b): ks_2samp(lengths[a], lengths[b]).statistic for a, b in [("a", "b"), ("a", "c"), ("b", "c")]}
    (worst,) = found.target_lengths
    assert worst.split == "train"
    assert worst.distance == pytest.approx(max(distances.values()))
    assert distances[worst.domains] == max(distances.values())
    target = found.domains["a"].splits["train"].target_words
    assert target is not None
    assert target.mean == pytest.approx(lengths["a"].mean())


def test_depths_are_told_apart_by_id_even_when_no_text_has_a_weight() -> None:
    ids = ["own/t/a/train/0", "own/t/a/train/1", "own/t/b/test/0", "own/t/b/test/1"]
    table = pl.DataFrame({"id": ids, "source": "a", "depth": [1.0, 1.4, 1.2, 1.6], "weight": [None] * 4})
    rows = {"a": {"train": frame("a", "train", text=["x"], label=[0])}}
    (pair,) = statistics_of(SA, rows, {("a", "b"): table}).depths
    # Of the four pairs, only 1.4 is deeper than 1.2.
    assert (pair.source, pair.target, pair.q, pair.mean_depth) == ("a", "b", 0.75, pytest.approx(1.4))


def test_nothing_and_one_domain() -> None:
    empty = statistics_of(SA, {}, {})
    assert (empty.domains, empty.divergence, empty.depths) == ({}, {}, ())
    rows = frame("a", "train", text=["of the"], label=[0])
    only = statistics_of(SA, {"a": {"train": rows, "test": rows.clear()}}, {})
    assert list(only.domains["a"].splits) == ["train"]
    assert only.divergence == {}  # only stop words
    assert only.duplicates.across_domains == ()


def test_the_data_survive_json() -> None:
    found = sentiment()
    assert TaskStatistics.model_validate_json(found.model_dump_json()) == found


def test_the_card_shows_what_is_defined() -> None:
    table = pl.DataFrame({"id": ["own/t/a/train/0", "own/t/b/test/0"], "depth": [1.5, 1.25]})
    rows = {"lamps": {"train": frame("lamps", "train", text=["good lamp"], label=[0])}}
    section = statistics_section("sa", sentiment(), is_drawn=True)
    assert section.startswith("### Statistics of sa\n\n![")
    assert "](statistics/sa.png)" in section
    assert "| lamps | 3.0 (3-3) | 3.5 (3-4) | 5 | 42.9% |" in section
    assert "| tents | 4.0 (4-4) | n/a | 2 | n/a |" in section
    assert "other group).\n\nNo duplicates: lamps.\n\n" in section
    assert "|  | lamps | tents |" in section
    lone = statistics_section("sa", statistics_of(SA, rows, {("lamps", "tents"): table}), is_drawn=False)
    assert ".png" not in lone
    assert "| lamps | 0.00 (1.250) |" in lone
    assert "Jensen" not in lone
