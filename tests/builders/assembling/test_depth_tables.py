"""Depth tables against a slow reference that compares every pair of texts."""

import numpy as np
import polars as pl
import pytest

from shiftbench.builders.assembling.assemble import AssembledTask, assemble
from shiftbench.builders.assembling.depth import depth_tables
from shiftbench.builders.building.synthetic import SA
from shiftbench.builders.encoder import encoder_texts
from shiftbench.builders.folder.reader import DatasetFolder


def pairwise_depths(vectors: np.ndarray, source: np.ndarray, *, leave_one_out: bool) -> np.ndarray:
    """Compute depths by the definition: 2 minus the mean cosine distance to every source text, pair by pair."""
    depths = []
    for row, x in enumerate(vectors):
        others = [y for number, y in enumerate(source) if not (leave_one_out and number == row)]
        distances = [1 - float(x @ y) / float(np.linalg.norm(x) * np.linalg.norm(y)) for y in others]
        depths.append(2 - np.mean(distances))
    return np.array(depths)


@pytest.mark.parametrize(
    ("task", "source", "target"), [("nli", "harbour", "kitchen"), ("sa", "lamps", "lamps"), ("sa", "tents", "lamps")]
)
def test_a_table_equals_the_pairwise_reference(task, source, target, synthetic: DatasetFolder, word_encoder) -> None:  # type: ignore[no-untyped-def]
    train, test = synthetic.split(task, source, "train"), synthetic.split(task, target, "test")
    inputs = synthetic.task(task).inputs
    x, y = (word_encoder.encode(encoder_texts(rows, inputs)).astype(float) for rows in (train, test))
    own, depth = pairwise_depths(x, x, leave_one_out=True), pairwise_depths(y, x, leave_one_out=False)
    raw = np.maximum(0, own.max() - depth)
    others = train.clear() if source == target else synthetic.split(task, target, "train")
    theirs = np.zeros(0)
    if len(others):
        z = word_encoder.encode(encoder_texts(others, inputs)).astype(float)
        theirs = pairwise_depths(z, x, leave_one_out=False)
    table = synthetic.depth(task, source, target)
    assert table["id"].to_list() == [*train["id"], *test["id"], *others["id"]]
    assert set(table["source"]) == {source}
    np.testing.assert_allclose(table["depth"], np.concatenate([own, depth, theirs]), atol=1e-6)
    assert table["weight"].is_null().to_list() == [True] * len(own) + [False] * len(depth) + [True] * len(theirs)
    np.testing.assert_allclose(table["weight"].drop_nulls(), raw / raw.sum(), atol=1e-5)


def test_the_deepest_text_of_a_pool_is_that_of_all_its_texts(synthetic: DatasetFolder, word_encoder) -> None:  # type: ignore[no-untyped-def]
    parts = list(synthetic.task("nli").domains)[:3]
    inputs = synthetic.task("nli").inputs
    rows = [synthetic.split("nli", part, "train") for part in parts]
    pool = np.concatenate([word_encoder.encode(encoder_texts(part, inputs)).astype(float) for part in rows])
    expected = pairwise_depths(pool, pool, leave_one_out=True).max()
    assert synthetic.deepest_of_pool("nli", parts) == pytest.approx(expected, abs=1e-6)


def test_every_ordered_pair_has_a_table(synthetic: DatasetFolder) -> None:
    for name, task in synthetic.manifest.tasks.items():
        found = {path.stem for path in (synthetic.path / "depth" / name).iterdir()}
        assert found == {f"{source}--{target}" for source in task.domains for target in task.domains}
    assert synthetic.manifest.encoder is not None
    assert synthetic.manifest.encoder.id == "word-encoder"


def small_task(texts: dict[str, dict[str, list[str]]]) -> AssembledTask:
    rows = {
        domain: {
            split: pl.DataFrame({"text": lines, "label": ["positive"] * len(lines), "group": lines})
            for split, lines in splits.items()
        }
        for domain, splits in texts.items()
    }
    return assemble(SA, rows, dict.fromkeys(rows, ("made",)), seed=0, equal=False)


def test_a_source_needs_two_train_texts_and_a_target_a_test_text(word_encoder) -> None:  # type: ignore[no-untyped-def]
    task = small_task(
        {
            "many": {"train": ["a b", "a c"], "test": ["a d", "e"]},
            "one": {"train": ["a"], "test": ["b"]},
            "untrained": {"test": ["c"]},
        }
    )
    pairs = [(source, target) for source, target, _ in depth_tables(task, word_encoder)]
    assert pairs == [("many", "many"), ("many", "one"), ("many", "untrained")]


def test_a_target_no_further_out_than_the_source_has_no_weights(word_encoder) -> None:  # type: ignore[no-untyped-def]
    task = small_task({"a": {"train": ["x y", "x z", "x w"], "test": ["x"]}, "b": {"test": ["q", "x"]}})
    tables = {target: table for _, target, table in depth_tables(task, word_encoder)}
    assert tables["a"]["weight"].null_count() == len(tables["a"]) == 4
    assert tables["b"]["weight"].to_list()[-2:].count(0.0) == 1
    assert tables["b"]["weight"].sum() == 1.0
