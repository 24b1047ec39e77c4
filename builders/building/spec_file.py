"""Schema of a benchmark spec, a file such as ``bench.toml``, with the keys of ``sources.toml``.

Its folder may also contain ``bench.bib``, which it cites, and ``bench.lock.json``, written by ``--record``.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic

from shiftbench.builders.building.own_columns import KINDS
from shiftbench.builders.folder.citations import parse_citations
from shiftbench.builders.specs.sources import Download, SourceSpec, SourceTable
from shiftbench.validation.outside import OutsideText
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean
from shiftbench.validation.toml_text import read_toml
from shiftbench.validation.vocabulary import is_name


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


_Texts = Annotated[tuple[str, ...], pydantic.BeforeValidator(_listed)]
"""A text, or a list of them."""
_Title = Annotated[OutsideText, pydantic.Field(min_length=1)]
_Role = Literal["domain", "text", "label", "group", "split"]


class _Table(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class SpecSourceTable(SourceTable):
    """A source, as in ``sources.toml``; fewer keys are required."""

    url: Annotated[str, pydantic.StringConstraints(pattern=r"^(https?://\S+)?$")] = ""
    revision: str = "unversioned"
    cite: tuple[str, ...] = ()
    instructions: str = ""


class SpecSource(SourceSpec):
    """A source of a spec, with the BibTeX entries it cites."""

    entries: tuple[str, ...] = ()

    @property
    def citation(self) -> str:
        """Return the BibTeX entries cited for the source."""
        return "\n".join(self.entries)


class DomainTable(_Table):
    """A domain of a task: its files by split, and the processing of their rows.

    Attributes:
        train, validation, test: paths of files below RAW or relative to the spec; ``{domain}`` is replaced by the
            domain's name. With only ``train``, the other splits are cut from it.
        source: the source of the files; by default the one named like their first folder, or the only one.
        columns: the file's column for each role, as in ``build own --columns``; with ``domain``, only rows whose value
            is the domain's name are used; with ``split``, files are only listed under ``train``.
        where: required values of columns; other rows are dropped.
        steps: further steps, in order: the name of a step as ``step``, and its arguments by name.
    """

    train: _Texts = ()
    validation: _Texts = ()
    test: _Texts = ()
    source: str | None = None
    columns: dict[_Role, _Texts] = {}
    where: dict[str, _Texts] = {}
    steps: tuple[dict[str, Any], ...] = ()


class TaskTable(DomainTable):
    """A task, with defaults for its domains.

    Attributes:
        title: the display name.
        kind: the task kind: labels, tags, answers or texts.
        labels: names of the labels; for tags the entity types, ``person`` for ``B-person`` and ``I-person``.
        metric: the metric; by default the kind's default.
        domains: a table for each, or only their names.
        min_texts: domains with fewer test texts are excluded from means.
        notes: notes for readers of the card.
    """

    title: _Title
    kind: Literal[tuple(KINDS)]  # type: ignore[valid-type]
    labels: tuple[OutsideText, ...] = ()
    metric: str | None = None
    domains: dict[str, DomainTable]
    min_texts: pydantic.NonNegativeInt = 30
    notes: tuple[OutsideText, ...] = ()

    @pydantic.field_validator("domains", mode="before")
    @classmethod
    def _names_alone(cls, value: Any) -> Any:
        is_names = isinstance(value, list) and all(isinstance(each, str) for each in value)
        if is_names and len({*value}) < len(value):
            raise ValueError("a domain is listed twice")
        return {name: {} for name in value} if is_names else value


class BenchTable(_Table):
    """A benchmark: its name, a prefix of ids; its title; its sources by folder; its tasks by name."""

    name: str
    title: _Title
    sources: Annotated[dict[str, SpecSourceTable], pydantic.Field(min_length=1)]
    tasks: Annotated[dict[str, TaskTable], pydantic.Field(min_length=1)]


_TAKEN = ("dr", "boss", "df1", "own", "synthetic", "list", "check")


def read_spec(path: Path) -> tuple[BenchTable, dict[str, SpecSource]]:
    """Read a spec and its file of citations.

    Returns: the spec, and its sources by folder.
    Raises: InvalidInput listing every wrong, missing or unknown key, and every invalid name.
    """
    file = str(path)
    try:
        table = BenchTable.model_validate(read_toml(path))
    except FileNotFoundError as error:
        raise InvalidInput(Problem("there is no such file", file, cure="check the path")) from error
    except pydantic.ValidationError as error:
        raise InvalidInput(_key_problems(error, file)) from error
    except (ValueError, OSError) as error:
        raise InvalidInput(
            Problem("the spec is not valid TOML", file, str(error), "correct its syntax there")
        ) from error
    beside = path.with_suffix(".bib")
    entries = parse_citations(beside.read_text(encoding="utf-8"), str(beside)) if beside.is_file() else {}
    if problems := [*_name_problems(table, file), *_citation_problems(table, beside, entries, file)]:
        raise InvalidInput(problems)
    sources = {}
    for slug, source in table.sources.items():
        where = f"put its files into RAW/{slug}/, or next to {path.name}"
        words = source.instructions or (f"get {source.url} and {where}" if source.url else where)
        facts = dict(source) | {"slug": slug, "instructions": words, "entries": tuple(map(entries.get, source.cite))}
        sources[slug] = SpecSource.model_construct(**facts)
    return table, sources


def _key_problems(error: pydantic.ValidationError, file: str) -> Iterator[Problem]:
    """List problems with keys, suggesting similar ones."""
    for detail in error.errors(include_context=False, include_url=False):
        place, last = [str(part + 1) if isinstance(part, int) else part for part in detail["loc"]], detail["loc"][-1]
        key = ".".join(place)
        if detail["type"] == "extra_forbidden":
            yield Problem("unknown key", file, f"'{last}'", did_you_mean(str(last), _known_keys(place)), key=key)
        elif detail["type"] == "missing":
            yield Problem("required key is missing", file, cure=f"add '{last} = ...'", key=key)
        elif detail["type"] == "literal_error":
            known = _ROLES if last == "[key]" else tuple(KINDS)
            found = str(detail["input"])
            yield Problem(
                "unknown value", file, repr(found), did_you_mean(found, known), key=key.removesuffix(".[key]")
            )
        elif detail["type"] == "string_pattern_mismatch" and (wrong := _PATTERNS.get(_last_word(detail["loc"]))):
            yield Problem(wrong[0], file, repr(detail["input"])[:100], wrong[1], key=key.removesuffix(".[key]"))
        else:
            what, cure = _FORMS.get(detail["type"], (detail["msg"].removeprefix("Value error, "), "correct it there"))
            yield Problem(what, file, repr(detail["input"])[:100], cure, key=key)


_FORMS = {
    "tuple_type": ("this is not a list", "write [ ... ]"),
    "dict_type": ("this is not a table", "write { key = ... }"),
    "model_type": ("this is not a table", "write { key = ... }"),
    "string_type": ("this is not a string", "put it in quotes"),
    "too_short": ("this is empty", "add one"),
}
"""Message and suggested fix, by pydantic's error type."""
_NO_PLACE = ("this is not a path below RAW", "begin with the source's folder: 'tickets/tickets.csv'")
_NO_ADDRESS = ("this is not a URL", "begin it with https://")
_PATTERNS = dict.fromkeys(("place", "[key]"), _NO_PLACE) | dict.fromkeys(("url", "urls", "licence_url"), _NO_ADDRESS)
"""Message and suggested fix for a text that does not match its key's pattern, by key."""


def _last_word(loc: Iterable[str | int]) -> str:
    """Return the last part of a key path that is not a list index."""
    return [part for part in loc if isinstance(part, str)][-1]


_ROLES: tuple[str, ...] = _Role.__args__  # type: ignore[attr-defined]


def _known_keys(place: list[str]) -> list[str]:
    """List the valid keys of the table that contains a key."""
    forms: Mapping[str, type[pydantic.BaseModel]] = {
        r"sources\.[^.]+\.downloads\.\d+\.": Download,
        r"sources\.[^.]+\.": SpecSourceTable,
        r"tasks\.[^.]+\.domains\.[^.]+\.": DomainTable,
        r"tasks\.[^.]+\.": TaskTable,
    }
    within = ".".join(place[:-1]) + "."
    return list(next((m for form, m in forms.items() if re.fullmatch(form, within)), BenchTable).model_fields)


def _name_problems(table: BenchTable, file: str) -> Iterator[Problem]:
    """List names that cannot be part of an id."""
    cure = "use lower case, digits, - and _"
    named = {"name": table.name} | {
        key: name
        for task, spec in table.tasks.items()
        for key, name in {f"tasks.{task}": task, **{f"tasks.{task}.domains.{d}": d for d in spec.domains}}.items()
    }
    yield from (
        Problem("this is not a valid name", file, f"'{n}'", cure, key=key) for key, n in named.items() if not is_name(n)
    )
    for slug in table.sources:
        if not re.fullmatch(r"\w[\w.-]*", slug):
            cure = "use letters, digits, ., - and _"
            yield Problem("this is not a valid folder name", file, f"'{slug}'", cure, key=f"sources.{slug}")
    for task, spec in table.tasks.items():
        if twice := [label for label in dict.fromkeys(spec.labels) if spec.labels.count(label) > 1]:
            yield Problem("a label is listed twice", file, repr(twice), "list it once", key=f"tasks.{task}.labels")
    if table.name in _TAKEN:
        yield Problem("this name is reserved", file, f"'{table.name}'", "choose another name", key="name")


def _citation_problems(table: BenchTable, beside: Path, entries: Mapping[str, str], file: str) -> Iterator[Problem]:
    for slug, source in table.sources.items():
        for cited in (cited for cited in source.cite if cited not in entries):
            cure = did_you_mean(cited, list(entries)) if entries else f"add it to {beside.name}, next to the spec"
            yield Problem(f"{beside.name} has no such entry", file, f"'{cited}'", cure, key=f"sources.{slug}.cite")
