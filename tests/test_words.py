"""The field's terms: coinages that must not stand for one of them in a docstring, comment, message or template."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.seen_strings import ROOMS, ROOT, TEMPLATES, python_files, seen_strings, template_strings

TERMS = {
    r"at home|away from home|home (?:domains?|texts?|scores?)": "source domain, in-domain, under shift",
    r"dealt": "assigned at random, split into folds",
    r"(?:how|too) sure": "confidence, overconfident",
    r"how right|predicted wrong": "accuracy, misclassified",
    r"(?:hold|holds|held) the truth": "cover, coverage",
    r"told apart": "significantly different",
    r"unverified": "matches no record (an unknown file need not be wrong)",
    r"(?:three|four|nine) studies of (?:five|four|ten)": "80% power",
    r"(?:is|are) no (?:JSON|CSV|YAML|Parquet)": "is not valid JSON",
}
"""Pattern of a coinage, and the terms to use instead."""
_EXPRESSION = re.compile(r"\{(?:[^{}]|\{[^{}]*\})*\}")
_PATTERN = re.compile("|".join(rf"\b(?:{each})\b".replace(" ", r"\s+") for each in TERMS), flags=re.IGNORECASE)


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Find comments and strings of several words of a file, with their lines."""
    if path.suffix != ".py":
        yield from ((line, _EXPRESSION.sub("", text)) for line, text in template_strings(path))
        return
    kinds = (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type in kinds and " " in token.string:
            yield token.start[0], _EXPRESSION.sub("", token.string)


def coinages(path: Path) -> list[str]:
    return [f"{line}: {match[0]}" for line, text in prose(path) for match in _PATTERN.finditer(text)]


def test_the_terms_are_the_fields() -> None:
    pages = [path for room in ROOMS for ending in TEMPLATES for path in (ROOT / room).rglob(f"*.{ending}")]
    found = {path.relative_to(ROOT).as_posix(): coinages(path) for path in [*python_files(), *pages]}
    assert [f"{path}:{each}" for path, terms in found.items() for each in terms] == []


def test_coinages_are_found_in_words_and_not_in_names(tmp_path: Path) -> None:
    code, page = tmp_path / "a.py", tmp_path / "a.html"
    code.write_text("dealt = 1  # rows dealt out\nprint(f'{dealt} rows')\nprint('lost at  home')\n", encoding="utf-8")
    page.write_text("{# told apart #}\n<p>{{ dealt }} rows\n<b>that were dealt</b>", encoding="utf-8")
    assert (coinages(code), coinages(page)) == (["1: dealt", "3: at  home"], ["3: dealt"])


def test_seen_strings_are_what_a_person_reads() -> None:
    option = "def f(data: Annotated[Path, typer.Option(help='Folder to read.')], n: 'dict[str, int]'):"
    source = f"'A docstring.'\n{option}\n    'Do it all.'\n    raise ValueError(f'no such column: {{n!r}}')"
    seen = {text for _, text in seen_strings(ast.parse(source))}
    assert seen == {"Do it all.", "Folder to read.", "no such column: {n}"}
