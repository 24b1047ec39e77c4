"""Boards' own formats: MTEB's results, lists of solved items, and logs."""

import json

import numpy as np
import pytest

from shiftbench.scoring.comparing.unit_ranks import Unit
from shiftbench.scoring.interchange.boards import read_board
from shiftbench.scoring.interchange.score_tables import Reading
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal
from tests.scoring.interchange.logs import lm_eval_choice, write_lm_eval


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def mteb(folder, model, revision, task, *scores, split="test"):
    subsets = [{"hf_subset": f"s{n}", "main_score": score, "languages": ["eng-Latn"]} for n, score in enumerate(scores)]
    content = {"task_name": task, "mteb_version": "1.38.0", "scores": {split: subsets}}
    write(folder / model / revision / f"{task}.json", content)


def test_results_of_mteb_are_means_over_subsets_of_the_fullest_revision(tmp_path):
    mteb(tmp_path, "acme__tiny", "r1", "Kettles", 0.5, 0.7)
    mteb(tmp_path, "acme__tiny", "r1", "Lamps", 0.4, split="dev")
    mteb(tmp_path, "acme__tiny", "r0", "Kettles", 0.1)
    mteb(tmp_path, "bits__base", "r9", "Kettles", 0.2)
    write(tmp_path / "acme__tiny" / "r1" / "model_meta.json", {"name": "acme/tiny", "revision": "r1"})
    table = read_board([tmp_path], Reading())
    assert (list(table.models), list(table.units)) == (["acme/tiny", "bits/base"], ["Kettles", "Lamps"])
    np.testing.assert_allclose(table.scores, [[0.6, 0.4], [0.2, np.nan]])
    assert table.unit is Unit.TASKS
    assert any("'acme/tiny'" in note for note in table.notes)


def test_lists_of_solved_items_are_named_by_their_folder_and_count_what_no_list_names(tmp_path, wording):
    write(tmp_path / "20260101_alpha" / "results" / "results.json", {"resolved": ["p-1", "p-2"], "no_logs": ["p-3"]})
    write(tmp_path / "beta.json", {"resolved_ids": ["p-2"], "unresolved_ids": ["p-1"], "schema_version": 2})
    table = read_board([tmp_path], Reading())
    assert list(table.models) == ["20260101_alpha", "beta"]
    assert table.scores.tolist() == [[1, 1, 0], [0, 1, 0]]
    assert any("(--items)" in note for note in table.notes)
    assert read_board([tmp_path], Reading(n_items=5)).scores.sum(axis=1).tolist() == [2, 1]
    assert len(read_board([tmp_path], Reading(n_items=5)).units) == 5
    assert refusal(InvalidInput, read_board, [tmp_path], Reading(n_items=2)) == wording


def test_logs_of_several_tasks_are_items_and_runs_of_one_model_are_averaged(tmp_path, wording):
    choice = {"yes": -1.0, "no": -2.0}

    def lines(*scores):
        return [lm_eval_choice(place, choice, acc=score) for place, score in enumerate(scores)]

    write_lm_eval(tmp_path / "alpha", lines(1, 0, 1), task="kettles")
    write_lm_eval(tmp_path / "alpha", lines(1, 0), task="lamps")
    write_lm_eval(tmp_path / "beta", lines(0, 0, 1), task="kettles")
    write_lm_eval(tmp_path / "beta", lines(0, 1), task="lamps")
    write_lm_eval(tmp_path / "again" / "beta", lines(1, 1), task="lamps")
    table = read_board([tmp_path], Reading())
    assert sorted(table.models) == ["alpha", "beta"]
    by_model = dict(zip(table.models, table.scores.tolist(), strict=True))
    assert sorted(by_model["beta"]) == [0, 0, 0.5, 1, 1]
    assert sorted(table.weights.tolist()) == pytest.approx([1 / 3] * 3 + [1 / 2] * 2)
    assert table.notes == wording


def test_what_holds_no_scores_is_refused(tmp_path, wording):
    write(tmp_path / "a.json", {"nothing": 1})
    assert [refusal(InvalidInput, read_board, [path], Reading()) for path in (tmp_path, tmp_path / "b")] == wording
