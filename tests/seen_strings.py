"""List every string of the rooms that a person may see, to be read in one go: python -m tests.seen_strings [ROOM...].

A line each, file:line and the string, a repeated one once: help texts, messages, text of pages and reports, and the
help of commands (their docstrings). Omitted: strings without a space between words, other docstrings, patterns and
queries. Templates (.html, .txt, .j2) are listed with their expressions, and quoted sentences of .js files.
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("validation", "metrics", "builders", "scoring", "baselines", "leaderboard", "shiftbench", "benchmarks")
_WORDS = re.compile(r"[A-Za-z]{2,}[,.:;']? [A-Za-z{(]")
_QUOTED = re.compile(r"(?<!class=)(?<=[=(\s,~\[])([\"'`])([^\"'`\n<>]*[a-z] [a-z][^\"'`\n<>]*)\1")
_COMMENT = re.compile(r"\{#.*?#\}", flags=re.DOTALL)
_STATEMENT = re.compile(r"\{%.*?%\}", flags=re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_TEXT = re.compile(r"(?:[^\0\n]|\n(?!\n))+")
"""Text between tags (each replaced by a null) or empty lines, with the expressions of a template."""
TEMPLATES = ("html", "js", "txt", "j2")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def python_files(rooms: tuple[str, ...] = ROOMS) -> list[Path]:
    """List the Python files of the rooms, in order."""
    return sorted(path for room in rooms for path in (ROOT / room).rglob("*.py"))


def code_strings(tree: ast.Module) -> set[ast.AST]:
    """Find the constants that are docstrings, also those under a variable or a field, and those in annotations."""
    strings: set[ast.AST] = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        for typed in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            # An annotation that calls typer.Option holds the option's help.
            if typed is not None and "typer." not in ast.unparse(typed):
                strings.update(ast.walk(typed))
    return {node for node in strings if isinstance(node, ast.Constant)}


def seen_strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Find the strings of a module that have words, and the help of its commands, with their lines."""
    skipped = code_strings(tree)
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            skipped.update(ast.walk(node))
            text = "".join(
                f"{{{ast.unparse(each.value)}}}" if isinstance(each, ast.FormattedValue) else ast.literal_eval(each)
                for each in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        elif isinstance(node, ast.FunctionDef) and "typer." in ast.unparse(node.args):
            text = ast.get_docstring(node) or ""
        else:
            continue
        if _WORDS.search(text):
            yield node.lineno, " ".join(text.split())


def blank(pattern: re.Pattern[str], text: str, filler: str = "") -> str:
    """Replace matches by a filler and their line breaks, so that line numbers remain."""
    return pattern.sub(lambda match: filler + "\n" * match[0].count("\n"), text)


def template_strings(path: Path) -> Iterator[tuple[int, str]]:
    """Find text between tags and quoted sentences of a template, or only the latter of a script, with their lines."""
    text = blank(_COMMENT, path.read_text(encoding="utf-8"))
    plain = blank(_TAG, blank(_STATEMENT, text, "|"), "\0")
    for pattern, part in ((_QUOTED, text), (_TEXT, "" if path.suffix == ".js" else plain)):
        for match in pattern.finditer(part):
            words = " ".join(match[match.lastindex or 0].split()).strip("| ")
            if _WORDS.search(words):
                yield part.count("\n", 0, match.start()) + 1, words


def main(rooms: tuple[str, ...]) -> None:
    """Print the strings of some rooms."""
    printed: set[str] = set()
    files = [(path, seen_strings(parsed(path))) for path in python_files(rooms)]
    pages = sorted(path for room in rooms for ending in TEMPLATES for path in (ROOT / room).rglob(f"*.{ending}"))
    files += [(path, template_strings(path)) for path in pages]
    for path, strings in files:
        for line, text in sorted(strings):
            if text not in printed:
                printed.add(text)
                print(f"{path.relative_to(ROOT)}:{line}: {text}")


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or ROOMS)
