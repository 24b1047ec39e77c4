"""The submit page's words, and what a check, a submission or a withdrawal answered."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board.submission import HEADLINES, SubmissionAnswer
from shiftbench.leaderboard.pages.addresses import SUBMIT, board_address, entry_address
from shiftbench.leaderboard.pages.shell import render
from shiftbench.scoring.reports.cells import number_cell, scroll_box
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.numbers import drop_points, points, share
from shiftbench.scoring.scores.estimate import Estimate
from shiftbench.validation.report import counted

_SHOWN = 5
"""Reasons that a command prints."""


def submit_html(folders: Sequence[DatasetFolder], *, sign_in: bool, daily_quota: int | None) -> Markup:
    """Build the words about what to submit, who may, and how from a program.

    Args:
        folders: the datasets that submissions are for.
        sign_in: submitters sign in at the Hub.
        daily_quota: entries of one submitter a UTC day; None: any number.
    Returns: what stands above the form.
    """
    return render("submit.html", folders=folders, sign_in=sign_in, daily_quota=daily_quota)


def answer_html(answer: SubmissionAnswer) -> Markup:
    """Show what a check, a submission or a withdrawal answered.

    Args:
        answer: as the endpoint gives it.
    Returns: a box with the problems, or what was done.
    """
    if not answer["ok"]:
        head = tag("strong", f"Not accepted: {counted(len(answer['problems']), 'problem')}. Nothing was stored.")
        problems = tag("ol", *(tag("li", problem) for problem in answer["problems"]))
        return tag("div", head, problems, class_="sb-answer sb-bad", role="alert")
    note = tag("p", answer["note"]) if answer["note"] else Markup("")
    preview = _preview(answer["summary"]) if "tasks" in answer["summary"] else _feedback(answer["summary"])
    return tag("div", _head(answer), note, preview, class_="sb-answer sb-good", role="status")


def answer_lines(answer: Mapping[str, Any], to: str, *, over_http: bool) -> Iterator[str]:
    """Write where an accepted entry stands, and where it is not ranked what is missing for that.

    Args:
        answer: of the leaderboard, or of ``shiftbench.leaderboard.app.client.send`` for a store.
        to: where it was sent.
        over_http: ``to`` is a leaderboard's address, not a store.
    """
    base = to.rstrip("/").removesuffix(SUBMIT) if over_http else ""
    if over_http:
        yield f"its page: {base}{entry_address(answer['entry'])}"
    else:
        yield f"to look at it: shiftbench serve --data DIR --store {to}"
    for task in answer.get("summary", {}).get("tasks", []):
        if not task.get("board"):
            continue  # candidates and placebos, or a server of an earlier version
        board = f"{task['board']}: {base}{board_address(task['board'])}" if over_http else task["board"]
        if task["complete"]:
            yield f"ranked on the board {board}"
            continue
        why = task["why_unranked"]
        more = [f"and {len(why) - _SHOWN:,} more"] if len(why) > _SHOWN else []
        yield f"listed but not ranked on the board {board}"
        yield from (f"  missing for that: {line}" for line in [*why[:_SHOWN], *more])


def _head(answer: SubmissionAnswer) -> Markup:
    entry = answer["entry"]
    if entry is None:
        done = "No problems. This is what the board would show; nothing is stored yet."
        return tag("strong", done if answer["summary"] else "No problems.")
    link = tag("a", entry, href=entry_address(entry))
    if answer["new"]:
        return tag("strong", "Accepted as ", link, ".")
    return tag("strong", "The same file and card were sent before: this is entry ", link, ".")


def _feedback(summary: dict[str, Any]) -> Markup:
    """Show what a sender is told of a file on withheld labels; nothing where there is nothing."""
    feedback = summary.get("feedback", [])
    if not feedback:
        return Markup("")
    names = ("Task", "Target", "Best so far", "This file", "Looks left")
    rows = [
        tag(
            "tr",
            tag("td", f"{summary['benchmark']}/{each['task']}"),
            tag("td", each["target"]),
            tag("td", points(each["best"], 0), class_="sb-num"),
            tag("td", each["why_not"] or ("better by a step" if each["is_new"] else "not better by a step")),
            tag("td", str(each["looks_left"]), class_="sb-num"),
        )
        for each in feedback
    ]
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="sb-table sb-plain")
    words = "The best mean score under shift of your files on the feedback half of the labels, in whole points."
    return join([tag("p", words), scroll_box(table, "Feedback")])


def _preview(summary: dict[str, Any]) -> Markup:
    names = ("Task", "Mean SS", "Mean ST", "Avg. drop", "Worst SD", "Worst TD", "Shifts", "Unparsed")
    head = tag("tr", *(tag("th", name, scope="col", class_=None if name == "Task" else "sb-num") for name in names))
    rows = [_task_row(summary["benchmark"], task) for task in summary["tasks"]]
    missing = [tag("li", line) for line in summary["missing"]]
    gaps = tag("div", tag("p", "Missing, so not scored:"), tag("ul", *missing)) if missing else Markup("")
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="sb-table sb-plain")
    return join([scroll_box(table, "Scores"), gaps])


def _task_row(benchmark: str, task: dict[str, Any]) -> Markup:
    shifts = f"{task['n_shifts']}" + ("" if task["complete"] else ", partial")
    estimates = [Estimate.model_validate(task[name]) for name in HEADLINES]
    return tag(
        "tr",
        tag("td", f"{benchmark}/{task['task']}"),
        *(number_cell(estimate, points) for estimate in estimates[:2]),
        *(number_cell(estimate, drop_points) for estimate in estimates[2:]),
        tag("td", shifts, class_="sb-num"),
        tag("td", share(task["unparsed"]), class_="sb-num"),
    )
