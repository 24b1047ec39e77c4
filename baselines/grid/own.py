"""Code of the user's own in a grid: checked in a process of its own, and the same in all of the grid's trials.

A grid's own process imports none of it, so that one file cannot break another, or the grid. Files are named from the
folder of the grid file, and lie in it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from shiftbench.baselines.own_code import METHODS_GROUP, PROGRAMS_GROUP, file_hash, is_own, own_files
from shiftbench.validation.report import InvalidInput, Problem

CODE_FOLDER = "SHIFTBENCH_GRID_CODE"
"""Set for a trial's process: the folder that its files are named from."""
_METHOD = "--method="


class CheckedModel(NamedTuple):
    """A model of a grid as a process of its own found it.

    Attributes:
        words: its options.
        files: files of the user's own code, each with its sha256.
        problems: what is wrong.
        names: of the program's options.
        draws: ends between which a search draws its methods' strengths, and whether they are whole numbers, by name.
    """

    words: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    names: tuple[str, ...] = ()
    draws: Mapping[str, tuple[float, float, bool]] = MappingProxyType({})


def needs_own_process(program: str, options: Mapping[str, Any]) -> bool:
    """Return whether checking a model imports code of the user's, or methods whose strengths are set."""
    return bool(_own_names(program, options)) or "set" in options


def check_in_own_process(program: str, options: Mapping[str, Any], file: str, key: str) -> CheckedModel:
    """Check a model's program, methods and options in a process of its own.

    Args:
        program: as the grid file names it.
        options: the same.
        file: the grid file.
        key: of the model in it.
    """
    code = Path(file).parent
    outside = [name for name in _own_names(program, options) if _is_outside(name)]
    if outside:
        what, cure = "a grid loads code from its own folder alone", "put the file beside the grid file"
        return CheckedModel(problems=tuple(Problem(what, file, f"'{name}'", cure, key=key) for name in outside))
    asked = {"program": program, "options": options, "file": file, "key": key, "code": str(code)}
    run = subprocess.run(
        [sys.executable, "-m", "shiftbench.baselines.grid.own"],
        input=json.dumps(asked), capture_output=True, text=True, check=False,
    )  # fmt: skip
    last = run.stdout.rpartition("\n")[2]  # the user's code may print before
    if run.returncode or not last.startswith("{"):
        lines = [line for line in run.stderr.splitlines() if line.strip()]
        found = lines[-1][:300] if lines else f"exit code {run.returncode}"
        cure = "correct the code of your own that this model names"
        return CheckedModel(problems=(Problem("checking this model failed", file, found, cure, key=key),))
    answer = json.loads(last)
    problems = tuple(Problem(**{**each, "file": file, "key": key}) for each in answer["problems"])
    words, files, names = (tuple(answer[each]) for each in ("words", "files", "names"))
    return CheckedModel(words, files, problems, names, {name: tuple(ends) for name, ends in answer["draws"].items()})


def placed(name: str, code: Path) -> str:
    """Return a name with its file's path from the folder of the grid; other names stay as they are."""
    place, _, attribute = _parts(name)
    return str(code / place) + (f":{attribute}" if attribute else "") if place.endswith(".py") else name


def placed_options(options: Sequence[str], code: Path) -> list[str]:
    """Return options as words, with the files of methods placed in the folder of the grid."""
    return [
        f"{_METHOD}{placed(word.removeprefix(_METHOD), code)}" if word.startswith(_METHOD) else word for word in options
    ]


def check_files(files: Sequence[str], code: Path) -> None:
    """Raise InvalidInput if a file of the user's is not what it was when the grid began.

    Args:
        files: of a trial, each with its sha256.
        code: the folder that they are named from.
    """
    for line in files:
        name, _, sha256 = line.rpartition(" ")
        file = code / name if name.endswith(".py") else _module_file(name)
        found = file_hash(file) if file is not None and file.is_file() else "no such file"
        if found != sha256:
            cure = "the same command makes trials of the file as it is now"
            raise InvalidInput(Problem("this file has changed since the grid began", name, f"sha256 {found}", cure))


def _module_file(name: str) -> Path | None:
    spec = find_spec(name)
    return Path(spec.origin) if spec is not None and spec.origin else None


def _own_names(program: str, options: Mapping[str, Any]) -> list[str]:
    given = options.get("method", [])
    methods = given if isinstance(given, list) else [given]
    own = [name for name in methods if isinstance(name, str) and is_own(name, METHODS_GROUP)]
    return [*([program] if is_own(program, PROGRAMS_GROUP) else []), *own]


def _parts(name: str) -> tuple[str, str, str]:
    return (name, "", "") if name.endswith(".py") else name.rpartition(":")


def _is_outside(name: str) -> bool:
    place = Path(_parts(name)[0])
    return place.suffix == ".py" and (place.is_absolute() or ".." in place.parts)


def _check(asked: Mapping[str, Any]) -> CheckedModel:
    """Check a model in this process, which was started for it."""
    from importlib import import_module

    import typer
    from typer.core import TyperGroup

    from shiftbench.baselines.grid.plan import GridModel, OptionChecks
    from shiftbench.baselines.own_code import own_program

    code, program = Path(asked["code"]), str(asked["program"])

    def command_of(main: Any) -> Any:
        app = typer.Typer(add_completion=False)
        app.command(program)(main)
        return typer.main.get_command(app)

    own = _own_names(program, asked["options"])
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
        (Path(_parts(name)[0]).parent / found).as_posix() if _parts(name)[0].endswith(".py") else found: sha256
        for name, group in groups.items()
        for found, sha256 in own_files(placed(name, code), group, "--method").items()
    }
    hashed = tuple(f"{name} {sha256}" for name, sha256 in sorted(files.items()))
    names = tuple(word.removeprefix("--") for param in command.params for word in param.opts if word.startswith("--"))
    return CheckedModel(words, hashed, tuple(checks.problems), names, draws)


def _check_methods(command: Any, program: str, words: Sequence[str]) -> dict[str, tuple[float, float, bool]]:
    """Raise InvalidInput if a fine-tuning program refuses methods, strengths or settings of the training.

    Returns: what a search draws the methods' strengths from.
    """
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


def main() -> None:
    """Answer for one model, asked on standard input; nothing is left behind, whatever the user's code started."""
    asked = json.load(sys.stdin)
    try:
        answer = _check(asked)
    except InvalidInput as refused:
        answer = CheckedModel(problems=tuple(refused.problems))
    shown = [_shown(each) for each in answer.problems]
    facts = {**answer._asdict(), "problems": shown, "draws": dict(answer.draws)}
    print(f"\n{json.dumps(facts)}", end="", flush=True)
    os._exit(0)


def _shown(problem: Problem) -> dict[str, Any]:
    """Return a problem as JSON data; where it was found goes before what is wrong, for the grid file is its place."""
    own = asdict(problem)
    return {**own, "what": f"{problem.file}: {problem.what}" if not problem.key else problem.what}


if __name__ == "__main__":
    main()
