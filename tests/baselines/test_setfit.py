"""SetFit's pairs, and training with it on a tiny encoder."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.baselines import setfit
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.cards import read_card
from shiftbench.validation.prediction_files import read_predictions
from tests.baselines.tiny import words_in
from tests.baselines.tiny_models import save_sentence_encoder


def test_shots_are_of_every_label() -> None:
    labels = np.repeat([0, 1, 2], [50, 30, 2])
    places = setfit.draw_shots(labels, 4, np.random.default_rng(0))
    assert np.bincount(labels[places]).tolist() == [4, 4, 2]  # the third label has no more
    assert places.tolist() == sorted(set(places.tolist()))
    other = setfit.draw_shots(labels, 4, np.random.default_rng(1))
    assert places.tolist() != other.tolist()
    assert setfit.draw_shots(labels, 0, np.random.default_rng(0)).tolist() == list(range(82))


def test_pairs_alternate_and_are_gone_through_again() -> None:
    labels = np.array([0, 0, 1])
    pairs, same = setfit.contrast_pairs(labels, 4, np.random.default_rng(0))
    assert pairs.shape == (24, 2)
    assert same.tolist() == [1, 0] * 12
    assert (labels[pairs[:, 0]] == labels[pairs[:, 1]]).tolist() == [True, False] * 12
    # Four pairs share a label, a text with itself counted, and two do not: each kind is repeated in its own order.
    positive, negative = pairs[::2], pairs[1::2]
    assert {tuple(pair) for pair in positive[:4].tolist()} == {(0, 0), (0, 1), (1, 1), (2, 2)}
    assert positive[4:8].tolist() == positive[:4].tolist()
    assert {tuple(pair) for pair in negative[:2].tolist()} == {(0, 2), (1, 2)}
    assert negative[2:4].tolist() == negative[:2].tolist()


def test_training_moves_texts_of_a_label_together(
    synthetic: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the encoder trained, a seed's file is the same twice, and better than that of the frozen encoder."""
    encoder = save_sentence_encoder(tmp_path / "encoder", words_in(synthetic, "sa"))

    monkeypatch.setattr(setfit, "ROUNDS", 10)

    def scores(name: str, learning_rate: float) -> pl.DataFrame:
        monkeypatch.setattr(setfit, "LEARNING_RATE", learning_rate)
        out, domains = tmp_path / name, {"source": ["lamps"], "target": ["lamps"]}
        setfit.main("sa", synthetic.path, out, **domains, encoder=encoder, shots=16)
        return read_predictions(out)

    trained, again, frozen = (scores(*each) for each in (("a.parquet", 3e-3), ("b.parquet", 3e-3), ("c.parquet", 0)))
    assert trained.equals(again)
    gold = synthetic.test("sa").select(
        "id", gold=pl.col("label").replace_strict(dict(enumerate(synthetic.task("sa").labels)))
    )

    def accuracy(frame: pl.DataFrame) -> float:
        return float(frame.join(gold, on="id").select(pl.col("prediction").eq(pl.col("gold")).mean()).item())

    assert accuracy(trained) > accuracy(frozen) + 0.05
    card = read_card(tmp_path / "a.card.yaml")
    assert card.training_size == 16 * len(synthetic.task("sa").labels)
    assert not (tmp_path / "a.work").exists()


def test_one_label_is_refused(synthetic: DatasetFolder) -> None:
    from shiftbench.baselines.runs import Run
    from shiftbench.validation.report import InvalidInput

    train = synthetic.split("sa", "lamps", "train").filter(pl.col("label") == 0)
    with pytest.raises(InvalidInput, match="the same label"):
        setfit.fit_setfit(Run("lamps", 0, train), "nowhere", ("text",), 8)
