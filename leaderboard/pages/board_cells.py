"""The cells of a board's table."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl

from shiftbench.leaderboard.board import Board
from shiftbench.leaderboard.board.boards import ROUND
from shiftbench.leaderboard.board.copies import NEAR
from shiftbench.leaderboard.board.rows import NO_INTERVAL, PARTS, SHARES
from shiftbench.leaderboard.pages.addresses import entry_address
from shiftbench.leaderboard.pages.board_columns import Column
from shiftbench.leaderboard.pages.board_query import RANKED, REPORTED
from shiftbench.leaderboard.pages.links import icon_links
from shiftbench.scoring.comparing.shape import RECIPES, TRAINED_MODELS
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.intervals import Scale, picture
from shiftbench.scoring.reports.numbers import MISSING, count, drop_points, half_width, interval, points, share
from shiftbench.scoring.reports.pictures.words import ELSEWHERE_MARK
from shiftbench.scoring.scores.shape import OUTSIDE_BASES, Estimate
from shiftbench.validation.report import counted
from shiftbench.validation.vocabulary import ELSEWHERE, OUTSIDE_SOURCES

LEADING_SET = "in the leading set"
"""What is said of released rows that are not told apart from the one with the best score, which is not shown."""
Row = Mapping[str, Any]
"""One row of a board's table, as ``board_query.whole_table`` has it."""
_DASH = "\N{EN DASH}"
_COPIES_NAMED = 2
_SIZES = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "K"))
SCENARIO_WORDS = {
    "Classic": "SD > 0, TD > 0: the shift hurt",
    "Observed": "SD > 0, TD < 0: the target is harder, the shift itself did no harm",
    "Unobserved": "SD < 0, TD > 0: harm hidden by an easier target",
    "No Challenge": "SD < 0, TD < 0: the shift helped on both counts",
    "Tie": "a drop is exactly 0",
}


def scales_of(table: pl.DataFrame, columns: Sequence[Column]) -> dict[str, Scale]:
    """Return each figure's scale: from the lowest to the highest of the ranked rows, so that these compare by eye.

    What lies beyond stands at the end; of a board without ranked rows all rows count.
    """
    ranked = table.filter(pl.col("group") == RANKED)
    table = table if ranked.is_empty() else ranked
    scales = {}
    for column in columns:
        names = [f"{column.key}{part}" for part in PARTS if f"{column.key}{part}" in table.columns]
        if column.is_figure and names:
            ends = table.select(low=pl.min_horizontal(pl.col(names).min()), high=pl.max_horizontal(pl.col(names).max()))
            low, high = ends.row(0)
            if low is not None:
                scales[column.key] = Scale(low, high)
    return scales


def row_cells(
    row: Row,
    board: Board,
    columns: Sequence[Column],
    scales: Mapping[str, Scale],
    *,
    is_full: bool = False,
    picked: Collection[str] = (),
) -> Markup:
    """Build a row of the table, shaded where the entry is statistically tied with the leader.

    ``columns`` stand after rank and name, ``scales`` are those of the figures' pictures; with ``is_full`` intervals
    stand with both ends, not as half-widths; ``picked`` are the ids picked to be compared.
    """
    figures = [_cell(row, column, scales, is_full=is_full) for column in columns]
    is_leading = row["with_leader"] and not row.get("at_floor")
    class_ = ("sb-tied" if is_leading else None) if row["group"] == RANKED else "sb-unranked"
    return tag("tr", _pick(row, board, picked), _rank(row), _name(row, board.task), *figures, class_=class_)


def _pick(row: Row, board: Board, picked: Collection[str]) -> Markup:
    if row["group"] == REPORTED or not board.folder.has_public_labels:
        return tag("td", class_="sb-pick")
    label = f"Compare {row['name']}"
    checked = "" if row["id"] in picked else None
    box = tag(
        "input", type="checkbox", name="id", value=row["id"], checked=checked, form="sb-compare", aria_label=label
    )
    return tag("td", box, class_="sb-pick")


def _rank(row: Row) -> Markup:
    if row["rank"] is None:
        return tag("td", _DASH, class_="sb-num sb-rank sb-na")
    rank = str(row["rank"])
    if row["rank_low"] is None:
        return tag("td", rank, class_="sb-num sb-rank")
    low, high = row["rank_low"], row["rank_high"]
    subject = "as a recipe" if row["rank_about"] == RECIPES else TRAINED_MODELS
    words = f"rank {rank}; {subject}, with 95% confidence from {low} to {high}"
    words += "; statistically tied with the leader" if row["with_leader"] else ""
    return tag("td", rank, tag("span", f"[{low}{_DASH}{high}]", class_="sb-hw"), class_="sb-num sb-rank", title=words)


def _name(row: Row, task: str) -> Markup:
    if row["group"] == REPORTED:
        notes = [tag("span", note, class_="sb-note") for note in (row["paradigm"], *(row["footnotes"] or ())) if note]
        return tag("th", row["name"], *apart(notes), scope="row")
    same = [" ", tag("code", row["same_name"], title="first digits of the entry's id")] if row["same_name"] else []
    link = tag("a", row["name"], href=entry_address(row["id"], task))
    if row["look_alike"]:
        words = "an entry of another submitter has a name that looks like this one"
        same.extend([" ", tag("span", f"by {row['submitter']}", class_="sb-note", title=words)])
    return tag("th", link, *same, *apart([*_remarks(row), *_copy_notes(row)]), scope="row")


def _copy_notes(row: Row) -> list[Markup]:
    """List what is to be said of entries with the same predictions as a row's, and with nearly the same ones."""
    notes, copies = [], list(row["copies"] or ())
    if copies:
        more = f" and {len(copies) - _COPIES_NAMED:,} more" if len(copies) > _COPIES_NAMED else ""
        words = f"same predictions as {', '.join(copies[:_COPIES_NAMED])}{more}"
        title = "Later entries with the same predictions have no row of their own: " + ", ".join(copies[:40])
        notes.append(tag("span", words, class_="sb-note", title=title))
    if row.get("nearly_same_as"):
        words = f"nearly the same predictions as {row['nearly_same_as']}"
        title = f"at least {100 * NEAR:.1f}% of its predictions are those of that earlier entry"
        notes.append(tag("span", words, class_="sb-note", title=title))
    return notes


def apart(notes: Sequence[Markup]) -> list[Markup]:
    """Return notes that stand on one line, each after a space."""
    return [join([Markup(" "), note]) for note in notes]


def _remarks(row: Row) -> list[Markup]:
    """List its standing, its links, what is not seen in its figures (another training set, what it lacks), its kind."""
    remarks = []
    if row.get("at_floor"):
        words = (
            "Its score under shift is not shown to beat guessing or one label for all texts, so its drops "
            "say nothing about robustness."
        )
        remarks.append(tag("span", "not above chance", class_="sb-note", title=words))
    elif row.get("corrected") is not None:
        remarks.append(tag("span", "leads", class_="sb-note sb-mark"))
    elif row.get("with_leader") and row.get(ROUND) is not None:
        words = "leads, or is statistically tied with the leader"
        remarks.append(tag("span", LEADING_SET, class_="sb-note sb-mark", title=words))
    elif row.get("with_leader"):
        words = "is statistically tied with the leader"
        remarks.append(tag("span", "tied", class_="sb-note sb-mark", title=words))
    remarks += icon_links(row, row["name"])
    if ELSEWHERE in (row["trained_on"], row["basis"]):
        words = "trained outside this dataset: scores under shift only, drops do not apply"
        remarks.append(tag("span", ELSEWHERE_MARK, class_="sb-note", title=words))
    elif _is_outside(row) and row["paradigm"] != "zero-shot":
        remarks.append(tag("span", "trained on none of the domains", class_="sb-note"))
    elif row["trained_on"] is not None and "+" in row["trained_on"]:
        remarks.append(tag("span", f"trained on {row['trained_on'].replace('+', ' + ')}", class_="sb-note"))
    size = [short_count(row["parameters"])] if row["parameters"] is not None else []
    facts = tag("span", " \N{MIDDLE DOT} ".join([row["paradigm"], *size]), class_="sb-note")
    if row["group"] != RANKED:
        missing = list(row["missing"] or ())
        has = [counted(row["n_shifts"], "shift")] if row["n_shifts"] is not None else []
        text = "; ".join([*has, *missing[:1]])
        text += f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        remarks.append(tag("span", text, class_="sb-note", title="\n".join(missing[:40])))
    return [*remarks, facts]


def _cell(row: Row, column: Column, scales: Mapping[str, Scale], *, is_full: bool) -> Markup:
    value = row.get(column.key)
    if column.kind == "scenarios":
        shares = {name: row.get(f"share.{name}") for name in SHARES}
        return tag("td", scenario_bar(shares) if row["group"] != REPORTED else "")
    if column.is_figure:
        return _figure(row, column, scales.get(column.key), is_full=is_full)
    if value is None:
        return tag(
            "td", "" if row["group"] == REPORTED else _DASH, class_="sb-na" if column.kind == "text" else "sb-num sb-na"
        )
    if column.kind == "share":
        return tag("td", share(value), class_="sb-num")
    if column.kind == "count":
        return tag("td", short_count(value), class_="sb-num", title=count(value) if value >= 10_000 else None)
    return tag("td", value, class_="sb-date" if column.key == "date" else "sb-text")


def _is_outside(row: Row) -> bool:
    """Return whether a row is of a model that was trained on none of the board's domains."""
    return row["trained_on"] in OUTSIDE_SOURCES or row["basis"] in OUTSIDE_BASES.values()


def _figure(row: Row, column: Column, scale: Scale | None, *, is_full: bool) -> Markup:
    """Build the cell of a figure: its digits, its interval, and below them a picture of both."""
    key = column.key
    estimate = Estimate(value=row.get(key), low=row.get(f"{key}.low"), high=row.get(f"{key}.high"))
    if estimate.value is None and _is_outside(row) and key not in ("mean_st", "mean_ood"):
        words = "not applicable: the model was trained on none of these domains, so it has no in-domain score"
        return tag("td", "n/a", class_="sb-num sb-fig sb-na", title=words)
    if estimate.value is None or scale is None:
        return tag("td", "" if row["group"] == REPORTED else MISSING, class_="sb-num sb-fig sb-na")
    written = drop_points if column.kind == "drop" else points
    placebo, four = row.get(f"{key}.placebo"), row.get(f"{key}.four")
    bounds, reason = interval(estimate), row.get(f"{key}{NO_INTERVAL}")
    words = f"{column.head} {written(estimate.value)}"
    words += f", 95% interval from {points(estimate.low)} to {points(estimate.high)}" if bounds else ""
    words += f", no interval: {reason}" if reason else ""
    words += f"; placebo {written(placebo)}" if placebo is not None else ""
    around = spread(estimate, reason, is_full=is_full)
    four_types = [tag("span", f"4 types {points(four)}", class_="sb-hw")] if is_full and four is not None else []
    value = tag("span", written(estimate.value), class_="sb-v")
    return tag("td", value, *around, *four_types, picture(estimate, scale, words, placebo), class_="sb-num sb-fig")


def spread(estimate: Estimate, reason: str | None, *, is_full: bool) -> list[Markup]:
    """Build what stands after a value: half the width of its interval or both ends, or that there is none."""
    written = interval(estimate) if is_full else half_width(estimate)
    if written:
        return [tag("span", written, class_="sb-hw")]
    if not reason:
        return []
    words = "no interval" if is_full else "\N{PLUS-MINUS SIGN}?"
    return [tag("span", words, class_="sb-hw", title=f"no 95% interval: {reason}")]


def scenario_bar(shares: Mapping[str, float | None]) -> Markup:
    """Draw the shares of the scenarios as one bar."""
    known = [(name, value) for name, value in shares.items() if value]
    if not known:
        return tag("span", MISSING, class_="sb-na")
    words = ", ".join(f"{name} {share(value)}" for name, value in known)
    parts = [
        tag(
            "span", f"{100 * value:.0f}" if value >= 0.2 else "", style=f"width:{100 * value:.2f}%", class_=swatch(name)
        )
        for name, value in known
    ]
    return tag("div", *parts, class_="sb-bar", role="img", title=words, aria_label=words)


def swatch(name: str) -> str:
    """Return the class of a scenario's colour."""
    return f"sb-share sb-s-{name.lower().replace(' ', '-')}"


def short_count(number: int) -> str:
    """Format a whole number in few characters.

    >>> short_count(22_700_000), short_count(340), short_count(999_900), short_count(9_999)
    ('22.7M', '340', '1M', '9999')
    """
    if number < 10_000:
        return str(number)
    # 999,900 is 1M, as three digits cannot tell it from that.
    size, letter = next(each for each in _SIZES if number >= 0.9995 * each[0])
    return f"{number / size:.3g}{letter}"


def legend_keys() -> Markup:
    """Explain the colours of the scenario bar."""
    keys = [
        tag("li", tag("span", class_=f"sb-keybox {swatch(name)}"), tag("b", name), f" {words}", class_="sb-key")
        for name, words in SCENARIO_WORDS.items()
    ]
    return tag("ul", join(keys), class_="sb-keys")


def scenario_key() -> Markup:
    """Build the short key of the scenario bar that always stands above the table."""
    keys = [
        tag("li", tag("span", class_=f"sb-keybox {swatch(name)}"), name, title=SCENARIO_WORDS[name])
        for name in SCENARIO_WORDS
    ]
    return tag("ul", tag("li", "Scenarios:"), *keys, class_="sb-key-line", aria_label="Scenarios", tabindex="0")
