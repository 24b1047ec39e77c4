"""What tables of boards share: headings that sort and explain themselves, pages, what stands above the rows."""

from leaderboard.views.html import Markup, join, tag
from leaderboard.views.query import PAGE_ROWS, TableQuery
from validation.report import counted

BETTER = {"up": ("\N{UPWARDS ARROW}", "Higher is better."), "down": ("\N{DOWNWARDS ARROW}", "Lower is better.")}


def info_button(key: str, head: str, words: str, formula: str = "") -> Markup:
    """Build the i-button of a heading, which opens a short explanation, by keyboard and without script, too.

    Args:
        key: tells the buttons of a page apart.
        head: the heading.
        words: what it is, in one sentence.
        formula: how it is computed; empty where there is nothing to compute.
    """
    name = f"about-{''.join(letter if letter.isalnum() else '-' for letter in key)}"
    lines = [tag("strong", head), tag("p", words), *([tag("p", tag("code", formula))] if formula else [])]
    button = tag("button", "i", type="button", popovertarget=name, class_="sb-i", aria_label=f"What is {head}?")
    # No line ends between the heading and its button.
    return join([Markup("\N{NO-BREAK SPACE}"), button, tag("div", *lines, id=name, popover="", class_="sb-pop")])


def sort_head(
    query: TableQuery, key: str, head: str, first: str, info: Markup, *, class_: str | None = None, arrow: str = ""
) -> Markup:
    """Build a heading that sorts: the best first, and the other way when it is chosen again.

    Args:
        query: what the table shows now.
        key: what the heading sorts by.
        head: its words.
        first: the order of a first click.
        info: its i-button.
        class_: of the cell.
        arrow: which way is better; empty where none is.
    """
    is_sorted = query.sort == key
    order = {"asc": "desc", "desc": "asc"}[query.order] if is_sorted else first
    label = [head, *([tag("span", f"\N{NO-BREAK SPACE}{arrow}", class_="sb-arrow")] if arrow else [])]
    link = tag("a", *label, href=query.address(sort=key, order=order), id=f"sort-{key}", data_rows="")
    state = {"asc": "ascending", "desc": "descending"}[query.order] if is_sorted else None
    return tag("th", link, info, scope="col", class_=class_, aria_sort=state)


def intervals_switch(query: TableQuery) -> Markup:
    """Build the link that shows intervals with both ends, or as half-widths again."""
    is_full = query.intervals == "full"
    words = "Half-widths" if is_full else "Intervals in full"
    changed = query.address(intervals="" if is_full else "full", page=query.page)
    return tag("a", words, href=changed, class_="sb-button", id="board-intervals", data_rows="")


def shown_rows(first: int, n_shown: int, n_found: int, word: str) -> str:
    """Format which rows of how many stand on a page.

    >>> shown_rows(51, 20, 70, "row"), shown_rows(1, 1, 1, "row")
    ('51–70 of 70 rows', '1–1 of 1 row')
    """
    return f"{first:,}\N{EN DASH}{first + n_shown - 1:,} of {counted(n_found, word)}"


def last_page(n_rows: int) -> int:
    """Return the number of the last page of so many rows."""
    return max(-(-n_rows // PAGE_ROWS), 1)


def pager(query: TableQuery, page: int, last: int) -> Markup:
    """Build the links to a table's other pages."""
    if last == 1:
        return Markup("")
    near = sorted({1, *range(max(page - 2, 1), min(page + 2, last) + 1), last})
    parts = [_page_link(query, page - 1, "Previous", "prev")] if page > 1 else []
    for before, number in zip([0, *near], near, strict=False):
        if number > before + 1:
            parts.append(tag("span", "\N{HORIZONTAL ELLIPSIS}"))
        if number == page:
            parts.append(tag("span", f"{number:,}", aria_current="page"))
        else:
            parts.append(_page_link(query, number, f"{number:,}"))
    parts += [_page_link(query, page + 1, "Next", "next")] if page < last else []
    return tag("nav", *parts, class_="sb-pager", aria_label="Pages of the table")


def _page_link(query: TableQuery, number: int, words: str, rel: str | None = None) -> Markup:
    return tag("a", words, href=query.address(page=number), rel=rel, id=f"page-{words.lower()}", data_rows="")
