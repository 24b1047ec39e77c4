"""Names of the former version: moved commands, merged options, and removed ones.

Each works until 0.4, and prints the current name on standard error. Commands define only current options; those of the
former version are listed only here.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import typer

ENDS = "0.4"
"""The version in which former names are removed."""

COMMANDS = {
    **dict.fromkeys(("validate", "publish", "export"), "data"),
    **dict.fromkeys(
        ("withdraw", "nominate", "rescore", "archive", "release-round", "share", "card", "publish-space"), "board"
    ),
    **dict.fromkeys(("protocol", "analyse", "score-forecasts", "verify"), "study"),
    "compare-logs": "logs compare",
    "import": "logs import",
}
"""By former name of a command: the group it moved to, or its full new name if the name changed, too."""

REMOVED_COMMANDS = {"bench": "python -m benchmarks", "coverage": "python -m benchmarks coverage"}
"""Removed commands that measured this project's own performance, and the command that replaces them in a clone."""

REMOVED_OPTIONS = {
    "--log-to": (
        ("check", "score", "grid", "train"), "log the output of --json with your tracker (docs/ci/libraries.md)"
    ),
    **dict.fromkeys(
        ("--ray", "--engine", "--address"),
        (("grid",), "give each machine a part, such as '--part 1/4 --out part-1', and copy the runs into one folder"),
    ),
    "--gpu": (("grid",), "--dry-run times this machine; run it on the machine that has the GPU"),
    "--price": (("grid",), "multiply the hours that --dry-run prints by your price"),
    "--batch": (
        ("train prompt-llm", "train rag"), "omit it: responses are cached as they arrive; --max-cost limits the cost"
    ),
    "--draws": (("train prompt-llm", "train rag"), "repeat --seed, and vary the prompt with --instruction"),
    "--guided": (("train prompt-llm", "train rag"), "pass your server's own parameter with --param NAME=JSON"),
    "--eval-tokens": (("train",), "prediction halves its batches automatically if memory is short"),
    "--from-scratch": (("train",), "save a randomly initialised model with transformers, and give its folder"),
    "--encoder": (
        ("forecast", "study score-forecasts"), "the methods that embedded texts were removed: they forecast no better"
    ),
    "--set-on": (("study score-forecasts",), "intervals of a board are calibrated on its own domains"),
    "--sign-in": (("serve",), "set it in board.toml, [submissions] sign_in = true; serve --config board.toml"),
    "--quota": (
        ("serve", "board publish-space"), "set it in board.toml, [submissions] quota = 10; give --config board.toml"
    ),
    "--title": (("board publish-space",), "set it in board.toml, title = '...'; give --config board.toml"),
    "--proxy": (("serve",), "set it in board.toml, [server] proxies = [...]; serve --config board.toml"),
}  # fmt: skip
"""Removed options: the commands that had them, and the replacement."""


class Former(NamedTuple):
    """An option of the former version.

    Attributes:
        option: the current option.
        value: its value, with ``{}`` for the former value; "" if it has none.
        has_value: whether the former option had a value.
        commands: first word of the commands that had the option; empty: all commands that have the current option.
    """

    option: str
    value: str = "{}"
    has_value: bool = True
    commands: tuple[str, ...] = ()


OPTIONS = {
    "--domain-column": Former("--columns", "domain={}"),
    "--domain-by": Former("--columns"),
    "--label-column": Former("--columns", "label={}"),
    "--text-column": Former("--columns", "text={}"),
    "--id-column": Former("--columns", "id={}"),
    "--split-column": Former("--columns", "split={}"),
    "--group-column": Former("--columns", "group={}"),
    "--kind": Former("--columns"),
    "--from-hub": Former("--fetch", "", has_value=False, commands=("build",)),
    "--no-depth": Former("--encoder", "none", has_value=False, commands=("build",)),
    "--trust-pickle": Former("--model-arg", "trust_pickle=yes", has_value=False),
    "--revision": Former("--model-arg", "revision={}"),
    "--max-length": Former("--model-arg", "max_length={}"),
    "--max-target": Former("--model-arg", "max_target={}"),
    "--form": Former("--model-arg", "form={}"),
    "--may-abstain": Former("--model-arg", "may_abstain=yes", has_value=False),
    "--instruction": Former("--model-arg", "instruction={}"),
    "--api-key-env": Former("--model-arg", "api_key_env={}"),
    "--concurrency": Former("--model-arg", "concurrency={}"),
    "--accuracy": Former("--assume", "accuracy={}"),
    "--discordance": Former("--assume", "discordance={}"),
    "--icc": Former("--assume", "icc={}"),
    "--run-sd": Former("--assume", "run_sd={}"),
    "--shared-items": Former("--allow", "items", has_value=False),
    "--any-prompts": Former("--allow", "prompts", has_value=False),
}
"""Replacements of former options, in commands that have the current option but not the former one."""

_CHOICES = {"--kind": ("labels", "tags", "answers", "texts"), "--domain-by": ("month", "quarter", "year")}
"""Valid values of former options that are now roles of ``--columns``."""
_MERGED = (("--domain-by", "--domain-column"), ("--kind", "--label-column"))
"""Pairs of former options: if the first is given, its replacement also contains the value of the second."""


class Rewritten(NamedTuple):
    """Arguments of a command, with current options.

    Attributes:
        arguments: all of them.
        former: the former options that were given, with their values.
        today: their replacements.
    """

    arguments: list[str]
    former: list[str]
    today: list[str]


def rewrite_arguments(command: str, typed: Sequence[str], known: Mapping[str, bool]) -> Rewritten:
    """Replace the options of the former version in typed arguments.

    Args:
        command: the command's words.
        typed: its arguments.
        known: the command's current options; True for those with a value.
    Returns: the arguments with current options, and the replaced options for the note on standard error.
    """
    kept: list[str] = []
    former: list[tuple[str, str | None]] = []
    rest = list(typed)
    while rest and rest[0] != "--":
        word = rest.pop(0)
        name, joined, value = word.partition("=")
        if not _is_former(command, name, known):
            kept.append(word)
            if known.get(name) and not joined and rest:
                kept.append(rest.pop(0))
        elif joined and not OPTIONS[name].has_value:
            raise typer.BadParameter(f"{name} takes no value")
        else:
            former = [each for each in former if name != each[0] or name == "--text-column"]  # the last one counts
            former.append((name, value if joined or not OPTIONS[name].has_value else rest.pop(0) if rest else None))
    today = _replace_options(former)
    words = [word for name, value in former for word in (name, value) if word]
    return Rewritten([*kept, *today, *rest], words, today)


def _is_former(command: str, name: str, known: Mapping[str, bool]) -> bool:
    former = OPTIONS.get(name)
    is_here = former is not None and (not former.commands or command.split(maxsplit=1)[0] in former.commands)
    return former is not None and is_here and name not in known and former.option in known


def _replace_options(former: Sequence[tuple[str, str | None]]) -> list[str]:
    """Return the current words for former options; some former options changed the meaning of others."""
    given = dict(former)
    merged = {part for whole, part in _MERGED if whole in given}
    words: list[str] = []
    columns: list[str] = []
    for name, value in former:
        option, template, *_ = OPTIONS[name]
        if value is None:  # the parser reports the missing value
            words += [option]
        elif name in _CHOICES and value not in _CHOICES[name]:
            raise typer.BadParameter(f"{name} must be one of {', '.join(_CHOICES[name])}; found '{value}'")
        elif name == "--domain-by":
            columns.append(f"{value}={given.get('--domain-column', 'domain')}")
        elif name == "--kind":
            columns.append(f"{value}={given.get('--label-column', '')}")
        elif option == "--columns" and name not in merged:
            columns.append(template.replace("{}", value))
        elif name not in merged:
            words += [option, template.replace("{}", value)] if template else [option]
    if any("," in each for each in columns):
        return [*(word for each in columns for word in ("--columns", each)), *words]
    return ["--columns", ",".join(columns), *words] if columns else words


def current_command(name: str) -> list[str] | None:
    """Return the current name of a former command, as words; None for other names."""
    if name not in COMMANDS:
        return None
    words = COMMANDS[name].split()
    return words if len(words) > 1 else [*words, name]


def note_of(former: str, today: str) -> str:
    """Return the line with the current name.

    >>> note_of("shiftbench verify", "shiftbench study verify")
    "'shiftbench verify' is now 'shiftbench study verify'; the old name works until 0.4"
    """
    return f"'{former}' is now '{today}'; the old name works until {ENDS}"


def removed_option(command: str, typed: Sequence[str], known: Mapping[str, bool]) -> tuple[str, str] | None:
    """Return the first removed option among the typed words, with its replacement; None if there is none.

    Args:
        command: the command's words.
        typed: its arguments.
        known: the command's current options; True for those with a value.
    """
    for word in typed[: typed.index("--")] if "--" in typed else typed:
        name = word.partition("=")[0]
        commands, instead = REMOVED_OPTIONS.get(name, ((), ""))
        if name not in known and any(f"{command} ".startswith(f"{each} ") for each in commands):
            return name, instead
    return None
