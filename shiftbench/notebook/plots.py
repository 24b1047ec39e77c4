"""Plots of scores for notebooks: matplotlib figures in points, one row of panels per task.

Colours are Okabe and Ito's (2008) and cividis, which are safe for colour-blind readers; every value is also
printed or can be read from an axis. pyplot is not used, so nothing is drawn twice and no state remains.
"""

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from matplotlib import colormaps
from matplotlib.colors import Normalize, to_rgb
from matplotlib.figure import Figure

from shiftbench.scoring.papers.analysis.canvas import SCENARIO_COLOURS
from shiftbench.scoring.reports.numbers import drop_points, metric_name, points
from shiftbench.scoring.reports.pictures.words import SD_NAME, TD_NAME, source_name, sources, with_drops
from shiftbench.scoring.scores.shape import Estimate, Scores, Shift, TaskScores
from shiftbench.validation.png import picture_style
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLE = {"axes.titlesize": 9, "axes.titlelocation": "left"}
_LEAST_REACH = 2.0
"""Minimum range of the drops' colour scale, in points, so that rounding errors do not look like a loss."""
Panel = Callable[["Axes", TaskScores], None]


class ShownFigure(Figure):
    """A figure that notebooks display without pyplot."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=100)
        return buffer.getvalue()


def draw_matrix(scores: Scores, task: str | None = None) -> Figure:
    """Draw ST (in-domain scores on the diagonal), SD and TD; rows are sources, columns targets."""
    tasks = _select_tasks(scores, task)
    size = max(len(each.domains) for each in tasks)
    panels: list[Panel] = [_scores_panel, _drops_panel("SD"), _drops_panel("TD")]
    return _draw_panels(tasks, panels, width=1.6 + 0.6 * size, height=1.4 + 0.4 * size)


def draw_scenarios(scores: Scores, task: str | None = None) -> Figure:
    """Plot each shift with both drops at (SD, TD), in points; hollow markers: the scenario is not resolved."""
    tasks = [each for each in _select_tasks(scores, task) if with_drops(each)]
    if not tasks:
        raise InvalidInput(
            _nothing_to_draw("no shift has both drops", "for each domain, also predict with a model trained on it")
        )
    return _draw_panels(tasks, [_scenario_panel], width=4.6, height=4.2)


def draw_depth(scores: Scores, task: str | None = None) -> Figure:
    """Plot mean Depth F1 over lambda (percent of the most source-like texts excluded), with 95% intervals."""
    tasks = [each for each in _select_tasks(scores, task) if each.summary.depth_f1]
    if not tasks:
        raise InvalidInput(_nothing_to_draw("there are no depths", "build the dataset with an encoder"))
    return _draw_panels(tasks, [_depth_panel], width=4.6, height=3.0)


PLOTS: Mapping[str, Callable[[Scores, str | None], Figure]] = {
    "matrix": draw_matrix,
    "scenarios": draw_scenarios,
    "depth": draw_depth,
}


def _select_tasks(scores: Scores, name: str | None) -> list[TaskScores]:
    names = [task.task for task in scores.tasks]
    if name is not None and name not in names:
        raise InvalidInput(Problem("there are no scores for this task", "task", f"'{name}'", did_you_mean(name, names)))
    return [task for task in scores.tasks if name in (None, task.task)]


def _nothing_to_draw(found: str, cure: str) -> Problem:
    return Problem("there is nothing to plot", "name", found, cure)


def _draw_panels(tasks: Sequence[TaskScores], panels: Sequence[Panel], *, width: float, height: float) -> Figure:
    """Draw one row of panels per task; width and height are those of one panel, in inches."""
    with picture_style(_STYLE):
        size = (width * len(panels), height * len(tasks))
        figure = ShownFigure(figsize=size, dpi=100, facecolor="white", layout="constrained")
        for task, row in zip(tasks, figure.subplots(len(tasks), len(panels), squeeze=False), strict=True):
            for axis, panel in zip(row, panels, strict=True):
                panel(axis, task)
    return figure


def _scores_panel(axis: "Axes", task: TaskScores) -> None:
    cells = _defined_values({(shift.source, shift.target): shift.st for shift in task.shifts})
    cells |= _defined_values({(own.domain, own.domain): own.score for own in task.in_domain})
    low, high = min(cells.values(), default=0.0), max(cells.values(), default=1.0)
    title = f"{task.task}: {metric_name(task.metric)}, points; diagonal: in-domain"
    _heatmap(axis, task, cells, Normalize(low, high), "cividis", title, points)


def _drops_panel(name: str) -> Panel:
    def draw(axis: "Axes", task: TaskScores) -> None:
        by_name = {
            drop: _defined_values({(shift.source, shift.target): getattr(shift, drop) for shift in task.shifts})
            for drop in ("sd", "td")
        }
        reach = max([_LEAST_REACH / 100, *(abs(value) for cells in by_name.values() for value in cells.values())])
        title = f"{task.task}: {SD_NAME if name == 'SD' else TD_NAME}"
        _heatmap(axis, task, by_name[name.lower()], Normalize(-reach, reach), "RdBu_r", title, drop_points)

    return draw


def _defined_values(cells: Mapping[tuple[str, str], Estimate]) -> dict[tuple[str, str], float]:
    return {cell: estimate.value for cell, estimate in cells.items() if estimate.value is not None}


def _heatmap(
    axis: "Axes",
    task: TaskScores,
    cells: Mapping[tuple[str, str], float],
    norm: Normalize,
    colours: str,
    title: str,
    write: Callable[[float], str],
) -> None:
    rows = sources(task)
    # Cells without a value stay white.
    grid = [[cells.get((source, target), float("nan")) for target in task.domains] for source in rows]
    axis.imshow(grid, cmap=colours, norm=norm, aspect="auto")
    for (source, target), value in cells.items():
        place, ink = (task.domains.index(target), rows.index(source)), _ink(colormaps[colours](norm(value)))
        axis.text(*place, write(value), ha="center", va="center", fontsize=8, color=ink)
    axis.set_xticks(range(len(task.domains)), task.domains, rotation=35, ha="right", rotation_mode="anchor")
    axis.set_yticks(range(len(rows)), [source_name(source) for source in rows])
    axis.set(xlabel="tested on", ylabel="trained on", title=title)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)


def _ink(colour: tuple[float, float, float, float]) -> str:
    """Choose black or white for text on a colour, by its luminance (Rec. 709)."""
    red, green, blue = to_rgb(colour)
    return "black" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.45 else "white"


def _scenario_panel(axis: "Axes", task: TaskScores) -> None:
    shifts = with_drops(task)
    for name, colour in SCENARIO_COLOURS.items():
        of_scenario = [shift for shift in shifts if shift.scenario == name]
        for shift in of_scenario:
            _draw_cross(axis, shift, colour)
        if of_scenario:
            # Without points, for the legend only.
            axis.plot([], [], "o", color=colour, label=f"{name} ({len(of_scenario)})")
    for line in (axis.axhline, axis.axvline):
        line(0, color="black", linewidth=0.6)
    axis.set(xlabel=SD_NAME, ylabel=TD_NAME, title=f"{task.task}: scenarios; hollow: not resolved")
    axis.legend(frameon=False, fontsize=8)


def _draw_cross(axis: "Axes", shift: Shift, colour: str) -> None:
    (x, x_bars), (y, y_bars) = _interval_bars([shift.sd]), _interval_bars([shift.td])
    face = colour if shift.resolved else "none"
    axis.errorbar(x, y, xerr=x_bars, yerr=y_bars, fmt="o", color=colour, mfc=face, linewidth=0.8, markersize=5)


def _interval_bars(estimates: Iterable[Estimate]) -> tuple[list[float], tuple[list[float], list[float]]]:
    """Return values in points, and the distances to their intervals' lower and upper ends; 0 without an interval."""
    values, below, above = [], [], []
    for each in estimates:
        if each.value is not None:
            values.append(100 * each.value)
            below.append(0.0 if each.low is None else max(0.0, 100 * (each.value - each.low)))
            above.append(0.0 if each.high is None else max(0.0, 100 * (each.high - each.value)))
    return values, (below, above)


def _depth_panel(axis: "Axes", task: TaskScores) -> None:
    known = {int(lambda_): each for lambda_, each in task.summary.depth_f1.items() if each.value is not None}
    values, bars = _interval_bars(known.values())
    axis.errorbar(list(known), values, yerr=bars, fmt="o-", color="#0072B2", capsize=3)
    axis.set_xticks(list(known))
    title = f"{task.task}: mean Depth F1 over {task.summary.n_shifts} shifts"
    axis.set(xlabel="lambda: percentage of the most source-like texts excluded", ylabel="points", title=title)
