"""Speed of a check with MiniLM, compared with the model's bare forward pass, for ``python -m benchmarks check``.

With the same classifier and pairs of texts, in the same process, three jobs alternate: a loop that tokenizes, sorts by
length and runs the model on batches; a full ``check`` from CSV to report; and the same check with saved predictions,
which shows the cost of everything except prediction. Then a constant function is checked on a million rows in a
separate process, to measure memory.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.train import texts
from shiftbench.builders.encoder import DEFAULT_ENCODER
from shiftbench.validation.command_line import require
from shiftbench.validation.timing import Timing

N_PAIRS, N_ROWS, N_DOMAINS, ROUNDS = 10_000, 1_000_000, 5, 3
_LABELS = ("entailment", "neutral", "contradiction")
_BATCH = 64
_MOST_RATIO, _MOST_SECONDS, _MOST_BYTES = 1.1, 5.0, 4 * 2**30
"""Targets: time of a check relative to the bare pass, time with saved predictions, peak memory of the large check."""
_COLUMNS = ["--columns", "domain=domain,label=label", "--json", "check.json"]
_PAIR = ["--columns", "text=premise,text=hypothesis"]


def run_check_bench(scale: float = 1.0) -> Iterator[Timing]:
    """Measure a check.

    Args:
        scale: rows as a share of the full number; targets are evaluated only at 1 or more.
    Returns: an iterator of timings, as they are measured.
    Raises: InvalidInput if the extra 'train' is not installed.
    """
    require("transformers", "train")
    with tempfile.TemporaryDirectory(prefix="shiftbench-bench-") as folder:
        place = Path(folder)
        n = max(400, int(N_PAIRS * scale))
        rows = _write_pairs(place / "pairs.csv", n)
        model = _write_model(place / "model")
        rounds = [(_bare_pass(model, rows), *_checks(model, place)) for _ in range(ROUNDS)]
        bare, whole, rest = (statistics.median(each) for each in zip(*rounds, strict=True))
        ratio = statistics.median(check / forward for forward, check, _ in rounds)
        yield Timing(
            name=f"check of {n:,} pairs", seconds=whole, yardstick="bare forward pass", yardstick_seconds=bare,
            ratio=ratio, wanted=(0, _MOST_RATIO), met=ratio <= _MOST_RATIO if scale >= 1 else None,
        )  # fmt: skip
        yield Timing(
            name="everything except prediction", seconds=rest, wanted=f"at most {_MOST_SECONDS:g} s",
            met=rest <= _MOST_SECONDS if scale >= 1 else None,
        )  # fmt: skip
        yield _large(place, max(1_000, int(N_ROWS * scale)), scale)


def _write_pairs(path: Path, n: int) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    rows = texts(n, rng).with_columns(
        pl.col("label").replace_strict(dict(enumerate(_LABELS)), return_dtype=pl.String),
        domain=pl.Series([f"domain {number}" for number in rng.integers(0, N_DOMAINS, n)]),
    )
    rows.write_csv(path)
    return rows


def _write_model(place: Path) -> Path:
    """Write a MiniLM with an untrained head, as a user's local classifier."""
    from shiftbench.baselines.training.models import load_model, load_tokenizer

    labels = dict(enumerate(_LABELS))
    head = "AutoModelForSequenceClassification"
    load_model(head, DEFAULT_ENCODER, 0, num_labels=len(labels), id2label=labels).save_pretrained(place)
    load_tokenizer(DEFAULT_ENCODER).save_pretrained(place)
    return place


def _bare_pass(folder: Path, rows: pl.DataFrame) -> float:
    """Run the model on all pairs like a short script would, in length-sorted batches; return the seconds."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model: Any = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    start = time.perf_counter()
    pieces = tokenizer(rows["premise"].to_list(), rows["hypothesis"].to_list(), truncation=True)
    order = sorted(range(len(rows)), key=lambda row: -len(pieces["input_ids"][row]))
    with torch.inference_mode():
        for first in range(0, len(order), _BATCH):
            batch = {name: [values[row] for row in order[first : first + _BATCH]] for name, values in pieces.items()}
            model(**tokenizer.pad(batch, return_tensors="pt")).logits.softmax(-1).numpy()
    return time.perf_counter() - start


def _checks(model: Path, place: Path) -> tuple[float, float]:
    """Check the model, and check it again with saved predictions; return the seconds of both."""
    report = place / "report.html"
    (place / "report.predictions.parquet").unlink(missing_ok=True)
    command = ["check", str(model), "--data", str(place / "pairs.csv"), *_PAIR, *_COLUMNS[:-1]]
    return tuple(_seconds([*command, str(place / "check.json"), "--report", str(report)]) for _ in range(2))  # type: ignore[return-value]


def _seconds(command: list[str]) -> float:
    from contextlib import redirect_stderr, redirect_stdout
    from io import StringIO

    import typer

    from shiftbench.cli.command import app

    start = time.perf_counter()
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        typer.main.get_command(app).main(command, standalone_mode=False)
    return time.perf_counter() - start


def _large(place: Path, n: int, scale: float) -> Timing:
    """Measure time and peak memory of a check of ``n`` rows in a separate process."""
    rng = np.random.default_rng(1)
    short = texts(min(n, 50_000), rng)["premise"]
    some = short.gather(rng.integers(0, len(short), n).tolist())
    numbered = pl.DataFrame({"text": some}).with_columns(
        pl.col("text") + pl.int_range(n).cast(pl.String),
        domain=pl.Series([f"domain {number}" for number in rng.integers(0, N_DOMAINS, n)]),
        label=pl.Series([_LABELS[code] for code in rng.integers(0, len(_LABELS), n)]),
    )
    numbered.write_csv(place / "many.csv")
    (place / "constant.py").write_text(
        f"def classify(texts):\n    return [{_LABELS[0]!r}] * len(texts)\n", encoding="utf-8"
    )
    command = ["check", "constant:classify", "--data", "many.csv", *_COLUMNS, "--report", "many.html"]
    start = time.perf_counter()
    measured = "import subprocess, sys; from shiftbench.validation.operating_system import peak_memory_of_children; "
    measured += "subprocess.run(sys.argv[1:], check=True, capture_output=True); print(peak_memory_of_children() or 0)"
    run = [sys.executable, "-c", measured, sys.executable, "-m", "shiftbench", *command]
    done = subprocess.run(run, cwd=place, check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    peak = int(done.stdout) or None
    return Timing(
        name=f"check of {n:,} rows, constant function", seconds=seconds, peak_memory=peak, wanted="at most 4 GiB",
        met=peak <= _MOST_BYTES if scale >= 1 and peak is not None else None,
    )  # fmt: skip
