"""Output of a build: sizes, dropped rows with reasons, and checks of the paper's assumptions."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table

from shiftbench.builders.folder.manifest import Manifest, TaskInfo
from shiftbench.builders.folder.paper_sizes import paper_sizes
from shiftbench.builders.folder.statistics import read_statistics
from shiftbench.builders.statistics.assumptions import assumption_lines, check_assumptions
from shiftbench.builders.writing.task_section import OVERLAP_COLUMNS, OVERLAP_TITLE, overlap_cells, pairing_lines
from shiftbench.validation.vocabulary import PLACEBO, SPLITS

_WORDS = ("data set", "domain", "split", "step", "why", "rows of", "also in")
"""Text columns; the others are numeric."""


def build_lines(out: Path, manifest: Manifest, without_files: Sequence[str]) -> Iterator[RenderableType]:
    """List the tasks written and omitted, the effect of each step on the rows, and checks of assumptions.

    Args:
        out: the dataset folder.
        manifest: the manifest written.
        without_files: tasks omitted because none of their files is present.
    """
    for name, task in manifest.tasks.items():
        if name.endswith(PLACEBO):
            continue
        if manifest.benchmark == "own":
            yield from (f"note: {line}" for line in task.notes)
        yield from _sizes(name, task)
        yield from _paper_sizes(manifest, name)
        if overlaps := overlap_cells(task):
            yield from _table(OVERLAP_TITLE.lower(), OVERLAP_COLUMNS, overlaps)
        yield from _steps(task)
        statistics = read_statistics(out, name)
        yield from pairing_lines(task, statistics)
        equal = any(size.rows is not None for size in task.sizes.values())
        yield from assumption_lines(check_assumptions(statistics, equal=equal, as_upstream=task.has_one_source))
    rows = sum(
        facts.rows
        for task in manifest.tasks.values()
        for domain in task.domains.values()
        for facts in domain.splits.values()
    )
    marks = (", partial" if manifest.partial else "") + (", some files match no record" if manifest.unverified else "")
    yield f"wrote {out}: {rows:,} rows, {manifest.version}{marks}"
    if manifest.unverified:
        yield f"these match no record and may be incomplete: {', '.join(manifest.unverified_files)}"
    yield from filter(None, (source.lacks for source in manifest.sources.values()))
    real = {name: task for name, task in manifest.tasks.items() if not name.endswith(PLACEBO)}
    absent = [f"{name}.{domain}" for name, task in real.items() for domain in task.absent_domains]
    if absent:
        yield f"domains skipped, without files or rows: {', '.join(absent)}"
    if without_files:
        yield f"tasks skipped, without files: {', '.join(without_files)}"
    for split in SPLITS:
        lack = [
            f"{name}.{domain}"
            for name, task in real.items()
            if not task.has_one_source
            for domain, facts in task.domains.items()
            if split not in facts.splits
        ]
        if lack:
            yield f"domains that lack {split} rows of a class: {', '.join(lack)}"


def _sizes(name: str, task: TaskInfo) -> Iterator[RenderableType]:
    rows = []
    for domain, facts in task.domains.items():
        cells = [f"{facts.splits[split].rows:,}" if split in facts.splits else "none" for split in SPLITS]
        rows.append((domain, *cells))
    yield from _table(f"{name}: {task.title}", ("domain", *SPLITS), rows)
    yield from filter(None, (size.shortfall(split) for split, size in task.sizes.items()))


def _paper_sizes(manifest: Manifest, name: str) -> Iterator[RenderableType]:
    """List the splits whose sizes differ from the paper's tables."""
    different = [size for size in paper_sizes(manifest, name) if size.rows != size.paper]
    if not different:
        return
    title = "rows here and in the paper's tables (if they differ)"
    rows = [(size.domain, size.split, f"{size.rows:,}", f"{size.paper:,}", size.why) for size in different]
    yield from _table(title, ("data set", "split", "here", "paper", "why"), rows)


def _steps(task: TaskInfo) -> Iterator[RenderableType]:
    """List the steps that dropped or changed rows, over all domains."""
    totals: dict[tuple[str, str], list[int]] = {}
    for count in task.transforms:
        total = totals.setdefault((count.name, count.split), [0, 0, 0])
        for place, value in enumerate((count.before, count.after, count.changed)):
            total[place] += value
    effective = {key: total for key, total in totals.items() if total[0] != total[1] or total[2]}
    if not effective:
        return
    title = "rows dropped or changed by each step, over all domains"
    rows = [
        (name, split, f"{before:,}", f"{before - after:,}", f"{after:,}", f"{changed:,}" if changed else "")
        for (name, split), (before, after, changed) in effective.items()
    ]
    yield from _table(title, ("step", "split", "before", "dropped", "after", "changed"), rows)


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[RenderableType]:
    """Yield a title and a table; text columns are left-aligned, numeric ones right-aligned."""
    yield title
    table = Table()
    for column in columns:
        table.add_column(column, justify="left" if column in _WORDS else "right")
    for row in rows:
        table.add_row(*row)
    yield table
