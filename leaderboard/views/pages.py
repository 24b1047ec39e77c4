"""HTML of the page's parts. Texts from cards go through ``tag``, which escapes them."""

from collections.abc import Mapping, Sequence

from builders.folder import DatasetFolder
from leaderboard.scores import Estimate, TaskScores
from leaderboard.views import id_ood
from leaderboard.views.board import Board, BoardRow, missing_lines
from leaderboard.views.cells import (
    DOWN,
    UP,
    column_head,
    date_cell,
    depth_cells,
    depth_heads,
    entry_cells,
    entry_heads,
    fact_list,
    number_cell,
    scroll_box,
    with_interval,
)
from leaderboard.views.figures import SCENARIO_COLOURS
from leaderboard.views.html import Markup, join, link, tag
from leaderboard.views.listing import Listed
from leaderboard.views.numbers import MISSING, count, drop_points, metric_name, points, share
from leaderboard.views.submission import HEADLINES, Answer
from validation.cards import Card
from validation.vocabulary import TaskKind

# heading, arrow, what it is
_FIGURES = (
    ("Mean SS", UP, "in-domain score: trained and tested on the same domain, mean over domains"),
    ("Mean ST", UP, "cross-domain score: mean over all shifts; the table is ranked by it"),
    ("Avg. drop", DOWN, "mean SS minus mean ST; it equals both mean SD and mean TD"),
    ("Worst SD", DOWN, "largest source drop, SS minus ST, of any shift"),
    ("Worst TD", DOWN, "largest target drop, TT minus ST, of any shift"),
)


def notices(folders: Sequence[DatasetFolder]) -> Markup:
    """Warn of data that is not the benchmark: synthetic texts, or a build from a part of the upstream rows."""
    boxes = []
    for folder in folders:
        manifest = folder.manifest
        if manifest.synthetic:
            what = "Synthetic data. "
            why = (
                f"'{manifest.benchmark}' holds texts that a program made up, to show the tools at work. "
                "Its scores say nothing about any model."
            )
        elif manifest.partial:
            what = "Partial build. "
            why = (
                f"This copy of '{manifest.benchmark}' was built from a part of the upstream rows. "
                "Its scores compare with each other, not with published ones."
            )
        else:
            continue
        boxes.append(tag("div", tag("strong", what), why, class_="sb-notice", role="note"))
    return join(boxes)


def board_html(board: Board, rows: Sequence[BoardRow], listed: Sequence[Listed]) -> Markup:
    """Give a board: warnings, what it is about, the table, and entries that could not be scored."""
    info = board.folder.task(board.task)
    tests = {domain: facts.splits["test"].rows for domain, facts in info.domains.items() if "test" in facts.splits}
    total = info.subsets.get(board.subset, sum(tests.values()))
    facts = [
        ("Metric", metric_name(info.metric)),
        ("Domains", f"{len(tests)}: {', '.join(tests)}"),
        ("Test texts", count(total) + ("" if board.subset == "all" else f" (subset {board.subset})")),
        ("Data", board.folder.content_hash[:12]),
    ]
    absent = [*info.absent_domains, *(f"{domain} (train only)" for domain in info.domains if domain not in tests)]
    if absent:
        facts.append(("Not in this build", ", ".join(absent)))
    heading = tag("h2", f"{board.folder.manifest.title}: {info.title}")
    return join(
        [
            notices([board.folder]),
            tag("div", heading, fact_list(facts, "sb-strip"), class_="sb-about"),
            Markup("") if rows else _empty_board(board),
            id_ood.table_html(board, rows) if info.id_domain else _table(rows) if rows else Markup(""),
            _unscored(listed),
        ]
    )


def legend_html(board: Board | None = None) -> Markup:
    """Explain a board's columns, the arrows and the colours of the scenario bar."""
    if board is not None and board.folder.task(board.task).id_domain:
        return id_ood.legend_html(board)
    columns = [
        join([tag("dt", f"{name} {arrow}"), tag("dd", f"{meaning[0].upper()}{meaning[1:]}.")])
        for name, arrow, meaning in _FIGURES
    ]
    scenarios = [
        ("Classic", "SD > 0, TD > 0: the shift hurt"),
        ("Observed", "SD > 0, TD < 0: the target is harder, the shift itself did no harm"),
        ("Unobserved", "SD < 0, TD > 0: harm hidden by an easier target"),
        ("No Challenge", "SD < 0, TD < 0: the shift helped on both counts"),
        ("Tie", "a drop is exactly 0"),
    ]
    keys = [tag("li", _swatch(name), tag("b", name), f" {meaning}", class_="sb-key") for name, meaning in scenarios]
    depth = (
        "Depth F1 weights each target text by how far it lies from the source's texts; λ is the percentage of the "
        "most source-like texts left out, so λ = 90 asks about the most unlike tenth. "
    )
    reading = (
        "A drop measured against the source (SD) mixes the harm of the shift with the target simply being harder; "
        "measured against a model trained on the target itself (TD) it does not. A plus sign means score was lost. "
    )
    rest = (
        f"All figures are points (×100). {UP} higher is better, {DOWN} lower is better. Entries that cover every "
        "shift are ranked by mean ST; partial ones stand below, unranked. "
        "Brackets hold 95% intervals: other test texts, the same trained models."
    )
    return tag(
        "details",
        tag("summary", "How to read this table"),
        tag("p", reading, rest),
        tag("dl", *columns, tag("dt", f"Depth F1 {UP}"), tag("dd", depth)),
        tag("ul", *keys, class_="sb-keys"),
        class_="sb-legend",
        open="",
    )


def entry_html(item: Listed, task: TaskScores | None) -> Markup:
    """Give an entry's heading, its card and the headline figures of one task."""
    if item.entry is None:
        return join([tag("h2", item.id, class_="sb-name"), _reasons(item)])
    card = item.entry.card
    by = f"{card.paradigm} · submitted by {item.entry.submitter} on {item.entry.submitted_at[:10]}"
    permalink = tag("a", f"?entry={item.id}", href=f"?entry={item.id}", class_="sb-mono")
    parts = [
        tag("h2", card.name, class_="sb-name"),
        tag("p", by, " · ", permalink, class_="sb-by"),
        _reasons(item) if item.reasons else Markup(""),
        _headline(task) if task else Markup(""),
        tag("details", tag("summary", "Card"), _card(card), class_="sb-card"),
    ]
    return join(parts)


def missing_html(item: Listed, task: str | None) -> Markup:
    """Say what an entry lacks."""
    if item.scores is None:
        return Markup("")
    lines = missing_lines(item.scores, task)
    if not lines:
        return tag("p", "Nothing is missing for this task.", class_="sb-quiet")
    return tag("ul", *(tag("li", line) for line in lines), class_="sb-missing")


def message_html(title: str, text: str) -> Markup:
    """Give a short message where there is nothing else to show."""
    return tag("div", tag("strong", title), tag("p", text), class_="sb-empty")


def no_data_html() -> Markup:
    """Say that the server has nothing to score against."""
    return message_html("No data", "Start the server with a dataset folder: shiftbench serve --data DIR --store DIR")


def no_entries_html() -> Markup:
    """Say that the store is empty, and what fills it."""
    return message_html("No entries yet", "Submit a prediction file on the Submit tab; its pictures appear here.")


def answer_html(answer: Answer) -> Markup:
    """Show what a check or a submission answered."""
    if not answer["ok"]:
        n = len(answer["problems"])
        head = tag("strong", f"Not accepted: {n} problem{'s' if n != 1 else ''}. Nothing was stored.")
        return tag(
            "div",
            head,
            tag("ol", *(tag("li", problem) for problem in answer["problems"])),
            class_="sb-answer sb-bad",
            role="alert",
        )
    if answer["entry"] is None:
        head = tag("strong", "No problems. This is what the board would show; nothing is stored yet.")
    elif answer["new"]:
        head = tag("strong", "Accepted as ", tag("a", answer["entry"], href=f"?entry={answer['entry']}"), ".")
    else:
        same = tag("a", answer["entry"], href=f"?entry={answer['entry']}")
        head = tag("strong", "The same file and card were sent before: this is entry ", same, ".")
    return tag("div", head, _preview(answer), class_="sb-answer sb-good", role="status")


def data_html(folders: Sequence[DatasetFolder]) -> Markup:
    """List the versions of data that this server scores against."""
    if not folders:
        return no_data_html()
    head = tag(
        "tr",
        *(tag("th", name, scope="col") for name in ("Benchmark", "Task", "Domains")),
        tag("th", "Test texts", scope="col", class_="sb-num"),
        tag("th", "State", scope="col"),
    )
    rows = []
    for folder in folders:
        manifest = folder.manifest
        state = "synthetic" if manifest.synthetic else "partial build" if manifest.partial else "complete"
        for name, info in manifest.tasks.items():
            tests = sum(facts.splits["test"].rows for facts in info.domains.values() if "test" in facts.splits)
            cells = [manifest.benchmark, f"{name} ({metric_name(info.metric)})", ", ".join(info.domains)]
            numbers = tag("td", count(tests), class_="sb-num")
            rows.append(tag("tr", *(tag("td", cell) for cell in cells), numbers, tag("td", state)))
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="sb-table sb-plain")
    hashes = [tag("li", f"{folder.manifest.benchmark}: ", tag("code", folder.content_hash)) for folder in folders]
    encoders = {
        f"{folder.manifest.benchmark}: {folder.manifest.encoder.id} ({folder.manifest.encoder.revision[:12]})"
        for folder in folders
        if folder.manifest.encoder
    }
    return join(
        [
            notices(folders),
            scroll_box(table, "Data versions"),
            tag("h3", "Content hashes"),
            tag("p", "A card's 'data' key must be one of these."),
            tag("ul", *hashes, class_="sb-hashes"),
            tag("h3", "Encoders behind the depths"),
            tag("ul", *(tag("li", text) for text in sorted(encoders) or ["none: no depth tables here"])),
        ]
    )


def _table(rows: Sequence[BoardRow]) -> Markup:
    scores = [column_head(name, arrow, meaning) for name, arrow, meaning in _FIGURES]
    shares = tag("th", "Scenarios", scope="col", title="Share of shifts in each scenario, by the signs of SD and TD")
    head = tag("tr", *entry_heads(), *scores, shares, *depth_heads(), column_head("Submitted"))
    table = tag(
        "table",
        tag("caption", "Entries of this board, in points", class_="sb-hidden"),
        tag("thead", head),
        tag("tbody", *(_row(row) for row in rows)),
        class_="sb-table sb-board",
    )
    return scroll_box(table, "Leaderboard table")


def _row(row: BoardRow) -> Markup:
    numbers = [
        *(number_cell(score, points) for score in (row.mean_ss, row.mean_st)),
        *(number_cell(drop, drop_points) for drop in (row.average_drop, row.worst_sd, row.worst_td)),
    ]
    return tag(
        "tr",
        *entry_cells(row),
        *numbers,
        tag("td", _shares(row.scenario_shares)),
        *depth_cells(row),
        date_cell(row),
        class_="sb-unranked" if row.rank is None else None,
    )


def _shares(shares: Mapping[str, float | None]) -> Markup:
    known = [(name, value) for name, value in shares.items() if value]
    if not known:
        return tag("span", MISSING, class_="sb-na")
    words = ", ".join(f"{name} {share(value)}" for name, value in known)
    parts = [
        tag(
            "span",
            f"{100 * value:.0f}" if value >= 0.2 else "",
            style=f"width:{100 * value:.2f}%;background:{SCENARIO_COLOURS[name]}",
            class_="sb-dark" if name in ("Observed", "Tie") else None,
        )
        for name, value in known
    ]
    return tag("div", *parts, class_="sb-bar", role="img", title=words, aria_label=words)


def _swatch(name: str) -> Markup:
    return tag("span", class_="sb-swatch", style=f"background:{SCENARIO_COLOURS[name]}")


def _headline(task: TaskScores) -> Markup:
    summary = task.summary
    if task.id_ood is not None:
        return id_ood.headline_html(task.id_ood, summary)
    note = "" if summary.complete else "partial" if summary.basis == "single-source" else summary.basis
    figures: list[tuple[str, list[str | Markup]]] = [
        ("Mean SS", with_interval(summary.mean_ss, points)),
        ("Mean ST", with_interval(summary.mean_st, points)),
        ("Avg. drop", with_interval(summary.average_drop, drop_points)),
        ("Worst SD", with_interval(summary.worst_sd, drop_points)),
        ("Worst TD", with_interval(summary.worst_td, drop_points)),
        ("Shifts", [f"{summary.n_shifts}", *([tag("span", note, class_="sb-interval")] if note else [])]),
        ("Scenarios resolved", [share(summary.resolved_share)]),
        ("Unparsed", [share(summary.unparsed)]),
    ]
    tiles = [tag("div", tag("dt", name), tag("dd", *value)) for name, value in figures]
    return tag("dl", *tiles, class_="sb-tiles")


def _card(card: Card) -> Markup:
    facts: list[tuple[str, str | Markup]] = []
    for key, value in card.as_dict().items():
        label = key.replace("_", " ")
        if key == "url":
            facts.append((label, link(value, value)))
        elif key == "versions":
            facts.append((label, ", ".join(f"{name} {version}" for name, version in value.items())))
        elif isinstance(value, list):
            facts.append((label, ", ".join(value)))
        elif isinstance(value, int):
            facts.append((label, count(value)))
        elif key in ("command", "data"):
            facts.append((label, tag("code", value)))
        elif key != "name":
            facts.append((label, str(value)))
    return fact_list(facts, "sb-facts")


def _reasons(item: Listed) -> Markup:
    lines = tag("ul", *(tag("li", reason) for reason in item.reasons))
    return tag("div", tag("strong", "Not scored on this server."), lines, class_="sb-notice", role="note")


def _unscored(listed: Sequence[Listed]) -> Markup:
    unscored = [item for item in listed if item.scores is None]
    if not unscored:
        return Markup("")
    lines = [
        tag("li", tag("a", item.name, href=f"?entry={item.id}"), ": " + "; ".join(item.reasons)) for item in unscored
    ]
    head = tag("summary", f"Not scored on this server ({len(unscored)})")
    return tag("details", head, tag("ul", *lines), class_="sb-unscored")


def _empty_board(board: Board) -> Markup:
    train = f"Train a baseline with 'shiftbench train tfidf-lr {board.task} --data DIR --out preds.parquet'"
    predict = "Predict the test texts with a model of yours"
    info = board.folder.task(board.task)
    has_baseline = info.kind is TaskKind.CLASSIFICATION and (info.id_domain or next(iter(info.domains))) in info.domains
    steps = f"{train if has_baseline else predict}, then give the prediction file and its card on the Submit tab."
    return message_html("No entries yet on this board", steps)


def _preview(answer: Answer) -> Markup:
    names = ("Task", "Mean SS", "Mean ST", "Avg. drop", "Worst SD", "Worst TD", "Shifts", "Unparsed")
    head = tag("tr", *(tag("th", name, scope="col", class_=None if name == "Task" else "sb-num") for name in names))
    rows = []
    for task in answer["summary"]["tasks"]:
        task_name = f"{answer['summary']['benchmark']}/{task['task']}"
        shifts = f"{task['n_shifts']}" + ("" if task["complete"] else ", partial")
        estimates = [Estimate.model_validate(task[name]) for name in HEADLINES]
        cells = [
            tag("td", task_name),
            *(number_cell(estimate, points) for estimate in estimates[:2]),
            *(number_cell(estimate, drop_points) for estimate in estimates[2:]),
            tag("td", shifts, class_="sb-num"),
            tag("td", share(task["unparsed"]), class_="sb-num"),
        ]
        rows.append(tag("tr", *cells))
    missing = [tag("li", line) for line in answer["summary"]["missing"]]
    gaps = tag("div", tag("p", "Not there to be scored:"), tag("ul", *missing)) if missing else Markup("")
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="sb-table sb-plain")
    return join([scroll_box(table, "Scores"), gaps])
