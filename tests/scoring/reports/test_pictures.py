"""Plots drawn on the server: they match the scores, and are well-formed SVG for any layout of data."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.reports.frame.html import Markup, tag
from shiftbench.scoring.reports.frame.parts import Gap
from shiftbench.scoring.reports.numbers import drop_points, points
from shiftbench.scoring.reports.pictures import charts, rows
from shiftbench.scoring.reports.pictures.axes import SYMBOLS, mark, round_axis
from shiftbench.scoring.reports.score_words import significance_words
from shiftbench.scoring.reports.task_page import Asked, TaskPage
from shiftbench.scoring.scores.floors import is_drop_at_floor
from shiftbench.scoring.scores.score import checked_predictions, score_predictions
from shiftbench.scoring.scores.shape import METRIC_VERSION, Estimate, Scores, Shift, TaskScores
from tests.leaderboard.conftest import SCRIPT, Visible
from tests.leaderboard.shapes import build_dealt_folder, labels_with_errors

DOMAINS = ["books", "films", "games"]


def score(folder: DatasetFolder, frame: pl.DataFrame, place: Path) -> Scores:
    frame.write_parquet(place / "p.parquet")
    return score_predictions(checked_predictions(place / "p.parquet", folder), folder).scores


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, word_encoder: Any) -> DatasetFolder:
    return build_dealt_folder(tmp_path_factory.mktemp("dealt") / "folder", DOMAINS, word_encoder)


@pytest.fixture(scope="module")
def tasks(folder: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> dict[str, TaskScores]:
    """A task of two seeds with its placebo."""
    frames = [
        labels_with_errors(folder, "moods", DOMAINS, 0.3, range(2)),
        labels_with_errors(folder, "moods.placebo", list(folder.task("moods.placebo").domains), 0.3, range(2)),
    ]
    scores = score(folder, pl.concat(frames), tmp_path_factory.mktemp("p"))
    return {task.task: task for task in scores.tasks}


@pytest.fixture(scope="module")
def task(tasks: dict[str, TaskScores]) -> TaskScores:
    return tasks["moods"]


def svg(markup: str) -> ET.Element:
    """The picture among some markup, parsed as XML."""
    found = re.search(r'<svg(?:(?!<svg).)*class="sb-picture">.*?</svg>', markup, re.DOTALL)
    assert found is not None
    return ET.fromstring(found[0])


def marks(picture: ET.Element) -> list[ET.Element]:
    return [part for part in picture.iter() if {"sb-filled", "sb-hollow"} & set(part.get("class", "").split())]


def words(element: ET.Element) -> str:
    return element.findtext("title") or ""


def every_picture(task: TaskScores, placebo: TaskScores | None = None) -> list[Markup]:
    return [
        charts.scenario_plane(task, placebo),
        charts.depth_curves(task),
    ]


def test_pictures_name_and_describe_themselves(task: TaskScores) -> None:
    for drawn in every_picture(task):
        picture = svg(drawn)
        assert picture.get("role") == "img"
        assert picture.findtext("title")
        assert len(picture.findtext("desc") or "") > 30
        assert picture.get("viewBox", "").startswith("0 0 420 ")
        assert not {part.tag for part in picture.iter()} & {"script", "foreignObject", "image", "a", "style"}


def page_of(task: TaskScores, measure: str) -> TaskPage:
    scores = Scores.model_construct(tasks=(task,), missing=(), metric_version=METRIC_VERSION)
    return TaskPage(scores, task, asked=Asked(measure))


def test_matrix_cells_hold_the_drops_and_scores_in_domain(task: TaskScores) -> None:
    matrix = page_of(task, "td").matrix
    by_shift = {(shift.source, shift.target): shift for shift in task.shifts}
    own = {each.domain: points(each.score.value) for each in task.in_domain}
    for (name, cells), source in zip(matrix.rows, DOMAINS, strict=True):
        assert name == source
        for cell, target in zip(cells, DOMAINS, strict=True):
            if source == target:
                assert (cell.words, cell.kind) == (own[source], "own")
                continue
            shift = by_shift[source, target]
            low, high = shift.td.low, shift.td.high
            assert cell.words == drop_points(shift.td.value)
            is_shown = low is not None and high is not None and not low <= 0 <= high
            assert (cell.part is not None) == (is_shown and not is_drop_at_floor(shift, "td"))
            assert "TD" in cell.title


def test_a_drop_from_or_to_the_floor_has_no_colour_and_is_not_the_worst(task: TaskScores) -> None:
    first, *others = (shift.model_copy(update={"at_floor": ()}) for shift in task.shifts)
    large = Estimate(value=0.9, low=0.8, high=1.0)
    for floor, is_low in ((("ss",), False), (("tt",), True)):
        changed = first.model_copy(update={"at_floor": floor, "td": large})
        page = page_of(task.model_copy(update={"shifts": (changed, *others)}), "td")
        (cell,) = [cell for _, cells in page.matrix.rows for cell in cells if cell.words == "+90.0"]
        assert (cell.kind, cell.part is None) == (("faint", True) if is_low else ("loss", False))
        assert (page.worst(1) == [changed]) != is_low


def test_whether_a_drop_is_real_is_what_its_interval_shows(task: TaskScores, wording: SnapshotAssertion) -> None:
    said = {}
    for name, low, high in (("loss", 0.01, 0.2), ("none", -0.1, 0.1), ("gain", -0.2, -0.01), ("unknown", None, None)):
        drop = Estimate(value=0.05, low=low, high=high, no_interval=None if low else "too few texts")
        shift = task.shifts[0].model_copy(update={"sd": drop, "at_floor": (), "total": {}})
        said[name] = significance_words(shift, "sd")
    at_chance = task.shifts[0].model_copy(update={"at_floor": ("tt",)})
    messages = said | {"at chance": significance_words(at_chance, "td"), "no drop": significance_words(shift, "st")}
    assert messages == wording


def position(element: ET.Element) -> tuple[float, float]:
    if element.tag == "circle":
        return float(element.get("cx", "")), float(element.get("cy", ""))
    x, y = re.findall(r"translate\(([-\d.]+) ([-\d.]+)\)", element.get("transform", ""))[0]
    return float(x), float(y)


def test_plane_places_every_shift_by_its_drops(tasks: dict[str, TaskScores]) -> None:
    task, placebo = tasks["moods"], tasks["moods.placebo"]
    picture = svg(charts.scenario_plane(task, placebo))
    found = [part for part in marks(picture) if not words(part).startswith("placebo")]
    assert len(found) == len(task.shifts) == 6
    where = {tuple(words(part).split("\n")[0].split(" → ")): position(part) for part in found}
    ordered = sorted(task.shifts, key=lambda shift: shift.sd.value or 0)
    across = [where[shift.source, shift.target][0] for shift in ordered]
    assert across == sorted(across)
    ordered = sorted(task.shifts, key=lambda shift: shift.td.value or 0)
    heights = [where[shift.source, shift.target][1] for shift in ordered]
    assert heights == sorted(heights, reverse=True), "TD goes up"
    # SD and TD on one scale: equal steps are equal lengths.
    first, last = ordered[0], ordered[-1]
    left, right = where[first.source, first.target], where[last.source, last.target]
    steps = [(b.value or 0) - (a.value or 0) for a, b in ((first.sd, last.sd), (first.td, last.td))]
    assert (right[0] - left[0]) * steps[1] == pytest.approx(-(right[1] - left[1]) * steps[0], abs=0.1)
    cloud = [part for part in marks(picture) if words(part).startswith("placebo")]
    assert len(cloud) == len(placebo.shifts)
    assert all("sb-hollow" in part.get("class", "") for part in cloud)
    assert len([text for text in picture.iter("text") if "sb-quadrant" in text.get("class", "")]) == 4


def test_resolved_shifts_are_filled_and_sources_differ_by_symbol_too(task: TaskScores) -> None:
    first, *others = task.shifts
    known = first.model_copy(update={"resolved": True})
    shifts = (known, *(shift.model_copy(update={"resolved": False}) for shift in others))
    found = marks(svg(charts.scenario_plane(task.model_copy(update={"shifts": shifts}))))
    filled = [part for part in found if "sb-filled" in part.get("class", "")]
    assert [words(part).split("\n")[0] for part in filled] == [f"{known.source} → {known.target}"]
    shapes = {(part.tag, part.get("d")) for part in found}
    assert len(shapes) == len({shift.source for shift in shifts})


def whiskers(picture: ET.Element) -> list[ET.Element]:
    return [part for part in picture.iter("line") if "sb-whisker" in part.get("class", "")]


def test_crosses_reach_from_end_to_end_of_the_intervals(task: TaskScores) -> None:
    shift = task.shifts[0]
    alone = task.model_copy(update={"shifts": (shift,)})
    picture = svg(charts.scenario_plane(alone))
    across, upright = whiskers(picture)
    x, y = position(marks(picture)[0])
    lengths = [float(across.get("x2", "")) - float(across.get("x1", "")),
               float(upright.get("y1", "")) - float(upright.get("y2", ""))]  # fmt: skip
    widths = [(drop.high or 0) - (drop.low or 0) for drop in (shift.sd, shift.td)]
    assert lengths[0] / lengths[1] == pytest.approx(widths[0] / widths[1], rel=0.01)
    assert float(across.get("x1", "")) < x < float(across.get("x2", ""))
    assert float(upright.get("y2", "")) < y < float(upright.get("y1", ""))
    for line in (across, upright):
        assert all(0 <= float(line.get(end, "")) <= 420 for end in ("x1", "x2", "y1", "y2"))
    bare = {name: {"value": getattr(shift, name).value} for name in ("sd", "td")}
    without = TaskScores.model_validate(alone.model_dump() | {"shifts": [shift.model_dump() | bare]})
    assert whiskers(svg(charts.scenario_plane(without))) == []


def test_depth_curves_show_the_mean_its_interval_and_effective_sizes(task: TaskScores) -> None:
    picture = svg(charts.depth_curves(task))
    thick = [part for part in marks(picture) if "λ = " in words(part)]
    assert len(thick) == 5
    low, high = task.summary.depth_f1["50"].low, task.summary.depth_f1["50"].high
    assert low is not None
    assert high is not None
    assert f"[{100 * low:.1f}, {100 * high:.1f}]" in words(thick[2])
    thin = [part for part in picture.iter("path") if "sb-thin" in part.get("class", "")]
    assert len(thin) == 6
    below = [text.text for text in picture.iter("text") if "sb-below" in text.get("class", "")]
    assert len(below) == 5
    sizes = [shift.effective_n["90"] for shift in task.shifts]
    assert below[-1] in (f"{min(sizes):.0f}–{max(sizes):.0f}", f"{min(sizes):.0f}")


def test_joined_sources_are_in_no_mean(folder: DatasetFolder, tmp_path: Path) -> None:
    frame = labels_with_errors(folder, "moods", [*DOMAINS[:2], "books+films"], 0.3)
    task = score(folder, frame, tmp_path).tasks[0]
    assert len(task.shifts) == 5
    depth = svg(charts.depth_curves(task))
    assert len([part for part in depth.iter("path") if "sb-thin" in part.get("class", "")]) == 4
    assert [cell.words for _, cells in page_of(task, "st").matrix.rows for cell in cells].count("n/a") == 0


def test_what_is_not_there_is_not_drawn(folder: DatasetFolder, tmp_path: Path) -> None:
    zero_shot = score(folder, labels_with_errors(folder, "moods", ["none"], 0.3), tmp_path).tasks[0]
    assert not charts.with_drops(zero_shot)
    assert not charts.has_depth(zero_shot)
    assert page_of(zero_shot, "").matrix.rows[0][0].startswith("none")
    partial = score(folder, labels_with_errors(folder, "moods", DOMAINS[:2], 0.3), tmp_path).tasks[0]
    assert [cell.words for _, cells in page_of(partial, "td").matrix.rows for cell in cells].count("n/a") == 2
    assert len(marks(svg(charts.scenario_plane(partial)))) == 2


def test_figures_that_are_not_there_leave_gaps(task: TaskScores) -> None:
    """Check that plots tolerate shifts without values."""
    nothing = {"value": None, "low": None, "high": None}
    content = task.model_dump()
    hidden: Any = content["shifts"][0]
    hidden |= dict.fromkeys(("st", "ss", "tt", "sd", "td", "idd"), nothing)
    hidden |= {"scenario": "Unknown", "resolved": False, "flips": None, "prior_fixed": None}
    hidden |= {name: {} for name in ("depth_f1", "depth_score", "depth_sd", "depth_td", "effective_n", "total")}
    shown = TaskScores.model_validate(content)
    drawn = every_picture(shown)
    assert [cell.words for _, cells in page_of(shown, "sd").matrix.rows for cell in cells].count("n/a") == 1
    assert len(marks(svg(drawn[0]))) == 5
    assert len(list(svg(drawn[-1]).iter("g"))) == 5


def test_names_are_text_in_every_picture(tasks: dict[str, TaskScores]) -> None:
    evil = f'"><a href="x">{SCRIPT}'
    text = tasks["moods"].model_dump_json().replace(json.dumps(DOMAINS[0]), json.dumps(evil))
    renamed = TaskScores.model_validate_json(text)
    assert renamed.domains[0] == evil
    for drawn in every_picture(renamed):
        shown = Visible(drawn)
        assert "script" not in shown.tags
        assert "a" not in shown.tags


def test_rows_place_figures_and_their_intervals_on_one_axis_and_cut_long_names() -> None:
    long = "a-domain-with-a-name-that-goes-on-and-on"
    home, away = Estimate(value=0.8, low=0.75, high=0.85), Estimate(value=0.6, low=0.5, high=0.7)
    picture = svg(rows.gap_picture([(long, Gap(home, away, long)), ("b", Gap(away, home, "b"))], "gaps"))
    written = [text.text or "" for text in picture.iter("text") if "sb-row-name" in text.get("class", "")]
    assert max(map(len, written)) <= 24
    first, second = picture.iter("g")
    assert words(first) == long
    (left, top), (right, below) = (next(map(position, marks(group))) for group in (first, second))
    assert left > right, "in domain before a loss, and before a gain"
    assert below - top == pytest.approx(22)
    bar = next(line for line in first.iter("line") if "sb-home" in line.get("class", ""))
    ends = [float(bar.get(end, "")) for end in ("x1", "x2")]
    assert ends[0] < left < ends[1]
    assert (ends[1] - ends[0]) / (left - right) == pytest.approx(0.1 / 0.2, abs=0.02)


def test_axes_have_round_ticks_and_hold_their_values() -> None:
    axis = round_axis((-3.2, 17.9), 0, 100)
    assert axis.low <= -3.2
    assert axis.high >= 17.9
    assert set(axis.ticks) <= {-5.0, 0.0, 5.0, 10.0, 15.0, 20.0}
    assert axis.at(axis.low) == 0
    assert axis.at(axis.high) == 100
    assert round_axis((4.0, 4.0), 0, 100).at(4.0) == pytest.approx(50, abs=30), "one value still has room"


def test_every_symbol_is_drawn_and_differs() -> None:
    drawn = {re.sub(r"class=\"[^\"]*\"", "", mark(5, 5, symbol, "sb-c0")) for symbol in SYMBOLS}
    assert len(drawn) == len(SYMBOLS) == 8
    assert tag("i", mark(1, 2, "circle", "x", words="<b>")).count("&lt;b&gt;") == 1


def test_shifts_of_any_sign_stay_inside_the_plane(task: TaskScores) -> None:
    far = [shift.model_copy(update={"sd": _moved(shift, -0.9), "td": _moved(shift, 0.9)}) for shift in task.shifts]
    for part in marks(svg(charts.scenario_plane(task.model_copy(update={"shifts": tuple(far)})))):
        x, y = position(part)
        assert 0 <= x <= 420
        assert 0 <= y <= 420


def _moved(shift: Shift, by: float) -> Any:
    return shift.sd.model_copy(update={"value": by, "low": by - 0.1, "high": by + 0.1})
