"""Building a benchmark from its upstream files: find, read, compare with what is recorded, assemble, write."""

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
"""Names all tasks of data sets that a benchmark might have been made of."""


class Built(NamedTuple):
    """What a build wrote, what could not be built, with its problems, and tasks without any file.

    ``failed`` names tasks, and domains (``td.adv_civil``) that lack rows of a malformed file. Only a partial build
    leaves out tasks whose files are missing.
    """

    manifest: Manifest
    failed: dict[str, tuple[Problem, ...]]
    without_files: tuple[str, ...]


def list_domains(benchmark: str | None = None) -> list[str]:
    """List every task domain that can be built from upstream files, as ``dr/nli.fiction``."""
    chosen = list(BENCHMARKS.values()) if benchmark is None else [_with_files(benchmark)]
    return [f"{task.id}.{domain.name}" for _, tasks in chosen for task in tasks for domain in task.domains]


def choose_tasks(benchmark: str | OwnBenchmark | None, task: str | None) -> tuple[TaskSpec, ...]:
    """Return the tasks that are built from upstream files: one, or one domain of it, those of a benchmark, or all.

    Raises: InvalidInput proposing near names where there is no such benchmark or task.
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
        benchmark: one of ``BENCHMARKS``, or one that a spec describes, whose files may lie beside the spec.
        task_name: one task (a pairing of ``df1`` also by its name in the paper), one domain as ``sa.sst``, which makes
            the build partial, or ``candidates`` for all tasks of candidate data sets; None builds every task whose
            files are there.
        raw: folder that holds the upstream files at ``RAW/<slug>/``, or one such slug folder itself; of several, a file
            is read from the first that has it.
        seed: decides which groups become test and validation, which rows fill a size, and the placebo deal.
        partial: build what there is when files are missing or short.
        encoder: computes the depth tables; None leaves them out.
        placebo: add to each task one of the same rows dealt to domains at random.
        record: a JSON file to write what was measured of the files read to, in the form of ``upstream.json``.
        withhold_labels: write a folder without test labels and one with them; a task whose rows show what another
            withholds counts as one that could not be built.
        other_revisions: take files with other checksums than the recorded ones where their row counts agree, and mark
            in the manifest that they match no record.
    Returns: the manifest of what was written, and the tasks that could not be built.
    Raises: InvalidInput naming every file that is missing, short or altered, and every split that is not as recorded,
        where nothing could be built; nothing is written then.
    """
    own = benchmark if isinstance(benchmark, OwnBenchmark) else None
    title, specs = _with_files(benchmark)
    only = None
    if task_name is not None:
        specs, only = _find_tasks(task_name, specs, specs[0].benchmark)
    if withhold_labels and any(spec.pairing for spec in specs):
        cure = "leave --withhold-labels out"
        what = "labels of pairings cannot be withheld: test texts of one are training texts of another"
        raise InvalidInput(Problem(what, "command line", specs[0].benchmark, cure))
    check_out(out, overwrite=overwrite, withhold=withhold_labels)
    raws = (raw,) if isinstance(raw, Path) else tuple(raw)
    records = upstream()
    if own:
        # What is recorded anew is compared with nothing.
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
        cure = "make room there; the folder is built, so give --overwrite then"
        with refuse_unwritable("the record cannot be written", str(record), cure), replace_file(record) as new:
            new.write_text(reading.recorded(specs).model_dump_json(indent=2) + "\n", encoding="utf-8")
    return Built(manifest, read.failed | reading.malformed, tuple(read.without_files))


def _with_files(benchmark: str | OwnBenchmark) -> tuple[str, tuple[TaskSpec, ...]]:
    if isinstance(benchmark, OwnBenchmark):
        return benchmark.title, benchmark.tasks
    return BENCHMARKS[_find_known(benchmark, list(BENCHMARKS), "benchmark of upstream files")]


def _find_tasks(name: str, specs: tuple[TaskSpec, ...], benchmark: str) -> tuple[tuple[TaskSpec, ...], str | None]:
    """Find the task of a name, or of the name that a pairing has in the paper, or all tasks of candidates.

    Returns: the tasks, and the one domain of the task that is named, as in ``sa.sst``; None where the task is.
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
        what, cure = "a pairing cannot be built from one of its domains", f"give {task}"
        raise InvalidInput(Problem(what, "command line", f"'{name}'", cure))
    return having, domain


def _find_known(name: str, names: Sequence[str], what: str) -> str:
    """Return a name that is among the known ones; InvalidInput says what it is not, and suggests the nearest."""
    if name not in names:
        raise UnknownChoice(Problem(f"there is no such {what}", "command line", f"'{name}'", did_you_mean(name, names)))
    return name
