import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from shiftbench.baselines.robust.contrastive import (
    DIMENSIONS,
    EMPTY,
    MEMORY,
    MemoryClassifier,
    mscl_loss,
    supervised_contrastive,
)


def unit(*degrees: float) -> Tensor:
    angles = torch.tensor(degrees).deg2rad()
    return torch.stack([angles.cos(), angles.sin()], dim=1)


NOTHING = torch.zeros(2, 2), torch.full((2,), EMPTY)


def reference_loss(
    anchors: list[list[float]], labels: list[int], memory: list[list[float]], memory_labels: list[int]
) -> float:
    """Compute the loss of tonytan48/MSCL's ``memory_supcontrast.py`` number by number, as MSCL calls it.

    There ``temperature`` is 0.2 and ``base_temperature`` 1.0; an anchor's contrasts are the rest of the batch and the
    memory, each divided by its length.
    """

    def cosine(first: list[float], second: list[float]) -> float:
        return sum(a * b for a, b in zip(first, second, strict=True)) / (math.hypot(*first) * math.hypot(*second))

    means = []
    for place, (anchor, label) in enumerate(zip(anchors, labels, strict=True)):
        others = [*anchors[:place], *anchors[place + 1 :], *memory]
        other_labels = [*labels[:place], *labels[place + 1 :], *memory_labels]
        logits = [cosine(anchor, other) / 0.2 for other in others]
        normaliser = math.log(sum(math.exp(logit) for logit in logits))
        log_p = [logit - normaliser for logit, other in zip(logits, other_labels, strict=True) if other == label]
        if log_p:
            means.append(-(0.2 / 1.0) * sum(log_p) / len(log_p))
    return sum(means) / len(means)


ANCHORS = [[0.3, -1.2, 0.5], [1.1, 0.4, -0.2], [-0.6, 0.9, 0.8], [0.2, -0.7, 1.5], [0.9, 0.9, -1.0]]
REMEMBERED = [[0.4, 0.4, 0.4], [-1.3, 0.2, 0.1], [0.7, -0.8, 0.3]]


@pytest.mark.parametrize(
    ("labels", "memory_labels"),
    [([0, 1, 2, 0, 1], [2, 0, 1]), ([0, 0, 0, 0, 0], [0, 1, 1]), ([0, 1, 2, 3, 4], [4, 4, 5])],
    ids=["all have positives", "one class in the batch", "one anchor has positives"],
)
def test_the_loss_is_that_of_the_authors_code(labels: list[int], memory_labels: list[int]) -> None:
    unit_anchors, unit_memory = (functional.normalize(torch.tensor(rows), dim=1) for rows in (ANCHORS, REMEMBERED))
    found = supervised_contrastive(unit_anchors, torch.tensor(labels), unit_memory, torch.tensor(memory_labels))
    assert found.item() == pytest.approx(reference_loss(ANCHORS, labels, REMEMBERED, memory_labels), rel=1e-5)


def test_the_loss_by_hand() -> None:
    """Anchors at 0, 60 (label 0) and 90 degrees (label 1); the memory has 180 (label 1) and an empty place."""
    z, labels = unit(0, 60, 90), torch.tensor([0, 0, 1])
    memory, memory_labels = torch.cat([unit(180), torch.zeros(1, 2)]), torch.tensor([1, EMPTY])

    def term(positive: float, others: list[float]) -> float:
        exponentials = [math.exp(math.cos(math.radians(angle)) / 0.5) for angle in [positive, *others]]
        return -math.log(exponentials[0] / sum(exponentials))

    expected = (term(60, [90, 180]) + term(60, [30, 120]) + term(90, [90, 30])) / 3
    found = supervised_contrastive(z, labels, memory, memory_labels, temperature=0.5)
    assert abs(found.item() - 0.5 * expected) < 1e-5  # temperature 0.5 / base temperature 1


def test_two_positives_are_averaged_outside_the_logarithm() -> None:
    z, memory = unit(0), unit(0, 90)
    found = supervised_contrastive(z, torch.tensor([1]), memory, torch.tensor([1, 1]), temperature=1.0)
    total = math.exp(1) + 1
    assert abs(found.item() - (-(math.log(math.e / total) + math.log(1 / total)) / 2)) < 1e-6


def test_anchors_without_positives_are_left_out() -> None:
    z, labels = unit(0, 10, 200), torch.tensor([0, 0, 1])
    with_lonely = supervised_contrastive(z, labels, *NOTHING)
    first = z[:2].clone()
    halves = [
        supervised_contrastive(first[[i]], labels[[i]], torch.cat([first[[1 - i]], z[[2]]]), labels[[1 - i, 2]])
        for i in (0, 1)
    ]
    torch.testing.assert_close(with_lonely, torch.stack(halves).mean())


def test_a_batch_in_which_nobody_has_positives_has_no_loss_and_no_gradient() -> None:
    for z, labels in ((unit(0), torch.tensor([0])), (unit(0, 50), torch.tensor([0, 1]))):
        z.requires_grad_()
        loss = supervised_contrastive(z, labels, *NOTHING)
        loss.backward()
        assert loss == 0
        assert z.grad is not None
        assert (z.grad == 0).all()


def test_gradients_reach_anchors_only_as_anchors() -> None:
    """Both anchors are each other's only contrasts: a pair alone is certain, so nothing pulls."""
    z = unit(0, 50).requires_grad_()
    supervised_contrastive(z, torch.tensor([0, 0]), unit(120), torch.tensor([1])).backward()
    assert z.grad is not None
    one = unit(0).requires_grad_()
    supervised_contrastive(one, torch.tensor([0]), unit(50, 120), torch.tensor([0, 1])).backward()
    assert one.grad is not None
    torch.testing.assert_close(z.grad[0], one.grad[0] / 2)


def test_the_memory_holds_the_last_ones_oldest_first(bert) -> None:  # type: ignore[no-untyped-def]
    model = MemoryClassifier(bert.bert, 3)
    assert (model.memory_labels == EMPTY).all()
    for start in (0, 100):
        rows = torch.arange(start, start + 100)
        model.remember(rows.unsqueeze(1).expand(-1, DIMENSIONS).float(), rows)
    assert model.memory_labels.tolist() == list(range(200 - MEMORY, 200))
    assert (model.memory == model.memory_labels.unsqueeze(1)).all()
    assert {"memory", "memory_labels"} <= set(model.state_dict())  # so checkpoints have them


def test_a_step_is_against_the_memory_before_it_and_adds_to_it(bert, batch) -> None:  # type: ignore[no-untyped-def]
    model = MemoryClassifier(bert.bert, 3).eval()
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
    output = model(**inputs)
    first = mscl_loss(model, batch)
    torch.testing.assert_close(first, torch.nn.functional.cross_entropy(output.logits, batch["labels"]))
    assert model.memory_labels[-3:].tolist() == [EMPTY, 2, 0]
    torch.testing.assert_close(model.memory[-2:], output.z)
    assert not model.memory.requires_grad
    second = mscl_loss(model, batch)
    memory = torch.zeros(2, DIMENSIONS), torch.full((2,), EMPTY)
    expected = supervised_contrastive(output.z, batch["labels"], output.z, batch["labels"])
    torch.testing.assert_close(second - first, expected)
    assert supervised_contrastive(output.z, batch["labels"], *memory) == 0


def test_padding_is_not_read(bert, batch) -> None:  # type: ignore[no-untyped-def]
    model = MemoryClassifier(bert.bert, 3).eval()
    short = model(input_ids=batch["input_ids"][1:, :3], attention_mask=batch["attention_mask"][1:, :3])
    long = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
    torch.testing.assert_close(short.z[0], long.z[1])
    torch.testing.assert_close(long.z.norm(dim=1), torch.ones(2))
