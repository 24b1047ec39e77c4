"""What each method's term is worth, against plain numpy written from the paper's equation, with no part of ours in it.

docs/methods/differences.md names what differs from the authors' code on purpose; here the authors' form stands beside
ours where a number tells them apart.
"""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from shiftbench.baselines.robust.bias import mixin_loss
from shiftbench.baselines.robust.freelb import freelb_step
from shiftbench.baselines.robust.in_context import find_nearest, label_scores
from shiftbench.baselines.robust.losses import cross_entropy, loss_of
from shiftbench.baselines.training.batches import IGNORED
from shiftbench.baselines.training.trainer import Batch, plain_loss

Array = NDArray[np.float64]
LOGITS = np.random.default_rng(0).normal(size=(7, 4)) * 2
LABELS = np.array([0, 3, 1, IGNORED, 2, 0, 3])


def log_softmax(logits: Array) -> Array:
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def test_focal_loss_and_smoothing_are_those_of_their_equations() -> None:
    """Lin et al. 2017, eq. 4 with alpha 1; Szegedy et al. 2016, sec. 7: q = (1 - e) onehot + e / C."""
    kept = LABELS != IGNORED
    log_p = log_softmax(LOGITS[kept])
    of_label = log_p[np.arange(kept.sum()), LABELS[kept]]
    focal = -((1 - np.exp(of_label)) ** 2 * of_label).mean()
    target = np.full(log_p.shape, 0.1 / 4)
    target[np.arange(kept.sum()), LABELS[kept]] += 0.9
    smoothed = -(target * log_p).sum(axis=1).mean()
    given = torch.tensor(LOGITS), torch.tensor(LABELS)
    assert cross_entropy(*given, gamma=2.0).item() == pytest.approx(focal, rel=1e-6)
    assert cross_entropy(*given, epsilon=0.1).item() == pytest.approx(smoothed, rel=1e-6)


def test_own_loss_adds_logarithms_where_the_authors_code_adds_probabilities() -> None:
    """Clark et al. 2019, sec. 3.2.4: softmax(log p + g log b), and 0.03 of the entropy of softmax(g log b)."""
    logits, labels = LOGITS[:3, :3], np.array([0, 2, 1])
    bias = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
    g = np.array([[0.5], [1.5], [1.0]])

    def loss(added: Array) -> float:
        together = log_softmax(log_softmax(logits) + added)
        own = log_softmax(added)
        entropy = -(np.exp(own) * own).sum(axis=1).mean()
        return float(-together[np.arange(3), labels].mean() + 0.03 * entropy)

    def ours(added: Array) -> float:
        return mixin_loss(torch.tensor(logits), torch.tensor(added), torch.tensor(labels)).item()

    assert ours(g * np.log(bias)) == pytest.approx(loss(g * np.log(bias)), rel=1e-6)
    # The authors' code passes g * b on; a bias of 0.7 then counts at most e^0.7 = 2 times as much as a bias of 0.
    assert ours(g * bias) == pytest.approx(loss(g * bias), rel=1e-6)
    assert abs(loss(g * bias) - loss(g * np.log(bias))) > 0.1


class MeanOfWords(nn.Module):
    """Logits linear in the mean of the words' embeddings, whose gradients are known in closed form."""

    def __init__(self, words: Array, weights: Array) -> None:
        super().__init__()
        self.words = nn.Embedding.from_pretrained(torch.tensor(words), freeze=False)
        self.weights = nn.Parameter(torch.tensor(weights))

    def get_input_embeddings(self) -> nn.Embedding:
        return self.words

    def forward(self, inputs_embeds: Tensor, attention_mask: Tensor) -> Any:
        mask = attention_mask.unsqueeze(-1).double()
        return type("Output", (), {"logits": (inputs_embeds * mask).sum(1) / mask.sum(1) @ self.weights})


def test_freelb_takes_the_steps_of_its_algorithm() -> None:
    """Zhu et al. 2020, algorithm 1: the mean of the gradients at K points, each a step of 0.01 up the loss."""
    rng = np.random.default_rng(1)
    words, weights = rng.normal(size=(9, 5)), rng.normal(size=(5, 3))
    ids, lengths, labels = np.array([[1, 4, 2, 8], [7, 3, 0, 0]]), np.array([4, 2]), np.array([2, 0])
    mask = np.arange(4) < lengths[:, None]

    generator = torch.Generator().manual_seed(5)
    uniform = torch.rand((2, 4, 5), generator=torch.Generator().manual_seed(5)).numpy().astype(np.float64) * 2 - 1
    # Uniform in [-1, 1], times 0.02 / sqrt(number of the text's own numbers).
    change = uniform * mask[:, :, None] * (0.02 / np.sqrt(lengths * 5))[:, None, None]
    to_weights, to_words, losses = np.zeros_like(weights), np.zeros_like(words), []
    for _ in range(3):
        pooled = ((words[ids] + change) * mask[:, :, None]).sum(1) / lengths[:, None]
        log_p = log_softmax(pooled @ weights)
        losses.append(-log_p[np.arange(2), labels].mean())
        to_logits = (np.exp(log_p) - np.eye(3)[labels]) / 2
        to_weights += pooled.T @ to_logits / 3
        to_each = (to_logits @ weights.T / lengths[:, None])[:, None, :] * mask[:, :, None]
        np.add.at(to_words, ids, to_each / 3)
        change = change + 0.01 * to_each / np.linalg.norm(to_each.reshape(2, -1), axis=1)[:, None, None]

    model = MeanOfWords(words, weights)
    batch = {
        "input_ids": torch.tensor(ids),
        "attention_mask": torch.tensor(mask).long(),
        "labels": torch.tensor(labels),
    }
    found = freelb_step(model, batch, loss_of(), Tensor.backward, generator=generator)
    assert found.item() == pytest.approx(np.mean(losses), rel=1e-6)
    assert model.weights.grad is not None
    assert model.words.weight.grad is not None
    np.testing.assert_allclose(model.weights.grad.numpy(), to_weights, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(model.words.weight.grad.numpy(), to_words, rtol=1e-5, atol=1e-9)


class FixedLogits(nn.Module):
    """A causal language model whose logits are given."""

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.all = logits

    def forward(self, logits_to_keep: Tensor | None = None, **inputs: Any) -> Any:
        from transformers.loss.loss_utils import ForCausalLMLoss

        loss = None
        if "labels" in inputs:
            loss = ForCausalLMLoss(self.all, inputs["labels"], vocab_size=self.all.shape[-1])
        kept = self.all if logits_to_keep is None else self.all[:, logits_to_keep]
        return type("Output", (), {"logits": kept, "loss": loss})


def test_daicl_learns_whole_sequences_and_scores_labels_by_their_tokens() -> None:
    """Long et al. 2023, eq. 4: the language modelling loss of contexts, query and label; padding has none."""
    rng = np.random.default_rng(2)
    logits, ids = rng.normal(size=(2, 5, 6)), np.array([[1, 4, 2, 5, 3], [2, 2, 0, IGNORED, IGNORED]])
    log_p = log_softmax(logits)
    terms = [log_p[row, place - 1, ids[row, place]] for row in (0, 1) for place in range(1, 5) if ids[row, place] >= 0]
    batch: Batch = {"input_ids": torch.tensor(ids).clamp(min=0), "labels": torch.tensor(ids)}
    assert plain_loss(FixedLogits(torch.tensor(logits)), batch).item() == pytest.approx(-np.mean(terms), rel=1e-6)
    assert len(terms) == 6

    label = np.where(np.arange(5) >= 3, ids, IGNORED)
    label[1, 2] = 0
    scores = label_scores(
        FixedLogits(torch.tensor(logits)),
        {"input_ids": batch["input_ids"], "attention_mask": batch["input_ids"], "labels": torch.tensor(label)},
    )
    expected = [log_p[0, 2, 5] + log_p[0, 3, 3], log_p[1, 1, 0]]
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


def test_neighbours_of_rag_and_daicl_are_those_of_a_full_sort() -> None:
    rng = np.random.default_rng(3)
    texts, candidates = (rng.normal(size=(n, 8)).astype(np.float32) for n in (11, 40))
    texts, candidates = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (texts, candidates))
    for text, found in zip(texts, find_nearest(texts, candidates, 3), strict=True):
        cosines = [float(np.dot(text, candidate)) for candidate in candidates]
        assert found == sorted(range(40), key=lambda place: cosines[place])[-3:]
