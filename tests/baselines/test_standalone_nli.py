"""The program without anything of ours writes the bytes that ``finetune-classifier`` writes."""

import ast
import runpy
import sys
from pathlib import Path

import datasets
import pytest

from shiftbench.baselines import finetune_classifier
from shiftbench.builders.folder.reader import DatasetFolder
from tests.baselines.tiny import save_bert, words_in

PROGRAM = Path(finetune_classifier.__file__).with_name("standalone_nli.py")


@pytest.fixture(scope="module")
def encoder(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_bert(tmp_path_factory.mktemp("model"), words_in(synthetic, "nli")))


@pytest.mark.parametrize(("ending", "seed"), [("jsonl", 0), ("parquet", 7)])
def test_its_bytes_are_those_of_the_program(
    ending: str, seed: int, encoder: str, synthetic: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = tmp_path / f"ours.{ending}", tmp_path / f"theirs.{ending}"
    finetune_classifier.main("nli", synthetic.path, ours, source=["kitchen"], seed=[seed], model=encoder, epochs=2)
    options = {"--source": "kitchen", "--model": encoder, "--out": theirs, "--seed": seed, "--epochs": 2}
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
