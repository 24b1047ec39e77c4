"""Losses of several domains: values of the authors' code on the same tensors, and derivations in numpy."""

from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from shiftbench.baselines.robust.coral import coral_loss, coral_penalty
from shiftbench.baselines.robust.dann import Dann, Progress, reversal_weight, reversed_gradient
from shiftbench.baselines.robust.group_dro import GroupDro
from shiftbench.baselines.robust.irm import Irm, irm_penalty
from shiftbench.baselines.robust.last_layer import last_layer, logits_and_features
from shiftbench.baselines.robust.lisa import draw_partners, lisa_loss, mixed_loss
from shiftbench.baselines.robust.losses import cross_entropy

RNG = np.random.default_rng(7)
FEATURES = torch.tensor(RNG.normal(size=(9, 4)))
DOMAINS = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1, 0])
LOGITS = torch.tensor(RNG.normal(size=(9, 3)) * 2)
LABELS = torch.tensor([0, 2, 1, 1, 0, 2, 2, 0, 1])
WEIGHTS = torch.tensor(RNG.normal(size=(3, 4)))


class Fixed(nn.Module):
    """A model whose logits are given, a batch at a time."""

    def forward(self, logits: Tensor) -> Any:
        return type("Output", (), {"logits": logits})


def batch(part: slice) -> dict[str, Tensor]:
    return {"logits": LOGITS[part], "labels": LABELS[part], "domain": DOMAINS[part]}


def test_group_dro_gives_what_its_authors_code_gives_of_domains_with_rows() -> None:
    """``compute_group_avg`` and ``compute_robust_loss`` of kohpangwei/group_DRO; there the fourth group, without rows,
    counts as a loss of 0, so that the others' weights add up to less."""
    theirs = torch.tensor([0.2507820427417755, 0.2555127739906311, 0.25052744150161743, 0.24317774176597595])
    loss = GroupDro(4)
    found = [loss(Fixed(), batch(part)).item() for part in (slice(0, 5), slice(5, 9))]
    assert found[1] == pytest.approx(1.0216052532196045 / theirs[:3].sum().item(), rel=1e-6)
    torch.testing.assert_close(loss.q[:3] / loss.q[:3].sum(), theirs[:3] / theirs[:3].sum(), rtol=1e-6, atol=0)
    assert loss.q.tolist()[3] == pytest.approx(0.25)  # nothing is known of it
    assert loss.q.sum().item() == pytest.approx(1)
    assert "q" in loss.state_dict()  # a checkpoint holds the weights


def test_coral_gives_what_domainbed_gives() -> None:
    """``AbstractMMD.mmd`` with ``mean_cov``, over the three pairs; and numpy's own covariances."""
    assert coral_penalty(FEATURES, DOMAINS).item() == pytest.approx(0.8206455491686054, rel=1e-9)
    groups = [FEATURES[domain == DOMAINS].numpy() for domain in range(3)]
    terms = [
        ((a.mean(0) - b.mean(0)) ** 2).mean() + ((np.cov(a.T) - np.cov(b.T)) ** 2).mean()
        for a, b in combinations(groups, 2)
    ]
    assert coral_penalty(FEATURES, DOMAINS).item() == pytest.approx(np.mean(terms), rel=1e-9)
    assert coral_penalty(FEATURES[:3], DOMAINS[:3]) == 0  # one row of each domain says nothing of covariances


def test_irm_gives_what_its_authors_code_gives() -> None:
    """``penalty`` of facebookresearch/InvariantRiskMinimization, by domain; then the whole loss and its rescaling."""
    found = [irm_penalty(LOGITS[domain == DOMAINS], LABELS[domain == DOMAINS]).item() for domain in range(3)]
    expected = [0.6833817958831787, 4.326832294464111, 1.0193394422531128]
    assert found == pytest.approx(expected, rel=1e-6)
    loss, plain = Irm(warm_up=1), cross_entropy(LOGITS, LABELS).item()
    assert loss(Fixed(), batch(slice(None))).item() == pytest.approx(plain + np.mean(expected), rel=1e-6)
    assert loss(Fixed(), batch(slice(None))).item() == pytest.approx(plain / 100 + np.mean(expected), rel=1e-6)
    assert loss.state_dict()["step"] == 2


def test_lisa_gives_what_its_authors_code_gives() -> None:
    """``mix_up`` of huaxiuyao/LISA with its shares, then the cross entropy with mixed labels."""
    share = [0.6939528721766572, 0.5163090403364688, 0.5891258706390877, 0.3818292635732373, 0.7452946604813213,
             0.2825043984221765, 0.4229697917088159, 0.3822127703957359, 0.346798220223001]  # fmt: skip
    partner = torch.tensor([3, 4, 5, 6, 7, 8, 0, 1, 2])
    found = mixed_loss(lambda features: features @ WEIGHTS.T, FEATURES, LABELS, partner, torch.tensor(share))
    assert found.item() == pytest.approx(1.599668264389038, rel=1e-6)


@pytest.mark.parametrize("across", [True, False])
def test_partners_share_the_one_and_not_the_other(across: bool) -> None:
    torch.manual_seed(0)
    seen = set()
    for _ in range(50):
        partner = draw_partners(LABELS, DOMAINS, across_domains=across)
        for row, other in enumerate(partner.tolist()):
            same = (LABELS[row] == LABELS[other], DOMAINS[row] == DOMAINS[other])
            assert same == (across, not across) or row == other
            seen.add((row, other))
    alone = {row for row, other in seen if row == other}
    fits = {
        row
        for row in range(9)
        for other in range(9)
        if (LABELS[row] == LABELS[other], DOMAINS[row] == DOMAINS[other]) == (across, not across)
    }
    assert alone == set(range(9)) - fits
    assert len(seen) > 9


def test_a_reversed_gradient_teaches_the_features_the_opposite() -> None:
    values = torch.tensor([[1.0, -2.0]], requires_grad=True)
    assert torch.equal(reversed_gradient(values, 0.5), values)
    (reversed_gradient(values, 0.5) ** 2).sum().backward()
    assert values.grad is not None
    torch.testing.assert_close(values.grad, -0.5 * 2 * values.detach())


def test_dann_adds_the_loss_of_the_domains_and_takes_its_gradient_from_the_features(bert, batch) -> None:  # type: ignore[no-untyped-def]
    """Ganin et al. 2016, eq. 10: E = L_y - L_d for the features, + L_d for the classifier of domains."""
    rows = batch | {"domain": torch.tensor([1, 0])}
    state = torch.get_rng_state()
    dann = Dann(32, 2, seed=0)
    dann.progress = 0.1
    assert torch.equal(torch.get_rng_state(), state)
    logits, features = logits_and_features(bert, rows)
    first, _, second = dann.domain_classifier
    hidden = (features.detach().numpy() @ first.weight.detach().numpy().T).clip(min=0)
    told = torch.tensor(hidden @ second.weight.detach().numpy().T)
    by_hand = cross_entropy(logits, rows["labels"]) + cross_entropy(told, rows["domain"])
    found = dann(bert, rows)
    assert found.item() == pytest.approx(by_hand.item(), rel=1e-5)
    found.backward()
    reversed_, forward = bert.bert.pooler.dense.weight.grad.clone(), first.weight.grad.clone()
    bert.zero_grad(), dann.zero_grad()
    logits, features = logits_and_features(bert, rows)
    told_loss = cross_entropy(dann.domain_classifier(features), rows["domain"])
    (cross_entropy(logits, rows["labels"]) - reversal_weight(0.1) * told_loss).backward()
    torch.testing.assert_close(bert.bert.pooler.dense.weight.grad, reversed_)
    torch.testing.assert_close(first.weight.grad, -reversal_weight(0.1) * forward)


def test_the_weight_of_dann_rises_as_in_the_released_code() -> None:
    """``alpha`` of fungtion/DANN after 0, 2, 10, 20 and 40 of 40 steps; Ganin et al. 2016, sec. 5.2.2."""
    dann = Dann(4, 2, seed=0)
    weights = []
    for step in (0, 2, 10, 20, 40):
        Progress(dann).on_step_begin(None, SimpleNamespace(global_step=step, max_steps=40), None)
        weights.append(reversal_weight(dann.progress))
    expected = [0.0, 0.2449186624037092, 0.8482836399575131, 0.9866142981514305, 0.9999092042625952]
    assert weights == pytest.approx(expected, rel=1e-12)


def test_a_reversed_gradient_trains_what_the_authors_code_trains() -> None:
    """Two steps of ``DANN.fit`` of GRAAL-Research/domain_adversarial_neural_network: one hidden layer of sigmoids.

    There the weight slows the classifier of domains, too, which here learns at its full rate (Ganin et al. 2016, sec.
    5.2.2, note 6).
    """
    rng = np.random.default_rng(11)
    source, target = torch.tensor(rng.normal(size=(2, 3))), torch.tensor(rng.normal(size=(1, 3)))
    sizes = {"W": (4, 3), "b": 4, "V": (2, 4), "c": 2, "U": 4}
    weights = {name: torch.tensor(rng.normal(size=size), requires_grad=True) for name, size in sizes.items()}
    weights["d"] = torch.tensor(0.2, dtype=torch.float64, requires_grad=True)
    rate, weight = 0.5, 0.3
    for row, label in zip(source, (0, 1), strict=True):
        hidden = torch.sigmoid(torch.stack([row, target[0]]) @ weights["W"].T + weights["b"])
        logits = hidden[:1] @ weights["V"].T + weights["c"]
        told = reversed_gradient(hidden, weight) @ weights["U"] + weights["d"]
        of_domains = nn.functional.binary_cross_entropy_with_logits(told, told.new_tensor([1, 0]), reduction="sum")
        (cross_entropy(logits, torch.tensor([label])) + of_domains).backward()
        for name, value in weights.items():
            assert value.grad is not None
            with torch.no_grad():
                value.sub_(rate * (weight if name in "Ud" else 1) * value.grad)
            value.grad = None
    expected = {
        "W": [[-1.8602699587897817, 1.4439563466262744, -0.2135568422909815],
              [0.6676957883368647, -0.36258861169873446, -0.5732353989635381],
              [0.4820166226742671, 0.6600413289706043, -0.3148012477214619],
              [-0.16591671150516255, 0.6355854434165424, -0.9228380296408366]],
        "b": [-1.5884675980098504, 0.3086276518181913, -0.7316857630653376, -1.9344218343099209],
        "V": [[-0.6018513726986218, -0.39210791693045993, -1.002395946880177, -1.4779483194051957],
              [-0.17556446430193268, 0.8217596147654604, -0.4239386085125409, -0.7581115941666828]],
        "c": [0.6188299046953898, 0.48339971124690245],
        "U": [-0.2692558596269891, 0.47324291235933913, 1.0132715408994166, -0.2053425552019579],
        "d": 0.09290384625622222,
    }  # fmt: skip
    for name, value in weights.items():
        np.testing.assert_allclose(value.detach().numpy(), expected[name], rtol=1e-6)


class Shallow(nn.Module):
    """A linear layer, and a last layer."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__()
        self.body, self.classifier = drawn_layer(rng, 5, 4), drawn_layer(rng, 4, 3)

    def forward(self, values: Tensor) -> Any:
        return type("Output", (), {"logits": self.classifier(self.body(values))})


def drawn_layer(rng: np.random.Generator, width: int, height: int) -> nn.Linear:
    layer = nn.Linear(width, height)
    weight, bias = rng.normal(size=(height, width)), rng.normal(size=height)
    layer.load_state_dict({"weight": torch.tensor(weight), "bias": torch.tensor(bias)})
    return layer


def test_dann_gives_what_domainbed_gives() -> None:
    """``AbstractDANN.update``, first of the classifier of domains, then of the features, its weight 1, no penalty."""
    rng = np.random.default_rng(11)
    values = torch.tensor(rng.normal(size=(9, 5)), dtype=torch.float32)
    model, dann = Shallow(rng), Dann(4, 3, seed=0)
    dann.domain_classifier = nn.Sequential(drawn_layer(rng, 4, 256), nn.ReLU(), drawn_layer(rng, 256, 3))
    dann.progress = 1.0  # a weight of 0.9999
    loss = dann(model, {"values": values, "labels": LABELS, "domain": DOMAINS})
    loss.backward()
    theirs = {"disc_loss": 34.761923438066646, "gen_loss": -31.610936717264867}
    assert loss.item() == pytest.approx(theirs["gen_loss"] + 2 * theirs["disc_loss"], rel=1e-5)
    norms = [parameter.grad.norm().item() for parameter in dann.parameters()]
    assert norms == pytest.approx([23.052415109579513, 8.593329381453877, 30.071467134018004, 0.9549602732662764], 1e-5)
    norms = [parameter.grad.norm().item() for parameter in model.parameters()]
    assert norms == pytest.approx([24.854236177473428, 19.610749294546594, 2.090732892921277, 0.5067870082871736], 2e-4)
    first = [-0.529284389956779, 4.444145699984986, 5.826048224910294, -3.269596060763189, -0.8046251034726052]
    assert model.body.weight.grad[0].tolist() == pytest.approx(first, abs=1e-3)


def test_features_are_what_the_last_layer_reads(bert, batch) -> None:  # type: ignore[no-untyped-def]
    rows = batch | {"domain": torch.tensor([1, 0])}
    logits, features = logits_and_features(bert, rows)
    assert features.shape == (2, 32)
    torch.testing.assert_close(last_layer(bert)(features), logits)
    assert coral_loss(bert, rows).item() == pytest.approx(cross_entropy(logits, rows["labels"]).item())
    assert torch.isfinite(lisa_loss(bert, rows))
