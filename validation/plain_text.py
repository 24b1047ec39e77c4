"""Text that reads as it is written: no invisible character, none that changes the order, no link to another host than
it seems.
"""

import re
from unicodedata import category, name

from pydantic_core import PydanticCustomError

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of which no character shows: controls, formats (soft hyphens, bidi controls), surrogates, line ends."""
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""Letters, marks and symbols that do not show either."""
_JOINER, _EMOJI_STYLE = "\u200d", "\ufe0f"
_SYMBOLS = frozenset({"So", "Sk"})
_HOST = re.compile(r"([\w.-]+|\[[0-9a-fA-F:.]+\])(:\d{1,5})?", re.ASCII)


def refuse_invisible(text: str, allowed: str = "") -> str:
    """Return a text all of whose characters show.

    Args:
        text: the text. What joins emoji, or asks for their colour, may follow an emoji.
        allowed: characters that may stand in it anyway, such as a line's end.
    Raises: PydanticCustomError naming the first character that does not show, by its code point.

    >>> refuse_invisible("DeBERTa v3 \N{MIDDLE DOT} base")
    'DeBERTa v3 \N{MIDDLE DOT} base'
    """
    before = ""
    for letter in text:
        if letter not in allowed and not _is_visible(letter, before):
            raise PydanticCustomError("invisible", "an invisible character: {found}", {"found": _code_point(letter)})
        before = letter
    return text


def refuse_deceptive_host(url: str) -> str:
    """Return a link whose host is what a reader takes for it.

    Raises: PydanticCustomError naming the character that hides where the link leads.

    >>> refuse_deceptive_host("https://github.com/someone@work/model")
    'https://github.com/someone@work/model'
    """
    host = re.split("[/?#]", url.partition("://")[2], maxsplit=1)[0]
    for letter in host:
        if letter in "@%" or not letter.isascii():
            context = {"found": _code_point(letter)}
            raise PydanticCustomError("host", "a character that hides where a link leads: {found}", context)
    if not _HOST.fullmatch(host):
        raise PydanticCustomError("host", "a link that names no host")
    return url


def _is_visible(letter: str, before: str) -> bool:
    if letter in (_JOINER, _EMOJI_STYLE):
        return before == _EMOJI_STYLE or (before != "" and category(before) in _SYMBOLS and before not in _BLANK)
    is_selector = "\ufe00" <= letter <= "\ufe0e" or "\U000e0100" <= letter <= "\U000e01ef"
    return category(letter) not in _INVISIBLE and letter not in _BLANK and not is_selector


def _code_point(letter: str) -> str:
    return f"U+{ord(letter):04X} {name(letter, '')}".rstrip()
