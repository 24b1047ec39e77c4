"""Build a benchmark from its upstream files: find, read, compare with the records, assemble, write."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from shiftbench.builders import boss, df1, dr
from shiftbench.builders.building.read_tasks import Reading, describe_ways, raise_if_any, read_tasks, select_domain
from shiftbench.builders.building.spec_tasks import OwnBenchmark, open_spec
from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.manifest import Manifest
from shiftbench.builders.specs.benchmarks import spec_files
from shiftbench.builders.specs.spec import TaskSpec, Upstream, upstream
from shiftbench.builders.stored_rows import scratch_folder
from shiftbench.builders.writing.withhold import label_key, secret_seed
from shiftbench.builders.writing.writer import check_out, write_folder
from shiftbench.validation.output_files import refuse_unwritable, replace_file
from shiftbench.validation.report import InvalidInput, Problem, UnknownChoice, did_you_mean

BENCHMARKS: Mapping[str, tuple[str, tuple[TaskSpec, ...]]] = {
    "dr": (dr.TITLE, dr.TASKS),
    "boss": (boss.TITLE, boss.TASKS),
    "df1": (df1.TITLE, df1.TASKS),
    **{path.stem: open_spec(path)[:2] for path in spec_files()},
}
"""Title and tasks of the benchmarks that are built from upstream files."""
CANDIDATES = "candidates"
"""Task name that selects all tasks of candidate data sets."""


class Built(NamedTuple):
    """Result of a build: the manifest, failed tasks with their problems, and tasks without any file.

    Keys of ``failed``: tasks that could not be built and, in partial builds, domains (``td.adv_civil``) built without
    the rows of a malformed file. ``without_files``: tasks that a partial build skipped because none of
    their files is present.
    """

    manifest: Manifest
    failed: dict[str, tuple[Problem, ...]]
    without_files: tuple[str, ...]


def list_domains(benchmark: str | None = None) -> list[str]:
    """List every domain that can be built from upstream files.

    Args:
        benchmark: a key of ``BENCHMARKS``; None for all of them.
    Returns: names such as ``dr/nli.fiction``.
    """
    chosen = list(BENCHMARKS.values()) if benchmark is None else [_with_files(benchmark)]
    return [f"{task.id}.{domain.name}" for _, tasks in chosen for task in tasks for domain in task.domains]


def choose_tasks(benchmark: str | OwnBenchmark | None, task: str | None) -> tuple[TaskSpec, ...]:
    """Return the specs that match the names of a benchmark and a task.

    Args:
        benchmark: a key of ``BENCHMARKS``, or a benchmark described by a spec; None for all built-in ones.
        task: a task, or a domain of one such as ``nli.fiction``; None for all tasks.
    Raises: InvalidInput, suggesting similar names, if the benchmark or task is unknown.
    """
    if benchmark is None:
        return tuple(spec for _, specs in BENCHMARKS.values() for spec in specs)
    _, specs = _with_files(benchmark)
    if task is None:
        return specs
    specs, only = _find_tasks(task, specs, specs[0].benchmark)
    return tuple(select_domain(spec, only) for spec in specs)


def build(
    benchmark: str | OwnBenchmark,
    task_name: str | None,
    raw: Path | Sequence[Path],
    out: Path,
    *,
    seed: int = 0,
    partial: bool = False,
    overwrite: bool = False,
    encoder: Encoder | None = None,
    placebo: bool = True,
    record: Path | None = None,
    withhold_labels: bool = False,
    other_revisions: bool = False,
) -> Built:
    """Build a benchmark, or one task of it, into a dataset folder.

    Args:
        benchmark: one of ``BENCHMARKS``, or one described by a spec, whose files may be in the spec's folder.
        task_name: one task (a pairing of ``df1`` also by its name in the paper), one domain such as ``sa.sst``, which
            makes the build partial, or ``candidates`` for all tasks of candidate data sets; None builds every task
            whose files are present.
        raw: folder with the upstream files in ``RAW/<slug>/``, or one such slug folder itself; several are searched in
            order.
        out: the dataset folder to write.
        seed: determines which groups become test and validation, which rows are sampled, and the placebo assignment.
        partial: build from the available rows if files are missing or incomplete.
        overwrite: replace an existing dataset folder.
        encoder: computes the depth tables; None omits them.
        placebo: add to each task a placebo with the same rows assigned to domains at random.
        record: a JSON file for the measurements of the files read, in the format of ``upstream.json``.
        withhold_labels: write a folder without test labels and one with them; a task whose rows reveal labels
            withheld in another task counts as failed.
        other_revisions: accept files whose checksum differs from the recorded one if the row counts agree, and mark in
            the manifest that they match no record.
    Returns: the manifest written, and the tasks that could not be built.
    Raises: InvalidInput listing every missing, incomplete or altered file and every split that deviates from its
        record, if nothing could be built; nothing is written then.
    """
    own = benchmark if isinstance(benchmark, OwnBenchmark) else None
    title, specs = _with_files(benchmark)
    only = None
    if task_name is not None:
        specs, only = _find_tasks(task_name, specs, specs[0].benchmark)
    if withhold_labels and any(spec.pairing for spec in specs):
        cure = "omit --withhold-labels"
        what = "labels of pairings cannot be withheld: test texts of one are training texts of another"
        raise InvalidInput(Problem(what, "command line", specs[0].benchmark, cure))
    check_out(out, overwrite=overwrite, withhold=withhold_labels)
    raws = (raw,) if isinstance(raw, Path) else tuple(raw)
    records = upstream()
    if own:
        # New records are not compared with old ones.
        raws, records = own.folders(raws), Upstream(files={}, rows={}) if record else own.records()
    cure = describe_ways(specs[0].domains[0].sources[0])
    raise_if_any(
        [Problem("there is no such folder of upstream files", str(p), cure=cure) for p in raws if not p.is_dir()]
    )
    key = label_key(out) if withhold_labels else None
    draws = secret_seed(seed, key)
    with scratch_folder(out.resolve()) as store:
        reading = Reading(raws, draws, store, records, other_revisions)
        read = read_tasks(specs, reading, partial=partial, withhold=key is not None, placebo=placebo, only=only)
        if not read.tasks:
            reasons = read.failed or read.without_files
            raise InvalidInput(dict.fromkeys(problem for problems in reasons.values() for problem in problems))
        manifest = write_folder(
            out,
            read.tasks,
            reading.sources(),
            title=title,
            seed=seed,
            partial=partial or only is not None,
            synthetic=False,
            encoder=encoder,
            label_key=key,
            store=store,
        )
    if record is not None:
        cure = "free disk space there, and run again with --overwrite, because the dataset folder already exists"
        with refuse_unwritable("the record cannot be written", str(record), cure), replace_file(record) as new:
            new.write_text(reading.recorded(specs).model_dump_json(indent=2) + "\n", encoding="utf-8")
    return Built(manifest, read.failed | reading.malformed, tuple(read.without_files))


def _with_files(benchmark: str | OwnBenchmark) -> tuple[str, tuple[TaskSpec, ...]]:
    if isinstance(benchmark, OwnBenchmark):
        return benchmark.title, benchmark.tasks
    return BENCHMARKS[_find_known(benchmark, list(BENCHMARKS), "built-in benchmark")]


def _find_tasks(name: str, specs: tuple[TaskSpec, ...], benchmark: str) -> tuple[tuple[TaskSpec, ...], str | None]:
    """Find a task by name, a pairing by its name in the paper, or all tasks of candidates.

    Returns: the tasks, and the domain if one is named, as in ``sa.sst``; otherwise None.
    """
    name = name.removeprefix(f"{benchmark}/")
    name = {spec.pairing.name: spec.name for spec in specs if spec.pairing}.get(name, name)
    candidates = tuple(spec for spec in specs if spec.candidates_for is not None)
    names = [*(spec.name for spec in specs), *([CANDIDATES] if candidates else [])]
    task, _, domain = name.partition(".")
    known = _find_known(task, names, f"task of {benchmark}")
    chosen = candidates if known == CANDIDATES else (specs[names.index(known)],)
    if not domain:
        return chosen, None
    having = tuple(spec for spec in chosen if domain in {each.name for each in spec.domains})
    _find_known(domain, [each.name for spec in chosen for each in spec.domains], f"domain of {task}")
    if any(spec.pairing for spec in having):
        what, cure = "a pairing cannot be built from a single domain", f"give {task}"
        raise InvalidInput(Problem(what, "command line", f"'{name}'", cure))
    return having, domain


def _find_known(name: str, names: Sequence[str], what: str) -> str:
    """Return the name if it is known; otherwise raise InvalidInput, suggesting the nearest ones."""
    if name not in names:
        raise UnknownChoice(Problem(f"there is no such {what}", "command line", f"'{name}'", did_you_mean(name, names)))
    return name
