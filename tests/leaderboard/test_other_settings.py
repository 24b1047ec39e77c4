"""Predictions, scores, claims and stores made with other settings of the same rows are refused, or said, everywhere."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import pytest

from shiftbench.baselines.program import make_card
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.checking.forecast_entries import read_store
from shiftbench.leaderboard.app.client import built_here
from shiftbench.leaderboard.archive.open_archive import fill_store
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.board.analysed import read_entries
from shiftbench.leaderboard.board.boards import boards_of
from shiftbench.leaderboard.store import Entry, Store
from shiftbench.leaderboard.store.entries import read_table
from shiftbench.leaderboard.store.rescore import rescore
from shiftbench.leaderboard.store.store import current_versions
from shiftbench.scoring.comparing.entries import ComparedEntry, compare_with_first
from shiftbench.scoring.scores.score import score_file
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.cards import card_path, write_card
from shiftbench.validation.report import InvalidInput
from tests.command_line import run
from tests.leaderboard.conftest import predict
from tests.own_settings import build_rows, own_rows

OTHERS = ("tens", "many")
REFUSED = "the predictions were made for the same data with different settings"


@dataclass(frozen=True)
class Made:
    """Folders of the same rows, and what was made with the first of them: files, scores, a claim, a store."""

    root: Path
    folder: DatasetFolder
    others: dict[str, DatasetFolder]
    store: Store
    entries: list[Entry]

    @property
    def files(self) -> list[Path]:
        return [self.root / "good.parquet", self.root / "poor.parquet"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    root = tmp_path_factory.mktemp("settings")
    folder = build_rows(root / "single", own_rows(), min_texts=5)
    others = {
        "tens": build_rows(root / "tens", own_rows(10), min_texts=5),
        "many": build_rows(root / "many", own_rows(), min_texts=1000),
    }
    store, entries = Store(root / "store"), []
    for name, errors in (("good", 0.05), ("poor", 0.3)):
        file = root / f"{name}.parquet"
        predict(folder, ["fans", "lamps"], errors, "reviews").write_parquet(file)
        card = make_card(folder, name=name, paradigm="fine-tuned", share_predictions=True)
        write_card(card, card_path(file))
        entries.append(store.submit(file, card, [folder])[0])
    return Made(root, folder, others, store, entries)


@pytest.fixture(params=OTHERS)
def other(made: Made, request: pytest.FixtureRequest) -> DatasetFolder:
    return made.others[request.param]


def test_the_same_rows_have_other_scores(made: Made, other: DatasetFolder) -> None:
    assert other.content_hash == made.folder.content_hash
    here, there = (score_file(made.files[1], folder) for folder in (made.folder, other))
    assert here.tasks != there.tasks
    assert (here.version, there.version) == (made.folder.version, other.version)


def test_a_store_refuses_them(made: Made, other: DatasetFolder, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as refused:
        Store(tmp_path).submit(made.files[0], made.entries[0].card, [other])
    (problem,) = refused.value.problems
    assert str(problem) == (
        f"card, column 'settings': {REFUSED}; found {made.folder.version}; available here: own {other.version}; "
        "predict on one of these, or build it again with the same settings: kind, groups, --min-texts, subsets, pairing"
    )
    assert Store(tmp_path).submit(made.files[0], made.entries[0].card, [other, made.folder])[1]


def test_commands_refuse_them(made: Made, other: DatasetFolder, tmp_path: Path) -> None:
    file, data = made.files[0], ("--data", other.path)
    share = ("board", "share", file, *data, "--to", "csv", "--out", tmp_path / "shared")
    for command in (
        ("data", "validate", file, *data, "--card", card_path(file)),
        ("submit", file, "--card", card_path(file), "--to", tmp_path / "store", *data),
        share,
    ):
        done = run(*command)
        assert done.returncode == 1
        assert REFUSED in " ".join(done.stderr.split()), command
    assert not list(tmp_path.iterdir())


def test_scores_of_other_settings_are_not_shared(made: Made, other: DatasetFolder, tmp_path: Path) -> None:
    scores = tmp_path / "scores.json"
    scores.write_text(score_file(made.files[0], other).model_dump_json())
    write_card(made.entries[0].card, card_path(scores))
    done = run("board", "share", scores, "--data", made.folder.path, "--to", "csv", "--out", tmp_path / "shared")
    assert done.returncode == 1
    words = f"the scores are for another version of the data, with different settings; found {other.version}, not"
    assert words in " ".join(done.stderr.split())


def test_a_claim_about_other_settings_is_refused(made: Made, other: DatasetFolder, tmp_path: Path) -> None:
    claim = made.root / "claim.json"
    done = run("compare", *made.files, "--data", made.folder.path, "--json", claim)
    assert done.returncode == 0, done.stderr
    assert json.loads(claim.read_text())["comparisons"][0]["settings"] == made.folder.version.settings
    done = run("study", "verify", claim, "--data", other.path)
    assert done.returncode == 1
    assert "the claim refers to different settings of the data" in done.stderr
    assert f"give the dataset of {made.folder.version}" in " ".join(done.stderr.split())
    held = run("study", "verify", claim, "--data", made.folder.path)
    assert held.returncode == 0, held.stdout
    assert "settings not compared" not in held.stdout


def test_a_claim_without_settings_opens_and_says_so(made: Made, tmp_path: Path) -> None:
    claim = made.root / "old.json"
    assert run("compare", *made.files, "--data", made.folder.path, "--json", claim).returncode == 0
    content = json.loads(claim.read_text())
    del content["comparisons"][0]["settings"]
    claim.write_text(json.dumps(content))
    done = run("study", "verify", claim, "--data", made.folder.path)
    assert done.returncode == 0, done.stderr
    assert "The claim: settings not compared" in done.stdout


def test_entries_of_a_store_are_compared_on_their_settings_alone(
    made: Made, other: DatasetFolder, tmp_path: Path
) -> None:
    sides = [
        ComparedEntry(each.id, each.card.name, made.store.predictions(each), each.card.version, "all")
        for each in made.entries
    ]
    with pytest.raises(InvalidInput, match="the dataset of these entries is not available"):
        compare_with_first(sides, other, made.store)
    (first,) = compare_with_first(sides, made.folder, made.store)
    assert first.version == made.folder.version
    # A stored comparison of other settings is made again for entries that record none.
    old = [replace(side, version=side.version._replace(settings=None)) for side in sides]
    (again,) = compare_with_first(old, other, made.store)
    assert again.version == other.version


@pytest.mark.parametrize(
    "read",
    [
        lambda store, folder: read_entries([], store, [folder]),
        lambda store, folder: read_store(store, [folder])[1],
    ],
)
def test_studies_leave_them_out_with_the_reason(
    made: Made, other: DatasetFolder, read: Callable[[Store, DatasetFolder], object]
) -> None:
    try:
        found = str(read(made.store, other))
    except InvalidInput as error:
        found = str(error)
    assert "for other data" in found
    with pytest.raises(InvalidInput, match=REFUSED):
        read_entries(made.files, None, [other])


def test_a_board_shows_them_as_unscored(made: Made, other: DatasetFolder) -> None:
    index = Index([other], made.store)
    assert index.settle()
    assert index.frame(index.boards()[0]).is_empty()
    assert rescore(made.store, [other]).failed.keys() == {entry.id for entry in made.entries}
    right = Index([made.folder], made.store)
    assert right.settle()
    assert len(right.frame(right.boards()[0])) == 2


def test_an_archive_does_not_fill_a_store_of_other_settings(made: Made, other: DatasetFolder, tmp_path: Path) -> None:
    done = run("archive", "--store", made.store.root, "--data", made.folder.path, "--out", tmp_path / "archive")
    assert done.returncode == 0, done.stderr
    named = pl.read_parquet(tmp_path / "archive" / "entries.parquet")["settings"].unique().to_list()
    assert named == [made.folder.version.settings]
    filled, failed = fill_store(Store(tmp_path / "other"), tmp_path / "archive", [other])
    assert filled == 0
    assert all(REFUSED in reason for reason in failed.values())
    assert fill_store(Store(tmp_path / "same"), tmp_path / "archive", [made.folder]) == (2, {})


def test_scores_of_entries_without_settings_follow_the_folder(made: Made, other: DatasetFolder, tmp_path: Path) -> None:
    """A card from before settings hashes fits any settings; its stored scores fit those that they were made with."""
    store, card = Store(tmp_path), made.entries[1].card.model_copy(update={"settings": None})
    entry, _ = store.submit(made.files[1], card, [made.folder])
    first = store.scores(entry, made.folder)
    assert store.stored_scores(entry, made.folder) == first
    assert store.stored_scores(entry, other) is None
    table = store.entry_files(entry.id).table.read_bytes()
    assert read_table(table, current_versions(made.folder)) is not None
    assert read_table(table, current_versions(other)) is None
    assert store.scores(entry, other).version == other.version
    assert len(rescore(store, [made.folder]).scored) == 1


def test_stored_scores_without_settings_open_as_before(made: Made, tmp_path: Path) -> None:
    store = Store(tmp_path)
    entry, _ = store.submit(made.files[0], made.entries[0].card, [made.folder])
    file = store.entry_files(entry.id).scores
    old = Scores.model_validate_json(file.read_bytes()).model_copy(update={"settings": None})
    file.write_text(old.model_dump_json())
    assert store.stored_scores(entry, made.folder) == old


def test_two_settings_of_the_same_rows_are_not_served_together(made: Made, other: DatasetFolder) -> None:
    for both in (lambda: boards_of([made.folder, other]), lambda: Index([made.folder, other], made.store)):
        with pytest.raises(InvalidInput, match="two datasets have the same rows but different settings"):
            both()


def test_a_card_leads_to_the_folder_of_its_settings(made: Made) -> None:
    for folder in (made.folder, *made.others.values()):
        assert built_here(make_card(folder, name="x", paradigm="other")).path == folder.path


def test_a_folder_and_a_card_without_settings_say_so_when_checked(made: Made, tmp_path: Path) -> None:
    manifest = made.folder.path / "shiftbench.json"
    before = manifest.read_text()
    content = json.loads(before)
    try:
        manifest.write_text(json.dumps({**content, "settings_hash": None}))
        done = run("data", "validate", made.folder.path)
        assert done.returncode == 0
        assert f"content {made.folder.content_hash[:12]}; settings not compared" in done.stderr
        # Its predictions are scored, and sent to a store of any settings.
        assert Store(tmp_path).submit(made.files[0], made.entries[0].card, [DatasetFolder.open(made.folder.path)])[1]
    finally:
        manifest.write_text(before)
    card = tmp_path / "old.card.yaml"
    write_card(made.entries[0].card.model_copy(update={"settings": None}), card)
    done = run("data", "validate", made.files[0], "--data", made.folder.path, "--card", card)
    assert done.returncode == 0
    assert "settings not compared" in done.stderr
