"""Compile a user's benchmark spec into the same task, domain and file specs as the built-in benchmarks."""

import hashlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import polars as pl
import pydantic

from shiftbench.builders.building.own_columns import KINDS, METRICS, Columns
from shiftbench.builders.building.own_rows import sound_rows, split_lists
from shiftbench.builders.building.own_tables import OwnTable
from shiftbench.builders.building.spec_file import (
    BenchTable,
    DomainTable,
    SpecSource,
    TaskTable,
    read_spec,
)
from shiftbench.builders.readers import squad, token_lines
from shiftbench.builders.readers.delimited import quoted_csv, raw_tsv
from shiftbench.builders.readers.json_lines import json_lines
from shiftbench.builders.readers.json_list import json_list
from shiftbench.builders.readers.parquet_rows import parquet_rows
from shiftbench.builders.specs import transforms
from shiftbench.builders.specs.spec import DomainSpec, FileSpec, Reader, TaskSpec, Transform, Upstream
from shiftbench.builders.specs.tagging import bio_tags
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean, first_line
from shiftbench.validation.schemas import ANSWERS
from shiftbench.validation.vocabulary import GOLD, SPLITS, TOKENS, TaskKind

STEPS: Mapping[str, Callable[..., Transform]] = {
    step.__name__: step
    for step in (
        transforms.keep_in, transforms.keep_filled, transforms.keep_words_between, transforms.keep_answered,
        transforms.keep_tokens, transforms.label_from, transforms.label_by_threshold, transforms.remove_links,
        transforms.clean_tweets, transforms.line_breaks_back, transforms.group_by, bio_tags,
    )
}  # fmt: skip
"""Steps available in a spec, by name; the arguments are those of the functions."""
_MAKE_LABELS = ("label_from", "label_by_threshold")
_NAME_COLUMNS = ("column", "text")
"""Arguments of steps that name a column."""
_TOKEN_FILES = (".txt", ".conll", ".bio", ".iob", ".iob2", ".tsv")
_READERS: Mapping[str, Callable[..., Reader]] = {
    ".csv": quoted_csv, ".tsv": raw_tsv, ".jsonl": json_lines, ".ndjson": json_lines, ".json": json_list,
    ".parquet": parquet_rows,
}  # fmt: skip
_INPUTS: Mapping[TaskKind, tuple[tuple[str, ...], ...]] = {
    TaskKind.CLASSIFICATION: (("text",), ("premise", "hypothesis")),
    TaskKind.TAGGING: ((TOKENS,),),
    TaskKind.EXTRACTIVE_QA: (("context", "question"),),
    TaskKind.GENERATION: (("text",),),
}
"""Our input columns by kind: the first by default, otherwise the entry with as many columns as ``text`` has."""
_LEAST_LABELS = {TaskKind.CLASSIFICATION: 2, TaskKind.TAGGING: 1}
_SIZE = 4_000_000
"""Validation size larger than any domain, so that it limits nothing; train and test sizes are multiples of it."""


class OwnBenchmark(NamedTuple):
    """A benchmark described by a spec: title, tasks, and the spec's path, whose folder may contain files."""

    title: str
    tasks: tuple[TaskSpec, ...]
    path: Path

    @property
    def lock(self) -> Path:
        """Return the path of the records of its files."""
        return self.path.with_suffix(".lock.json")

    def folders(self, raws: Sequence[Path]) -> tuple[Path, ...]:
        """Return the folders in which the benchmark's files are searched, in order.

        Args:
            raws: folders of upstream files; the spec's own folder is added.
        """
        return (*raws, self.path.parent)

    def records(self) -> Upstream:
        """Read the records of its files; empty if ``--record`` has not been used yet."""
        if not self.lock.is_file():
            return Upstream(files={}, rows={})
        try:
            return Upstream.model_validate_json(self.lock.read_bytes())
        except pydantic.ValidationError as error:
            cure = "delete it, and build with --record from files that you have verified"
            raise InvalidInput(
                Problem("this is not a valid record of files", str(self.lock), first_line(error), cure)
            ) from error


def open_spec(path: Path) -> OwnBenchmark:
    """Read a benchmark spec and compile it to tasks.

    Args:
        path: the TOML file.
    Raises: InvalidInput listing every wrong key: file, key, fix.
    """
    table, sources = read_spec(path)
    compiling = _Compiling(str(path), sources, hashlib.sha256(path.read_bytes()).hexdigest())
    tasks = tuple(compiling.task(table, name, task) for name, task in table.tasks.items())
    if compiling.problems:
        raise InvalidInput(compiling.problems)
    return OwnBenchmark(table.title, tasks, path)


@dataclass(frozen=True)
class SpecRows:
    """A reader for a file of a spec.

    Attributes:
        read: the underlying reader.
        split: a column, and its value in the rows to keep; empty to keep all.
        spec: checksum of the spec, part of the cache key, so that rows read with other steps are not reused.
    """

    read: Reader
    split: tuple[str, ...]
    spec: str

    def __call__(self, file: UpstreamFile) -> Iterator[pl.DataFrame]:
        """Read the rows of the split."""
        for frame in self.read(file):
            yield frame.filter(pl.col(self.split[0]) == self.split[1]) if self.split else frame


@dataclass
class _Compiling:
    """Compiles a spec to tasks, collecting problems."""

    file: str
    sources: Mapping[str, SpecSource]
    spec: str
    problems: list[Problem] = field(default_factory=list)

    def task(self, bench: BenchTable, name: str, table: TaskTable) -> TaskSpec:
        """Return a task; its errors are added to the problems."""
        kind, key = KINDS[table.kind], f"tasks.{name}"
        metrics, least = METRICS[kind], _LEAST_LABELS.get(kind, 0)
        if table.metric not in (None, *metrics):
            self._add("this is not a metric for this kind of task", f"{key}.metric", str(table.metric), metrics)
        if len(table.labels) < least or (table.labels and not least):
            cure = f"list at least {least}" if least else "remove this key"
            what = f"a task of kind '{table.kind}' has {'too few' if least else 'no'} labels"
            self._add(what, f"{key}.labels", table.labels, cure)
        if len(table.domains) < 2:
            self._add("at least two domains are needed", f"{key}.domains", list(table.domains), "add another domain")
        tags = ("O", *(f"{begins}-{type_}" for type_ in table.labels for begins in "BI"))
        return TaskSpec(
            benchmark=bench.name,
            name=name,
            title=table.title,
            kind=kind,
            inputs=self._inputs(kind, table, f"{key}.columns"),
            labels=tags if kind is TaskKind.TAGGING else table.labels,
            metric=table.metric or metrics[0],
            # Larger than any domain, so that no row is dropped: only the ratio matters, for splits without files.
            train=10 * _SIZE,
            validation=_SIZE,
            test=11 * _SIZE // 4,
            equal_sizes=False,
            domains=tuple(self._domain(kind, table, domain, key) for domain in table.domains),
            min_texts=table.min_texts,
            notes=table.notes,
        )

    def _domain(self, kind: TaskKind, task: TaskTable, name: str, of_task: str) -> DomainSpec:
        own, key = task.domains[name], f"{of_task}.domains.{name}"
        # Keys that the domain does not set come from its task; errors are reported where the key is set.
        sayers = {each: own if each in own.model_fields_set else task for each in DomainTable.model_fields}
        table = DomainTable.model_construct(**{each: getattr(sayer, each) for each, sayer in sayers.items()})
        at = {each: f"{key if sayer is own else of_task}.{each}" for each, sayer in sayers.items()}
        inputs, gold = self._inputs(kind, table, at["columns"]), GOLD[kind]
        if inputs != self._inputs(kind, task, f"{of_task}.columns"):
            self._add(
                "the domain's inputs differ from the task's",
                at["columns"],
                inputs,
                "give the same number of text columns",
            )
        named = {role: self._one(columns, f"{at['columns']}.{role}") for role, columns in table.columns.items()}
        steps = [self._step(step, f"{at['steps']}.{n}") for n, step in enumerate(table.steps, start=1)]
        makers = [step for step in table.steps if step.get("step") in _MAKE_LABELS and step.get("column") != "label"]
        ours = dict(zip(inputs, table.columns.get("text") or inputs, strict=False))
        ours |= {} if makers and "label" not in named else {gold: named.get("label", gold)}
        ours |= {"group": named["group"]} if "group" in named else {}
        where = {**table.where} | ({named["domain"]: (name,)} if "domain" in named else {})
        in_steps = [str(step[each]) for step in table.steps for each in _NAME_COLUMNS if each in step]
        split = named.get("split")
        read = [*ours.values(), *where, *(each for each in in_steps if each not in {*ours, gold, "group"})]
        columns = tuple(dict.fromkeys([*read, split] if split else read))
        grouped = "group" in named or any(step.get("step") == "group_by" for step in table.steps)
        last = (*inputs, gold, *(["group"] if grouped else []))
        return DomainSpec(
            name=name,
            files=self._files(kind, table, name, columns, split, at | {"": key}),
            transforms=(
                *(transforms.keep_in(column, values) for column, values in where.items()),
                Transform("columns", partial(_name_columns, ours, kind)),
                *(step for step in steps if step is not None),
                Transform("sound_rows", partial(_sound_rows, inputs, last, kind)),
                *_known_labels(kind, task.labels, {str(step.get("step")) for step in table.steps}),
            ),
        )

    def _files(
        self,
        kind: TaskKind,
        table: DomainTable,
        domain: str,
        columns: tuple[str, ...],
        split: str | None,
        at: Mapping[str, str],
    ) -> dict[str, tuple[FileSpec, ...]]:
        """Return the files of each split; if there is a split column, each split is read from all files."""
        named = {each: places for each in SPLITS if (places := getattr(table, each))}
        if "train" not in named and ("test" not in named or split):
            self._add("the domain has no files", at[""], list(named), "add 'train = ...' or 'test = ...'")
        if split and len(named) > 1:
            self._add(
                "the splits are already in a column", at["columns"], list(named), "list the files only under 'train'"
            )
        by_split = dict.fromkeys(SPLITS, named.get("train", ())) if split else named
        return {
            each: tuple(
                FileSpec(
                    place := given.replace("{domain}", domain),
                    SpecRows(
                        self._reader(kind, place, columns, at["train" if split else each]),
                        (split, each) if split else (),
                        self.spec,
                    ),
                    release=self._source(place, table, at["source"]),
                )
                for given in places
            )
            for each, places in by_split.items()
        }

    def _source(self, place: str, table: DomainTable, key: str) -> SpecSource | None:
        """Return the source of a file: the one given, the one named like its first folder, or the only one."""
        folder, slugs = place.partition("/")[0], tuple(self.sources)
        slug = table.source or (folder if folder in slugs or len(slugs) > 1 else slugs[0])
        if slug not in slugs:
            self._add("the file's source is not in [sources]", key, slug, slugs)
        return self.sources.get(slug)

    def _reader(self, kind: TaskKind, place: str, columns: tuple[str, ...], key: str) -> Reader:
        if PurePosixPath(place).is_absolute() or ".." in PurePosixPath(place).parts:
            self._add(
                "a file must be below RAW or next to the spec", key, place, "give its path relative to RAW or the spec"
            )
        ending = PurePosixPath(place.removesuffix(".gz").removesuffix(".zip")).suffix.lower()
        fixed: tuple[str, ...] = ()
        if kind is TaskKind.TAGGING and ending in _TOKEN_FILES:
            read, fixed = token_lines.any_token_lines, tuple(token_lines.SCHEMA)
        elif kind is TaskKind.EXTRACTIVE_QA and ending == ".json":
            read, fixed = squad.squad, tuple(squad.SCHEMA)
        elif ending == ".jsonl" and kind is TaskKind.TAGGING:
            return json_lines(*(c for c in columns if c not in columns[:2]), lists=columns[:2])
        elif ending in _READERS:
            return _READERS[ending](*columns)
        else:
            known = (*_READERS, *(_TOKEN_FILES if kind is TaskKind.TAGGING else ()))
            self._add(
                "there is no reader for this kind of file", key, place, f"give a file that ends in {', '.join(known)}"
            )
        for column in columns if fixed else ():
            if column not in fixed:
                self._add("a file of this kind has no such column", key, column, fixed)
        return read if fixed else squad.squad

    def _step(self, table: Mapping[str, object], key: str) -> Transform | None:
        arguments = dict(table)
        name = str(arguments.pop("step", ""))
        if name not in STEPS:
            self._add("there is no such step", f"{key}.step", name, tuple(STEPS))
            return None
        try:
            return pydantic.validate_call(STEPS[name])(**arguments)
        except pydantic.ValidationError as error:
            for detail in error.errors(include_context=False, include_url=False):
                at = ".".join(str(part + 1) if isinstance(part, int) else part for part in detail["loc"])
                known = tuple(inspect.signature(STEPS[name]).parameters)
                if detail["type"] == "unexpected_keyword_argument":
                    self._add(f"unknown key of {name}", f"{key}.{at}", at, known)
                elif detail["type"].startswith("missing"):
                    self._add(f"required key of {name} is missing", f"{key}.{at}", list(arguments), f"add '{at} = ...'")
                else:
                    self._add(f"{name}: {detail['msg']}", f"{key}.{at}", detail["input"], "correct this value")
        return None

    def _inputs(self, kind: TaskKind, table: DomainTable, key: str) -> tuple[str, ...]:
        named = table.columns.get("text", ())
        for inputs in _INPUTS[kind]:
            if not named or len(inputs) == len(named):
                return inputs
        found, cure = list(named), " or ".join(" and ".join(inputs) for inputs in _INPUTS[kind])
        self._add("the number of text columns is wrong", f"{key}.text", found, f"give the columns of {cure}")
        return _INPUTS[kind][0]

    def _one(self, columns: tuple[str, ...], key: str) -> str:
        if len(columns) != 1 and not key.endswith(".text"):
            self._add("several columns have the same role", key, list(columns), "give only one of them")
        return columns[0] if columns else ""

    def _add(self, what: str, key: str, found: object, cure: str | tuple[str, ...]) -> None:
        """Add a problem once; a tuple as ``cure`` lists the valid values."""
        if isinstance(cure, tuple):
            cure = did_you_mean(str(found), cure)
        problem = Problem(what, self.file, repr(found)[:100], cure, key=key)
        if problem not in self.problems:
            self.problems.append(problem)


def _name_columns(ours: Mapping[str, str], kind: TaskKind, frame: pl.DataFrame) -> pl.DataFrame:
    """Add columns under our names to upstream's; tokens and tags given as text are split at spaces."""
    named = frame.with_columns(pl.col(own).alias(name) for name, own in ours.items())
    return split_lists(named) if kind is TaskKind.TAGGING else named


def _sound_rows(inputs: tuple[str, ...], last: tuple[str, ...], kind: TaskKind, frame: pl.DataFrame) -> pl.DataFrame:
    """Validate rows like user data; without a group column, rows are grouped by their first input."""
    chosen = frame.select(last)
    if len(chosen):
        columns = Columns(text=inputs, label=GOLD[kind])
        chosen = sound_rows(OwnTable("the rows read", chosen, domain="own"), columns, kind).drop("domain")
    elif kind is TaskKind.EXTRACTIVE_QA:
        chosen = chosen.with_columns(pl.lit(None, ANSWERS).alias(GOLD[kind]))
    return chosen if "group" in last else transforms.group_by_text(inputs[0]).apply(chosen)


def _known_labels(kind: TaskKind, labels: tuple[str, ...], steps: set[str]) -> tuple[Transform, ...]:
    """Return the step that rejects labels or tag types outside the task's list."""
    if kind is TaskKind.CLASSIFICATION:
        return (transforms.keep_labelled(labels),)
    is_mapped = bio_tags.__name__ in steps
    return (bio_tags({label: label for label in labels}, "bio"),) if kind is TaskKind.TAGGING and not is_mapped else ()
