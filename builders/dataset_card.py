"""The dataset card, README.md of a dataset folder: YAML that ``load_dataset`` reads, and text for people."""

from collections.abc import Mapping
from typing import Any

import yaml

from builders.manifest import DomainFacts, Manifest, TaskManifest, paper_sizes
from builders.statistics.card import statistics_section
from builders.statistics.task_statistics import TaskStatistics
from validation.report import counted
from validation.vocabulary import GOLD, SPLITS, TOKENS, TaskKind


class _PlainDumper(yaml.SafeDumper):
    """Writes repeated values out, where YAML would refer back to the first."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def dataset_card(manifest: Manifest, statistics: Mapping[str, TaskStatistics]) -> str:
    """Write the card of a folder from its manifest. Withheld domains have their sizes in it, but no config.

    Args:
        manifest: what the folder holds.
        statistics: by task; placebo tasks, whose rows are those of the real ones, have none.
    """
    front = yaml.dump(_front_matter(manifest), Dumper=_PlainDumper, sort_keys=False, allow_unicode=True)
    parts = [f"---\n{front}---\n", f"# {manifest.title}\n", *_warnings(manifest)]
    for name, task in manifest.tasks.items():
        parts += [
            f"## {name}: {task.title}\n",
            _size_table(task),
            _paper_sizes(manifest, name),
            "".join(f"{line}.\n" for line in pairing_lines(task, statistics.get(name))),
            _rebuild_only(manifest, name),
        ]
        parts.append(_row_counts(task))
        if task.notes:
            parts.append("Known differences from the paper:\n\n" + "".join(f"- {note}\n" for note in task.notes))
        if name in statistics:
            parts.append(statistics_section(name, statistics[name]))
    parts += [_sources(manifest), _loading(manifest)]
    return "\n".join(part for part in parts if part)


def _front_matter(manifest: Manifest) -> dict[str, Any]:
    configs: list[dict[str, Any]] = []
    infos: list[dict[str, Any]] = []
    here = {name: task for name, task in manifest.tasks.items() if task.domains}
    for name, task in here.items():
        features = _features(task)
        present = {split for facts in task.domains.values() for split in facts.splits}
        config = _config_name(name, task)
        configs.append(
            _config(config, {split: f"data/{name}/*/{split}-*.parquet" for split in SPLITS if split in present})
        )
        infos.append({"config_name": config, "features": features})
        for domain, facts in task.domains.items():
            paths = {split: f"data/{name}/{domain}/{split}-*.parquet" for split in SPLITS if split in facts.splits}
            configs.append(_config(f"{config}.{domain}", paths))
            infos.append({"config_name": f"{config}.{domain}", "features": features})
        if manifest.encoder is not None and task.depth_pairs:
            configs.append(_config(f"{config}.depth", {"test": f"depth/{name}/*.parquet"}))
            infos.append({"config_name": f"{config}.depth", "features": _DEPTH_FEATURES})
    configs[0]["default"] = True
    return {
        "pretty_name": manifest.title,
        "language": ["en"],
        "license": "other",
        "license_name": "by-source",
        "task_categories": sorted({_CATEGORIES[task.kind] for task in here.values()}),
        "tags": ["domain-shift", "robustness", "shiftbench"],
        "configs": configs,
        "dataset_info": infos,
    }


_CATEGORIES = {
    TaskKind.CLASSIFICATION: "text-classification",
    TaskKind.TAGGING: "token-classification",
    TaskKind.EXTRACTIVE_QA: "question-answering",
    TaskKind.GENERATION: "text-generation",
}
"""Task kinds in the Hub's words."""

_DEPTH_FEATURES = [
    {"name": "id", "dtype": "string"},
    {"name": "source", "dtype": "string"},
    {"name": "depth", "dtype": "float64"},
    {"name": "weight", "dtype": "float64"},
]


def _features(task: TaskManifest) -> list[dict[str, Any]]:
    class_label = {"class_label": {"names": {str(code): label for code, label in enumerate(task.labels)}}}
    answers = [{"name": "text", "list": "string"}, {"name": "answer_start", "list": "int32"}]
    gold: dict[TaskKind, dict[str, Any]] = {
        TaskKind.CLASSIFICATION: {"dtype": class_label},
        TaskKind.TAGGING: {"list": class_label},
        TaskKind.EXTRACTIVE_QA: {"struct": answers},
        TaskKind.GENERATION: {"dtype": "string"},
    }
    return [
        *({"name": name, "dtype": "string"} for name in ("id", "domain", "group")),
        *({"name": name, ("list" if name == TOKENS else "dtype"): "string"} for name in task.inputs),
        {"name": GOLD[task.kind], **gold[task.kind]},
    ]


def _config_name(name: str, task: TaskManifest) -> str:
    """Give the name that a task is loaded by: a pairing's in the paper, else its own."""
    return task.pairing.name if task.pairing is not None else name


def _config(name: str, paths: Mapping[str, str]) -> dict[str, Any]:
    return {"config_name": name, "data_files": [{"split": split, "path": path} for split, path in paths.items()]}


def _warnings(manifest: Manifest) -> list[str]:
    lines = []
    if manifest.synthetic:
        lines.append("> **Synthetic data.** Every text here was generated by a program to show the tools at work.\n")
    if manifest.partial:
        lines.append(
            "> **Partial build.** The upstream files were incomplete (see the sources below): scores on this data are "
            "not comparable with scores on the full benchmark.\n"
        )
    if any(task.withheld for task in manifest.tasks.values()):
        lines.append(
            "> **Some rows are not here.** Their licences do not allow publishing them; each task names its domains "
            "that are rebuild only, and the command that builds them from their source. A full build has the content "
            f"hash `{manifest.content_hash}`, as this folder has.\n"
        )
    return lines


def _size_table(task: TaskManifest) -> str:
    lines = ["| domain | " + " | ".join(SPLITS) + " |", "|---|" + "---:|" * len(SPLITS)]
    for domain, facts in (task.domains | task.withheld).items():
        cells = [
            f"{counted(facts.splits[split].rows, 'row')} in {counted(facts.splits[split].groups, 'group')}"
            if split in facts.splits
            else "none"
            for split in SPLITS
        ]
        mark = ", rebuild only" if facts.rebuild_only else ""
        lines.append(f"| {domain}{mark} | " + " | ".join(cells) + " |")
    lines += [f"| {domain} | absent: no rows upstream |" + " |" * (len(SPLITS) - 1) for domain in task.absent_domains]
    shortfalls = [shortfall for split, size in task.sizes.items() if (shortfall := size.shortfall(split))]
    labels = ", ".join(f"{code} {label}" for code, label in enumerate(task.labels))
    return (
        "\n".join(lines)
        + (f"\n\nAll domains have the size of the smallest. {'. '.join(shortfalls)}." if shortfalls else "")
        + f"\n\nInputs: {', '.join(task.inputs)}. To predict: {GOLD[task.kind]}"
        + (f" ({labels})" if labels else "")
        + f". Primary metric: {task.metric}.\n"
    )


def _paper_sizes(manifest: Manifest, name: str) -> str:
    """Compare sizes with the paper's tables; nothing where these give none."""
    sizes = paper_sizes(manifest, name)
    if not sizes:
        return ""
    lines = [f"| {size.domain} | {size.split} | {size.rows:,} | {size.paper:,} | {size.why} |" for size in sizes]
    return (
        "Rows here and in the paper's tables:\n\n| data set | split | here | paper | why |\n|---|---|---:|---:|---|\n"
        + ("\n".join(lines) + "\n")
    )


def pairing_lines(task: TaskManifest, statistics: TaskStatistics | None) -> list[str]:
    """Say of a pairing what it is drawn from, how many texts, and its Q, all beside the paper's; nothing of others."""
    pairing = task.pairing
    if pairing is None:
        return []
    lines = []
    for what, split, wanted in (("source", "train", pairing.source_rows), ("target", "test", pairing.target_rows)):
        every = task.domains | task.withheld
        found = {name: facts.splits[split].rows for name, facts in every.items() if split in facts.splits}
        lines.append(
            f"{pairing.name}, {what}: {', '.join(found)}; {sum(found.values()):,} texts, {wanted:,} in the paper"
        )
    q = [pair.q for pair in (statistics.depths if statistics else ()) if pair.source == task.joined_source]
    here = f"{q[0]:.2f} here" if q else "not computed here"
    return [*lines, f"{pairing.name}: Q {pairing.reported_q:.2f} in the paper, {here}"]


def _rebuild_only(manifest: Manifest, name: str) -> str:
    """Name the domains that may not be published, with the licence and what to do; nothing where all may."""
    task, command = manifest.tasks[name], manifest.build_command(name)
    withheld = [f"- {domain}: {_terms(manifest, facts)}" for domain, facts in task.withheld.items()]
    here = [f"- {domain}: {_terms(manifest, facts)}" for domain, facts in task.domains.items() if facts.rebuild_only]
    parts = []
    if withheld:
        parts.append(f"Not in this folder; build it with `{command}`:\n\n" + "\n".join(withheld) + "\n")
    if task.withheld_subsets:
        subsets = ", ".join(task.withheld_subsets)
        parts.append(f"Not in this folder either, as they hold ids of these domains: the subsets {subsets}.\n")
    if here:
        what = "In this folder for your own use; `shiftbench publish` leaves it out"
        parts.append(f"{what}:\n\n" + "\n".join(here) + "\n")
    return "\n".join(parts)


def _terms(manifest: Manifest, facts: DomainFacts) -> str:
    sources = manifest.closed_sources(facts)
    return "rebuild only: " + "; ".join(source.terms for source in sources)


def _row_counts(task: TaskManifest) -> str:
    changed = [count for count in task.transforms if count.before != count.after]
    if not changed:
        return ""
    lines = [f"| {c.domain} | {c.split} | {c.name} | {c.before:,} | {c.after:,} |" for c in changed]
    return (
        "Steps that changed a row count:\n\n| domain | split | step | before | after |\n|---|---|---|---:|---:|\n"
        + "\n".join(lines)
        + "\n"
    )


def _sources(manifest: Manifest) -> str:
    parts = ["## Sources, licences, citations\n"]
    for source in manifest.sources.values():
        parts.append(
            f"### {source.title}\n\nFrom {source.url} (revision {source.revision}). Licence: {source.licence}.\n"
        )
        if source.files:
            parts.append("| file | rows read | recorded for the whole file | sha256 |\n|---|---:|---:|---|")
            for file in source.files:
                recorded = "not known" if file.recorded_rows is None else f"{file.recorded_rows:,}"
                parts.append(f"| {file.path} | {file.rows:,} | {recorded} | `{file.sha256[:16]}...` |")
            parts.append("")
        if source.citation:
            parts.append(f"```bibtex\n{source.citation}\n```\n")
    return "\n".join(parts)


def _loading(manifest: Manifest) -> str:
    name = next(name for name, task in manifest.tasks.items() if task.domains)
    config, domain = _config_name(name, manifest.tasks[name]), next(iter(manifest.tasks[name].domains))
    return (
        "## Loading and submitting\n\n"
        "```python\nfrom datasets import load_dataset\n\n"
        f'load_dataset(REPO, "{config}.{domain}")  # one domain\n'
        f'load_dataset(REPO, "{config}")  # all domains, told apart by the column domain\n```\n\n'
        "A prediction file has the columns source, id, prediction and, if you like, seed and confidence; "
        "`shiftbench score` checks and scores it, `shiftbench submit` sends it to a leaderboard.\n"
    )
