"""Help and parsing of commands: sections in ``--help``, names of the former version, suggestions for typos.

The section of a command or an option is its ``rich_help_panel``. The plain help here prints sections without rich,
which would take half of the time of ``--help``.
"""

import importlib
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from shiftbench.cli.former import REMOVED_COMMANDS, current_command, note_of, removed_option, rewrite_arguments
from shiftbench.validation.command_line import LIMITS, MODEL, OUTPUT, OWN_FILE
from shiftbench.validation.plain_text import escape_invisible

_OPTION_SECTIONS = ("Options", OWN_FILE, MODEL, LIMITS, OUTPUT)
"""Order of the sections of options, after the arguments."""

EXIT_CODES = (
    ("0", "done"),
    ("1", "input refused, or a source unavailable"),
    ("2", "wrong usage"),
    ("3", "a gate, a limit or a claim failed"),
    ("130", "stopped by Ctrl-C; saved work is kept"),
)
"""Exit codes of every command."""
ENVIRONMENT = (
    ("SHIFTBENCH_CACHE", "folder of caches"),
    ("SHIFTBENCH_ENCODER", "sentence encoder: a Hub id or path"),
    ("HF_TOKEN", "account on the Hugging Face Hub"),
)
"""Environment variables that every command reads."""

PLAIN: dict[str, Any] = {"pretty_exceptions_enable": False, "rich_markup_mode": None}
"""Settings of every typer program: rich, which is slow to import, formats neither help nor tracebacks."""


class _Helped:
    """Base class of commands and groups that makes ``-h`` work wherever ``--help`` does."""

    _help_option: Any

    def get_help_option(self, ctx: Any) -> Any:
        """Return the help option, rebuilt if it was cached in a context that lacks the name ``-h``."""
        command: Any = super()
        option = command.get_help_option(ctx)
        if option is not None and set(option.opts) != set(command.get_help_option_names(ctx)):
            self._help_option = None
            option = command.get_help_option(ctx)
        return option


class Command(_Helped, TyperCommand):
    """A command with options listed by section, which accepts the options of the former version."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments; each former option prints a line on standard error with the current one."""
        known = {name: _takes_value(param) for param in self.params for name in (*param.opts, *param.secondary_opts)}
        command = ctx.command_path.partition(" ")[2] or ctx.command_path
        gone = removed_option(command, args, known)
        if gone is not None and not ctx.resilient_parsing:
            ctx.fail(f"{gone[0]} was removed: {gone[1]}")
        args, former, today = rewrite_arguments(command, args, known)
        if former:
            print_former_note(ctx, former, today or ["the default behaviour"])
        rest: list[str] = super().parse_args(ctx, args)
        for param in self.params:
            is_typed = str(ctx.get_parameter_source(param.name)).endswith("COMMANDLINE")
            if getattr(param, "hidden", False) and is_typed and not ctx.resilient_parsing:
                typer.echo(f"{param.opts[0]}: {getattr(param, 'help', '')}", err=True)
        return rest

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options by section."""
        sections: dict[str, list[Any]] = {"Arguments": [], **{name: [] for name in _OPTION_SECTIONS}}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                is_argument = param.param_type_name == "argument"
                section = "Arguments" if is_argument else getattr(param, "rich_help_panel", None) or "Options"
                sections.setdefault(section, []).append(record)
        _write_sections(formatter, sections)


def _takes_value(param: Any) -> bool:
    return param.param_type_name == "option" and not param.is_flag


class Group(_Helped, TyperGroup):
    """A group with commands listed by section, one line each.

    Attributes:
        sections: for each section, maps the names of its lazily imported commands to modules (``imported_command``).
    """

    sections: ClassVar[Mapping[str, Mapping[str, str]]] = {}

    def list_commands(self, ctx: Any) -> list[str]:
        """List the names, in the order of ``--help``."""
        return [*(name for names in self.sections.values() for name in names), *self.commands]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, importing it if necessary; None for an unknown name."""
        for section, modules in self.sections.items():
            if cmd_name in modules:
                return imported_command(cmd_name, modules[cmd_name], section)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write commands by section; for the top-level group, also exit codes and environment variables."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        listed = [(name, command) for name, command in commands if command is not None and not command.hidden]
        longest = max(len(name) for name, _ in listed)
        sections: dict[str, list[Any]] = {}
        for name, command in listed:
            about = command.get_short_help_str(formatter.width - 6 - longest)
            sections.setdefault(command.rich_help_panel or "Commands", []).append((name.ljust(longest), about))
        if ctx.parent is None:
            sections |= {"Exit codes": list(EXIT_CODES), "Environment": list(ENVIRONMENT)}
        _write_sections(formatter, sections)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find a command; a former name prints a line, and an unknown one gets suggestions from all groups."""
        today = current_command(args[0]) if ctx.parent is None else None
        if today is not None:
            print_former_note(ctx, [ctx.command_path, args[0]], [ctx.command_path, *today])
            args = [*today, *args[1:]]
        if ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        if ctx.parent is None and args[0] in REMOVED_COMMANDS:
            command = " ".join([REMOVED_COMMANDS[args[0]], *(args[1:] or ["scores"] * (args[0] == "bench"))])
            ctx.fail(f"'{args[0]}' was removed; in a clone of the project, run {command}")
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            ctx.fail(f"No such command '{args[0]}'.{_suggestions(args[0], self, ctx)}")
        return super().resolve_command(ctx, args)


def print_former_note(ctx: Any, former: Sequence[str], today: Sequence[str]) -> None:
    """Print which former name was used and what replaces it, unless a shell is completing a command line.

    Args:
        ctx: context of the command.
        former: the typed words.
        today: the current words.
    """
    if not ctx.resilient_parsing:
        typer.echo(note_of(*(" ".join(map(_quoted, words)) for words in (former, today))), err=True)


def _quoted(word: str) -> str:
    """Quote a word for the shell, escaping invisible characters; words of a command stay unchanged."""
    return escape_invisible(word if word.startswith("shiftbench ") else shlex.quote(word), allowed="")


@cache
def imported_command(name: str, module: str, section: str | None = None) -> Any:
    """Import a command: a module's ``group``, its function with the command's name, or its ``main``."""
    place: Any = importlib.import_module(module)
    if isinstance(getattr(place, "group", None), typer.Typer):
        command: Any = get_group(place.group)
    else:
        command = command_of(getattr(place, name, None) or place.main, name)
    command.name, command.rich_help_panel = name, section
    return command


def command_of(function: Callable[..., None], name: str) -> Any:
    """Turn a function into a command."""
    program = typer.Typer(add_completion=False, **PLAIN)
    program.command(name, cls=Command)(function)
    return get_command(program)


def group_of(about: str, commands: Mapping[str, Callable[..., None] | typer.Typer]) -> typer.Typer:
    """Build a group from commands and groups, by name."""
    group = typer.Typer(help=about, no_args_is_help=True, cls=Group, add_completion=False, **PLAIN)
    for name, command in commands.items():
        if isinstance(command, typer.Typer):
            group.add_typer(command, name=name)
        else:
            group.command(name, cls=Command)(command)
    return group


def _suggestions(typed: str, group: Group, ctx: Any) -> str:
    """Return a sentence that suggests similar commands, of the group and of its sub-groups."""
    words = list(_all_words(group, ctx))
    names = [each.rsplit(" ", 1)[-1] for each in words]
    like = get_close_matches(typed, dict.fromkeys([*names, *words]), cutoff=0.7)
    matched = dict.fromkeys(words[n] for name in like for n, last in enumerate(names) if name in (last, words[n]))
    return f" Did you mean {' or '.join(map(repr, matched))}?" if matched else ""


def _all_words(group: Group, ctx: Any) -> Iterator[str]:
    """Yield the words that can be typed after a group, without importing the baseline programs."""
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        if command is not None and not command.hidden:
            yield name
            if isinstance(command, Group) and not command.sections:
                yield from (f"{name} {inner}" for inner in _all_words(command, ctx))
            elif isinstance(command, Group):
                yield from (f"{name} {inner}" for inner in command.list_commands(ctx))


def _write_sections(formatter: Any, sections: dict[str, list[Any]]) -> None:
    for name, rows in sections.items():
        if rows:
            with formatter.section(name):
                formatter.write_dl(rows)
