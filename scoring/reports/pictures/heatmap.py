"""Matrices as tables, names down the side and across the top: sources by targets in coloured cells, and others."""

from collections.abc import Callable, Sequence

from shiftbench.scoring.reports.frame.html import Markup, tag


def matrix(
    rows: Sequence[str], columns: Sequence[str], name: str, cell: Callable[[str, str], Markup], corner: str = ""
) -> Markup:
    """Build a matrix in a box that scrolls by itself.

    Args:
        rows: names of the rows.
        columns: names of the columns.
        name: what it holds, for screen readers.
        cell: gives the cell of a row and a column.
        corner: what stands where the names meet.
    """
    heads = [tag("th", tag("span", column), scope="col", title=column) for column in columns]
    body = [
        tag("tr", tag("th", tag("span", row), scope="row", title=row), *(cell(row, column) for column in columns))
        for row in rows
    ]
    table = tag(
        "table",
        tag("caption", name, class_="sb-hidden"),
        tag("thead", tag("tr", tag("td", tag("span", corner), class_="sb-corner"), *heads)),
        tag("tbody", *body),
        class_="sb-matrix",
    )
    return tag("div", table, class_="sb-matrix-box", tabindex="0", role="region", aria_label=name)
