"""A selection of data sets as text tables (scores, margins in points, similarity as a cosine x 100) and as a figure."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from shiftbench.scoring.papers.protocol.choice import DatasetChoice, Decision
from shiftbench.scoring.papers.protocol.rule import BREADTH, CHOSEN, DROP, SOURCE_TAKEN, TRAIN_ROWS, UNFIT
from shiftbench.scoring.reports.numbers import plain_points, plain_score
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.scoring.scores.shape import Estimate
from shiftbench.validation.png import draw_panels
from shiftbench.validation.report import InvalidInput, Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_NAME = "data set"
_NONE = "-"
_LESS = {BREADTH: "less breadth", TRAIN_ROWS: "no more train rows"}


def choice_lines(choice: DatasetChoice) -> Iterator[RenderableType]:
    """List the candidates' statistics, similarity and scores, the selection with its reasons, and the notes.

    Args:
        choice: the selection.
    """
    yield _statistics(choice)
    if choice.similarity:
        yield _similarity(choice)
    if choice.model is not None:
        rows = [[item.name, _points(item.score), _points(item.drop)] for item in choice.candidates]
        title = f"{choice.task}: {choice.model}, {choice.metric} in points"
        yield PlainTable(title, (_NAME, "score", "drop"), rows)
    yield _selection(choice)
    yield from choice.notes
    ood = "?" if choice.ood is None else ", ".join(choice.ood) or "none"
    yield f"\n{choice.task}: {choice.id or '?'} -> {ood}"


def _statistics(choice: DatasetChoice) -> PlainTable:
    fields = list(dict.fromkeys(field for item in choice.candidates for field in item.words))
    columns = (_NAME, "train", "test", "classes", "smallest\nclass")
    rows = []
    for item in choice.candidates:
        counts = [_count(item.train or None), _count(item.test or None), _count(item.n_classes)]
        words = [f"{_length(item.words[f].train)} / {_length(item.words[f].test)}" for f in fields]
        smallest = _count(item.smallest_class if item.train else None)
        if item.smallest_class_is_bound and item.train:
            smallest = f"≤{smallest}"
        source = " &\n".join(item.text_sources) or "unknown"
        if item.challenge:
            source += "\n(adversarial" + (f" from {item.made_from})" if item.made_from else ")")
        rows.append([item.name, *counts, smallest, *words, str(item.breadth), source])
    lengths = [f"words of\n{field}\ntrain / test" for field in fields]
    title = f"{choice.task}: candidates, rows and mean lengths"
    return PlainTable(title, (*columns, *lengths, "breadth", "text source"), rows, texts=("text source",))


def _similarity(choice: DatasetChoice) -> PlainTable:
    names = [item.name for item in choice.candidates if item.name in choice.similarity]
    rows = [[a, *(plain_points(choice.similarity[a][b]) for b in names)] for a in names]
    encoder, _, revision = (choice.encoder or "").rpartition("@")
    title = (
        f"{choice.task}: cosine x 100 of mean embeddings of test texts ({encoder or revision}); not used by the rule"
    )
    return PlainTable(title, (_NAME, *names), rows)


def _selection(choice: DatasetChoice) -> PlainTable:
    scored = choice.ood is not None
    columns = (_NAME, "could be the ID", *(("OOD", "why", "margin", "frequency") if scored else ()))
    rows = []
    for item in choice.candidates:
        could = id_words(item)
        if scored:
            share = _NONE if item.frequency is None else f"{100 * item.frequency:.1f}%"
            chosen = "OOD" if item.chosen else "ID" if item.name == choice.id else "no"
            rows.append([item.name, could, chosen, reason_words(item), _points(item.margin), share])
        else:
            rows.append([item.name, could])
    title = f"{choice.task}: selection" + (
        "; margin: change in points of its score that would change the decision; frequency: share of resamples that "
        "select it"
        if scored
        else ""
    )
    return PlainTable(title, columns, rows, texts=("could be the ID", "OOD", "why"))


def id_words(item: Decision) -> str:
    """Write whether a candidate could be the ID, and the deciding reason."""
    if item.id_reason in UNFIT:
        return f"no: {item.id_reason}"
    return "the rule's ID" if item.id_reason == CHOSEN else f"yes; {_LESS[item.id_reason]}"


def reason_words(item: Decision) -> str:
    """Explain why a candidate was selected as OOD or not, with the candidate that it was compared with."""
    if item.reason == CHOSEN:
        return f"{CHOSEN}; next: {item.rival}" if item.rival else f"{CHOSEN}; no other candidate"
    if item.reason == SOURCE_TAKEN:
        return f"same source as {item.rival}"
    return f"smaller {DROP} than {item.rival}" if item.reason == DROP else item.reason or ""


def _points(estimate: Estimate | None) -> str:
    """Format points with two decimals: candidates may be a few hundredths apart."""
    return _NONE if estimate is None or estimate.value is None else plain_score(estimate, decimals=2)


def _count(value: int | None) -> str:
    return _NONE if value is None else f"{value:,}"


def _length(value: float | None) -> str:
    return _NONE if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.1f}"


_WIDTH = 6.0
"""Inches per panel."""
_ACCENT, _ID, _REST = "#0072B2", "#E69F00", "#BBBBBB"
# With more data sets, numbers in the heatmap would overlap.
_MOST_CELLS = 14
_LONGEST = 18


def choice_picture(choice: DatasetChoice) -> bytes:
    """Draw a selection: a heatmap if similarity was measured, bars if an ID model was tested.

    Args:
        choice: the selection.

    Returns: the bytes of a PNG, deterministic given selection and matplotlib version.

    Raises: InvalidInput if there is neither.
    """
    panels: list[Callable[[Axes], None]] = []
    if choice.similarity:
        panels.append(lambda axis: _heatmap(axis, choice))
    if choice.model is not None:
        panels.append(lambda axis: _bars(axis, choice))
    if not panels:
        what, cure = (
            "there is nothing to plot",
            "set SHIFTBENCH_ENCODER for similarities, give --predictions for scores",
        )
        raise InvalidInput(Problem(what, "--picture", cure=cure))
    height = 1.7 + 0.36 * len(choice.candidates)
    return draw_panels(panels, columns=len(panels), width=_WIDTH * len(panels), heights=[height])


def _heatmap(axis: "Axes", choice: DatasetChoice) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    items = [item for item in choice.candidates if item.name in choice.similarity]
    grid = [[choice.similarity[a.name][b.name] for b in items] for a in items]
    norm = Normalize(min(0.0, *(value for row in grid for value in row)), 1.0)
    colours = colormaps["cividis"]
    axis.imshow(grid, cmap=colours, norm=norm, aspect="auto")
    if len(items) <= _MOST_CELLS:
        for row, values in enumerate(grid):
            for column, value in enumerate(values):
                ink = _ink(colours(norm(value)))
                text = f"{round(100 * value) + 0:d}"
                axis.text(column, row, text, ha="center", va="center", fontsize=8, color=ink)
    names = [_cut(item.name) for item in items]
    axis.set_xticks(range(len(items)), names, rotation=35, ha="right", rotation_mode="anchor")
    axis.set_yticks(range(len(items)), names)
    for labels in (axis.get_xticklabels(), axis.get_yticklabels()):
        for label, item in zip(labels, items, strict=True):
            _set_bold(label, item, choice)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    axis.set_title(f"{choice.task}: similarity of test texts (cosine x 100)", loc="left")


def _bars(axis: "Axes", choice: DatasetChoice) -> None:
    from matplotlib.patches import Patch

    items = choice.candidates
    for place, item in enumerate(items):
        _bar(axis, place, item, choice)
    axis.set_yticks(range(len(items)), [_cut(item.name) for item in items])
    for label, item in zip(axis.get_yticklabels(), items, strict=True):
        _set_bold(label, item, choice)
    axis.set_ylim(len(items) - 0.5, -0.5)
    axis.tick_params(axis="y", length=0)
    axis.set_xlim(0, 118)  # room for the numbers
    axis.set_xticks(range(0, 101, 20))
    legend = [
        Patch(color=_ID, label="ID"),
        Patch(color=_ACCENT, label="chosen as OOD"),
        Patch(color=_REST, label="not chosen"),
    ]
    place_: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (-0.02, 0.99), "ncols": 3}
    axis.legend(handles=legend, **place_, frameon=False, fontsize=8, handlelength=1.0, borderaxespad=0.2)
    axis.set_title(f"{choice.metric} of the ID model, points; lines: 95% intervals", loc="left", pad=22)


def _bar(axis: "Axes", place: int, item: Decision, choice: DatasetChoice) -> None:
    if item.score is None or item.score.value is None:
        axis.text(1, place, "no score", va="center", fontsize=8)
        return
    value, low, high = item.score.value, item.score.low, item.score.high
    fill = _ID if item.name == choice.id else _ACCENT if item.chosen else _REST
    axis.barh(place, 100 * value, 0.7, color=fill)
    end = value
    if low is not None and high is not None:
        for colour, width in (("white", 4), ("black", 2)):  # the bars are dark
            axis.plot([100 * low, 100 * high], [place, place], color=colour, linewidth=width, solid_capstyle="butt")
        end = max(value, high)
    axis.text(100 * end, place, f" {100 * value:.1f}", va="center")


def _set_bold(label: Any, item: Decision, choice: DatasetChoice) -> None:
    """Set names of ID and OOD data sets in bold, OOD in the accent colour (orange is too faint on white)."""
    if item.chosen or item.name == choice.id:
        label.set_fontweight("bold")
    if item.chosen:
        label.set_color(_ACCENT)


def _ink(colour: Any) -> str:
    """Choose black or white for text on a colour, by its luminance (Rec. 709)."""
    red, green, blue = colour[:3]
    return "black" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.45 else "white"


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
