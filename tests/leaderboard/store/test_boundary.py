"""The boundary of ``shiftbench.leaderboard.store``: it alone writes paths below a store's root."""

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.store import Store, entries, hub, local
from shiftbench.leaderboard.store import store as store_module
from shiftbench.scoring.comparing.entries import ComparedEntry, compare_with_first
from tests.leaderboard.conftest import Filled

PROJECT = Path(__file__).parents[3]
ROOMS = ("validation", "metrics", "builders", "scoring", "baselines", "leaderboard", "shiftbench", "benchmarks")
NAMES = ("ENTRIES", "WITHDRAWN", "SCORES", "COMPARISONS")
FOLDERS = {getattr(entries, name) for name in NAMES}


def joins_below_a_root(source: str) -> Iterator[int]:
    """List the lines in which something is joined to a store's root, or the name of a folder of one to any path."""
    tree = ast.parse(source)
    roots = {"root"} | {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute) and node.value.attr == "root"
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            if _is_root(node.left, roots) or _names_a_folder(node.right):
                yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("joinpath", "glob", "rglob", "iterdir") and _is_root(node.func.value, roots):
                yield node.lineno
        elif isinstance(node, ast.JoinedStr) and any(
            isinstance(part, ast.FormattedValue) and _is_root(part.value, roots) for part in node.values[:-1]
        ):
            yield node.lineno


def _is_root(node: ast.expr, names: set[str]) -> bool:
    return node.attr == "root" if isinstance(node, ast.Attribute) else isinstance(node, ast.Name) and node.id in names


def _names_a_folder(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Constant) and part.value in FOLDERS for part in ast.walk(node))


@pytest.mark.parametrize(
    "source",
    [
        'path = store.root / "index"',
        'def f(root):\n    return root / "index"',
        'place = store.root\npath = place / "x"',
        'store.root.joinpath("x")',
        'path = f"{store.root}/x"',
        'path = folder / "entries" / identity',
        "found = index.store.root.rglob('*')",
    ],
)
def test_a_path_that_is_spelled_elsewhere_would_be_found(source: str) -> None:
    assert list(joins_below_a_root(source))


def test_no_other_module_joins_paths_below_a_root() -> None:
    found = [
        f"{path.relative_to(PROJECT)}:{line}"
        for room in ROOMS
        for path in (PROJECT / room).rglob("*.py")
        if PROJECT / "leaderboard/store" not in path.parents
        for line in joins_below_a_root(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_a_store_whose_folders_are_named_otherwise_works_as_before(
    filled: Filled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that no other code writes a folder's name: it would make that folder, or miss the renamed one."""
    root = tmp_path / "store"
    shutil.copytree(filled.store.root, root, ignore=shutil.ignore_patterns("index", "comparisons"))
    for name in NAMES:
        old = getattr(entries, name)
        for module in (entries, hub, local, store_module):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, f"{old}-elsewhere")
        if (root / old).is_dir():
            (root / old).rename(root / f"{old}-elsewhere")
    monkeypatch.setattr(local, "DERIVED", (entries.SCORES, entries.COMPARISONS))
    store = Store(root)
    index = Index([filled.folder], store)
    assert index.settle()
    assert index.frame(index.boards()[0]).height == len(filled.entries)
    chosen = [filled.entries[name] for name in ("good", "poor")]
    sides = [
        ComparedEntry(each.id, each.card.name, store.predictions(each), each.card.version, "all") for each in chosen
    ]
    assert compare_with_first(sides, filled.folder, store)
    assert Index([filled.folder], Store(root)).settle()
    there = {path.name for path in root.iterdir() if path.name != ".lock"}
    assert there == {"entries-elsewhere", "scores-elsewhere", "comparisons-elsewhere", "log"}
    assert store.index_file("rows").is_file()
