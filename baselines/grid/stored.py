"""Stored trials and results: in folders, as a grid writes them, or packed into two files.

A grid writes each trial into its own folder under ``runs``. Packed, the trials of a board are one Parquet file,
``predictions.parquet``, which stores each id once, and ``records.jsonl`` with one line for each trial and each result:
cards, settings and scores. Both layouts are read by the same functions, and values are restored bit for bit.

Until 0.3 a trial's key contained the content hash of the whole dataset folder. Such trials are found if that folder is
available; published ones are found through ``former_data.toml`` next to the boards, which maps that hash and the task
to the hash of the task's rows.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from shiftbench.baselines.grid.trial import PREDICTIONS, RECORD, Trial, is_whole
from shiftbench.validation.cards import Card, card_path, read_card, write_card
from shiftbench.validation.json_text import json_line, parse_json
from shiftbench.validation.output_files import replace_file
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.toml_text import read_toml

TRAINING = "predictions.training.json"
PACK, RECORDS = "predictions.parquet", "records.jsonl"
FORMER_DATA = "former_data.toml"
_STEM = Path(PREDICTIONS).stem
_CARD, _SCORES = ".card.yaml", ".scores.json"
_LEVEL, _ROWS, _PAGE = 19, 1 << 22, 1 << 22
"""Parquet settings: zstd level, rows per row group and bytes per page. Ids are stored once per row group."""


class Result(NamedTuple):
    """One result of a board: its card and scores, as ``shiftbench score --json`` writes them."""

    card: Card
    scores: dict[str, Any]

    @property
    def is_at_floor(self) -> bool:
        """Return whether under every shift the score is not shown to be above that of the best constant prediction."""
        shifts = self.scores["tasks"][0]["shifts"]
        return bool(shifts) and all("st" in shift["at_floor"] for shift in shifts)


@dataclass(frozen=True)
class _PackedFile:
    """One prediction file of a packed trial: its row range, and whether its confidence is the largest probability."""

    first: int
    rows: int
    confidence: bool
    card: Card


@dataclass(frozen=True)
class _PackedTrial:
    files: dict[str, _PackedFile]
    training: list[Any]


class StoredTrials:
    """The trials of a grid's folder of runs, and the packed trials of the same board.

    Args:
        runs: the folder of runs, or its parent folder; neither needs to exist. A trial in its own folder takes
            precedence over a packed one.
    """

    def __init__(self, runs: Path) -> None:
        is_board = (runs / RECORDS).is_file() or (runs / "runs").is_dir()
        self.runs = runs / "runs" if is_board else runs
        self._board = self.runs.parent

    def trials(self) -> list[Trial]:
        """List the trials, sorted by folder name."""
        every = [*self._packed_trials.values(), *map(Trial.read, self.runs.glob(f"*/*/*/{RECORD}"))]
        known = [replace(each, data=self._former.get(each.data, {}).get(each.task, each.data)) for each in every]
        return [trial for _, trial in sorted({trial.folder: trial for trial in known}.items())]

    def is_done(self, trial: Trial) -> bool:
        """Check whether a trial's predictions and card exist and can be read."""
        return PREDICTIONS in self.files(trial)

    def files(self, trial: Trial) -> list[str]:
        """List the names of a trial's complete prediction files, such as ``predictions.validation.parquet``."""
        folder = self.folder(trial)
        if is_whole(folder / PREDICTIONS):
            return sorted(file.name for file in folder.glob(f"{_STEM}*.parquet") if is_whole(file))
        packed = self._find_packed(trial)
        return sorted(packed.files) if packed else []

    def folder(self, trial: Trial) -> Path:
        """Return the folder of a trial's complete files; if there are none, the folder to write them to."""
        places = [self.runs / name for name in self._names(trial)]
        return next((place for place in places if is_whole(place / PREDICTIONS)), places[0])

    def predictions(self, trial: Trial, name: str = PREDICTIONS) -> pl.DataFrame:
        """Read a trial's prediction file; ``name`` is one of ``files(trial)``."""
        file = self.folder(trial) / name
        if is_whole(file):
            return pl.read_parquet(file)
        packed = self._packed_file(trial, name)
        rows = self._rows.slice(packed.first, packed.rows).drop("trial", "file")
        if packed.confidence:
            rows = rows.with_columns(confidence=pl.col("probabilities").list.max())
        # Copied: a slice of a list column would be written with other pages than the same values stored separately.
        optional = [name for name in ("confidence", "probabilities") if name in rows.columns]
        columns = ["source", "id", "prediction", "seed", *optional]
        return rows.select(pl.col(columns).gather(pl.int_range(pl.len())))

    def card(self, trial: Trial, name: str = PREDICTIONS) -> Card:
        """Read the card of a trial's prediction file; ``name`` is one of ``files(trial)``."""
        file = self.folder(trial) / name
        return read_card(card_path(file)) if is_whole(file) else self._packed_file(trial, name).card

    def training(self, trial: Trial) -> list[Any]:
        """Read the training records of a trial (contents of ``TRAINING``), one per run; empty if there are none."""
        folder = self.folder(trial)
        if is_whole(folder / PREDICTIONS):
            file = folder / TRAINING
            return list(parse_json(file.read_text(encoding="utf-8"))) if file.is_file() else []
        packed = self._find_packed(trial)
        return packed.training if packed else []

    def _names(self, trial: Trial) -> list[Path]:
        """List the possible names of a trial's folder: the current one, and those with keys from before 0.3."""
        former = [data for data, tasks in self._former.items() if tasks.get(trial.task) == trial.data]
        here = [trial.dataset.content] if trial.dataset else []
        return [replace(trial, data=data).folder for data in (trial.data, *former, *here)]

    def _find_packed(self, trial: Trial) -> _PackedTrial | None:
        return next((self._packed[name] for name in self._names(trial) if name in self._packed), None)

    def _packed_file(self, trial: Trial, name: str) -> _PackedFile:
        packed = self._find_packed(trial)
        if packed is None:
            raise KeyError(f"{trial}: no such trial is stored")
        return packed.files[name]

    @cached_property
    def _former(self) -> dict[str, dict[str, str]]:
        file = self._board.parent / FORMER_DATA
        return read_toml(file) if file.is_file() else {}

    @cached_property
    def _records(self) -> list[dict[str, Any]]:
        return [record for record in _read_records(self._board) if record["record"] == "trial"]

    @cached_property
    def _packed_trials(self) -> dict[Path, Trial]:
        trials = [Trial.from_facts(record["trial"]) for record in self._records]
        return {trial.folder: trial for trial in trials}

    @cached_property
    def _packed(self) -> dict[Path, _PackedTrial]:
        return {
            folder: _PackedTrial(
                {
                    name: _PackedFile(**facts | {"card": Card.model_validate(facts["card"])})
                    for name, facts in record["files"].items()
                },
                record["training"],
            )
            for folder, record in zip(self._packed_trials, self._records, strict=True)
        }

    @cached_property
    def _rows(self) -> pl.DataFrame:
        return pl.read_parquet(self._board / PACK)


def read_results(board: Path) -> dict[str, Result]:
    """Read the results of a board by name, from its ``records.jsonl``."""
    return {
        record["name"]: Result(Card.model_validate(record["card"]), record["scores"])
        for record in _read_records(board)
        if record["record"] == "result"
    }


def pack_board(board: Path) -> tuple[Path, ...]:
    """Pack the trials in a board's ``runs``, and its results, into its two files; add to what is already packed.

    The original folders and files are not changed. With one version of pyarrow, the same content gives the same bytes.

    Args:
        board: a folder with ``runs``, and ``<name>.card.yaml`` with ``<name>.scores.json`` for each result.
    Raises: InvalidInput if a value could not be restored exactly.
    """
    import pyarrow.parquet as pq

    stored = StoredTrials(board / "runs")
    results = read_results(board)
    for file in sorted(board.glob(f"*{_SCORES}")):
        name = file.name.removesuffix(_SCORES)
        results[name] = Result(read_card(file.with_name(name + _CARD)), parse_json(file.read_text(encoding="utf-8")))
    records, frames, n = [], [], 0
    for trial in filter(stored.is_done, stored.trials()):
        files = {}
        for name in stored.files(trial):
            rows = stored.predictions(trial, name)
            has_confidence = "confidence" in rows.columns
            is_largest = has_confidence and "probabilities" in rows.columns
            if is_largest and not rows["confidence"].equals(rows["probabilities"].list.max()):
                cure = "exclude this trial: only confidences equal to the largest probability can be packed"
                raise InvalidInput(Problem("a confidence differs from the largest probability", str(trial), cure=cure))
            files[name] = {
                "first": n, "rows": len(rows), "confidence": is_largest,
                "card": stored.card(trial, name).as_dict(),
            }  # fmt: skip
            place = [pl.lit(trial.folder.as_posix()).alias("trial"), pl.lit(name).alias("file")]
            frames.append(rows.drop(["confidence"] if is_largest else []).select(*place, pl.all()))
            n += len(rows)
        records.append({"record": "trial", "trial": trial.facts, "files": files, "training": stored.training(trial)})
    for name, result in sorted(results.items()):
        card = result.card.as_dict()
        records.append({"record": "result", "name": name, "card": card, "scores": result.scores})
    lines = [json.dumps(record, separators=(",", ":"), ensure_ascii=False) + "\n" for record in records]
    with replace_file(board / RECORDS) as new:
        new.write_text("".join(lines), encoding="utf-8")
    if not frames:
        return (board / RECORDS,)
    table = pl.concat(frames).rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    with replace_file(board / PACK) as new:
        pq.write_table(
            table, new, compression="zstd", compression_level=_LEVEL, row_group_size=_ROWS, data_page_size=_PAGE,
            dictionary_pagesize_limit=2 * _PAGE, write_statistics=False, store_schema=True,
        )  # fmt: skip
    return board / PACK, board / RECORDS


def unpack_board(board: Path, out: Path) -> None:
    """Write packed trials (to ``out/runs``) and results as the files that a grid and ``shiftbench score`` write."""
    stored = StoredTrials(board)
    for trial in stored.trials():
        folder = out / "runs" / trial.folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / RECORD).write_text(trial.record, encoding="utf-8")
        for name in stored.files(trial):
            stored.predictions(trial, name).rechunk().write_parquet(folder / name)
            write_card(stored.card(trial, name), card_path(folder / name))
        if training := stored.training(trial):
            (folder / TRAINING).write_text(json.dumps(training, indent=1), encoding="utf-8")
    out.mkdir(parents=True, exist_ok=True)
    for name, result in read_results(board).items():
        write_card(result.card, out / f"{name}{_CARD}")
        (out / f"{name}{_SCORES}").write_text(json.dumps(result.scores, indent=2) + "\n", encoding="utf-8")


def _read_records(board: Path) -> Iterator[dict[str, Any]]:
    file = board / RECORDS
    if file.is_file():
        with file.open("rb") as lines:
            yield from (json_line(line) for line in lines)
