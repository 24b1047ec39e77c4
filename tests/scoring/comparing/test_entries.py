"""Comparison of stored entries: one family of tests, pairs cached on disk, a verifiable sentence."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.store import Store
from shiftbench.metrics.ranking import holm
from shiftbench.scoring.comparing.entries import ComparedEntry, compare_with_first, distinct_names
from shiftbench.scoring.comparing.files import Entrant, compare_entrants, compare_first
from shiftbench.scoring.comparing.shape import Comparison, winner
from shiftbench.scoring.scores.score import score_file
from shiftbench.scoring.scores.shape import METRIC_VERSION
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.versions import DataVersion
from tests.leaderboard.conftest import Filled, predict
from tests.refusals import refusal


def side(filled: Filled, name: str) -> ComparedEntry:
    entry = filled.entries[name]
    return ComparedEntry(entry.id, entry.card.name, filled.files[name], entry.card.version, entry.card.subset)


def sides(filled: Filled, *names: str) -> list[ComparedEntry]:
    return [side(filled, name) for name in names]


def p_values(pairs: tuple[Comparison, ...], name: str) -> list[float]:
    return [getattr(each, name) for pair in pairs for shift in pair.shifts for each in shift.differences]


def test_the_first_is_compared_with_each_other_one_in_one_family(filled: Filled, tmp_path: Path) -> None:
    pairs = compare_with_first(sides(filled, "good", "poor", "script"), filled.folder, Store(tmp_path))
    assert [(pair.a, pair.b) for pair in pairs] == [
        (filled.entries["good"].id, filled.entries[name].id) for name in ("poor", "script")
    ]
    alone = compare_with_first(sides(filled, "good", "poor"), filled.folder, Store(tmp_path))
    assert p_values(alone, "p") == p_values(pairs[:1], "p")
    # More tests share the level, by Holm over all that are not ranked means.
    both = zip(p_values(alone, "p_corrected"), p_values(pairs[:1], "p_corrected"), strict=True)
    known = [(less, more) for less, more in both if less is not None]
    assert len(known) >= 12
    assert all(more >= less for less, more in known)
    others = [each.difference for pair in pairs for each in pair.means[2:]]
    every = [*p_values(pairs, "p"), *(each.p for each in others)]
    expected = holm([each for each in every if each is not None])
    found = [*p_values(pairs, "p_corrected"), *(each.p_corrected for each in others)]
    assert [each for each in found if each is not None] == pytest.approx(list(expected))
    first = [each.difference for pair in pairs for each in pair.means[:2]]
    expected = holm([each.p for each in first if each.p is not None])
    assert [each.p_corrected for each in first if each.p is not None] == pytest.approx(list(expected))
    # The command gives the same result for the same files.
    entrants = [Entrant(filled.files[name], filled.folder) for name in ("good", "poor", "script")]
    assert p_values(compare_first(entrants), "p_corrected") == p_values(pairs, "p_corrected")


def test_a_pair_is_kept_and_made_again_when_it_is_damaged(filled: Filled, tmp_path: Path) -> None:
    chosen = sides(filled, "good", "poor")
    first = compare_with_first(chosen, filled.folder, Store(tmp_path))
    path = tmp_path / "comparisons" / METRIC_VERSION / f"{chosen[0].id}--{chosen[1].id}.json"
    kept = json.loads(path.read_text())
    assert str(tmp_path) not in path.read_text()
    assert [item.name for item in path.parent.iterdir()] == [path.name]
    # Without the files, the result must come from the cache.
    gone = [dataclasses.replace(item, predictions=Path("/no/such/file")) for item in chosen]
    assert compare_with_first(gone, filled.folder, Store(tmp_path)) == first
    path.write_text(json.dumps(kept)[:-5])
    assert compare_with_first(chosen, filled.folder, Store(tmp_path)) == first
    assert json.loads(path.read_text()) == kept
    # Results of another metric version are recomputed.
    path.write_text(json.dumps(kept | {"metric_version": "6"}))
    assert compare_with_first(chosen, filled.folder, Store(tmp_path)) == first


def test_entries_that_cannot_be_compared(filled: Filled, tmp_path: Path, wording: SnapshotAssertion) -> None:
    good = side(filled, "good")
    first, second, *_ = filled.folder.task("nli").domains
    apart = []
    for source, identity in ((first, "1" * 16), (second, "2" * 16)):
        path = tmp_path / f"{source}.parquet"
        predict(filled.folder, [source], 0.1).write_parquet(path)
        apart.append(dataclasses.replace(good, id=identity, predictions=path))
    manifest = filled.folder.manifest.model_copy(update={"label_key": "0" * 64})
    withheld = dataclasses.replace(filled.folder, manifest=manifest)
    pair = sides(filled, "good", "poor")
    changes = (
        ("other data", "version", DataVersion("f" * 64)),
        ("another subset", "subset", "fewshot"),
        ("no id", "id", "../../etc/passwd"),
    )
    messages = {
        name: refusal(
            InvalidInput,
            compare_with_first,
            [pair[0], dataclasses.replace(pair[1], **{key: value})],
            filled.folder,
            Store(tmp_path),
        )
        for name, key, value in changes
    }
    assert not list(tmp_path.rglob("*.json"))
    messages |= {
        name: refusal(InvalidInput, compare_with_first, chosen, folder, Store(tmp_path), *task)
        for name, chosen, folder, *task in (
            ("none", [], filled.folder),
            ("one", [good], filled.folder),
            ("five", [good] * 5, filled.folder),
            ("itself", [good, good], filled.folder),
            ("no shared shift", apart, filled.folder),
            ("no shared shift of a task", pair, filled.folder, "sa"),
            ("withheld labels", pair, withheld),
        )
    }
    assert str(tmp_path) not in str(messages)
    assert {
        name: message.replace(good.id, "GOOD").replace(pair[1].id, "POOR") for name, message in messages.items()
    } == wording


def test_names_that_are_the_same_get_the_first_digits_of_their_ids(filled: Filled) -> None:
    a, b, c = sides(filled, "good", "poor", "partial")
    same = dataclasses.replace(b, name=a.name)
    assert distinct_names([a, same, c]) == [f"{a.name} ({a.id[:6]})", f"{a.name} ({b.id[:6]})", c.name]


def test_mean_ood_scores_are_compared_where_a_task_has_an_id_domain(id_folder: DatasetFolder, tmp_path: Path) -> None:
    files = []
    for name, error in (("a", 0.1), ("b", 0.6)):
        parts = []
        for target in id_folder.task("sa").domains:
            rows = id_folder.split("sa", target, "test").sort("id")
            wrong = np.random.default_rng(3).random(len(rows)) < error
            labels = np.array(id_folder.task("sa").labels)
            codes = (rows["label"].to_numpy() + wrong) % len(labels)
            parts.append(rows.select("id", source=pl.lit("amazon"), prediction=pl.Series(labels[codes])))
        files.append(tmp_path / f"{name}.csv")
        pl.concat(parts).write_csv(files[-1])
    result = compare_entrants(*(Entrant(file, id_folder) for file in files))
    mean = result.means[0]
    assert (mean.task, mean.source, set(mean.targets)) == ("sa", "amazon", {"dynasent", "semeval", "sst"})
    scores = [score_file(file, id_folder).tasks[0].id_ood for file in files]
    values = [each.mean_ood.value for each in scores if each is not None and each.mean_ood.value is not None]
    assert mean.difference.value == pytest.approx(values[0] - values[1], abs=1e-12)
    assert mean.ranked
    assert winner(mean.difference) == "a"
    assert mean.difference.p_corrected == mean.difference.p, "no drop, so a family of one"
