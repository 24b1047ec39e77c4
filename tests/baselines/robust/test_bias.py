import math

import numpy as np
import polars as pl
import pytest
import torch
from syrupy.assertion import SnapshotAssertion
from torch import Tensor
from torch.nn import functional

from shiftbench.baselines.robust.bias import ENTROPY_WEIGHT, LearnedMixin, cross_fitted_bias, mixin_loss
from shiftbench.baselines.robust.freelb import freelb_step
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal


def rows_of(texts: list[str], labels: list[int], groups: list[str]) -> pl.DataFrame:
    return pl.DataFrame({"id": [f"r{i}" for i in range(len(texts))], "text": texts, "label": labels, "group": groups})


def test_no_row_is_judged_by_a_fit_on_its_own_group() -> None:
    """Each group has a word of its own and one label: who has seen the group knows it, who has not has no idea."""
    by_group = np.random.default_rng(0).permutation(30) % 2
    places = np.repeat(np.arange(30), 4)
    rows = rows_of([f"word{g} the the" for g in places], by_group[places].tolist(), [f"g{g}" for g in places])
    log_p = cross_fitted_bias(rows, ["text"], 2, seed=0)
    of_label = np.exp(log_p)[np.arange(120), rows["label"].to_numpy()]
    assert of_label.mean() < 0.55


def test_words_that_give_labels_away_in_all_groups_are_found_in_either_text() -> None:
    labels = [i % 3 for i in range(90)]
    rows = pl.DataFrame(
        {
            "premise": [("quay" if label == 0 else "shed") + " stands" for label in labels],
            "hypothesis": [("never" if label == 1 else "often") + " there" for label in labels],
            "label": labels,
            "group": [f"g{i // 3}" for i in range(90)],
        }
    )
    log_p = cross_fitted_bias(rows, ["premise", "hypothesis"], 3, seed=1)
    assert log_p.shape == (90, 3)
    assert log_p.dtype == np.float32
    assert (log_p.argmax(axis=1) == labels).all()
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1, rtol=1e-5)


def test_a_class_that_no_tree_knows_keeps_a_finite_logarithm() -> None:
    rows = rows_of(["wind and rain"] * 6, [0, 0, 0, 2, 2, 2], list("aabbcc"))
    log_p = cross_fitted_bias(rows, ["text"], 4, seed=0)
    assert np.isfinite(log_p).all()
    np.testing.assert_allclose(log_p[:, [1, 3]], math.log(1 / 104), rtol=1e-5)


def test_seeds_decide_the_bias() -> None:
    generator = np.random.default_rng(3)
    rows = rows_of(
        [" ".join(generator.choice(["sand", "tide", "moor", "reed"], 3)) for _ in range(40)],
        generator.integers(0, 2, 40).tolist(),
        [f"g{i % 2}" for i in range(40)],
    )
    first, again, other = (cross_fitted_bias(rows, ["text"], 2, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_rows_that_no_bias_model_can_be_fitted_on_are_refused(wording: SnapshotAssertion) -> None:
    rows = rows_of(["sea", "sky"], [0, 1], ["a", "a"]), rows_of(["!", "?"], [0, 1], ["a", "b"])
    assert [refusal(InvalidInput, cross_fitted_bias, each, ["text"], 2, seed=0) for each in rows] == wording


def test_a_bias_model_without_opinion_adds_a_constant() -> None:
    logits = torch.tensor([[1.0, -2.0, 0.5], [0.0, 3.0, 1.0]])
    labels = torch.tensor([0, 2])
    uniform = 1.7 * torch.full((2, 3), math.log(1 / 3))
    expected = functional.cross_entropy(logits, labels) + ENTROPY_WEIGHT * math.log(3)
    torch.testing.assert_close(mixin_loss(logits, uniform, labels), expected)


def test_what_the_bias_model_knows_teaches_the_main_model_less() -> None:
    def pull(bias: list[float]) -> float:
        logits = torch.zeros((1, 2), requires_grad=True)
        mixin_loss(logits, torch.tensor([bias]).log(), torch.tensor([0])).backward()
        assert logits.grad is not None
        return float(-logits.grad[0, 0])

    assert pull([0.95, 0.05]) == pytest.approx(0.05)
    assert pull([0.5, 0.5]) == pytest.approx(0.5)
    assert pull([0.05, 0.95]) == pytest.approx(0.95)


def test_the_loss_of_a_batch_uses_its_own_rows(bert, batch) -> None:  # type: ignore[no-untyped-def]
    log_bias = torch.log_softmax(torch.randn(9, 3, generator=torch.Generator().manual_seed(0)), dim=-1).numpy()
    state = torch.get_rng_state()
    mixin = LearnedMixin(log_bias, 32, seed=0)
    assert torch.equal(torch.get_rng_state(), state)
    output = bert(batch["input_ids"], batch["attention_mask"], output_hidden_states=True)
    g = functional.softplus(mixin.weight(output.hidden_states[-1][:, 0]))
    expected = mixin_loss(output.logits, g * torch.from_numpy(log_bias[[7, 2]]), batch["labels"])
    torch.testing.assert_close(mixin(bert, batch | {"row": torch.tensor([7, 2])}), expected)


def test_an_encoder_decoder_is_pooled_over_its_decoder(t5, batch) -> None:  # type: ignore[no-untyped-def]
    """As in BOSS's code: the logits are those of the last place, the weight is read from the mean over all."""
    asked = torch.tensor([[0, 7], [0, 7]])

    class Verbalized(torch.nn.Module):
        def forward(self, **inputs: Tensor) -> object:
            output = t5(**inputs, decoder_input_ids=asked)
            output.logits = output.logits[:, -1, :3]
            return output

    mixin = LearnedMixin(np.full((2, 3), -1.0, np.float32), 32, seed=0)
    seen: list[Tensor] = []
    mixin.weight.register_forward_hook(lambda module, given, out: seen.append(given[0]))
    mixin(Verbalized(), batch | {"row": torch.tensor([0, 1])})
    encoded = t5.encoder(batch["input_ids"], batch["attention_mask"]).last_hidden_state
    states = t5.decoder(
        asked, encoder_hidden_states=encoded, encoder_attention_mask=batch["attention_mask"]
    ).last_hidden_state
    torch.testing.assert_close(seen[0], (states[:, 0] + states[:, 1]) / 2)


def test_the_weight_of_the_bias_is_trained_under_freelb_too(bert, batch) -> None:  # type: ignore[no-untyped-def]
    mixin = LearnedMixin(np.log(np.array([[0.8, 0.1, 0.1], [0.2, 0.2, 0.6]], np.float32)), 32, seed=0)
    freelb_step(
        bert, batch | {"row": torch.tensor([0, 1])}, mixin, Tensor.backward, generator=torch.Generator().manual_seed(0)
    )
    assert mixin.weight.weight.grad is not None
    assert mixin.weight.weight.grad.abs().sum() > 0
    assert [name for name, _ in mixin.named_parameters()] == ["weight.weight", "weight.bias"]
    assert not mixin.state_dict().keys() & {"log_bias"}
