"""The dataset card: what the Hub and people are told of a folder beside its rows."""

from typing import Any

import pytest
import yaml

from shiftbench.builders.folder.citations import READ_OFF, TAXONOMY
from shiftbench.builders.folder.manifest import Manifest
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.writing.dataset_card import dataset_card
from shiftbench.validation.cards import Card
from shiftbench.validation.vocabulary import TaskKind


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
    assert f"taken from {READ_OFF[benchmark]}:" in text
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
