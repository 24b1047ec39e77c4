"""The list of analyses: computing rows, drawing figures, writing files, and reporting what was drawn."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from shiftbench.scoring.papers.analysis.difficulty import draw_drops_by_difficulty, find_drops_by_difficulty
from shiftbench.scoring.papers.analysis.divergence import draw_divergence, find_divergence
from shiftbench.scoring.papers.analysis.effective import draw_effective, find_effective
from shiftbench.scoring.papers.analysis.entries import Draw, Findings, Result
from shiftbench.scoring.papers.analysis.forecasts import draw_forecasts, find_forecasts
from shiftbench.scoring.papers.analysis.grids import (
    draw_rank_stability,
    find_model_averages,
    find_rank_stability,
    find_theorem_one,
)
from shiftbench.scoring.papers.analysis.scaling import draw_over, find_over
from shiftbench.scoring.papers.analysis.scenarios import draw_scenarios, find_scenarios
from shiftbench.scoring.papers.analysis.states import draw_states, find_states
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.validation.csv_export import guarded_csv
from shiftbench.validation.report import InvalidInput, Problem, UnknownChoice, did_you_mean


@dataclass(frozen=True)
class PaperFigure:
    """An analysis that users can request by name.

    Attributes:
        name: its name, also the stem of its files.
        paper: its figure or table in the papers; ``""`` if it is in neither.
        find: the function that computes its rows.
        draw: the function that draws them, with notes below; None for a table without a figure.
    """

    name: str
    paper: str
    find: Callable[[Sequence[Result]], Findings]
    draw: Draw | None


def _figure_over(name: str, paper: str, key: str, title: str, prompted: bool | None = None) -> PaperFigure:
    return PaperFigure(name, paper, partial(find_over, key=key, prompted=prompted), partial(draw_over, title=title))


FIGURES = (
    PaperFigure("drops-by-difficulty", "DR Figure 2", find_drops_by_difficulty, draw_drops_by_difficulty),
    PaperFigure("scenarios", "DR Figure 3", find_scenarios, draw_scenarios),
    _figure_over(
        "model-size", "DR Figures 4, 5", "parameters", "Scores and drops over model size, trained models", False
    ),
    _figure_over("shots", "DR Figures 6, 7", "shots", "Scores and drops over the number of demonstrations"),
    _figure_over(
        "prompted-model-size",
        "DR Figures 8, 9",
        "parameters",
        "Scores and drops over model size, prompted models",
        True,
    ),
    _figure_over(
        "training-size", "DR Figures 10, 11", "training_size", "Scores and drops over the size of the training set"
    ),
    _figure_over("step", "DR Figure 12", "step", "Scores and drops over training steps"),
    PaperFigure("id-ood", "BOSS Figures 2-4", find_states, draw_states),
    PaperFigure("effective-robustness", "", find_effective, draw_effective),
    PaperFigure("divergence", "DR Table 8", find_divergence, draw_divergence),
    PaperFigure("forecast", "", find_forecasts, draw_forecasts),
    PaperFigure("theorem-one", "DR Theorem 1", find_theorem_one, None),
    PaperFigure("rank-stability", "", find_rank_stability, draw_rank_stability),
    PaperFigure("model-averages", "DR Tables 6, 8", find_model_averages, None),
)


@dataclass(frozen=True)
class Analysis:
    """The rows of one analysis. Without rows nothing is drawn, and ``findings.left_out`` lists the reasons."""

    figure: PaperFigure
    findings: Findings

    @property
    def drawn(self) -> bool:
        """Return whether there is any row to draw."""
        return not self.findings.rows.is_empty()

    def files(self, out: Path) -> list[Path]:
        """List the files that ``write`` creates."""
        kinds = [".csv", ".png"] if self.figure.draw else [".csv"]
        return [out / f"{self.figure.name}{kind}" for kind in kinds] if self.drawn else []


def figures_of(names: Sequence[str]) -> list[PaperFigure]:
    """Find figures by name.

    Args:
        names: names of the figures; empty for all.

    Returns: the figures in the requested order, without repetitions.

    Raises: InvalidInput for each unknown name, with the nearest one.
    """
    known = {figure.name: figure for figure in FIGURES}
    problems = [
        Problem("there is no such figure", "--figure", f"'{name}'", did_you_mean(name, list(known)))
        for name in names
        if name not in known
    ]
    if problems:
        raise UnknownChoice(problems)
    return [known[name] for name in dict.fromkeys(names)] or list(FIGURES)


def analyse(results: Sequence[Result], names: Sequence[str] = ()) -> list[Analysis]:
    """Compute the rows of figures.

    Args:
        results: of entries on any boards.
        names: the required figures; empty for all figures that the results allow.

    Returns: one analysis per figure.

    Raises: InvalidInput for an unknown name, or if a requested figure cannot be drawn.
    """
    analyses = [Analysis(figure, figure.find(results)) for figure in figures_of(names)]
    empty = [analysis for analysis in analyses if not analysis.drawn]
    if names and empty:
        what, cure = "this figure cannot be drawn from these entries", "give other entries, or omit this figure"
        raise InvalidInput(
            Problem(what, "--figure", f"'{each.figure.name}': {'; '.join(each.findings.left_out)}", cure)
            for each in empty
        )
    return analyses


def write(analysis: Analysis, out: Path, notes: Sequence[str]) -> None:
    """Write an analysis as CSV (fractions), and as a figure (points) if it has one.

    Args:
        analysis: the rows and how to draw them; without rows nothing is written.
        out: an existing folder.
        notes: lines below the figure.
    """
    rows = analysis.findings.rows
    for path in analysis.files(out):
        if path.suffix == ".csv":
            path.write_text(guarded_csv(rows.columns, rows.rows()), encoding="utf-8", newline="")
        else:
            assert analysis.figure.draw is not None
            path.write_bytes(analysis.figure.draw(rows, notes))


def analysis_lines(analyses: Sequence[Analysis], out: Path, notes: Sequence[str]) -> Iterator[RenderableType]:
    """List a table of the figures drawn, what each omits, and what could not be drawn.

    Args:
        analyses: the analyses.
        out: the folder that they were written to.
        notes: remarks that apply to all of them.
    """
    drawn = [each for each in analyses if each.drawn]
    if not drawn:
        yield "Nothing could be drawn from these entries; the reasons follow."
    if drawn:
        rows = [
            [each.figure.name, each.figure.paper or "-", f"{each.findings.rows.height:,}",
             " ".join(path.suffix[1:] for path in each.files(out))]
            for each in drawn
        ]  # fmt: skip
        columns = ("figure", "paper", "rows", "files")
        yield PlainTable(f"Figures written to {out}", columns, rows, texts=("paper", "files"))
    for each in drawn:
        yield from (f"{each.figure.name} excludes: {line}" for line in each.findings.left_out)
    for each in analyses:
        if not each.drawn:
            yield from (f"{each.figure.name} not drawn: {line}" for line in each.findings.left_out)
    yield from (Text(note, style="yellow") for note in notes)


def as_json(analyses: Sequence[Analysis], n_entries: int, out: Path, notes: Sequence[str]) -> dict[str, Any]:
    """Return analyses as plain JSON data.

    Args:
        analyses: the analyses.
        n_entries: number of entries analysed.
        out: the folder that they were written to.
        notes: remarks that apply to all of them.
    """
    return {
        "entries": n_entries,
        "figures": [
            {
                "name": each.figure.name,
                "drawn": each.drawn,
                "rows": each.findings.rows.height,
                "files": [str(path) for path in each.files(out)],
                "left_out": list(each.findings.left_out),
            }
            for each in analyses
        ],
        "notes": list(notes),
    }
