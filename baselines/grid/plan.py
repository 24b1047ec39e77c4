"""The grid's TOML file: a closed schema, checked whole before anything runs, and the trials that it asks for."""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import pydantic
import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from shiftbench.baselines.grid.own import check_in_own_process, needs_own_process
from shiftbench.baselines.grid.trial import Trial, installed_versions, trial_data
from shiftbench.baselines.own_code import PROGRAMS_GROUP, is_own
from shiftbench.baselines.runs import choose_sources
from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.notices import FormerName
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean
from shiftbench.validation.toml_text import read_toml
from shiftbench.validation.vocabulary import NO_SOURCE

Seed = Annotated[int, pydantic.Field(ge=0, lt=2**32, strict=True)]
Positive = Annotated[int, pydantic.Field(gt=0, strict=True)]
Word = Annotated[str, pydantic.Field(strict=True, min_length=1)]
Words = Annotated[list[Word], pydantic.Field(min_length=1)]
ModelName = Annotated[str, pydantic.Field(strict=True, max_length=80, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
_GIVEN = ("--data=data", "--out=out.parquet", "--source=source", "--seed=0")
_OWN_OPTIONS = (*(word.partition("=")[0] for word in _GIVEN), "--help")


class _GridTable(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


Seeds = Annotated[list[Seed], pydantic.Field(min_length=1)]


class GridModel(_GridTable):
    """One ``[[models]]`` table: a program with its options, and a name for files and messages."""

    name: ModelName
    program: Word
    options: dict[str, Any] = {}
    tasks: Words | None = None
    sources: Words | None = None
    seeds: Seeds | None = None

    @pydantic.model_validator(mode="before")
    @classmethod
    def _without_parameters(cls, table: Any) -> Any:
        """Leave out the number of parameters, which an estimate for other machines used until 0.3."""
        if not isinstance(table, dict) or "parameters" not in table:
            return table
        warnings.warn("a grid's 'parameters' decide nothing now; the key ends with 0.4", FormerName, stacklevel=2)
        return {key: value for key, value in table.items() if key != "parameters"}


class GridFile(_GridTable):
    """The whole file. Paths in it are relative to it; a model's tasks, sources and seeds stand before the grid's."""

    data: Word
    out: Word = "results"
    tasks: Words | None = None
    seeds: Seeds = [0]
    sources: Words | None = None
    threads: Positive | None = None
    models: Annotated[list[GridModel], pydantic.Field(min_length=1)]


@dataclass(frozen=True)
class GridPlan:
    """What a grid file asks for: trials in the order task, model, source, seed, which is also the order in files.

    Attributes:
        code: the folder that code of the user's own is named from.
    """

    data: Path
    code: Path
    out: Path
    threads: int | None
    trials: tuple[Trial, ...]


def read_plan(
    file: Path, programs: TyperGroup, tasks: Sequence[str] | None = None, *, data: Path | None = None
) -> GridPlan:
    """Read a grid file.

    Args:
        file: the TOML file.
        programs: the command whose sub-commands are the programs (``shiftbench train``).
        tasks: those of the grid's tasks to keep; models that name none of them are left out. None keeps all.
        data: the dataset folder; None takes the one that the file names.
    Raises: InvalidInput naming everything that is wrong: keys, values, programs, their options, tasks, sources.
    """
    grid_file = _read_grid_file(file)
    if tasks:
        grid_file = _keep_tasks(grid_file, tasks)
    folder = DatasetFolder.open(data or file.parent / grid_file.data)
    checks = _Checks(file, folder, programs)
    trials = checks.trials(grid_file)
    if checks.problems:
        # A source of the whole grid is checked for every model: without duplicates it is reported once.
        raise InvalidInput(dict.fromkeys(checks.problems))
    out = Path(os.path.normpath(file.parent / grid_file.out))
    return GridPlan(folder.path, file.parent.resolve(), out, grid_file.threads, tuple(trials))


def _read_grid_file(file: Path) -> GridFile:
    if not file.is_file():
        raise InvalidInput(Problem("there is no such grid file", str(file), cure="give the path of a TOML file"))
    try:
        return GridFile.model_validate(read_toml(file))
    except pydantic.ValidationError as error:
        details = error.errors(include_context=False, include_url=False)
        raise InvalidInput(_problem(detail, str(file)) for detail in details) from error
    except ValueError as error:
        raise InvalidInput(Problem("the grid file is not TOML", str(file), str(error), "correct it there")) from error


def _keep_tasks(grid_file: GridFile, tasks: Sequence[str]) -> GridFile:
    """Keep some of a grid's tasks, and the models that have any of them."""
    named = [(model, model.tasks or grid_file.tasks or list(tasks)) for model in grid_file.models]
    kept = [(model, [task for task in of if task in tasks]) for model, of in named]
    missing = [task for task in tasks if not any(task in of for _, of in kept)]
    if missing:
        known = list(dict.fromkeys(task for _, of in named for task in of))
        what, cure = "no model of the grid has this task", did_you_mean(missing[0], known)
        raise InvalidInput(Problem(what, "--task", f"'{missing[0]}'", cure))
    models = [model.model_copy(update={"tasks": of}) for model, of in kept if of]
    return grid_file.model_copy(update={"models": models})


def _problem(detail: Any, file: str) -> Problem:
    *outer, last = detail["loc"]
    key = ".".join(str(part + 1) if isinstance(part, int) else part for part in detail["loc"])
    if detail["type"] == "extra_forbidden":
        known = GridModel.model_fields if outer else GridFile.model_fields
        return Problem("unknown key", file, f"'{last}'", did_you_mean(str(last), list(known)), key=key)
    if detail["type"] == "missing":
        return Problem("required key is missing", file, cure=f"add '{last} = ...'", key=key)
    return Problem(detail["msg"], file, repr(detail["input"])[:100], key=key)


def tasks_at_hand(file: Path, folder: DatasetFolder) -> list[str]:
    """List the tasks that a grid file names and a folder has, in the file's order."""
    grid_file = _read_grid_file(file)
    named = [task for model in grid_file.models for task in model.tasks or grid_file.tasks or folder.manifest.tasks]
    return [task for task in dict.fromkeys(named) if task in folder.manifest.tasks]


def read_without_data(
    file: Path, programs: TyperGroup, sources: Mapping[str, Sequence[str]], tasks: Sequence[str] | None = None
) -> list[Trial]:
    """Read a grid file whose dataset is not built: programs and options are checked, tasks and sources taken from here.

    Args:
        file: the TOML file.
        programs: the command whose sub-commands are the programs.
        sources: by task the domains to train on; other tasks of the grid are left out.
        tasks: those to keep; None keeps all.
    Returns: the trials, of no data.
    Raises: InvalidInput as ``read_plan``, for models and options.
    """
    grid_file, checks = _read_grid_file(file), OptionChecks(file, programs)
    trials = [
        Trial(model.name, model.program, options, task, source, seed, data="", versions=())
        for number, model in enumerate(grid_file.models, start=1)
        for options in [checks.options(model, f"models.{number}")]
        for task in model.tasks or grid_file.tasks or list(sources)
        if task in sources and (tasks is None or task in tasks)
        for source in model.sources or sources[task]
        for seed in model.seeds or grid_file.seeds
    ]
    if checks.problems:
        raise InvalidInput(dict.fromkeys(checks.problems))
    return trials


class OptionChecks:
    """Checks the programs and options of a grid file, and collects what is wrong with them."""

    def __init__(self, file: Path, programs: TyperGroup) -> None:
        self.file, self.programs = str(file), programs
        self.problems: list[Problem] = []
        self.files: dict[str, tuple[str, ...]] = {}
        """Files of the user's own code, each with its sha256, by a model's key."""

    def options(self, model: GridModel, key: str) -> tuple[str, ...]:
        """Format a model's options as words of a command line, and check them by the program itself.

        Code of the user's own is imported in another process, and its files are noted.
        """
        if not needs_own_process(model.program, model.options):
            return self.format_options(model, key)
        if not is_own(model.program, PROGRAMS_GROUP):
            self.format_options(model, key)
        if not self.problems:
            found = check_in_own_process(model.program, model.options, self.file, key)
            self.problems += found.problems
            self.files[key] = found.files
            return found.words
        return ()

    def format_options(self, model: GridModel, key: str) -> tuple[str, ...]:
        """Format a model's options as words of a command line, and check them in this process."""
        context = typer.Context(self.programs)
        command = self.programs.get_command(context, model.program)
        if command is None:
            cure = did_you_mean(model.program, self.programs.list_commands(context))
            self._note("there is no such program", f"{key}.program", model.program, cure)
            return ()
        words: list[str] = []
        for name, value in model.options.items():
            words += self._words(command, name, value, key)
        try:
            command.make_context(model.program, ["TASK", *_GIVEN, *words])
        except TyperException as error:
            cure = f"'shiftbench train {model.program} --help' lists its options"
            self._note("the program refuses these options", f"{key}.options", str(error), cure)
        return tuple(words)

    def _words(self, command: Any, name: str, value: Any, key: str) -> list[str]:
        option = f"--{name.replace('_', '-')}"
        known = {opt: parameter for parameter in command.params for opt in parameter.opts if opt.startswith("--")}
        if option in _OWN_OPTIONS:
            what, cure = "the grid itself sets this option", "leave it out; 'sources' and 'seeds' are keys of the file"
            self._note(what, f"{key}.options.{name}", option, cure)
        elif option not in known:
            cure = did_you_mean(option, [opt for opt in known if opt not in _OWN_OPTIONS])
            self._note(f"program '{command.name}' has no such option", f"{key}.options.{name}", option, cure)
        elif isinstance(value, bool) and known[option].is_flag:
            return [option] if value else known[option].secondary_opts[:1]
        elif all(type(each) in (str, int, float) for each in _as_list(value)):
            return [f"{option}={each}" for each in _as_list(value)]
        else:
            cure = "write a number, a text or a list of these; true or false for a flag"
            self._note("this option does not take such a value", f"{key}.options.{name}", str(value)[:100], cure)
        return []

    def _note(self, what: str, key: str, found: str, cure: str) -> None:
        self.problems.append(Problem(what, self.file, f"'{found}'", cure, key=key))


class _Checks(OptionChecks):
    """Turns a grid file into trials, and collects everything that is wrong with it."""

    def __init__(self, file: Path, folder: DatasetFolder, programs: TyperGroup) -> None:
        super().__init__(file, programs)
        self.folder = folder

    def trials(self, grid_file: GridFile) -> list[Trial]:
        """Build the trials in the grid's order; trials of what is wrong are missing."""
        names = [model.name.casefold() for model in grid_file.models]
        trials = []
        for number, model in enumerate(grid_file.models, start=1):
            key = f"models.{number}"
            if model.name.casefold() in names[: number - 1]:
                self._note("two models have the same name", f"{key}.name", model.name, "rename one of them")
            options = self.options(model, key)
            tasks = self._tasks(grid_file, model, key)
            wanted = {task: self._sources(task, grid_file, model, key) for task in tasks}
            trials += [
                Trial(
                    *(model.name, model.program, options, task, source, seed),
                    data=trial_data(self.folder, task, options),
                    versions=installed_versions(model.program, options),
                    files=self.files.get(key, ()),
                    dataset=self.folder.version,
                )
                for task, sources in wanted.items()
                for source in sources
                for seed in dict.fromkeys(model.seeds or grid_file.seeds)
            ]
        return trials

    def _tasks(self, grid_file: GridFile, model: GridModel, key: str) -> list[str]:
        """Choose the tasks of a model: its own, the grid's, or all that have train rows."""
        tasks = self.folder.manifest.tasks
        named = model.tasks or grid_file.tasks
        for task in named or ():
            if task not in tasks:
                where = f"{key}.tasks" if model.tasks else "tasks"
                self._note("the folder has no such task", where, task, did_you_mean(task, list(tasks)))
        return [
            task for task in dict.fromkeys(named or tasks) if task in tasks and (named or _has_train_rows(tasks[task]))
        ]

    def _sources(self, task: str, grid_file: GridFile, model: GridModel, key: str) -> list[str]:
        named = model.sources or grid_file.sources
        if named == [NO_SOURCE]:
            return named
        try:
            return choose_sources(self.folder, task, named)
        except InvalidInput as error:
            where = f"{key}.sources" if model.sources else "sources" if grid_file.sources else "data"
            self.problems += [replace(problem, file=self.file, key=where) for problem in error.problems]
            return []


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _has_train_rows(task: TaskInfo) -> bool:
    return any("train" in facts.splits for facts in task.domains.values())
