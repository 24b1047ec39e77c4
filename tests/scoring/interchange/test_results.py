"""Results in other tools' formats: the tools' own readers return the values that were scored."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from huggingface_hub import parse_eval_result_entries
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.interchange.eval_results import eval_results, tasks_left_out
from shiftbench.scoring.interchange.eval_yaml import benchmark_tasks
from shiftbench.scoring.interchange.every_eval_ever import every_eval_ever
from shiftbench.scoring.interchange.figures import figures_of, headlines
from shiftbench.scoring.interchange.shared_entry import COLUMNS, SharedEntry, scores_csv
from shiftbench.scoring.scores.score import checked_predictions
from shiftbench.validation.report import InvalidInput
from tests.leaderboard.conftest import Filled, predict
from tests.leaderboard.id_folder import id_predictions
from tests.refusals import refusal
from tests.scoring.interchange.conftest import schema, shared_entry

NOW = datetime(2026, 9, 1, tzinfo=UTC)


def checked(folder: DatasetFolder, frames: Sequence[pl.DataFrame], tmp_path: Path) -> pl.DataFrame:
    pl.concat(frames).write_parquet(tmp_path / "p.parquet")
    return checked_predictions(tmp_path / "p.parquet", folder)


def test_the_headline_is_mean_st_with_its_drop_and_interval_in_the_notes(
    good: SharedEntry, wording: SnapshotAssertion
) -> None:
    ((path, text),) = eval_results(replace(good, report="https://example.org/r", evaluated_at=NOW.isoformat())).items()
    assert path == ".eval_results/data.yaml"
    (entry,) = parse_eval_result_entries(yaml.safe_load(text))
    summary = good.scores.tasks[0].summary
    assert (entry.dataset_id, entry.task_id) == ("org/data", "nli")
    assert entry.value == pytest.approx(100 * summary.mean_st.value, abs=0.005)  # type: ignore[operator]
    assert entry.date == NOW.isoformat()
    assert entry.source_url == "https://example.org/r"
    assert entry.notes is not None
    for estimate in (summary.mean_st, summary.average_drop):
        assert estimate.low is not None
        assert f"{100 * estimate.low:.1f}" in entry.notes
    assert good.scores.data[:12] in entry.notes
    messages = entry.notes.partition("; synthetic data")[0]
    assert messages == wording


def test_zero_shot_models_also_have_a_value_on_each_domain(filled: Filled, tmp_path: Path) -> None:
    shared = shared_entry(filled.folder, checked(filled.folder, [predict(filled.folder, ["none"], 0.2)], tmp_path))
    (text,) = eval_results(shared).values()
    entries = {entry.task_id: entry.value for entry in parse_eval_result_entries(yaml.safe_load(text))}
    assert list(entries) == ["nli", *(f"nli.{domain}" for domain in filled.folder.task("nli").domains)]
    shifts = {f"nli.{shift.target}": shift.st.value for shift in shared.scores.tasks[0].shifts}
    assert all(entries[name] == pytest.approx(100 * value, abs=0.005) for name, value in shifts.items() if value)


def test_tasks_with_one_training_domain_share_mean_ood(id_folder: DatasetFolder, tmp_path: Path) -> None:
    frames = [id_predictions(id_folder, "sa", "amazon"), id_predictions(id_folder, "ner", "few_nerd")]
    shared = shared_entry(id_folder, checked(id_folder, frames, tmp_path))
    id_ood = shared.scores.tasks[0].id_ood
    assert id_ood is not None
    best = headlines(shared.scores)["sa"]
    assert (best.name, best.estimate) == ("mean_ood", id_ood.mean_ood)
    (text,) = eval_results(shared).values()
    values = {entry.task_id: entry for entry in parse_eval_result_entries(yaml.safe_load(text))}
    assert values["sa"].value == pytest.approx(100 * id_ood.mean_ood.value, abs=0.005)  # type: ignore[operator]
    assert "OOD" in (values["sa"].notes or "")
    assert set(values) <= {"sa", *(f"sa.{domain}" for domain in id_folder.task("sa").domains)}
    assert tasks_left_out(shared) == ["ner"]
    assert set(benchmark_tasks(id_folder.manifest)) == {"sa", "nli"}
    only_ner = shared_entry(id_folder, checked(id_folder, frames[1:], tmp_path))
    with pytest.raises(InvalidInput, match=r"eval\.yaml"):
        eval_results(only_ner)


def test_a_pairing_shares_its_depth_f1(good: SharedEntry) -> None:
    (task,) = good.scores.tasks
    paired = task.model_copy(update={"summary": task.summary.model_copy(update={"basis": "pairing"})})
    best = headlines(good.scores.model_copy(update={"tasks": (paired,)}))["nli"]
    assert (best.name, best.metric, best.estimate) == ("depth_f1@0", "depth_f1", task.summary.depth_f1["0"])


def test_what_a_reader_must_know_stands_in_the_notes(good: SharedEntry) -> None:
    (task,) = good.scores.tasks
    summary = task.summary.model_copy(update={"at_floor": True, "complete": False})
    marks = {"partial_data": True, "unverified_data": True, "synthetic_data": True}
    tasks = (task.model_copy(update={"summary": summary}),)
    warned = replace(good, scores=good.scores.model_copy(update={"tasks": tasks, **marks}))
    notes = warned.notes(headlines(warned.scores)["nli"])
    for words in ("not significantly above", "some shifts are missing", "partial data", "match no record", "synthetic"):
        assert words in notes
        assert (words in good.notes(headlines(good.scores)["nli"])) == (words == "synthetic")


def test_entries_that_cannot_be_shared_are_refused(good: SharedEntry, wording: SnapshotAssertion) -> None:
    few = replace(good, scores=good.scores.model_copy(update={"subset": "fewshot"}))
    messages = {
        "scored on a subset": refusal(InvalidInput, eval_results, few),
        "no dataset": refusal(InvalidInput, eval_results, replace(good, dataset=None)),
        "no model": refusal(InvalidInput, every_eval_ever, replace(good, model=None), "The lab"),
    }
    assert messages == wording


def test_the_csv_has_every_figure_once(good: SharedEntry) -> None:
    (text,) = scores_csv(good).values()
    header, *rows = csv.reader(io.StringIO(text))
    assert tuple(header) == COLUMNS
    keys = [tuple(row[header.index(name)] for name in ("task", "figure", "source", "target")) for row in rows]
    assert len(set(keys)) == len(keys) == len(figures_of(good.scores))
    shift = good.scores.tasks[0].shifts[0]
    row = rows[keys.index(("nli", "sd", shift.source, shift.target))]
    assert float(row[header.index("value")]) == shift.sd.value
    assert row[header.index("lower_is_better")] == "true"


def every_eval(shared: SharedEntry, organization: str = "The lab", relationship: str | None = None) -> tuple[str, Any]:
    ((path, text),) = every_eval_ever(shared, organization, relationship, NOW).items()
    return path, json.loads(text)


def test_every_eval_ever_is_valid_by_its_schema(good: SharedEntry) -> None:
    _, content = every_eval(good)
    assert list(schema("eval.schema.json").iter_errors(content)) == []
    assert content["retrieved_timestamp"] == str(int(NOW.timestamp()))
    results = {result["evaluation_result_id"]: result for result in content["evaluation_results"]}
    summary = good.scores.tasks[0].summary
    mean, drop = results["nli/mean_st"], results["nli/average_drop"]
    assert mean["score_details"]["score"] == summary.mean_st.value
    interval = mean["score_details"]["uncertainty"]["confidence_interval"]
    assert (interval["lower"], interval["upper"]) == (summary.mean_st.low, summary.mean_st.high)
    assert (mean["metric_config"]["lower_is_better"], drop["metric_config"]["lower_is_better"]) == (False, True)


@pytest.mark.parametrize(
    ("organization", "given", "found"),
    [("The lab", None, "other"), ("Lab", None, "first_party"), ("Lab", "collaborative", "collaborative")],
)
def test_the_owner_of_the_model_is_the_first_party(
    good: SharedEntry, organization: str, given: str | None, found: str
) -> None:
    _, content = every_eval(good, organization, given)
    assert content["source_metadata"]["evaluator_relationship"] == found


def test_the_same_scores_have_the_same_place(good: SharedEntry) -> None:
    path, _ = every_eval(good)
    assert path == every_eval(replace(good, report="https://example.org/r"))[0]
    assert path != every_eval(replace(good, model="lab/other"))[0]


def test_a_schema_that_is_broken_is_noticed(good: SharedEntry) -> None:
    _, content = every_eval(good)
    del content["evaluation_results"][0]["metric_config"]["lower_is_better"]
    content["model_info"]["additional_details"]["parameters"] = 3
    assert len(list(schema("eval.schema.json").iter_errors(content))) == 2
