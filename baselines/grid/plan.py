"""The grid's TOML file: a closed schema, checked completely before anything runs, and the trials that it defines."""

import logging
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from shiftbench.baselines.grid.own import CheckedModel, check_in_own_process, needs_own_process
from shiftbench.baselines.grid.search import SOURCE_VALIDATION, SearchedModel, add_settings, check_task, draw_settings
from shiftbench.baselines.grid.trial import Searched, Trial, installed_versions, trial_data
from shiftbench.baselines.own_code import PROGRAMS_GROUP, is_own
from shiftbench.baselines.robust.method import short_name
from shiftbench.baselines.runs import choose_sources
from shiftbench.baselines.training.options import is_setting
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.notices import FormerName
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean
from shiftbench.validation.toml_text import read_toml
from shiftbench.validation.vocabulary import NO_SOURCE

log = logging.getLogger(__name__)
Seed = Annotated[int, pydantic.Field(ge=0, lt=2**32, strict=True)]  # numpy's global generator takes no larger ones
Positive = Annotated[int, pydantic.Field(gt=0, strict=True)]
Word = Annotated[str, pydantic.Field(strict=True, min_length=1)]
Words = Annotated[list[Word], pydantic.Field(min_length=1)]
ModelName = Annotated[str, pydantic.Field(strict=True, max_length=80, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
_GIVEN = ("--data=data", "--out=out.parquet", "--source=source", "--seed=0")
_OWN_OPTIONS = (*(word.partition("=")[0] for word in _GIVEN), "--help")


class _GridTable(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


Seeds = Annotated[list[Seed], pydantic.Field(min_length=1)]


class DrawnRange(_GridTable):
    """Range from which a search samples a setting, log-uniformly."""

    low: Annotated[float, pydantic.Field(gt=0)]
    high: Annotated[float, pydantic.Field(gt=0)]

    @pydantic.model_validator(mode="after")
    def _rises(self) -> "DrawnRange":
        if self.low >= self.high:
            raise ValueError("'low' must be below 'high'")
        return self


Value = pydantic.StrictInt | pydantic.StrictFloat | Word
Values = Annotated[list[Value], pydantic.Field(min_length=1)]


class GridSearch(_GridTable):
    """One ``[searches.NAME]`` table: the search space, the number of settings to sample, and the selection rule.

    Attributes:
        trials: sets of settings tried for each model, task and source; the first set is the model's own options.
        seed: seed of the sampling and of the search trials; the selected settings run on other seeds.
        select: 'source-validation', or 'oracle' (the targets' test rows, which are unavailable in practice).
        space: settings to sample: options of the program, and settings of ``--set``, including the methods'
            hyperparameters. Hyperparameters of methods that are not listed are sampled from their default ranges.
    """

    trials: Annotated[int, pydantic.Field(ge=2, strict=True)]
    seed: Seed = 100
    select: Literal["source-validation", "oracle"] = "source-validation"
    space: dict[str, Values | DrawnRange] = {}


class GridModel(_GridTable):
    """One ``[[models]]`` table: a program with its options; each combination of ``vary`` is a model of its own."""

    name: ModelName
    program: Word
    options: dict[str, Any] = {}
    vary: dict[str, Values] = {}
    search: Word | None = None
    tasks: Words | None = None
    sources: Words | None = None
    seeds: Seeds | None = None

    @pydantic.model_validator(mode="before")
    @classmethod
    def _without_parameters(cls, table: Any) -> Any:
        """Drop the key ``parameters`` (a model's size), used until 0.3 to estimate the cost on other machines."""
        if not isinstance(table, dict) or "parameters" not in table:
            return table
        warnings.warn("'parameters' of a grid has no effect; the key is removed in 0.4", FormerName, stacklevel=2)
        return {key: value for key, value in table.items() if key != "parameters"}


class GridFile(_GridTable):
    """The whole file. Paths are relative to it; a model's tasks, sources and seeds override the grid's."""

    data: Word
    out: Word = "results"
    tasks: Words | None = None
    seeds: Seeds = [0]
    sources: Words | None = None
    threads: Positive | None = None
    searches: dict[Word, GridSearch] = {}
    models: Annotated[list[GridModel], pydantic.Field(min_length=1)]


@dataclass(frozen=True)
class GridPlan:
    """The contents of a grid file.

    ``trials`` are in the order of the result files, without the final runs of searches, which are not known yet.
    """

    data: Path
    code: Path
    out: Path
    threads: int | None
    trials: tuple[Trial, ...]
    searches: tuple[SearchedModel, ...] = ()


def read_plan(
    file: Path, programs: TyperGroup, tasks: Sequence[str] | None = None, *, data: Path | None = None
) -> GridPlan:
    """Read a grid file.

    Args:
        file: the TOML file.
        programs: the command whose sub-commands are the programs (``shiftbench train``).
        tasks: keep only these tasks of the grid, and the models that have any of them. None keeps all.
        data: the dataset folder; None uses the one named in the file.
    Raises: InvalidInput listing every problem with keys, values, programs, options, tasks and sources.
    """
    grid_file = _read_grid_file(file)
    if tasks:
        grid_file = _keep_tasks(grid_file, tasks)
    folder = DatasetFolder.open(data or file.parent / grid_file.data)
    checks = _Checks(file, folder, programs)
    trials = checks.trials(grid_file)
    if checks.problems:
        # The grid's sources are checked for every model: deduplicate, to report each problem once.
        raise InvalidInput(dict.fromkeys(checks.problems))
    out = Path(os.path.normpath(file.parent / grid_file.out))
    return GridPlan(folder.path, file.parent.resolve(), out, grid_file.threads, tuple(trials), tuple(checks.searches))


def _read_grid_file(file: Path) -> GridFile:
    if not file.is_file():
        raise InvalidInput(Problem("there is no such grid file", str(file), cure="give the path of a TOML file"))
    try:
        grid_file = GridFile.model_validate(read_toml(file))
        return grid_file.model_copy(update={"models": [each for model in grid_file.models for each in _varied(model)]})
    except pydantic.ValidationError as error:
        details = error.errors(include_context=False, include_url=False)
        raise InvalidInput(_problem(detail, str(file)) for detail in details) from error
    except ValueError as error:
        raise InvalidInput(Problem("the grid file is not valid TOML", str(file), str(error), "correct it")) from error


def _varied(model: GridModel) -> list[GridModel]:
    """Expand a model with ``vary`` into one model per combination of values, named by its values."""
    if not model.vary:
        return [model]
    models = []
    for values in product(*model.vary.values()):
        given = dict(zip(model.vary, values, strict=True))
        settings = model.options.get("set", [])
        # Options of a program have no dot and are not in the list of settings without an option.
        typed = {name: value for name, value in given.items() if not is_setting(name)}
        added = [f"{name}={value}" for name, value in given.items() if is_setting(name)]
        options = {**model.options, **typed}
        if added:
            options["set"] = [*(settings if isinstance(settings, list) else [settings]), *added]
        name = "-".join([model.name, *(f"{key.rpartition('.')[2]}-{value}" for key, value in given.items())])
        if len(name) > 80 or not re.fullmatch(r"[A-Za-z0-9._-]+", name):
            what, cure = "the values of 'vary' make an invalid model name", "write one [[models]] table per combination"
            raise InvalidInput(Problem(what, model.name, f"'{name}'", cure, key="vary"))
        models.append(model.model_copy(update={"name": name, "options": options, "vary": {}}))
    return models


def _keep_tasks(grid_file: GridFile, tasks: Sequence[str]) -> GridFile:
    """Keep some of a grid's tasks, and the models that have any of them."""
    named = [(model, model.tasks or grid_file.tasks or list(tasks)) for model in grid_file.models]
    kept = [(model, [task for task in of if task in tasks]) for model, of in named]
    missing = [task for task in tasks if not any(task in of for _, of in kept)]
    if missing:
        known = list(dict.fromkeys(task for _, of in named for task in of))
        what, cure = "no model of the grid uses this task", did_you_mean(missing[0], known)
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


def available_tasks(file: Path, folder: DatasetFolder) -> list[str]:
    """List the tasks of a grid file that the folder contains, in the file's order."""
    grid_file = _read_grid_file(file)
    named = [task for model in grid_file.models for task in model.tasks or grid_file.tasks or folder.manifest.tasks]
    return [task for task in dict.fromkeys(named) if task in folder.manifest.tasks]


def read_without_data(
    file: Path, programs: TyperGroup, sources: Mapping[str, Sequence[str]], tasks: Sequence[str] | None = None
) -> list[Trial]:
    """Read a grid file without its dataset: check programs and options; tasks and sources come from the arguments.

    Args:
        file: the TOML file.
        programs: the command whose sub-commands are the programs.
        sources: the training domains of each task; other tasks of the grid are skipped.
        tasks: tasks to keep; None keeps all.
    Returns: the trials, without a data hash.
    Raises: InvalidInput for models and options, as in ``read_plan``.
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
    """Checks the programs and options of a grid file, and collects the problems."""

    def __init__(self, file: Path, programs: TyperGroup) -> None:
        self.file, self.programs = str(file), programs
        self.problems: list[Problem] = []
        self.checked: dict[str, CheckedModel] = {}
        """Results of the checks in separate processes, by model key."""

    def options(self, model: GridModel, key: str) -> tuple[str, ...]:
        """Format a model's options as command-line words, and check them, user code in a separate process."""
        tunes_methods = model.search is not None and "method" in model.options
        if not needs_own_process(model.program, model.options) and not tunes_methods:
            return self.format_options(model, key)
        before = len(self.problems)
        if not is_own(model.program, PROGRAMS_GROUP):
            self.format_options(model, key)
        if len(self.problems) == before:
            found = check_in_own_process(model.program, model.options, self.file, key)
            self.problems += found.problems
            self.checked[key] = found
            return found.words
        return ()

    def format_options(self, model: GridModel, key: str) -> tuple[str, ...]:
        """Format a model's options as command-line words, and check them in this process."""
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
            self._note("the program rejects these options", f"{key}.options", str(error), cure)
        return tuple(words)

    def _words(self, command: Any, name: str, value: Any, key: str) -> list[str]:
        option = f"--{name.replace('_', '-')}"
        known = {opt: parameter for parameter in command.params for opt in parameter.opts if opt.startswith("--")}
        if option in _OWN_OPTIONS:
            what, cure = "this option is set by the grid", "omit it; set 'sources' and 'seeds' as keys of the file"
            self._note(what, f"{key}.options.{name}", option, cure)
        elif option not in known:
            cure = did_you_mean(option, [opt for opt in known if opt not in _OWN_OPTIONS])
            self._note(f"program '{command.name}' has no such option", f"{key}.options.{name}", option, cure)
        elif isinstance(value, bool) and known[option].is_flag:
            return [option] if value else known[option].secondary_opts[:1]
        elif all(type(each) in (str, int, float) for each in _as_list(value)):
            return [f"{option}={each}" for each in _as_list(value)]
        else:
            cure = "write a number, a string or a list of them; true or false for a flag"
            self._note("invalid value for this option", f"{key}.options.{name}", str(value)[:100], cure)
        return []

    def _note(self, what: str, key: str, found: str, cure: str) -> None:
        self.problems.append(Problem(what, self.file, f"'{found}'", cure, key=key))


class _Checks(OptionChecks):
    """Turns a grid file into trials, and collects all problems of the file."""

    def __init__(self, file: Path, folder: DatasetFolder, programs: TyperGroup) -> None:
        super().__init__(file, programs)
        self.folder = folder
        self.searches: list[SearchedModel] = []

    def trials(self, grid_file: GridFile) -> list[Trial]:
        """Build the trials in the grid's order, without those that have a problem."""
        names = [model.name.casefold() for model in grid_file.models]
        trials = []
        for number, model in enumerate(grid_file.models, start=1):
            key = f"models.{number}"
            if model.name.casefold() in names[: number - 1]:
                self._note("two models have the same name", f"{key}.name", model.name, "rename one of them")
            options = self.options(model, key)
            tasks = self._tasks(grid_file, model, key)
            wanted = {task: self._sources(task, grid_file, model, key) for task in tasks}
            seeds = tuple(dict.fromkeys(model.seeds or grid_file.seeds))
            if model.search is not None:
                for task, sources in wanted.items():
                    for source in sources:
                        trials += self._tries(grid_file, model, key, (options, task, source), seeds)
                continue
            trials += [
                self._trial(model, key, (options, task, source), seed)
                for task, sources in wanted.items()
                for source in sources
                for seed in seeds
            ]
        self._check_searches(grid_file)
        return trials

    def _trial(self, model: GridModel, key: str, start: tuple[tuple[str, ...], str, str], seed: int) -> Trial:
        words, task, source = start
        return Trial(
            *(model.name, model.program, words, task, source, seed),
            data=trial_data(self.folder, task, words),
            versions=installed_versions(model.program, words),
            files=self.checked.get(key, CheckedModel()).files,
            dataset=self.folder.version,
        )

    def _tries(
        self,
        grid_file: GridFile,
        model: GridModel,
        key: str,
        start: tuple[tuple[str, ...], str, str],
        seeds: tuple[int, ...],
    ) -> list[Trial]:
        """Build and register a search's trials; ``start``: the model's options, a task and a source."""
        words, task, source = start
        search = grid_file.searches.get(str(model.search))
        if search is None:
            cure = (
                did_you_mean(str(model.search), list(grid_file.searches))
                if grid_file.searches
                else "add [searches.NAME]"
            )
            self._note("there is no such search", f"{key}.search", str(model.search), cure)
            return []
        if search.seed in seeds:
            what, cure = "the final runs must not use the seeds of the search", "set other seeds in 'seeds'"
            self._note(what, f"{key}.seeds", str(search.seed), cure)
        unscored = check_task(self.folder, task, source, search.select)
        if unscored:
            cure = "omit 'search', or choose another task or source"
            self._note("this search cannot be scored", f"{key}.search", unscored, cure)
        own, space, whole = self._space(search, model, key)
        if self.problems:
            return []
        drawn = draw_settings(space, whole, search.trials, search.seed)
        options = tuple(add_settings(words, each, own) for each in drawn)
        more = ("--validation",) if search.select == SOURCE_VALIDATION and "--validation" not in words else ()
        first = self._trial(model, key, start, search.seed)
        tries = tuple(
            replace(
                first, options=(*each, *more), search=Searched(str(model.search), search.select, search.trials, number)
            )
            for number, each in enumerate(options, start=1)
        )
        self.searches.append(SearchedModel(tries, options, seeds))
        return list(tries)

    def _space(self, search: GridSearch, model: GridModel, key: str) -> tuple[set[str], dict[str, Any], set[str]]:
        """Return the program's option names, the model's search space, and which of its settings are integers."""
        checked = self.checked.get(key, CheckedModel())
        names = set(checked.names)
        if not names:
            command: Any = self.programs.get_command(typer.Context(self.programs), model.program)
            names = {word.removeprefix("--") for param in command.params for word in param.opts}
        given = model.options.get("method", [])
        methods = {short_name(name) for name in _as_list(given)}
        space: dict[str, Any] = {name: (low, high) for name, (low, high, _) in checked.draws.items()}
        for name, values in search.space.items():
            if "." in name and name.rpartition(".")[0] not in methods:
                continue
            if name not in names and not (is_setting(name) and "set" in names):
                cure = did_you_mean(name, sorted(names))
                self._note(
                    f"program '{model.program}' has no such option", f"searches.{model.search}.space", name, cure
                )
            space[name] = (values.low, values.high) if isinstance(values, DrawnRange) else values
        return names, space, {name for name, (_, _, is_whole) in checked.draws.items() if is_whole}

    def _check_searches(self, grid_file: GridFile) -> None:
        """Report hyperparameters that no method has, and warn if methods are tuned but plain training is not."""
        for name, search in grid_file.searches.items():
            users = [model for model in grid_file.models if model.search == name]
            methods = {short_name(method) for model in users for method in _as_list(model.options.get("method", []))}
            for setting in search.space:
                if "." in setting and setting.rpartition(".")[0] not in methods:
                    what, cure = "no model of this search has such a method", "omit it"
                    self._note(what, f"searches.{name}.space", setting, cure)
            if methods and all("method" in model.options for model in users):
                log.warning("search '%s' tunes only models with methods; plain training gets no search trials", name)

    def _tasks(self, grid_file: GridFile, model: GridModel, key: str) -> list[str]:
        """Choose the tasks of a model: its own, the grid's, or all that have train rows."""
        tasks = self.folder.manifest.tasks
        named = model.tasks or grid_file.tasks
        for task in named or ():
            if task not in tasks:
                where = f"{key}.tasks" if model.tasks else "tasks"
                self._note("the folder has no such task", where, task, did_you_mean(task, list(tasks)))
        trainable = [name for name, info in tasks.items() if any("train" in d.splits for d in info.domains.values())]
        return [task for task in dict.fromkeys(named or trainable) if task in tasks]

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
