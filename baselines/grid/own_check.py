"""Check one model of a grid in a separate process, which imports the user's code; started by ``own``."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from shiftbench.baselines.grid.own import CheckedModel, name_parts, own_names, placed, placed_options
from shiftbench.baselines.grid.plan import GridModel, OptionChecks
from shiftbench.baselines.own_code import METHODS_GROUP, PROGRAMS_GROUP, own_files, own_program
from shiftbench.validation.report import InvalidInput


def _check(asked: Mapping[str, Any]) -> CheckedModel:
    """Check a model in this process, which was started for that purpose."""
    code, program = Path(asked["code"]), str(asked["program"])

    def command_of(main: Any) -> Any:
        app = typer.Typer(add_completion=False)
        app.command(program)(main)
        return typer.main.get_command(app)

    own = own_names(program, asked["options"])
    if program in own:
        command = own_program(placed(program, code), command_of)
    else:
        command = command_of(import_module(f"shiftbench.baselines.{program.replace('-', '_')}").main)
    checks = OptionChecks(Path(asked["file"]), TyperGroup(commands={program: command}))
    model = GridModel(name="model", program=program, options=asked["options"])
    words = checks.format_options(model, asked["key"])
    draws: dict[str, tuple[float, float, bool]] = {}
    if not checks.problems and program not in own:
        draws = _check_methods(command, program, placed_options(words, code))
    groups = {name: PROGRAMS_GROUP if name == program else METHODS_GROUP for name in own}
    files = {
        (Path(name_parts(name)[0]).parent / found).as_posix() if name_parts(name)[0].endswith(".py") else found: sha256
        for name, group in groups.items()
        for found, sha256 in own_files(placed(name, code), group, "--method").items()
    }
    hashed = tuple(f"{name} {sha256}" for name, sha256 in sorted(files.items()))
    names = tuple(word.removeprefix("--") for param in command.params for word in param.opts if word.startswith("--"))
    return CheckedModel(words, hashed, tuple(checks.problems), names, draws)


def _check_methods(command: Any, program: str, words: Sequence[str]) -> dict[str, tuple[float, float, bool]]:
    """Check methods and settings of a fine-tuning program; return search ranges of the methods' hyperparameters."""
    from shiftbench.baselines.robust.method import Robustness, short_name, strengths_of
    from shiftbench.baselines.robust.synonyms import SynonymSource
    from shiftbench.baselines.training.options import TrainingOptions

    typed = command.make_context(program, ["TASK", "--data=data", "--out=out.parquet", *words]).params
    if "settings" not in typed:
        return {}
    names = [name for name in TrainingOptions.__dataclass_fields__ if name in typed]
    training = TrainingOptions(**{name: typed[name] for name in names})
    training.set_hyperparameters()
    is_classifier = program == "finetune-classifier"
    synonyms = typed.get("synonyms", SynonymSource.WORDNET)
    robustness = Robustness.of(typed.get("method"), synonyms, training, of_words=not is_classifier)
    return {
        f"{short_name(name)}.{key}": (*each.metadata["draws"], isinstance(each.default, int))
        for name, method in robustness.methods.items()
        for key, each in strengths_of(method).items()
        if each.metadata.get("draws")
    }


def check(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of checking a model, as JSON data."""
    try:
        answer = _check(asked)
    except InvalidInput as refused:
        answer = CheckedModel(problems=tuple(refused.problems))
    # The file of a problem without a key goes into the message, because the reported file is the grid file.
    shown = [
        {**asdict(each), "what": each.what if each.key else f"{each.file}: {each.what}"} for each in answer.problems
    ]
    return {**answer._asdict(), "problems": shown, "draws": dict(answer.draws)}


def main() -> None:
    """Check the model described on standard input, print the result as JSON, and exit at once."""
    print(f"\n{json.dumps(check(json.load(sys.stdin)))}", end="", flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
