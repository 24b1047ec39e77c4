"""The section of a dataset card on one task: its configs, processing steps and statistics."""

from html import escape

from shiftbench.builders.folder.citations import PAPERS
from shiftbench.builders.folder.configs import config_name
from shiftbench.builders.folder.manifest import Manifest, TaskInfo
from shiftbench.builders.folder.paper_sizes import paper_sizes
from shiftbench.builders.folder.statistics import Q_SOURCE_TEXTS, Q_TARGET_TEXTS, PairDepth, TaskStatistics
from shiftbench.builders.statistics.card import statistics_section
from shiftbench.builders.statistics.markdown import folded, table
from shiftbench.builders.writing.licences import licence_links
from shiftbench.metrics.depth import pooled_q
from shiftbench.validation.vocabulary import GOLD, PLACEBO, SPLITS


def task_section(manifest: Manifest, name: str, statistics: TaskStatistics | None, *, is_drawn: bool = False) -> str:
    """Build a task's section.

    Args:
        manifest: the folder's manifest.
        name: the task's name.
        statistics: its statistics; None for a placebo task, which has the rows of the real one.
        is_drawn: whether the folder contains the plot of its statistics.
    """
    task = manifest.tasks[name]
    notes = "Notes" if manifest.benchmark not in (*PAPERS, "df1") else "Differences from the paper"
    parts = [
        f"## {name}: {task.title}\n",
        (_placebo_domains if name.endswith(PLACEBO) else _domain_table)(manifest, name),
        "".join(f"{line}.\n" for line in pairing_lines(task, statistics)),
        f"{notes}:\n\n" + "".join(f"- {escape(note, quote=False)}\n" for note in task.notes) if task.notes else "",
        _paper_sizes(manifest, name),
        _overlaps(task),
        "" if name.endswith(PLACEBO) else _row_counts(task),
        statistics_section(name, statistics, is_drawn=is_drawn) if statistics is not None else "",
    ]
    return "\n".join(part for part in parts if part)


def _domain_table(manifest: Manifest, name: str) -> str:
    """Format the table of the folder's domains with rows, groups and licences, and explain the columns."""
    task, config = manifest.tasks[name], config_name(name, manifest.tasks[name])
    splits = [split for split in SPLITS if any(split in facts.splits for facts in task.domains.values())]
    every = [facts for domain in task.domains.values() for facts in domain.splits.values()]
    has_groups = any(facts.groups != facts.rows for facts in every)
    licences = [
        licence_links(manifest.sources[slug] for slug in facts.sources) + ", own use" * facts.rebuild_only
        for facts in task.domains.values()
    ]
    is_one = len(set(licences)) == 1
    rows = [
        [
            f"`{config}.{domain}`",
            " / ".join(
                f"{facts.splits[split].rows:,}" + f" ({facts.splits[split].groups:,})" * has_groups
                if split in facts.splits
                else "-"
                for split in splits
            ),
            *([] if is_one else [licence]),
        ]
        for (domain, facts), licence in zip(task.domains.items(), licences, strict=True)
    ]
    shortfalls = [shortfall for split, size in task.sizes.items() if (shortfall := size.shortfall(split))]
    labels = ", ".join(f"{code} {label}" for code, label in enumerate(task.labels))
    said = [
        *(["Rows; in brackets: groups of related rows."] if has_groups else []),
        *([f"All domains have the size of the smallest. {'. '.join(shortfalls)}."] if shortfalls else []),
        f"Inputs: {', '.join(task.inputs)}. To predict: {GOLD[task.kind]}{f' ({labels})' if labels else ''}. "
        f"Primary metric: {task.metric}.",
        *([f"Licence: {licences[0]}."] if is_one else []),
    ]
    columns = ["config", " / ".join(splits), *([] if is_one else ["licence"])]
    listed = table(columns, rows, words=("licence",))
    return "\n\n".join(filter(None, (listed, " ".join(said)))) + "\n"


def _placebo_domains(manifest: Manifest, name: str) -> str:
    """Describe a placebo task's domains in one sentence: almost equal sizes, columns and licences of the real task."""
    task, config = manifest.tasks[name], config_name(name, manifest.tasks[name])
    if not task.domains:
        return ""
    sizes = []
    for split in SPLITS:
        n_rows = [facts.splits[split].rows for facts in task.domains.values() if split in facts.splits]
        if n_rows:
            least, most = min(n_rows), max(n_rows)
            sizes.append(f"{least:,}{f' to {most:,}' if most > least else ''} {split}")
    named = ", ".join(f"`{config}.{domain}`" for domain in task.domains)
    return f"{named}: each with {', '.join(sizes)} rows, and the columns and licences of the real task.\n"


def _paper_sizes(manifest: Manifest, name: str) -> str:
    """Format the comparison of sizes with the paper's tables; ``""`` if these state none."""
    rows = [[s.domain, s.split, f"{s.rows:,}", f"{s.paper:,}", s.why] for s in paper_sizes(manifest, name)]
    columns = ["data set", "split", "here", "paper", "why"]
    return folded("Rows here and in the paper's tables", table(columns, rows, words=("split", "why")))


OVERLAP_COLUMNS = ("data set", "rows of", "also in", "rows", "in both", "share", "in both, recorded")
_NO_RECORD = "not recorded"
OVERLAP_TITLE = "Upstream rows whose inputs also occur in another split, before any step drops them"


def overlap_cells(task: TaskInfo) -> list[tuple[str, ...]]:
    """Return the table cells for ``OVERLAP_COLUMNS``: rows shared by two upstream splits, for each domain.

    Args:
        task: facts of a task.
    Returns: one row per pair of splits; empty if upstream has only one split, or an older version built the folder.
    """
    return [
        (
            domain,
            overlap.split,
            overlap.other,
            f"{overlap.rows:,}",
            f"{overlap.repeated:,}",
            f"{overlap.repeated / overlap.rows:.1%}",
            _NO_RECORD if overlap.recorded is None else f"{overlap.recorded:,}",
        )
        for domain, facts in (task.domains | task.withheld).items()
        for overlap in facts.overlaps
    ]


def _overlaps(task: TaskInfo) -> str:
    """Format a table of upstream splits' overlaps, and a line on data sets without any; ``""`` if none was measured."""
    every = overlap_cells(task)
    rows = [cells for cells in every if cells[4] != "0" or cells[-1] not in ("0", _NO_RECORD)]
    without = dict.fromkeys(cells[0] for cells in every if cells not in rows)
    none = f"No shared rows: {', '.join(without)}" + " (in the splits not listed)" * bool(rows) + "." if without else ""
    listed = table(OVERLAP_COLUMNS, rows, words=OVERLAP_COLUMNS[1:3])
    return folded(OVERLAP_TITLE, "\n\n".join(filter(None, (listed, none))))


def pairing_lines(task: TaskInfo, statistics: TaskStatistics | None) -> list[str]:
    """Describe a pairing: its source and target, number of texts, and Q, compared with the paper.

    Args:
        task: facts of a task.
        statistics: its statistics; None without depths.
    Returns: sentences without a full stop, for source, target and Q; empty for other tasks.
    """
    pairing = task.pairing
    if pairing is None:
        return []
    lines = []
    for what, split, wanted in (("source", "train", pairing.source_rows), ("target", "test", pairing.target_rows)):
        every = task.domains | task.withheld
        n_texts = {name: facts.splits[split].rows for name, facts in every.items() if split in facts.splits}
        lines.append(
            f"{pairing.name}, {what}: {', '.join(n_texts)}; {sum(n_texts.values()):,} texts, {wanted:,} in the paper"
        )
    pairs = [pair for pair in (statistics.depths if statistics else ()) if pair.source == task.joined_source]
    here = _q_here(pairs[0]) if pairs else "not computed here"
    return [*lines, f"{pairing.name}: Q {pairing.reported_q:.2f} in the paper; {here}"]


def _q_here(pair: PairDepth) -> str:
    """Format the three values of Q of a pairing: at the paper's sample sizes, at the sizes here, and by equation 8."""
    at_paper = pooled_q(pair.q, Q_SOURCE_TEXTS, Q_TARGET_TEXTS)
    sizes = f"at {Q_SOURCE_TEXTS:,} source and {Q_TARGET_TEXTS:,} target texts"
    lines = [f"{at_paper:.2f} here by the formula of the paper's code {sizes}, with which its values agree"]
    if pair.q_reference is not None:
        lines.append(
            f"{pair.q_reference:.2f} by that formula at the {pair.n_source:,} and {pair.n_target:,} texts here"
        )
    return "; ".join([*lines, f"{pair.q:.2f} by equation 8"])


def _row_counts(task: TaskInfo) -> str:
    """Format the steps that dropped or changed rows; ``""`` if none did."""
    rows = [
        [c.domain, c.split, c.name, f"{c.before:,}", f"{c.after:,}", f"{c.changed or ''}"]
        for c in task.transforms
        if c.before != c.after or c.changed
    ]
    columns = ["domain", "split", "step", "before", "after", "rows changed"]
    return folded("Steps that dropped or changed rows", table(columns, rows, words=columns[1:3]))
