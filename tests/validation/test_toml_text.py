"""TOML from outside: whatever the file holds, the reader ends soon, and with a ValueError."""

from pathlib import Path

import pytest

from shiftbench.validation.toml_text import read_toml


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "[" * 50_000, "nested too deeply"),
        ("a" + ".a" * 50_000 + " = 1", r"more than 500 dots \(at line 1\)"),
        ("a = 1" + "0" * 5_000, "4300 digits"),
        ("a = 1\n" * 50_000, "300,000 bytes"),
        ("a = ", "Invalid value"),
    ],
    ids=["nested", "dotted", "digits", "large", "cut"],
)
def test_no_toml(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(ValueError, match=said):
        read_toml(tmp_path / "a.toml")


def test_tables(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('[a.b]\nc = "é"\n', encoding="utf-8")
    assert read_toml(tmp_path / "a.toml") == {"a": {"b": {"c": "é"}}}
