"""Build dataset folders from user data: labels, tags, answers or generated texts of several domains.

Files are CSV, JSON lines, JSON, Parquet or lines of tokens (``shiftbench.builders.building.own_tables``); columns are
given by the user or found by their usual names (``shiftbench.builders.building.own_columns``).
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from shiftbench.builders.assembling.assemble import AssembledTask, assemble
from shiftbench.builders.assembling.cut import Splits
from shiftbench.builders.building.own_columns import METRICS, Columns
from shiftbench.builders.building.own_rows import OwnRows, name_domains, own_rows, tag_names
from shiftbench.builders.building.own_tables import OwnTable, read_tables
from shiftbench.builders.cache import cache_key
from shiftbench.builders.checksums import file_sha256
from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.manifest import OWN_LICENCE, Manifest, SourceFacts, SourceFile
from shiftbench.builders.reading.checkpoint import program_sha256
from shiftbench.builders.specs.spec import TaskSpec
from shiftbench.builders.specs.transforms import as_texts
from shiftbench.builders.writing.withhold import label_key, secret_seed
from shiftbench.builders.writing.writer import check_out, write_folder
from shiftbench.validation.report import InvalidInput, Problem, plural
from shiftbench.validation.vocabulary import GOLD, SPLITS, TaskKind, is_name

MIN_TEXTS = 30
"""Domains of user data with fewer test texts are excluded from means."""
SPLIT_HERE = "the program split"
"""First words of the note that the program, not the file, assigned rows to splits."""


def build_own(
    task_name: str,
    raw: Path | Sequence[Path],
    out: Path,
    *,
    columns: Columns | None = None,
    kind: TaskKind | None = None,
    min_texts: int = MIN_TEXTS,
    seed: int = 0,
    overwrite: bool = False,
    encoder: Encoder | None = None,
    withhold_labels: bool = False,
) -> Manifest:
    """Build a dataset folder of benchmark ``own`` from files.

    Args:
        task_name: name of the task in ids.
        raw: a file, several files, or a folder; without a domain column, each of several files is one domain.
        out: the dataset folder to write.
        columns: the columns to use; by default those with the usual names.
        kind: the task kind; inferred from the file format or column names by default.
        min_texts: domains with fewer test texts are excluded from means.
        seed: determines which groups go to which split.
        overwrite: replace an existing dataset folder.
        encoder: computes the depth tables; None omits them.
        withhold_labels: write a folder without test labels and one with them.
    Returns: the manifest written; the task's notes list anomalies in the rows.
    Raises: InvalidInput listing every problem if a column is missing, a value empty, an id repeated, or there are fewer
        than two domains or labels.
    """
    check_out(out, overwrite=overwrite, withhold=withhold_labels)
    if not is_name(task_name):
        raise InvalidInput(
            Problem(
                "this cannot be the name of a task", "command line", repr(task_name), "use lower case, digits, - and _"
            )
        )
    key = label_key(out) if withhold_labels else None

    def assembled() -> tuple[AssembledTask, SourceFacts]:
        tables = read_tables([raw] if isinstance(raw, Path) else raw)
        rows = own_rows(tables, columns or Columns(), kind)
        return _assemble_rows(task_name, rows, tables, min_texts, seed, key)

    return _write_task(out, *assembled(), seed=seed, encoder=encoder, key=key)  # the rows can be freed


def build_rows(
    task_name: str,
    rows: OwnRows,
    tables: Sequence[OwnTable],
    out: Path,
    *,
    min_texts: int = MIN_TEXTS,
    seed: int = 0,
    encoder: Encoder | None = None,
    withhold_labels: bool = False,
    rows_only: bool = False,
) -> Manifest:
    """Build a dataset folder from valid rows.

    Args:
        task_name: name of the task.
        rows: the rows.
        tables: the tables the rows are from, for their names and checksums.
        out: the dataset folder to write.
        min_texts: domains with fewer test texts are excluded from means.
        seed: determines which groups go to which split.
        encoder: computes the depth tables; None omits them.
        withhold_labels: write a folder without test labels and one with them.
        rows_only: skip files that scoring does not need (see ``write_folder``); these take longer than the rows.
    Returns: the manifest written; with withheld labels, that of the folder with labels.
    """
    key = label_key(out) if withhold_labels else None
    task, source = _assemble_rows(task_name, rows, tables, min_texts, seed, key)
    return _write_task(out, task, source, seed=seed, encoder=encoder, key=key, rows_only=rows_only)


def _assemble_rows(
    task_name: str, rows: OwnRows, tables: Sequence[OwnTable], min_texts: int, seed: int, key: str | None
) -> tuple[AssembledTask, SourceFacts]:
    """Return a task with the rows divided into splits, and the manifest entry of the source files."""
    names, _ = name_domains(rows.frame["domain"], tables[0].name)
    frame = rows.frame.with_columns(pl.col("domain").replace_strict(names))
    parts = {str(domain): _splits(part, rows) for (domain,), part in frame.group_by("domain", maintain_order=True)}
    title = Path(tables[0].name).name + (f" and {plural(len(tables) - 1, 'more file')}" if len(tables) > 1 else "")
    spec = TaskSpec(
        benchmark="own",
        name=task_name,
        title=f"{task_name}, from {title}",
        kind=rows.kind,
        inputs=rows.inputs,
        labels=_labels(rows),
        metric=METRICS[rows.kind][0],
        # Larger than any domain, so that no row is dropped: only the ratio matters, for splits missing from the file.
        train=10 * len(frame),
        validation=len(frame),
        test=11 * len(frame) // 4,
        domains=(),
        min_texts=min_texts,
    )
    draws, sources = secret_seed(seed, key), dict.fromkeys(parts, ("own",))
    task = assemble(spec, dict(sorted(parts.items())), sources, seed=draws, equal=False, withhold=key is not None)
    task.titles = {name: text for text, name in names.items() if text != name}
    note = split_note(task, parts if "split" in frame.columns else {})
    notes = (*([note] if note else []), *rows.notes, *_small_domains(task, min_texts))
    task.spec = replace(spec, notes=notes)
    source = SourceFacts(
        title=title,
        url="",
        revision="",
        licence=OWN_LICENCE,
        open_licence=True,
        citation="",
        files=tuple(map(_source_file, tables)),
    )
    return task, source


def _write_task(
    out: Path,
    task: AssembledTask,
    source: SourceFacts,
    *,
    seed: int,
    encoder: Encoder | None,
    key: str | None,
    rows_only: bool = False,
) -> Manifest:
    return write_folder(
        out,
        [task],
        {"own": source},
        title=f"{task.spec.name} (own data)",
        seed=seed,
        partial=False,
        synthetic=False,
        encoder=encoder,
        label_key=key,
        rows_only=rows_only,
    )


def own_key(
    task_name: str,
    rows: OwnRows,
    tables: Sequence[OwnTable],
    *,
    min_texts: int = MIN_TEXTS,
    seed: int = 0,
    encoder: Encoder | None = None,
) -> str:
    """Return the cache key of the folder that ``build_rows`` writes for the same arguments.

    Args:
        task_name, rows, tables, min_texts, seed, encoder: the arguments of ``build_rows``.
    Returns: 64 hex digits.
    """
    content = hashlib.sha256(rows.frame.write_ndjson().encode()).hexdigest()
    return cache_key(
        {
            "program": program_sha256(),
            "task": task_name,
            "kind": rows.kind.value,
            "inputs": rows.inputs,
            "columns": [[name, str(dtype)] for name, dtype in rows.frame.schema.items()],
            "rows": content,
            "notes": rows.notes,
            "files": [_source_file(table).model_dump(mode="json") for table in tables],
            "min_texts": min_texts,
            "seed": seed,
            "encoder": [encoder.name, encoder.revision] if encoder else None,
        }
    )


def _labels(rows: OwnRows) -> tuple[str, ...]:
    if rows.kind is TaskKind.TAGGING:
        return tag_names(rows.frame)
    return tuple(sorted(rows.frame["label"].unique())) if rows.kind is TaskKind.CLASSIFICATION else ()


def _splits(frame: pl.DataFrame, rows: OwnRows) -> Splits:
    columns = [*rows.inputs, GOLD[rows.kind], "group"]
    if "split" not in frame.columns:
        return {"train": frame.select(columns)}
    return {str(split): part.select(columns) for (split,), part in frame.group_by("split", maintain_order=True)}


def split_note(task: AssembledTask, named: Mapping[str, Splits]) -> str:
    """Format the note that the program assigned rows to splits; it is the first note of a task.

    Args:
        named: the splits given in the file, by domain; empty if there are none.
    Returns: a sentence with the counts; ``""`` if the file gives the split of every row.
    """
    counts = {split: sum(len(splits.get(split, ())) for splits in task.domains.values()) for split in SPLITS}
    sizes = ", ".join(f"{n:,} {split}" for split, n in counts.items())
    last = f"only the {counts['test']:,} test rows are scored"
    if not named:
        cure = "to score all rows, add a column 'split' with the value 'test' in every row"
        return (
            f"{SPLIT_HERE} {sum(counts.values()):,} rows, because no column contains their splits: {sizes}; {last} "
            f"({cure})"
        )
    unnamed = {split for domain, splits in task.domains.items() for split in splits if split not in named[domain]}
    if not unnamed:
        return ""
    words = " and ".join(split for split in SPLITS if split in unnamed)
    return f"{SPLIT_HERE} rows into splits that are missing in the file ({words}): {sizes} in all; {last}"


def _small_domains(task: AssembledTask, min_texts: int) -> list[str]:
    """List the domains with too few test texts for a mean."""
    sizes = {domain: len(splits.get("test", ())) for domain, splits in task.domains.items()}
    return [
        f"domain {task.titles.get(domain, domain)!r} has {plural(size, 'test text')}, fewer than {min_texts}: "
        "excluded from means (--min-texts)"
        for domain, size in sizes.items()
        if size < min_texts
    ]


def _source_file(table: OwnTable) -> SourceFile:
    digest = hashlib.sha256("\n".join(as_texts(table.frame)).encode()).hexdigest() if table.path is None else ""
    sha256 = file_sha256(table.path) if table.path is not None else digest
    return SourceFile(path=Path(table.name).name, sha256=sha256, rows=len(table.frame), recorded_rows=None)
