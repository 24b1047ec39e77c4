"""The dataset card: what the Hub and people are told of a folder beside its rows."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from shiftbench.builders.folder.citations import READ_OFF, TAXONOMY
from shiftbench.builders.folder.configs import configs
from shiftbench.builders.folder.manifest import OWN_LICENCE, Manifest, SourceFacts, SplitOverlap
from shiftbench.builders.folder.publication import Publication
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.writing.dataset_card import dataset_card
from shiftbench.builders.writing.first_screen import Seen, harmful_sources
from shiftbench.builders.writing.licences import hub_licence
from shiftbench.validation.cards import Card
from shiftbench.validation.vocabulary import SPLITS, TaskKind


def card_of(folder: DatasetFolder, **changes: Any) -> tuple[dict[str, Any], str]:
    """Return front matter and text of the card of a folder whose manifest says something else."""
    _, front, text = dataset_card(folder.manifest.model_copy(update=changes), {}).split("---\n", 2)
    return yaml.safe_load(front), text


def named(manifest: Manifest, *names: str) -> dict[str, Any]:
    """Return the first task of a folder under other names."""
    task = next(iter(manifest.tasks.values()))
    return dict.fromkeys(names, task)


@pytest.mark.parametrize("benchmark", ["dr", "boss"])
def test_a_benchmark_is_placed_in_the_taxonomy_and_cited(benchmark: str, synthetic: DatasetFolder) -> None:
    _, text = card_of(synthetic, benchmark=benchmark, encoder=None)
    assert READ_OFF[benchmark] in text
    axes = ("motivation", "generalisation type", "shift type", "shift source", "shift locus")
    assert tuple(TAXONOMY[benchmark]) == axes
    assert all(f"| {axis} | {TAXONOMY[benchmark][axis]} |\n" in text for axis in axes)
    key = {"dr": "calderon-etal-2024-measuring", "boss": "yuan-etal-2023-revisiting"}[benchmark]
    assert f"```bibtex\n@inproceedings{{{key},\n" in text
    assert "seegmiller" not in text


def test_other_data_claims_no_paper_but_that_of_its_depths(synthetic: DatasetFolder) -> None:
    front, text = card_of(synthetic)
    assert "GenBench" not in text
    assert "@misc{seegmiller-etal-2024-depth," in text
    assert "task_ids" not in front
    assert "## Citation" not in card_of(synthetic, encoder=None)[1]


def test_tasks_have_the_words_that_the_hub_knows(synthetic: DatasetFolder) -> None:
    front, _ = card_of(synthetic, benchmark="dr")
    assert front["task_categories"] == ["text-classification"]
    assert front["task_ids"] == ["natural-language-inference", "sentiment-classification"]
    tasks = named(synthetic.manifest, "nli.placebo", "td_candidates")
    assert card_of(synthetic, benchmark="boss", tasks=tasks)[0]["task_ids"] == [
        "hate-speech-detection",
        "natural-language-inference",
    ]
    generation = next(iter(synthetic.manifest.tasks.values())).model_copy(update={"kind": TaskKind.GENERATION})
    tasks = {"as": generation, "qg": generation}
    assert card_of(synthetic, benchmark="dr", tasks=tasks)[0]["task_categories"] == ["summarization", "text-generation"]
    assert card_of(synthetic, benchmark="own", tasks=tasks)[0]["task_categories"] == ["text-generation"]


def test_size_counts_rows_once(synthetic: DatasetFolder) -> None:
    rows = sum(
        split.rows
        for task in synthetic.manifest.tasks.values()
        for facts in task.domains.values()
        for split in facts.splits.values()
    )
    assert rows == 960
    assert card_of(synthetic)[0]["size_categories"] == ["n<1K"]
    twice = named(synthetic.manifest, "nli", "nli.placebo", "nli_again", "nli_again.placebo")
    assert card_of(synthetic, tasks=twice)[0]["size_categories"] == ["n<1K"]
    thrice = named(synthetic.manifest, "a", "b", "c")
    assert card_of(synthetic, tasks=thrice)[0]["size_categories"] == ["1K<n<10K"]


def test_placebo_domains_and_splits_that_share_nothing_take_a_line(synthetic: DatasetFolder) -> None:
    (task, *_) = synthetic.manifest.tasks.values()
    domains = [*task.domains]

    def shared(repeated: int, recorded: int | None) -> tuple[SplitOverlap, ...]:
        return (SplitOverlap(split="test", other="train", rows=50, repeated=repeated, recorded=recorded),)

    overlaps = dict(zip(domains, (shared(0, 0), shared(0, None), shared(5, 5), shared(0, 2)), strict=True))
    of_real = {name: facts.model_copy(update={"overlaps": overlaps[name]}) for name, facts in task.domains.items()}
    tasks = {"nli": task.model_copy(update={"domains": of_real}), "nli.placebo": task}
    _, text = card_of(synthetic, tasks=tasks)
    lines = text.splitlines()
    assert any(line.startswith(f"No shared rows: {domains[0]}, {domains[1]} ") for line in lines)
    assert [line for line in lines if "| test | train |" in line] == [
        f"| {domains[2]} | test | train | 50 | 5 | 10.0% | 5 |",
        f"| {domains[3]} | test | train | 50 | 0 | 0.0% | 2 |",
    ]
    section = text.partition("## nli.placebo: ")[2].partition("\n## ")[0]
    rows = [facts.splits["train"].rows for facts in task.domains.values()]
    span = f"{min(rows)} to {max(rows)}" if min(rows) < max(rows) else f"{rows[0]}"
    assert f"`nli.placebo.{domains[-1]}`: " in section
    assert f" {span} train" in section
    assert "Licence" not in section


def test_it_says_how_to_submit(synthetic: DatasetFolder) -> None:
    _, text = card_of(synthetic)
    columns = ("`source`", "`id`", "`prediction`", "`seed` (optional)", "`confidence` (optional)",
               "`probabilities` (optional)")  # fmt: skip
    assert all(f"| {column} | " in text for column in columns)
    for command in (
        "data validate preds.parquet",
        "score preds.parquet",
        "submit preds.parquet --card preds.card.yaml --to",
    ):
        assert f"\nshiftbench {command} " in text
    assert f"`{synthetic.content_hash}`" in text
    required = {name for name, field in Card.model_fields.items() if field.is_required()}
    assert required == {"name", "paradigm", "data"}


def with_source(folder: DatasetFolder, **facts: Any) -> dict[str, Any]:
    """Return a change of a folder's manifest: its source says something else."""
    return {"sources": {slug: each.model_copy(update=facts) for slug, each in folder.manifest.sources.items()}}


def test_the_first_screen_loads_a_row_and_lists_the_configs(synthetic: DatasetFolder) -> None:
    text = (synthetic.path / "README.md").read_text(encoding="utf-8").split("---\n", 2)[2]
    first = text.split("\n## ")[0]
    assert 'load_dataset("DIR", "nli.harbour")["train"][0]  # DIR: this folder\'s path\n```\n\n```json\n' in first
    row = json.loads(first.split("```json\n")[1].split("```")[0])
    assert row == synthetic.split("nli", "harbour", "train").row(0, named=True)
    megabytes = sum(file.stat().st_size for file in (synthetic.path / "data/nli").rglob("*.parquet")) / 1e6
    size = f"{megabytes:.1f}&nbsp;MB" if megabytes >= 0.1 else f"{1000 * megabytes:.0f}&nbsp;kB"
    licence = "[Apache-2.0](https://spdx.org/licenses/Apache-2.0.html)"
    counts = [
        sum(facts.splits[split].rows for facts in synthetic.task("nli").domains.values() if split in facts.splits)
        for split in SPLITS
    ]
    assert f"| `nli` | {' / '.join(f'{count:,}' for count in counts)} | {size} | {licence} |\n" in first
    assert "`nli.depth`, `sa.depth`.\n" in first
    assert len(first.splitlines()) <= 32
    assert dataset_card(synthetic.manifest, {}, repo="org/demo").count('load_dataset("org/demo", ') == 1


def test_the_line_of_the_card_loads_its_row(
    grid: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path)
    card = (grid.path / "README.md").read_text(encoding="utf-8")
    code, shown = (re.findall(f"```{name}\n(.*?)```", card, re.DOTALL)[0] for name in ("python", "json"))
    *before, line = code.replace('"DIR"', repr(str(grid.path))).strip().splitlines()
    names: dict[str, Any] = {}
    exec("\n".join(before), names)
    loaded, row = eval(line, names), json.loads(shown)
    text = row.pop("text").removesuffix(" ...")  # a long text is cut
    assert len(text) > 50
    assert loaded.pop("text").startswith(text)
    assert loaded == row


def test_long_texts_of_the_row_are_cut(grid: DatasetFolder) -> None:
    row = {"id": "x", "tokens": ["w"] * 30, "text": "word " * 99, "answers": {"text": ["y " * 200]}}
    text = dataset_card(grid.manifest, {}, Seen({config.name: 1 for config in configs(grid.manifest)}, row))
    shown = json.loads(text.split("```json\n")[1].split("```")[0])
    assert shown["tokens"] == ["w"] * 12 + ["..."]
    assert len(shown["text"]) < 100
    assert len(shown["answers"]["text"][0]) < 100
    assert shown["text"].endswith("word ...")


def test_what_may_hurt_is_said_first(synthetic: DatasetFolder) -> None:
    front, text = card_of(synthetic)
    assert "not-for-all-audiences" not in front["tags"]
    assert "warning" not in text
    harm = with_source(synthetic, harm="Slurs.", personal_data="Names.", annotators="two experts")
    front, text = card_of(synthetic, partial=True, **harm)
    assert "not-for-all-audiences" in front["tags"]
    title = synthetic.manifest.sources["generated"].title
    assert text.index(f"{title}: Slurs.") < text.index("\n> **", text.index("\n> **") + 1)  # before it is partial
    assert text.count("Names.") == text.count("two experts") == 1
    row = synthetic.split("nli", "harbour", "train").row(0, named=True)
    seen = Seen({config.name: 1 for config in configs(synthetic.manifest)}, row)
    text = dataset_card(synthetic.manifest.model_copy(update=harm), {}, seen)
    assert row["premise"] not in text
    assert row["id"] in text
    assert row["premise"] in dataset_card(synthetic.manifest, {}, seen)
    assert "not-for-all-audiences" not in card_of(synthetic, **with_source(synthetic, harm="none"))[0]["tags"]


def test_sources_of_toxic_texts_are_warned_of_before_others(mixed: DatasetFolder) -> None:
    sources = {slug: each.model_copy(update={"harm": f"{slug} harm"}) for slug, each in mixed.manifest.sources.items()}
    toxic = mixed.task("sa").model_copy(update={"domains": {"lamps": mixed.task("sa").domains["lamps"]}})
    manifest = mixed.manifest.model_copy(update={"sources": sources, "benchmark": "boss"})
    in_order = manifest.model_copy(update={"tasks": {"nli": mixed.task("nli")}})
    assert [source.harm.split()[0] for source in harmful_sources(in_order)] == ["closed", "open"]
    with_toxic = manifest.model_copy(update={"tasks": {"nli": mixed.task("nli"), "td_candidates": toxic}})
    assert [source.harm.split()[0] for source in harmful_sources(with_toxic)] == ["open", "closed"]


@pytest.mark.parametrize(
    ("licences", "expected"),
    [
        ([{"spdx": "CC-BY-4.0"}], {"license": "cc-by-4.0"}),
        ([{"spdx": "ODbL-1.0"}, {"spdx": "MIT"}], {"license": ["mit", "odbl"]}),
        ([{"licence": OWN_LICENCE}], {"license": "unknown"}),
        (
            [{"spdx": "CC-BY-SA-3.0 AND CC-BY-3.0", "licence_url": "https://example.org/l"}],
            {"license": "other", "license_name": "cc-by-sa-3.0-and-cc-by-3.0", "license_link": "https://example.org/l"},
        ),
        (
            [{"licence": "as stated (A)"}, {"licence": "B"}, {"spdx": "MIT"}],
            {"license": ["mit", "other"], "license_name": "by-source"},
        ),
    ],
)
def test_the_hub_knows_the_licences(licences: list[dict[str, str]], expected: dict[str, Any]) -> None:
    facts = {"title": "t", "url": "", "revision": "", "licence": "l", "open_licence": True, "citation": ""}
    assert hub_licence([SourceFacts.model_validate(facts | each) for each in licences]) == expected


def test_a_publisher_is_named_with_date_contact_and_bibtex(synthetic: DatasetFolder) -> None:
    facts = {"title": "T", "authors": [{"name": "Data Ltd"}], "date-released": "2026-11-23"}
    publication = Publication.model_validate(facts | {"contact": [{"email": "data@example.org"}]})
    _, text = card_of(synthetic, publication=publication)
    assert "Data Ltd, 2026-11-23." in text
    assert "data@example.org" in text
    assert f"## Citation\n\n```bibtex\n{publication.bibtex}\n\n@misc{{seegmiller" in text


def test_the_language_is_stated_where_it_is_known(synthetic: DatasetFolder) -> None:
    assert card_of(synthetic)[0]["language"] == ["en"]
    assert "language" not in card_of(synthetic, benchmark="own")[0]
