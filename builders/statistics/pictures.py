"""Plot of a task's statistics: small panels in one PNG, 1000 pixels wide, on a white background.

Colours are Okabe and Ito's (2008) and cividis, which are safe for colour-blind readers; proportions and divergences are
also labelled with numbers. All values are also in the JSON data and the card's tables.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shiftbench.builders.folder.statistics import Lengths, SplitStatistics, TaskStatistics
from shiftbench.validation.png import draw_panels
from shiftbench.validation.vocabulary import SPLITS, TaskKind

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH = 10.0
"""Width in inches."""
_OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
_OTHER = "#999999"
_MOST_CELLS = 12
# With more domains, the numbers in a heatmap would overlap.
_LONGEST = 18

Panel = Callable[["Axes"], None]


def statistics_picture(statistics: TaskStatistics) -> bytes:
    """Plot a task's statistics.

    Panels: rows by split; proportions of classes, unanswerable questions, or tags; lengths of targets (generation) and
    of inputs; out-of-vocabulary test words; divergence; and Q if there are depths. Empty panels are omitted. Requires
    the ``matplotlib`` package.

    Args:
        statistics: statistics of one task, with at least one row.
    Returns: the bytes of a PNG, 1000 pixels wide; deterministic for the same matplotlib version.
    Raises: ValueError if there is no row.
    """
    if not any(facts.splits for facts in statistics.domains.values()):
        raise ValueError("there are no rows to plot; check the task's splits first")
    panels = _panels(statistics)
    n_rows = -(-len(panels) // 2)
    n = len(statistics.domains)
    heights = [max(2.2, 1.3 + 0.27 * n) if row < 2 else max(2.6, 1.5 + 0.36 * n) for row in range(n_rows)]
    return draw_panels(panels, columns=2, width=_WIDTH, heights=heights)


def _panels(statistics: TaskStatistics) -> list[Panel]:
    split = _main_split(statistics)
    shown = {name: facts.splits[split] for name, facts in statistics.domains.items() if split in facts.splits}
    unit = "tokens" if statistics.kind is TaskKind.TAGGING else "words"
    targets = {name: facts.target_words for name, facts in shown.items() if facts.target_words is not None}
    inputs = {name: facts.input_words for name, facts in shown.items()}
    unseen = {
        name: facts.unseen_test_share
        for name, facts in statistics.domains.items()
        if facts.unseen_test_share is not None
    }
    q = {(pair.source, pair.target): pair.q for pair in statistics.depths}
    divergence = {(a, b): value for a, row in statistics.divergence.items() for b, value in row.items()}
    shares = _shares(shown)
    panels: list[tuple[bool, Panel]] = [
        (True, lambda axis: _draw_rows(axis, statistics)),
        (bool(shares), lambda axis: _stacked(axis, f"{_SHARES.get(statistics.kind, '')}, {split}", shares)),
        (bool(targets), lambda axis: _boxes(axis, f"length of targets, {split} (words)", targets)),
        (True, lambda axis: _boxes(axis, f"length of inputs, {split} ({unit})", inputs)),
        (bool(unseen), lambda axis: _bars(axis, "words of test not seen in train", unseen)),
        (
            len(statistics.divergence) > 1,
            lambda axis: _heatmap(axis, "divergence of train words (Jensen-Shannon, bits)", divergence, 0.1),
        ),
        (bool(q), lambda axis: _heatmap(axis, "Q: target's test texts in the source", q, 0.5, ("target", "source"))),
    ]
    return [panel for wanted, panel in panels if wanted]


_SHARES = {
    TaskKind.CLASSIFICATION: "class proportions",
    TaskKind.TAGGING: "proportions of tags other than O",
    TaskKind.EXTRACTIVE_QA: "proportions of questions",
}


def _main_split(statistics: TaskStatistics) -> str:
    """Choose the split to plot: the first one among those that most domains have."""
    n_domains = {split: sum(split in facts.splits for facts in statistics.domains.values()) for split in SPLITS}
    return max(SPLITS, key=lambda split: n_domains[split])


def _shares(shown: Mapping[str, SplitStatistics]) -> dict[str, dict[str, float]]:
    """Return each domain's proportions, with rare names merged to 'others' if there are too many."""
    shares = {name: _by_type(facts.shares) if facts.tags else facts.shares for name, facts in shown.items()}
    shares = {name: of for name, of in shares.items() if of}
    labels = list(dict.fromkeys(label for of in shares.values() for label in of))
    if len(labels) <= len(_OKABE_ITO):
        return shares
    by_size = sorted(labels, key=lambda label: -sum(of.get(label, 0.0) for of in shares.values()))
    kept = [label for label in labels if label in by_size[: len(_OKABE_ITO)]]
    return {
        name: {label: of.get(label, 0.0) for label in kept}
        | {"others": sum(of.values()) - sum(of.get(label, 0.0) for label in kept)}
        for name, of in shares.items()
    }


def _by_type(tags: Mapping[str, float]) -> dict[str, float]:
    """Merge the proportions of B-X and I-X, and omit O, which would dwarf the others."""
    shares: dict[str, float] = {}
    for tag, share in tags.items():
        if tag != "O":
            name = tag.removeprefix("B-").removeprefix("I-")
            shares[name] = shares.get(name, 0.0) + share
    return shares


def _draw_rows(axis: "Axes", statistics: TaskStatistics) -> None:
    domains = list(statistics.domains)
    splits = [split for split in SPLITS if any(split in facts.splits for facts in statistics.domains.values())]
    height = 0.8 / len(splits)
    for number, split in enumerate(splits):
        rows = [facts.splits[split].rows if split in facts.splits else 0 for facts in statistics.domains.values()]
        places = [place - 0.4 + (number + 0.5) * height for place in range(len(domains))]
        axis.barh(places, rows, height, label=split, color=_OKABE_ITO[number])
    _domain_axis(axis, domains)
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.locator_params(axis="x", nbins=5)
    _legend(axis, "rows")


def _stacked(axis: "Axes", title: str, shares: Mapping[str, Mapping[str, float]]) -> None:
    left = [0.0] * len(shares)
    for number, label in enumerate(next(iter(shares.values()))):
        widths = [of[label] for of in shares.values()]
        colour = _OKABE_ITO[number] if number < len(_OKABE_ITO) else _OTHER
        axis.barh(range(len(shares)), widths, 0.7, left=left, label=_cut(label), color=colour)
        for place, (start, width) in enumerate(zip(left, widths, strict=True)):
            if width >= 0.08 * max(sum(of.values()) for of in shares.values()):
                axis.text(start + width / 2, place, f"{100 * width:.0f}%", ha="center", va="center", color=_ink(colour))
        left = [start + width for start, width in zip(left, widths, strict=True)]
    _domain_axis(axis, list(shares))
    axis.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.3g}%")
    axis.set_xlim(0, max(left) or 1.0)
    _legend(axis, title)


def _bars(axis: "Axes", title: str, values: Mapping[str, float]) -> None:
    axis.barh(range(len(values)), list(values.values()), 0.7, color=_OKABE_ITO[4])
    for place, value in enumerate(values.values()):
        axis.text(value, place, f" {100 * value:.1f}%", va="center")
    _domain_axis(axis, list(values))
    axis.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.3g}%")
    axis.set_xlim(0, 1.18 * max(values.values()) or 1.0)  # room for the numbers
    axis.locator_params(axis="x", nbins=5)
    axis.set_title(title, loc="left")


def _boxes(axis: "Axes", title: str, lengths: Mapping[str, Lengths]) -> None:
    boxes = []
    for facts in lengths.values():
        _, low, q1, median, q3, high, _ = facts.quantiles
        boxes.append({"whislo": low, "q1": q1, "med": median, "q3": q3, "whishi": high, "mean": facts.mean})
    axis.bxp(
        boxes,
        positions=list(range(len(boxes))),
        widths=0.6,
        orientation="horizontal",
        showfliers=False,
        showmeans=True,
        patch_artist=True,
        boxprops={"facecolor": _OKABE_ITO[4], "edgecolor": "black"},
        medianprops={"color": "black", "linewidth": 1.5},
        meanprops={"marker": "D", "markerfacecolor": "white", "markeredgecolor": "black", "markersize": 4},
    )
    _domain_axis(axis, list(lengths))
    axis.set_xlim(left=0)
    axis.set_title(title, loc="left")
    axis.set_xlabel("box: quartiles; whiskers: 5% to 95%; diamond: mean", fontsize=8)


def _heatmap(
    axis: "Axes",
    title: str,
    values: Mapping[tuple[str, str], float],
    brightest: float,
    names: tuple[str, str] = ("", ""),
) -> None:
    from matplotlib import colormaps

    rows = list(dict.fromkeys(row for row, _ in values))
    columns = list(dict.fromkeys(column for _, column in values))
    # Cells of pairs without a value stay white.
    grid = [[values.get((row, column), float("nan")) for column in columns] for row in rows]
    top = max(brightest, *values.values())
    colours = colormaps["cividis"]
    axis.imshow(grid, cmap=colours, vmin=0, vmax=top, aspect="auto")
    if max(len(rows), len(columns)) <= _MOST_CELLS:
        for (row, column), value in values.items():
            place, ink = (columns.index(column), rows.index(row)), _ink(colours(value / top))
            axis.text(*place, f"{value:.2f}", ha="center", va="center", fontsize=8, color=ink)
    axis.set_xticks(
        range(len(columns)), [_cut(name) for name in columns], rotation=35, ha="right", rotation_mode="anchor"
    )
    axis.set_yticks(range(len(rows)), [_cut(name) for name in rows])
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    axis.set_xlabel(names[0])
    axis.set_ylabel(names[1])
    axis.set_title(title, loc="left")


def _domain_axis(axis: "Axes", domains: Sequence[str]) -> None:
    """Label the bars of a horizontal bar chart with the domains, the first on top."""
    axis.set_yticks(range(len(domains)), [_cut(name) for name in domains])
    axis.set_ylim(len(domains) - 0.5, -0.5)
    axis.tick_params(axis="y", length=0)


def _legend(axis: "Axes", title: str) -> None:
    """Draw the legend between title and bars, so that it covers no bar."""
    names = axis.get_legend_handles_labels()[1]
    columns = 4 if max(map(len, names)) <= 11 else 3
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (-0.02, 0.99), "ncols": columns}
    axis.legend(**place, frameon=False, fontsize=8, handlelength=1.0, columnspacing=1.0, borderaxespad=0.2)
    axis.set_title(title, loc="left", pad=8 + 14 * -(-len(names) // columns))


def _ink(colour: Any) -> str:
    """Return black or white for text on a colour, by its luminance (Rec. 709)."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(colour)
    return "black" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.45 else "white"


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
