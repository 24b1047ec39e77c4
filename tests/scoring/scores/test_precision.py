"""How precise a score counts as, beside what its own replicates say."""

import numpy as np
import pytest
from scipy.special import stdtrit
from shiftbench.scoring.scores.precision import Precision

from benchmarks.simulated_tasks import Setting, simulate_values
from shiftbench.scoring.scores import precision

DOCUMENTS = Setting(
    "documents in c", 0.8, 0.6, (1,) * 300, alike=0.05, metric="macro_f1", sizes_of_c=(50,) * 40
)  # fmt: skip


def test_documents_are_not_as_uncertain_as_single_texts() -> None:
    """One variance a group for both would make intervals of 40 documents of 50 texts several times too wide."""
    values = simulate_values(DOCUMENTS, np.random.default_rng(5))
    sizes = Precision(values)
    for source in ("a", "c"):
        figure = sizes.figure("macro_f1", (source, "c"))
        spread = values.scores["macro_f1"][source, "c"][0, 1:].std(ddof=1)
        assert figure.low is not None
        assert figure.high is not None
        assert figure.high - figure.low == pytest.approx(2 * stdtrit(39, 0.975) * spread, rel=0.35)


def test_test_sets_with_groups_of_like_size_share_a_variance(monkeypatch: pytest.MonkeyPatch) -> None:
    values = simulate_values(DOCUMENTS, np.random.default_rng(5))
    apart = Precision(values)
    widths = {cell: _width(apart, cell) for cell in (("a", "a"), ("b", "b"), ("c", "c"))}
    monkeypatch.setattr(precision, "LIKE_SIZE", 50.0)
    together = Precision(values)
    assert _width(together, ("c", "c")) > 2 * widths["c", "c"]
    values = simulate_values(Setting("single texts", 0.8, 0.6, (1,) * 300, metric="macro_f1"), np.random.default_rng(5))
    monkeypatch.setattr(precision, "LIKE_SIZE", 1.0)
    alone = Precision(values)
    monkeypatch.setattr(precision, "LIKE_SIZE", np.inf)
    assert [_width(alone, cell) for cell in widths] == [_width(Precision(values), cell) for cell in widths]


def _width(sizes: Precision, cell: tuple[str, str]) -> float:
    figure = sizes.figure("macro_f1", cell)
    assert figure.low is not None
    assert figure.high is not None
    return figure.high - figure.low
