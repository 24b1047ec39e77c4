from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
from peft import LoraConfig, get_peft_model
from syrupy.assertion import SnapshotAssertion
from torch import Tensor, nn
from transformers import T5ForSequenceClassification

from shiftbench.baselines.robust.freelb import freelb_step
from shiftbench.baselines.robust.losses import loss_of
from shiftbench.baselines.training.trainer import Batch
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal


def gradients(model: nn.Module, step: Callable[[], object]) -> dict[str, Tensor]:
    model.zero_grad()
    step()
    return {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


class Seen:
    """A loss that notes the embeddings of each step."""

    def __init__(self) -> None:
        self.embeddings: list[Tensor] = []

    def __call__(self, model: nn.Module, batch: Batch) -> Tensor:
        self.embeddings.append(batch["inputs_embeds"].detach())
        return loss_of()(model, batch)


def test_one_step_from_nothing_is_plain_training(bert, batch) -> None:  # type: ignore[no-untyped-def]
    plain = gradients(bert, lambda: loss_of()(bert, batch).backward())
    ours = gradients(
        bert, lambda: freelb_step(bert, batch, loss_of(), Tensor.backward, steps=1, start=0, generator=generator())
    )
    torch.testing.assert_close(ours, plain)


def test_gradients_and_loss_are_the_mean_over_the_steps(bert, batch) -> None:  # type: ignore[no-untyped-def]
    """Steps that do not move are the same step three times."""
    options = {"steps": 3, "step_size": 0.0, "start": 0.0}
    losses: list[Tensor] = []
    ours = gradients(
        bert,
        lambda: losses.append(
            freelb_step(bert, batch, loss_of(), Tensor.backward, generator=generator(), **options)  # type: ignore[arg-type]
        ),
    )
    torch.testing.assert_close(ours, gradients(bert, lambda: loss_of()(bert, batch).backward()))
    torch.testing.assert_close(losses[0], loss_of()(bert, batch).detach())


def test_changes_leave_padding_alone_and_have_the_lengths_asked_for(bert, batch) -> None:  # type: ignore[no-untyped-def]
    seen = Seen()
    freelb_step(bert, batch, seen, Tensor.backward, step_size=0.5, start=2e-2, generator=generator())
    plain = bert.get_input_embeddings()(batch["input_ids"]).detach()
    changes = [embeddings - plain for embeddings in seen.embeddings]
    assert len(changes) == 3
    for change in changes:
        assert (change[1, 3:] == 0).all()
        assert (change[0] != 0).any()
    start = changes[0].flatten(1).norm(dim=1)
    # Uniform numbers have the root mean square 1 / sqrt(3).
    torch.testing.assert_close(start, torch.full((2,), 2e-2 / 3**0.5), rtol=0.2, atol=0)
    for before, after in pairwise(changes):
        torch.testing.assert_close((after - before).flatten(1).norm(dim=1), torch.full((2,), 0.5))


def test_each_step_is_harder_than_the_one_before(bert, batch) -> None:  # type: ignore[no-untyped-def]
    losses: list[float] = []

    def backward(loss: Tensor) -> None:
        losses.append(loss.item())
        loss.backward()

    freelb_step(bert, batch, loss_of(), backward, steps=4, step_size=0.05, generator=generator())
    assert losses == sorted(losses)
    assert losses[0] < losses[-1]


def test_frozen_embeddings_stay_without_gradient_and_the_others_get_theirs(bert, batch) -> None:  # type: ignore[no-untyped-def]
    bert.get_input_embeddings().requires_grad_(False)
    found = gradients(bert, lambda: freelb_step(bert, batch, loss_of(), Tensor.backward, generator=generator()))
    assert "bert.embeddings.word_embeddings.weight" not in found
    assert found["classifier.weight"].abs().sum() > 0


def test_it_trains_an_encoder_decoder(t5, batch) -> None:  # type: ignore[no-untyped-def]
    pair = batch | {"decoder_input_ids": torch.tensor([[0, 3], [0, 4]]), "labels": torch.tensor([[3, 1], [4, -100]])}
    plain = gradients(t5, lambda: loss_of()(t5, pair).backward())
    ours = gradients(
        t5, lambda: freelb_step(t5, pair, loss_of(), Tensor.backward, steps=1, start=0, generator=generator())
    )
    torch.testing.assert_close(ours, plain)
    assert gradients(t5, lambda: freelb_step(t5, pair, loss_of(), Tensor.backward, generator=generator()))


def test_the_same_generator_gives_the_same_gradients_and_no_global_state_is_used(bert, batch) -> None:  # type: ignore[no-untyped-def]
    def step(seed: int) -> dict[str, Tensor]:
        return gradients(
            bert, lambda: freelb_step(bert, batch, loss_of(), Tensor.backward, start=1.0, generator=generator(seed))
        )

    state = torch.get_rng_state()
    first, again, other = step(3), step(3), step(4)
    torch.testing.assert_close(first, again, rtol=0, atol=0)
    assert (first["classifier.weight"] != other["classifier.weight"]).any()
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("start", [0.0, 2e-2])
def test_an_example_without_gradient_does_not_move(start: float, bert, batch) -> None:  # type: ignore[no-untyped-def]
    """A loss that looks at nothing gives zero gradients, which have no direction."""
    seen: list[Tensor] = []

    def blind(model: nn.Module, batch: Batch) -> Tensor:
        seen.append(batch["inputs_embeds"].detach())
        return (model(**{k: v for k, v in batch.items() if k != "labels"}).logits * 0).sum()

    freelb_step(bert, batch, blind, Tensor.backward, start=start, generator=generator())
    torch.testing.assert_close(seen[0], seen[-1])


def test_a_model_that_takes_no_embeddings_is_refused(t5, batch, wording: SnapshotAssertion) -> None:  # type: ignore[no-untyped-def]
    model = T5ForSequenceClassification(t5.config)
    assert (
        refusal(InvalidInput, freelb_step, model, batch, loss_of(), Tensor.backward, generator=generator()) == wording
    )


def test_an_adapter_is_trained_too(bert, batch) -> None:  # type: ignore[no-untyped-def]
    adapted = get_peft_model(bert, LoraConfig(task_type="SEQ_CLS"))
    found = gradients(adapted, lambda: freelb_step(adapted, batch, loss_of(), Tensor.backward, generator=generator()))
    assert any("lora_B" in name and (gradient != 0).any() for name, gradient in found.items())
