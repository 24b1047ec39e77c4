"""The follow-up command for each domain of a check, for the shell or as a call in a notebook."""

from collections.abc import Mapping, Sequence
from math import floor
from typing import Any, NamedTuple, Protocol

import typer

from shiftbench.scoring.scores.next_steps import Step
from shiftbench.scoring.scores.shape import DomainCheck, NextStep

_ROWS = ("data", "task", "trained_on", "columns", "min_texts")
"""Options that ``check`` and ``gate`` share."""
_WRITTEN = ("report", "json_")
"""Options for output files, which a follow-up command must not overwrite."""


class StepFiles(NamedTuple):
    """Inputs of follow-up commands on single domains.

    Attributes:
        predictions: the model's predictions on rows with labels; None if they cannot be matched to the rows by an id.
        unlabelled: the model's predictions on rows without labels; None if they cannot be matched.
        texts: number of texts of each domain without labels.
        is_given: whether the predictions were given as a file, with the model's names of labels.
    """

    predictions: str | None
    unlabelled: str | None
    texts: Mapping[str, int]
    is_given: bool


class CommandFormatter(Protocol):
    """Formats a command with the options of the check.

    Args:
        command: its name.
        first: its first argument; None for that of the check.
        kept: options of the check to repeat; None for all.
        more: further options, by the names of function arguments.
    """

    def __call__(self, command: str, first: str | None, kept: Sequence[str] | None = None, **more: Any) -> str:
        """Return the command."""


def step_command(step: NextStep, check: DomainCheck, again: CommandFormatter, files: StepFiles) -> str | None:
    """Format the follow-up command for a domain.

    Args:
        step: the recommended step.
        check: results of the check.
        again: formats the command.
        files: inputs of the command.
    Returns: the command; None if no number of labels is enough for a decision, if an unlabelled domain has no ids to
        sample from, or if no minimum score would be above the no-skill level of every domain.
    """
    if step.step == Step.ACCEPT and files.predictions is not None:
        limit = _limit(check)
        if limit is None:
            return None
        kept = (*_ROWS, "label_map") if files.is_given else _ROWS
        return again("gate", files.predictions, kept, **limit)
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


def _limit(check: DomainCheck) -> Mapping[str, float] | None:
    """Return the limit for ``gate``: the margin or, without drops, the lowest lower end of the domains' intervals.

    Returns: None if a model at a domain's no-skill level would keep that limit.
    """
    if check.mean_drop is not None and check.margin is not None:
        return {"max_drop": round(100 * check.margin, 6)}
    tested = [each for each in check.domains if not each.has_few_texts]
    least = floor(min(100 * each.score.low for each in tested if each.score.low is not None))
    is_skill = all(least > 100 * max(each.floor.chance, each.floor.majority) for each in tested if each.floor)
    return {"min_score": least} if is_skill else None


def shell_formatter(context: typer.Context) -> CommandFormatter:
    """Return a formatter of shell commands that repeat the options given to ``check``.

    Args:
        context: typer's context of the running ``check``, with its options.
    """

    def write(command: str, first: str | None, kept: Sequence[str] | None = None, **more: Any) -> str:
        import shlex

        words = ["shiftbench", command, first or str(context.params["model"])]
        for each in context.command.params:
            name, value = str(each.name), context.params.get(str(each.name))
            if name in ("model", *_WRITTEN) or (kept is not None and name not in kept):
                continue
            # Repeat the options that were typed, not defaults.
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


def call_formatter(given: Mapping[str, Any], columns: Mapping[str, Any], names: Mapping[str, str]) -> CommandFormatter:
    """Return a formatter of Python calls; ``model``, ``predictions`` and ``data`` stand for the user's variables.

    Args:
        given: the other arguments of ``check``, without those that are None.
        columns: how the table is read.
        names: variable names for temporary files of predictions.
    """

    def write(command: str, first: str | None, kept: Sequence[str] | None = None, **more: Any) -> str:
        arguments = {name: value for name, value in given.items() if kept is None or name in kept}
        arguments |= columns if kept is None or "columns" in kept else {}
        domains = {"domains": more.pop("domain")} if command == "label" else {}
        out = more.pop("out", None)
        words = [f"{name}={value!r}" for name, value in {**arguments, **more, **domains}.items()]
        call = f"sb.{command}({', '.join([names.get(first or '', first or 'model'), 'data', *words])})"
        return f"{call}.write({out!r})" if out else call

    return write
