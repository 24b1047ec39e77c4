"""The submit page: its form, the filling of fields from card and Hub, and the response to a check or a submission."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import yaml

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board.submission import HEADLINES, SubmissionAnswer, boards_to_submit_to
from shiftbench.leaderboard.pages.shell import render
from shiftbench.leaderboard.pages.task_names import board_name
from shiftbench.leaderboard.store.model_facts import MODEL_FACTS, HubFacts, model_facts
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.frame.parts import Head
from shiftbench.scoring.scores.shape import Estimate
from shiftbench.validation.cards import Card
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.yaml_text import MAX_DIGITS, parse_mapping

FIRST_FIELDS = ("name", "paradigm", "model_url", *MODEL_FACTS)
MORE_FIELDS = (
    *("model", "family", "tunable_parameters", "training_size", "shots", "model_selection", "tuning_trials"),
    *("extra_data", "pretraining_domains", "paper_url", "code_url", "url", "contact", "share_predictions"),
)
"""Card keys with a form field, always shown or below 'More about the model'; other keys can be typed as card text."""
MAX_FIELD_CHARACTERS = 500
_LISTS = ("pretraining_domains",)
_TRUTHS = {"yes": True, "no": False}
_EMPTY = Card.model_validate({"name": "-", "paradigm": "other", "data": "0" * 64})
_SOURCES = {"model": "the model's page on the Hub", "base model": "the base model's page on the Hub"}


@dataclass(frozen=True)
class CardField:
    """One form field; ``info`` explains it; ``choices`` are its options, empty for free text."""

    key: str
    label: str
    info: str
    choices: Sequence[str]
    kind: str
    is_required: bool


@dataclass(frozen=True)
class Access:
    """Whether this page can submit or only check; the signed-in user; and where to sign in."""

    may_submit: bool = True
    signed_in_as: str | None = None
    sign_in_address: str | None = None


@dataclass(frozen=True)
class Sent:
    """The form's state: values by card key or field name, and the uploaded file.

    ``kept`` is the secret name by which the server finds that file again. ``filled`` maps the keys of automatically
    filled fields to the origin of their values. ``hub`` has the facts of the model's page, used if the card lacks them.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    kept: str = ""
    filled: Mapping[str, str] = field(default_factory=dict)
    hub: HubFacts | None = None

    @property
    def on_the_hub(self) -> dict[str, tuple[str, str]]:
        """Return the Hub's facts and their origin, by key of the card."""
        facts = model_facts(_EMPTY, self.hub)
        return {key: (_written(fact.value), _SOURCES[fact.source]) for key, fact in facts.items()}

    @property
    def file_name(self) -> str:
        """Return the name of the uploaded file; empty without one."""
        return self.kept.partition("/")[2]


NOTHING_SENT = Sent()


def submit_page(
    folders: Sequence[DatasetFolder],
    sent: Sent = NOTHING_SENT,
    answer: SubmissionAnswer | None = None,
    *,
    access: Access,
    daily_quota: int | None,
) -> Markup:
    """Build the page: the response (None before anything was sent), and the form with the submitted values.

    A ``daily_quota`` of None is unlimited.
    """
    boards: dict[str, list[tuple[str, str]]] = {}
    for board in boards_to_submit_to(folders):
        boards.setdefault(board.folder.manifest.title, []).append((board.name, board_name(board)))
    names = [name for group in boards.values() for name, _ in group]
    return render(
        "submit.html",
        boards=boards,
        chosen=sent.values.get("board") or (names[0] if len(names) == 1 else ""),
        first=[_field(key) for key in FIRST_FIELDS],
        more=[_field(key) for key in MORE_FIELDS],
        sent=sent,
        answer=answer_html(answer) if answer is not None else "",
        access=access,
        daily_quota=daily_quota,
        has_withheld=any(not folder.has_public_labels for folder in folders),
    )


def answer_html(answer: SubmissionAnswer) -> Markup:
    """Build a box with the response to a check, a submission or a withdrawal: problems, or what was done."""
    summary = answer["summary"]
    estimates = [[Estimate.model_validate(task[name]) for name in HEADLINES] for task in summary.get("tasks", ())]
    heads = [Head(words) for words in ("Task", "Target", "Best so far", "This file", "Scores left")]
    return render("submit_answer.html", answer=answer, summary=summary, estimates=estimates, feedback_heads=heads)


@cache
def _field(key: str) -> CardField:
    schema = Card.model_json_schema()
    asked = schema["properties"][key]
    kinds = [asked, *asked.get("anyOf", [])]
    types = {kind.get("type") for kind in kinds}
    choices: list[str] = next((kind["enum"] for kind in kinds if "enum" in kind), [])
    if "boolean" in types:
        choices = list(_TRUTHS)
    return CardField(
        key,
        key.replace("_", " ").capitalize().replace(" url", " URL").replace("Url", "URL"),
        asked.get("description", ""),
        choices,
        "date" if key == "released" else "number" if "integer" in types else "url" if key.endswith("url") else "text",
        key in schema["required"],
    )


def fill_in(text: str, values: Mapping[str, str], file_name: str) -> tuple[str, dict[str, str], dict[str, str]]:
    """Fill in the form from the card's text, and the name from the file name.

    Returns: the text without the keys that have a field, all values, and the origin of the values filled in here.
    Raises: InvalidInput if the text is not a valid card.
    """
    card = parse_mapping(text, "card", "card") if text.strip() else {}
    found: dict[str, tuple[object, str]] = {
        key: (card.pop(key), "the card's text") for key in (*FIRST_FIELDS, *MORE_FIELDS) if _fits(card.get(key))
    }
    if file_name:
        found = {"name": (file_name.rpartition(".")[0] or file_name, "the file's name")} | found
    filled = {key: (_written(value), source) for key, (value, source) in found.items() if not values.get(key)}
    rest = yaml.safe_dump(card, sort_keys=False, allow_unicode=True) if card else ""
    values = {**values, "card": rest, **{key: value for key, (value, _) in filled.items()}}
    return rest, values, {key: source for key, (_, source) in filled.items()}


def _fits(value: object) -> bool:
    is_list = isinstance(value, list) and all(isinstance(each, str) and "," not in each for each in value)
    return is_list or (isinstance(value, str | int) and len(str(value)) <= MAX_FIELD_CHARACTERS)


def _written(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else str(value)


def card_with(text: str, values: Mapping[str, str]) -> str:
    """Write the values of the form's fields into the card's text, and keep the rest unchanged.

    Raises: InvalidInput if the text is not a valid card, or a field is too long.
    """
    card = parse_mapping(text, "card", "card") if text.strip() else {}
    given = {key: values[key].strip() for key in (*FIRST_FIELDS, *MORE_FIELDS) if values.get(key, "").strip()}
    if long := [key for key, value in given.items() if len(value) > MAX_FIELD_CHARACTERS]:
        cure = f"keep each field under {MAX_FIELD_CHARACTERS} characters"
        raise InvalidInput(Problem("a field is too long", "card", cure=cure, key=long[0]))
    card |= {key: _value(key, value) for key, value in given.items()}
    return yaml.safe_dump(card, sort_keys=False, allow_unicode=True) if card else ""


def _value(key: str, text: str) -> str | int | bool | list[str]:
    if key in ("share_predictions", "open_weights") and text in _TRUTHS:
        return _TRUTHS[text]
    if key in _LISTS:
        return [part.strip() for part in text.split(",") if part.strip()]
    is_count = _field(key).kind == "number"
    return int(text) if is_count and text.isdecimal() and len(text) <= MAX_DIGITS else text
