"""Hand-written tables of scores: what is read, noted and refused, by kind of irregularity."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.scoring.comparing.unit_ranks import Unit
from shiftbench.scoring.interchange.score_tables import Reading, read_families, table_of_file, table_of_frame
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

PLAIN = Reading()
BY_HAND = """\
\ufeffRank;Model;Org;Kettles;Lamps;Bicycles;Tents;Average;

1;  alpha  large ;Acme;81,2;**79,5**;77.3%;80.1;79.5;
2;beta;Bits;80.4 ± 0.3;78.8*;n/a;79.0;79.4;
3;gamma;Acme;79.9;TBD;75.0[2];78.2
3;gamma;Acme;79.9;TBD;75.0[2];78.2
4;delta;Corp;70.0;70.0;−3.5;70.0;51.6;
"""


def read(folder: Path, text: str, how: Reading = PLAIN, name: str = "board.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return table_of_file(path, how)


def test_a_table_typed_by_hand_is_read_and_each_kind_of_mess_is_noted(tmp_path, wording):
    table = read(tmp_path, BY_HAND)
    assert list(table.models) == ["alpha large", "beta", "gamma", "delta"]
    assert list(table.units) == ["Kettles", "Lamps", "Bicycles", "Tents"]
    nan = float("nan")
    expected = [[81.2, 79.5, 77.3, 80.1], [80.4, 78.8, nan, 79.0], [79.9, nan, 75.0, 78.2], [70.0, 70.0, -3.5, 70.0]]
    np.testing.assert_array_equal(table.scores, expected)
    assert table.notes == wording


@pytest.mark.parametrize(
    "name", ["params_b", "#Params (B)", "Parameters", "n_params", "Model Size", "Release Date", "year"]
)
def test_a_models_size_or_date_is_not_a_task(tmp_path, name):
    table = read(tmp_path, f"model,{name},size of shoes,b\nx,7,0.5,0.2\ny,13,0.4,0.3\n")
    assert list(table.units) == ["size of shoes", "b"]
    assert any("sizes and dates" in note and f"'{name}'" in note for note in table.notes)
    scored = read(tmp_path, f"model,{name},b\nx,7,0.2\ny,13,0.3\n", Reading(lower=(name,)))
    assert list(scored.units) == [name, "b"]  # a name given in an option is a score


def test_what_cannot_be_read_for_sure_is_refused_with_its_place(tmp_path, wording):
    tables = (
        "model,a,b\nx,0.5,8l.2\ny,0.5,0.2\nz,0.1,0.3\n",
        "model,a,b\nx,1,2\nx,1,3\n",
        "model,a,a\nx,1,2\ny,1,3\n",
        "model,a\nx,1\n,2\n",
        "model,a\nv,81\nw,80\nx,0.79\ny,78\n",
        "model,a\nx,0,5\ny,1\n",
        "model,org\nx,Acme\ny,Bits\n",
        "1,2\n3,4\n",
        "",
    )
    assert [refusal(InvalidInput, read, tmp_path, table) for table in tables] == wording


def test_rows_may_be_tasks_and_markdown_is_a_table(tmp_path):
    text = "| task | x | y |\n|---|---:|---:|\n| a | 1.5 | 2 |\n| b | 3 | 4 |\n"
    table = read(tmp_path, text, name="board.md")
    assert (list(table.models), list(table.units), table.unit) == (["x", "y"], ["a", "b"], Unit.TASKS)
    assert table.scores.tolist() == [[1.5, 3.0], [2.0, 4.0]]


LONG = {
    "model": ["x", "x", "x", "y", "y", "y"],
    "item": ["q1", "q2", "q3"] * 2,
    "score": [1, 0, 1, 0, 0, None],
    "cluster": ["p", "p", "q"] * 2,
}


def test_a_long_table_has_clusters_and_missing_cells():
    table = table_of_frame(pl.DataFrame(LONG), PLAIN, "frame")
    assert (list(table.models), list(table.units), table.unit) == (["x", "y"], ["q1", "q2", "q3"], Unit.ITEMS)
    np.testing.assert_array_equal(table.scores, [[1, 0, 1], [0, 0, np.nan]])
    assert table.groups == ["p", "p", "q"]


def test_items_of_several_tasks_count_each_task_the_same_or_become_tasks():
    frame = pl.DataFrame(LONG | {"task": ["a", "a", "b"] * 2, "score": [1, 0, 1, 0, 0, 1]})
    table = table_of_frame(frame, PLAIN, "frame")
    assert table.weights.tolist() == [0.5, 0.5, 1.0]
    tasks = table_of_frame(frame, Reading(unit=Unit.TASKS), "frame")
    assert (list(tasks.units), tasks.unit) == (["a", "b"], Unit.TASKS)
    assert tasks.scores.tolist() == [[0.5, 1.0], [0.0, 1.0]]


def test_of_dated_scores_the_newest_counts_and_undated_ones_are_refused(wording):
    twice = {"model": ["x", "x", "y"], "task": ["a", "a", "a"], "score": [0.1, 0.2, 0.3]}
    with pytest.raises(InvalidInput, match="'x', 'a'"):
        table_of_frame(pl.DataFrame(twice), PLAIN, "frame")
    dated = table_of_frame(pl.DataFrame(twice | {"date": ["2026-03-01", "2026-01-01", ""]}), PLAIN, "frame")
    assert dated.scores.tolist() == [[0.1], [0.3]]
    assert dated.notes == wording


def test_units_left_out_directions_and_families_are_as_said(tmp_path, wording):
    path = tmp_path / "families.csv"
    path.write_text("task,family\na,one\nb,one\nc,two\n")
    families = read_families(path)
    frame = pl.DataFrame({"model": ["x", "y"], "a": [0.1, 0.2], "b": [3.5, 2.5], "c": [0.3, 0.3]})
    table = table_of_frame(frame, Reading(lower=("b",), families=families), "frame")
    assert table.groups == ["one", "one", "two"]
    assert table.lower.tolist() == [False, True, False]
    assert table.notes == wording
    with pytest.raises(InvalidInput, match=r"--without .*'d'"):
        table_of_frame(frame, Reading(without=("d",)), "frame")
    with pytest.raises(InvalidInput, match=r"family.*'c'"):
        table_of_frame(frame, Reading(families={"a": "one", "b": "one"}), "frame")


@pytest.mark.parametrize(
    "text",
    [
        '{"x": {"a": 1.5, "b": 2}, "y": {"a": 3, "b": null}}',
        '[{"model": "x", "a": 1.5, "b": 2}, {"model": "y", "a": 3}]',
        '{"model": ["x", "y"], "a": [1.5, 3], "b": [2, null]}',
    ],
)
def test_json_may_be_rows_columns_or_scores_by_model(tmp_path, text):
    table = read(tmp_path, text, name="board.json")
    np.testing.assert_array_equal(table.scores, [[1.5, 2.0], [3.0, np.nan]])
