"""The program without anything of ours writes the bytes that ``finetune-classifier`` writes."""

import ast
import runpy
import sys
from pathlib import Path

import datasets
import pytest
from transformers import AutoTokenizer, BertForSequenceClassification

from shiftbench.baselines import finetune_classifier
from shiftbench.baselines.training.models import seeded
from shiftbench.builders.folder.reader import DatasetFolder
from tests.baselines.tiny import save_bert, words_in

PROGRAM = Path(__file__).parents[2] / "docs/benchmark/standalone_nli.py"


@pytest.fixture(scope="module")
def encoder(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_bert(tmp_path_factory.mktemp("model"), words_in(synthetic, "nli")))


@pytest.fixture(scope="module")
def checkpoint(encoder: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a model with a head for the task's labels in another order, as one trained on NLI elsewhere may have."""
    path = tmp_path_factory.mktemp("checkpoint")
    names = dict(enumerate(("CONTRADICTION", "ENTAILMENT", "NEUTRAL")))
    with seeded(3):
        model = BertForSequenceClassification.from_pretrained(encoder, id2label=names)
    model.save_pretrained(path)
    AutoTokenizer.from_pretrained(encoder).save_pretrained(path)
    return str(path)


@pytest.mark.parametrize(
    ("ending", "seed", "kind"), [("jsonl", 0, "encoder"), ("parquet", 7, "encoder"), ("jsonl", 0, "checkpoint")]
)
def test_its_bytes_are_those_of_the_program(
    ending: str,
    seed: int,
    kind: str,
    synthetic: DatasetFolder,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, ours, theirs = request.getfixturevalue(kind), tmp_path / f"ours.{ending}", tmp_path / f"theirs.{ending}"
    assert synthetic.task("nli").labels != ("contradiction", "entailment", "neutral")  # the checkpoint's order
    finetune_classifier.main("nli", synthetic.path, ours, source=["kitchen"], seed=[seed], model=model, epochs=2)
    options = {"--source": "kitchen", "--model": model, "--out": theirs, "--seed": seed, "--epochs": 2}
    typed = [str(word) for pair in options.items() for word in pair]
    monkeypatch.setattr(sys, "argv", [str(PROGRAM), str(synthetic.path), *typed])
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    runpy.run_path(str(PROGRAM), run_name="__main__")
    assert ours.read_bytes() == theirs.read_bytes()


def test_it_imports_nothing_of_ours() -> None:
    imports = [node for node in ast.walk(ast.parse(PROGRAM.read_text("utf-8"))) if isinstance(node, ast.Import)]
    parts = [node for node in ast.walk(ast.parse(PROGRAM.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)]
    names = {alias.name for node in imports for alias in node.names} | {str(node.module) for node in parts}
    others = {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names)
    assert others == {"datasets", "numpy", "torch", "transformers"}
