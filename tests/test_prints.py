"""Nothing prints outside commands: modules return what is to be shown, log what they note, and warn."""

import ast
from collections.abc import Iterator

import pytest

from tests.seen_strings import ROOT, parsed, python_files

PRINTERS = {
    "shiftbench/__main__.py",
    *(f"validation/{name}.py" for name in ("command_line", "notices", "plain_console", "plain_streams")),
    "baselines/versions.py",
    "builders/fetching/status.py",
    "leaderboard/app/check_worker.py",
    "leaderboard/app/faults.py",
    "leaderboard/app/request_log.py",
    "baselines/grid/own_check.py",
}
"""Files that print for all others, a program of its own, a child that answers through a pipe, a server's log."""
COMMAND_FOLDERS = ("shiftbench/cli/", "benchmarks/")
_STREAMS = ("sys.stderr.write", "sys.stdout.write", "sys.__stderr__.write", "sys.__stdout__.write")
_ECHOES = ("typer.echo", "typer.secho", "click.echo", "click.secho")


def prints(tree: ast.AST) -> Iterator[int]:
    """Find the lines that print, but for those of commands: functions with options or arguments of typer."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef) and "typer." in ast.unparse(node.args):
            continue
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            owner, _, name = called.rpartition(".")
            of_console = name == "print" and "console" in owner.lower()
            if called in ("print", "rich.print", *_STREAMS, *_ECHOES) or of_console:
                yield node.lineno
        yield from prints(node)


def test_only_commands_print() -> None:
    found = []
    for path in python_files():
        name = str(path.relative_to(ROOT))
        if not name.startswith(COMMAND_FOLDERS) and name not in PRINTERS:
            found += [f"{name}:{line}" for line in prints(parsed(path))]
    assert not found, "\n".join(["These print; return lines, log, or warn:", *found])


@pytest.mark.parametrize(
    "source",
    [
        "print(1)",
        "def f(console):\n    console.print('a')",
        "open_console(stderr=True).print('a')",
        "class A:\n    def f(self):\n        self._console.print('a')",
        "typer.echo('a', err=True)",
        "f(lambda line: typer.echo(line))",
        "sys.stderr.write('a')",
    ],
)
def test_what_prints_is_found(source: str) -> None:
    assert len(list(prints(ast.parse(source)))) == 1


@pytest.mark.parametrize(
    "source",
    [
        '"""\n>>> print(1)\n"""',
        "def f():\n    '''Return it.\n\n    >>> print(f())\n    '''",
        "log.info('a')",
        "def main(out: Annotated[Path, typer.Option('--out')]) -> None:\n    typer.echo('a')",
    ],
)
def test_docstrings_logs_and_commands_are_not(source: str) -> None:
    assert list(prints(ast.parse(source))) == []
