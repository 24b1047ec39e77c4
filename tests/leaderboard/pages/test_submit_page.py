"""Fields written into a card: what was pasted stays, and what is no card is refused before it takes time."""

import json
import time

import pytest

from shiftbench.leaderboard.pages.submit_page import MAX_FIELD_CHARACTERS, card_with, fill_in
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.yaml_text import parse_mapping
from tests.validation.test_yaml_text import ATTACKS

MAX_SECONDS = 5


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_by_the_form_is_refused_quickly(name: str) -> None:
    """No sign-in is asked for it. Before, 407 bytes of merged mappings held a slot for 26 s."""
    begun = time.monotonic()
    for fill in (lambda: card_with(ATTACKS[name], {"name": "A model"}), lambda: fill_in(ATTACKS[name], {}, "a.csv")):
        with pytest.raises(InvalidInput, match="card"):
            fill()
    assert time.monotonic() - begun < MAX_SECONDS


def test_the_form_is_written_into_what_was_pasted() -> None:
    pasted = json.dumps({"name": "Pasted \U0001f600", "command": "train\nmore", "cost_usd": 1.5, "licence": "no"})
    text = card_with(pasted, {"name": "", "parameters": " 1200 ", "pretraining_domains": "city, 1:30"})
    assert parse_mapping(text, "card", "card") == {
        "name": "Pasted \U0001f600",
        "command": "train\nmore",
        "cost_usd": 1.5,
        "licence": "no",
        "parameters": 1200,
        "pretraining_domains": ["city", "1:30"],
    }


@pytest.mark.parametrize("digits", ["9" * 41, "९" * 41])
def test_a_count_of_many_digits_stays_text_for_the_card_to_refuse(digits: str) -> None:
    assert parse_mapping(card_with("", {"shots": digits}), "card", "card") == {"shots": digits}


def test_a_field_of_many_letters_is_refused() -> None:
    with pytest.raises(InvalidInput, match="500 "):
        card_with("", {"name": "x" * (MAX_FIELD_CHARACTERS + 1)})
