"""Tables of tasks with one training domain: the score in distribution (ID), those out of it (OOD), and the drop."""

from collections.abc import Sequence

from leaderboard.scores import Estimate, IdOod, Summary
from leaderboard.views.board import Board, BoardRow
from leaderboard.views.cells import (
    DOWN,
    UP,
    column_head,
    date_cell,
    depth_cells,
    depth_heads,
    entry_cells,
    entry_heads,
    number_cell,
    scroll_box,
    with_interval,
)
from leaderboard.views.html import Markup, tag
from leaderboard.views.numbers import drop_points, points, share
from leaderboard.views.reported import ReportedRow, ReportedTable, reported_tables, titles
from validation.vocabulary import NO_SOURCE, TaskKind

_NONE = Estimate(value=None)
_DROP = "ID \N{MINUS SIGN} OOD"
_MEAN_WORDS = "mean over the OOD data sets; the table is ranked by it"
_DROP_WORDS = "ID score minus mean OOD score"


def table_html(board: Board, rows: Sequence[BoardRow]) -> Markup:
    """Give a board's table: its entries, and below them what papers report."""
    info = board.folder.task(board.task)
    home = str(info.id_domain)
    away = [domain for domain, facts in info.domains.items() if domain != home and "test" in facts.splits]
    names = titles(info)
    has_depth = board.folder.has_depth
    reported = reported_tables(board)
    if not rows and not reported:
        return Markup("")
    heads = [
        *entry_heads(),
        column_head("Mean OOD", UP, _MEAN_WORDS),
        column_head(f"{names.get(home, home)} (ID)", UP, "score on the data set that models are trained on"),
        *(column_head(names[domain], UP, "score out of distribution (OOD)") for domain in away),
        column_head(_DROP, DOWN, _DROP_WORDS),
        *(depth_heads() if has_depth else []),
        column_head("Submitted"),
    ]
    bodies = [tag("tbody", *(_row(row, away, has_depth=has_depth) for row in rows))] if rows else []
    for table in reported:
        bodies.append(_reported_head(table, len(heads)))
        cells = [_reported_row(row, home, away, len(heads)) for row in table.rows]
        bodies.append(tag("tbody", *cells, class_="sb-reported"))
    table_ = tag(
        "table",
        tag("caption", "Entries of this board, and figures that papers report, in points", class_="sb-hidden"),
        tag("thead", tag("tr", *heads)),
        *bodies,
        class_="sb-table sb-board sb-id-board",
    )
    return scroll_box(table_, "Leaderboard table")


def legend_html(board: Board) -> Markup:
    """Explain the columns of a board."""
    terms = [
        (f"Mean OOD {UP}", f"{_MEAN_WORDS[0].upper()}{_MEAN_WORDS[1:]}."),
        (f"(ID) {UP}", "Score on the test set of the data set that models are trained on: in distribution."),
        (f"Other data sets {UP}", "Scores of the same model out of distribution (OOD): not trained on them."),
        (f"{_DROP} {DOWN}", f"{_DROP_WORDS}: what leaving the training data costs, mixed with harder test sets. "
         "Zero-shot models were trained on none of the data, so they have none."),
    ]  # fmt: skip
    if board.folder.task(board.task).kind is TaskKind.TAGGING:
        terms.append(("4 types", "Span F1 with the four rarer entity types counted as miscellaneous."))
    if board.folder.has_depth:
        depth = (
            "Mean over the OOD data sets, each text weighted by how far it lies from training texts; "
            "λ is the percentage of the most training-like texts left out."
        )
        terms.append((f"Depth F1 {UP}", depth))
    reading = (
        f"All figures are points (×100). {UP} higher is better, {DOWN} lower is better. Entries with a score on every "
        "data set, zero-shot models too, are ranked by mean OOD; partial ones stand below, unranked. Brackets hold 95% "
        "intervals: other test texts, the same trained models. Models trained on an OOD data set are averaged with "
        "nothing; they give the target drop (TD) on an entry's own page. "
    )
    reported = (
        "Figures reported by papers stand below the entries. They were not scored here, so they are never ranked; "
        "their mean and drop are computed from all that is printed, also on data sets that are not in this build."
    )
    return tag(
        "details",
        tag("summary", "How to read this table"),
        tag("p", reading, reported),
        tag("dl", *(part for name, meaning in terms for part in (tag("dt", name), tag("dd", meaning)))),
        class_="sb-legend",
        open="",
    )


def headline_html(found: IdOod, summary: Summary) -> Markup:
    """Give an entry's headline figures."""
    note = trained_on(found) or ("" if found.complete else "partial")
    names = ["Mean OOD", f"{found.id_domain} (ID)", *found.ood]
    figures: list[tuple[str, list[str | Markup]]] = [
        *((name, _score(*score)) for name, score in zip(names, _scores(found, list(found.ood)), strict=True)),
        (_DROP, with_interval(found.drop, drop_points)),
        ("Worst SD", with_interval(summary.worst_sd, drop_points)),
        ("Worst TD", with_interval(summary.worst_td, drop_points)),
        ("OOD tests", [f"{len(found.ood)}", *([tag("span", note, class_="sb-interval")] if note else [])]),
        ("Unparsed", [share(summary.unparsed)]),
    ]
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", *value)) for name, value in figures), class_="sb-tiles")


def trained_on(found: IdOod) -> str:
    """Say what the model was trained on, where that is not the ID domain."""
    if found.source == found.id_domain:
        return ""
    return "zero-shot" if found.source == NO_SOURCE else f"trained on {found.source.replace('+', ' + ')}"


def _row(row: BoardRow, away: Sequence[str], *, has_depth: bool) -> Markup:
    found = row.id_ood
    scores = _scores(found, away) if found else [(_NONE, "")] * (len(away) + 2)
    return tag(
        "tr",
        *entry_cells(row, trained_on(found) if found else ""),
        *(_score_cell(*score) for score in scores),
        number_cell(found.drop if found else _NONE, drop_points),
        *(depth_cells(row) if has_depth else []),
        date_cell(row),
        class_="sb-unranked" if row.rank is None else None,
    )


def _reported_head(table: ReportedTable, n_columns: int) -> Markup:
    """Say whose figures follow, and why they are not comparable, in a body of its own that sorting leaves alone."""
    said = [tag("b", f"Reported in {table.title}"), f", not scored here: {table.about}."]
    notes = [tag("span", note, class_="sb-note") for note in table.notes]
    cell = tag("th", tag("div", *said, *notes, class_="sb-source"), colspan=str(n_columns), scope="rowgroup")
    return tag("tbody", tag("tr", cell), class_="sb-reported-head")


def _reported_row(row: ReportedRow, home: str, away: Sequence[str], n_columns: int) -> Markup:
    notes = [tag("span", note, class_="sb-note") for note in row.notes]
    # On a phone the name alone stays in sight, and a model has a row for each setting.
    name = ", ".join(part for part in (row.model, row.setting) if part)
    scores = [row.mean_ood, row.scores.get(home), *(row.scores.get(domain) for domain in away)]
    cells = [
        tag("td", "\N{EN DASH}", class_="sb-num sb-rank", data_value=""),
        tag("th", name, *notes, scope="row", data_value=name),
        tag("td", "reported"),
        *(number_cell(Estimate(value=score), points) for score in scores),
        number_cell(Estimate(value=row.drop), drop_points),
    ]
    rest = n_columns - len(cells)
    return tag("tr", *cells, *[tag("td", data_value="")] * (rest - 1), tag("td", row.reported), class_="sb-unranked")


def _scores(found: IdOod, away: Sequence[str]) -> list[tuple[Estimate, str]]:
    """Give the mean OOD score, the ID one and the OOD ones, of entities each with the four types' below it."""
    scores = [found.mean_ood, found.id, *(found.ood.get(domain, _NONE) for domain in away)]
    four = found.four_types
    if four is None:
        return [(score, "") for score in scores]
    folded = [four.mean_ood, four.id, *(four.ood.get(domain) for domain in away)]
    return [(score, f"4 types {points(types)}") for score, types in zip(scores, folded, strict=True)]


def _score_cell(score: Estimate, below: str) -> Markup:
    missing = score.value is None
    class_ = "sb-num sb-na" if missing else "sb-num"
    return tag("td", *_score(score, below), class_=class_, data_value="" if missing else repr(score.value))


def _score(score: Estimate, below: str) -> list[str | Markup]:
    return [*with_interval(score, points), *([tag("span", below, class_="sb-interval")] if below else [])]
