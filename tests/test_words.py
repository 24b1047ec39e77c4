"""Words of the code that a newcomer would have to guess: mechanical rules over all Python files of the rooms.

What no rule can see, whether a sentence is plain English, is for whoever reads the list that ``tests/seen_strings.py``
prints. Each test names every place, so that one run is enough to mend them.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.seen_strings import ROOT, python_files, seen_strings

VAGUE_VERBS = {
    "Ask", "Asks", "Bring", "Give", "Gives", "Hand", "Hands", "Have", "Hold", "Holds", "Lay", "Let", "Lets", "Name",
    "Names", "Say", "Says", "Tell", "Tells",
}  # fmt: skip
"""First words of docstrings that do not say what a function does: it returns, reads, writes, checks, refuses ..."""
VAGUE_NAMES = {
    "alike", "asked", "exchanged", "found", "given", "held", "kept", "known", "named", "said", "settled", "shown",
    "taken", "told",
}  # fmt: skip
"""Names that say neither what a function does nor of what. Properties may be participles: they are no actions."""
ONE_MEANING = {"Answer", "Choice", "Classifier", "Figure", "Model", "Plan", "Settings"}
"""Class names that have stood for several things; each may stand in one module."""
_ARCHAIC_TURNS = (
    "albeit", "as once", "asked of nobody", "brackets hold", r"else (?:its|their) \w+ were", "for want of", "hitherto",
    "how-manieth", "is a click", "nothing pretends", "thence", "thereby", "thereof", "unto", "upon", "were lost",
    "wherein", "whilst", "without more ado",
)  # fmt: skip
_GAP = r"[\s\"'#]+f?[\"']?"
"""A space, or the end of a line within a comment, a docstring or strings that Python joins."""
ARCHAIC = re.compile(rf"\b(?:{'|'.join(_ARCHAIC_TURNS).replace(' ', _GAP)})\b", flags=re.IGNORECASE)

FORMER_WORDS = re.compile(r"\bunverified\b", flags=re.IGNORECASE)
"""What people read as another thing than it was: a file that "matches no record" need not be wrong."""

Finder = Callable[[Path, ast.Module], Iterator[tuple[int, str]]]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def vague_docstrings(_: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in functions(tree):
        words = (ast.get_docstring(node) or "").split()
        if words and words[0].rstrip(",.:;") in VAGUE_VERBS:
            yield node.lineno, f"{node.name}: {words[0]} ..."


def vague_functions(_: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in functions(tree):
        is_property = any("property" in ast.unparse(each) for each in node.decorator_list)
        if node.name.strip("_") in VAGUE_NAMES and not is_property:
            yield node.lineno, node.name


def archaic_turns(path: Path, _: ast.Module) -> Iterator[tuple[int, str]]:
    text = path.read_text(encoding="utf-8")
    for match in ARCHAIC.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, " ".join(match[0].split())


def former_words(_: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    return ((line, text) for line, text in seen_strings(tree) if FORMER_WORDS.search(text))


def places(rule: Finder) -> list[str]:
    """List where a rule finds something, a line each."""
    return [
        f"{path.relative_to(ROOT)}:{line}: {what}" for path in python_files() for line, what in rule(path, parsed(path))
    ]


@pytest.mark.parametrize(
    "rule", [vague_docstrings, vague_functions, archaic_turns, former_words], ids=lambda rule: rule.__name__
)
def test_no_file_has(rule: Finder) -> None:
    broken = places(rule)
    assert not broken, "\n".join([f"{len(broken)} places:", *broken])


def test_a_class_name_stands_for_one_thing() -> None:
    modules = defaultdict(set)
    for path in python_files():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef) and node.name in ONE_MEANING:
                modules[node.name].add(str(path.relative_to(ROOT)))
    assert {name: sorted(files) for name, files in modules.items() if len(files) > 1} == {}


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (vague_docstrings, 'def label():\n    """Give the label."""'),
        (vague_functions, "async def _kept():\n    pass"),
        (archaic_turns, "x = ('skips it for want '\n     f'of {files}')"),
        (archaic_turns, "x = 1  # else its key were lost"),
        (former_words, "x = f'the file {name} is unverified'"),
    ],
)
def test_a_rule_finds_what_it_is_for(rule: Finder, source: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(source, encoding="utf-8")
    assert [line for line, _ in rule(path, ast.parse(source))] == [1]


def test_a_property_may_be_a_participle(tmp_path: Path) -> None:
    source = "class A:\n    @property\n    def given(self): ...\n"
    assert list(vague_functions(tmp_path, ast.parse(source))) == []


def test_seen_strings_are_what_a_person_reads() -> None:
    source = """
'''Docstring of the module.'''
def command(data: Annotated[Path, typer.Option("--data", help="Folder to read.")], name: "dict[str, int]") -> None:
    '''Do it all.'''
    raise ValueError(f"no such column: {name!r}")
"""
    assert sorted(text for _, text in seen_strings(ast.parse(source))) == [
        "Do it all.",
        "Folder to read.",
        "no such column: {name}",
    ]
