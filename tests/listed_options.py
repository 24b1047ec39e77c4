"""Commands and their options as they are shown: ``python -m tests.listed_options`` prints the counts.

The train programs are counted apart. Benchmarks that are built with the same options are counted once.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_command

from shiftbench.cli.command import app

MOST_OPTIONS = 284
"""Options over all commands but the train programs: 230 as 0.3 began; six of fetching, six of ``build own --spec``,
``data publish --cite``, ``check --margin``, three of ``check`` over time,
seventeen of ``board log`` and the host's commands, two of ``label`` (less one of ``study score-forecasts``),
``--label-map`` of ``score``, ``gate`` and ``compare``, and three of ``study artifact``."""


class Listed(NamedTuple):
    """A command that ``--help`` shows: its words, the command, its options that are shown."""

    words: str
    command: Any
    options: dict[str, Any]


def listed_commands(group: Any = None, words: str = "") -> Iterator[Listed]:
    """List the commands of the program, groups entered, hidden ones left out."""
    group = get_command(app) if group is None else group
    context = typer.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command.hidden:
            continue
        if isinstance(command, TyperGroup):
            yield from listed_commands(command, f"{words} {name}".strip())
        else:
            shown = {max(p.opts, key=len): p for p in command.params if p.param_type_name == "option" and not p.hidden}
            yield Listed(f"{words} {name}".strip(), command, shown)


def counted_options() -> dict[str, int]:
    """Count the options of each command but the train programs; names of one group with the same options are one."""
    names: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for words, _, options in listed_commands():
        if not words.startswith("train "):
            group = words.rpartition(" ")[0]
            key = (group, tuple(sorted(options))) if group == "build" else (words, tuple(options))
            names.setdefault(key, []).append(words)
    return {", ".join(words): len(options) for (_, options), words in names.items()}


if __name__ == "__main__":
    counts = counted_options()
    for names, n in counts.items():
        print(f"{n:4}  {names}")
    programs = [each for each in listed_commands() if each.words.startswith("train ")]
    once = Counter(name for each in listed_commands() for name in each.options)
    print(f"{sum(counts.values())} options over {len(counts)} commands; {len(once)} names of options")
    print(f"{sum(len(each.options) for each in programs)} options over {len(programs)} train programs")
