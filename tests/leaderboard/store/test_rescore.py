"""Scoring a store again: every entry has scores of the current metrics, and changed ranks are reported."""

import json
import shutil
from pathlib import Path

import pytest
from huggingface_hub import HfApi
from typer.testing import CliRunner

from shiftbench.cli.command import app
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.store import Store, open_store
from shiftbench.leaderboard.store.rescore import Change, interval_changes, rescore
from shiftbench.scoring.scores.shape import METRIC_VERSION
from tests.hub.server import WRITE, running_hub
from tests.leaderboard.conftest import Filled
from tests.leaderboard.sending import Sender

BOARD = "synthetic/nli@"


@pytest.fixture
def aged(filled: Filled, tmp_path: Path) -> Filled:
    """The filled store as if metric version 2 had made its scores, in which the poor model was the best."""
    store = Store(shutil.copytree(filled.store.root, tmp_path / "store"))
    (store.root / "scores" / METRIC_VERSION).rename(store.root / "scores" / "2")
    path = store.root / "scores" / "2" / f"{filled.entries['poor'].id}.json"
    old = json.loads(path.read_text())
    for task in old["tasks"]:
        task["summary"]["mean_st"]["value"] = 0.99
        task["since_forgotten"] = "shapes of other versions may be others"
    path.write_text(json.dumps(old))
    return Filled(store, filled.folder, filled.entries, filled.files)


def values(filled: Filled, name: str) -> float:
    scores = filled.store.scores(filled.entries[name], filled.folder)
    value = scores.tasks[0].summary.mean_st.value
    assert value is not None
    return value


def test_ranks_are_compared_with_the_version_before(aged: Filled) -> None:
    for older in ("1", "1.9"):
        (aged.store.root / "scores" / older).mkdir()
    found = rescore(aged.store, [aged.folder])
    assert (found.version, found.against) == (METRIC_VERSION, "2")
    assert found.scored == tuple(aged.store.ids())
    assert (found.kept, found.failed) == ((), {})
    assert list(found.changes) == [f"{BOARD}{aged.folder.content_hash[:8]}"]
    ids = {name: entry.id for name, entry in aged.entries.items()}
    good, poor = values(aged, "good"), values(aged, "poor")
    (changes,) = found.changes.values()
    # Two entries share the first rank now, which was the second.
    script = aged.entries["script"].card.name
    assert set(changes) == {
        Change(ids["good"], aged.card("good").name, 2, 1, good, good),
        Change(ids["script"], script, 2, 1, good, good),
        # The entry is ranked without any drop, as on the board.
        Change(ids["zero-shot"], aged.card("zero-shot").name, 4, 3, *[values(aged, "zero-shot")] * 2),
        Change(ids["poor"], aged.card("poor").name, 1, 4, 0.99, poor),
    }
    assert [each.new_rank for each in changes] == [1, 1, 3, 4]
    index = Index([aged.folder], aged.store)
    board = index.frame(index.boards()[0]).filter("complete")
    assert dict(board.select("id", "rank").iter_rows()) == {each.id: each.new_rank for each in changes}
    assert found.intervals == {f"{BOARD}{aged.folder.content_hash[:8]}": ()}
    again = rescore(aged.store, [aged.folder])
    assert (again.scored, again.kept) == ((), found.scored)
    assert again.changes == found.changes
    assert rescore(aged.store, [aged.folder], every=True).scored == found.scored


def test_last_digits_are_no_change_of_an_interval() -> None:
    """Check ends that another processor computed; one text more or less moves an end by more than this."""
    place, other = ("an entry", "a -> b", "SD"), ("an entry", "a -> c", "SD")
    old = {place: (0.1 + 0.2, 0.4), other: None}
    assert interval_changes(old, {place: (0.3, 0.4), other: None}) == ()
    (change,) = interval_changes(old, {place: (0.3 + 1e-6, 0.4), other: None})
    assert (change.values, change.old_intervals, change.new_intervals) == (2, 1, 1)
    (change,) = interval_changes(old, {place: (0.3, 0.4), other: (0.0, 0.1)})
    assert (change.old_intervals, change.new_intervals) == (1, 2)


def test_what_changed_in_intervals_is_told(aged: Filled) -> None:
    """Check an entry whose SD had narrow intervals that exclude 0."""
    good = aged.entries["good"]
    path = aged.store.root / "scores" / "2" / f"{good.id}.json"
    old = json.loads(path.read_text())
    for shift in old["tasks"][0]["shifts"]:
        shift["sd"] |= {"low": 0.001, "high": 0.011}
    path.write_text(json.dumps(old))
    found = rescore(aged.store, [aged.folder])
    (changes,) = found.intervals.values()
    scores = [aged.store.scores(entry, aged.folder).tasks[0] for entry in aged.entries.values()]
    (sd,) = changes
    assert sd.figure == "SD"
    every = [shift.sd for task in scores for shift in task.shifts if shift.sd.value is not None]
    there = [drop for drop in every if drop.low is not None]
    own = [shift.sd for shift in aged.store.scores(good, aged.folder).tasks[0].shifts]
    assert sd.values == len(every)
    assert sd.new_intervals == len(there)
    assert sd.old_intervals == sd.new_intervals + sum(drop.low is None for drop in own)
    assert sd.new_clear == sum(drop.low > 0 or (drop.high or 0) < 0 for drop in there if drop.low is not None)
    assert (sd.old_clear or 0) >= len(own)
    result = CliRunner().invoke(app, ["rescore", "--store", str(aged.store.root), "--data", str(aged.folder.path)])
    assert f"{sd.old_intervals} -> {sd.new_intervals}" in result.output


def test_widths_are_those_of_values_that_have_an_interval_twice() -> None:
    old = {("e", "a -> b", "SD"): (0.0, 0.1), ("e", "b -> a", "SD"): None, ("f", "", "mean ST"): (0.5, 0.6)}
    new = {("e", "a -> b", "SD"): (-0.1, 0.2), ("e", "b -> a", "SD"): (0.1, 0.2), ("f", "", "mean ST"): (0.5, 0.6)}
    (found,) = interval_changes(old, new)
    assert (found.figure, found.values, found.old_intervals, found.new_intervals) == ("SD", 2, 1, 2)
    assert (found.old_width, found.new_width) == pytest.approx((0.1, 0.3))
    assert (found.old_clear, found.new_clear) == (0, 1)


def test_what_cannot_be_scored_is_told_and_the_rest_goes_on(aged: Filled) -> None:
    damaged, missing = sorted(entry.id for entry in aged.entries.values())[:2]
    (aged.store.root / "entries" / damaged / "card.json").write_text("{")
    (aged.store.root / "entries" / missing / "predictions.parquet").unlink()
    found = rescore(aged.store, [aged.folder])
    assert set(found.failed) == {damaged, missing}
    assert "damaged" in found.failed[damaged]
    assert len(found.scored) == 3
    none = rescore(aged.store, [])
    assert len(none.failed) == 5
    assert none.changes == {}


def test_withdrawn_entries_are_left_alone(aged: Filled) -> None:
    gone = aged.entries["poor"]
    aged.store.withdraw(gone.id, gone.submitter)
    found = rescore(aged.store, [aged.folder])
    assert gone.id not in (*found.scored, *found.failed)
    assert list(found.changes.values()) == [()]


def test_the_command_prints_who_moved(aged: Filled, tmp_path: Path) -> None:
    out = tmp_path / "rescored.json"
    where = ["--store", str(aged.store.root), "--data", str(aged.folder.path)]
    result = CliRunner().invoke(app, ["rescore", *where, "--json", str(out)])
    assert result.exit_code == 0, result.output
    assert "5 scored, 0 kept, 0 failed" in result.output
    poor = next(line for line in result.output.splitlines() if "Poor model" in line)
    assert poor.split()[2:] == [
        aged.entries["poor"].id,
        "1",
        "->",
        "4",
        "99.00",
        "->",
        f"{100 * values(aged, 'poor'):.2f}",
    ]
    read = json.loads(out.read_text())
    (changes,) = read["changes"].values()
    assert (read["against"], len(changes)) == ("2", 4)
    shutil.rmtree(aged.store.root / "scores" / "2")
    result = CliRunner().invoke(app, ["rescore", *where])
    assert "0 scored, 5 kept, 0 failed\n" in result.output


@pytest.mark.usefixtures("basic_uploads")
def test_scores_of_a_repository_are_sent_there(sender: Sender, tmp_path: Path) -> None:
    with running_hub(tmp_path / "hub") as hub:
        repository = hub.stored.create("org/entries", private=True)
        api = HfApi(endpoint=hub.url, token=WRITE)
        store = open_store("hf://datasets/org/entries", cache=tmp_path / "a", api=api)
        ids = sorted(sender.send(store, name, "ada")[0].id for name in "abc")
        files = dict(repository.commit("main").files)
        for identity in ids:
            old = json.loads(hub.stored.read("org/entries", f"scores/{METRIC_VERSION}/{identity}.json"))
            files[f"scores/2/{identity}.json"] = hub.stored.store(json.dumps(old).encode(), lfs=False)
        kept = {path: file for path, file in files.items() if f"scores/{METRIC_VERSION}/{ids[0]}" not in path}
        repository.add("main", "by hand", kept)
        fresh = open_store("hf://datasets/org/entries", cache=tmp_path / "b", api=api)
        found = rescore(fresh, [sender.folder])
        assert (found.scored, found.kept, found.against) == ((ids[0],), tuple(ids[1:]), "2")
        assert list(found.changes.values()) == [()]
        assert [commit.title for commit in repository.history()[:2]] == ["Log", "Scores"]
        forecasts = {f"scores/{METRIC_VERSION}/{identity}.forecasts.json" for identity in ids}
        assert found.forecast == (*ids[1:], ids[0])
        assert repository.commit("main").files.keys() == files.keys() | forecasts
        n_commits = len(repository.history())
        rescore(fresh, [sender.folder])
        assert len(repository.history()) == n_commits
