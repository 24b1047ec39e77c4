"""Figures that papers report, to stand below the entries of a board: never ranked, never verified.

A table of a paper is a CSV beside this file, a score a row: benchmark, task, model, setting, dataset (its name in the
paper, ``Provenance.title``, or our name of the domain), score in points (empty: the paper prints none) and note, a
footnote on the model's row. ``tables.json`` lists the tables with what holds for all rows: ``notes`` (of some tasks, or
of all) and the settings ``without_home``, whose models learned from no ID data, so that they have no drop.
"""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pydantic

from builders.manifest import TaskManifest
from leaderboard.views.board import Board

_HERE = Path(__file__).parent
_COLUMNS = ("benchmark", "task", "model", "setting", "dataset", "score", "note")


class _Note(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    tasks: tuple[str, ...] = pydantic.Field(description="Empty: all")
    text: str


class _Table(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    file: str
    title: str
    about: str
    without_home: tuple[str, ...]
    notes: tuple[_Note, ...]


@dataclass(frozen=True)
class ReportedRow:
    """One model of a paper's table. Scores are fractions by domain, None where the paper prints none.

    ``mean_ood`` is over all of the paper's OOD data sets, also those that a partial build lacks; ``drop`` is the ID
    score minus it. Both are computed here.
    """

    reported: str
    model: str
    setting: str
    scores: dict[str, float | None]
    mean_ood: float | None
    drop: float | None
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Give the row as plain JSON data, in fractions: no rank, no entry, and nothing that was checked here."""
        return {"rank": None, "id": None, "name": self.model, "verified": False, **asdict(self)}


@dataclass(frozen=True)
class ReportedTable:
    """Those rows of a paper's table that are of a board's task, and what keeps them from being comparable."""

    title: str
    about: str
    rows: tuple[ReportedRow, ...]
    notes: tuple[str, ...]


def reported_tables(board: Board) -> list[ReportedTable]:
    """Give what papers report on a board's task and full test sets; a table without a figure of it is left out."""
    if board.subset != "all":
        return []
    manifest = board.folder.manifest
    found = []
    for table in _tables():
        rows = tuple(_rows(table, manifest.benchmark, board.task, manifest.tasks[board.task]))
        if not rows:
            continue
        notes = [note.text for note in table.notes if not note.tasks or board.task in note.tasks]
        if manifest.synthetic:
            notes.insert(0, "Not comparable with entries: this copy of the benchmark holds synthetic texts.")
        elif manifest.partial:
            notes.insert(0, "Not comparable with entries: this copy was built from a part of the upstream rows.")
        found.append(ReportedTable(table.title, table.about, rows, tuple(notes)))
    return found


def _rows(table: _Table, benchmark: str, task: str, info: TaskManifest) -> Iterator[ReportedRow]:
    names = {name: domain for domain, name in titles(info).items()} | {domain: domain for domain in info.domains}
    by_model: dict[tuple[str, str], list[dict[str, str]]] = {}
    for line in _lines(table.file):
        if (line["benchmark"], line["task"]) == (benchmark, task):
            by_model.setdefault((line["model"], line["setting"]), []).append(line)
    for (model, setting), lines in by_model.items():
        printed = {line["dataset"]: _fraction(line["score"]) for line in lines}
        if all(score is None for name, score in printed.items() if name in names):
            continue
        # The ID stands first in the papers' tables; a partial build may not have it.
        home = next((name for name, domain in names.items() if domain == info.id_domain), lines[0]["dataset"])
        mean_ood, drop = _id_ood(printed, home) if info.id_domain else (None, None)
        scores = {names[name]: score for name, score in printed.items() if name in names}
        if info.id_domain:
            scores[info.id_domain] = printed.get(home)
        yield ReportedRow(
            reported=table.title,
            model=model,
            setting=setting,
            scores=scores,
            mean_ood=mean_ood,
            drop=None if setting in table.without_home else drop,
            notes=tuple(dict.fromkeys(line["note"] for line in lines if line["note"])),
        )


def titles(info: TaskManifest) -> dict[str, str]:
    """Give the papers' names of a task's domains; ours where none is known."""
    return {domain: facts.provenance.title if facts.provenance else domain for domain, facts in info.domains.items()}


def _id_ood(printed: dict[str, float | None], home: str) -> tuple[float | None, float | None]:
    """Give the mean over the paper's OOD data sets, None unless all are printed, and the ID score minus it."""
    away = [score for name, score in printed.items() if name != home]
    known = [score for score in away if score is not None]
    mean = sum(known) / len(known) if known and len(known) == len(away) else None
    own = printed.get(home)
    return mean, None if own is None or mean is None else own - mean


def _fraction(points: str) -> float | None:
    return float(points) / 100 if points else None


@cache
def _tables() -> Sequence[_Table]:
    content = (_HERE / "tables.json").read_bytes()
    return pydantic.TypeAdapter(tuple[_Table, ...]).validate_json(content)


@cache
def _lines(file: str) -> Sequence[dict[str, str]]:
    with (_HERE / file).open(encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream, strict=True))
    if any(tuple(line) != _COLUMNS for line in lines):
        raise ValueError(f"{file} must have the columns {', '.join(_COLUMNS)}")
    return lines
