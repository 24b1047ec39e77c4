"""List every string of the rooms that a person may see, to be read in one go: python -m tests.seen_strings [ROOM...].

A line each, file:line and the string, a repeated one once: help texts, messages, words of pages and reports, and the
help of commands (their docstrings). Left out are strings without a space between words, other docstrings, and what
only code reads (patterns, queries). Text of pages that stands in .html and .js files is listed as it stands there.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("validation", "metrics", "builders", "scoring", "baselines", "leaderboard", "shiftbench", "benchmarks")
_WORDS = re.compile(r"[A-Za-z]{2,}[,.:;']? [A-Za-z{(]")
_MARKUP_TEXT = re.compile(r">([^<>{}]*[A-Za-z][^<>{}]*)<|[\"'`]([^\"'`\n]*[a-z] [a-z][^\"'`\n]*)[\"'`]")


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


def markup_strings(text: str) -> Iterator[tuple[int, str]]:
    """Find text between tags and quoted sentences of an .html or .js file, with their lines."""
    for match in _MARKUP_TEXT.finditer(text):
        words = " ".join((match[1] or match[2] or "").split())
        if _WORDS.search(words):
            yield text.count("\n", 0, match.start()) + 1, words


def main(rooms: tuple[str, ...]) -> None:
    """Print the strings of some rooms."""
    printed: set[str] = set()
    files = [(path, seen_strings(ast.parse(path.read_text(encoding="utf-8")))) for path in python_files(rooms)]
    pages = sorted(path for room in rooms for ending in ("html", "js") for path in (ROOT / room).rglob(f"*.{ending}"))
    files += [(path, markup_strings(path.read_text(encoding="utf-8"))) for path in pages]
    for path, strings in files:
        for line, text in sorted(strings):
            if text not in printed:
                printed.add(text)
                print(f"{path.relative_to(ROOT)}:{line}: {text}")


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or ROOMS)
