"""User code in a grid: checked in a separate process, and required to stay the same in all trials of the grid.

The grid's main process does not import it, so that one file cannot break another, or the grid. Files must be in the
folder of the grid file, and their paths are relative to it.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from shiftbench.baselines.own_code import METHODS_GROUP, PROGRAMS_GROUP, is_own
from shiftbench.builders.checksums import file_sha256
from shiftbench.validation.report import InvalidInput, Problem

CODE_FOLDER = "SHIFTBENCH_GRID_CODE"
"""Environment variable of a trial's process: the base folder of the paths of user code."""
_METHOD = "--method="


class CheckedModel(NamedTuple):
    """The result of checking a model of a grid in a separate process.

    Attributes:
        words: its options as command-line words.
        files: files of user code, each as ``NAME SHA256``.
        names: the program's option names, without dashes.
        draws: search ranges of method hyperparameters, such as 'irm.weight': lower and upper bound, whether an integer.
    """

    words: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    names: tuple[str, ...] = ()
    draws: Mapping[str, tuple[float, float, bool]] = MappingProxyType({})


def needs_own_process(program: str, options: Mapping[str, Any]) -> bool:
    """Return whether checking a model imports user code, or methods whose hyperparameters are set."""
    return bool(own_names(program, options)) or "set" in options


def check_in_own_process(program: str, options: Mapping[str, Any], file: str, key: str) -> CheckedModel:
    """Check a model's program, methods and options in a separate process."""
    code = Path(file).parent
    places = {name: Path(name_parts(name)[0]) for name in own_names(program, options)}
    outside = [
        name for name, each in places.items() if each.suffix == ".py" and (each.is_absolute() or ".." in each.parts)
    ]
    if outside:
        what, cure = "a grid loads code only from its own folder", "move the file to the folder of the grid file"
        return CheckedModel(problems=tuple(Problem(what, file, f"'{name}'", cure, key=key) for name in outside))
    asked = {"program": program, "options": options, "file": file, "key": key, "code": str(code)}
    run = subprocess.run(
        [sys.executable, "-m", "shiftbench.baselines.grid.own_check"],
        input=json.dumps(asked), capture_output=True, text=True, check=False,
    )  # fmt: skip
    last = run.stdout.rpartition("\n")[2]  # the user's code may have printed earlier lines
    if run.returncode or not last.startswith("{"):
        lines = [line for line in run.stderr.splitlines() if line.strip()]
        found = lines[-1][:300] if lines else f"exit code {run.returncode}"
        cure = "fix the user code that this model uses"
        return CheckedModel(problems=(Problem("checking this model failed", file, found, cure, key=key),))
    answer = json.loads(last)
    problems = tuple(Problem(**{**each, "file": file, "key": key}) for each in answer["problems"])
    words, files, names = (tuple(answer[each]) for each in ("words", "files", "names"))
    return CheckedModel(words, files, problems, names, {name: tuple(ends) for name, ends in answer["draws"].items()})


def placed(name: str, code: Path) -> str:
    """Resolve the path of ``FILE.py[:NAME]`` against the grid's folder; return other names unchanged."""
    place, _, attribute = name_parts(name)
    return str(code / place) + (f":{attribute}" if attribute else "") if place.endswith(".py") else name


def placed_options(options: Sequence[str], code: Path) -> list[str]:
    """Return command-line options, with the files of methods resolved against the grid's folder."""
    return [
        f"{_METHOD}{placed(word.removeprefix(_METHOD), code)}" if word.startswith(_METHOD) else word for word in options
    ]


def check_files(files: Sequence[str], code: Path) -> None:
    """Raise InvalidInput if a file of user code, given with its sha256, has changed since the grid began."""
    for line in files:
        name, _, sha256 = line.rpartition(" ")
        spec = None if name.endswith(".py") else find_spec(name)
        file = code / name if spec is None else Path(spec.origin or "")
        found = file_sha256(file) if file.is_file() else "no such file"
        if found != sha256:
            cure = "run the same command again: it runs trials with the current file"
            raise InvalidInput(Problem("this file has changed since the grid started", name, f"sha256 {found}", cure))


def own_names(program: str, options: Mapping[str, Any]) -> list[str]:
    """List the program and the methods of a model that are user code."""
    given = options.get("method", [])
    methods = given if isinstance(given, list) else [given]
    own = [name for name in methods if isinstance(name, str) and is_own(name, METHODS_GROUP)]
    return [*([program] if is_own(program, PROGRAMS_GROUP) else []), *own]


def name_parts(name: str) -> tuple[str, str, str]:
    """Split a name of code into file or module, ":" and attribute."""
    return (name, "", "") if name.endswith(".py") else name.rpartition(":")
