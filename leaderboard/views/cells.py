"""Cells and headings that the tables of all boards share."""

from collections.abc import Callable, Sequence

from leaderboard.scores import Estimate
from leaderboard.views.board import BOARD_LAMBDAS, BoardRow
from leaderboard.views.html import Markup, tag
from leaderboard.views.numbers import interval, points

UP, DOWN = "\N{UPWARDS ARROW}", "\N{DOWNWARDS ARROW}"
_BETTER = {UP: "higher is better", DOWN: "lower is better"}


def column_head(name: str, arrow: str = "", meaning: str = "") -> Markup:
    """Give a column's heading: a button that sorts, with the arrow of the better direction."""
    title = f"{meaning}; {_BETTER[arrow]}" if arrow else None
    label = (
        tag("span", name, "\N{NO-BREAK SPACE}", tag("span", arrow, class_="sb-arrow")) if arrow else tag("span", name)
    )
    button = tag("button", label, type="button", title=title)
    return tag("th", button, scope="col", class_="sb-num" if arrow or name == "#" else None)


def entry_cells(row: BoardRow, remark: str = "") -> list[Markup]:
    """Give a row's first cells: rank, name with a remark and what it lacks, paradigm."""
    note = [tag("span", remark, class_="sb-note")] if remark else []
    if row.rank is None:
        n = len(row.missing)
        text = f"unranked, {row.n_shifts} shift{'s' if row.n_shifts != 1 else ''}: " + "".join(row.missing[:1])
        text += f"; {n - 1} more" if n > 1 else ""
        note.append(tag("span", text, class_="sb-note", title="\n".join(row.missing[:40])))
    name = tag("th", tag("a", row.name, href=f"?entry={row.id}"), *note, scope="row", data_value=row.name)
    rank = tag(
        "td",
        str(row.rank) if row.rank else "\N{EN DASH}",
        class_="sb-num sb-rank",
        data_value=str(row.rank) if row.rank else "",
    )
    return [rank, name, tag("td", row.paradigm)]


def entry_heads() -> list[Markup]:
    """Give the headings of a row's first cells."""
    return [column_head(name) for name in ("#", "Entry", "Paradigm")]


def depth_heads() -> list[Markup]:
    """Give the headings of the depth columns."""
    meaning = "mean Depth F1 with the {}% most source-like texts left out"
    return [column_head(f"DF1 λ={key}", UP, meaning.format(key)) for key in BOARD_LAMBDAS]


def depth_cells(row: BoardRow) -> list[Markup]:
    """Give the cells of the depth columns."""
    return [number_cell(row.depth_f1[key], points) for key in BOARD_LAMBDAS]


def date_cell(row: BoardRow) -> Markup:
    """Say when an entry was submitted, and by whom."""
    who = tag("span", row.submitter, class_="sb-note")
    return tag("td", row.date, who, data_value=row.date, class_="sb-date")


def number_cell(estimate: Estimate, written: Callable[[float | None], str]) -> Markup:
    """Give a cell of a figure; an empty sort value keeps a missing one last in either direction."""
    missing, value = estimate.value is None, estimate.value
    return tag(
        "td",
        *with_interval(estimate, written),
        class_="sb-num sb-na" if missing else "sb-num",
        data_value="" if missing else repr(value),
    )


def with_interval(estimate: Estimate, written: Callable[[float | None], str]) -> list[str | Markup]:
    """Give a figure and, small below it, its interval where there is one."""
    bounds = interval(estimate)
    return [written(estimate.value), *([tag("span", bounds, class_="sb-interval")] if bounds else [])]


def fact_list(items: Sequence[tuple[str, str | Markup]], class_: str) -> Markup:
    """Give a list of terms and their values."""
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in items), class_=class_)


def scroll_box(table: Markup, label: str) -> Markup:
    """Let a wide table scroll in its own box, reachable by keyboard, so that the page itself never does."""
    return tag("div", table, class_="sb-scroll", tabindex="0", role="region", aria_label=label)
