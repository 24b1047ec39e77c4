"""The dataset card, README.md of a dataset folder: YAML for ``load_dataset``, and a text for readers.

It begins with how to load the data, and ends with what is missing.
"""

from collections.abc import Iterator, Mapping

from shiftbench.builders.folder.citations import GENBENCH, READ_OFF, TAXONOMY, cite, papers_to_cite
from shiftbench.builders.folder.manifest import Manifest, SourceFacts
from shiftbench.builders.folder.statistics import TaskStatistics
from shiftbench.builders.statistics.markdown import folded, table
from shiftbench.builders.writing.first_screen import Seen, first_screen
from shiftbench.builders.writing.front_matter import front_matter
from shiftbench.builders.writing.licences import licence_link
from shiftbench.builders.writing.task_section import task_section
from shiftbench.validation.vocabulary import SPLITS


def dataset_card(
    manifest: Manifest, statistics: Mapping[str, TaskStatistics], seen: Seen | None = None, repo: str | None = None
) -> str:
    """Build the card of a folder from its manifest. Withheld domains are listed with their sizes, without a config.

    Args:
        manifest: the folder's manifest.
        statistics: statistics by task; placebo tasks, which have the rows of the real ones, have none.
        seen: facts read from the folder's files: sizes, a row, plots; None omits these.
        repo: the repository it is published to; None for a local folder.
    """
    drawn = () if seen is None else seen.drawn
    parts = [
        front_matter(manifest),
        *first_screen(manifest, seen, repo),
        *(task_section(manifest, name, statistics.get(name), is_drawn=name in drawn) for name in manifest.tasks),
        _differences(manifest),
        _taxonomy(manifest),
        _submitting(manifest),
        _citation(manifest),
        _sources(manifest),
        _absent(manifest),
    ]
    return "\n".join(part for part in parts if part)


def _differences(manifest: Manifest) -> str:
    """Format the differences from the authors' code; ``""`` if it was not compared."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for task_name, task in manifest.tasks.items():
        every = task.domains | task.withheld
        for line in task.differences:
            named = [f"{task_name}.{data_set}" for data_set in line.data_sets if data_set in every]
            rows.setdefault((line.theirs, line.here, line.touches), []).extend(named)
    lines = [f"| {', '.join(named)} | {' | '.join(cells)} |" for cells, named in rows.items() if named]
    if not lines:
        return ""
    return (
        "## Data sets compared with the authors' code\n\n"
        "How the code published by the paper's authors processes each data set, and how this build does. Rows that "
        "the authors' code loads from the Hub are read here from the upstream release; the order of rows is not "
        "compared. Counts refer to the files available when the code was "
        "read.\n\n"
        + folded(
            "Differences",
            "| data set | the authors' code | here | what it affects |\n|---|---|---|---|\n" + "\n".join(lines),
        )
    )


def _taxonomy(manifest: Manifest) -> str:
    """Format the benchmark's categories in the GenBench taxonomy; ``""`` if no paper states them."""
    categories = TAXONOMY.get(manifest.benchmark)
    if categories is None:
        return ""
    rows = "".join(f"| {axis} | {value} |\n" for axis, value in categories.items())
    return (
        "## What kind of generalisation it tests\n\n"
        "In the categories of the GenBench taxonomy (Hupkes et al., 2023), taken from "
        f"{READ_OFF[manifest.benchmark]}:\n\n"
        f"| axis | here |\n|---|---|\n{rows}\n```bibtex\n{cite(GENBENCH)}\n```\n"
    )


def _submitting(manifest: Manifest) -> str:
    task, domain = next(
        (name, domain)
        for name, task in manifest.tasks.items()
        for domain, facts in task.domains.items()
        if "test" in facts.splits
    )
    example = f"{manifest.benchmark}/{task}/{domain}/test/0a1b2c3d4e5f"
    score = "shiftbench score preds.parquet --data DIR --json scores.json\n"
    return (
        "## Submitting\n\n"
        "A prediction file is Parquet, JSON lines or CSV with one row per prediction:\n\n"
        "| column | content |\n|---|---|\n"
        "| `source` | training domain; several joined by `+` in alphabetical order; `none` for zero-shot; "
        "`elsewhere` for models trained outside this dataset |\n"
        f"| `id` | a test id, such as `{example}` |\n"
        "| `prediction` | label name; tags as a list (in CSV joined by spaces); answer text (empty: no answer); "
        "generated text; `__unparsed__` if the model gave no usable output |\n"
        "| `seed` (optional) | integer, one per run |\n"
        "| `confidence` (optional) | confidence of the prediction, 0 to 1 |\n"
        "| `probabilities` (optional) | probabilities of all labels, a list in their order (in CSV joined by spaces) "
        "with sum "
        "1 |\n\n"
        "For each source, target and seed, all test ids must be present, each once; whole shifts may be missing.\n\n"
        "```\nshiftbench data validate preds.parquet --data DIR        # every problem at once\n"
        + ("" if manifest.withholds_labels else score)
        + "shiftbench submit preds.parquet --card preds.card.yaml --to URL    # a leaderboard's page, or a store\n"
        "```\n\n"
        "DIR is a copy of this folder. The card `preds.card.yaml` needs `name`, `paradigm` (fine-tuned, few-shot, "
        f"zero-shot, retrieval, other) and `data`, here `{manifest.content_hash}`"
        + (f", and accepts `settings`, here `{manifest.settings_hash}`.\n" if manifest.settings_hash else ".\n")
    )


def _citation(manifest: Manifest) -> str:
    """Format the distinct citations: the publisher's for the dataset, the benchmark's paper, the sources."""
    entries = [
        *([manifest.publication.bibtex] if manifest.publication is not None else []),
        *papers_to_cite(manifest.benchmark, depths=manifest.encoder is not None),
        *(source.citation for source in manifest.sources.values()),
    ]
    text = "\n\n".join(dict.fromkeys(filter(None, entries)))
    return f"## Citation\n\n```bibtex\n{text}\n```\n" if text else ""


def _sources(manifest: Manifest) -> str:
    parts = ["## Sources and licences\n"]
    for source in manifest.sources.values():
        parts.append(f"### {source.title}\n\n" + "".join(f"- {line}\n" for line in _source_lines(source)))
        rows = [
            [
                file.path,
                f"{file.rows:,}",
                file.recorded,
                f"`{file.sha256[:16]}...`" if file.sha256 else "withheld, because it includes test labels",
            ]
            for file in source.files
        ]
        columns = ["file", "rows read", "recorded for the complete file", "sha256"]
        parts.append(folded("Files that were read", table(columns, rows, words=("sha256",))))
    return "\n".join(part for part in parts if part)


def _source_lines(source: SourceFacts) -> Iterator[str]:
    if source.url:
        yield f"From {source.url}" + (f" (revision {source.revision})" if source.revision else "")
    words = f" ({source.licence})" if source.spdx and source.licence != source.spdx else ""
    yield f"Licence: {licence_link(source)}{words}"
    if source.lacks:
        yield source.lacks
    facts = {"Harmful content": source.harm * source.may_hurt, "Personal data": source.personal_data}
    for name, text in (facts | {"Labels by": source.annotators}).items():
        if text:
            yield f"{name}: {text}"


def _absent(manifest: Manifest) -> str:
    """Format what the folder lacks, and what publishing omits; ``""`` if nothing."""
    parts = []
    if manifest.withholds_labels:
        parts.append("No statistic here is computed from the withheld test labels.\n")
    for name, task in manifest.tasks.items():
        if task.withheld:
            rows = [
                [
                    f"{name}.{domain}",
                    *(f"{facts.splits[split].rows:,}" if split in facts.splits else "" for split in SPLITS),
                    "; ".join(f"{each.title}: {licence_link(each)}" for each in manifest.closed_sources(facts)),
                ]
                for domain, facts in task.withheld.items()
            ]
            parts.append(
                f"Rows whose licence does not allow publishing them; build them with `{manifest.build_command(name)}`:"
                f"\n\n{table(['domain', *SPLITS, 'licence'], rows, words=('licence',))}\n"
            )
        if task.withheld_subsets:
            parts.append(f"Subsets of {name} that need these rows: {', '.join(task.withheld_subsets)}.\n")
    absent = [f"{name}.{domain}" for name, task in manifest.tasks.items() for domain in task.absent_domains]
    if absent:
        parts.append(f"Their files were missing or had no rows: {', '.join(absent)}.\n")
    own_use = [
        f"{name}.{domain}"
        for name, task in manifest.tasks.items()
        for domain, facts in task.domains.items()
        if facts.rebuild_only
    ]
    if own_use:
        parts.append(f"Included for your own use, and excluded by `shiftbench data publish`: {', '.join(own_use)}.\n")
    if manifest.withholds_labels or any(task.withheld for task in manifest.tasks.values()):
        parts.append(f"A complete build has the same content hash, `{manifest.content_hash}`.\n")
    return "\n".join(["## Not included\n", *parts]) if parts else ""
