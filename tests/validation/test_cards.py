"""Cards: a closed schema, problems that name the key, and a round trip through YAML."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError
from syrupy.assertion import SnapshotAssertion

from shiftbench.validation.cards import Card, card_schema, parse_card, read_card, write_card
from shiftbench.validation.plain_text import refuse_invisible
from shiftbench.validation.report import InvalidInput

HASH = "0123456789abcdef" * 4
LEAST = {"name": "A model", "paradigm": "fine-tuned", "data": HASH}
LEAST_YAML = f"name: A model\nparadigm: fine-tuned\ndata: {HASH}\n"


def refusal(text: str) -> str:
    with pytest.raises(InvalidInput) as refused:
        parse_card(text, "m.card.yaml")
    return str(refused.value)


def test_yaml_and_json_say_the_same() -> None:
    assert parse_card(LEAST_YAML) == parse_card(json.dumps(LEAST)) == Card(**LEAST)  # type: ignore[arg-type]
    assert parse_card(LEAST_YAML).subset == "all"
    assert parse_card("\ufeff" + LEAST_YAML.replace("\n", "\r\n")) == Card(**LEAST)  # type: ignore[arg-type]


def test_what_was_left_out_stays_out() -> None:
    assert parse_card(LEAST_YAML).as_dict() == LEAST


def test_the_model_is_the_name_until_the_card_says_otherwise() -> None:
    plain = parse_card(LEAST_YAML)
    # What is left out stays out of what ids are made of, so that ids of older entries do not change.
    assert (plain.model_name, "model" in plain.as_dict()) == (LEAST["name"], False)
    named = parse_card(LEAST_YAML + "\nmodel: M\n")
    assert (named.model_name, named.as_dict()["model"]) == ("M", "M")


def test_refusals(tmp_path: Path, wording: SnapshotAssertion) -> None:
    texts = {f"no {key}": json.dumps({name: LEAST[name] for name in LEAST if name != key}) for key in LEAST}
    texts |= {
        "a short hash": f"name: a\nparadigm: other\ndata: {HASH[:4]}\n",
        "an unknown key": LEAST_YAML + "license: MIT\n",
        "five problems": "naem: a\nparadigm: finetuned\nseeds: 3\n",
        "a key twice": LEAST_YAML + "name: Another\n",
        "a key twice in JSON": json.dumps(LEAST)[:-1] + ', "name": "Another"}',
        "an inner key twice": LEAST_YAML + "versions: {a: '1', a: '2'}\n",
        "a surrogate": "name: \ud800",
        "too large": "name: " + "ü" * 40_000,
    }
    texts |= {f"no mapping: {text}": text for text in ("", "- a\n- b\n", "just words", "3", "null")}
    said = {name: refusal(text) for name, text in texts.items()}
    card = tmp_path / "m.card.yaml"
    with pytest.raises(InvalidInput) as refused:
        read_card(card)
    said["no file"] = str(refused.value)
    card.write_bytes(LEAST_YAML.replace("A model", "Modèle").encode("latin-1"))
    with pytest.raises(InvalidInput) as refused:
        read_card(card)
    assert {**said, "no UTF-8": str(refused.value)} == wording


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("parameters", -1),
        ("parameters", "many"),
        ("parameters", 1.5),
        ("parameters", True),
        ("parameters", "7"),
        ("parameters", 10**16),
        ("cost_usd", True),
        ("cost_usd", 1e300),
        ("cost_usd", float("nan")),
        ("cost_usd", float("inf")),
        ("url", "http://example.org"),
        ("url", "javascript:alert(1)"),
        ("url", "https://example.org/<script>"),
        ("url", "https://example.org/a b"),
        ("data", HASH.upper()),
        ("data", HASH[:-1]),
        ("name", "   "),
        ("name", "x" * 501),
        ("name", ["a"]),
        ("versions", {"numpy": 2.2}),
        ("pretraining_domains", "fiction"),
        ("paradigm", "Fine-Tuned"),
    ],
)
def test_a_bad_value_is_refused_by_key(key: str, value: Any) -> None:
    message = refusal(json.dumps({**LEAST, key: value}))
    assert len(message.splitlines()) == 1
    assert message.startswith(f"m.card.yaml, key '{key}")
    assert "; found " in message


def test_markup_in_free_text_stays_text() -> None:
    text = "<b>bold</b> {{ 7*7 }} [link](https://example.org)"
    assert parse_card(json.dumps({**LEAST, "extra_data": text})).extra_data == text


@pytest.mark.parametrize(
    "text",
    [
        "\tname: a",
        "name: [a",
        "name: 'a\x01'",
        "parameters: " + "9" * 5000,
        "name: " + "[" * 20_000,
        "a: !!python/object/apply:os.system [id]",
    ],
)
def test_broken_yaml_is_one_clear_line(text: str) -> None:
    message = refusal(text)
    assert message.startswith("m.card.yaml: ")
    assert len(message.splitlines()) == 1


MANY = ",".join(["*a{0}"] * 10)
ALIASES = "a0: &a0 [x,x]\n" + "".join(f"a{n + 1}: &a{n + 1} [{MANY.format(n)}]\n" for n in range(11)) + "name: *a11\n"
MERGES = "a0: &a0 {x: 1}\n" + "".join(f"a{n + 1}: &a{n + 1} {{<<: [{MANY.format(n)}]}}\n" for n in range(11))


@pytest.mark.parametrize("text", [ALIASES, MERGES, "a: &a [*a]\n", "a: &a {*a : 1}\n"])
def test_aliases_that_unfold_without_end_are_refused(text: str) -> None:
    start = time.monotonic()
    message = refusal(text)
    assert time.monotonic() - start < 1
    assert "(*)" in message
    assert len(message) < 300


@pytest.mark.parametrize("letter", ["\x00", "\x1b", "\n", "\u202e", "\u2066", "\u2028", "\ud800"])
def test_characters_that_do_not_show_are_refused_in_a_name(letter: str) -> None:
    message = refusal(json.dumps({**LEAST, "name": f"a{letter}b"}))
    assert message.startswith("m.card.yaml")
    assert "'name'" in message or "YAML" in message
    assert letter not in message


def test_a_command_may_have_lines() -> None:
    assert parse_card(json.dumps({**LEAST, "command": "a \\\n\tb"})).command == "a \\\n\tb"


def test_the_published_schema_is_closed_and_describes_every_required_key() -> None:
    schema = json.loads(card_schema())
    assert schema["additionalProperties"] is False
    assert sorted(schema["required"]) == ["data", "name", "paradigm"]


def shows(text: str) -> bool:
    """Return whether a card accepts the text: variation selectors and blank letters are always refused."""
    try:
        return bool(refuse_invisible(text))
    except PydanticCustomError:
        return False


words = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=40).filter(
    lambda text: text.strip() == text and text != "" and shows(text)
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.fixed_dictionaries(
        {"name": words, "paradigm": st.sampled_from(["fine-tuned", "zero-shot"]), "data": st.just(HASH)},
        optional={
            "base_model": words,
            "parameters": st.integers(0, 10**13),
            "shots": st.integers(0, 64),
            "cost_usd": st.floats(0, 1e6),
            "versions": st.dictionaries(words, words, max_size=3),
            "pretraining_domains": st.lists(words, max_size=3).map(tuple),
        },
    )
)
def test_a_written_card_reads_back_as_it_was(tmp_path: Path, facts: dict[str, Any]) -> None:
    card = Card(**facts)
    write_card(card, tmp_path / "card.yaml")
    assert read_card(tmp_path / "card.yaml") == card
