"""Reports of invalid input: what is wrong, where, what was found and a suggested fix; all problems at once."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from unicodedata import is_normalized, normalize

from shiftbench.validation.credentials import without_credentials
from shiftbench.validation.plain_text import escape_invisible


@dataclass(frozen=True)
class Problem:
    """A problem of an input.

    ``row`` is 1-based and counts data rows only: row 1 is the first example or prediction, without the header of a CSV.
    ``key`` replaces ``column`` for files with keys. ``cure`` is the suggested fix.
    """

    what: str
    file: str
    found: str = ""
    cure: str = ""
    column: str | None = None
    row: int | None = None
    key: str | None = None

    def __str__(self) -> str:
        """Return the problem as one line; passwords in URLs are removed, invisible characters escaped."""
        place = self.file
        if self.column is not None:
            place += f", column '{self.column}'"
        if self.key is not None:
            place += f", key '{self.key}'"
        if self.row is not None:
            place += f", row {self.row}"
        parts = "".join(f"; {part}" for part in (self.found and f"found {self.found}", self.cure) if part)
        shown = escape_invisible(without_credentials(f"{place}: {self.what}{parts}"), allowed="")
        return "".join(map(_escape, shown))


def _escape(letter: str) -> str:
    """Escape a non-printable character, such as a no-break space."""
    return letter if letter.isprintable() else letter.encode("unicode_escape").decode()


class InvalidInput(Exception):  # noqa: N818 - it names what was given, as users will read it
    """An invalid input, with every problem found; nothing was written."""

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        self.problems = [problems] if isinstance(problems, Problem) else list(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    def _render_traceback_(self) -> list[str]:
        """Return one line per problem and no traceback, for notebooks (IPython protocol)."""
        return [f"{type(self).__name__}: {problem}" for problem in self.problems]


class UnknownChoice(InvalidInput):
    """An invalid value of an option or argument; commands exit with code 2, as for any usage error."""


class WrongTypeError(TypeError):
    """An argument of a wrong type, shown in one line in notebooks like ``InvalidInput``."""

    def __init__(self, argument: str, found: str, wanted: str) -> None:
        super().__init__(f"{argument}: wrong type; found {found}; give {wanted}")

    def _render_traceback_(self) -> list[str]:
        return [f"TypeError: {self}"]


def first_line(error: BaseException) -> str:
    r"""Return the first line of an error's message, cut to 200 characters, or its class name without a message.

    >>> first_line(ValueError("\nno such model\nat line 3")), first_line(KeyboardInterrupt())
    ('no such model', 'KeyboardInterrupt')
    """
    return str(error).strip().split("\n", maxsplit=1)[0][:200] or type(error).__name__


def plural(n: int, thing: str) -> str:
    """Format a count with its noun in singular or plural.

    Args:
        n: the count.
        thing: the noun in the singular; the plural adds an ``s``.
    Returns: count and noun, with commas as thousands separators.

    >>> plural(1, "more row"), plural(2_000, "more row")
    ('1 more row', '2,000 more rows')
    """
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def quote_names(names: Sequence[str], most: int | None = None) -> str:
    """Format names in single quotes, separated by commas.

    Args:
        names: all names.
        most: maximum number of names; the rest is counted. None lists all.

    >>> quote_names(["neg", "pos"]), quote_names(["a", "b", "c"], 2)
    ("'neg', 'pos'", "'a', 'b' and 1 more")
    """
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown if most is None or len(names) <= most else f"{shown} and {len(names) - most} more"


def and_more(n: int, thing: str = "row") -> str:
    """Format the number of further faults after the first.

    Args:
        n: number of further faults.
        thing: noun in the singular.
    Returns: text in parentheses after a space; empty if ``n`` is 0.

    >>> and_more(0), and_more(1), and_more(2, "repeat")
    ('', ' (and 1 more row)', ' (and 2 more repeats)')
    """
    return f" (and {plural(n, f'more {thing}')})" if n else ""


def _differing_characters(word: str, choice: str) -> str:
    """Describe how two words that look identical differ in their characters."""
    parts = difflib.SequenceMatcher(None, word, choice, autojunk=False).get_opcodes()
    start, end, other_start, other_end = next(part[1:] for part in parts if part[0] != "equal")
    here, there = (
        " ".join(f"U+{ord(letter):04X}" for letter in letters) or "nothing"
        for letters in (word[start:end], choice[other_start:other_end])
    )
    form = next((form for form in ("NFC", "NFD") if is_normalized(form, choice)), "of the data")
    return f"it only looks like '{choice}': it contains {here} instead of {there}; use Unicode normalisation {form}"


def did_you_mean(word: str, choices: Sequence[str]) -> str:
    """Suggest the nearest allowed word, or list the allowed words.

    Args:
        word: the word found.
        choices: the allowed words, at least one. At most 12 are listed.
    Returns: ``cure`` of a ``Problem``.

    >>> did_you_mean("Entailment", ["entailment", "neutral"])
    "did you mean 'entailment'?"
    >>> did_you_mean("7", ["entailment", "neutral"])
    "use one of 'entailment', 'neutral'"
    >>> did_you_mean("cafe\N{COMBINING ACUTE ACCENT}", ["caf\N{LATIN SMALL LETTER E WITH ACUTE}"])
    "it only looks like 'café': it contains U+0065 U+0301 instead of U+00E9; use Unicode normalisation NFC"
    """
    for choice in choices:
        if choice != word and normalize("NFC", choice) == normalize("NFC", word):
            return _differing_characters(word, choice)
    by_folded = {choice.casefold(): choice for choice in choices}
    near = difflib.get_close_matches(word.casefold().strip(), list(by_folded), n=1, cutoff=0.6)
    if near:
        return f"did you mean '{by_folded[near[0]]}'?"
    shown = ", ".join(f"'{choice}'" for choice in list(choices)[:12])
    return f"use one of {shown}" + (f" ({len(choices) - 12} more)" if len(choices) > 12 else "")


def format_size(n_bytes: int) -> str:
    """Format a number of bytes with one to three significant digits and a decimal unit.

    >>> format_size(912), format_size(1_500_000), format_size(312_000_000_000)
    ('912 B', '1.5 MB', '312 GB')
    """
    size, units = float(n_bytes), iter(("B", "kB", "MB", "GB", "TB"))
    unit = next(units)
    while size >= 999.5:
        size, unit = size / 1000, next(units, unit)
    return f"{size:.{int(0 < size < 9.95 and unit != 'B')}f} {unit}"
