"""The command to run about each domain after a check, as it is typed, or as a call in a notebook."""

from collections.abc import Mapping, Sequence
from math import floor
from typing import Any, NamedTuple, Protocol

import typer

from shiftbench.scoring.scores.next_steps import Step
from shiftbench.scoring.scores.shape import DomainCheck, NextStep

_ROWS = ("data", "task", "trained_on", "columns", "min_texts")
"""Options of ``check`` that ``gate`` has, too."""
_WRITTEN = ("report", "json_")


class StepFiles(NamedTuple):
    """What commands about single domains read.

    Attributes:
        predictions: of the model on the rows with labels; None where they cannot be matched to the rows by an id.
        unlabelled: of the model on the rows without labels; None as before.
        texts: how many texts each domain without labels has.
        is_given: whether the predictions were given, with labels as the model calls them.
    """

    predictions: str | None
    unlabelled: str | None
    texts: Mapping[str, int]
    is_given: bool


class Again(Protocol):
    """Writes a command with what was asked for in a check.

    Args:
        command: its name.
        first: its first argument; None for that of the check.
        kept: the check's options that it has; None for all.
        more: further options, by the names of a function's arguments.
    """

    def __call__(self, command: str, first: str | None, kept: Sequence[str] | None = None, **more: Any) -> str:
        """Return the command."""


def step_command(step: NextStep, check: DomainCheck, again: Again, files: StepFiles) -> str | None:
    """Write the command to run about a domain.

    Args:
        step: what to do.
        check: what was found.
        again: writes it.
        files: what it reads.
    Returns: the command; None where no number of labels decides, or a domain without labels has no ids to draw from.
    """
    if step.step == Step.ACCEPT and files.predictions is not None:
        kept = (*_ROWS, "label_map") if files.is_given else _ROWS
        return again("gate", files.predictions, kept, **_limit(check))
    if step.step == Step.LABEL and step.texts is None:
        return None
    if step.texts is not None and step.domain in files.texts:
        if files.unlabelled is None:
            return None
        budget = min(step.texts, files.texts[step.domain])
        draw = {"domain": step.domain, "budget": budget, "out": "to_label.csv"}
        return again("label", files.unlabelled, ("data", "columns"), **draw)
    other = {Step.RETRAIN: "RETRAINED", Step.HARDER: "STRONGER"}
    return again("check", other.get(Step(step.step)))


def _limit(check: DomainCheck) -> Mapping[str, float]:
    """Return the limit that keeps what was accepted: the margin from home, or the score that every domain has."""
    if check.mean_drop is not None and check.margin is not None:
        return {"max_drop": round(100 * check.margin, 6)}
    return {"min_score": floor(min(100 * each.score.low for each in check.domains if each.score.low is not None))}


def typed_again(context: typer.Context) -> Again:
    """Return what writes commands as they are typed, with the options that were given to ``check``.

    Args:
        context: of the command.
    """

    def write(command: str, first: str | None, kept: Sequence[str] | None = None, **more: Any) -> str:
        import shlex

        words = ["shiftbench", command, first or str(context.params["model"])]
        for each in context.command.params:
            name, value = str(each.name), context.params.get(str(each.name))
            if name in ("model", *_WRITTEN) or (kept is not None and name not in kept):
                continue
            if value is None or context.get_parameter_source(name).name != "COMMANDLINE":  # type: ignore[union-attr]
                continue
            option = max(each.opts, key=len)
            if isinstance(value, bool):
                words.append(option if value else max(each.secondary_opts, key=len))
            else:
                for part in value if isinstance(value, list | tuple) else [value]:
                    words += [option, str(part)]
        for name, value in more.items():
            words += [f"--{name.replace('_', '-')}", f"{value:g}" if isinstance(value, float) else str(value)]
        return shlex.join(words)

    return write


def called_again(given: Mapping[str, Any], columns: Mapping[str, Any], names: Mapping[str, str]) -> Again:
    """Return what writes calls of a notebook's functions; ``model``, ``predictions`` and ``data`` stand for tables.

    Args:
        given: the other arguments of ``check``, those that are None left out.
        columns: how the table is read.
        names: what files are called that hold predictions for as long as a check runs.
    """

    def write(command: str, first: str | None, kept: Sequence[str] | None = None, **more: Any) -> str:
        arguments = {name: value for name, value in given.items() if kept is None or name in kept}
        arguments |= columns if kept is None or "columns" in kept else {}
        domains = {"domains": more.pop("domain")} if command == "label" else {}
        out = more.pop("out", None)
        said = [f"{name}={value!r}" for name, value in {**arguments, **more, **domains}.items()]
        call = f"sb.{command}({', '.join([names.get(first or '', first or 'model'), 'data', *said])})"
        return f"{call}.write({out!r})" if out else call

    return write
