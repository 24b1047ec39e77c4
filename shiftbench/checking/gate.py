"""A gate for continuous integration: tests predictions against limits, domain by domain.

Used by ``shiftbench gate`` and the fixture ``shift_report``.
"""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pydantic

from shiftbench.builders.building.own_columns import find_kind
from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.checking.inputs import prediction_file
from shiftbench.checking.opened_data import OpenedData, OwnFile, opened_data
from shiftbench.scoring.reports.gate import gate_lines
from shiftbench.scoring.reports.titles import rename_domains
from shiftbench.scoring.scores.floors import constant_runs, is_at_floor, task_floors
from shiftbench.scoring.scores.limits import (
    GateReport,
    Limits,
    LimitTest,
    decide,
    drop_tests,
    refuse_limits,
    regression_tests,
    score_tests,
)
from shiftbench.scoring.scores.score import token_encoder
from shiftbench.scoring.scores.summary import small_domains
from shiftbench.scoring.scores.values import TaskValues, task_values
from shiftbench.validation.command_line import as_fraction
from shiftbench.validation.notices import FormerName
from shiftbench.validation.plain_console import printed_text
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean
from shiftbench.validation.toml_text import read_toml
from shiftbench.validation.vocabulary import SOURCE_JOINER

if TYPE_CHECKING:
    from shiftbench.checking.inputs import Table

_SETTINGS = ("tool", "shiftbench", "gate")
"""The table of the settings in a project's ``pyproject.toml``."""


class GateSettings(pydantic.BaseModel):
    """Settings of a gate: options of ``shiftbench gate``, with limits in points.

    In ``pyproject.toml`` their names have dashes instead of underscores.
    """

    model_config = pydantic.ConfigDict(
        extra="forbid", strict=True, alias_generator=lambda name: name.replace("_", "-"), arbitrary_types_allowed=True
    )

    data: str | Path | None = None
    max_drop: float | None = None
    min_score: float | None = None
    baseline: str | Path | None = None
    max_regression: float | None = None
    trained_on: str | None = None
    strict: bool = False
    subset: str | None = None
    task: str | None = None
    columns: list[str] = []
    min_texts: int | None = None
    junit: str | None = None
    summary: str | None = None
    domain_column: str | None = None
    label_column: str | None = None
    text_column: list[str] = []
    id_column: str | None = None
    split_column: str | None = None
    kind: str | None = None

    @pydantic.field_validator("columns", "text_column", mode="before")
    @classmethod
    def _as_list(cls, value: Any) -> Any:
        """Return columns as a list; a single one may be given as text."""
        return [value] if isinstance(value, str) else value

    def with_current_names(self) -> dict[str, Any]:
        """Return the given settings, with former names replaced by current ones."""
        settings = self.model_dump(exclude_unset=True)
        former = {name: settings.pop(name) for name in _FORMER if name in settings}
        if former:
            roles = {_FORMER[name]: value for name, value in former.items()}
            kind, label = roles.pop("kind", None), roles.get("label", "")
            find_kind(kind)
            if kind is not None:
                roles = {role: value for role, value in roles.items() if role != "label"} | {kind: label}
            each = [(role, [value] if isinstance(value, str) else value) for role, value in roles.items()]
            columns = [f"{role}={value}" for role, values in each for value in values]
            names = ", ".join(name.replace("_", "-") for name in former)
            text = f"the gate's {names} are removed in 0.4: use columns = {columns!r}"
            warnings.warn(text, FormerName, stacklevel=3)
            settings["columns"] = [*settings.get("columns", []), *columns]
        return settings


_FORMER = {f"{role}_column": role for role in ("domain", "label", "text", "id", "split")} | {"kind": "kind"}
"""Settings of the former version, with the role of each in ``columns``."""


class ShownGate(GateReport):
    """A gate's decision, displayed as in ``shiftbench gate``: ``assert report.passed, report``."""

    def __repr__(self) -> str:  # shown by pytest if an assertion fails
        """Return the output of ``shiftbench gate``."""
        return printed_text(gate_lines(self))

    __str__ = __repr__


def run_gate(
    predictions: Path,
    data: Path,
    own: OwnFile,
    limits: Limits,
    *,
    baseline: Path | None = None,
    trained_on: str | None = None,
    subset: str | None = None,
    task: str | None = None,
    strict: bool = False,
) -> ShownGate:
    """Test predictions against limits, domain by domain.

    Args:
        predictions: the file.
        data: a dataset folder, or a user file.
        own: how to read the user file.
        limits: fractions, chosen before seeing the scores.
        baseline: predictions to compare with; ``limits.max_regression`` needs it.
        trained_on: the source domain, or several joined by ``+``; by default the source in the predictions.
        subset: the subset of a folder that predictions cover; None: inferred from their ids.
        task: the task, if the predictions are for several.
        strict: whether a limit also fails if its test is inconclusive.
    Returns: the decision, with the file's names of domains.
    Raises: InvalidInput listing every problem found.
    """
    refuse_limits(limits)
    if (limits.max_regression is None) != (baseline is None):
        what, cure = (
            "testing for a regression needs a baseline",
            "give both --baseline FILE and --max-regression POINTS",
        )
        raise InvalidInput(Problem(what, "gate", cure=cure))
    with opened_data(data, own, predictions, subset) as opened:
        opened.folder.refuse_withheld()
        source_domain = opened.domain(trained_on) if trained_on is not None else None
        rows = _select_task(opened.checked(predictions), str(predictions), task)
        rows, source = _select_source(rows, str(predictions), source_domain)
        source_domains = (
            _source_domains(opened, rows, source, source_domain, str(predictions))
            if limits.max_drop is not None
            else ()
        )
        name = str(rows["task"][0])
        values, tests, left_out = _test_limits(opened, rows, source, source_domains, limits)
        if baseline is not None and limits.max_regression is not None:
            chosen = [domain for domain in rows["target"].unique().sort().to_list() if domain not in left_out]
            old = _select_task(opened.checked(baseline), str(baseline), name)
            old, before = _select_source(old, str(baseline), source)
            tests += _test_regressions(
                opened, old, values, (before, source), chosen, limits.max_regression, str(baseline)
            )
        report = ShownGate(
            predictions=predictions.name,
            baseline=baseline.name if baseline is not None else None,
            data=opened.folder.content_hash,
            settings=opened.folder.version.settings,
            task=name,
            metric=opened.folder.task(name).metric,
            source=source,
            home=tuple(source_domains),
            strict=strict,
            verdicts=decide(tests),
            left_out=left_out,
        )
        return rename_domains(report, opened.titles)


def _settings_table(project: Path) -> Any:
    """Return the gate's table in a TOML file; empty if the file has none or does not exist."""
    try:
        table: Any = read_toml(project) if project.is_file() else {}
    except ValueError as error:
        raise InvalidInput(Problem("this is not valid TOML", str(project), str(error))) from error
    for name in _SETTINGS:
        table = table.get(name, {}) if isinstance(table, dict) else {}
    return table


def read_gate_settings(project: Path | None = None) -> dict[str, Any]:
    """Read a project's settings of the gate.

    Args:
        project: a ``pyproject.toml``; a missing file has no settings. None: the nearest file with such settings, in the
            working directory or its parents.
    Returns: the given settings, by name with underscores; paths are resolved against the file's folder.
    Raises: InvalidInput if the file is not valid TOML, or listing all settings that are unknown or have a wrong type.
    """
    near = [Path(), *Path.cwd().parents] if project is None else []
    places = [folder / "pyproject.toml" for folder in near] if project is None else [project]
    project, table = next(((place, found) for place in places if (found := _settings_table(place))), (places[0], {}))
    try:
        settings = GateSettings.model_validate(table)
    except pydantic.ValidationError as error:
        raise InvalidInput([_setting_problem(each, str(project)) for each in error.errors()]) from None
    paths = {"data", "baseline", "junit", "summary"}
    given = settings.with_current_names()
    return {name: str(project.parent / value) if name in paths else value for name, value in given.items()}


def run_gate_of_settings(predictions: "str | Path | Table", settings: Mapping[str, Any]) -> "ShownGate":
    """Run a gate from its settings (``GateSettings``).

    Args:
        predictions: a prediction file, or a table as accepted by ``shiftbench.score``.
        settings: by name with underscores; limits in points.
    Raises: InvalidInput listing every problem found.
    """
    try:
        each = GateSettings.model_validate({name.replace("_", "-"): value for name, value in settings.items()})
        each = each.model_copy(update=each.with_current_names())
    except pydantic.ValidationError as error:
        raise InvalidInput([_setting_problem(one, "gate") for one in error.errors()]) from None
    if each.data is None:
        raise InvalidInput(Problem("a gate needs data", "gate", cure="give a dataset folder or a file as data"))
    own = OwnFile.of(each.columns, each.min_texts)
    limits = Limits(*(as_fraction(limit) for limit in (each.max_drop, each.min_score, each.max_regression)))
    more: dict[str, Any] = {name: getattr(each, name) for name in ("trained_on", "subset", "task", "strict")}
    with prediction_file(predictions) as path:
        baseline = Path(each.baseline) if each.baseline is not None else None
        return run_gate(path, Path(each.data), own, limits, baseline=baseline, **more)


def _setting_problem(error: Any, where: str) -> Problem:
    name = ".".join(map(str, error["loc"]))
    key = ".".join((*_SETTINGS, name))
    if error["type"] == "extra_forbidden":
        names = [field.alias or name for name, field in GateSettings.model_fields.items()]
        return Problem("the gate has no such setting", where, cure=did_you_mean(name, names), key=key)
    return Problem(error["msg"].lower(), where, repr(error["input"])[:80], key=key)


def _select_task(rows: pl.DataFrame, file: str, task: str | None) -> pl.DataFrame:
    names = rows["task"].unique().sort().to_list()
    if task is None and len(names) > 1:
        what, cure = "a gate tests one task", "choose one with --task"
        raise InvalidInput(Problem(what, file, f"predictions of {', '.join(names)}", cure))
    if task is not None and task not in names:
        raise InvalidInput(Problem("there are no predictions of this task", file, task, did_you_mean(task, names)))
    return rows.filter(task=task or names[0])


def _select_source(rows: pl.DataFrame, file: str, wanted: str | None) -> tuple[pl.DataFrame, str]:
    """Return the predictions of the given source, or of the only one, and its name."""
    sources = rows["source"].unique().sort().to_list()
    if wanted in sources:
        return rows.filter(source=wanted), str(wanted)
    if len(sources) > 1:
        what, cure = (
            "a gate tests models trained on one source",
            "choose one with --trained-on, or give the predictions of one model",
        )
        raise InvalidInput(Problem(what, file, f"models trained on {', '.join(sources)}", cure, column="source"))
    return rows, str(sources[0])


def _source_domains(
    opened: OpenedData, rows: pl.DataFrame, source: str, source_domain: str | None, file: str
) -> tuple[str, ...]:
    """Return the source domains; predictions must cover all of them."""
    info: TaskInfo = opened.folder.task(str(rows["task"][0]))
    parts = tuple((source_domain or source).split(SOURCE_JOINER))
    unknown = [part for part in parts if part not in info.domains]
    if unknown:
        place = "--trained-on" if source_domain is not None else "column 'source'"
        cure = "name the domain that the model was trained on with --trained-on; without one only --min-score and "
        cure += "--max-regression can be tested"
        found = (
            f"{place} contains '{unknown[0]}'; the domains are "
            f"{', '.join(opened.titles.get(d, d) for d in info.domains)}"
        )
        raise InvalidInput(Problem("a drop needs a source domain", file, found, cure))
    targets = set(rows["target"].unique())
    missing = [part for part in parts if part not in targets]
    if missing:
        what, cure = (
            "a drop needs the in-domain score",
            "also predict the test texts of the domain that the model was trained on",
        )
        raise InvalidInput(Problem(what, file, f"no predictions on {', '.join(missing)}", cure))
    return parts


def _test_limits(
    opened: OpenedData, rows: pl.DataFrame, source: str, source_domains: Sequence[str], limits: Limits
) -> tuple[TaskValues, list[LimitTest], dict[str, int]]:
    """Test the limits; return the scores, the tests, and the sizes of domains too small for a decision."""
    values = _values(opened, rows)
    targets = sorted({target for _, target in values.rows})
    left_out = small_domains(values.info, targets)
    small_sources = [source_domain for source_domain in source_domains if source_domain in left_out]
    if small_sources:
        found = ", ".join(
            f"{source_domain} has {left_out[source_domain]} test texts" for source_domain in small_sources
        )
        raise InvalidInput(
            Problem(
                "the source domain is too small to measure drops",
                values.name,
                found,
                "lower --min-texts, or add texts",
            )
        )
    kept = [target for target in targets if target not in left_out]
    tests = []
    if limits.min_score is not None:
        tests += score_tests(values, source, kept, limits.min_score)
    if limits.max_drop is not None:
        low = any(_is_at_chance(opened, rows, values, source, source_domain) for source_domain in source_domains)
        tests += drop_tests(values, source, source_domains, kept, limits.max_drop, at_chance=low)
    return values, tests, left_out


def _is_at_chance(opened: OpenedData, rows: pl.DataFrame, values: TaskValues, source: str, source_domain: str) -> bool:
    score = values.figure(values.info.metric, (source, source_domain))
    constant = constant_runs(rows, values.info.kind)
    floor = task_floors(opened.folder, values.name, opened.subset).get(source_domain)
    end = score.value if score.low is None else score.low
    is_constant = all((source, source_domain, seed) in constant for seed in values.seeds[source, source_domain])
    return is_at_floor(end, floor, constant=is_constant)


def _test_regressions(
    opened: OpenedData,
    old: pl.DataFrame,
    new: TaskValues,
    sources: tuple[str, str],
    domains: Sequence[str],
    limit: float,
    baseline: str,
) -> list[LimitTest]:
    absent = sorted(set(domains) - set(old["target"].unique()))
    if absent:
        what, cure = "the baseline has no predictions on some domains", "predict them with the baseline as well"
        raise InvalidInput(Problem(what, baseline, f"no predictions on {', '.join(absent)}", cure))
    return regression_tests(_values(opened, old), new, sources, domains, limit)


def _values(opened: OpenedData, rows: pl.DataFrame) -> TaskValues:
    folder = opened.folder
    return task_values(str(rows["task"][0]), rows, folder, opened.subset, encoder=token_encoder(folder))
