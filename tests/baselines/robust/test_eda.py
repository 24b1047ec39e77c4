from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftbench.baselines.robust.eda import add_noisy_copies, add_noisy_tagged_copies, noisy_copy, words_of

TEXT = 'The old "ferry" left Mole Street, slowly; nobody (not even Tom) waved from its deck or from the long quay.'
NLI = ("premise", "hypothesis")


def upside_down(word: str) -> list[str]:
    return [word[::-1] + "x"] if len(word) > 3 else []


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def words(text: str) -> Counter[str]:
    return Counter(text.split())


@pytest.fixture
def pairs() -> pl.DataFrame:
    n = 40
    return pl.DataFrame(
        {
            "id": [f"dr/nli/harbour/train/{i:012x}" for i in range(n)],
            "domain": ["harbour"] * n,
            "group": [f"g{i // 3}" for i in range(n)],
            "premise": [f"ferry number {i} left the old quay" for i in range(n)],
            "hypothesis": [f"boat {i} went away slowly that morning" for i in range(n)],
            "label": [i % 3 for i in range(n)],
        }
    )


def test_of_a_pair_only_the_second_text_changes_beside_its_own_first(pairs: pl.DataFrame) -> None:
    both = add_noisy_copies(pairs, NLI, generator(), upside_down)
    assert both[: len(pairs)].equals(pairs)
    copies = both[len(pairs) :]
    unchanged = ["domain", "group", "premise", "label"]
    assert copies.select(unchanged).equals(pairs.select(unchanged))
    assert (copies["hypothesis"] != pairs["hypothesis"]).mean() > 0.7
    assert both["id"].n_unique() == 80
    assert both.schema == pairs.schema


def test_single_texts_change(pairs: pl.DataFrame) -> None:
    rows = pairs.drop("premise").rename({"hypothesis": "text"})
    both = add_noisy_copies(rows, ("text",), generator(), upside_down)
    assert (both["text"][40:] != both["text"][:40]).mean() > 0.7


def test_the_generator_decides_the_copies(pairs: pl.DataFrame) -> None:
    first, again, other = (add_noisy_copies(pairs, NLI, generator(seed), upside_down) for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


def test_each_copy_is_by_one_operation_and_all_four_are_drawn() -> None:
    """Twenty words: two are replaced, inserted or swapped in pairs."""
    n_words = len(TEXT.split())
    draw, kinds = generator(), Counter[str]()
    for _ in range(400):
        copy = noisy_copy(TEXT, draw, upside_down)
        lost, new = words(TEXT) - words(copy), words(copy) - words(TEXT)
        if len(copy.split()) == n_words + 2:
            kinds["inserted"] += 1
            assert not lost
            assert all(word.endswith("x") for word in new)
        elif not new and sum(lost.values()):
            kinds["deleted"] += 1
        elif any("x" in word for word in new):
            kinds["replaced"] += 1
            assert sum(new.values()) == 2
        else:
            kinds["swapped"] += 1
            assert Counter(letter for letter in copy) == Counter(letter for letter in TEXT)
    assert all(60 < kinds[kind] < 140 for kind in ("inserted", "deleted", "replaced", "swapped")), kinds


def test_punctuation_and_case_stay_where_they_are() -> None:
    draw = generator(3)
    copies = {
        noisy_copy('"Wait," he said.', draw, lambda word: ["pause"] if word == "wait" else []) for _ in range(200)
    }
    assert '"Pause," he said.' in copies
    assert '"he," Wait said.' in copies or '"said," he Wait.' in copies
    assert all(copy.count('"') in (0, 2) for copy in copies)
    assert "STOP!" in {noisy_copy("HALT!", draw, lambda _: ["stop"]) for _ in range(50)}


def test_stop_words_are_never_replaced() -> None:
    draw = generator()
    for _ in range(100):
        assert words(noisy_copy("it was from there", draw, lambda _: ["SYNONYM"]))["SYNONYM"] == 0


def test_words_that_synonyms_are_asked_for() -> None:
    asked: set[str] = set()
    for seed in range(50):
        noisy_copy(TEXT, generator(seed), lambda word: asked.add(word) or [])  # type: ignore[func-returns-value]
    assert asked <= words_of([TEXT])
    assert {"ferry", "mole", "slowly"} <= asked
    assert "" not in words_of(["?! -- a"])


@given(st.text(max_size=60), st.integers(0, 2**32 - 1))
def test_no_text_becomes_empty_or_is_refused(text: str, seed: int) -> None:
    copy = noisy_copy(text, generator(seed), upside_down)
    assert bool(copy.strip()) == bool(text.strip())


@given(
    st.lists(st.sampled_from(["quay", "(pier)", "Tom,", "--", "of", "a.b"]), min_size=1, max_size=12),
    st.integers(0, 99),
)
def test_a_copy_has_no_word_from_nowhere(parts: list[str], seed: int) -> None:
    copy = noisy_copy(" ".join(parts), generator(seed), upside_down)
    found = words_of([copy])
    assert found <= words_of(parts) | {upside_down(word)[0] for word in words_of(parts) if len(word) > 3}


SENTENCE = [
    *("the", "old", "Ada", "Byron", "left", "Mole", "for", "Hope", "early"),
    *("and", "nobody", "saw", "it", "go", "."),
]
TAGS = [0, 0, 1, 2, 0, 3, 0, 3, 0, 0, 0, 0, 0, 0, 0]


def spans(tokens: list[str], tags: list[int]) -> list[tuple[str, int]]:
    return [(token, tag) for token, tag in zip(tokens, tags, strict=True) if tag]


def test_noise_in_tagged_words_leaves_the_spans_as_they_are() -> None:
    """The first span is of two words: nothing is put between them."""
    rows = pl.DataFrame(
        {"id": [f"r{i}" for i in range(400)], "group": ["g"] * 400, "tokens": [SENTENCE] * 400, "tags": [TAGS] * 400}
    )
    both = add_noisy_tagged_copies(rows, 0, generator(), lambda word: ["big ship"] if len(word) > 3 else [])
    assert both[:400].equals(rows)
    assert both.schema == rows.schema
    kinds = Counter[str]()
    for tokens, tags in both[400:].select("tokens", "tags").iter_rows():
        assert spans(tokens, tags) == spans(SENTENCE, TAGS)
        assert tokens[tags.index(1) + 1] == "Byron"
        if len(tokens) < len(SENTENCE):
            kinds["deleted"] += 1
        elif "ship" in tokens:
            kinds["replaced" if len(tokens) == len(SENTENCE) + 1 else "inserted"] += 1
        elif tokens != SENTENCE:
            kinds["swapped"] += 1
            assert Counter(tokens) == Counter(SENTENCE)
    # A tenth of eleven free words is one word; deletion leaves all of them in 3 of 10 cases.
    assert all(60 < kinds[kind] < 140 for kind in ("inserted", "replaced", "swapped")), kinds
    assert 40 < kinds["deleted"] < 100, kinds


def test_a_text_of_spans_alone_is_copied() -> None:
    rows = pl.DataFrame({"id": ["r"], "tokens": [["Ada", "Byron"]], "tags": [[1, 2]]})
    copy = add_noisy_tagged_copies(rows, 0, generator(), upside_down)[1]
    assert (copy["tokens"].to_list(), copy["tags"].to_list()) == ([["Ada", "Byron"]], [[1, 2]])
