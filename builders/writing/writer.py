"""Write a dataset folder atomically, with the same bytes for the same rows and library versions."""

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from shiftbench.builders.assembling.assemble import AssembledTask
from shiftbench.builders.assembling.depth import depth_tables
from shiftbench.builders.cache import remember_folder
from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.configs import depth_path, repeats_path, subset_path
from shiftbench.builders.folder.hashes import (
    content_hash,
    data_files_sha256,
    groups_sha256,
    ids_sha256,
    labels_sha256,
    rows_sha256,
    settings_hash,
)
from shiftbench.builders.folder.manifest import (
    GOLD_FOLDER,
    MANIFEST,
    PUBLIC_FOLDER,
    DomainFacts,
    Manifest,
    SizeFacts,
    SourceFacts,
    SplitFacts,
    TaskInfo,
)
from shiftbench.builders.folder.statistics import TaskStatistics, data_path, picture_path, read_statistics
from shiftbench.builders.statistics.pictures import statistics_picture
from shiftbench.builders.statistics.task_statistics import task_statistics
from shiftbench.builders.stored_rows import Rows, slices_of
from shiftbench.builders.writing.croissant import CROISSANT, croissant
from shiftbench.builders.writing.dataset_card import dataset_card
from shiftbench.builders.writing.first_screen import look_into
from shiftbench.builders.writing.withhold import (
    public_manifest,
    public_statistics,
    shuffle_gold_among_duplicates,
    withheld_folders,
    without_gold,
)
from shiftbench.validation.output_files import check_output_path, make_private, refuse_unwritable, replace_folder
from shiftbench.validation.png import has_pictures
from shiftbench.validation.progress import progress
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import GOLD, PLACEBO

BUILDER_VERSION = "0.2.0"
README = "README.md"
ROW_GROUP = 10_000
"""Maximum number of rows per row group."""
GROUP_BYTES = 32 * 2**20
"""Approximate maximum size of a row group in uncompressed Arrow, for long rows such as whole documents."""
SHARD_BYTES = 256 * 2**20
"""Approximate maximum size of a file in uncompressed Arrow."""


_MAKE_ROOM = "free disk space, or choose another folder"


def check_out(out: Path, *, overwrite: bool, withhold: bool = False) -> None:
    """Raise InvalidInput if writing to the output path would destroy other data.

    A pair with withheld labels may only be replaced by another: otherwise its key would be lost, and the labels might
    be published by mistake.

    Args:
        out: the output path.
        overwrite: whether an existing dataset may be replaced.
        withhold: whether a pair with withheld labels will be written.
    Raises: InvalidInput describing the existing files with a suggested fix; nothing is changed.
    """
    pair = next((path for path in (out, out.absolute().parent) if withheld_folders(path) is not None), None)
    if pair is not None and not (withhold and pair == out):
        what, cure = (
            "the output folder contains a build with withheld labels",
            "give another folder, or --withhold-labels to replace it by another such build",
        )
        raise InvalidInput(Problem(what, str(pair), cure=cure))
    check_output_path(out)
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not (out / MANIFEST).is_file() and withheld_folders(out) is None:
        raise InvalidInput(
            Problem("the output path is not a dataset folder", str(out), cure="choose an empty or new folder")
        )
    if not overwrite:
        raise InvalidInput(
            Problem(
                "the output folder already contains a dataset",
                str(out),
                cure="give another folder, or --overwrite, which replaces all of it",
            )
        )


def write_folder(
    out: Path,
    tasks: Sequence[AssembledTask],
    sources: Mapping[str, SourceFacts],
    *,
    title: str,
    seed: int,
    partial: bool,
    synthetic: bool,
    encoder: Encoder | None,
    label_key: str | None = None,
    store: Path | None = None,
    rows_only: bool = False,
) -> Manifest:
    """Write a dataset folder: rows, subsets, repeated test rows, depth tables, manifest and dataset card.

    The folder is moved to ``out`` when it is complete; a failure or Ctrl-C leaves the former content unchanged.

    Args:
        out: the output path; existing content is replaced.
        tasks: tasks of one benchmark, with their rows.
        sources: facts of the upstream releases, by slug.
        title: the dataset's title.
        seed: the build's seed, for the manifest.
        partial: whether the upstream files were incomplete.
        synthetic: whether the texts were generated.
        encoder: computes the depth tables; None omits them.
        label_key: key of withheld labels: two folders are written in ``out``, one without test labels and one with them
            (see ``shiftbench.builders.writing.withhold``); None writes one folder.
        store: a folder for temporary files of statistics; None uses the system's.
        rows_only: omit what scoring test rows does not need: statistics, dataset card and Croissant. Not with a label
            key.
    Returns: the manifest written; for two folders, that of the one with labels.
    """
    out = out.resolve()  # '.' and links cannot be renamed
    if label_key is not None:
        tasks = [shuffle_gold_among_duplicates(task, label_key) for task in tasks]
    manifests = {task.spec.name: _task_info(task, sources, label_key) for task in tasks}
    benchmark = tasks[0].spec.benchmark
    encoder_facts = encoder.facts() if encoder is not None else None
    manifest = Manifest(
        builder_version=BUILDER_VERSION,
        benchmark=benchmark,
        title=title,
        seed=seed,
        partial=partial,
        unverified=any(file.unverified for source in sources.values() for file in source.files),
        synthetic=synthetic,
        content_hash=content_hash(manifests, benchmark),
        settings_hash=settings_hash(manifests, encoder_facts),
        tasks=manifests,
        sources=dict(sources),
        encoder=encoder_facts,
        target_train_depths=encoder is not None,
        lists_repeats=not rows_only,
        label_key=label_key,
    )
    with refuse_unwritable("the dataset folder cannot be written", str(out), _MAKE_ROOM), replace_folder(out) as folder:
        if label_key is None:
            _write_whole(folder, tasks, manifest, encoder, store, rows_only=rows_only)
        else:
            _write_whole(folder / GOLD_FOLDER, tasks, manifest, encoder, store)
            _write_public(folder / GOLD_FOLDER, folder / PUBLIC_FOLDER, manifest)
            make_private(folder / GOLD_FOLDER)  # but for files without test labels that both folders share
    place = out if label_key is None else out / GOLD_FOLDER
    remember_folder(manifest.version, place)
    return manifest


def _write_whole(
    folder: Path,
    tasks: Sequence[AssembledTask],
    manifest: Manifest,
    encoder: Encoder | None,
    store: Path | None,
    *,
    rows_only: bool = False,
) -> None:
    folder.mkdir(exist_ok=True)
    for task in tasks:
        _write_rows(folder, task)
        for name, ids in task.subsets.items():
            write_ids(folder / subset_path(task.spec.name, name), ids)
        depths = {}
        if encoder is not None:
            for source, target, table in depth_tables(task, encoder):
                _write_parquet(folder / depth_path(task.spec.name, source, target), table)
                depths[source, target] = table
        if not (rows_only or task.spec.name.endswith(PLACEBO)):  # a placebo has the rows of the real task
            described = task_statistics(task.spec, task.domains, depths, store, task.annotators)
            write_statistics(folder, task.spec.name, described.statistics)
            write_ids(folder / repeats_path(task.spec.name), described.repeated_tests)
    if rows_only:
        _write_manifest(folder, manifest)
    else:
        write_facts(folder, manifest)


def _write_public(gold: Path, out: Path, manifest: Manifest) -> None:
    """Write the folder without test labels next to the gold one, sharing identical files."""
    for file in sorted(gold.glob("*/**/*.parquet")):
        place = file.relative_to(gold)
        if place.parts[0] == "data" and place.name.startswith("test-"):
            task = manifest.tasks[place.parts[1]]
            rows = without_gold(pl.read_parquet(file, glob=False), GOLD[task.kind])
            _write_parquet(out / place, rows, task.labels)
        else:
            place_file(file, out / place)
    for name in manifest.tasks:
        if not name.endswith(PLACEBO):
            write_statistics(out, name, public_statistics(read_statistics(gold, name)))
    write_facts(out, public_manifest(manifest))


def place_file(file: Path, to: Path) -> None:
    """Hard-link a file to a second path, to save gigabytes; copy it if links are not supported.

    Args:
        file: the file; symbolic links are followed.
        to: the second path, whose folder is created.
    """
    to.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(file.resolve(), to)
    except OSError:
        shutil.copyfile(file, to)


def write_facts(folder: Path, manifest: Manifest) -> None:
    """Write a folder's dataset card, its Croissant metadata and, last, the manifest.

    Args:
        folder: a dataset folder with its rows, depths, ids and statistics.
        manifest: its manifest; the checksums of its files are filled in.
    """
    for name, text in descriptions(folder, manifest).items():
        (folder / name).write_text(text, encoding="utf-8")
    _write_manifest(folder, manifest)


def descriptions(folder: Path, manifest: Manifest, repo: str | None = None, url: str | None = None) -> dict[str, str]:
    """Return the texts of a folder's dataset card and Croissant metadata, by name.

    Args:
        folder: a dataset folder with its rows, depths, ids and statistics.
        manifest: its manifest.
        repo: the repository it is published to; None for a local folder.
        url: the dataset's web page; None if it has none.
    """
    statistics = {name: read_statistics(folder, name) for name in manifest.tasks if not name.endswith(PLACEBO)}
    card = dataset_card(manifest, statistics, look_into(folder, manifest), repo)
    return {README: card, CROISSANT: croissant(manifest, statistics, url)}


def _write_manifest(folder: Path, manifest: Manifest) -> None:
    manifest.model_copy(update={"files": data_files_sha256(folder)}).write(folder)


def write_statistics(folder: Path, task: str, statistics: TaskStatistics) -> None:
    """Write a task's statistics as JSON and, with the extra 'pictures', as a plot."""
    write_data(folder, task, statistics)
    if has_pictures():
        (folder / picture_path(task)).write_bytes(statistics_picture(statistics))


def write_data(folder: Path, task: str, statistics: TaskStatistics) -> None:
    """Write a task's statistics as JSON.

    Args:
        folder: a dataset folder.
        task: the task's name.
        statistics: the statistics, read by ``shiftbench.builders.folder.statistics.read_statistics``.
    """
    path = folder / data_path(task)
    path.parent.mkdir(exist_ok=True)
    path.write_text(statistics.model_dump_json(indent=2) + "\n", encoding="utf-8")


def write_ids(path: Path, ids: pl.DataFrame) -> None:
    """Write the ids of a subset, or the list of repeated test rows.

    Args:
        path: the Parquet file.
        ids: the columns of ``shiftbench.builders.folder.reader.SUBSET_IDS`` or ``REPEATED_TESTS``.
    """
    _write_parquet(path, ids)


def _write_rows(folder: Path, task: AssembledTask) -> None:
    for domain, splits in progress(task.domains.items(), desc=f"writing {task.spec.name}", unit="domain", leave=False):
        for split, rows in splits.items():
            bounds = _shard_bounds(rows)
            for number, (start, end) in enumerate(pairwise(bounds)):
                name = f"{split}-{number:05}-of-{len(bounds) - 1:05}.parquet"
                _write_parquet(folder / f"data/{task.spec.name}/{domain}/{name}", rows, task.spec.labels, start, end)


def _shard_bounds(rows: Rows) -> list[int]:
    """Return the bounds of equal consecutive shards of at most about ``SHARD_BYTES``."""
    n_bytes = _n_bytes(map(_arrow, slices_of(rows)))
    n_shards = min(max(1, len(rows)), -(-n_bytes // SHARD_BYTES) or 1)
    return [len(rows) * number // n_shards for number in range(n_shards + 1)]


def _n_bytes(tables: Iterable[Any]) -> int:
    """Return the size of rows as Arrow, which does not depend on how the frames were created or split."""
    return sum(table.nbytes for table in tables)


def _arrow(frame: pl.DataFrame) -> Any:
    return frame.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())


def _arrow_schema(schema: pl.Schema, labels: Sequence[str]) -> Any:
    """Return the Arrow schema that ``datasets`` would write for these columns, including features and label names.

    ``datasets`` itself would take longer to import than a small folder takes to write.
    """

    def feature(name: str, dtype: pl.DataType) -> tuple[dict[str, Any], pa.DataType]:
        if isinstance(dtype, pl.List):
            inner, stored = feature(name, dtype.inner)  # type: ignore[arg-type]
            return {"feature": inner, "_type": "List"}, pa.list_(stored)
        if isinstance(dtype, pl.Struct):
            parts = {part.name: feature(part.name, part.dtype) for part in dtype.fields}  # type: ignore[arg-type]
            return {part: inner for part, (inner, _) in parts.items()}, pa.struct(
                [(part, stored) for part, (_, stored) in parts.items()]
            )
        if name in ("label", "tags"):
            return {"names": list(labels), "_type": "ClassLabel"}, pa.int64()
        return {"dtype": _TYPES[type(dtype)], "_type": "Value"}, pa.type_for_alias(_TYPES[type(dtype)])

    columns = {name: feature(name, dtype) for name, dtype in schema.items()}
    features = {"info": {"features": {name: inner for name, (inner, _) in columns.items()}}}
    return pa.schema({name: stored for name, (_, stored) in columns.items()}, {"huggingface": json.dumps(features)})


_TYPES: dict[type[pl.DataType], str] = {
    pl.String: "string",
    pl.Float64: "float64",
    pl.Int64: "int64",
    pl.Int32: "int32",
    pl.Boolean: "bool",
}


def _write_parquet(path: Path, rows: Rows, labels: Sequence[str] = (), start: int = 0, end: int | None = None) -> None:
    """Write rows ``start`` to ``end``, one row group at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = _arrow_schema(rows.schema, labels)
    end = len(rows) if end is None else end

    def tables() -> Iterator[Any]:
        return (_arrow(part).cast(schema) for part in slices_of(rows, start=start, end=end))

    n_rows = max(1, min(ROW_GROUP, GROUP_BYTES * (end - start) // max(1, _n_bytes(tables()))))
    with pq.ParquetWriter(path, schema, compression="zstd", write_page_index=True) as file:
        for group in _row_groups(tables(), n_rows, schema):
            file.write_table(group, row_group_size=n_rows)


def _row_groups(tables: Iterable[Any], n_rows: int, schema: Any) -> Iterator[Any]:
    """Regroup tables into row groups of ``n_rows`` rows and a remainder; without rows, one empty group."""
    held, n_held, is_empty = [], 0, True
    for table in tables:
        start = 0
        while start < table.num_rows:
            taken = table.slice(start, n_rows - n_held)
            held.append(taken)
            n_held += taken.num_rows
            start += taken.num_rows
            if n_held == n_rows:
                yield pa.concat_tables(held).combine_chunks()
                held, n_held, is_empty = [], 0, False
    if held or is_empty:
        yield pa.concat_tables(held).combine_chunks() if held else schema.empty_table()


def _task_info(task: AssembledTask, sources: Mapping[str, SourceFacts], label_key: str | None) -> TaskInfo:
    spec = task.spec
    keys = {"test": label_key}
    provenance = {domain.name: domain.provenance for domain in spec.domains}
    return TaskInfo(
        title=spec.title,
        kind=spec.kind,
        inputs=spec.inputs,
        labels=spec.labels,
        metric=spec.metric,
        domains={
            domain: DomainFacts(
                sources=task.sources[domain],
                rebuild_only=any(not sources[source].open_licence for source in task.sources[domain]),
                splits={
                    split: SplitFacts(
                        rows=len(frame),
                        groups=frame["group"].n_unique(),
                        inputs_sha256=rows_sha256(frame, spec.inputs),
                        labels_sha256=labels_sha256(frame, GOLD[spec.kind], keys.get(split)),
                        groups_sha256=groups_sha256(frame, spec.inputs) if split == "test" else None,
                    )
                    for split, frame in splits.items()
                },
                title=task.titles.get(domain, ""),
                provenance=provenance.get(domain),
                upstream=task.upstream.get(domain, {}),
                overlaps=task.overlaps.get(domain, ()),
            )
            for domain, splits in task.domains.items()
        },
        absent_domains=task.absent,
        sizes={
            split: SizeFacts(**asdict(size))
            for split, size in task.sizes.items()
            if task.spec.domains and task.spec.equal_sizes
        },
        subsets={name: len(ids) for name, ids in task.subsets.items()},
        subset_hashes={name: ids_sha256(ids["id"]) for name, ids in task.subsets.items() if name != "all"},
        transforms=tuple(task.counts),
        notes=spec.notes,
        differences=spec.differences,
        id_domain=spec.id_domain,
        candidates_for=spec.candidates_for,
        label_folds=dict(spec.label_folds),
        pairing=spec.pairing,
        min_texts=spec.min_texts,
    )
