"""Reservoirs: the rows with the smallest hashes, however rows are ordered, cut into frames, saved and gone on with."""

import hashlib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftbench.builders.reading import sampling
from shiftbench.builders.reading.sampling import Reservoir, identity_hash

SCHEMA = {"text": pl.String, "label": pl.String, "words": pl.List(pl.String), "_stratum": pl.Int64}
ROWS = st.lists(
    st.tuples(
        st.none() | st.text("ab", max_size=2),
        st.sampled_from(["x", "y", None]),
        st.none() | st.lists(st.sampled_from("pq"), max_size=2),
        st.integers(-1, 1),
    ),
    max_size=40,
)


def frame(rows: Any) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def reservoir(size: int = 2) -> Reservoir:
    return Reservoir(size, ["text"], key="k")


def brute_force(rows: pl.DataFrame, size: int) -> pl.DataFrame:
    hashed = rows.with_columns(identity_hash(rows, ["text"], hashlib.sha256(b"k").digest()))
    ordered = hashed.sort("_stratum", "_hash", *sorted({"text", "label", "words"}))
    once = ordered.unique(["_stratum", "_hash"], keep="first", maintain_order=True)
    return once.group_by("_stratum", maintain_order=True).head(size).sort("_hash", "_stratum").select(*SCHEMA)


@given(rows=ROWS, size=st.integers(1, 4), cuts=st.lists(st.integers(0, 40)), data=st.data(), few=st.integers(0, 5))
def test_order_and_cuts_do_not_matter_and_the_answer_is_the_plain_one(
    rows: list[Any], size: int, cuts: list[int], data: st.DataObject, few: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "_FEWEST_PENDING", few)
        sample = reservoir(size)
        shuffled = data.draw(st.permutations(rows))
        ends = sorted({0, len(rows), *(min(cut, len(rows)) for cut in cuts)})
        for start, end in zip(ends, [*ends[1:], len(rows)], strict=True):
            sample.take(frame(shuffled[start:end]))
        expected = brute_force(frame(rows), size)
        assert sample.rows().equals(expected.drop("_stratum"))
        assert sample.rows().equals(expected.drop("_stratum"))  # asking changes nothing
    assert sample.n_taken == len(rows)
    assert sample.n_repeats <= len(rows) - len(
        frame(rows).with_columns(pl.col("text").fill_null("")).unique(["text", "_stratum"])
    )


@given(before=ROWS, after=ROWS)
def test_a_saved_sample_goes_on_as_if_it_had_not_stopped(
    before: list[Any], after: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("saved") / "sample.parquet"
    whole, first, second = reservoir(), reservoir(), reservoir()
    for sample in (whole, first):
        sample.take(frame(before))
    first.save(path)
    second.take(frame(after))  # what it held is left
    second.load(path)
    for sample in (whole, first, second):
        sample.take(frame(after))
    assert whole.rows().equals(first.rows())
    assert whole.rows().equals(second.rows())
    assert (whole.n_taken, first.n_taken) == (second.n_taken, second.n_taken)
    assert [file.name for file in path.parent.iterdir()] == ["sample.parquet"]


def test_nothing_taken_is_no_rows_and_can_be_saved(tmp_path: Path) -> None:
    untouched, empty, loaded = reservoir(), reservoir(), reservoir()
    assert untouched.rows().shape == (0, 0)
    empty.take(frame([]))
    assert empty.rows().columns == ["text", "label", "words"]
    for sample in (untouched, empty):
        sample.save(tmp_path / "a")
        loaded.load(tmp_path / "a")
        assert loaded.rows().equals(sample.rows())
    loaded.take(frame([("a", "x", None, 0)]))
    assert len(loaded.rows()) == 1


def test_rows_of_one_text_take_one_place_and_the_smallest_is_held() -> None:
    sample = reservoir(3)
    for label in "cabbad":
        sample.take(frame([("same", label, None, 0), ("same", label, None, 1), ("other", "z", None, 0)]))
    assert sorted(sample.rows()["label"]) == ["a", "a", "z"]
    assert (sample.n_taken, sample.n_repeats) == (18, 15)


def test_the_hash_is_blake2b_of_the_joined_texts() -> None:
    table = pl.DataFrame({"a": ["x", None], "b": [1, 2]})
    expected = [
        int.from_bytes(hashlib.blake2b(text, digest_size=8, key=b"k").digest(), "big") for text in (b"x\x1f1", b"\x1f2")
    ]
    assert identity_hash(table, ["a", "b"], b"k").to_list() == expected


def test_other_keys_give_other_samples() -> None:
    rows = frame([(str(n), "x", None, 0) for n in range(100)])
    samples = [Reservoir(10, ["text"], key=key) for key in ("1", "2", "1")]
    for sample in samples:
        sample.take(rows)
    first, second, again = (set(sample.rows()["text"]) for sample in samples)
    assert first != second
    assert first == again


def test_no_more_is_held_than_the_sample_and_a_quarter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_FEWEST_PENDING", 10)
    sample = reservoir(100)
    for start in range(0, 20_000, 50):
        sample.take(frame([(str(n), "x", None, 0) for n in range(start, start + 50)]))
        assert len(sample._held) + sample._n_pending <= 100 + 50
    assert len(sample.rows()) == 100


def test_a_sample_of_another_size_is_not_gone_on_with(tmp_path: Path) -> None:
    reservoir(2).save(tmp_path / "a")
    with pytest.raises(ValueError, match=r"\b2\b.*\b3\b"):
        reservoir(3).load(tmp_path / "a")


def test_a_row_without_a_stratum_is_refused() -> None:
    with pytest.raises(ValueError, match="stratum"):
        reservoir().take(frame([("a", "x", None, None)]))
