"""Cards: metadata of a prediction file (submitter, model, training). Unknown keys are refused; text is never markup."""

import json
import reprlib
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
import yaml

from shiftbench.validation.outside import MAX_NAME, VISIBLE_LINE, VISIBLE_LINES, Count
from shiftbench.validation.plain_text import refuse_deceptive_host, refuse_invisible
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean
from shiftbench.validation.versions import DataVersion
from shiftbench.validation.yaml_text import MAX_BYTES, parse_mapping

MAX_CARD_BYTES = MAX_BYTES


def _plain_link(url: str) -> str:
    return refuse_deceptive_host(refuse_invisible(url))


Text = Annotated[
    str, pydantic.StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_NAME), VISIBLE_LINE
]
LongText = Annotated[
    str,
    pydantic.StringConstraints(strip_whitespace=True, min_length=1, max_length=5000),
    VISIBLE_LINES,
]
Sha256 = Annotated[str, pydantic.StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Url = Annotated[
    str,
    pydantic.StringConstraints(pattern=r"^https://[^\s<>\"'\\]+$", max_length=500),
    pydantic.AfterValidator(_plain_link),
]


def _real_day(text: str) -> str:
    date.fromisoformat(text)
    return text


Day = Annotated[str, pydantic.StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$"), pydantic.AfterValidator(_real_day)]
"""A day in ISO 8601, such as 2024-05-31."""


class Card(pydantic.BaseModel):
    """Metadata of one prediction file. Unknown keys are refused; optional ones may be left out."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    name: Text = pydantic.Field(description="Name of the entry as the board shows it")
    model: Text | None = pydantic.Field(
        None,
        description="Model name that joins its entries for several tasks on the overall board; default: the "
        "entry's name",
    )
    base_model: Text | None = pydantic.Field(None, description="Pretrained model it starts from")
    family: Text | None = pydantic.Field(None, description="Model family, such as 'deberta-v3'")
    parameters: Count | None = pydantic.Field(None, description="Number of parameters")
    tunable_parameters: Count | None = pydantic.Field(None, description="Number of parameters that training changes")
    paradigm: Literal["fine-tuned", "few-shot", "zero-shot", "retrieval", "other"]
    shots: Count | None = pydantic.Field(None, description="Demonstrations in a prompt")
    training_size: Count | None = pydantic.Field(None, description="Training examples per source, if limited")
    step: Count | None = pydantic.Field(None, description="Training step of the checkpoint, if not the last")
    model_selection: Literal["none", "source-validation", "leave-one-domain-out", "oracle"] = "none"
    tuning_trials: Count | None = pydantic.Field(
        None, description="Number of configurations tried when tuning (the maximum over sources); 1 without tuning"
    )
    extra_data: Text | None = pydantic.Field(None, description="Training data other than the source domain")
    pretraining_domains: tuple[Text, ...] = pydantic.Field((), description="Domains known to be in pretraining")
    command: LongText | None = pydantic.Field(None, description="Command that produced the predictions")
    versions: dict[Text, Text] = pydantic.Field(default_factory=dict, description="Library versions")
    run: dict[Text, Text] = pydantic.Field(
        default_factory=dict, description="How the model was run: revision, engine, dtype, batch size, hash of prompts"
    )
    tokens: Count | None = pydantic.Field(None, description="Tokens spent on prompting")
    cost_usd: float | None = pydantic.Field(
        None, ge=0, le=1e12, allow_inf_nan=False, strict=True, description="Cost of prompting"
    )
    url: Url | None = pydantic.Field(None, description="Code or paper, https only")
    paper_url: Url | None = pydantic.Field(None, description="Paper, https only")
    code_url: Url | None = pydantic.Field(None, description="Code, https only")
    model_url: Url | None = pydantic.Field(None, description="Model, https only")
    share_predictions: bool | None = pydantic.Field(
        None,
        strict=True,
        description="Whether the predictions may be downloaded by everyone: individually, in bulk and in archives",
    )
    contact: Text | None = None
    licence: Text | None = pydantic.Field(None, description="Licence of the model")
    open_weights: bool | None = pydantic.Field(None, strict=True, description="Whether the model's weights are public")
    released: Day | None = pydantic.Field(None, description="Release date of the model, such as 2024-05-31")
    data: Sha256 = pydantic.Field(description="Content hash of the dataset folder, from its shiftbench.json")
    settings: Sha256 | None = pydantic.Field(
        None, description="Settings hash of the dataset folder, from its shiftbench.json"
    )
    subset: Text = "all"

    @property
    def version(self) -> DataVersion:
        """Return the version of the dataset that the predictions are for."""
        return DataVersion(self.data, self.settings)

    @property
    def allows_download(self) -> bool:
        """Return whether the predictions may be downloaded individually (unless the card forbids it)."""
        return self.share_predictions is not False

    @property
    def allows_bulk(self) -> bool:
        """Return whether the predictions may be included in archives (only if the card allows it explicitly)."""
        return self.share_predictions is True

    @property
    def model_name(self) -> str:
        """Return the model's name, by which a submitter's entries share one row of the overall board."""
        return self.model or self.name

    def as_dict(self) -> dict[str, Any]:
        """Return the card as JSON data, without keys at their default."""
        return self.model_dump(mode="json", exclude_none=True, exclude_defaults=True)


def read_card(path: Path) -> Card:
    """Read a YAML or JSON card.

    Args:
        path: the file, at most 64 KiB of UTF-8.
    Returns: the card.
    Raises: InvalidInput with every wrong, missing or unknown key, or if the file does not exist.
    """
    if not path.is_file():
        raise InvalidInput(
            Problem("there is no such card file", str(path), cure="give the path of a YAML or JSON card")
        )
    if path.stat().st_size > MAX_CARD_BYTES:
        raise InvalidInput(
            Problem("the card is too large", str(path), f"{path.stat().st_size:,} bytes", "the limit is 64 KiB")
        )
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(Problem("the card is not UTF-8 text", str(path), cure="save it as UTF-8")) from error
    return parse_card(text, str(path))


def card_beside(predictions: Path) -> tuple[Card | None, list[Problem]]:
    """Read the card of a prediction file if it exists.

    Args:
        predictions: the file; its card is ``<name>.card.yaml``.
    Returns: the card, or None if it is missing or invalid; and the problems of an invalid card.
    """
    path = card_path(predictions)
    if not path.is_file():
        return None, []
    try:
        return read_card(path), []
    except InvalidInput as error:
        return None, error.problems
    except OSError as error:
        return None, [Problem("the card cannot be read", str(path), error.strerror or str(error))]


def find_card(predictions: Path) -> Path:
    """Return the path of a prediction file's card, after checking that both files exist.

    Raises: InvalidInput if the prediction file or its card is missing.
    """
    card = card_path(predictions)
    if not predictions.is_file():
        raise InvalidInput(Problem("there is no such prediction file", str(predictions), cure="check the path"))
    if not card.is_file():
        cure = f"write {card.name}; 'shiftbench board card' makes one"
        raise InvalidInput(Problem("this prediction file has no card next to it", str(predictions), cure=cure))
    return card


def card_path(predictions: Path) -> Path:
    """Return the path of a prediction file's card: ``<name>.card.yaml`` in the same folder."""
    return predictions.with_name(f"{predictions.stem}.card.yaml")


def parse_card(text: str, file: str = "card", given: Mapping[str, str] | None = None) -> Card:
    """Parse the text of a YAML or JSON card, within the limits of ``shiftbench.validation.yaml_text``.

    Args:
        text: the card, at most 64 KiB.
        file: the file's name, used in problems.
        given: values of keys that the text does not contain.
    Returns: the card.
    Raises: InvalidInput with every wrong, missing or unknown key.
    """
    content = parse_mapping(text, "card", file)
    try:
        return Card.model_validate({**(given or {}), **content})
    except pydantic.ValidationError as error:
        raise InvalidInput(_problem(detail, file) for detail in error.errors(include_context=False)) from error


def write_card(card: Card, path: Path) -> None:
    """Write a card as YAML, keys in the schema's order.

    Args:
        card: the card; keys at their default are omitted.
        path: the file, which is overwritten.
    """
    path.write_text(yaml.safe_dump(card.as_dict(), sort_keys=False, allow_unicode=True), encoding="utf-8")


def card_schema() -> str:
    """Return the card's JSON schema as text."""
    return json.dumps(Card.model_json_schema(), indent=2)


def _problem(detail: Any, file: str) -> Problem:
    key = ".".join(str(part) for part in detail["loc"])[:80]
    if detail["type"] == "extra_forbidden":
        return Problem("unknown key", file, f"'{key}'", did_you_mean(key, list(Card.model_fields)), key=key)
    if detail["type"] == "missing":
        description = Card.model_fields[key].description if key in Card.model_fields else None
        return Problem(
            "required key is missing",
            file,
            cure=f"add '{key}: ...'" + (f" ({description})" if description else ""),
            key=key,
        )
    if key in ("data", "settings"):
        name = "content" if key == "data" else key
        cure = f"copy all 64 characters of '{name}_hash' in shiftbench.json; 'shiftbench board card' does that"
        return Problem(f"this is not the {name} hash of a dataset", file, _SHORT.repr(detail["input"]), cure, key=key)
    return Problem(detail["msg"], file, _SHORT.repr(detail["input"]), key=key)


# An untrusted value may be long or deeply nested, so messages quote only its beginning.
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 200
_SHORT.maxlevel = 2
