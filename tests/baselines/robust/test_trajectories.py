"""What methods do over many batches: weights that rise, penalties that begin, and a shortcut that they unlearn.

The terms of each method are held to its authors' code elsewhere (``test_domains``); here whole trainings are run.
"""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from torch import nn

from shiftbench.baselines import finetune_classifier
from shiftbench.baselines.robust.dann import Dann, Progress, reversal_weight, reversed_gradient
from shiftbench.baselines.robust.group_dro import GroupDro
from shiftbench.baselines.robust.irm import WARM_UP, Irm
from shiftbench.baselines.training.batches import LengthBatches
from shiftbench.builders.building.own import build_own
from shiftbench.builders.building.own_columns import Columns
from shiftbench.builders.folder.reader import DatasetFolder
from tests.baselines.tiny import save_bert

N_ROWS = 2000
SHARES = (0.495, 0.495, 0.01)
"""Of the rows of three domains; the last is rare, and nothing tells its labels."""


def train_linear(loss: Any, domains: np.ndarray, *, evenly: bool, epochs: int = 12) -> nn.Linear:
    """Train a linear classifier on two features, the first of which tells the label but in the last domain."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, domains.size)
    tells = np.where(domains == domains.max(), 0, 1)
    features = np.stack([(2 * labels - 1) * tells, np.zeros(domains.size)], axis=1)
    features += rng.normal(size=features.shape)
    values, classes, codes = (torch.tensor(each) for each in (features, labels, domains))
    torch.manual_seed(0)
    model = nn.Linear(2, 2).double()
    optimizer = torch.optim.SGD([*model.parameters(), *loss.parameters()], lr=0.1)
    batches = LengthBatches(np.ones(domains.size, dtype=int), 16, 0, domains if evenly else None)
    for epoch in range(epochs):
        batches.set_epoch(epoch)
        for batch in batches:
            rows = {"values": values[batch], "labels": classes[batch], "domain": codes[batch]}
            optimizer.zero_grad()
            loss(lambda values: SimpleNamespace(logits=model(values)), rows).backward()
            optimizer.step()
    return model


def counted_as_nothing(self: GroupDro, model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """GroupDRO as its authors' code has it: an absent domain has a loss of 0."""
    losses = torch.stack([
        nn.functional.cross_entropy(
            model(batch["values"]).logits[batch["domain"] == one], batch["labels"][batch["domain"] == one]
        )
        if (batch["domain"] == one).any()
        else torch.zeros((), dtype=torch.float64)
        for one in range(len(self.q))
    ])  # fmt: skip
    with torch.no_grad():
        grown = self.q * torch.exp(0.01 * losses)
        self.q.copy_(grown / grown.sum())
    return losses @ self.q.double()


def drawn_domains() -> np.ndarray:
    return np.random.default_rng(1).choice(3, N_ROWS, p=SHARES)


def test_the_weight_of_a_rare_domain_that_is_worst_rises() -> None:
    loss = GroupDro(3)
    train_linear(loss, drawn_domains(), evenly=True)
    assert loss.q[2] > 0.6


def test_without_even_draws_and_absent_domains_at_zero_it_falls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that the test above can fail: so it was with batches drawn from all rows alike."""
    monkeypatch.setattr(GroupDro, "forward", counted_as_nothing)
    loss = GroupDro(3)
    train_linear(loss, drawn_domains(), evenly=False)
    assert loss.q[2] < 0.1


def test_irms_penalty_gets_its_weight_after_the_warm_up() -> None:
    """Check that the loss of one and the same batch changes at step 500, once, by the weight that is divided out."""
    torch.manual_seed(0)
    loss, logits = Irm(), torch.randn(12, 3)
    rows = {"values": logits, "labels": torch.arange(12) % 3, "domain": torch.arange(12) % 2}
    losses = [loss(lambda values: SimpleNamespace(logits=values), rows).item() for _ in range(WARM_UP + 50)]
    assert len(set(losses[:WARM_UP])) == len(set(losses[WARM_UP:])) == 1
    plain = nn.functional.cross_entropy(logits, rows["labels"]).item()
    penalty = losses[0] - plain
    assert penalty > 0
    assert losses[WARM_UP] == pytest.approx(plain / 100 + penalty, rel=1e-5)


def test_danns_gradient_turns_over_the_training() -> None:
    """Check what reaches the features from the domains' classifier: nothing at first, then the opposite."""
    dann, reached = Dann(4, 2, seed=0), []
    features, domains = torch.randn(8, 4, generator=torch.Generator().manual_seed(0)), torch.arange(8) % 2
    for step in (0, 50, 100, 200):
        Progress(dann).on_step_begin(None, SimpleNamespace(global_step=step, max_steps=200), None)
        values = features.clone().requires_grad_()
        told = dann.domain_classifier(reversed_gradient(values, reversal_weight(dann.progress)))
        nn.functional.cross_entropy(told, domains).backward()
        assert values.grad is not None
        reached.append(values.grad.norm().item())
    assert reached[0] == 0
    assert reached == sorted(reached)


DOMAINS = {"kettles": 240, "lamps": 240, "tents": 240, "pumps": 160}
"""Rows of each; nothing but the shortcut differs between them, and no word tells which a text is from."""


def planted(seed: int) -> pl.DataFrame:
    """Draw texts in which one word tells the label in 85%, and a shortcut always, but in ``pumps`` the wrong one."""
    rng = np.random.default_rng(seed)
    rows = []
    for domain, n in DOMAINS.items():
        for number in range(n):
            label = int(rng.integers(2))
            word = ("poor", "fine")[label ^ int(rng.random() < 0.15)]
            shortcut = ("zag", "zig")[label ^ int(domain == "pumps")]
            text = f"{rng.choice(['very', 'quite'])} {word} {shortcut} {domain}{number}"  # unlike all others, unread
            splits = ("test", "validation", "train", "test" if domain == "pumps" else "train")
            rows.append((domain, splits[number % 4], text, ("no", "yes")[label]))
    return pl.DataFrame(rows, schema=["domain", "split", "text", "label"], orient="row")


@pytest.fixture(scope="module")
def shortcut(tmp_path_factory: pytest.TempPathFactory) -> tuple[DatasetFolder, str]:
    """Return the folder of such texts, and an encoder of random weights that knows their words."""
    path = tmp_path_factory.mktemp("shortcut")
    planted(0).write_csv(path / "rows.csv")
    build_own("own", path / "rows.csv", path / "data", columns=Columns(split="split"))
    words = ["very", "quite", "poor", "fine", "zig", "zag"]
    return DatasetFolder.open(path / "data"), str(save_bert(path / "bert", words))


def accuracy_on_pumps(
    shortcut: tuple[DatasetFolder, str], out: Path, methods: Sequence[str], seeds: Sequence[int]
) -> list[float]:
    """Train on all four domains, and score each run where the shortcut is wrong."""
    folder, model = shortcut
    finetune_classifier.main(
        "own", folder.path, out, source=["+".join(sorted(DOMAINS))], target=["pumps"], seed=list(seeds), epochs=10,
        method=list(methods), model=model, learning_rate=3e-3, max_length=16, select=False,
    )  # fmt: skip
    names = dict(enumerate(folder.task("own").labels))
    gold = folder.split("own", "pumps", "test").select(
        "id", gold=pl.col("label").replace_strict(names, return_dtype=pl.String)
    )
    is_right = pl.read_parquet(out).join(gold, on="id").with_columns(right=pl.col("prediction") == pl.col("gold"))
    return is_right.group_by("seed").agg(pl.col("right").mean()).sort("seed")["right"].to_list()


def test_group_dro_unlearns_a_shortcut_that_plain_training_takes(
    shortcut: tuple[DatasetFolder, str], tmp_path: Path
) -> None:
    (plain,) = accuracy_on_pumps(shortcut, tmp_path / "plain.parquet", [], [0])
    (robust,) = accuracy_on_pumps(shortcut, tmp_path / "robust.parquet", ["group-dro"], [0])
    assert plain < 0.5
    assert robust > plain + 0.1


@pytest.mark.long
def test_methods_of_groups_beat_plain_training_on_a_shortcut(
    shortcut: tuple[DatasetFolder, str], tmp_path: Path
) -> None:
    """Five seeds each; the interval of a mean over runs is Student's."""
    found = {
        name: np.array(accuracy_on_pumps(shortcut, tmp_path / f"p{name}.parquet", [name] if name else [], range(5)))
        for name in ("", "group-dro", "dfr")
    }
    for name, scores in found.items():
        reach = 2.776 * scores.std(ddof=1) / np.sqrt(5)
        print(f"| {name or 'plain'} | {100 * scores.mean():.1f} [{100 * (scores.mean() - reach):.1f}, "
              f"{100 * (scores.mean() + reach):.1f}] |")  # fmt: skip
    for name in ("group-dro", "dfr"):
        apart = found[name] - found[""]
        assert apart.mean() - 2.776 * apart.std(ddof=1) / np.sqrt(5) > 0.1
