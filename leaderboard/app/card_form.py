"""The card as a form: what was filled in is written into the card's text, which is what gets checked and kept."""

from collections.abc import Mapping

import yaml

from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.yaml_text import MAX_DIGITS, parse_mapping

MAX_FIELD_CHARACTERS = 500
_LISTS = ("pretraining_domains",)
_TRUTHS = {"yes": True, "no": False}
_COUNTS = ("parameters", "tunable_parameters", "shots", "training_size", "tuning_trials")


def card_with(text: str, values: Mapping[str, str | None], data: str | None) -> str:
    """Write what was filled in into the card's text, and leave all else there as it is.

    Args:
        text: the card so far.
        values: of the form, by key; untouched fields hold nothing.
        data: the dataset of a server that has but one.
    Returns: the card as YAML.
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
