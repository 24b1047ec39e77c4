"""The two halves: they depend on group and key alone, and are the same for a label whatever its id."""

import dataclasses
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.assembling.assemble import assemble
from shiftbench.builders.assembling.placebo import placebo_task
from shiftbench.builders.folder.manifest import SourceFacts
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.specs.spec import TaskSpec
from shiftbench.builders.writing.writer import write_folder
from shiftbench.leaderboard.release.halves import (
    _gold_key,
    gold_keys,
    half_of,
    halves,
    refuse_split_twice,
    released_tasks,
    too_small_lines,
)
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import TaskKind
from tests.leaderboard.release.gold import DOMAINS, KEY, TASK, build_gold, with_permuted_half


def tickets(name: str) -> TaskSpec:
    return TaskSpec(
        benchmark="twice", name=name, title="Tickets", kind=TaskKind.CLASSIFICATION, inputs=("text",),
        labels=("bad", "good"), metric="accuracy", train=20, validation=0, test=60, domains=(),
    )  # fmt: skip


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    """A gold folder with one label under three ids: in two tasks and a placebo; some texts are in two groups."""
    rows = {}
    for domain in DOMAINS[:2]:
        texts = [f"The {domain} and number {number}." for number in range(80)]
        texts[60:66] = texts[:6]
        groups = [f"{domain}{number // 2}" for number in range(80)]
        labels = ["good" if number % 3 else "bad" for number in range(80)]
        labels[60:66] = labels[:6]
        frame = pl.DataFrame({"text": texts, "label": labels, "group": groups})
        rows[domain] = {"test": frame.filter(pl.int_range(pl.len()) >= 20), "train": frame.head(20)}
        rows[domain] = {"test": pl.concat([rows[domain]["test"], frame.head(6)]), "train": frame[6:20]}
    built = []
    for name in ("tickets", "tickets_again"):
        task = assemble(tickets(name), rows, dict.fromkeys(rows, ("invented",)), seed=0, equal=False, withhold=True)
        built.append(task)
    placebo = placebo_task(built[0], 0, balanced=False)
    assert placebo is not None
    source = SourceFacts(
        title="Invented", url="https://example.org/none", revision="1", licence="yes", open_licence=True, citation=""
    )
    out = tmp_path_factory.mktemp("twice") / "built"
    write_folder(
        out, [*built, placebo], {"invented": source}, title="Twice", seed=0, partial=False, synthetic=False,
        encoder=None, label_key=KEY,
    )  # fmt: skip
    return DatasetFolder.open(out / "gold")


def test_groups_are_halved_and_never_split(gold: DatasetFolder) -> None:
    rows = halves(gold)
    assert 0.45 < rows["feedback"].mean() < 0.55
    assert rows.group_by("group").agg(pl.col("feedback").n_unique())["feedback"].max() == 1


def test_a_label_is_in_one_half_whatever_id_it_has(twice: DatasetFolder) -> None:
    rows = halves(twice)
    assert released_tasks(twice) == ["tickets", "tickets_again"]  # placebos are never released
    by_label = rows.group_by("gold").agg(
        pl.len(), n_halves=pl.col("feedback").n_unique(), n_ids=pl.col("id").n_unique()
    )
    assert by_label["n_halves"].max() == 1
    assert by_label["n_ids"].max() == 4  # two tasks, and two groups that hold the text
    first, second = (
        gold_keys(half_of(twice, task, "all", DOMAINS[0], feedback=True)) for task in ("tickets", "tickets_again")
    )
    assert first.tolist() == second.tolist()


def test_halves_hang_on_the_key_and_on_no_label(gold: DatasetFolder, tmp_path: Path) -> None:
    other = with_permuted_half(gold, tmp_path / "other", feedback=True)
    assert halves(other).equals(halves(gold))
    rekeyed = dataclasses.replace(gold, manifest=gold.manifest.model_copy(update={"label_key": "0" * 64}))
    assert halves(rekeyed)["feedback"].to_list() != halves(gold)["feedback"].to_list()


def test_a_larger_build_moves_no_label_to_the_other_half(small: DatasetFolder, tmp_path: Path) -> None:
    fewer = build_gold(tmp_path / "fewer", 150, domains=DOMAINS[:2])
    both = halves(small).join(halves(fewer), on="gold", suffix="_fewer")
    assert both.height == 300
    assert both.filter(pl.col("feedback") != pl.col("feedback_fewer")).is_empty()


@pytest.mark.parametrize(
    "respelt",
    ["the caf\u00e9 on  the quay ",
     "The Caf\u00e9 On The Quay", "THE CAFE\u0301 ON THE QUAY", "the caf\u00e9\u00a0on the quay",
     "\uff54\uff48\uff45 cafe\u0301 on the qu\u00aday", "the caf\u00e9 on\u200b the \u202aquay"],
)  # fmt: skip
def test_a_text_spelt_another_way_has_the_same_key(respelt: str) -> None:
    assert _gold_key([respelt, "b"]) == _gold_key(["the caf\u00e9 on the quay", "B"])
    assert _gold_key([respelt, "b"]) != _gold_key(["the cafe on the quay", "B"])
    assert _gold_key([respelt, "b"]) != _gold_key([respelt + "b"])


def test_copies_spelt_another_way_are_in_one_half(small: DatasetFolder, tmp_path: Path) -> None:
    """Check copies under another group, which may lie in the other half: then both folders are not served together."""
    shouted = build_gold(tmp_path / "shouted", 150, domains=DOMAINS[:2], spell=str.upper)
    assert set(gold_keys(halves(shouted))) < set(gold_keys(halves(small)))
    with pytest.raises(InvalidInput, match="halves"):
        refuse_split_twice([small, shouted])


def test_public_folders_have_no_halves(synthetic: DatasetFolder) -> None:
    with pytest.raises(InvalidInput, match="key"):
        halves(synthetic)


def test_two_keys_for_the_same_labels_are_refused(gold: DatasetFolder, small: DatasetFolder, tmp_path: Path) -> None:
    refuse_split_twice([gold, small, gold])
    rekeyed = dataclasses.replace(gold, manifest=gold.manifest.model_copy(update={"label_key": "0" * 64}))
    with pytest.raises(InvalidInput, match="keys"):
        refuse_split_twice([small, gold, rekeyed])
    assert TASK in gold.manifest.tasks


def test_a_build_too_small_for_rounds_is_told_so(
    small: DatasetFolder, ranked: DatasetFolder, wording: SnapshotAssertion
) -> None:
    assert list(too_small_lines(ranked)) == []
    assert list(too_small_lines(small)) == wording
