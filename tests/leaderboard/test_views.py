"""What the page shows, made from real scores; texts of cards stay texts."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from builders.folder import DatasetFolder
from leaderboard.scores import Estimate, Scores, TaskScores
from leaderboard.store import Entry, Store
from leaderboard.views import figures, pages, submission
from leaderboard.views.board import BOARD_LAMBDAS, Board, BoardRow, board_rows, boards, find_board
from leaderboard.views.html import tag
from leaderboard.views.listing import Catalogue, Listed
from leaderboard.views.submission import check
from validation.report import InvalidInput

from .conftest import SCRIPT, Filled, Visible


@pytest.fixture(scope="module")
def board(filled: Filled) -> Board:
    return find_board("synthetic/nli", boards([filled.folder]))


@pytest.fixture(scope="module")
def rows(catalogue: Catalogue, board: Board) -> list[BoardRow]:
    return board_rows(board, catalogue.entries())


def scored(catalogue: Catalogue, filled: Filled, name: str) -> TaskScores:
    scores = catalogue.entry(filled.entries[name].id).scores
    assert scores is not None
    return scores.tasks[0]


def with_intervals(scores: Scores, below: float | None, above: float | None) -> Scores:
    """Give every estimate an interval by hand, that far below and above it; with None, take its interval away."""

    def filled_in(content: Any) -> Any:
        if isinstance(content, list):
            return [filled_in(item) for item in content]
        if not isinstance(content, dict):
            return content
        if not {"value", "low", "high"} <= set(content):
            return {key: filled_in(value) for key, value in content.items()}
        value = content["value"]
        if value is None or below is None or above is None:
            return {"value": value}
        return {"value": value, "low": value - below, "high": value + above}

    return Scores.model_validate(filled_in(scores.model_dump(mode="json")))


# Listing


def test_entries_come_newest_first_with_their_scores(catalogue: Catalogue, filled: Filled) -> None:
    listed = catalogue.entries()
    assert {item.id for item in listed} == {entry.id for entry in filled.entries.values()}
    keys = [(item.entry.submitted_at, item.id) for item in listed if item.entry]
    assert keys == sorted(keys, reverse=True)
    assert all(item.scores is not None and item.reasons == () for item in listed)


def test_entries_that_cannot_be_scored_keep_their_place(filled: Filled, board: Board, tmp_path: Path) -> None:
    shutil.copytree(filled.store.root, tmp_path / "store")
    store = Store(tmp_path / "store")
    broken, foreign = (filled.entries[name].id for name in ("poor", "partial"))
    (store.root / "entries" / broken / "card.json").write_text("{")
    card = store.root / "entries" / foreign / "card.json"
    card.write_text(card.read_text().replace(filled.folder.content_hash, "0" * 64))
    catalogue = Catalogue([filled.folder], store)
    reasons = {item.id: item.reasons for item in catalogue.entries() if item.scores is None}
    assert set(reasons) == {broken, foreign}
    assert "card is damaged" in reasons[broken][0]
    assert "another version of the data" in reasons[foreign][0]
    assert catalogue.entries()[-1].id == broken
    assert str(tmp_path) not in str(reasons)
    shown = Visible(pages.board_html(board, board_rows(board, catalogue.entries()), catalogue.entries()))
    assert "Not scored on this server (2)" in shown.text
    # What it lacks may come back: nothing is remembered of a failure.
    card.write_text(card.read_text().replace("0" * 64, filled.folder.content_hash))
    assert catalogue.entry(foreign).scores is not None


def test_an_unknown_entry_is_said_to_be_unknown(catalogue: Catalogue) -> None:
    with pytest.raises(InvalidInput, match="there is no such entry"):
        catalogue.entry("../../etc/passwd")


# Board


def test_each_task_is_a_board(filled: Filled) -> None:
    assert [board.name for board in boards([filled.folder])] == ["synthetic/nli", "synthetic/sa"]
    names = [board.name for board in boards([filled.folder, filled.folder])]
    assert names[0] == f"synthetic/nli@{filled.folder.content_hash[:8]}"
    with pytest.raises(InvalidInput, match="did you mean 'synthetic/nli'"):
        find_board("syntetic/nli", boards([filled.folder]))
    with pytest.raises(InvalidInput, match="no dataset"):
        find_board("dr/nli", [])


def test_a_subset_has_a_board_of_its_own(filled: Filled, tmp_path: Path) -> None:
    chosen = filled.folder.subset("nli", "fewshot")["id"]
    frame = pl.read_parquet(filled.files["good"]).filter(pl.col("id").is_in(chosen.implode()))
    frame.filter(pl.col("source").is_in(chosen.str.split("/").list.get(2).implode())).write_parquet(
        tmp_path / "f.parquet"
    )
    card = filled.card("good").model_copy(update={"subset": "fewshot"})
    store = Store(tmp_path / "store")
    store.submit(tmp_path / "f.parquet", card, [filled.folder])
    listed = Catalogue([filled.folder], store).entries()
    known = boards([filled.folder], listed)
    assert "synthetic/nli:fewshot" in [board.name for board in known]
    assert len(board_rows(find_board("synthetic/nli:fewshot", known), listed)) == 1
    assert board_rows(find_board("synthetic/nli", known), listed) == []


def test_equal_scores_share_a_rank_and_partial_entries_have_none(rows: list[BoardRow]) -> None:
    names = ["Good model" if row.name == SCRIPT else row.name for row in rows]
    assert names == ["Good model", "Good model", "Poor model", "Partial model", "Zero-shot model"]
    assert [row.rank for row in rows] == [1, 1, 3, None, None]
    # The partial one scores highest, and still stands below.
    assert rows[3].mean_st.value > rows[0].mean_st.value


def test_what_is_missing_is_named_and_shown_as_missing(rows: list[BoardRow], filled: Filled) -> None:
    third, fourth = list(filled.folder.task("nli").domains)[2:]
    partial, zero_shot = rows[3], rows[4]
    assert partial.missing == tuple(f"{name}: no predictions of a model trained on it" for name in (third, fourth))
    assert partial.average_drop.value is None
    assert "zero-shot predictions only" in zero_shot.missing[0]
    assert (zero_shot.mean_ss.value, zero_shot.worst_td.value) == (None, None)
    assert rows[0].missing == ()


def test_rows_as_json(rows: list[BoardRow]) -> None:
    content = json.loads(json.dumps(rows[3].as_dict(), allow_nan=False))
    assert content["rank"] is None
    assert content["mean_st"] == rows[3].mean_st.model_dump()
    assert content["average_drop"]["value"] is None
    assert set(content["depth_f1"]) == set(BOARD_LAMBDAS)
    assert isinstance(content["missing"], list)


def test_cells_sort_by_their_fraction_and_missing_ones_are_empty(
    board: Board, rows: list[BoardRow], catalogue: Catalogue
) -> None:
    body = pages.board_html(board, rows, catalogue.entries()).split("<tbody>")[1].split("</tbody>")[0]
    lines = body.split("<tr")[1:]
    assert f'data-value="{rows[0].mean_st.value!r}"' in lines[0]
    assert f">{100 * rows[0].mean_st.value:.1f}<" in lines[0]
    assert 'data-value="">n/a</td>' in lines[4]
    assert "unranked, 6 shifts" in lines[3]


def test_notices_tell_synthetic_and_partial_data(filled: Filled) -> None:
    assert "Synthetic data." in pages.notices([filled.folder])
    manifest = filled.folder.manifest.model_copy(update={"synthetic": False, "partial": True})
    assert "Partial build." in pages.notices([DatasetFolder(filled.folder.path, manifest)])
    manifest = manifest.model_copy(update={"partial": False})
    assert pages.notices([DatasetFolder(filled.folder.path, manifest)]) == ""


# Intervals


def test_intervals_are_shown_where_there_are_any(board: Board, catalogue: Catalogue, filled: Filled) -> None:
    item = catalogue.entry(filled.entries["poor"].id)
    assert item.entry is not None
    assert item.scores is not None
    scores = with_intervals(item.scores, 0.5, 0.25)
    with_bounds = Listed(item.id, item.entry, scores)
    without = Listed(item.id, item.entry, with_intervals(item.scores, None, None))
    assert without.scores is not None
    task, summary = scores.tasks[0], scores.tasks[0].summary
    assert summary.mean_st.value is not None
    assert summary.worst_td.value is not None
    bounds = f"[{100 * summary.mean_st.value - 50:.1f}, {100 * summary.mean_st.value + 25:.1f}]".replace("-", "−")
    drop = f"[{100 * summary.worst_td.value - 50:.1f}, {100 * summary.worst_td.value + 25:.1f}]".replace("-", "−")

    table = pages.board_html(board, board_rows(board, [with_bounds]), [])
    answer = submission._summary(scores)
    preview = pages.answer_html({"ok": True, "entry": None, "new": False, "problems": [], "summary": answer})
    for markup in (table, pages.entry_html(with_bounds, task), preview):
        assert bounds in markup
        assert drop in markup
    assert "sb-interval" not in pages.board_html(board, board_rows(board, [without]), [])

    plane = figures.scenario_plane(task)
    mark = next(trace for trace in plane.data if trace.type == "scatter")
    assert list(mark.error_x.array) == pytest.approx([25.0] * len(mark.x))
    assert list(mark.error_y.arrayminus) == pytest.approx([50.0] * len(mark.y))
    # No cross may leave the picture.
    assert plane.layout.xaxis.range[1] >= max(
        100 * abs(end) for shift in task.shifts for end in (shift.sd.low, shift.sd.high, shift.td.low, shift.td.high)
    )
    mean = figures.depth_curves(task).data[-1]
    assert list(mean.error_y.array) == pytest.approx([25.0] * 5)
    first = task.shifts[0]
    assert first.td.low is not None
    hover = [text for row in figures.heatmap(task, "TD").data[0].text for text in row]
    assert any(f"[{100 * first.td.low:.1f}, ".replace("-", "−") in text for text in hover)

    bare = without.scores.tasks[0]
    assert figures.scenario_plane(bare).data[0].error_x.array is None
    assert "[" not in "".join(text for row in figures.heatmap(bare, "TD").data[0].text for text in row)


def test_a_figure_without_an_interval_among_others_that_have_one() -> None:
    bars = figures._bars([Estimate(value=0.5, low=0.4, high=0.7), Estimate(value=0.5), Estimate(value=None)])
    assert bars is not None
    assert bars["array"] == [pytest.approx(20.0), None, None]
    assert bars["arrayminus"] == [pytest.approx(10.0), None, None]


# Figures


def test_heatmaps_hold_the_scores_in_points(catalogue: Catalogue, filled: Filled) -> None:
    task = scored(catalogue, filled, "good")
    domains = list(task.domains)
    st, sd, td = (figures.heatmap(task, measure) for measure in ("ST", "SD", "TD"))
    for shift in task.shifts:
        row, column = domains.index(shift.source), domains.index(shift.target)
        for figure, estimate in ((st, shift.st), (sd, shift.sd), (td, shift.td)):
            assert figure.data[0].z[row][column] == pytest.approx(100 * estimate.value)
    for own in task.in_domain:
        place = domains.index(own.domain)
        assert st.data[0].z[place][place] == pytest.approx(100 * own.score.value)
        assert sd.data[0].z[place][place] is None
    # One scale for both drops, centred on 0: the same colour is the same loss.
    assert (sd.data[0].zmin, sd.data[0].zmax) == (td.data[0].zmin, td.data[0].zmax)
    assert sd.data[0].zmin == -sd.data[0].zmax
    written = [text for trace in st.data[1:] for text in trace.text]
    assert sorted(written) == sorted(
        f"<b>{value:.1f}</b>" if row == column else f"{value:.1f}"
        for row, values in enumerate(st.data[0].z)
        for column, value in enumerate(values)
    )


def test_printed_values_can_be_read_on_every_cell() -> None:
    for measure in ("ST", "SD"):
        for step in range(101):
            fill, text = figures.cell_colours(step / 100, 0.0, 1.0, measure)  # type: ignore[arg-type]
            red, green, blue = (float(part) for part in re.findall(r"\d+", fill))
            assert figures.contrast((red, green, blue), figures._rgb(text)) >= 4.5


def test_scenario_plane_has_a_mark_for_every_shift(catalogue: Catalogue, filled: Filled) -> None:
    task = scored(catalogue, filled, "good")
    marks = [(x, y) for trace in figures.scenario_plane(task).data for x, y in zip(trace.x, trace.y, strict=True)]
    expected = [(100 * shift.sd.value, 100 * shift.td.value) for shift in task.shifts]
    assert np.array(sorted(marks)) == pytest.approx(np.array(sorted(expected)))
    # Never by colour alone.
    looks = {(trace.marker.color, trace.marker.symbol) for trace in figures.scenario_plane(task).data}
    assert len({symbol for _, symbol in looks}) == 4


def test_marks_are_filled_where_the_scenario_is_resolved(catalogue: Catalogue, filled: Filled) -> None:
    task = scored(catalogue, filled, "good")
    first, *others = task.shifts
    known = first.model_copy(update={"resolved": True, "scenario_support": {"Classic": 0.99}})
    shifts = (known, *(shift.model_copy(update={"resolved": False}) for shift in others))
    plane = figures.scenario_plane(task.model_copy(update={"shifts": shifts}))
    symbols = [symbol for trace in plane.data for symbol in trace.marker.symbol]
    assert [symbol.endswith("-open") for symbol in symbols] == [False, *[True] * len(others)]
    assert "of replicates: Classic 99%" in plane.data[0].text[0]


def test_depth_curves_end_in_their_mean(catalogue: Catalogue, filled: Filled) -> None:
    task = scored(catalogue, filled, "good")
    traces = figures.depth_curves(task).data
    assert len(traces) == len(task.shifts) + 1
    assert list(traces[-1].x) == [0, 25, 50, 75, 90]
    assert list(traces[-1].y) == pytest.approx([100 * task.summary.depth_f1[str(x)].value for x in traces[-1].x])
    assert "effective n from" in traces[-1].text[0]


def test_figures_without_data_are_left_out(catalogue: Catalogue, filled: Filled) -> None:
    zero_shot = scored(catalogue, filled, "zero-shot")
    assert not figures.has_drops(zero_shot)
    assert not figures.has_depth(zero_shot)
    assert figures.heatmap(zero_shot, "ST").data[0].y == ("none (zero-shot)",)
    partial = scored(catalogue, filled, "partial")
    assert figures.has_drops(partial)
    assert [len(row) for row in figures.heatmap(partial, "TD").data[0].z] == [4, 4]
    printed = [text for trace in figures.heatmap(partial, "TD").data[1:] for text in trace.text]
    assert printed.count("n/a") == 4


# Escaping


def test_a_script_in_a_card_is_text_everywhere(board: Board, catalogue: Catalogue, filled: Filled) -> None:
    listed = catalogue.entries()
    item = catalogue.entry(filled.entries["script"].id)
    unscored = Listed(item.id, item.entry, None, (f"reason {SCRIPT}",))
    answer = check(catalogue, None, f"name: {json.dumps(SCRIPT)}\nparadigm: {json.dumps(SCRIPT)}\n{SCRIPT}: 1\n")
    assert item.scores is not None
    markup = {
        "board": pages.board_html(board, board_rows(board, listed), listed),
        "unscored": pages.board_html(board, [], [unscored]),
        "entry": pages.entry_html(item, item.scores.tasks[0]),
        "reasons": pages.entry_html(unscored, None),
        "message": pages.message_html(SCRIPT, SCRIPT),
        "answer": pages.answer_html(answer),
    }
    for name, text in markup.items():
        shown = Visible(text)
        assert "script" not in shown.tags, name
        assert SCRIPT in shown.text, name


def test_names_in_figures_are_escaped(catalogue: Catalogue, filled: Filled) -> None:
    """Plotly draws some HTML in labels and hovers: a domain of somebody's own data may be called anything."""
    task = scored(catalogue, filled, "good")
    evil = "<a href='https://example.org'>" + SCRIPT
    renamed = TaskScores.model_validate_json(task.model_dump_json().replace(task.domains[0], evil))
    assert renamed.domains[0] == evil
    for figure in (
        figures.heatmap(renamed, "ST"),
        figures.heatmap(renamed, "TD"),
        figures.scenario_plane(renamed),
        figures.depth_curves(renamed),
    ):
        content = figure.to_plotly_json()
        texts = strings(content)
        assert any("&lt;script&gt;" in text for text in texts)
        assert not [text for text in texts if re.search(r"<(?!/?(b|br|extra)>)", text)]


def strings(content: Any) -> list[str]:
    """Every string in nested lists, tuples and dicts."""
    if isinstance(content, str):
        return [content]
    if isinstance(content, dict):
        return [text for value in content.values() for text in strings(value)]
    if isinstance(content, list | tuple):
        return [text for value in content for text in strings(value)]
    return []


def test_links_are_https_only(catalogue: Catalogue, filled: Filled) -> None:
    item = catalogue.entry(filled.entries["good"].id)
    assert "https://example.org/good" in Visible(pages.entry_html(item, None)).links
    assert item.entry is not None
    card = item.entry.card.model_copy(update={"url": "javascript:alert(1)"})
    entry = Entry(item.id, "local", "2026-01-01", card)
    assert Visible(pages.entry_html(Listed(item.id, entry, None), None)).links == [f"?entry={item.id}"]


def test_attributes_are_escaped() -> None:
    assert tag("td", title='"><script>') == '<td title="&quot;&gt;&lt;script&gt;"></td>'
