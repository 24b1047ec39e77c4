"""The one parser of YAML from outside: what JSON can say, in bounded time and memory, with the place of each fault."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from shiftbench.validation.report import InvalidInput
from shiftbench.validation.yaml_text import MAX_BYTES, MAX_DIGITS, MAX_NESTING, MAX_NODES, parse_mapping

ROOT = Path(__file__).parents[2]
MAX_SECONDS = 5


def refusal(text: str) -> str:
    with pytest.raises(InvalidInput) as refused:
        parse_mapping(text, "card", "c")
    (problem,) = refused.value.problems
    return str(problem)


def merges(levels: int) -> str:
    """Write mappings that merge ten of the ones before: each level takes ten times as long as the last."""
    return "a0: &a0 {x: 1}\n" + "".join(
        f"a{n + 1}: &a{n + 1} {{<<: [{','.join([f'*a{n}'] * 10)}]}}\n" for n in range(levels)
    )


ATTACKS = {
    "merges, 407 bytes": merges(7),
    "merges, 463 bytes": merges(8),
    "hexadecimal digits": "parameters: 0x" + "f" * 5000,
    "decimal digits": "parameters: " + "9" * 5000,
    "decimal digits in JSON": '{"parameters": ' + "9" * 4000 + "}",
    "digits of a version": "%YAML " + "9" * 5000 + ".1\n---\na: b",
    "a letter beyond Unicode": 'name: "\\UFFFFFFFF"',
    "a letter beyond Unicode, eight digits": 'name: "\\U00110000"',
    "brackets": "name: " + "[" * 60_000,
    "brackets in JSON": '{"name": ' + "[" * 30_000 + "]" * 30_000 + "}",
    "braces": "{a: " * 15_000,
    "braces in JSON": '{"a":' * 12_000,
    "complex keys": "? " * 30_000,
    "a list of many": "name: [" + "a," * 32_000 + "]",
    "a list of many in JSON": '{"name": [' + "1," * 30_000 + "1]}",
    "many keys": "".join(f"k{n}: v\n" for n in range(7_000)),
    "many anchors": "&a " * 20_000,
    "many directives": "%A\n" * 20_000,
    "many documents": "---\n" * 16_000,
    "64 KiB and one byte": "a: " + "x" * (MAX_BYTES - 2),
}
"""By what they do. Plain ``yaml.safe_load`` took 26 s and 170 MiB over the first, and more than 60 s over the second;
the third, the sixth and the seventh ended in a traceback. Their memory is measured in ``test_bombs``."""


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_refused_quickly(name: str) -> None:
    begun = time.monotonic()
    message = refusal(ATTACKS[name])
    seconds = time.monotonic() - begun
    assert message.startswith("c: ")
    assert len(message) < 300
    assert message.isprintable()
    assert seconds < MAX_SECONDS


def test_a_fault_is_told_with_its_place(wording: SnapshotAssertion) -> None:
    texts = {
        "alias": "a: 1\nb: *x",
        "tag": "a: 1\nb: !!int '3'",
        "key twice": "a: 1\nb: 1\na: 2",
        "key twice in JSON": '{"a": 1,\n "b": {"c": 1, "c": 2}}',
        "a list as a key": "a:\n  ? [b]\n  : c",
        "half a letter": 'a: b\nc: "\\ud800"',
        "half a letter in JSON": '{"a": "\\udc00\\ud800"}',
        "invisible": "a: b\nc: d\x00",
        "an open quote": "a: b\nc: 'd",
        "no letter": 'a: "\\UFFFFFFFF"',
        "digits": f"a: {'9' * (MAX_DIGITS + 1)}",
        "digits in JSON": f'{{"a": {"9" * (MAX_DIGITS + 1)}}}',
        "deep": "a: " + "[" * MAX_NESTING,
        "many": "a: [" + "1," * MAX_NODES,
    }
    assert {name: refusal(text) for name, text in texts.items()} == wording


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1:30", "1:30"),
        ("190:20:30.15", "190:20:30.15"),
        ("2024-01-31", "2024-01-31"),
        ("yes", "yes"),
        ("No", "No"),
        ("017", "017"),
        ("0b11", "0b11"),
        ("1e3", "1e3"),
        ("<<", "<<"),
        ("", None),
        ("~", None),
        ("true", True),
        ("110_000_000", 110_000_000),
        ("-0x1f", "-0x1f"),
        ("0x1F", 31),
        ("1.5e+3", 1500.0),
        (".5", 0.5),
        ("-.inf", -float("inf")),
        ("'1'", "1"),
        ('"\\ud83d\\ude00"', "\U0001f600"),
    ],
)
def test_plain_words_are_what_json_has(written: str, value: Any) -> None:
    assert parse_mapping(f"key: {written}", "card", "c") == {"key": value}


def test_json_is_read_as_json() -> None:
    """Test what YAML would refuse or change: a tab, a pair of surrogate halves, a number as text."""
    text = '{\n\t"name":"\\ud83d\\ude00",\n\t"cost_usd":1e3}'
    assert parse_mapping(text, "card", "c") == {"name": "\U0001f600", "cost_usd": 1000.0}
    assert parse_mapping("\ufeff" + json.dumps({"a": "\U0001f600"}), "card", "c") == {"a": "\U0001f600"}


letters = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8) | st.sampled_from(
    ["1:30", "yes", "0x1f", "017", "2024-01-31", "<<", "~", "1e3", "1_0", ".5", "=", "*a", "&a", "!a", "- a"]
)
leaves = (
    letters
    | st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
)
contents = st.dictionaries(
    letters,
    st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(letters, inner, max_size=3)),
    max_size=4,
)


@given(contents)
def test_what_is_written_is_read_as_it_was(content: dict[str, Any]) -> None:
    for text in (yaml.safe_dump(content, allow_unicode=True), yaml.safe_dump(content), json.dumps(content)):
        assert parse_mapping(text, "card", "c") == content


def test_no_other_module_loads_yaml() -> None:
    packages = [ROOT / name for name in ("validation", "builders", "baselines", "leaderboard", "shiftbench")]
    loads = re.compile(r"\byaml\.\w*(?:load|parse|compose|scan)\w*\(|from_yaml\(")
    found = [path for package in packages for path in package.rglob("*.py") if loads.search(path.read_text("utf-8"))]
    assert found == []
