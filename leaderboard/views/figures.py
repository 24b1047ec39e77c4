"""Plotly figures of one entry on one task. Values come in as fractions and are drawn in points.

Titles stand beside the figures, not in them, so that nothing overlaps on a narrow screen. Backgrounds are
transparent, for light and dark pages. Plotly reads a little HTML in labels, so every name is escaped.
"""

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from leaderboard.metrics.depth import LAMBDAS
from leaderboard.scores import Estimate, Shift, TaskScores
from leaderboard.views.numbers import MISSING, drop_points, drop_text, points, score_text, share
from validation.vocabulary import NO_SOURCE

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
INK, MUTED, GRID = "#334155", "#64748b", "rgba(100, 116, 139, 0.22)"
ACCENT = "#0d9488"

# Both scales keep their order for readers with any common colour blindness: one hue by lightness, and blue to red
# through white (ColorBrewer's RdBu).
SEQUENTIAL = ("#f0fdfa", "#b5e3dc", "#6cbfb5", "#2c8f87", "#0f5f5a")
DIVERGING = ("#2166ac", "#67a9cf", "#d1e5f0", "#f7f7f7", "#fddbc7", "#ef8a62", "#b2182b")
# Okabe and Ito's colours, with symbols beside them so that colour is never the only difference.
SOURCE_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star", "hexagon", "triangle-down")
SCENARIO_COLOURS = {
    "Classic": "#b2182b",
    "Observed": "#e08214",
    "Unobserved": "#7065a0",
    "No Challenge": "#2166ac",
    "Tie": "#94a3b8",
}
# Darker, for lettering on the quadrants' light tints.
SCENARIO_INKS = {"Classic": "#8f1524", "Observed": "#8a4a00", "Unobserved": "#54458c", "No Challenge": "#1b4f87"}
Measure = Literal["ST", "SD", "TD"]


def heatmap(task: TaskScores, measure: Measure) -> "Figure":
    """Draw sources by targets: ST with in-domain scores on the diagonal, or the drops SD or TD.

    Rows are sources, columns targets. SD and TD share one scale, centred on 0: red lost score, blue gained.
    """
    import plotly.graph_objects as go

    sources = _sources(task)
    cells = _cells(task, measure)
    grid = [[cells.get((source, target)) for target in task.domains] for source in sources]
    low, high = _range(task, measure)
    scale = _colorscale(SEQUENTIAL if measure == "ST" else DIVERGING)
    rows, columns = [_label(source) for source in sources], [_label(target) for target in task.domains]
    figure = go.Figure(
        go.Heatmap(
            z=[[None if value is None else 100 * value for value in row] for row in grid],
            x=columns,
            y=rows,
            zmin=100 * low,
            zmax=100 * high,
            colorscale=scale,
            showscale=False,
            xgap=2,
            ygap=2,
            hoverongaps=False,
            text=[[_cell_hover(task, source, target) for target in task.domains] for source in sources],
            hovertemplate="%{text}<extra></extra>",
        )
    )
    _print_values(figure, measure, sources, task.domains, grid, (low, high))
    _style(figure, height=96 + max(len(sources) * 46, 120), left=8, bottom=8)
    figure.update_xaxes(title_text="tested on", side="top", tickangle=-35, showgrid=False)
    figure.update_yaxes(title_text="trained on", autorange="reversed", showgrid=False)
    return figure


def scenario_plane(task: TaskScores) -> "Figure":
    """Draw each shift by its drops, SD across and TD up, over the four scenario quadrants; intervals are crosses.

    Marks are filled where the scenario is resolved.
    """
    import plotly.graph_objects as go

    known = [shift for shift in task.shifts if shift.sd.value is not None and shift.td.value is not None]
    ends = [end for shift in known for drop in (shift.sd, shift.td) for end in (drop.value, drop.low, drop.high)]
    edge = 130 * max([0.02, *(abs(end) for end in ends if end is not None)])
    figure = go.Figure()
    for name, x, y in (("Classic", 1, 1), ("Observed", 1, -1), ("Unobserved", -1, 1), ("No Challenge", -1, -1)):
        colour = SCENARIO_COLOURS[name]
        figure.add_shape(
            type="rect",
            x0=0,
            x1=x * edge,
            y0=0,
            y1=y * edge,
            fillcolor=colour,
            opacity=0.09,
            line_width=0,
            layer="below",
        )
        figure.add_annotation(
            x=x * edge * 0.98,
            y=y * edge * 0.97,
            text=f"<b>{name}</b>",
            showarrow=False,
            font={"size": 12, "color": SCENARIO_INKS[name]},
            xanchor="right" if x > 0 else "left",
            yanchor="top" if y > 0 else "bottom",
        )
    for index, source in enumerate(_sources(task)):
        shifts = [shift for shift in known if shift.source == source]
        if shifts:
            figure.add_scatter(
                x=[_points(shift.sd.value) for shift in shifts],
                y=[_points(shift.td.value) for shift in shifts],
                mode="markers",
                name=_label(source),
                marker={
                    "size": 10,
                    "color": SOURCE_COLOURS[index % len(SOURCE_COLOURS)],
                    "symbol": [SYMBOLS[index % len(SYMBOLS)] + ("" if shift.resolved else "-open") for shift in shifts],
                    "line": {"width": 1.5},
                },
                error_x=_bars([shift.sd for shift in shifts]),
                error_y=_bars([shift.td for shift in shifts]),
                text=[_shift_hover(shift) for shift in shifts],
                hovertemplate="%{text}<extra></extra>",
            )
    _style(figure, height=430, left=8, bottom=8)
    axis = {"range": [-edge, edge], "zeroline": True, "zerolinecolor": MUTED, "zerolinewidth": 1.2, "nticks": 7}
    figure.update_xaxes(title_text="SD = SS \N{MINUS SIGN} ST, points", **axis)
    figure.update_yaxes(title_text="TD = TT \N{MINUS SIGN} ST, points", **axis)
    _legend(figure, "trained on")
    return figure


def depth_curves(task: TaskScores) -> "Figure":
    """Draw Depth F1 against lambda: a thin line for each shift, a thick one with intervals for their mean."""
    import plotly.graph_objects as go

    figure = go.Figure()
    keys = [str(lambda_) for lambda_ in LAMBDAS]
    first = True
    for shift in task.shifts:
        here = [key for key in keys if key in shift.depth_f1]
        if not here:
            continue
        figure.add_scatter(
            x=[int(key) for key in here],
            y=[_points(shift.depth_f1[key].value) for key in here],
            mode="lines",
            line={"color": "rgba(100, 116, 139, 0.7)", "width": 1},
            name="one shift",
            legendgroup="shift",
            showlegend=first,
            text=[
                f"{_arrow(shift)}<br>Depth F1 {score_text(shift.depth_f1[key])} at λ = {key}"
                f"<br>effective n {shift.effective_n.get(key, 0.0):,.0f} of {shift.n:,} texts"
                for key in here
            ],
            hovertemplate="%{text}<extra></extra>",
        )
        first = False
    mean = task.summary.depth_f1
    here = [key for key in keys if key in mean]
    figure.add_scatter(
        x=[int(key) for key in here],
        y=[_points(mean[key].value) for key in here],
        error_y=_bars([mean[key] for key in here], width=4),
        mode="lines+markers",
        line={"color": ACCENT, "width": 3.5},
        marker={"size": 8},
        name=f"mean of {task.summary.n_shifts} shifts",
        text=[f"mean Depth F1 {score_text(mean[key])} at λ = {key}<br>{_effective(task.shifts, key)}" for key in here],
        hovertemplate="%{text}<extra></extra>",
    )
    _style(figure, height=430, left=8, bottom=8)
    figure.update_xaxes(
        title_text="λ: most source-like texts left out, %", tickvals=list(LAMBDAS), range=[-3, 93], showgrid=False
    )
    figure.update_yaxes(title_text="Depth F1, points", nticks=7)
    _legend(figure, "")
    return figure


def has_drops(task: TaskScores) -> bool:
    """Whether any shift has both drops, so that the scenario picture shows something."""
    return any(shift.sd.value is not None and shift.td.value is not None for shift in task.shifts)


def has_depth(task: TaskScores) -> bool:
    """Whether any shift has depth-weighted scores."""
    return any(shift.depth_f1 for shift in task.shifts)


def contrast(colour: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    """Contrast ratio of two sRGB colours (0-255 each), from 1 to 21, as WCAG 2 defines it.

    >>> round(contrast((0, 0, 0), (255, 255, 255)), 1)
    21.0
    """
    light, dark = sorted((_luminance(colour), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def cell_colours(value: float, low: float, high: float, measure: Measure) -> tuple[str, str]:
    """Give a heatmap cell's fill and the colour of its text, the one of white and near-black that stands out.

    Args:
        value: fraction in [low, high].
        low: value at the scale's lower end.
        high: value at its upper end.
        measure: which scale.
    """
    colours = [_rgb(colour) for colour in (SEQUENTIAL if measure == "ST" else DIVERGING)]
    place = (value - low) / (high - low) * (len(colours) - 1) if high > low else 0.0
    place = min(max(place, 0.0), len(colours) - 1)
    left = min(int(place), len(colours) - 2)
    part = place - left
    red, green, blue = (a + part * (b - a) for a, b in zip(colours[left], colours[left + 1], strict=True))
    fill = (red, green, blue)
    # One of pure white and black has a contrast of 4.58 or more on any colour; a softer black does not.
    text = max(("#ffffff", "#000000"), key=lambda colour: contrast(_rgb(colour), fill))
    return f"rgb({red:.0f}, {green:.0f}, {blue:.0f})", text


def _print_values(
    figure: "Figure",
    measure: Measure,
    sources: Sequence[str],
    targets: Sequence[str],
    grid: list[list[float | None]],
    ends: tuple[float, float],
) -> None:
    """Print each cell's value in a colour that can be read on the cell."""
    written: dict[str, list[tuple[str, str, str]]] = {}
    for source, row in zip(sources, grid, strict=True):
        for target, value in zip(targets, row, strict=True):
            if value is None:
                text, colour = ("" if measure != "ST" and source == target else MISSING), MUTED
            else:
                text = points(value) if measure == "ST" else drop_points(value)
                colour = cell_colours(value, *ends, measure)[1]
            if measure == "ST" and source == target and value is not None:
                text = f"<b>{text}</b>"
            written.setdefault(colour, []).append((_label(target), _label(source), text))
    for colour, texts in written.items():
        figure.add_scatter(
            x=[x for x, _, _ in texts],
            y=[y for _, y, _ in texts],
            text=[text for _, _, text in texts],
            mode="text",
            textfont={"color": colour, "size": 13 if len(targets) <= 6 else 10},
            hoverinfo="skip",
            showlegend=False,
            cliponaxis=False,
        )


def _cells(task: TaskScores, measure: Measure) -> dict[tuple[str, str], float | None]:
    name = measure.lower()
    cells = {(shift.source, shift.target): getattr(shift, name).value for shift in task.shifts}
    if measure == "ST":
        cells |= {(own.domain, own.domain): own.score.value for own in task.in_domain}
    return cells


def _range(task: TaskScores, measure: Measure) -> tuple[float, float]:
    if measure == "ST":
        scores = [value for value in _cells(task, "ST").values() if value is not None]
        return (min(scores), max(scores)) if scores else (0.0, 1.0)
    drops = [abs(v) for name in ("SD", "TD") for v in _cells(task, name).values() if v is not None]
    # A floor keeps rounding dust from looking like a loss.
    reach = max([0.02, *drops])
    return -reach, reach


def _sources(task: TaskScores) -> list[str]:
    """Every source with a score, domains in their own order first."""
    found = {shift.source for shift in task.shifts} | {own.domain for own in task.in_domain}
    return [domain for domain in task.domains if domain in found] + sorted(found - set(task.domains))


def _cell_hover(task: TaskScores, source: str, target: str) -> str:
    for own in task.in_domain:
        if own.domain == source == target:
            return f"<b>{_label(source)}, in-domain</b><br>{score_text(own.score)} on {own.n:,} texts"
    for shift in task.shifts:
        if (shift.source, shift.target) == (source, target):
            return _shift_hover(shift)
    return f"{_label(source)} \N{RIGHTWARDS ARROW} {_label(target)}<br>no predictions"


def _shift_hover(shift: Shift) -> str:
    support = ", ".join(f"{name} {share(part)}" for name, part in shift.scenario_support.items())
    return (
        f"<b>{_arrow(shift)}</b><br>ST {score_text(shift.st)}<br>SS {score_text(shift.ss)}, TT {score_text(shift.tt)}"
        f"<br>SD {drop_text(shift.sd)}, TD {drop_text(shift.td)}: {shift.scenario}"
        + (f"<br>of replicates: {support}" if support else "")
        + f"<br>{shift.n:,} texts, {shift.runs} run{'s' if shift.runs != 1 else ''}"
    )


def _bars(estimates: Sequence[Estimate], width: int = 0) -> dict[str, Any] | None:
    """Give plotly's error bars, from value to either end of the interval; None where no figure has one."""
    if all(item.low is None or item.high is None for item in estimates):
        return None
    ends = [
        (None, None)
        if item.value is None or item.low is None or item.high is None
        else (100 * (item.value - item.low), 100 * (item.high - item.value))
        for item in estimates
    ]
    down, up = zip(*ends, strict=True)
    return {
        "type": "data",
        "symmetric": False,
        "array": list(up),
        "arrayminus": list(down),
        "thickness": 1,
        "width": width,
    }


def _effective(shifts: Sequence[Shift], key: str) -> str:
    sizes = [shift.effective_n[key] for shift in shifts if key in shift.effective_n]
    return f"effective n from {min(sizes):,.0f} to {max(sizes):,.0f}" if sizes else "effective n unknown"


def _arrow(shift: Shift) -> str:
    return f"{_label(shift.source)} \N{RIGHTWARDS ARROW} {_label(shift.target)}"


def _label(name: str) -> str:
    return "none (zero-shot)" if name == NO_SOURCE else html.escape(name.replace("+", " + "))


def _points(fraction: float | None) -> float | None:
    return None if fraction is None else 100 * fraction


def _colorscale(colours: Sequence[str]) -> list[list[Any]]:
    return [[index / (len(colours) - 1), colour] for index, colour in enumerate(colours)]


def _style(figure: "Figure", *, height: int, left: int, bottom: int) -> None:
    figure.update_layout(
        template="none",
        autosize=True,
        height=height,
        margin={"l": left, "r": 12, "t": 8, "b": bottom},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": 12, "color": INK},
        hoverlabel={"font": {"family": FONT, "size": 12}, "align": "left"},
        dragmode=False,
        showlegend=False,
    )
    # Ticks that are not seen keep the lettering off the picture.
    ticks: dict[str, Any] = {"ticks": "outside", "ticklen": 5, "tickcolor": "rgba(0,0,0,0)"}
    # A finger that scrolls the page must not zoom the picture.
    figure.update_xaxes(automargin=True, fixedrange=True, gridcolor=GRID, zeroline=False, title_standoff=10, **ticks)
    figure.update_yaxes(automargin=True, fixedrange=True, gridcolor=GRID, zeroline=False, title_standoff=10, **ticks)


def _legend(figure: "Figure", title: str) -> None:
    figure.update_layout(
        showlegend=True,
        legend={
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "y": 1.02,
            "yanchor": "bottom",
            "title": {"text": title},
        },
    )


def _rgb(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return float(red), float(green), float(blue)


def _luminance(colour: tuple[float, float, float]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (value / 255 for value in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
