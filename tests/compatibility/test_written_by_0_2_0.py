"""What version 0.2.0 (commit 0a6bf6d) wrote opens, serves, scores, rescores and goes on as before.

``written_by_0_2_0/README.md`` lists the files and the commands that made them. Figures of the metric version that wrote
them agree within ``TOLERANCE``; a later metric version may move intervals, but no point figure. Keys may be added to
what is written as JSON; none of those there were may go.
"""

import csv
import io
import json
import math
import re
import shutil
import tarfile
import time
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import huggingface_hub
import polars as pl
import pytest
from typer.testing import CliRunner

from shiftbench.baselines.grid import plan, trial
from shiftbench.baselines.grid.trial import EndedTrial, Trial
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli.command import app
from shiftbench.leaderboard.app.server import serve
from shiftbench.leaderboard.app.space import SpaceConfig, new_board, publish_space, space_files
from shiftbench.leaderboard.board import Index, find_board, index_cache
from shiftbench.leaderboard.pages.board_data import board_rows
from shiftbench.leaderboard.release import close_round
from shiftbench.leaderboard.release.releases import closed_rounds
from shiftbench.leaderboard.store import Store
from shiftbench.scoring.scores.score import score_predictions
from shiftbench.scoring.scores.shape import METRIC_VERSION
from shiftbench.validation.cards import card_path, read_card
from shiftbench.validation.report import InvalidInput

FILES = Path(__file__).parent / "written_by_0_2_0" / "files.tar.xz"
TOLERANCE = 1e-9
"""Largest difference of a figure, as a fraction: sums may be added in another order."""
WRITTEN_METRIC_VERSION = "6"
WRITTEN_CACHE = (6, WRITTEN_METRIC_VERSION)
POINTS = ("st", "ss", "tt", "sd", "td")
ENTRY, WITHDRAWN = "250160b3490e09cc", "aaef1d43432b552e"
KINDS = "61f0dadc7ccb4e35"
NLI = "dr/nli@b1d2570b"
FILES_OF_SCORES = f"store/scores/{WRITTEN_METRIC_VERSION}"


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(FILES) as files:
        files.extractall(folder, filter="data")
    return folder


@pytest.fixture
def written(unpacked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy, because a store and a grid are written to; and the folder that commands are typed in."""
    written = Path(shutil.copytree(unpacked, tmp_path / "written"))
    monkeypatch.chdir(written)
    return written


def run(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result.output


def read(path: str | Path) -> Any:
    return json.loads(Path(path).read_text())


def assert_same(then: Any, now: Any, place: str = "") -> None:
    """Check that all that there was is there, with figures that agree; what is new is not looked at."""
    if isinstance(then, dict):
        assert isinstance(now, dict), place
        assert then.keys() <= now.keys(), (place, then.keys() - now.keys())
        for key in then.keys() - {"package"}:  # the version that writes
            assert_same(then[key], now[key], f"{place}/{key}")
    elif isinstance(then, list):
        assert len(then) == len(now), place
        for at, (before, after) in enumerate(zip(then, now, strict=True)):
            assert_same(before, after, f"{place}/{at}")
    elif isinstance(then, float):
        both_nan = isinstance(now, float) and math.isnan(then) and math.isnan(now)
        assert both_nan or math.isclose(then, now, rel_tol=0, abs_tol=TOLERANCE), (place, then, now)
    else:
        assert then == now, place


def assert_same_scores(then: Any, now: Any) -> None:
    """Check scores: all of them, or their point figures where the metrics have a later version."""
    assert now["metric_version"] == METRIC_VERSION
    if METRIC_VERSION == WRITTEN_METRIC_VERSION:
        assert_same(then, now)
    for before, after in zip(then["tasks"], now["tasks"], strict=True):
        for shift, other in zip(before["shifts"], after["shifts"], strict=True):
            for name in POINTS:
                assert_same(shift[name]["value"], other[name]["value"], f"{before['task']}/{name}")


def assert_same_csv(then: str, now: str) -> None:
    """Check tables: all of them, or all but the ends of intervals where the metrics have a later version."""
    before, after = (list(csv.DictReader(io.StringIO(text))) for text in (then, now))
    if METRIC_VERSION != WRITTEN_METRIC_VERSION:
        before = [{name: text for name, text in row.items() if not name.endswith(("low", "high"))} for row in before]
        before = [row | {"metric_version": METRIC_VERSION} if "metric_version" in row else row for row in before]
    assert_same(list(map(as_figures, before)), list(map(as_figures, after)))


def as_figures(row: dict[str, str]) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for name, cell in row.items():
        try:
            figures[name] = float(cell)
        except ValueError:
            figures[name] = cell
    return figures


def open_folders(*places: str) -> list[DatasetFolder]:
    return [DatasetFolder.open(Path(place)) for place in places]


def settled_index(*places: str, store: str = "store") -> Index:
    index = Index(open_folders(*places), Store(Path(store)))
    assert index.settle()
    return index


@pytest.mark.parametrize(
    ("place", "content"),
    [
        ("data", "b1d2570bda23"),
        ("kinds", "50a369da6f52"),
        ("held/gold", "28389d5c974a"),
        ("held/public", "28389d5c974a"),
    ],
)
def test_dataset_folders_open_and_are_sound(written: Path, place: str, content: str) -> None:
    (folder,) = open_folders(place)
    folder.check()
    assert folder.content_hash.startswith(content)


def test_every_kind_of_task_has_its_splits_subsets_depths_and_placebo(written: Path) -> None:
    data, kinds = open_folders("data", "kinds")
    assert {name: str(task.kind) for name, task in (data.manifest.tasks | kinds.manifest.tasks).items()} == {
        **{"nli": "classification", "nli.placebo": "classification", "ab": "tagging"},
        **{"qa": "extractive_qa", "qa_imbalanced": "extractive_qa", "qg": "generation"},
    }
    for folder in (data, kinds):
        assert all(len(folder.test(task)) for task in folder.manifest.tasks)
    assert len(data.subset("nli", "fewshot")) == len(data.test("nli")) == 90
    # The source's 60 train rows, then the target's 30 test rows and 60 train rows.
    assert len(data.depth("nli", "fiction", "travel")) == 150


def test_the_public_folder_withholds_what_gold_has(written: Path) -> None:
    public, gold = open_folders("held/public", "held/gold")
    assert public.content_hash == gold.content_hash
    assert public.manifest.withholds_labels
    assert not gold.manifest.withholds_labels
    assert public.test("tickets")["label"].is_null().all()
    assert gold.test("tickets")["label"].null_count() == 0


def test_upstream_files_build_the_same_rows(written: Path) -> None:
    run("build", "dr", "--raw", "raw/nli", "--partial", "--encoder", "none", "--out", "again")
    files = sorted(path.relative_to("data") for path in Path("data/data").rglob("*.parquet"))
    assert len(files) == 18
    for file in files:
        assert Path("again", file).read_bytes() == Path("data", file).read_bytes(), file
    again, data = (DatasetFolder.open(Path(place)) for place in ("again", "data"))
    assert again.content_hash == data.content_hash
    assert read("data/shiftbench.json").keys() <= read("again/shiftbench.json").keys()


@pytest.mark.parametrize(
    ("file", "data", "words"),
    [
        *(("entry.parquet", "data", ()), ("majority.csv", "data", ()), ("few.jsonl", "data", ("--subset", "fewshot"))),
        *(("kinds.csv", "kinds", ()), ("held.parquet", "held/public", ())),
    ],
)
def test_prediction_files_and_cards_are_sound(written: Path, file: str, data: str, words: tuple[str, ...]) -> None:
    run("validate", file, "--data", data, "--card", Path(file).with_suffix(".card.yaml"), *words)


def test_a_prediction_file_has_the_same_scores(written: Path) -> None:
    run("score", "entry.parquet", "--data", "data", "--json", "again.json")
    assert_same_scores(read("scores.json"), read("again.json"))


def test_a_gate_decides_the_same(written: Path) -> None:
    limits = ("--trained-on", "fiction", "--max-drop", 5, "--min-score", 20)
    run("gate", "entry.parquet", "--data", "data", "--task", "nli", *limits, "--json", "again.json")
    then, now = read("gate.json"), read("again.json")
    if METRIC_VERSION == WRITTEN_METRIC_VERSION:
        assert_same(then, now)
    kept = ("limit", "domain", "bound", "value", "outcome")
    assert_same(*([{name: each[name] for name in kept} for each in found["verdicts"]] for found in (then, now)))


def test_drawn_texts_are_scored_the_same(written: Path) -> None:
    words = ("--data", "unlabelled.csv", "--id-column", "id", "--sampled", "drawn.csv")
    run("score", "preds.jsonl", *words, "--json", "again.json")
    assert_same(read("sampled.json"), read("again.json"))


def test_claims_hold(written: Path) -> None:
    run("verify", "claim.json")
    run("verify", "claim_of_entries.json", "--data", "data", "--store", "store")


def test_what_has_no_settings_hash_fits_a_folder_that_has_one(written: Path) -> None:
    not_recorded = "settings not compared"
    assert not_recorded in run("validate", "data")
    run("build", "dr", "--raw", "raw/nli", "--partial", "--encoder", "none", "--out", "again")
    assert f"entry.card.yaml: {not_recorded}" in run(
        "validate", "entry.parquet", "--data", "again", "--card", "entry.card.yaml"
    )
    assert not_recorded in run("verify", "claim_of_entries.json", "--data", "data", "--store", "store")
    (again,) = open_folders("again")
    assert again.version.settings is not None
    store = Store(Path("store"))
    scores = store.score_again(store.entry(ENTRY), again)
    assert (scores.data, scores.settings) == again.version


def test_comparing_again_makes_the_same_claim(written: Path) -> None:
    run("compare", "entry.parquet", "majority.csv", "--data", "data", "--json", "again.json")
    then, now = read("claim.json"), read("again.json")
    if METRIC_VERSION == WRITTEN_METRIC_VERSION:
        assert_same(then, now)
    (before,), (after,) = then["comparisons"], now["comparisons"]
    for key in ("means", "shifts"):
        assert_same(*([_differences(each) for each in found[key]] for found in (before, after)))


def _differences(part: dict[str, Any]) -> dict[str, float]:
    found = part["differences"] if "differences" in part else [part["difference"]]
    return {each["figure"]: each["value"] for each in found}


def test_the_grid_goes_on_without_running_a_trial(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = sorted(Path("results/runs").rglob("trial.json"))
    trials = [Trial.read(record) for record in records]
    assert len(trials) == 7
    assert [trial.folder for trial in trials] == [record.parent.relative_to("results/runs") for record in records]
    # As if the libraries that compute still had the versions of then: with others, trials are others.
    monkeypatch.setattr(plan, "installed_versions", lambda program, options: trials[0].versions)

    def refuse(waiting: Sequence[Trial], *_: object, **__: object) -> Iterator[EndedTrial]:
        assert not waiting
        yield from ()

    monkeypatch.setattr(trial, "run_local", refuse)
    before = {path: path.stat().st_mtime_ns for path in Path("results/runs").rglob("*")}
    files = [Path("results/nli", name) for name in ("majority.parquet", "tfidf.parquet", "tfidf.validation.parquet")]
    then = {file: (file.read_bytes(), read_card(card_path(file))) for file in files}
    for words in (("--collect",), ()):
        shutil.rmtree("results/nli")
        run("grid", "grid.toml", *words)
        for file, (predictions, card) in then.items():
            assert file.read_bytes() == predictions
            # What is typed now is another command.
            assert read_card(card_path(file)).model_copy(update={"command": card.command}) == card
    trial_files = {path: mtime for path, mtime in before.items() if path.is_file()}
    assert {path: path.stat().st_mtime_ns for path in trial_files} == trial_files


def test_the_store_opens_with_its_entries(written: Path) -> None:
    store = Store(Path("store"))
    assert {entry.card.name for entry in store.entries()} == {"TF-IDF + LR", "Majority", "kinds"}
    assert len(store.ids()) == 4
    assert store.validation(store.entry(ENTRY)) is not None
    assert store.withdrawn_at(WITHDRAWN) is not None
    with pytest.raises(InvalidInput, match="withdrawn"):
        store.entry(WITHDRAWN)


def test_every_board_has_the_same_rows(written: Path) -> None:
    then, index = read("served.json"), settled_index("data", "kinds")
    assert list(then["rows"]) == [board.name for board in index.boards()]
    for name, rows in then["rows"].items():
        now = [row for row in board_rows(index, find_board(name, index.boards())) if row["reported"] is None]
        if METRIC_VERSION == WRITTEN_METRIC_VERSION:
            assert_same(rows, now)
        for before, after in zip(rows, now, strict=True):
            if before["mean_st"] is not None:
                # A board of generated text is scored by a network, in single precision.
                assert after["mean_st"]["value"] == pytest.approx(before["mean_st"]["value"], abs=1e-6)
    assert_same_scores(then["scores"], index.scores(ENTRY).model_dump(mode="json"))


def test_the_index_cache_has_the_rows_that_are_read_without_it(written: Path) -> None:
    shutil.copytree("store", "uncached")
    shutil.rmtree(f"uncached/scores/{WRITTEN_METRIC_VERSION}/index")
    if (index_cache.ROWS_VERSION, METRIC_VERSION) == WRITTEN_CACHE:
        for file in [*Path("store/entries").rglob("*.parquet"), *Path("store/scores").glob("*/*.*")]:
            file.unlink()  # so that the cache alone has rows
    cached, read_again = (settled_index("data", "kinds", store=store) for store in ("store", "uncached"))
    assert cached.scored_ids() == read_again.scored_ids() == set(cached.store.ids())
    for board, again in zip(cached.boards(), read_again.boards(), strict=True):
        assert_same(cached.frame(board).to_dicts(), read_again.frame(again).to_dicts(), board.name)


def test_the_store_is_scored_again(written: Path, unpacked: Path) -> None:
    shutil.rmtree(f"store/entries/{KINDS}")
    run("rescore", "--store", "store", "--data", "data", "--all")
    store, (folder,) = Store(Path("store")), open_folders("data")
    assert len(store.entries()) == 3
    for entry in store.entries():
        then = read(unpacked / FILES_OF_SCORES / f"{entry.id}.json")
        assert_same_scores(then, store.scores(entry, folder).model_dump(mode="json"))


def test_tags_and_answers_are_scored_again(written: Path) -> None:
    store, (folder,) = Store(Path("store")), open_folders("kinds")
    # Without an encoder, which takes long to load, written texts have no score.
    now = score_predictions(store.checked_rows(KINDS, folder), folder, encoder=None).scores.model_dump(mode="json")
    then = read(f"{FILES_OF_SCORES}/{KINDS}.json")
    for scores in (then, now):
        scores["tasks"] = [task for task in scores["tasks"] if task["task"] != "qg"]
        assert [task["task"] for task in scores["tasks"]] == ["ab", "qa"]
    then |= {name: now[name] for name in ("token_encoder", "missing")}
    assert_same_scores(then, now)


def test_an_archive_fills_a_store_that_scores_the_same(written: Path) -> None:
    run("rescore", "--from-archive", "archive", "--store", "filled", "--data", "data")
    store, (folder,) = Store(Path("filled")), open_folders("data")
    (entry,) = store.entries()
    assert entry.card.name == "TF-IDF + LR"
    assert entry.has_validation
    assert_same_scores(read("scores.json"), store.scores(entry, folder).model_dump(mode="json"))


def test_archives_and_shared_files_are_written_as_before(written: Path) -> None:
    run("archive", "--store", "store", "--data", "data", "--data", "kinds", "--out", "again")
    for table in sorted(Path("archive").rglob("*.parquet")):
        then, now = (pl.read_parquet(path) for path in (table, Path("again", table.relative_to("archive"))))
        assert then.schema.items() <= now.schema.items(), table
        assert len(then) == len(now), table
    hub = ("--dataset", "acme/robustness", "--model", "acme/tfidf")
    for form, words in {"csv": (), "eval-results": hub}.items():
        run("share", ENTRY, "--store", "store", "--data", "data", "--to", form, *words, "--out", f"shared/{form}")
    results = ".eval_results/robustness.yaml"
    assert_same_csv(Path("share/csv/scores.csv").read_text(), Path("shared/csv/scores.csv").read_text())
    then, now = (Path(place, results).read_text() for place in ("share/eval-results", "shared/eval-results"))
    if METRIC_VERSION == WRITTEN_METRIC_VERSION:
        assert then == now
    assert re.findall(r" value: .*", then) == re.findall(r" value: .*", now) != []


def test_the_round_stays_as_released(written: Path) -> None:
    store, then = Store(Path("secret")), read("round.json")
    assert [closed.model_dump(mode="json") for closed in closed_rounds(store)] == [then]
    index = settled_index("held/gold", store="secret")
    (board,) = index.boards()
    (row,) = index.frame(board).iter_rows(named=True)
    (released,) = then["boards"][0]["entries"]
    assert (row["id"], row["rank"], row["round"]) == (released["entry"], released["place"], then["name"])
    assert_same(released["mean"], row["mean_st"])
    assert len(store.records("look-")) == len(store.records("nomination-")) == 1
    (later,) = close_round(store, index.folders, date(2027, 2, 1)).boards
    # Later rounds release no figures; the record of this one stays, and its figures count as answers on its labels.
    assert [(each.entry, each.place, each.targets) for each in later.entries] == [(released["entry"], 1, None)]
    assert closed_rounds(store)[0].model_dump(mode="json") == then
    assert closed_rounds(store)[0].boards[0].answers == len(released["targets"])


def answered(address: str) -> Any:
    """Open an address, once entries of an earlier metric version have been scored again."""
    for _ in range(60):
        try:
            return urlopen(address, timeout=60)
        except HTTPError as error:
            if b"being computed" not in error.read():
                raise
            time.sleep(1)
    raise TimeoutError(address)


def test_the_server_answers_at_the_same_addresses(written: Path) -> None:
    then = read("served.json")
    server = serve(open_folders("data", "kinds"), Store(Path("store")), port=0, block=False)
    try:
        for entry in Store(Path("store")).entries():
            answered(f"{server.url}/scores.json?id={entry.id}").close()
        answers = {}
        for address, kind in then["addresses"].items():
            with answered(f"{server.url}{address}") as answer:
                assert answer.headers["content-type"] == kind, address
                answers[address] = answer.read().decode(errors="replace")
    finally:
        server.close()
    assert set(then["endpoints"]) <= set(json.loads(answers["/gradio_api/info"])["named_endpoints"])
    assert "TF-IDF + LR" in answers[f"/?board={NLI}"]
    now = json.loads(answers[f"/forecast.json?board={NLI}"])
    for before, after in zip(then["forecasts"]["boards"], now["boards"], strict=True):
        # Methods went, and the mean drop is of the model's own source since; the source's score is what it was.
        (old,), (new,) = (
            [each for each in board.pop("standings") if each["method"] == "source-accuracy"]
            for board in (before, after)
        )
        assert old.keys() <= new.keys()
        assert_same({name: old[name] for name in ("n_models", "error", "bias")}, new)
    for found in (then["forecasts"], now):  # sentences may be worded differently; what they count is as before
        assert found.pop("concept_shift")
        found["left_out"] = [words.split(":")[0] for words in found["left_out"]]
    assert_same(then["forecasts"], now)
    if METRIC_VERSION == WRITTEN_METRIC_VERSION:
        assert_same_csv(Path("board.csv").read_text(), answers[f"/board.csv?board={NLI}"])
        assert_same_csv(Path("overall.csv").read_text(), answers["/overall.csv"])


def test_updating_a_space_leaves_none_of_its_old_files(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {*read("space.json")["files"], ".gitattributes"}

    class Hub:
        """A Hub with the Space as it was."""

        def create_repo(self, name: str, **_: object) -> str:
            return f"https://huggingface.co/spaces/{name}"

        def list_repo_files(self, *_: object, **__: object) -> list[str]:
            return sorted(files)

        def create_commit(self, _: str, operations: list[Any], **__: object) -> None:
            for operation in operations:
                added = isinstance(operation, huggingface_hub.CommitOperationAdd)
                (files.add if added else files.remove)(operation.path_in_repo)

    monkeypatch.setattr(huggingface_hub, "HfApi", Hub)
    config = SpaceConfig(new_board(["acme/data"], "acme/entries"))
    publish_space("acme/board", config)
    assert files == {*space_files(config), ".gitattributes"}
