"""Scores that papers report, shown below the entries of a board: never ranked, never verified.

A paper's table is a CSV in this folder, one score per row: benchmark, task, model, setting, figure (a column of the
board, or a data set: its name in the paper, ``Provenance.title``, or our name of the domain), score as printed (empty
if the paper prints none) and note, a footnote on the model's row. ``tables.json`` lists the tables, each with
``notes`` (for some tasks and subsets, or for all), ``paradigms`` by model or setting, and ``without_home``: settings
whose models were not trained on ID data, so they have no drop.
"""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import pydantic

from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.leaderboard.board import Board
from shiftbench.leaderboard.board.rows import OOD

_HERE = Path(__file__).parent
_COLUMNS = ("benchmark", "task", "model", "setting", "figure", "score", "note")


class _Shape(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class _Note(_Shape):
    tasks: tuple[str, ...] = pydantic.Field((), description="Empty: all")
    subsets: tuple[str, ...] = pydantic.Field((), description="Empty: all")
    text: str


class _Table(_Shape):
    file: str
    title: str
    about: str
    unit: Literal["points", "fraction"] = "points"
    subsets: tuple[str, ...] = ("all",)
    paradigms: dict[str, str]
    without_home: tuple[str, ...] = ()
    notes: tuple[_Note, ...]


@dataclass(frozen=True)
class ReportedRow:
    """One model of a paper's table.

    ``figures`` are fractions by board column, None if the paper prints none. For tasks with an ID domain, ``mean_ood``
    covers all of the paper's OOD data sets, including those missing from a partial build, and ``drop`` is the ID score
    minus it; both are computed here.
    """

    reported: str
    model: str
    setting: str
    paradigm: str
    figures: dict[str, float | None]
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The model with its setting; each setting of a model has its own row."""
        return ", ".join(part for part in (self.model, self.setting) if part)

    @property
    def shots(self) -> int | None:
        """Number of demonstrations in a prompt, if the setting states it."""
        number, _, shot = self.setting.partition("-")
        return int(number) if shot == "shot" and self.paradigm in ("zero-shot", "few-shot") else None


@dataclass(frozen=True)
class ReportedTable:
    """The rows of a paper's table for a board's task, and notes on why they may not be comparable."""

    title: str
    about: str
    rows: tuple[ReportedRow, ...]
    notes: tuple[str, ...]


def reported_tables(board: Board) -> list[ReportedTable]:
    """Return the papers' tables for a board's task and subset; tables without any score for it are omitted."""
    manifest = board.folder.manifest
    tables = []
    for table in _tables():
        rows = tuple(_reported_rows(table, manifest.benchmark, board.task, board.info))
        if not rows or board.subset not in table.subsets:
            continue
        notes = [
            note.text
            for note in table.notes
            if (not note.tasks or board.task in note.tasks) and (not note.subsets or board.subset in note.subsets)
        ]
        if manifest.synthetic:
            notes.insert(0, "Not comparable with entries: this copy of the benchmark contains synthetic texts.")
        elif manifest.partial:
            notes.insert(0, "Not comparable with entries: this copy was built from only a part of the upstream rows.")
        shortfalls = [facts.shortfall(split) for split, facts in board.info.sizes.items()]
        notes += [f"Other sizes: {text}." for text in shortfalls if text]
        tables.append(ReportedTable(table.title, table.about, rows, tuple(notes)))
    return tables


def _reported_rows(table: _Table, benchmark: str, task: str, info: TaskInfo) -> Iterator[ReportedRow]:
    scale = 100 if table.unit == "points" else 1
    by_model: dict[tuple[str, str], list[dict[str, str]]] = {}
    for line in _lines(table.file):
        if (line["benchmark"], line["task"]) == (benchmark, task):
            by_model.setdefault((line["model"], line["setting"]), []).append(line)
    for (model, setting), lines in by_model.items():
        printed = {line["figure"]: float(line["score"]) / scale if line["score"] else None for line in lines}
        figures = _by_domain(printed, info, lines[0]["figure"]) if info.id_domain else printed
        if setting in table.without_home:
            figures["drop"] = None
        if any(score is not None for score in figures.values()):
            yield ReportedRow(
                reported=table.title,
                model=model,
                setting=setting,
                paradigm=table.paradigms.get(model) or table.paradigms.get(setting, ""),
                figures=figures,
                notes=tuple(dict.fromkeys(line["note"] for line in lines if line["note"])),
            )


def titles(info: TaskInfo) -> dict[str, str]:
    """Return the papers' names of a task's domains, or the domain's key if no name is known."""
    return {domain: facts.provenance.title if facts.provenance else domain for domain, facts in info.domains.items()}


def _by_domain(printed: dict[str, float | None], info: TaskInfo, first: str) -> dict[str, float | None]:
    """Map scores on data sets to the board's columns; an empty dict if no available domain has a score."""
    names = {name: domain for domain, name in titles(info).items()} | {domain: domain for domain in info.domains}
    if all(score is None for name, score in printed.items() if name in names):
        return {}
    # The ID data set comes first in the papers' tables; a partial build may lack it.
    home = next((name for name, domain in names.items() if domain == info.id_domain and name in printed), first)
    away = {name: score for name, score in printed.items() if name != home}
    known = [score for score in away.values() if score is not None]
    mean = sum(known) / len(known) if known and len(known) == len(away) else None
    own = printed[home]
    drop = None if own is None or mean is None else own - mean
    scores = {f"{OOD}{names[name]}": score for name, score in away.items() if name in names}
    return {"mean_ood": mean, "id_score": own, **scores, "drop": drop}


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
