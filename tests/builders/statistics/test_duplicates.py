"""Counts of repeated texts: by hand on small frames, and against every pair compared in plain Python."""

import re
from collections.abc import Iterable
from itertools import combinations

import numpy as np
import polars as pl
import pytest

from shiftbench.builders.folder.reader import REPEATED_TESTS
from shiftbench.builders.folder.statistics import DuplicateCounts
from shiftbench.builders.statistics import duplicates as module
from shiftbench.builders.statistics.duplicates import ComparisonRows, find_duplicates
from shiftbench.builders.statistics.near_pairs import WORD

LONG = "the quick brown fox jumps over the lazy dog while seven other dogs watch it from behind the old wooden fence"


def rows(*cells: tuple[str, str, str, str]) -> list[pl.DataFrame]:
    """Return frames of rows from (domain, split, group, text); ids are a, b, c ... in this order."""
    columns = dict(zip(("domain", "split", "group", "text"), zip(*cells, strict=True), strict=True))
    frame = pl.DataFrame({"id": [chr(ord("a") + number) for number in range(len(cells))], **columns})
    return list(frame.iter_slices(3))


def counts_of(texts: Iterable[pl.DataFrame]) -> DuplicateCounts:
    return find_duplicates(texts).counts


def within(counts: DuplicateCounts) -> dict[tuple[str, str], tuple[int, int, int]]:
    return {(c.domain, c.split): (c.rows, c.exact, c.near) for c in counts.within}


def across_splits(counts: DuplicateCounts) -> dict[tuple[str, str, str], tuple[int, int]]:
    return {(c.domain, c.split, c.other): (c.exact, c.near) for c in counts.across_splits}


def across_domains(counts: DuplicateCounts) -> dict[tuple[str, str], tuple[int, int]]:
    return {(c.domain, c.split): (c.exact, c.near) for c in counts.across_domains}


def test_exact_repeats_are_counted_where_they_are() -> None:
    counts = counts_of(
        rows(
            ("x", "train", "g1", "one two three"),
            ("x", "train", "g2", "one two three"),
            ("x", "test", "g3", "one two three"),
            ("x", "test", "g4", "something else"),
            ("y", "train", "g1", "one two three"),
            ("y", "test", "g1", "quite another text"),
        )
    )
    assert within(counts) == {
        ("x", "train"): (2, 2, 0),
        ("x", "test"): (2, 0, 0),
        ("y", "train"): (1, 0, 0),
        ("y", "test"): (1, 0, 0),
    }
    assert across_splits(counts) == {("x", "test", "train"): (1, 0), ("y", "test", "train"): (0, 0)}
    assert across_domains(counts) == {
        ("x", "train"): (2, 0),
        ("x", "test"): (1, 0),
        ("y", "train"): (1, 0),
        ("y", "test"): (0, 0),
    }
    assert counts.examples["within"].exact == (("a", "b"), ("b", "a"))
    assert counts.examples["across_splits"].exact == (("c", "a"),)
    assert counts.examples["across_domains"].exact == (("a", "e"), ("b", "e"), ("c", "e"), ("e", "c"))
    assert counts.uncompared == 0


def test_near_duplicates_differ_and_are_similar_enough() -> None:
    # LONG has 21 words, so 19 shingles: one more word gives 19 of 20 in common, a changed middle word 16 of 22.
    counts = counts_of(
        rows(
            ("x", "train", "g1", LONG),
            ("x", "test", "g2", LONG + " today"),
            ("x", "validation", "g3", LONG.replace("seven", "eight")),
        )
    )
    assert across_splits(counts) == {
        ("x", "validation", "train"): (0, 0),
        ("x", "test", "train"): (0, 1),
        ("x", "test", "validation"): (0, 0),
    }
    assert counts.examples["across_splits"].near == (("b", "a"),)
    assert counts.across_domains == ()


def test_case_and_punctuation_make_a_near_duplicate_of_any_length() -> None:
    counts = counts_of(rows(("x", "train", "g1", "Good!"), ("x", "train", "g2", "good"), ("x", "train", "g3", "bad")))
    assert within(counts) == {("x", "train"): (3, 0, 2)}


def test_a_group_has_no_near_duplicates_of_its_own() -> None:
    same = counts_of(rows(("x", "train", "g", LONG), ("x", "train", "g", LONG + " today")))
    other_domain = counts_of(rows(("x", "train", "g", LONG), ("y", "train", "g", LONG + " today")))
    assert within(same) == {("x", "train"): (2, 0, 0)}
    assert across_domains(other_domain) == {("x", "train"): (0, 1), ("y", "train"): (0, 1)}
    assert other_domain.examples["across_domains"].near == (("a", "b"), ("b", "a"))


def test_a_row_with_duplicates_inside_and_outside_its_group_counts() -> None:
    cells = [("x", "train", group, LONG + end) for group, end in [("g", ""), ("g", " today"), ("h", " now")]]
    counts = counts_of(rows(*cells))
    assert within(counts) == {("x", "train"): (3, 0, 3)}
    assert counts.examples["within"].near == (("a", "c"), ("b", "c"), ("c", "a"))


def test_texts_without_words_are_no_near_duplicates() -> None:
    counts = counts_of(rows(("x", "train", "g1", "!"), ("x", "train", "g2", "?"), ("x", "train", "g3", "?")))
    assert within(counts) == {("x", "train"): (3, 2, 0)}


def test_no_rows_no_counts() -> None:
    counts = counts_of(ComparisonRows({}, ("text",)))
    assert (counts.within, counts.across_splits, counts.across_domains, counts.uncompared) == ((), (), (), 0)
    assert counts.examples["within"].exact == ()
    assert find_duplicates(ComparisonRows({}, ("text",))).repeated_tests.schema == REPEATED_TESTS


def test_comparison_rows_join_all_inputs() -> None:
    frame = pl.DataFrame({"id": ["1"], "group": ["g"], "premise": ["A b."], "hypothesis": ["C."]})
    tokens = pl.DataFrame({"id": ["1"], "group": ["g"], "tokens": [["so", "good"]]})
    assert pl.concat(ComparisonRows({"x": {"test": frame}}, ("premise", "hypothesis"))).row(0, named=True) == {
        "id": "1", "group": "g", "domain": "x", "split": "test", "text": "A b.\nC.",
    }  # fmt: skip
    assert pl.concat(ComparisonRows({"x": {"test": tokens}}, ("tokens",)))["text"].to_list() == ["so good"]


def invented_texts(n: int) -> pl.DataFrame:
    """Return texts of 12 to 30 words, half of them earlier ones with a few words changed, added or removed."""
    rng = np.random.default_rng(3)
    vocabulary = [f"w{number}" for number in range(60)]
    texts: list[list[str]] = []
    for number in range(n):
        if number and rng.random() < 0.6:
            text = list(texts[rng.integers(number)])
            for _ in range(rng.integers(0, 3)):
                text[rng.integers(len(text))] = vocabulary[rng.integers(60)]
            text = text[rng.integers(0, 2) :]
        else:
            text = [vocabulary[word] for word in rng.integers(60, size=rng.integers(12, 31))]
        texts.append(text)
    cells = {
        "domain": [("x", "y", "z")[number] for number in rng.integers(3, size=n)],
        "split": [("train", "validation", "test")[number] for number in rng.integers(3, size=n)],
        "group": [f"g{number}" for number in rng.integers(n // 3, size=n)],
    }
    return pl.DataFrame({"id": [f"{number:03d}" for number in range(n)], **cells, "text": [" ".join(t) for t in texts]})


def compared_by_hand(frame: pl.DataFrame) -> dict[str, set[tuple[str, str]]]:
    """Return the pairs of ids that are duplicates, comparing every pair."""

    def shingles(text: str) -> set[tuple[str, ...]]:
        words = re.findall(WORD, text.lower())
        return {tuple(words[start : start + 3]) for start in range(max(1, len(words) - 2))}

    sets = {row["id"]: shingles(row["text"]) for row in frame.iter_rows(named=True)}
    pairs: dict[str, set[tuple[str, str]]] = {"exact": set(), "near": set()}
    for a, b in combinations(frame.iter_rows(named=True), 2):
        one, other = sets[a["id"]], sets[b["id"]]
        if a["text"] == b["text"]:
            pairs["exact"] |= {(a["id"], b["id"]), (b["id"], a["id"])}
        elif len(one & other) / len(one | other) >= 0.8 and (a["domain"], a["group"]) != (b["domain"], b["group"]):
            pairs["near"] |= {(a["id"], b["id"]), (b["id"], a["id"])}
    return pairs


def test_counts_equal_those_of_all_pairs() -> None:
    frame = invented_texts(250)
    cell = {row["id"]: (row["domain"], row["split"]) for row in frame.iter_rows(named=True)}
    (counts, repeated), pairs = find_duplicates([frame]), compared_by_hand(frame)
    assert min(len(pairs["exact"]), len(pairs["near"])) > 40

    def wanted(domain: str, split: str, where) -> tuple[int, int]:  # type: ignore[no-untyped-def]
        exact, near = (
            len({a for a, b in pairs[kind] if cell[a] == (domain, split) and where(*cell[b])})
            for kind in ("exact", "near")
        )
        return exact, near

    for c in counts.within:
        assert (c.exact, c.near) == wanted(c.domain, c.split, lambda *other, c=c: other == (c.domain, c.split))
    for c in counts.across_splits:
        assert (c.exact, c.near) == wanted(c.domain, c.split, lambda *other, c=c: other == (c.domain, c.other))
    for c in counts.across_domains:
        assert (c.exact, c.near) == wanted(c.domain, c.split, lambda domain, _, c=c: domain != c.domain)
    for shown in counts.examples.values():
        assert set(shown.exact) <= pairs["exact"]
        assert set(shown.near) <= pairs["near"]
        assert len(shown.near) <= module.N_EXAMPLES

    in_train = {
        kind: {a for a, b in pairs[kind] if cell[a][1] == "test" and cell[b] == (cell[a][0], "train")} for kind in pairs
    }
    assert set(repeated.filter("near")["id"]) == in_train["near"]
    assert set(repeated.filter("exact")["id"]) == in_train["exact"]
    assert repeated["id"].to_list() == sorted(in_train["near"] | in_train["exact"])
    assert repeated.schema == REPEATED_TESTS


def test_the_order_of_rows_does_not_matter() -> None:
    frame = invented_texts(120)
    one, other = (find_duplicates([rows]) for rows in (frame, frame.sample(fraction=1.0, shuffle=True, seed=1)))
    assert one.counts == other.counts
    assert one.repeated_tests.equals(other.repeated_tests)


def test_a_repeated_template_stays_cheap_and_is_found_in_every_split() -> None:
    n = 3000
    splits = [("train", "validation", "test")[number % 3] for number in range(n)]
    frame = pl.DataFrame(
        {"id": [f"{number:04d}" for number in range(n)], "domain": "x", "split": splits}
        | {"group": [f"g{number}" for number in range(n)], "text": [f"{LONG} {number}" for number in range(n)]}
    )
    counts = counts_of([frame])
    assert counts.uncompared > 0
    assert within(counts) == dict.fromkeys([("x", split) for split in ("train", "validation", "test")], (1000, 0, 1000))
    assert across_splits(counts)["x", "test", "train"] == (0, 1000)


@pytest.mark.parametrize("size", [1, 40])
def test_equal_texts_cost_one_comparison(size: int) -> None:
    cells = [("x", "train", f"g{number}", LONG) for number in range(size)]
    cells += [("x", "test", f"h{number}", LONG + " today") for number in range(size)]
    counts = counts_of(rows(*cells))
    assert across_splits(counts) == {("x", "test", "train"): (0, size)}
    assert within(counts)["x", "train"] == (size, size if size > 1 else 0, 0)
