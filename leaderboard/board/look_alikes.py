"""Names that look alike: the same letters of other alphabets, in another case, with other blanks or marks."""

import unicodedata
from functools import lru_cache

_LOOK_LIKE = {
    "a": "аɑαᴀ", "b": "ЬвƄв", "c": "сϲᴄ", "d": "ԁɗ", "e": "еҽєℯε", "f": "ғƒ", "g": "ɡցɢ", "h": "һհнʜ",
    "i": "іıɩιǃӏ1|l!", "j": "јϳ", "k": "кκᴋ", "m": "мᴍ", "n": "ոռпɴ", "o": "оοօσ0ᴏ", "p": "рρᴘ", "q": "ԛզ",
    "r": "гᴦɾʀ", "s": "ѕꜱʂ5", "t": "тτᴛ", "u": "υսʋᴜ", "v": "νѵᴠ", "w": "ԝшωᴡ", "x": "хχ×", "y": "уүγʏ", "z": "ᴢʐ",
    "-": "‐‑‒–—−_.·",
}  # fmt: skip
"""Characters that are shown like a Latin letter or a hyphen in common fonts, in lower case: of Cyrillic, Greek,
Armenian and phonetic alphabets, and digits (see Unicode Technical Standard 39, section 4)."""
_PLAIN = str.maketrans({other: letter for letter, others in _LOOK_LIKE.items() for other in others})


@lru_cache(maxsize=100_000)
def skeleton(name: str) -> str:
    """Return what all names that look like a name have in common.

    >>> skeleton("\N{CYRILLIC SMALL LETTER A}dmin") == skeleton("Admin"), skeleton("tfidf") == skeleton("TF-IDF")
    (True, True)
    >>> skeleton("bert-base") == skeleton("bert-large")
    False
    """
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    shown = (each for each in decomposed if unicodedata.category(each) not in ("Mn", "Cf", "Cc", "Me", "Zs"))
    return "".join(shown).translate(_PLAIN).replace("rn", "m").replace("vv", "w").replace("-", "")
