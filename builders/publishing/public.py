"""The public copy of a dataset folder: everything except rows whose licence does not allow publishing."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from shiftbench.builders.folder.configs import depth_path, repeats_path, split_path, subset_path
from shiftbench.builders.folder.manifest import Manifest, TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.folder.statistics import picture_path, read_statistics
from shiftbench.builders.writing.writer import place_file, write_data, write_facts, write_ids
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import PLACEBO


def closed_domains(manifest: Manifest) -> dict[str, str]:
    """Return the reason for each domain (``<task>.<domain>``) whose rows may not be published."""
    return {
        f"{name}.{domain}": manifest.why_withheld(facts)
        for name, task in manifest.tasks.items()
        for domain, facts in task.domains.items()
        if facts.rebuild_only
    }


def refuse_closed(folder: DatasetFolder) -> None:
    """Raise InvalidInput with the domains whose rows may not be published, if there are any."""
    problems = [
        Problem(f"{domain} may not be published: {why}", str(folder.path), cure="publish the folder's public copy")
        for domain, why in closed_domains(folder.manifest).items()
    ]
    if problems:
        raise InvalidInput(problems)


@contextmanager
def published_folder(folder: DatasetFolder) -> Iterator[DatasetFolder]:
    """Yield the folder to publish: the given one, or its public copy, which is deleted after the block.

    Raises: InvalidInput if nothing in the folder may be published.
    """
    if not closed_domains(folder.manifest):
        yield folder
        return
    path = folder.path.resolve()
    # In the same parent folder, because files are hard-linked, and links do not cross file systems.
    with tempfile.TemporaryDirectory(prefix=f".{path.name}-public-", dir=path.parent) as temporary:
        yield public_copy(folder, Path(temporary) / path.name)


def public_copy(folder: DatasetFolder, out: Path) -> DatasetFolder:
    """Write the publishable part of a folder to another one.

    Rebuild-only domains are omitted with their rows, ids and depths; their facts stay in the manifest as ``withheld``,
    and the content hash is unchanged. In the subset ``all`` and in the list of repeated test rows, only ids of the
    remaining domains are kept. Any other subset that would lose ids is dropped: under the same name it would be a
    different subset. Files are hard links to those of ``folder`` if the file system allows it, so do not modify either
    in place.

    Args:
        out: an empty or new folder.
    Raises: InvalidInput if ``out`` is not empty, a file is missing, or nothing may be published.
    """
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise InvalidInput(
            Problem("the folder for the public copy is not empty", str(out), cure="give an empty folder")
        )
    _refuse_nothing_left(folder)
    tasks = {name: _public_task(folder, name, out) for name in folder.manifest.tasks}
    out.mkdir(parents=True, exist_ok=True)
    public = folder.manifest.model_copy(update={"tasks": tasks})
    for path in _public_files(folder, public):
        place_file(path, out / path.relative_to(folder.path))
    for name in (name for name in tasks if not name.endswith(PLACEBO)):
        # Statistics of all domains stay, as they reveal no single row, but the examples contain row ids.
        statistics = read_statistics(folder.path, name)
        if tasks[name].withheld:
            unnamed = statistics.duplicates.model_copy(update={"examples": {}})
            statistics = statistics.model_copy(update={"duplicates": unnamed})
        write_data(out, name, statistics)
        repeats = folder.repeated_tests(name)
        if repeats is not None:
            kept = pl.col("id").str.split("/").list.get(2).is_in(list(tasks[name].domains))
            write_ids(out / repeats_path(name), repeats.filter(kept))
    write_facts(out, public)
    return DatasetFolder.open(out)


def _refuse_nothing_left(folder: DatasetFolder) -> None:
    manifest = folder.manifest
    domains = [facts for task in manifest.tasks.values() for facts in task.domains.values()]
    if any(not facts.rebuild_only for facts in domains):
        return
    closed = dict.fromkeys(source.terms for facts in domains for source in manifest.closed_sources(facts))
    found = "; ".join(closed)
    cure = f"users must build it themselves: {manifest.build_command(next(iter(manifest.tasks)))}"
    raise InvalidInput(Problem("nothing in this folder may be published", str(folder.path), found, cure))


def _public_task(folder: DatasetFolder, name: str, out: Path) -> TaskInfo:
    """Return a task's manifest entry without its closed domains, and write the remaining subsets."""
    task = folder.task(name)
    domains = {domain: facts for domain, facts in task.domains.items() if not facts.rebuild_only}
    withheld = {domain: facts for domain, facts in task.domains.items() if facts.rebuild_only}
    subsets: dict[str, int] = {}
    for subset in task.subsets:
        ids = _public_ids(folder, name, subset, list(domains))
        # 'all' is always the available rows; any other subset is kept unchanged or dropped.
        if len(ids) == task.subsets[subset] or (subset == "all" and len(ids)):
            write_ids(out / subset_path(name, subset), ids)
            subsets[subset] = len(ids)
    return task.model_copy(
        update={
            "domains": domains,
            "withheld": task.withheld | withheld,
            "subsets": subsets,
            "withheld_subsets": (*task.withheld_subsets, *(subset for subset in task.subsets if subset not in subsets)),
        }
    )


def _public_ids(folder: DatasetFolder, task: str, subset: str, domains: list[str]) -> pl.DataFrame:
    rows = folder.test(task, subset, ["id", "domain"])
    return rows.filter(pl.col("domain").is_in(domains)).select("id").sort("id")


def _public_files(folder: DatasetFolder, public: Manifest) -> Iterator[Path]:
    """List the files that are copied unchanged: rows, depth tables, plots."""
    for name, task in public.tasks.items():
        patterns = [split_path(name, domain, split) for domain, facts in task.domains.items() for split in facts.splits]
        if folder.has_depth:
            patterns += [depth_path(name, source, target) for source, target in task.depth_pairs]
        for pattern in patterns:
            yield from folder.files(pattern)
        if not name.endswith(PLACEBO):
            picture = folder.path / picture_path(name)
            yield from [picture] if picture.is_file() else []
