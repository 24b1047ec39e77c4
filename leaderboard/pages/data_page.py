"""The data page: what a task's domains are, how large, how alike, how far apart, and where they come from."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby

import polars as pl

from shiftbench.builders.folder.configs import config_name
from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.folder.statistics import TaskStatistics, read_statistics
from shiftbench.leaderboard.pages.addresses import data_address
from shiftbench.leaderboard.pages.entry_page import citation_years
from shiftbench.leaderboard.pages.shell import render
from shiftbench.leaderboard.pages.task_names import plain_task_name
from shiftbench.scoring.reports.cells import choices, fact_list, scroll_box
from shiftbench.scoring.reports.frame.html import Markup, join, link, tag
from shiftbench.scoring.reports.frame.notices import notices
from shiftbench.scoring.reports.frame.site import box
from shiftbench.scoring.reports.numbers import MISSING, count, metric_name, points, share
from shiftbench.scoring.reports.pictures.colours import cell_colours
from shiftbench.scoring.reports.pictures.heatmap import matrix
from shiftbench.scoring.reports.pictures.rows import QUANTILES, depth_boxes
from shiftbench.scoring.reports.pictures.words import ARROW
from shiftbench.scoring.scores.examples import SampleRow, sample_rows
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

_SPLITS = ("train", "validation", "test")
_MEDIAN = 3
"""Place of the median among the seven quantiles of lengths."""


def data_page(folders: Sequence[DatasetFolder], name: str) -> Markup:
    """Build the page of a task, ``benchmark/task`` (with ``@hash`` where versions differ); the first task without.

    Raises: InvalidInput when there is no such task, proposing the nearest name.
    """
    tasks = _tasks(folders)
    if not tasks:
        return box("No data", "Start the server with a dataset folder: shiftbench serve --data DIR --store DIR")
    wanted = name or next(iter(tasks))
    if wanted not in tasks:
        found, cure = f"'{wanted[:80]}'", did_you_mean(wanted[:80], list(tasks))
        raise InvalidInput(Problem("there is no such task", "data", found, cure))
    folder, task = tasks[wanted]
    return join([_menu(tasks, wanted), notices([folder]), _task(folder, task)])


def _tasks(folders: Sequence[DatasetFolder]) -> dict[str, tuple[DatasetFolder, str]]:
    tasks: dict[str, tuple[DatasetFolder, str]] = {}
    # A public and a gold folder of one version have one hash.
    for folder in {folder.content_hash: folder for folder in folders}.values():
        for task in folder.manifest.tasks:
            name = f"{folder.manifest.benchmark}/{task}"
            tasks[name if name not in tasks else f"{name}@{folder.content_hash[:8]}"] = (folder, task)
    return tasks


def _menu(tasks: dict[str, tuple[DatasetFolder, str]], wanted: str) -> Markup:
    def link_to(name: str) -> Markup:
        current = "page" if name == wanted else None
        folder, task = tasks[name]
        version = name.partition("@")[2]
        words = plain_task_name(task, folder.manifest.tasks[task].title) + (f" @{version}" if version else "")
        return tag("a", words, href=data_address(name), aria_current=current)

    groups = groupby(tasks, key=lambda name: tasks[name][0].manifest.title.partition(":")[0])
    return choices("Tasks", [(benchmark, [link_to(name) for name in names]) for benchmark, names in groups])


def _task(folder: DatasetFolder, task: str) -> Markup:
    info, manifest = folder.manifest.tasks[task], folder.manifest
    facts: list[tuple[str, str | Markup]] = [
        ("Kind", info.kind.value.replace("_", " ")),
        ("Metric", metric_name(info.metric)),
        ("Labels", ", ".join(info.labels) or MISSING),
        ("Test labels", "public" if folder.has_public_labels else "withheld"),
        ("Data version", tag("code", folder.content_hash)),
        ("Settings", tag("code", folder.version.settings or MISSING)),
        (
            "Encoder of depths",
            f"{manifest.encoder.id} ({manifest.encoder.revision[:12]})" if manifest.encoder else "none here",
        ),
    ]
    marks = ["partial"] * manifest.partial + ["some match no record"] * manifest.unverified
    if marks:
        facts.append(("Upstream files", ", ".join(marks)))
    statistics = _read_statistics(folder.path.as_posix(), folder.content_hash, task)
    return render(
        "data.html",
        title=f"{manifest.title}: {info.title}",
        facts=fact_list(facts, "sb-facts"),
        domains=_domains(info, statistics),
        absent=[*info.absent_domains, *info.withheld],
        divergence=_divergence(statistics) if statistics and len(statistics.divergence) > 1 else None,
        q=_q_matrix(statistics) if statistics and statistics.depths else None,
        depths=_depths(folder, task) if folder.has_depth else None,
        sources=_sources(folder, info),
        samples=samples_part(folder, task),
        loading=loading_part(folder, task),
    )


def _domains(info: TaskInfo, statistics: TaskStatistics | None) -> Markup:
    agreed = {domain: facts.annotators for domain, facts in (statistics.domains if statistics else {}).items()}
    has_votes = any(agreed.values())
    names = (
        "Domain",
        *(f"{split.capitalize()} rows" for split in _SPLITS),
        "Test groups",
        "Median words",
        "Vocabulary",
        "Unseen words",
        *(("Single annotators",) if has_votes else ()),
    )
    titles = {
        "Test groups": "what test texts share so that they are not independent",
        "Median words": "of a test input",
        "Vocabulary": "distinct words of the train texts",
        "Unseen words": "share of the test texts' words that no train text of the domain has",
        "Single annotators": "accuracy of one annotator against the majority of the others (against the gold label)",
    }
    head = [
        tag("th", name, scope="col", title=titles.get(name), class_=None if name == "Domain" else "sb-num")
        for name in names
    ]
    rows = []
    for domain, facts in info.domains.items():
        known = statistics.domains.get(domain) if statistics else None
        test = facts.splits.get("test")
        lengths = known.splits["test"].input_words.quantiles if known and "test" in known.splits else None
        cells = [
            *(count(facts.splits[split].rows if split in facts.splits else None) for split in _SPLITS),
            count(test.groups if test else None),
            f"{lengths[_MEDIAN]:.0f}" if lengths else MISSING,
            count(known.vocabulary if known else None),
            share(known.unseen_test_share if known else None),
        ]
        if has_votes:
            votes = agreed.get(domain)
            both = [points(each["accuracy"]) for each in (votes.others, votes.gold)] if votes else []
            cells.append(f"{both[0]} ({both[1]})" if both else MISSING)
        note = [
            tag("span", "not distributed: its licence does not allow it; the build downloads it", class_="sb-note")
        ] * facts.rebuild_only
        first = tag("th", domain, *note, scope="row")
        rows.append(tag("tr", first, *(tag("td", cell, class_="sb-num") for cell in cells)))
    table = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *rows), class_="sb-table")
    return scroll_box(table, "Domains")


def _divergence(statistics: TaskStatistics) -> Markup:
    names = list(statistics.divergence)
    cells = {
        (row, column): value
        for row, columns in statistics.divergence.items()
        for column, value in columns.items()
        if row != column
    }
    return _shaded(names, names, cells, "Divergence of words")


def _q_matrix(statistics: TaskStatistics) -> Markup:
    cells = {(pair.source, pair.target): pair.q for pair in statistics.depths}
    sources = list(dict.fromkeys(pair.source for pair in statistics.depths))
    targets = list(dict.fromkeys(pair.target for pair in statistics.depths))
    return _shaded(sources, targets, cells, "Q of every pair", f"from {ARROW} to")


def _shaded(
    rows: Sequence[str], columns: Sequence[str], cells: dict[tuple[str, str], float], name: str, corner: str = ""
) -> Markup:
    def cell(row: str, column: str) -> Markup:
        value = cells.get((row, column))
        if value is None:
            return tag("td", "", class_="sb-own")
        fill, ink = cell_colours(value, 0.0, 1.0, "ST")
        return tag("td", f"{value:.2f}", title=f"{row}, {column}: {value:.4f}", style=f"background:{fill};color:{ink}")

    return matrix(rows, columns, name, cell, corner)


def _depths(folder: DatasetFolder, task: str) -> Markup:
    quantiles = _quantiles(folder.path.as_posix(), folder.content_hash, task)
    every = [value for targets in quantiles.values() for values in targets.values() for value in values]
    return join(
        tag(
            "figure",
            tag("figcaption", tag("h3", source)),
            depth_boxes(source, targets, (min(every), max(every))),
            class_="sb-figure",
        )
        for source, targets in quantiles.items()
    )


@lru_cache(maxsize=64)
def _quantiles(path: str, content_hash: str, task: str) -> dict[str, dict[str, list[float]]]:
    """Compute quantiles of the depths of each target's test texts, by source and target; data never changes."""
    folder = DatasetFolder.open(path)
    pairs = folder.manifest.tasks[task].depth_pairs
    quantiles: dict[str, dict[str, list[float]]] = {}
    for source, target in pairs:
        ids = f"{folder.manifest.benchmark}/{task}/{target}/test/"
        depths = folder.depth(task, source, target).filter(pl.col("id").str.starts_with(ids))["depth"]
        if len(depths):
            quantiles.setdefault(source, {})[target] = [
                float(depths.quantile(part, "linear") or 0) for part in QUANTILES
            ]
    return quantiles


@lru_cache(maxsize=64)
def _read_statistics(path: str, content_hash: str, task: str) -> TaskStatistics | None:
    """Read a task's statistics; placebos have none."""
    folder = DatasetFolder.open(path)
    return read_statistics(folder.path, task) if (folder.path / "statistics" / f"{task}.json").is_file() else None


def _sources(folder: DatasetFolder, info: TaskInfo) -> Markup:
    names = dict.fromkeys(source for facts in info.domains.values() for source in facts.sources)
    items = []
    for name in names:
        source = folder.manifest.sources[name]
        years = citation_years(source.citation)
        since = f"public since {min(years)}" if years else "year unknown"
        words = f", revision {source.revision}, licence: {source.licence}, {since}"
        unmatched = [file.path for file in source.files if file.unverified]
        note = f"these match no record, so they may be incomplete: {', '.join(unmatched)}"
        notes = [tag("span", note, class_="sb-note")] if unmatched else []
        items.append(tag("li", link(source.url, source.title), words, *notes))
    return tag("ul", *items)


def samples_part(folder: DatasetFolder, task: str) -> Markup:
    """Build three rows of each domain, folded; of domains whose licence does not allow that, a sentence."""
    samples = _samples(folder.path.as_posix(), folder.content_hash, task)
    return join(_domain(domain, rows) for domain, rows in samples.items())


def loading_part(folder: DatasetFolder, task: str) -> Markup:
    """Build the lines of Python that load a task: all domains, and one."""
    config = config_name(task, folder.task(task))
    domain = next(iter(folder.task(task).domains), None)
    one = f'\nload_dataset(DATA, "{config}.{domain}")  # one domain' if domain else ""
    code = (
        "from datasets import load_dataset\n\n"
        f'load_dataset(DATA, "{config}")  # DATA: the dataset on the Hub, or its folder{one}\n'
    )
    button = tag("button", "Copy", type="button", data_copy="copy-loading")
    return join([tag("pre", code, id="copy-loading", tabindex="0", class_="sb-code"), button])


@lru_cache(maxsize=64)
def _samples(path: str, content_hash: str, task: str) -> dict[str, tuple[SampleRow, ...]]:
    """Read the rows once; data never changes."""
    folder = DatasetFolder.open(path)
    return {domain: sample_rows(folder, task, domain) for domain in folder.task(task).domains}


def _domain(domain: str, rows: tuple[SampleRow, ...]) -> Markup:
    if not rows:
        return tag("p", f"{domain}: the licence of its texts does not allow showing them.", class_="sb-soft")
    items = [tag("li", _row(row)) for row in rows]
    return tag("details", tag("summary", domain), tag("ol", *items, class_="sb-examples"))


def _row(row: SampleRow) -> Markup:
    many = len(row.texts) > 1
    texts = [tag("p", *([tag("b", f"{name.replace('_', ' ')}: ")] if many else []), text) for name, text in row.texts]
    gold = [tag("p", "correct: ", tag("b", row.gold))] if row.gold else []
    return join([*texts, *gold, tag("span", row.id, class_="sb-mono sb-soft")])
