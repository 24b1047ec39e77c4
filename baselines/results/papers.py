"""The papers' tables and figures: rows of ``papers.toml``, and our stored results next to the papers' numbers.

``shiftbench study reproduce`` reproduces a row. The papers' numbers are stored in ``leaderboard/pages/reported`` (those
shown on boards) and in ``reported`` next to this file.
"""

import csv
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pydantic

from shiftbench.baselines.grid.stored import read_results
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

RESULTS = Path(__file__).parent
_REPORTED = (RESULTS.parents[1] / "leaderboard" / "pages" / "reported", RESULTS / "reported")
HEADER = ("the paper's row", "figure", "paper", "ours", "our result")
BENCHMARKS = {"dr": "Domain Robustness", "boss": "BOSS", "df1": "Depth F1"}


class State(StrEnum):
    """Whether a table or figure of a paper can be recomputed with this package."""

    WORKS = "works"
    DATA = "data"
    GPU = "gpu"
    NEVER = "never"
    NOTHING = "nothing"


STATES = {
    State.WORKS: "works here",
    State.DATA: "needs data",
    State.GPU: "needs a GPU or a server",
    State.NEVER: "not reproducible",
    State.NOTHING: "nothing to compute",
}


class _Table(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class OurResult(_Table):
    """A stored result that is compared with rows of a paper."""

    task: str
    result: str
    models: list[str]
    figures: list[str] = []


class AvailablePart(_Table):
    """The part of a grid whose rows and models are available."""

    tasks: list[str]
    models: list[str]


class PaperRow(_Table):
    """One table or figure of a paper; see the top of ``papers.toml``."""

    id: str
    title: str
    state: State
    why: str
    grid: str | None = None
    tasks: list[str] | None = None
    models: dict[str, str] = {}
    reported: str | None = None
    figures: list[str] = []
    analysis: list[str] = []
    check: str | None = None
    pairings: list[str] = []
    ours: list[OurResult] = []
    available: AvailablePart | None = None

    @property
    def benchmark(self) -> str:
        """Return the benchmark of the paper: dr, boss or df1."""
        return self.id.partition("/")[0]

    @property
    def name(self) -> str:
        """Return the name of the table or figure, such as 'Domain Robustness, Table 4'."""
        what = self.id.partition("/")[2]
        kind = "Table" if what.startswith("table") else "Figure"
        return f"{BENCHMARKS[self.benchmark]}, {kind} {what.removeprefix(kind.casefold())}"


class TaskSize(_Table):
    """A task's size as stated in a paper: training domains, and rows per split of each."""

    domains: int
    train: int
    validation: int
    test: int


class PaperFile(_Table):
    """The contents of ``papers.toml``."""

    names: dict[str, str]
    figures: dict[str, str]
    sizes: dict[str, TaskSize]
    rows: Annotated[list[PaperRow], pydantic.Field(min_length=1)]


class ComparedNumber(NamedTuple):
    """One number of a paper next to ours, as texts in points."""

    row: str
    figure: str
    paper: str
    ours: str
    result: str


@cache
def paper_file() -> PaperFile:
    """Read ``papers.toml``."""
    return PaperFile.model_validate(tomllib.loads((RESULTS / "papers.toml").read_text(encoding="utf-8")))


def find_row(name: str) -> PaperRow:
    """Find a table or figure by its id, such as 'dr/table5'; InvalidInput if there is none."""
    rows = {row.id: row for row in paper_file().rows}
    if name not in rows:
        cure = did_you_mean(name, list(rows))
        raise InvalidInput(Problem("none of the papers has this table or figure", "ROW", f"'{name}'", cure))
    return rows[name]


@cache
def reported_figures(file: str) -> tuple[Mapping[str, str], ...]:
    """Read the numbers printed in a paper.

    Args:
        file: name of a CSV file in ``reported``, here or of the boards.
    Returns: its rows, by column name, as text.
    Raises: InvalidInput if the file is missing, as in a wheel.
    """
    path = next((folder / file for folder in _REPORTED if (folder / file).is_file()), None)
    if path is None:
        cure = "clone the repository: wheels do not include them"
        raise InvalidInput(Problem("the paper's scores are not available", str(_REPORTED[-1] / file), cure=cure))
    with path.open(encoding="utf-8", newline="") as lines:
        return tuple(csv.DictReader(lines))


def compare_stored(row: PaperRow) -> Iterator[ComparedNumber]:
    """Yield the stored results of a row next to the paper's numbers."""
    for ours in row.ours:
        board, name = ours.result.split("/")
        scores = read_results(RESULTS / board)[name].scores["tasks"][0]
        yield from compare_with_paper(row, ours.task, ours.models, scores, ours.result, ours.figures)


def compare_with_paper(
    row: PaperRow, task: str, models: Sequence[str], scores: Mapping[str, Any], result: str, figures: Sequence[str] = ()
) -> Iterator[ComparedNumber]:
    """Compare the scores of one result with the numbers printed in a paper.

    Args:
        models: the paper's names of models, optionally with a setting: 'Turbo|ICL'.
        scores: a task's scores, from ``shiftbench score --json``.
        figures: scores to compare; default: the row's, or all that the paper prints for the task.
    Yields: a row for each score that the paper prints for any of the models and that our result contains.
    """
    printed = [each for each in reported_figures(row.reported or "") if each["task"] == task]
    names = list(figures or row.figures or dict.fromkeys(each["figure"] for each in printed))
    for name in names:
        values = [_printed(printed, model, name) for model in models]
        ours = _score_at(scores, name)
        if ours is None or all(value is None for value in values):
            continue
        form = "{:.1f}" if row.benchmark == "df1" else "{:.2f}"  # fractions in Depth F1, points elsewhere
        scale = 100 if row.benchmark == "df1" else 1
        paper = " / ".join("-" if value is None else form.format(scale * value) for value in values)
        shown = f"{_task_title(row, task)}, {' / '.join(model.replace('|', ', ') for model in models)}"
        yield ComparedNumber(shown, _figure_title(scores, name), paper, points(ours), result)


def _printed(printed: Sequence[Mapping[str, str]], model: str, figure: str) -> float | None:
    name, _, setting = model.partition("|")
    # Depth F1's F1 is a mean ST.
    wanted = "mean_st" if figure == "f1" else figure
    found = [
        each["score"]
        for each in printed
        if each["model"] == name and each["figure"] == wanted and setting in ("", each["setting"])
    ]
    return float(found[0]) if found and found[0] else None


def _score_at(scores: Mapping[str, Any], figure: str) -> Mapping[str, Any] | None:
    """Return our score by its name; None if the result does not contain it."""
    summary, parts = scores["summary"], scores.get("id_ood")
    domain = paper_file().names.get(figure)
    found: Mapping[str, Any] | None
    if domain is not None and parts is not None:
        found = parts["id"] if domain == parts["id_domain"] else parts["ood"].get(domain)
    elif figure.startswith("depth_f1_"):
        found = (summary.get("depth_f1") or {}).get(figure.removeprefix("depth_f1_"))
    else:
        found = summary.get("mean_st" if figure == "f1" else figure)
    return found


def _figure_title(scores: Mapping[str, Any], figure: str) -> str:
    file = paper_file()
    if figure in file.names:
        role = "ID" if file.names[figure] == scores["id_ood"]["id_domain"] else "OOD"
        return f"{figure} ({role})"
    return file.figures[figure]


def _task_title(row: PaperRow, task: str) -> str:
    if row.benchmark != "df1":
        return task.upper()
    kind, number = task.split("-")
    return f"{kind.capitalize()[:-1]}S-{number}"


def points(score: Mapping[str, Any]) -> str:
    """Format a score in points, with its interval if it has one."""
    interval = "no interval" if score["low"] is None else f"[{100 * score['low']:.1f}, {100 * score['high']:.1f}]"
    return f"{100 * score['value']:.1f} {interval}"


def state_rows() -> list[tuple[str, ...]]:
    """List all tables and figures: id, title, state, reason, grid."""
    head = ("row", "what", "state", "why", "grid or step")
    return [head, *((row.id, row.title, STATES[row.state], row.why, _step(row)) for row in paper_file().rows)]


def _step(row: PaperRow) -> str:
    parts = [row.grid or "", *(f"analyse {name}" for name in row.analysis), row.check or ""]
    return ", ".join(part for part in parts if part)


def state_counts() -> dict[State, int]:
    """Count the rows of each state."""
    return {state: sum(row.state is state for row in paper_file().rows) for state in State}


def paper_tables() -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Build the tables of the papers with stored results: a title, then rows of cells, the header first."""
    for row in paper_file().rows:
        if row.ours:
            yield row.name, [HEADER, *(each._replace(result=f"`{each.result}`") for each in compare_stored(row))]


def markdown(rows: Sequence[Sequence[str]], *, figures: Sequence[int] = (2, 3)) -> str:
    """Format a table as Markdown, with numeric columns right-aligned."""
    header, *body = rows
    lines = ["| " + " | ".join(cells) + " |" for cells in (header, *body)]
    rule = "|".join("---:" if place in figures else "---" for place in range(len(header)))
    return "\n".join([lines[0], f"|{rule}|", *lines[1:]])
