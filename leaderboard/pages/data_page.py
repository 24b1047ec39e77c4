"""The data page: a task's domains, their sizes, similarities and distances, and their sources."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from shiftbench.builders.folder.configs import config_name
from shiftbench.builders.folder.manifest import SourceFacts, TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.folder.statistics import TaskStatistics, read_statistics
from shiftbench.leaderboard.pages.addresses import DATA, address_of
from shiftbench.leaderboard.pages.entry_page import citation_years
from shiftbench.leaderboard.pages.shell import render
from shiftbench.leaderboard.pages.task_names import plain_task_name
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.frame.parts import MOST_COLOUR, Choice, Matrix, MatrixCell
from shiftbench.scoring.reports.frame.site import notices
from shiftbench.scoring.reports.numbers import MISSING
from shiftbench.scoring.reports.pictures.words import ARROW
from shiftbench.scoring.scores.examples import SampleRow, sample_rows
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean
from shiftbench.validation.vocabulary import PLACEBO


@dataclass(frozen=True)
class DataPage:
    """Content of ``templates/data.html``; matrices and statistics may be missing."""

    menu: Sequence[tuple[str, Sequence[Choice]]]
    notices: Markup
    folder: DatasetFolder
    info: TaskInfo
    statistics: TaskStatistics | None
    config: str
    samples: dict[str, tuple[SampleRow, ...]]
    divergence: Matrix | None
    q: Matrix | None

    @property
    def sources(self) -> list[tuple[SourceFacts, list[int], list[str]]]:
        """List the sources of the texts: the source, its publication years, and its files that match no record."""
        of_task = dict.fromkeys(source for facts in self.info.domains.values() for source in facts.sources)
        known = [self.folder.manifest.sources[each] for each in of_task]
        return [
            (each, citation_years(each.citation), [file.path for file in each.files if file.unverified])
            for each in known
        ]


def data_page(folders: Sequence[DatasetFolder], name: str) -> Markup:
    """Build the page of a task, ``benchmark/task`` (with ``@hash`` if there are several versions); default: the first.

    Raises: InvalidInput if there is no such task, suggesting the nearest name.
    """
    tasks = _tasks(folders)
    if not tasks:
        return render("no_data.html")
    # With several versions, board names always have a hash, but here the first version needs none.
    by_version = {f"{each.partition('@')[0]}@{folder.content_hash[:8]}": each for each, (folder, _) in tasks.items()}
    wanted = by_version.get(name, name) or next(iter(tasks))
    if wanted not in tasks:
        found, cure = f"'{wanted[:80]}'", did_you_mean(wanted[:80], list(tasks))
        raise InvalidInput(Problem("there is no such task", "data", found, cure))
    folder, task = tasks[wanted]
    place = folder.path.as_posix()
    statistics = _read_statistics(place, folder.content_hash, task)
    divergence = statistics.divergence if statistics and len(statistics.divergence) > 1 else {}
    apart = {(row, other): value for row, cells in divergence.items() for other, value in cells.items() if row != other}
    q = {(pair.source, pair.target): pair.q for pair in statistics.depths} if statistics else {}
    page = DataPage(
        menu=_menu(tasks, wanted),
        notices=notices([folder]),
        folder=folder,
        info=folder.manifest.tasks[task],
        statistics=statistics,
        config=config_name(task, folder.task(task)),
        samples=_samples(place, folder.content_hash, task),
        divergence=_matrix("Word divergence", "", apart) if apart else None,
        q=_matrix("Q for every pair", f"from {ARROW} to", q) if q else None,
    )
    return render("data.html", page=page, MISSING=MISSING)


def _tasks(folders: Sequence[DatasetFolder]) -> dict[str, tuple[DatasetFolder, str]]:
    tasks: dict[str, tuple[DatasetFolder, str]] = {}
    # A public and a gold folder of one version have the same hash.
    for folder in {folder.content_hash: folder for folder in folders}.values():
        for task in folder.manifest.tasks:
            name = f"{folder.manifest.benchmark}/{task}"
            tasks[name if name not in tasks else f"{name}@{folder.content_hash[:8]}"] = (folder, task)
    return tasks


def _menu(tasks: dict[str, tuple[DatasetFolder, str]], wanted: str) -> list[tuple[str, list[Choice]]]:
    """List the tasks by benchmark; placebos, which have the same texts as their task, only if selected."""

    def choice(name: str) -> Choice:
        folder, task = tasks[name]
        version = name.partition("@")[2]
        words = plain_task_name(task, folder.manifest.tasks[task].title) + (f" @{version}" if version else "")
        return Choice(words, address_of(DATA, task=name), name == wanted)

    offered = [name for name in tasks if name == wanted or not tasks[name][1].endswith(PLACEBO)]
    groups = groupby(offered, key=lambda name: tasks[name][0].manifest.title.partition(":")[0])
    return [(benchmark, [choice(name) for name in names]) for benchmark, names in groups]


def _matrix(caption: str, corner: str, cells: dict[tuple[str, str], float]) -> Matrix:
    """Build a matrix of values from 0 to 1, shaded by value."""
    rows, columns = (list(dict.fromkeys(pair[end] for pair in cells)) for end in (0, 1))
    columns = rows if set(columns) == set(rows) else columns

    def cell(row: str, column: str) -> MatrixCell:
        value = cells.get((row, column))
        if value is None:
            return MatrixCell("", "own")
        return MatrixCell(f"{value:.2f}", "much", round(MOST_COLOUR * value, 1), f"{row}, {column}: {value:.4f}")

    return Matrix(caption, corner, columns, [(row, [cell(row, column) for column in columns]) for row in rows])


@lru_cache(maxsize=64)
def _read_statistics(path: str, content_hash: str, task: str) -> TaskStatistics | None:
    """Read a task's statistics; None for placebos, which have none."""
    folder = DatasetFolder.open(path)
    return read_statistics(folder.path, task) if (folder.path / "statistics" / f"{task}.json").is_file() else None


@lru_cache(maxsize=64)
def _samples(path: str, content_hash: str, task: str) -> dict[str, tuple[SampleRow, ...]]:
    """Read three rows of each domain; cached, as data never changes."""
    folder = DatasetFolder.open(path)
    return {domain: sample_rows(folder, task, domain) for domain in folder.task(task).domains}
