"""The open archive: all shareable entries of a store, as one dataset folder for research.

    predictions/<entry>.parquet   config ``predictions``: each run's output for each test text, with confidences
    validation/<entry>.parquet    the same for validation texts, for forecasts; config ``validation`` if any entry
                                  has them
    entries.parquet               config ``entries``: the models, with the whole card as JSON
    scores.parquet                config ``scores``: one row per score and run
    figures.parquet               config ``figures``: means, drops and scores with their intervals
    README.md, croissant.json     descriptions (written by the caller)

It contains the entries whose card has ``share_predictions: true``, on data with public labels. It contains no accounts,
contacts or ids of the store: an entry's id here is computed from its card and predictions only (including those on
validation rows), so a store filled from the archive assigns the same id (``fill_store``).

The folder appears when it is complete. Until then a hidden folder next to it holds the finished parts, and the same
command resumes there. The same store gives the same bytes with the same library versions.
"""

import io
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from shiftbench.builders.folder.configs import Column, Config
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.store import ENTRY_ID, LOCAL_SUBMITTER, Entry, Store, find_folder
from shiftbench.leaderboard.store.entries import entry_id
from shiftbench.scoring.interchange.figures import figures_of
from shiftbench.scoring.scores.score import SCORE_COLUMNS
from shiftbench.scoring.scores.shape import METRIC_VERSION, Scores
from shiftbench.scoring.scores.validation_rows import validation_file
from shiftbench.validation.cards import Card, parse_card
from shiftbench.validation.limits import MAX_ROWS
from shiftbench.validation.output_files import check_new_folder, replace_file
from shiftbench.validation.parquet_file import ParquetFile
from shiftbench.validation.progress import progress
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

ENTRIES, SCORES, FIGURES, PREDICTIONS, VALIDATION = "entries", "scores", "figures", "predictions", "validation"
_DONE = ".done"
"""Folder with one file per finished entry of the store; the file contains the entry's id in the archive."""

PREDICTION_SCHEMA = pl.Schema(
    {
        **dict.fromkeys(("entry", "task", "target", "source"), pl.String()),
        "seed": pl.Int64(),
        **dict.fromkeys(("id", "prediction"), pl.String()),
        "confidence": pl.Float64(),
        "probabilities": pl.List(pl.Float64()),
    }
)
"""Predictions, sorted by source, seed and id; ``confidence`` and ``probabilities`` are null if an entry has none."""
_FACTS = ("name", "model", "base_model", "family", "parameters", "paradigm", "shots", "data", "settings", "subset")
ENTRY_SCHEMA = pl.Schema(
    {
        "entry": pl.String(),
        "benchmark": pl.String(),
        **{name: pl.Int64() if name in ("parameters", "shots") else pl.String() for name in _FACTS},
        "metric_version": pl.String(),
        "depth_encoder": pl.String(),
        "card": pl.String(),
    }
)
"""One row per entry, sorted by ``entry``; facts that a card does not state are null, ``card`` is the card as JSON."""
SCORE_SCHEMA = pl.Schema(
    {"entry": pl.String(), **{name: dtype for name, dtype in SCORE_COLUMNS.items() if name != "replicates"}}
)
"""``SCORE_COLUMNS`` without replicates, plus the entry."""
FIGURE_SCHEMA = pl.Schema(
    {
        **dict.fromkeys(("entry", "task", "figure", "metric", "source", "target"), pl.String()),
        **dict.fromkeys(("value", "low", "high", "total_low", "total_high"), pl.Float64()),
        "is_drop": pl.Boolean(),
    }
)
"""Scores, means and drops in the format of ``shiftbench.scoring.interchange.figures``. Source and target are null for
values of a whole task; bounds are null if there is no interval."""
_TITLES = {
    PREDICTIONS: "Predictions of each trained model for each test text",
    VALIDATION: "Predictions of trained models for validation texts, for forecasts",
    ENTRIES: "The entries and their cards",
    SCORES: "Scores of single trained models",
    FIGURES: "Means, drops and scores of entries, with 95% intervals",
}
_SCHEMAS = {
    PREDICTIONS: PREDICTION_SCHEMA,
    VALIDATION: PREDICTION_SCHEMA,
    ENTRIES: ENTRY_SCHEMA,
    SCORES: SCORE_SCHEMA,
    FIGURES: FIGURE_SCHEMA,
}
_TABLES = (ENTRIES, SCORES, FIGURES)

Describe = Callable[[Sequence[Config], pl.DataFrame], Mapping[str, str]]
"""Function from the archive's configs and entries to the text files that describe them, by file name."""


@dataclass(frozen=True)
class Archived:
    """The content of an archive: ids of its entries, number of predictions, and reasons for excluded entries."""

    entries: tuple[str, ...]
    predictions: int
    left_out: dict[str, str]


def write_archive(store: Store, folders: Sequence[DatasetFolder], out: Path, describe: Describe) -> Archived:
    """Write the archive of a store.

    Args:
        store: the store.
        folders: the datasets of its entries.
        out: path of the new folder, which does not exist yet or is empty.
        describe: function that returns the texts of the archive's README.md and croissant.json.
    Returns: what was archived, and why other entries were excluded.
    Raises: InvalidInput if ``out`` exists and is not an empty folder, or if no entry may be shared.
    """
    check_new_folder(out, "--out")
    part = out.absolute().with_name(f".{out.absolute().name}-{METRIC_VERSION}.part")
    left_out: dict[str, str] = {}
    ids: set[str] = set()
    for identity in progress(store.ids(), desc="archiving", unit="entry"):
        try:
            ids.add(_archived(store, identity, folders, part))
        except InvalidInput as error:
            left_out[identity] = str(error)
    if not ids:
        cure = "submitters allow it with 'share_predictions: true' in the card"
        raise InvalidInput(Problem("no entry of the store may be shared", str(store.root), cure=cure))
    archived = _finish(part, out, sorted(ids), describe)
    return Archived(tuple(sorted(ids)), archived, left_out)


def _archived(store: Store, identity: str, folders: Sequence[DatasetFolder], part: Path) -> str:
    """Write the files of one entry unless they exist; return its id in the archive.

    Raises: InvalidInput if the entry may not be shared, or cannot be read.
    """
    entry = store.entry(identity)
    folder = _refuse_closed(entry, folders)
    done = part / _DONE / identity
    if done.is_file():
        return done.read_text()
    files = store.checked_files(identity, folder)
    files.refuse_lost_validation()
    rows, held_out = files.predictions, files.validation
    card = entry.card.model_copy(update={"contact": None})
    named = entry_id(LOCAL_SUBMITTER, card, _sent_rows(rows), None if held_out is None else _sent_rows(held_out))
    scores = store.scores(entry, folder)
    frames = {
        PREDICTIONS: rows.sort("source", "seed", "id"),
        ENTRIES: _entry_row(card, scores),
        SCORES: store.table(entry, folder),
        FIGURES: _figure_rows(scores),
        **({VALIDATION: held_out.sort("source", "seed", "id")} if held_out is not None else {}),
    }
    for name, frame in frames.items():
        _write(frame.with_columns(entry=pl.lit(named)), _SCHEMAS[name], part / name / f"{named}.parquet")
    with replace_file(done) as new:
        new.write_text(named)
    return named


def _sent_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Return checked rows in the format in which ``fill_store`` submits them, so that the same id is computed."""
    # Drop all-null columns: the archive has every column for all entries.
    empty = [name for name in rows.columns if rows[name].is_null().all()]
    return rows.drop("task", "target", *empty).sort("source", "seed", "id")


def _refuse_closed(entry: Entry, folders: Sequence[DatasetFolder]) -> DatasetFolder:
    """Return an entry's dataset; InvalidInput if the entry may not be shared, or the dataset is missing."""
    folder = find_folder(entry.card, folders)
    if not folder.has_public_labels:
        raise InvalidInput(Problem("labels are withheld, so the entry is not shared", entry.id))
    if not entry.card.allows_bulk:
        raise InvalidInput(Problem("the card does not have share_predictions: true", entry.id))
    return folder


def _entry_row(card: Card, scores: Scores) -> pl.DataFrame:
    facts = {name: getattr(card, name) for name in _FACTS}
    made = {"metric_version": scores.metric_version, "depth_encoder": scores.depth_encoder}
    text = json.dumps(card.as_dict(), ensure_ascii=False, sort_keys=True)
    row = {"entry": "", "benchmark": scores.benchmark, **facts, **made, "card": text}
    return pl.DataFrame([row], schema=ENTRY_SCHEMA)


def _figure_rows(scores: Scores) -> pl.DataFrame:
    rows = [
        ("", each.task, each.name, each.metric, each.source, each.target, each.value, *each.bounds, each.is_drop)
        for each in figures_of(scores)
    ]
    return pl.DataFrame(rows, schema=FIGURE_SCHEMA, orient="row")


def _write(frame: pl.DataFrame, schema: pl.Schema, path: Path) -> None:
    missing = [pl.lit(None, dtype).alias(name) for name, dtype in schema.items() if name not in frame.columns]
    rows = frame.with_columns(missing).select(schema.names()).cast(schema).rechunk()
    content = io.BytesIO()  # polars would report a full disk as a fault of the file's format
    rows.write_parquet(content, compression="zstd", statistics=False)
    with replace_file(path) as new:
        new.write_bytes(content.getbuffer())


def _finish(part: Path, out: Path, ids: Sequence[str], describe: Describe) -> int:
    """Write the joined tables and their description into the folder; return the number of predictions."""
    for path in [*(part / PREDICTIONS).glob("*.parquet"), *(part / VALIDATION).glob("*.parquet")]:
        if path.stem not in ids:  # the entry was withdrawn after an interrupted run wrote its file
            path.unlink()
    for name in _TABLES:
        _write(pl.concat([pl.read_parquet(part / name / f"{each}.parquet") for each in ids]), _SCHEMAS[name],
               part / f"{name}.parquet")  # fmt: skip
    rows = {
        name: _n_rows(part / name / "*.parquet") for name in (PREDICTIONS, VALIDATION) if any((part / name).glob("*"))
    }
    rows |= {name: _n_rows(part / f"{name}.parquet") for name in _TABLES}
    for name, text in describe(archive_configs(rows), pl.read_parquet(part / f"{ENTRIES}.parquet")).items():
        (part / name).write_text(text, encoding="utf-8")
    for name in (_DONE, *_TABLES):  # first remove the marker that the others are complete
        shutil.rmtree(part / name)
    if out.exists():
        out.rmdir()
    part.rename(out)
    return rows[PREDICTIONS]


def _n_rows(path: Path) -> int:
    """Count the rows of a table, or of all tables that match a pattern."""
    return int(pl.scan_parquet(path, glob="*" in path.name).select(pl.len()).collect().item())


def archive_configs(rows: Mapping[str, int]) -> list[Config]:
    """List the archive's configs that have ``rows``; the default, the predictions, first."""
    paths = {name: f"{name}/*.parquet" for name in (PREDICTIONS, VALIDATION)} | {
        name: f"{name}.parquet" for name in _TABLES
    }
    return [
        Config(name, title, name, {"test": paths[name]}, {"test": rows[name]}, _columns(_SCHEMAS[name]))
        for name, title in _TITLES.items()
        if name in rows
    ]


def _columns(schema: pl.Schema) -> tuple[Column, ...]:
    names: dict[pl.DataType, str] = {
        pl.String(): "string", pl.Int64(): "int64", pl.Float64(): "float64", pl.Boolean(): "bool",
    }  # fmt: skip
    return tuple(
        Column(name, names[dtype.inner], is_list=True) if isinstance(dtype, pl.List) else Column(name, names[dtype])  # type: ignore[index]
        for name, dtype in schema.items()
    )


_WANTED = {ENTRIES: ("entry", "card"), PREDICTIONS: ("source", "id", "prediction", "seed")}
_READ = _WANTED | {PREDICTIONS: (*_WANTED[PREDICTIONS], "confidence", "probabilities")}


def fill_store(store: Store, archive: Path, folders: Sequence[DatasetFolder]) -> tuple[int, dict[str, str]]:
    """Submit the entries of an archive to a store; entries already in the store are unchanged.

    Args:
        store: the store.
        archive: folder written by ``write_archive``.
        folders: the datasets of the entries.
    Returns: number of the archive's entries that are now in the store, and by id why others are not.
    Raises: InvalidInput if the folder is not an archive.
    """
    table = archive / f"{ENTRIES}.parquet"
    if not table.is_file():
        cure = "give a folder written by 'shiftbench board archive'"
        raise InvalidInput(Problem("this is not an archive", str(archive), f"no {table.name} in it", cure))
    n_filled, failed = 0, {}
    rows = _read_table(table, ENTRIES).select(_READ[ENTRIES]).rows()
    for identity, card in progress(rows, desc="reading the archive", unit="entry"):
        try:
            _submit(store, archive, str(identity), str(card), folders)
            n_filled += 1
        except InvalidInput as error:
            failed[str(identity)] = str(error)
    return n_filled, failed


def _submit(store: Store, archive: Path, identity: str, card: str, folders: Sequence[DatasetFolder]) -> None:
    path = archive / PREDICTIONS / f"{identity}.parquet"
    if not ENTRY_ID.fullmatch(identity) or not path.is_file():
        what, cure = "the archive lacks the predictions of this entry", "fetch the archive again"
        raise InvalidInput(Problem(what, str(archive), f"'{identity}'", cure))
    sent, more = _sent_predictions(path), archive / VALIDATION / path.name
    held_out = _sent_predictions(more) if more.is_file() else None
    checked = parse_card(card, f"{archive}, card of {identity}")
    if entry_id(LOCAL_SUBMITTER, checked, sent, held_out) != identity:
        what = "card, predictions or validation rows have changed since they were archived"
        cure = "fetch the archive again"
        raise InvalidInput(Problem(what, str(path), cure=cure))
    with tempfile.TemporaryDirectory(prefix="shiftbench-") as folder:
        file = Path(folder) / path.name
        sent.write_parquet(file)
        beside = None if held_out is None else validation_file(file)
        if held_out is not None and beside is not None:
            held_out.write_parquet(beside)
        store.submit(file, checked, folders, validation=beside)


def _sent_predictions(path: Path) -> pl.DataFrame:
    """Read predictions with columns and rows in the order of a submission, without columns that are all null."""
    rows = _read_table(path, PREDICTIONS)
    names = [name for name in _READ[PREDICTIONS] if name in rows.columns and not rows[name].is_null().all()]
    return rows.select(names).sort("source", "seed", "id")


def _read_table(path: Path, kind: str) -> pl.DataFrame:
    """Read a table within the size limits of prediction files."""

    def check(names: list[str]) -> None:
        missing = [name for name in _WANTED[kind] if name not in names]
        if missing:
            what = f"column '{missing[0]}' is missing"
            raise InvalidInput(Problem(what, str(path), cure=did_you_mean(missing[0], names or ["nothing"])))

    return pl.concat(list(ParquetFile(path, check, MAX_ROWS).parts(_READ[kind])))
