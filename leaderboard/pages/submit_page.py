"""The submit page: its words, the form as plain HTML, the card as a form, and what a check or a submission answered."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board.submission import HEADLINES, SubmissionAnswer
from shiftbench.leaderboard.pages.addresses import SUBMIT, board_address, entry_address
from shiftbench.leaderboard.pages.shell import render
from shiftbench.scoring.reports.cells import number_cell, scroll_box
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.numbers import drop_points, points, share
from shiftbench.scoring.scores.shape import Estimate
from shiftbench.validation.cards import Card
from shiftbench.validation.report import InvalidInput, Problem, counted
from shiftbench.validation.yaml_text import MAX_DIGITS, parse_mapping

_SHOWN = 5
"""Reasons that a command prints."""


def submit_html(folders: Sequence[DatasetFolder], *, sign_in: bool, daily_quota: int | None) -> Markup:
    """Build the words about what to submit, who may, and how from a program."""
    return render("submit.html", folders=folders, sign_in=sign_in, daily_quota=daily_quota)


def answer_html(answer: SubmissionAnswer) -> Markup:
    """Show what a check, a submission or a withdrawal answered.

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

    ``answer`` is that of the leaderboard at ``to`` or, for a store, of ``client.send``.
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


COLUMNS = (
    ("name", "model", "base_model", "family", "parameters", "tunable_parameters"),
    ("paradigm", "model_selection", "tuning_trials", "shots", "training_size", "extra_data", "pretraining_domains"),
    ("paper_url", "code_url", "model_url", "url", "contact", "licence", "share_predictions"),
)
"""Keys of the card that a form asks for, a column each; all the others can be written as text."""


@dataclass(frozen=True)
class CardField:
    """One field of a form; ``info`` is what it means, if the ``label`` does not say so.

    ``choices`` are label and value of what can be chosen, empty for free text; ``value`` is what is chosen before
    anybody touches it.
    """

    key: str
    label: str
    info: str | None = None
    choices: tuple[tuple[str, str], ...] = ()
    value: str | None = None


def card_fields(folders: Sequence[DatasetFolder]) -> list[list[CardField]]:
    """Return the fields of the form in groups: what the predictions are for, then the columns of ``COLUMNS``."""
    contents = [(folder.manifest.benchmark, folder.content_hash) for folder in folders]
    hashes = tuple((f"{benchmark} {content[:12]}", content) for benchmark, content in contents)
    names = {name for folder in folders for info in folder.manifest.tasks.values() for name in info.subsets}
    subsets = tuple((name, name) for name in ["all", *sorted(names - {"all"})])
    about_data = [
        CardField("data", "Data (required)", "What the predictions are for", hashes, only_data(folders)),
        CardField(
            "subset",
            "Subset",
            "Part of the test texts that the predictions cover; all of them unless you choose one",
            subsets,
        ),
    ]
    return [about_data, *([_field(key) for key in keys] for keys in COLUMNS)]


def only_data(folders: Sequence[DatasetFolder]) -> str | None:
    """Return the content hash of a server's only dataset; None where there are several to choose from."""
    return folders[0].content_hash if len(folders) == 1 else None


def _field(key: str) -> CardField:
    schema = Card.model_json_schema()
    asked = schema["properties"][key]
    kinds = [asked, *asked.get("anyOf", [])]
    choices: list[str] = next((kind["enum"] for kind in kinds if "enum" in kind), [])
    if any(kind.get("type") == "boolean" for kind in kinds):
        choices = ["yes", "no"]
    label = key.replace("_", " ").replace(" url", " address").capitalize()
    if not choices and any(kind.get("type") == "integer" for kind in kinds):
        label = f"{label} (a whole number)"
    if key in schema["required"]:
        label = f"{label} (required)"
    info = asked.get("description")
    return CardField(key, label, info, tuple((choice, choice) for choice in choices))


@dataclass(frozen=True)
class Access:
    """Whether this form can submit, and not check alone; the user who has signed in; where one signs in."""

    may_submit: bool = True
    signed_in_as: str | None = None
    sign_in_address: str | None = None


def plain_submit_html(
    folders: Sequence[DatasetFolder],
    values: Mapping[str, str],
    answer: SubmissionAnswer | None = None,
    *,
    access: Access,
    daily_quota: int | None,
) -> Markup:
    """Build the plain form under the answer to what was sent with it (None before anything was).

    ``values`` are what the fields hold, by key of the card; ``card`` is its text. A ``daily_quota`` of None is any
    number of entries.
    """
    return render(
        "plain_submit.html",
        groups=card_fields(folders),
        values=values,
        answer=answer_html(answer) if answer is not None else "",
        access=access,
        daily_quota=daily_quota,
    )


MAX_FIELD_CHARACTERS = 500
_LISTS = ("pretraining_domains",)
_TRUTHS = {"yes": True, "no": False}
_COUNTS = ("parameters", "tunable_parameters", "shots", "training_size", "tuning_trials")


def card_with(text: str, values: Mapping[str, str | None], data: str | None) -> str:
    """Write what was filled in into the card's text, and leave all else there as it is.

    Raises: InvalidInput when the text is no card, or a field is too long.
    """
    card = parse_mapping(text, "card", "card") if text.strip() else {}
    long = [key for key, value in values.items() if value and len(value) > MAX_FIELD_CHARACTERS]
    if long:
        cure = f"keep each field under {MAX_FIELD_CHARACTERS} characters"
        raise InvalidInput(Problem("a field is too long", "card", cure=cure, key=long[0]))
    filled_in = {key: _value(key, value.strip()) for key, value in values.items() if value and value.strip()}
    if data and filled_in.get("data") == data and "data" in card:
        del filled_in["data"]  # it was preselected, and the card may name another version of the data
    return yaml.safe_dump(
        {**({"data": data} if data else {}), **card, **filled_in}, sort_keys=False, allow_unicode=True
    )


def _value(key: str, text: str) -> str | int | bool | list[str]:
    if key == "share_predictions" and text in _TRUTHS:
        return _TRUTHS[text]
    if key in _LISTS:
        return [part.strip() for part in text.split(",") if part.strip()]
    return int(text) if key in _COUNTS and text.isdecimal() and len(text) <= MAX_DIGITS else text
