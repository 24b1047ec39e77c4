"""Many invented entries in little time: copies of scored ones, with other names and figures."""

import copy
import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from shiftbench.leaderboard.store import Store
from shiftbench.scoring.scores.shape import METRIC_VERSION

PARADIGMS = ("fine-tuned", "few-shot", "zero-shot", "retrieval")
SIZES = (22_700_000, 110_000_000, 340_000_000, 7_000_000_000, 70_000_000_000, None)
FAMILIES = ("bert", "deberta-v3", "t5", "llama", "mistral", None)


def invent(store: Store, templates: Sequence[str], n: int, *, seed: int = 0, names: int | None = None) -> list[str]:
    """Write entries into a store beside those that it has.

    Args:
        store: holds the templates, with their scores.
        templates: ids of entries that are copied in turn.
        n: how many are written.
        seed: of their figures.
        names: how many different names they have; default: each its own.
    Returns: their ids.
    """
    rng = np.random.default_rng(seed)
    kept = store.root / "scores" / METRIC_VERSION
    cards = [json.loads((store.root / "entries" / name / "card.json").read_text()) for name in templates]
    scores = [json.loads((kept / f"{name}.json").read_text()) for name in templates]
    tables = [pl.read_parquet(kept / f"{name}.parquet") for name in templates]
    metadata = [pl.read_parquet_metadata(kept / f"{name}.parquet") for name in templates]
    ids = []
    for number in range(n):
        place = number % len(templates)
        identity = hashlib.sha256(f"invented {seed} {number}".encode()).hexdigest()[:16]
        lost = float(rng.normal(0, 0.08))
        card = copy.deepcopy(cards[place])
        card |= {"id": identity, "submitter": f"user{number % 7}", "submitted_at": _moment(number)}
        paradigm = PARADIGMS[number % len(PARADIGMS)]
        card["card"] |= {"name": f"Invented {number % (names or n):05}", "paradigm": paradigm}
        facts = {
            "parameters": SIZES[int(rng.integers(len(SIZES)))],
            "family": FAMILIES[int(rng.integers(len(FAMILIES)))],
            "shots": [None, 0, 4, 32][int(rng.integers(4))],
            "model_selection": ["none", "oracle", "source-validation"][int(rng.integers(3))],
            "extra_data": [None, "Wikipedia"][int(rng.integers(2))],
        }
        card["card"] = {key: value for key, value in (card["card"] | facts).items() if value is not None}
        folder = store.root / "entries" / identity
        folder.mkdir()
        (folder / "card.json").write_text(json.dumps(card))
        # The predictions are never read, because the scores exist.
        (folder / "predictions.parquet").write_bytes(b"")
        (kept / f"{identity}.json").write_text(json.dumps(_moved(scores[place], lost)))
        noise = rng.normal(0, 0.01, size=(tables[place].height, 400)).astype(np.float32)
        drawn = [
            None if row is None else (np.array(row, dtype=np.float32) - np.float32(lost) + extra).tolist()
            for row, extra in zip(tables[place]["replicates"], noise, strict=True)
        ]
        table = tables[place].with_columns(pl.Series("replicates", drawn, dtype=pl.List(pl.Float32)))
        made_with = {key: value for key, value in metadata[place].items() if key == "made_with"}
        table.with_columns(pl.col("value") - lost).write_parquet(kept / f"{identity}.parquet", metadata=made_with)
        ids.append(identity)
    return ids


def _moment(number: int) -> str:
    return f"2026-{1 + number // 28 % 12:02}-{1 + number % 28:02}T12:00:00+00:00"


def _moved(content: Any, lost: float) -> Any:
    """Move the scores of a nested content down, and the drops up, by as much."""
    content = copy.deepcopy(content)
    for task in content["tasks"]:
        for name, estimate in task["summary"].items():
            if isinstance(estimate, dict) and "value" in estimate:
                by = lost if "drop" in name or "worst" in name or name in ("mean_sd", "mean_td") else -lost
                for part in ("value", "low", "high"):
                    if estimate[part] is not None:
                        estimate[part] += by
    return content
