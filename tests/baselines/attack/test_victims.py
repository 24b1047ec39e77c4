"""Victims: one that is trained here, and a small random model in a folder. Every text is invented."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shiftbench.baselines.attack import victims
from shiftbench.baselines.attack.search import Ask
from shiftbench.validation.report import InvalidInput

LABELS = ("benign", "toxic")


def toxic(number: int) -> str:
    return f"you are one grumblesome neighbour, number {number}, and your hedge looks terrible indeed"


def benign(number: int) -> str:
    return f"the {number} ducks on the pond sleep while evening falls over town"


def test_an_sbert_victim_knows_every_label(word_encoder: Any, tmp_path: Path) -> None:
    rows = [(make(number), code) for number in range(30) for code, make in enumerate((benign, toxic))]
    train = pl.DataFrame(rows, schema=["text", "label"], orient="row").with_columns(domain=pl.lit("here"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(victims, "Encoder", lambda name, cache: word_encoder)
        victim = victims.load_victim("sbert-lr", train, ("absent", *LABELS), seed=0, cache=tmp_path, encoder=None)
    # The codes of the train rows are places in the task's labels: here those of 'absent' and 'benign'.
    found = victim([toxic(2000), benign(2000)])
    assert found.argmax(axis=1).tolist() == [1, 0]
    assert found[:, 2].tolist() == [0, 0]
    assert victim([]).shape == (0, 3)


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of a few numbers with random weights, and a tokenizer of the words above."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers

    place = tmp_path_factory.mktemp("model")
    vocabulary_ = {"[PAD]": 0, "[UNK]": 1} | {
        word: 2 + code for code, word in enumerate(f"{toxic(0)} {benign(0)}".split())
    }
    tokenizer = Tokenizer(models.WordLevel(vocabulary_, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]")
    fast.save_pretrained(place)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=64,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        initializer_range=1.0,
        id2label={0: "Toxic", 1: "Benign"},
    )
    transformers.BertForSequenceClassification(config).save_pretrained(place)
    return place


def load(spec: Path | str, labels: tuple[str, ...] = LABELS, **options: Any) -> Ask:
    return victims.load_victim(str(spec), pl.DataFrame(), labels, seed=0, cache=Path(), encoder=None, **options)


def test_a_model_in_a_folder(model_folder: Path) -> None:
    victim = load(model_folder)
    texts = [toxic(number) for number in range(40)] + [benign(0), "", toxic(1) * 100]
    found = victim(texts)
    assert found.shape == (43, 2)
    assert found.sum(axis=1) == pytest.approx(1)
    alone = np.concatenate([victim([text]) for text in texts])
    assert found == pytest.approx(alone, abs=1e-6)
    assert victim([]).shape == (0, 2)
    swapped = load(model_folder, LABELS[::-1])(texts)
    assert swapped[:, ::-1] == pytest.approx(found)
    mapped = load(model_folder, ("no", "yes"), label_map={"benign": "no", "toxic": "yes"})(texts)
    assert mapped == pytest.approx(found)


def test_a_model_for_other_labels_and_no_model(model_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"key 'id2label': the labels of this model are not the task's; found"):
        load(model_folder, ("negative", "positive"))
    with pytest.raises(InvalidInput, match="the folder holds no model"):
        load(tmp_path)


def test_a_model_without_probabilities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "loud_victim.py").write_text("def label(texts):\n    return ['toxic'] * len(texts)\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        InvalidInput, match="--victim: this model predicts labels without probabilities; found 'loud_victim:label'"
    ):
        load("loud_victim:label")([toxic(0)])
