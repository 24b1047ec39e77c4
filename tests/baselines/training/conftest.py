"""A tiny encoder over ten words, and rows that it can learn: the label is whether one of two words occurs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.baselines.tiny import save_bert

WORDS = ("ash", "beech", "cedar", "elm", "fir", "larch", "maple", "oak", "pine", "yew")


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_bert(tmp_path_factory.mktemp("models") / "bert", WORDS)


@pytest.fixture(scope="session")
def rows() -> list[dict[str, Any]]:
    """120 rows of 3 to 12 words; ids 4 and 5 are the first two words."""
    rng, made = np.random.default_rng(0), []
    for _ in range(120):
        words = rng.integers(6, 14, rng.integers(1, 11)).tolist()
        label = int(rng.integers(2))
        words.insert(int(rng.integers(len(words) + 1)), 4 + label)
        ids = [2, *words, 3]
        made.append({"input_ids": ids, "attention_mask": [1] * len(ids), "labels": label})
    return made
