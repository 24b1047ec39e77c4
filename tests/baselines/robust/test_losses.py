from functools import partial

import pytest
import torch
from torch.nn import functional

from shiftbench.baselines.robust.losses import cross_entropy, loss_of
from shiftbench.baselines.training.batches import IGNORED


@pytest.fixture
def logits() -> torch.Tensor:
    return torch.randn(6, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 2


LABELS = torch.tensor([0, 3, 1, 1, 2, 0])


def test_without_gamma_and_epsilon_it_is_cross_entropy(logits: torch.Tensor) -> None:
    torch.testing.assert_close(
        cross_entropy(logits, LABELS).double(), functional.cross_entropy(logits.float(), LABELS).double()
    )


def test_focal_loss_weighs_by_what_is_left_to_learn() -> None:
    p = torch.tensor([[0.9, 0.1], [0.25, 0.75]])
    expected = -(0.1**2 * torch.tensor(0.9).log() + 0.75**2 * torch.tensor(0.25).log()) / 2
    torch.testing.assert_close(cross_entropy(p.log(), torch.tensor([0, 0]), gamma=2.0), expected)


@pytest.mark.parametrize("epsilon", [0.1, 0.4])
def test_smoothing_is_torchs(epsilon: float, logits: torch.Tensor) -> None:
    expected = functional.cross_entropy(logits.float(), LABELS, label_smoothing=epsilon)
    torch.testing.assert_close(cross_entropy(logits, LABELS, epsilon=epsilon), expected)


def test_both_together_weigh_each_class_of_the_smoothed_label() -> None:
    p = torch.tensor([[0.8, 0.2]])
    expected = -(0.95 * 0.2**2 * torch.tensor(0.8).log() + 0.05 * 0.8**2 * torch.tensor(0.2).log())
    torch.testing.assert_close(cross_entropy(p.log(), torch.tensor([0]), gamma=2.0, epsilon=0.1), expected)


@pytest.mark.parametrize("loss", [cross_entropy, partial(cross_entropy, gamma=2.0, epsilon=0.1)])
def test_ignored_labels_count_for_nothing(loss, logits: torch.Tensor) -> None:  # type: ignore[no-untyped-def]
    some = LABELS.clone()
    some[[1, 4]] = IGNORED
    kept = some != IGNORED
    torch.testing.assert_close(loss(logits.view(2, 3, 4), some.view(2, 3)), loss(logits[kept], LABELS[kept]))
    assert loss(logits, torch.full((6,), IGNORED)) == 0


def test_a_certain_prediction_has_finite_gradients() -> None:
    logits = torch.tensor([[200.0, -200.0]], requires_grad=True)
    cross_entropy(logits, torch.tensor([0]), gamma=2.0, epsilon=0.1).backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


def test_the_loss_of_a_model_is_that_of_its_logits(bert, batch) -> None:  # type: ignore[no-untyped-def]
    ours = loss_of()(bert, batch | {"row": torch.tensor([5, 9])})
    torch.testing.assert_close(ours, bert(**batch).loss)


def test_the_loss_of_a_model_that_writes_is_over_its_tokens(t5, batch) -> None:  # type: ignore[no-untyped-def]
    t5.config.decoder_start_token_id = t5.config.pad_token_id = 0
    pair = batch | {"labels": torch.tensor([[3, 1], [4, -100]])}
    torch.testing.assert_close(loss_of(reads_labels=True)(t5, pair), t5(**pair).loss)
