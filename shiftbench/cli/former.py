"""Names of the former version: commands that moved, options that are one now, and what went.

Each works until 0.4 and costs one line on standard error, which says the name of today. Commands know only the options
of today; those of the former version stand here alone.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

ENDS = "0.4"
"""The version with which former names end."""

COMMANDS = {
    **dict.fromkeys(("validate", "publish", "export"), "data"),
    **dict.fromkeys(
        ("withdraw", "nominate", "rescore", "archive", "release-round", "share", "card", "publish-space"), "board"
    ),
    **dict.fromkeys(("protocol", "analyse", "score-forecasts", "verify", "attack"), "study"),
    "compare-logs": "logs compare",
    "import": "logs import",
}
"""Where a command stands now: a group, or a group with the command's name there."""

GONE_COMMANDS = {"bench": "python -m benchmarks", "coverage": "python -m benchmarks coverage"}
"""Commands that measure this project; what runs them in a clone."""

GONE_OPTIONS = {
    "--log-to": "log what --json writes by your tracker's own call; the FAQ shows the lines",
    "--gpu": "--dry-run times this machine; run it on the machine that has the GPU",
    "--price": "multiply the hours that --dry-run prints by your price",
    "--eval-tokens": "prediction reads half as many texts at once by itself where memory is short",
    "--from-scratch": "save a model of random weights with transformers, and give its folder",
    "--rounds": "SetFit has the settings of its paper; --shots is what is left to choose",
}
"""Options whose work went, with what does it now."""


class Former(NamedTuple):
    """An option of the former version.

    Attributes:
        option: the option of today.
        value: its value, with ``{}`` for the former one.
        has_value: whether the former option had a value.
    """

    option: str
    value: str | None = "{}"
    has_value: bool = True


OPTIONS = {
    "--domain-column": Former("--columns", "domain={}"),
    "--domain-by": Former("--columns"),
    "--label-column": Former("--columns", "label={}"),
    "--text-column": Former("--columns", "text={}"),
    "--id-column": Former("--columns", "id={}"),
    "--split-column": Former("--columns", "split={}"),
    "--group-column": Former("--columns", "group={}"),
    "--kind": Former("--columns"),
    "--no-depth": Former("--encoder", "none", has_value=False),
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
    "--engine": Former("--ray", "local"),
    "--address": Former("--ray"),
}
"""What stands for an option of the former version in the commands that have the option of today and not the former."""

_MERGED = (("--domain-by", "--domain-column"), ("--kind", "--label-column"), ("--address", "--engine"))
"""Former options of which the first, where it was typed, holds what the second said."""
_OF_KIND = {"labels": "label", "tags": "tags", "answers": "answers", "texts": "target_text"}
"""The column that ``--kind`` meant without ``--label-column``."""


def todays_arguments(typed: Sequence[str], known: set[str]) -> tuple[list[str], list[str]]:
    """Replace the options of the former version in what was typed.

    Args:
        typed: the arguments of one command.
        known: the options that the command has.
    Returns: the arguments of today; the former options among those typed.
    """
    kept: list[str] = []
    former: list[tuple[str, str]] = []
    rest = list(typed)
    while rest:
        word = rest.pop(0)
        name, joined, value = word.partition("=")
        if word == "--":
            return [*kept, *_replaced(former), word, *rest], [each for each, _ in former]
        if name in known or name not in OPTIONS or OPTIONS[name].option not in known:
            kept.append(word)
            continue
        if OPTIONS[name].has_value and not joined:
            value = rest.pop(0) if rest else ""
        former.append((name, value))
    return [*kept, *_replaced(former)], [each for each, _ in former]


def _replaced(former: Sequence[tuple[str, str]]) -> list[str]:
    """Return the words of today for former options; two of them changed what another one meant."""
    given = dict(former)
    merged = {part for whole, part in _MERGED if whole in given}
    if given.get("--engine") == "local":
        merged.add("--engine")
    words: list[str] = []
    for name, value in former:
        template = OPTIONS[name].value
        said = value if template == "{}" else (template or "").replace("{}", value)
        if name in merged:
            continue
        if name == "--domain-by":
            said = f"{value}={given.get('--domain-column', 'domain')}"
        elif name == "--kind":
            said = f"{value}={given.get('--label-column', _OF_KIND.get(value, value))}"
        words += [OPTIONS[name].option, said]
    return words


def todays_command(name: str) -> list[str] | None:
    """Return the words of a command of the former version; None for any other name."""
    if name not in COMMANDS:
        return None
    words = COMMANDS[name].split()
    return words if len(words) > 1 else [*words, name]


def note_of(former: str, today: str) -> str:
    """Return the line that says the name of today.

    >>> note_of("shiftbench verify", "shiftbench study verify")
    "'shiftbench verify' is now 'shiftbench study verify'; the former name ends with 0.4"
    """
    return f"'{former}' is now '{today}'; the former name ends with {ENDS}"


def gone_option(typed: Sequence[str], known: Mapping[str, object] | set[str]) -> tuple[str, str] | None:
    """Find the first option among those typed whose work went, with what does it now."""
    for word in typed:
        name = word.partition("=")[0]
        if name in GONE_OPTIONS and name not in known:
            return name, GONE_OPTIONS[name]
    return None
