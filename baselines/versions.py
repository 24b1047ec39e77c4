"""Versions of training programs and methods, which are part of trial keys, and hashes of their code."""

import ast
import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from shiftbench.baselines.robust.method import METHODS
from shiftbench.validation.toml_text import read_toml

ROOM = Path(__file__).parent
TABLE = ROOM / "versions.toml"
_PACKAGE = "shiftbench.baselines."
_COUNTED = ("robust", "training")
"""Folders whose files are part of the code of a program or method that imports them."""


@cache
def version_table() -> dict[str, dict[str, dict[str, Any]]]:
    """Read the table: ``programs`` and ``methods``, by name, each with ``version`` and ``code``."""
    return read_toml(TABLE)


def code_versions(program: str, options: Sequence[str]) -> tuple[str, ...]:
    """Return the versions of a program and of the methods among its options, such as ('programs 1', 'group-dro 2').

    Returns: the program's version, and those of methods above version 1: trials from before methods had versions keep
        their keys.
    """
    table = version_table()
    chosen = sorted(option.removeprefix("--method=") for option in options if option.startswith("--method="))
    methods = {name: table["methods"][name]["version"] for name in chosen if name in table["methods"]}
    of_program = table["programs"].get(program, {"version": 1})["version"]
    return (f"programs {of_program}", *(f"{name} {number}" for name, number in methods.items() if number > 1))


def own_file(name: str, *, is_method: bool) -> Path:
    """Return the file of a program or method."""
    if is_method:
        return ROOM / f"robust/{METHODS[name].partition(':')[0]}.py"
    return ROOM / f"{name.replace('-', '_')}.py"


def code_hash(file: Path) -> str:
    """Hash the code of a file and of the files of ``robust`` and ``training`` that it imports, without docstrings."""
    trees = (ast.dump(_without_docstrings(ast.parse(path.read_text("utf-8")))) for path in sorted(_imported(file)))
    return hashlib.sha256("\n".join(trees).encode()).hexdigest()[:16]


def _imported(file: Path) -> set[Path]:
    """List a file, and the files in the folders of ``_COUNTED`` that it imports directly or indirectly."""
    found, left = set[Path](), [file]
    while left:
        path = left.pop()
        if path in found:
            continue
        found.add(path)
        left += [each for each in _imports(path) if each.relative_to(ROOM).parts[0] in _COUNTED]
    return found


def _imports(file: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
        elif isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        for name in names:
            path = ROOM.joinpath(*name.removeprefix(_PACKAGE).split(".")).with_suffix(".py")
            if name.startswith(_PACKAGE) and path.is_file():
                yield path


def _without_docstrings(tree: ast.Module) -> ast.Module:
    """Remove all strings that are statements: docstrings, also those of constants."""
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [each for each in body if not _is_text(each)]  # type: ignore[attr-defined]
    return tree


def _is_text(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def record() -> None:
    """Write the hash of each program's and method's code into the table, and print those that have changed."""
    text = TABLE.read_text("utf-8")
    for kind, entries in read_toml(TABLE).items():
        for name, entry in entries.items():
            code = code_hash(own_file(name, is_method=kind == "methods"))
            if code != entry["code"]:
                line = f'{name} = {{ version = {entry["version"]}, code = "%s" }}'
                text = text.replace(line % entry["code"], line % code)
                print(f"{name}: version {entry['version']}, code {code}")
    TABLE.write_text(text, "utf-8")


if __name__ == "__main__":
    record()
