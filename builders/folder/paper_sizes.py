"""Compare split sizes with the paper's tables, and attribute each difference to reasons with row counts."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from shiftbench.builders.folder.manifest import DomainFacts, Manifest, TaskInfo, TransformCount, UpstreamRows

CUT, COPIES, FILL = "test_inputs_leave_train", "copies_leave", "fill_to_size"
"""Steps absent from the papers: drop train rows with test inputs, drop copies across files, cut to a common size."""

_NOT_STATED = "older builds do not state which files their rows come from"


class SizePart(NamedTuple):
    """Part of a size difference: additional rows compared with the paper (negative: fewer), and the reason."""

    rows: int
    why: str


class PaperSize(NamedTuple):
    """The rows of a split here and in the paper's tables; ``parts`` add up to the difference."""

    domain: str
    split: str
    rows: int
    paper: int
    parts: tuple[SizePart, ...]

    @property
    def why(self) -> str:
        """Return the parts as text, each with its rows; ``""`` if there are none."""
        return "; ".join(f"{part.rows:+,}: {part.why}" for part in self.parts)


def paper_sizes(manifest: Manifest, name: str) -> list[PaperSize]:
    """Compare the sizes of a task's data sets with the paper's tables.

    Args:
        manifest: the folder's manifest.
        name: the task.
    Returns: an entry for each domain and split with a size in the paper (without parts if the sizes are equal).
    """
    task = manifest.tasks[name]
    sizes: list[PaperSize] = []
    for domain, facts in (task.domains | task.withheld).items():
        paper = facts.provenance.paper_rows if facts.provenance else {}
        if paper:
            sizes += _compare_with_paper(_Domain(domain, facts, task), paper)
        sizes += _filled_sizes(_Domain(domain, facts, task))
    return sizes


class _Domain(NamedTuple):
    """A domain with the facts of its task."""

    name: str
    facts: DomainFacts
    task: TaskInfo

    def rows(self, split: str) -> int:
        return self.facts.splits[split].rows if split in self.facts.splits else 0

    def steps(self, split: str) -> list[TransformCount]:
        return [step for step in self.task.transforms if (step.domain, step.split) == (self.name, split)]

    def known_differences(self, split: str) -> list[SizePart]:
        """Return the known differences from the authors' code (``differences.toml``)."""
        lines = [(line.rows.get(self.name, {}).get(split, 0), line.theirs) for line in self.task.differences]
        return [SizePart(rows, f"the authors' code: {theirs}") for rows, theirs in lines if rows]


def _compare_with_paper(domain: _Domain, paper: dict[str, int]) -> Iterator[PaperSize]:
    upstream = domain.facts.upstream
    is_cut = "train" in upstream and "test" not in upstream and "test" in paper
    parts = _cut_parts(domain, paper) if is_cut else {}
    for split, n_paper in paper.items():
        n_rows = domain.rows(split)
        if n_rows == n_paper:
            of_split = []
        elif not upstream:
            of_split = [SizePart(n_rows - n_paper, _NOT_STATED)]
        elif is_cut:
            of_split = parts[split]
        else:
            steps = domain.steps(split)
            of_split = _parts(upstream.get(split, ()), steps, domain.known_differences(split), n_rows, n_paper)
        yield PaperSize(domain.name, split, n_rows, n_paper, tuple(of_split))


def _parts(
    files: Sequence[UpstreamRows], steps: Sequence[TransformCount], known: Sequence[SizePart], n_left: int, paper: int
) -> list[SizePart]:
    """Attribute the difference between our number of rows and the paper's to parts with reasons.

    Differences not explained by files, the authors' code or repeated rows are attributed to the named steps: the reason
    states how many rows these dropped here, and how many they must have dropped for the paper's size.
    """
    parts = [part for file in files for part in _file_parts(file)]
    parts += [
        *known,
        *(SizePart(step.after - step.before, _copies_reason(step)) for step in steps if step.name == COPIES),
    ]
    rest = n_left - paper - sum(part.rows for part in parts)
    lost = {step.name: step.before - step.after for step in steps if step.before != step.after and step.name != COPIES}
    unknown = [file.path for file in files if file.recorded_rows is None]
    if rest and unknown:
        n_read = sum(file.rows or 0 for file in files)
        which = unknown[0] if len(unknown) == 1 else f"{len(unknown)} files, such as {unknown[0]}"
        parts.append(
            SizePart(rest, f"no row count is recorded for {which}; {n_read:,} rows were read, {n_left:,} remain")
        )
    elif rest and not any(file.rows for file in files):
        parts.append(
            SizePart(rest, "rows that the steps drop from the complete files, estimated from the paper's size")
        )
    elif rest and steps:
        n_lost = sum(lost.values())
        by = f"{n_lost:,} rows dropped by {', '.join(lost)}" if lost else "no row dropped by a step"
        parts.append(SizePart(rest, f"{by} here, {n_lost + rest:,} according to the paper's size"))
    elif rest:
        parts.append(SizePart(rest, "dropped by steps whose counts are withheld"))
    return [part for part in parts if part.rows]


def _file_parts(file: UpstreamRows) -> Iterator[SizePart]:
    """Yield the size difference due to a file that is missing, has too few or too many rows, or replaces others."""
    if file.recorded_rows is None:
        return
    n_more = (file.rows or 0) - file.recorded_rows
    if file.rows is None:
        yield SizePart(n_more, f"{file.path} was missing")
    elif not file.recorded_rows:
        yield SizePart(n_more, f"{file.path}, which contains only part of the release, was read")
    elif n_more:
        yield SizePart(n_more, f"{file.path} has {file.rows:,} rows, {file.recorded_rows:,} are recorded")


def _copies_reason(step: TransformCount) -> str:
    return f"rows that several partial files share, dropped ({step.name})"


def _cut_parts(domain: _Domain, paper: dict[str, int]) -> dict[str, list[SizePart]]:
    """Attribute the differences of a domain whose train/test split here differs from the paper's.

    Differences in the rows before the cut are divided between the splits in the paper's proportions; the remainder is
    due to the cut.
    """
    files, steps = domain.facts.upstream["train"], domain.steps("train")
    more = {split: domain.rows(split) - paper[split] for split in ("train", "test")}
    cut = next((place for place, step in enumerate(steps) if step.name == CUT), len(steps))
    n_test, n_train = domain.rows("test"), steps[cut].before if cut < len(steps) else domain.rows("train")
    after = [step for step in steps[cut:] if step.before != step.after]
    if any(step.name not in (CUT, COPIES) for step in steps[cut:]):
        # The paper's train rows are a sample from the cut, whose size it does not state.
        there = [file for file in files if file.rows is not None]
        drawn = f"sampled from {len(there)} of {len(files)} files: {n_train + n_test:,} rows"
        left = "".join(f", {step.after:,} after {step.name}" for step in after)
        whys = {"test": f"{drawn}, {n_test:,} of them test", "train": f"{drawn}, {n_train:,} of them train{left}"}
        return {split: [SizePart(rows, whys[split])] for split, rows in more.items()}
    n_paper = paper["train"] + paper["test"]
    parts: dict[str, list[SizePart]] = {"train": [], "test": []}
    for rows, why in _parts(files, steps[:cut], domain.known_differences("train"), n_train + n_test, n_paper):
        of_test = round(rows * paper["test"] / n_paper)
        parts["test"].append(SizePart(of_test, why))
        parts["train"].append(SizePart(rows - of_test, why))
    by_cut = more["test"] - sum(part.rows for part in parts["test"])
    mine, theirs = f"{n_test:,} of {n_train + n_test:,} rows", f"{paper['test']:,} of {n_paper:,}"
    why = f"the test split is cut by this build: {mine}, in the paper {theirs}"
    parts["test"].append(SizePart(by_cut, why))
    parts["train"].append(SizePart(-by_cut, why))
    parts["train"] += [
        SizePart(step.after - step.before, f"train rows whose text is also in test, dropped ({CUT})") for step in after
    ]
    return {split: [part for part in of_split if part.rows] for split, of_split in parts.items()}


def _filled_sizes(domain: _Domain) -> Iterator[PaperSize]:
    """Compare the splits that were cut to a common size below the paper's."""
    for split, size in domain.task.sizes.items():
        pool = next((step.before for step in domain.steps(split) if step.name == FILL), None)
        n_rows = domain.rows(split)
        if pool is None or n_rows == size.paper:
            continue
        no_more = min(pool, size.paper) - size.paper
        smallest = (
            f"match the size of {size.smallest}, the smallest domain"
            if size.smallest
            else "keep the task's label or length proportions"
        )
        parts = (
            SizePart(no_more, f"only {pool:,} rows to sample from"),
            SizePart(n_rows - size.paper - no_more, f"dropped to {smallest}"),
        )
        yield PaperSize(domain.name, split, n_rows, size.paper, tuple(part for part in parts if part.rows))
