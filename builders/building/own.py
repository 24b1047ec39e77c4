"""Your own data: a CSV with a domain column becomes a dataset folder like any other.

Columns: ``domain``, ``label``, and ``text`` or ``premise`` + ``hypothesis``; optional ``split`` (train, validation,
test) and ``group`` (what makes rows belong together, such as a document; default: each distinct text).
"""

import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from builders.assembling.assemble import assemble
from builders.assembling.cut import Splits
from builders.checksums import file_sha256
from builders.encoder import Encoder
from builders.folder.manifest import Manifest, SourceFacts, SourceFile
from builders.specs.spec import TaskSpec
from builders.specs.transforms import text_digest
from builders.writing.withhold import label_key, secret_seed
from builders.writing.writer import check_out, write_folder
from validation.csv_text import csv_text, repeated_columns
from validation.report import InvalidInput, Problem, counted
from validation.vocabulary import NO_SOURCE, SPLITS, TaskKind, is_name

_INPUTS = (("text",), ("premise", "hypothesis"))


def build_own(
    task_name: str,
    csv: Path,
    out: Path,
    *,
    seed: int = 0,
    overwrite: bool = False,
    encoder: Encoder | None = None,
    withhold_labels: bool = False,
) -> Manifest:
    """Build a dataset folder of benchmark ``own`` from a CSV file.

    Raises: InvalidInput when a column is missing, a value empty, or fewer than two domains or labels are there.
    """
    check_out(out, overwrite=overwrite, withhold=withhold_labels)
    if not is_name(task_name):
        raise InvalidInput(
            Problem("this cannot name a task", "command line", repr(task_name), "use lower case, digits, - and _")
        )
    if not csv.is_file():
        raise InvalidInput(Problem("there is no such CSV file", str(csv), cure="give --raw FILE.csv"))
    nothing = Problem("the file is empty", str(csv), "no header", "give it a header and a row an example")
    frame = csv_text(csv, lambda columns: _check_columns(columns, str(csv)), nothing)
    return build_rows(task_name, frame, csv, out, seed=seed, encoder=encoder, withhold_labels=withhold_labels)


def build_rows(
    task_name: str,
    frame: pl.DataFrame,
    csv: Path,
    out: Path,
    *,
    seed: int = 0,
    encoder: Encoder | None = None,
    withhold_labels: bool = False,
) -> Manifest:
    """Build a dataset folder from the rows of a CSV file.

    Args:
        task_name: what the task is called.
        frame: the rows in file order: String columns ``domain``, ``label``, ``text`` or ``premise`` and ``hypothesis``,
            and where given ``split`` and ``group``; no nulls, columns in any order.
        csv: the file they are from, for its name, its checksum and the report.
        out: the folder to write.
        seed: decides which groups go to which split.
        encoder: computes the depth tables; None leaves them out.
        withhold_labels: write a folder without test labels and one with them.
    Returns: the manifest of what was written; with withheld labels the one with the labels.
    Raises: InvalidInput when a value is empty, or fewer than two domains or labels are there.
    """
    inputs = _inputs(frame.columns)
    _check_values(frame, inputs, str(csv))
    frame = frame.with_columns(pl.col("domain").replace_strict(domain_names(frame["domain"], str(csv))))
    if "group" not in frame.columns:
        frame = frame.with_columns(text_digest(frame[inputs[0]]).alias("group"))
    rows = {str(domain): _splits(part, inputs) for (domain,), part in frame.group_by("domain", maintain_order=True)}
    spec = TaskSpec(
        benchmark="own",
        name=task_name,
        title=f"{task_name}, from {csv.name}",
        kind=TaskKind.CLASSIFICATION,
        inputs=inputs,
        labels=tuple(sorted(frame["label"].unique().to_list())),
        metric="macro_f1",
        # Ratios of the splits that the file does not name: no size is ever this large.
        train=10 * len(frame),
        validation=len(frame),
        test=11 * len(frame) // 4,
        domains=(),
    )
    key = label_key(out) if withhold_labels else None
    draws, sources = secret_seed(seed, key), dict.fromkeys(rows, ("own",))
    task = assemble(spec, dict(sorted(rows.items())), sources, seed=draws, equal=False, withhold=withhold_labels)
    file = SourceFile(path=csv.name, sha256=file_sha256(csv), rows=len(frame), recorded_rows=None)
    source = SourceFacts(
        title=csv.name, url="", revision="", licence="yours", open_licence=True, citation="", files=(file,)
    )
    return write_folder(
        out,
        [task],
        {"own": source},
        title=f"{task_name} (own data)",
        seed=seed,
        partial=False,
        synthetic=False,
        encoder=encoder,
        label_key=key,
    )


def _inputs(columns: list[str]) -> tuple[str, ...]:
    return next((names for names in _INPUTS if set(names) <= set(columns)), ())


def _check_columns(columns: list[str], file: str) -> None:
    found = f"columns {', '.join(columns)}"
    problems = []
    if not _inputs(columns):
        cure = _other_case(("text", *_INPUTS[1]), columns) or "name it 'text', or 'premise' and 'hypothesis'"
        problems.append(Problem("the text column is missing", file, found, cure, column="text"))
    problems += [
        Problem("a column is missing", file, found, _other_case((name,), columns) or f"add '{name}'", column=name)
        for name in ("domain", "label")
        if name not in columns
    ]
    problems += repeated_columns(columns, file)
    if problems:
        raise InvalidInput(problems)


def _other_case(names: Sequence[str], columns: list[str]) -> str:
    """Say which columns to rename where only case or spaces around keep them from being one of these names."""
    pairs = [(column, column.strip().lower()) for column in columns if column not in names]
    return " and ".join(f"rename '{column}' to '{name}'" for column, name in pairs if name in names)


def _check_values(frame: pl.DataFrame, inputs: tuple[str, ...], file: str) -> None:
    problems: list[Problem] = []
    for name in (*inputs, "domain", "label", *({"group"} & set(frame.columns))):
        empty = (frame[name].str.strip_chars() == "").fill_null(value=True)
        if empty.any():
            row = int(empty.arg_true()[0]) + 1
            problems.append(
                Problem(
                    "a value is empty",
                    file,
                    counted(int(empty.sum()), "such row"),
                    "fill it in or drop the row",
                    column=name,
                    row=row,
                )
            )
    if "split" in frame.columns:
        bad = ~frame["split"].is_in(SPLITS)
        if bad.any():
            row = int(bad.arg_true()[0]) + 1
            problems.append(
                Problem(
                    "a split is unknown",
                    file,
                    repr(frame["split"][row - 1]),
                    f"use {', '.join(SPLITS)}",
                    column="split",
                    row=row,
                )
            )
        for (domain,), rows in frame.with_row_index().group_by("domain", maintain_order=True):
            if rows["split"].unique().to_list() == ["validation"]:
                what, cure = f"domain {domain!r} has validation rows only", "give it train or test rows"
                problems.append(Problem(what, file, "validation", cure, column="split", row=int(rows["index"][0]) + 1))
    for name in ("domain", "label"):
        if frame[name].n_unique() < 2:
            what = f"at least two different values are needed to measure a shift in column '{name}'"
            found, cure = repr(frame[name][0]) if len(frame) else "no rows", "add rows of another one"
            problems.append(Problem(what, file, found, cure, column=name))
    if problems:
        raise InvalidInput(problems)


def _splits(frame: pl.DataFrame, inputs: tuple[str, ...]) -> Splits:
    columns = [*inputs, "label", "group"]
    if "split" not in frame.columns:
        return {"train": frame.select(columns)}
    return {str(split): part.select(columns) for (split,), part in frame.group_by("split", maintain_order=True)}


def domain_names(domains: pl.Series, file: str) -> dict[str, str]:
    """Name every domain in lower case, digits, ``-`` and ``_``.

    Args:
        domains: what the file calls them, in any order and number.
        file: the file, for the report.
    Returns: a name for each distinct domain, by what the file calls it.
    Raises: InvalidInput when two would share a name, or one would have the word for 'no source'.
    """
    names: dict[str, str] = {}
    problems = []
    for text in domains.unique(maintain_order=True).to_list():
        name = _as_name(text)
        if name in names.values() or name in (NO_SOURCE, ""):
            what = (
                "a domain has no name of its own in lower case letters, digits, - and _"
                if name != NO_SOURCE
                else f"'{NO_SOURCE}' stands for models without a source domain"
            )
            row = int((domains == text).arg_true()[0]) + 1
            problems.append(Problem(what, file, repr(text), "give it another name", column="domain", row=row))
        names[text] = name
    if problems:
        raise InvalidInput(problems)
    return names


def _as_name(text: str) -> str:
    """Turn a domain as people write it into a name: ``Sci Fi`` -> ``sci-fi``."""
    return re.sub(r"[^a-z0-9_]+", "-", text.strip().lower()).strip("-_")
