"""What a build prints: sizes, rows that left and why, and whether the paper's assumptions hold."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from shiftbench.builders.folder.manifest import Manifest, TaskInfo
from shiftbench.builders.folder.paper_sizes import paper_sizes
from shiftbench.builders.folder.statistics import read_statistics
from shiftbench.builders.statistics.assumptions import check_assumptions, print_assumptions
from shiftbench.builders.writing.dataset_card import OVERLAP_COLUMNS, OVERLAP_TITLE, overlap_cells, pairing_lines
from shiftbench.validation.vocabulary import PLACEBO, SPLITS

_WORDS = ("data set", "domain", "split", "step", "why", "rows of", "also in")
"""Columns that hold words; the others hold numbers."""


def print_build(out: Path, manifest: Manifest, without_files: Sequence[str], console: Console) -> None:
    """Print what a build wrote, what it left out, what happened to the rows, and what is assumed of them.

    Args:
        out: the dataset folder.
        manifest: what was written.
        without_files: tasks left out because none of their files is there.
        console: where to.
    """
    for name, task in manifest.tasks.items():
        if name.endswith(PLACEBO):
            continue
        for line in task.notes if manifest.benchmark == "own" else ():
            _print_line(console, f"note: {line}")
        _print_sizes(name, task, console)
        _print_paper_sizes(manifest, name, console)
        if overlaps := overlap_cells(task):
            _print_table(console, OVERLAP_TITLE.lower(), OVERLAP_COLUMNS, overlaps)
        _print_steps(task, console)
        statistics = read_statistics(out, name)
        for line in pairing_lines(task, statistics):
            _print_line(console, line)
        equal = any(size.rows is not None for size in task.sizes.values())
        assumptions = check_assumptions(statistics, equal=equal, as_upstream=task.has_one_source)
        print_assumptions(assumptions, console)
    rows = sum(
        facts.rows
        for task in manifest.tasks.values()
        for domain in task.domains.values()
        for facts in domain.splits.values()
    )
    marks = (", partial" if manifest.partial else "") + (", unverified" if manifest.unverified else "")
    _print_line(console, f"wrote {out}: {rows:,} rows, content {manifest.content_hash[:12]}{marks}")
    if manifest.unverified:
        _print_line(console, f"unverified, so perhaps incomplete: {', '.join(manifest.unverified_files)}")
    real = {name: task for name, task in manifest.tasks.items() if not name.endswith(PLACEBO)}
    absent = [f"{name}.{domain}" for name, task in real.items() for domain in task.absent_domains]
    if absent:
        _print_line(console, f"domains left out, without files or without rows: {', '.join(absent)}")
    if without_files:
        _print_line(console, f"tasks left out, without files: {', '.join(without_files)}")
    for split in SPLITS:
        lack = [
            f"{name}.{domain}"
            for name, task in real.items()
            if not task.has_one_source
            for domain, facts in task.domains.items()
            if split not in facts.splits
        ]
        if lack:
            _print_line(console, f"domains without {split} rows of some class: {', '.join(lack)}")


def _print_sizes(name: str, task: TaskInfo, console: Console) -> None:
    rows = []
    for domain, facts in task.domains.items():
        cells = [f"{facts.splits[split].rows:,}" if split in facts.splits else "none" for split in SPLITS]
        rows.append((domain, *cells))
    _print_table(console, f"{name}: {task.title}", ("domain", *SPLITS), rows)
    for shortfall in filter(None, (size.shortfall(split) for split, size in task.sizes.items())):
        _print_line(console, shortfall)


def _print_paper_sizes(manifest: Manifest, name: str, console: Console) -> None:
    """Print the splits that have other sizes than in the paper's tables."""
    different = [size for size in paper_sizes(manifest, name) if size.rows != size.paper]
    if not different:
        return
    title = "rows here and in the paper's tables, where they differ"
    rows = [(size.domain, size.split, f"{size.rows:,}", f"{size.paper:,}", size.why) for size in different]
    _print_table(console, title, ("data set", "split", "here", "paper", "why"), rows)


def _print_steps(task: TaskInfo, console: Console) -> None:
    """Print the steps that dropped or changed rows, over all domains."""
    totals: dict[tuple[str, str], list[int]] = {}
    for count in task.transforms:
        total = totals.setdefault((count.name, count.split), [0, 0, 0])
        for place, value in enumerate((count.before, count.after, count.changed)):
            total[place] += value
    effective = {key: total for key, total in totals.items() if total[0] != total[1] or total[2]}
    if not effective:
        return
    title = "rows dropped or changed by each step, all domains together"
    rows = [
        (name, split, f"{before:,}", f"{before - after:,}", f"{after:,}", f"{changed:,}" if changed else "")
        for (name, split), (before, after, changed) in effective.items()
    ]
    _print_table(console, title, ("step", "split", "before", "dropped", "after", "changed"), rows)


def _print_table(console: Console, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table below its title; columns of words stand left, those of numbers right."""
    _print_line(console, title)
    table = Table()
    for column in columns:
        table.add_column(column, justify="left" if column in _WORDS else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _print_line(console: Console, line: str) -> None:
    console.print(line, soft_wrap=True, highlight=False, markup=False)
