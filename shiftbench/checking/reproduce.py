"""Reproducing a table or figure of a paper: the steps, their cost, and our numbers next to the paper's."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiftbench.baselines.results.papers import (
    HEADER,
    RESULTS,
    STATES,
    ComparedNumber,
    PaperRow,
    State,
    compare_stored,
    compare_with_paper,
    paper_file,
    reported_figures,
)
from shiftbench.validation.report import InvalidInput, Problem, plural

if TYPE_CHECKING:
    from typer.core import TyperGroup

    from shiftbench.baselines.grid.trial import Trial

FEWSHOT_DOMAINS, FEWSHOT_ROWS = 3, 600
"""The papers' test set for language models: DR's three domains with 200 rows each (App. D.3)."""


def grid_file(row: PaperRow) -> Path:
    """Return the path of the grid that computes a table or figure.

    Raises: InvalidInput if it is missing, as in a wheel.
    """
    file = RESULTS / "grids" / (row.grid or "")
    if not file.is_file():
        cure = "clone the repository: wheels do not include them"
        raise InvalidInput(Problem("the papers' grids are not installed", str(file.parent), cure=cure))
    return file


def refuse_uncomputable(row: PaperRow) -> None:
    """Raise InvalidInput for a table or figure that cannot be computed at all."""
    if row.state in (State.NEVER, State.NOTHING):
        raise InvalidInput(Problem(f"{row.name}: {STATES[row.state]}", row.id, row.why))


def steps_of(row: PaperRow, data: Path, out: Path) -> list[str]:
    """List the commands that reproduce a table or figure, in order; empty if there is nothing to compute.

    Args:
        row: the table or figure.
        data: the dataset folder, for the commands.
        out: the folder for results, for the commands.
    """
    if row.state in (State.NEVER, State.NOTHING) or row.check in ("toy", "protocol"):
        return []
    encoder = "" if row.benchmark == "df1" or "divergence" in row.analysis else " --encoder none"
    steps = [f"shiftbench build {row.benchmark} --raw RAW --out {data}{encoder}"]
    if row.grid:
        tasks = "".join(f" --task {task}" for task in row.tasks or ())
        steps.append(f"shiftbench grid baselines/results/grids/{row.grid}{tasks} --out {out}")
    if row.analysis:
        figures = "".join(f" --figure {name}" for name in row.analysis)
        steps.append(f"shiftbench study analyse {out}/*/*.parquet --data {data}{figures} --out {out / 'figures'}")
    elif row.benchmark == "boss" and "candidates" in row.title:
        steps.append(f"shiftbench study protocol TASK --data {data}")
    return steps


def planned(row: PaperRow, programs: "TyperGroup", data: Path) -> "tuple[list[Trial], Callable[[Trial], Any]]":
    """Return the trials that a table or figure needs, and a function that counts the data rows of a trial.

    Rows are counted in the dataset if it is built, otherwise taken from the paper's sizes.

    Args:
        row: the table or figure, a row of ``papers.toml``.
        programs: the command whose sub-commands are the programs.
        data: the dataset folder, which may not exist.
    """
    from shiftbench.baselines.grid.estimate import TrialRows, rows_of
    from shiftbench.baselines.grid.plan import available_tasks, read_plan, read_without_data
    from shiftbench.builders.folder.reader import DatasetFolder

    if (data / "shiftbench.json").is_file():
        folder = DatasetFolder.open(data)
        tasks = [task for task in available_tasks(grid_file(row), folder) if row.tasks is None or task in row.tasks]
        trials = list(read_plan(grid_file(row), programs, tasks, data=data).trials)
        return _of_row(row, trials), lambda trial: rows_of(trial, folder)
    sizes = {task: size for task, size in paper_file().sizes.items() if task.startswith(f"{row.benchmark}/")}
    # Placeholder names: only the number of domains matters for the cost.
    sources = {name.partition("/")[2]: [f"d{k}" for k in range(size.domains)] for name, size in sizes.items()}
    trials = _of_row(row, read_without_data(grid_file(row), programs, sources, row.tasks))
    if row.benchmark == "dr":  # language models are tested on the subset of three domains
        first = {f"d{k}" for k in range(FEWSHOT_DOMAINS)} | {"none"}
        trials = [trial for trial in trials if trial.program != "prompt-llm" or trial.source in first]

    def rows(trial: "Trial") -> TrialRows:
        size = sizes[f"{row.benchmark}/{trial.task}"]
        if trial.program == "prompt-llm" and row.benchmark == "dr":
            return TrialRows(size.train, size.validation, FEWSHOT_ROWS, 3)
        n_tests = 1 if row.benchmark != "dr" else size.domains
        return TrialRows(size.train, size.validation, size.test * n_tests, 3)

    return trials, rows


def _of_row(row: PaperRow, trials: "Sequence[Trial]") -> "list[Trial]":
    return [trial for trial in trials if not row.models or trial.model in row.models]


def run_row(row: PaperRow, programs: "TyperGroup", data: Path, out: Path) -> Iterator[ComparedNumber]:
    """Reproduce a table or figure, and yield our values with the paper's.

    If only a part of a grid is available, that part is run; finished trials are not repeated.

    Args:
        row: a table or figure that can be computed.
        programs: the command whose sub-commands are the programs.
        data: the dataset folder.
        out: a folder for the grid's results.
    Raises: InvalidInput if the dataset is missing, or a trial fails.
    """
    if row.check is not None:
        computed = list(_CHECKS[row.check](row, data))
        if not computed:
            cure = f"build them: {steps_of(row, data, out)[0]}"
            raise InvalidInput(Problem("the folder contains none of the tasks needed", str(data), cure=cure))
        yield from computed
        return
    from shiftbench.baselines.grid.plan import available_tasks, read_plan
    from shiftbench.baselines.grid.progress import run_grid
    from shiftbench.baselines.grid.trial import run_local
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.scoring.scores.score import score_file

    folder = DatasetFolder.open(data)
    part = row.available if row.state is State.WORKS else None
    wanted = part.tasks if part else row.tasks
    tasks = [task for task in available_tasks(grid_file(row), folder) if wanted is None or task in wanted]
    if not tasks:
        found, cure = ", ".join(folder.manifest.tasks), f"build them: {steps_of(row, data, out)[0]}"
        raise InvalidInput(Problem("the folder contains none of the tasks needed", str(data), found, cure))
    trials = _of_row(row, read_plan(grid_file(row), programs, tasks, data=data).trials)
    trials = [trial for trial in trials if part is None or trial.model in part.models]
    run_grid(trials, out, lambda waiting, runs: run_local(waiting, folder.path, runs, slots=1, threads=1))
    for task, model in dict.fromkeys((trial.task, trial.model) for trial in trials):
        (scores,) = score_file(out / task / f"{model}.parquet", folder).tasks[:1]
        if row.reported and model in row.models:
            dumped = scores.model_dump(mode="json")
            yield from compare_with_paper(row, task, [row.models[model]], dumped, f"{task}/{model}")


def _toy(row: PaperRow, data: Path) -> Iterator[ComparedNumber]:
    """Compute drops and scenarios of DR's toy example from its scores."""
    from shiftbench.metrics.robustness import scenario

    for each in reported_figures(row.reported or ""):
        if each["source"] == each["target"]:
            continue
        st, ss, tt = (float(each[name]) for name in ("st", "ss", "tt"))
        found = {"idd": ss - tt, "sd": ss - st, "td": tt - st}
        (name,) = scenario([found["sd"]], [found["td"]])
        shift = f"{each['source']} to {each['target']}"
        for figure, value in found.items():
            yield ComparedNumber(shift, figure.upper(), each[figure], f"{value:g}", row.id)
        yield ComparedNumber(shift, "scenario", each["scenario"], name, row.id)


def _protocol(row: PaperRow, data: Path) -> Iterator[ComparedNumber]:
    """Choose the data sets of BOSS by its protocol, from the similarities and scores printed in the paper."""
    from shiftbench.scoring.papers.protocol.run import choose_reported

    suite = reported_figures(row.reported or "")
    for task in dict.fromkeys(each["task"] for each in suite):
        choice = choose_reported(task.lower(), 3)
        for role, ours in (("ID", [choice.id or "none"]), ("OOD", sorted(choice.ood or ()))):
            paper = sorted(each["dataset"] for each in suite if (each["task"], each["role"]) == (task, role))
            yield ComparedNumber(task, role, ", ".join(paper), ", ".join(ours), row.id)


def _similarity(row: PaperRow, data: Path) -> Iterator[ComparedNumber]:
    """Compare the similarity (Q) of a pairing's target and source with the paper's, if the dataset contains depths.

    The paper's values agree with the formula of its code at 500 and 1,000 texts; equation 8 gives another number.
    """
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.builders.folder.statistics import Q_SOURCE_TEXTS, Q_TARGET_TEXTS, read_statistics
    from shiftbench.metrics.depth import pooled_q

    folder = DatasetFolder.open(data)
    for each in reported_figures(row.reported or ""):
        task = each["pairing"].lower()
        if task not in folder.manifest.tasks:
            continue
        source = folder.task(task).joined_source
        for pair in (pair for pair in read_statistics(folder.path, task).depths if pair.source == source):
            ours = pooled_q(pair.q, Q_SOURCE_TEXTS, Q_TARGET_TEXTS)
            yield ComparedNumber(each["pairing"], "Q, by the paper's code", each["q"], f"{ours:.2f}", row.id)
            yield ComparedNumber(each["pairing"], "Q, equation 8", "not printed", f"{pair.q:.2f}", row.id)


def _depths(row: PaperRow, data: Path) -> Iterator[ComparedNumber]:
    """Summarise the depths of source and target texts; the paper only has a plot of them."""
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.builders.folder.statistics import read_statistics

    folder = DatasetFolder.open(data)
    for task in row.pairings:
        if task in folder.manifest.tasks:
            for pair in read_statistics(folder.path, task).depths:
                table = folder.depth(task, pair.source, pair.target)
                is_test = table["id"].str.contains("/test/", literal=True)
                for name, rows in (("source", table.filter(~is_test)), ("target", table.filter(is_test))):
                    low, middle, high = (rows["depth"].quantile(q) or 0.0 for q in (0.05, 0.5, 0.95))
                    found = f"{middle:.3f} ({low:.3f} to {high:.3f})"
                    yield ComparedNumber(
                        task, f"depth of {plural(len(rows), f'{name} text')}", "only a plot", found, row.id
                    )


_CHECKS: dict[str, Callable[[PaperRow, Path], Iterator[ComparedNumber]]] = {
    "toy": _toy, "protocol": _protocol, "q": _similarity, "depths": _depths,
}  # fmt: skip


def table_of(rows: Sequence[ComparedNumber]) -> list[Sequence[str]]:
    """Return the comparison as rows of cells, the header first."""
    return [HEADER, *rows]


def stored_comparison(row: PaperRow) -> list[ComparedNumber]:
    """Return our stored results with the paper's values; empty in a wheel, which does not include the results."""
    return list(compare_stored(row)) if (RESULTS / "grids").is_dir() else []
