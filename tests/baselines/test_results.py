"""What pages say of the reference results is what the kept scores say."""

import json
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from shiftbench.baselines import majority
from shiftbench.baselines.grid.stored import Result, StoredTrials, read_results
from shiftbench.baselines.grid.trial import Trial
from shiftbench.baselines.results.raw_files import raw_files
from shiftbench.builders.building.build import build, choose_tasks
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.score import score_file
from shiftbench.scoring.scores.shape import METRIC_VERSION

RESULTS = Path(__file__).parents[2] / "baselines/results"
BOARDS = sorted(file.parent for file in RESULTS.glob("*/records.jsonl"))
README, RAW = ((RESULTS / name).read_text(encoding="utf-8") for name in ("README.md", "RAW.md"))
PAGE = " ".join((RESULTS.parents[1] / "docs/benchmark/results.md").read_text(encoding="utf-8").split())


@cache
def results() -> dict[str, Result]:
    """Read all results, by board and name."""
    return {f"{board.name}/{name}": result for board in BOARDS for name, result in read_results(board).items()}


def test_results_are_as_many_as_the_page_says() -> None:
    assert PAGE.startswith(f"# Reference results {len(results())} results on freely available upstream rows")
    for card, content in results().values():
        assert card.data == content["data"]
        assert card.command is not None


def test_results_without_kept_predictions_are_named_with_their_metric_version() -> None:
    versions: dict[str, list[str]] = {}
    for full_name, result in results().items():
        versions.setdefault(result.scores["metric_version"], []).append(full_name)
    assert set(versions) == {"6", METRIC_VERSION}
    first, second, last = (f"`{name}`" for name in sorted(versions["6"]))
    text = " ".join(README.split())
    assert f"{first}, {second} and {last} have version 6" in text


def test_the_floor_is_named_beside_models_that_do_not_reach_it() -> None:
    """The page says in figures why nothing is concluded on boss/nli; new results make it say otherwise."""
    names = read_results(RESULTS / "boss-nli")
    assert all(result.is_at_floor for result in names.values())
    means = {name: _point(_kept_tasks(f"boss-nli/{name}")[0]["id_ood"]["mean_ood"]) for name in names}
    floors = {name: means.pop(name) for name in ("majority", "neutral")}
    assert max(means.values()) < min(floors.values())
    assert f"mean OOD score, {means['minilm']:.1f}, is below those of" in PAGE
    assert f"`majority`, {floors['majority']:.1f}, and `neutral`, {floors['neutral']:.1f}" in PAGE


def test_figures_in_sentences_are_those_of_the_scores() -> None:
    ner, aspects, genres = (_kept_tasks(name)[0] for name in ("boss-ner/minilm", "dr-ab/minilm", "dr-nli/minilm"))
    wnut, filings = (_shift(ner, "few_nerd", target) for target in ("wnut", "e_ner"))
    total = ner["id_ood"]["total"]
    both = f"{_points(filings['sd'])} on E-NER and {_points(wnut['sd'])} on WNUT".replace(" [", " points [", 1)
    assert f"MiniLM loses {both}**, {_points(ner['id_ood']['drop']).split()[0]} {_interval(total['drop'])}" in PAGE
    assert min(filings["sd"]["low"], wnut["sd"]["low"], total["drop"]["low"]) > 0
    assert len(aspects["shifts"]) == 20
    for one in aspects["shifts"]:
        assert min(one["sd"]["low"], one["td"]["low"]) > 0
    drop = _points(aspects["summary"]["average_drop"]).replace(" [", " points [")
    assert f"MiniLM loses {drop} in another domain" in PAGE
    placebo = _kept_tasks("dr-nli/minilm")[1]["summary"]
    shares = {name: round(100 * genres["summary"][f"r2_idd_{name}"]) for name in ("sd", "td")}
    assert f"explains {shares['sd']}% of the variation of SD" in PAGE
    assert f"{shares['td']}% of that of TD" in PAGE
    assert f"without any shift, it is {100 * placebo['r2_idd_sd']:.0f}%" in PAGE
    runs = _interval(genres["summary"]["total"]["average_drop"])
    assert f"over training runs, too**: {_point(genres['summary']['average_drop'])} points {runs}" in PAGE


def test_drops_lie_above_those_of_random_domains() -> None:
    tasks = [_kept_tasks(f"dr-nli/{name}") for name in ("minilm", "tfidf-lr", "sbert-lr")]
    genres, dealt = ([pair[part]["summary"]["average_drop"] for pair in tasks] for part in (0, 1))
    assert all(each["low"] < 0 < each["high"] for each in dealt)
    assert min(each["low"] for each in genres) > max(each["high"] for each in dealt)


def test_trials_say_nothing_of_this_machine() -> None:
    for board in BOARDS:
        for line in (board / "records.jsonl").read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            text = json.dumps([record.get("trial"), record.get("files"), record.get("card")])
            assert " /" not in text, board
            assert "=/" not in text, board


def test_results_are_few_files_of_few_bytes() -> None:
    """What is tracked: a file that a grid or a score wrote beside them is ignored."""
    listed = subprocess.run(["git", "ls-files", RESULTS], capture_output=True, text=True, check=True, cwd=RESULTS)
    files = [RESULTS / line for line in listed.stdout.splitlines()]
    assert len(files) <= 60
    assert sum(file.stat().st_size for file in files) < 16e6


def test_every_board_has_the_files_that_its_rows_need() -> None:
    (table,) = re.findall(r"\| boards \|.*\n((?:^\|.*\|\n)+)", RAW, flags=re.M)
    lines = [line.strip("|\n ").split(" | ") for line in table.splitlines()[1:]]
    assert sorted(name.strip("`") for names, *_ in lines for name in names.split(", ")) == [
        board.name for board in BOARDS
    ]
    for _, command, files in lines:
        _, benchmark, *task = command.strip("`").split()
        domains = [domain for spec in choose_tasks(benchmark, *task or [None]) for domain in spec.domains]
        known = {file.path for domain in domains for split in domain.files.values() for file in split}
        named = {
            f"{place}{file.split(' ')[0]}" for place, listed in re.findall(r"`(\S+/)`: ([^;]+)", files)
            for file in listed.split(", ")
        }  # fmt: skip
        assert named
        assert named <= known


@pytest.mark.real
@pytest.mark.long
def test_the_table_of_files_is_that_of_the_builds(real_raw: Path, real_whole: Path, tmp_path: Path) -> None:
    for benchmark in ("dr", "boss", "df1"):
        build(benchmark, None, [real_whole, real_raw], tmp_path / benchmark, partial=True, placebo=False)
    folders = [DatasetFolder.open(tmp_path / benchmark) for benchmark in ("dr", "boss", "df1")]
    assert "\n".join(raw_files(folders)) in RAW


def test_results_are_a_dataset(tmp_path: Path) -> None:
    """The README's front matter names a configuration for each board, which the library reads as it stands."""
    from datasets import load_dataset

    head = yaml.safe_load(README.split("---\n")[1])
    packed = {board.name for board in BOARDS if (board / "predictions.parquet").is_file()}
    assert {each["config_name"]: each["data_files"] for each in head["configs"]} == {
        name: f"{name}/predictions.parquet" for name in sorted(packed)
    }
    rows = load_dataset(str(RESULTS), "dr-qa", split="train", cache_dir=str(tmp_path))
    assert rows.column_names == ["trial", "file", "source", "id", "prediction", "seed"]
    assert len(rows) == 10_926


def test_rows_and_records_of_a_board_agree() -> None:
    for board in BOARDS:
        kept, n = StoredTrials(board), 0
        for trial in kept.trials():
            for name in kept.files(trial):
                frame = kept.predictions(trial, name)
                assert frame["source"].unique().to_list() == [trial.source]
                assert frame["seed"].unique().to_list() == [trial.seed]
                assert frame["id"].is_unique().all()
                n += len(frame)
        if n:
            places = pl.scan_parquet(board / "predictions.parquet").select("trial", "file").collect()
            assert len(places) == n
            records = [json.loads(line) for line in (board / "records.jsonl").read_text(encoding="utf-8").splitlines()]
            names = [Trial.from_facts(each["trial"]).folder.as_posix() for each in records if each["record"] == "trial"]
            assert places["trial"].unique().sort().to_list() == sorted(names)


@pytest.mark.real
def test_the_rows_of_the_floor_score_as_their_predictions_do(real_raw: Path, tmp_path: Path) -> None:
    """Built, predicted and scored anew from the real rows."""
    build("boss", "nli", real_raw, tmp_path / "boss", partial=True, placebo=False)
    folder = DatasetFolder.open(tmp_path / "boss")
    majority.main("nli", folder.path, tmp_path / "majority.parquet")
    frame = pl.read_parquet(tmp_path / "majority.parquet").drop("confidence")
    frame.with_columns(prediction=pl.lit("neutral")).write_parquet(tmp_path / "neutral.parquet")
    for name in ("majority", "neutral"):
        kept = _kept_tasks(f"boss-nli/{name}")[0]["id_ood"]
        (task,) = score_file(tmp_path / f"{name}.parquet", folder).tasks
        assert task.id_ood is not None
        found = {"mean_ood": task.id_ood.mean_ood.value, "id": task.id_ood.id.value}
        assert found == {key: kept[key]["value"] for key in found}


def _kept_tasks(name: str) -> Any:
    """Read the scores that are kept of a result, by task."""
    return results()[name].scores["tasks"]


def _shift(task: Any, source: str, target: str) -> Any:
    (found,) = [each for each in task["shifts"] if (each["source"], each["target"]) == (source, target)]
    return found


def _interval(ends: Any) -> str:
    return f"[{100 * ends['low']:.1f}, {100 * ends['high']:.1f}]"


def _point(estimate: Any) -> float:
    return round(100 * float(estimate["value"]), 1)


def _points(estimate: Any) -> str:
    if estimate["value"] is None:
        return "n/a"
    value, *ends = (
        f"{round(100 * estimate[key], 1) + 0.0:.1f}" for key in ("value", "low", "high") if estimate[key] is not None
    )
    return f"{value} [{', '.join(ends)}]" if ends else f"{value} no interval"
