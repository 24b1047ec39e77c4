"""Protection against deceptive text: invisible or bidirectional characters, and links with a disguised host.

Names and labels with such characters are refused when they are read. Texts may contain them, so they are escaped when
they are displayed: on a console, on pages, in tables.
"""

import json
import re
from typing import Any
from unicodedata import bidirectional, category, combining, name

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of invisible characters: controls, formats (soft hyphens, bidi controls), surrogates, separators."""
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""Further invisible characters in visible categories (letters, marks, symbols)."""
_JOINER, _NON_JOINER, _EMOJI_STYLE = "\u200d", "\u200c", "\ufe0f"
_SYMBOLS = frozenset({"So", "Sk"})
_VIRAMA = 9
"""Combining class of viramas in Indic scripts, after which joiners are part of the spelling (RFC 5892)."""
_SURELY_SHOWN = re.compile(r"[\x20-\x7e\xa1-\xac\xae-\u02ff]*")
_HOST = re.compile(r"([\w.-]+|\[[0-9a-fA-F:.]+\])(:\d{1,5})?", re.ASCII)


def refuse_invisible(text: str, allowed: str = "") -> str:
    """Return a text unchanged if all its characters are visible.

    Args:
        text: the text. Joiners and variation selectors are allowed after an emoji, and joiners after Arabic letters
            and Indic viramas.
        allowed: invisible characters to allow, such as line ends.
    Raises: PydanticCustomError with the code point of the first invisible character.

    >>> refuse_invisible("DeBERTa v3 \N{MIDDLE DOT} base")
    'DeBERTa v3 \N{MIDDLE DOT} base'
    """
    before = ""
    for letter in text:
        if letter not in allowed and not _is_visible(letter, before):
            raise _refusal("invisible", "an invisible character: {found}", letter)
        before = letter
    return text


def escape_invisible(text: str, allowed: str = "\n\t") -> str:
    r"""Escape the characters of a text that ``refuse_invisible`` would refuse.

    Args:
        text: the text.
        allowed: invisible characters to leave unchanged.
    Returns: the text, with each other invisible character as a Python escape such as ``\u202e``.

    >>> escape_invisible("a\x1b[2J\u202eb")
    'a\\x1b[2J\\u202eb'
    """
    if _SURELY_SHOWN.fullmatch(text):
        return text
    letters, before = [], ""
    for letter in text:
        is_shown = letter in allowed or _is_visible(letter, before)
        letters.append(letter if is_shown else letter.encode("unicode_escape").decode())
        before = letter
    return "".join(letters)


def escape_in_json(text: str) -> str:
    r"""Escape invisible characters in JSON by equivalent JSON escapes.

    >>> escape_in_json('"a\u202eb"')
    '"a\\u202eb"'
    """
    if _SURELY_SHOWN.fullmatch(text):
        return text
    letters, before = [], ""
    for letter in text:
        # The only invisible characters outside JSON strings are line ends; inside strings they are escaped already.
        is_shown = letter == "\n" or _is_visible(letter, before)
        letters.append(letter if is_shown else json.dumps(letter)[1:-1])
        before = letter
    return "".join(letters)


def refuse_deceptive_host(url: str) -> str:
    """Return a URL unchanged unless it disguises its host (``@``, ``%`` or non-ASCII characters in it).

    Raises: PydanticCustomError with the offending character.

    >>> refuse_deceptive_host("https://github.com/someone@work/model")
    'https://github.com/someone@work/model'
    """
    host = re.split("[/?#]", url.partition("://")[2], maxsplit=1)[0]
    for letter in host:
        if letter in "@%" or not letter.isascii():
            raise _refusal("host", "a character that hides where a link leads: {found}", letter)
    if not _HOST.fullmatch(host):
        raise _refusal("host", "a link without a host")
    return url


def _is_visible(letter: str, before: str) -> bool:
    if letter in (_JOINER, _EMOJI_STYLE):
        is_emoji = before == _EMOJI_STYLE or (before != "" and category(before) in _SYMBOLS and before not in _BLANK)
        return is_emoji or (letter == _JOINER and _is_joining(before))
    if letter == _NON_JOINER:
        return _is_joining(before)
    is_selector = "\ufe00" <= letter <= "\ufe0e" or "\U000e0100" <= letter <= "\U000e01ef"
    return category(letter) not in _INVISIBLE and letter not in _BLANK and not is_selector


def _is_joining(letter: str) -> bool:
    return letter != "" and (bidirectional(letter) == "AL" or combining(letter) == _VIRAMA)


def _refusal(kind: Any, words: Any, letter: str = "") -> Exception:
    """Build a PydanticCustomError; imported here to keep pydantic out of the start of commands."""
    from pydantic_core import PydanticCustomError

    return PydanticCustomError(kind, words, {"found": _code_point(letter)} if letter else None)


def _code_point(letter: str) -> str:
    return f"U+{ord(letter):04X} {name(letter, '')}".rstrip()
