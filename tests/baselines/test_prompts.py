"""Sentence encoders that want a prompt before each text: their own, by name, or the user's words."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sentence_transformers import SentenceTransformer
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines import sbert_lr
from shiftbench.builders.encoder import Encoder, find_prompt
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.report import InvalidInput
from tests.baselines.tiny import words_in
from tests.baselines.tiny_models import save_sentence_encoder
from tests.refusals import refusal

PROMPTS = {"query": "query: ", "topic": "Instruct: name the topic\nQuery: "}
WORDS = ("query", ":", "Instruct", "name", "the", "topic", "Query")
READS = 24


def saved_encoder(folder: Path, words: list[str], default: str | None = None, *, include_prompt: bool = True) -> str:
    options = {"prompts": PROMPTS, "default_prompt_name": default}
    return save_sentence_encoder(folder, [*WORDS, *words], READS, include_prompt=include_prompt, **options)


@pytest.fixture(scope="module")
def encoder(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> str:
    return saved_encoder(tmp_path_factory.mktemp("encoder"), words_in(synthetic, "sa"))


@pytest.mark.parametrize("include_prompt", [True, False])
@pytest.mark.parametrize("name", ["query", "topic"])
def test_vectors_are_those_of_sentence_transformers(name: str, include_prompt: bool, tmp_path: Path) -> None:
    where = saved_encoder(tmp_path, ["red", "cup", "boat"], include_prompt=include_prompt)
    texts = ["red cup", " boat ", "red boat cup"]
    own = SentenceTransformer(where, device="cpu").encode(texts, prompt_name=name, normalize_embeddings=True)
    prompted = Encoder(where, tmp_path / "cache", prompt=find_prompt(where, name)).encode(texts)
    assert prompted == pytest.approx(own, abs=1e-5)
    # The cache holds the vectors of both prompts under different keys.
    bare = SentenceTransformer(where, device="cpu").encode(texts, normalize_embeddings=True)
    assert Encoder(where, tmp_path / "cache").encode(texts) == pytest.approx(bare, abs=1e-5)
    assert np.abs(bare - own).max() > 0.01


def test_each_window_of_a_long_text_has_the_prompt(encoder: str, tmp_path: Path, wording: SnapshotAssertion) -> None:
    words = ["the", "topic", "name"] * 13
    found = Encoder(encoder, tmp_path / "cache", prompt="query: ").encode([" ".join(words)])[0]
    room = READS - 2 - 2  # marks, and the prompt's two tokens
    windows = ["query: " + " ".join(words[start : start + room]) for start in range(0, len(words), room)]
    vectors = SentenceTransformer(encoder, device="cpu").encode(windows, normalize_embeddings=True)
    assert len(windows) == 2
    assert found == pytest.approx(vectors.sum(axis=0) / np.linalg.norm(vectors.sum(axis=0)), abs=1e-5)
    assert refusal(InvalidInput, Encoder(encoder, tmp_path / "cache", prompt="the " * 14).encode, ["red"]) == wording


def test_prompts_are_found_by_name_or_stand_for_themselves(
    encoder: str, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    assert find_prompt(encoder, "query") == "query: "
    assert find_prompt(encoder, "passage: ") == "passage: "
    assert find_prompt(encoder, None) == find_prompt(encoder, "") == ""
    assert find_prompt(saved_encoder(tmp_path, ["red"], "topic"), None) == PROMPTS["topic"]
    assert refusal(InvalidInput, find_prompt, encoder, "qeury") == wording


def test_a_program_puts_its_prompt_before_texts(encoder: str, synthetic: DatasetFolder, tmp_path: Path) -> None:
    options: dict[str, Any] = {"source": ["lamps"], "target": ["lamps"]}

    def confidences(name: str, **more: Any) -> list[float]:
        sbert_lr.main("sa", synthetic.path, tmp_path / f"{name}.parquet", encoder=encoder, **options, **more)
        return pl.read_parquet(tmp_path / f"{name}.parquet")["confidence"].to_list()

    named = confidences("named", prompt="query")
    assert named == confidences("typed", prompt="query: ")
    assert named != confidences("bare")
