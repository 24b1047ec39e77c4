"""Characters that do not show and links that lead elsewhere are refused in cards, by their code points."""

import json
import sys
import unicodedata

import pytest

from shiftbench.validation.cards import parse_card
from shiftbench.validation.plain_text import refuse_invisible
from shiftbench.validation.report import InvalidInput

LEAST = {"name": "A model", "paradigm": "fine-tuned", "data": "0123456789abcdef" * 4}
DECEIVING = [
    ("\u00ad", "U+00AD SOFT HYPHEN"),
    ("\u200b", "U+200B ZERO WIDTH SPACE"),
    ("\u200d", "U+200D ZERO WIDTH JOINER"),
    ("\u200f", "U+200F RIGHT-TO-LEFT MARK"),
    ("\u202e", "U+202E RIGHT-TO-LEFT OVERRIDE"),
    ("\u2067", "U+2067 RIGHT-TO-LEFT ISOLATE"),
    ("\ufeff", "U+FEFF ZERO WIDTH NO-BREAK SPACE"),
    ("\u3164", "U+3164 HANGUL FILLER"),
    ("\u2800", "U+2800 BRAILLE PATTERN BLANK"),
    ("\ufe0f", "U+FE0F VARIATION SELECTOR-16"),
    ("\U000e0041", "U+E0041 TAG LATIN CAPITAL LETTER A"),
    ("\n", "U+000A"),
]


def refusal(**changes: str) -> str:
    with pytest.raises(InvalidInput) as refused:
        parse_card(json.dumps({**LEAST, **changes}, ensure_ascii=False))
    return str(refused.value)


@pytest.mark.parametrize(("letter", "named"), DECEIVING, ids=lambda value: value if value.startswith("U+") else "")
def test_a_name_of_characters_that_do_not_show_is_refused(letter: str, named: str) -> None:
    """Test names of which 8 of 12 were once accepted, so that two entries looked the same."""
    for name in (f"Good{letter} model", f"A{letter}B", f"A{letter * 3}B"):
        message = refusal(name=name)
        assert named in message
        assert letter.isprintable() or letter not in message
    assert named in refusal(contact=f"a{letter}b")


@pytest.mark.parametrize(
    "name",
    [
        "\u6a21\u578b 3",
        "\u0645\u062f\u0644",
        "Mod\u00e8le",
        "\u2764\ufe0f BERT",
        "\U0001f469\U0001f3fd\u200d\U0001f4bb",
        "x\u0302",
    ],
)
def test_names_of_all_scripts_and_emoji_are_taken(name: str) -> None:
    assert parse_card(json.dumps({**LEAST, "name": name}, ensure_ascii=False)).name == name


def test_nothing_that_unicode_calls_a_control_or_a_format_passes() -> None:
    every = (chr(code) for code in range(sys.maxunicode + 1))
    for letter in every:
        if unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            with pytest.raises(ValueError, match="invisible"):
                refuse_invisible(f"a{letter}")


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("https://github.com@evil.example/", "hides where a link leads: U+0040 COMMERCIAL AT"),
        ("https://github.com:443@evil.example/x", "hides where a link leads: U+0040 COMMERCIAL AT"),
        ("https://github.com%40evil.example/", "U+0025 PERCENT SIGN"),
        ("https://g\u0131thub.com/", "U+0131 LATIN SMALL LETTER DOTLESS I"),
        ("https://github.com\uff20evil.example/", "U+FF20 FULLWIDTH COMMERCIAL AT"),
        ("https://git\u00adhub.com/", "U+00AD SOFT HYPHEN"),
        ("https://github.com/\u202emoc.live", "U+202E RIGHT-TO-LEFT OVERRIDE"),
        ("https:///evil.example", "a link without a host"),
        ("https://[evil", "a link without a host"),
    ],
)
def test_a_link_that_leads_elsewhere_than_it_seems_is_refused(url: str, says: str) -> None:
    """Test links of which 8 of 9 were once shown as links."""
    assert says in refusal(url=url)


@pytest.mark.parametrize("url", ["https://medium.com/@someone/post", "https://example.org:8443/a?b=c@d#e"])
def test_ordinary_links_are_taken(url: str) -> None:
    assert parse_card(json.dumps({**LEAST, "url": url})).url == url
