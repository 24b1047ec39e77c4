"""Speed of depths, scoring and comparing, compared with reference implementations timed in the same run.

For ``python -m benchmarks scores``. Every time is a median of several runs; references that take minutes are timed on
part of the data and extrapolated, as the output states. The submission is synthetic: all source-target pairs of Domain
Robustness, at the sizes of the paper's Table 2.
"""

import re
import string
import tempfile
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.comparisons import compare_timings
from shiftbench.builders.building.synthetic_grid import build_grid, noisy_predictions
from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.depth import LAMBDAS, least_deep, tte_depth
from shiftbench.scoring.scores.score import checked_predictions, score_predictions
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.timing import Timing
from shiftbench.validation.vocabulary import GOLD, UNPARSED, TaskKind

DIMENSIONS = 384
_LOOP_PAIRS = 20_000
"""Pairs of texts on which the plain loop over depths is timed, before extrapolating."""
_LIMIT = 4.0
"""Time limit for scoring a submission of the paper's size, in seconds."""


def run_bench(scale: float = 1.0) -> Iterator[Timing]:
    """Time the computation of depths, scoring and comparing.

    Args:
        scale: test sizes as a share of Table 2's; time limits are checked only at 1.
    Returns: an iterator of timings, as they are measured.
    Raises: InvalidInput if the reference packages (extra 'dev') are not installed.
    """
    _require_yardsticks()
    for timing in _timings(scale):
        yield timing if scale == 1 else replace(timing, met=None)


def _timings(scale: float) -> Iterator[Timing]:
    yield _depth_against_a_loop()
    yield _depth_against_a_sum()
    with tempfile.TemporaryDirectory(prefix="shiftbench-bench-") as place:
        folder, path = _submission(Path(place) / "full", scale)
        yield from _scoring(folder, path)
        small_folder, small_path = _submission(Path(place) / "tenth", scale / 10)
        yield _linear(folder, path, small_folder, small_path)
        yield from compare_timings(folder, Path(place))


def _depth_against_a_loop() -> Timing:
    from scipy.spatial.distance import cosine

    rng = np.random.default_rng(0)
    source = rng.normal(size=(5_000, DIMENSIONS)).astype(np.float32)
    target = rng.normal(size=(1_000, DIMENSIONS)).astype(np.float32)
    ours = _median(lambda: tte_depth(source, target), 31)
    few = target[: _LOOP_PAIRS // len(source)]
    part = _median(lambda: [2 - np.mean([cosine(x, y) for y in source]) for x in few], 3)
    loop = part * len(target) / len(few)
    yardstick = f"pairwise scipy cosine, {_LOOP_PAIRS:,} pairs timed and extrapolated"
    return _faster("depth of 5,000 x 1,000 texts", ours, yardstick, loop, 20_000)


def _depth_against_a_sum() -> Timing:
    rng = np.random.default_rng(0)
    source = rng.standard_normal((60_000, DIMENSIONS), dtype=np.float32)
    target = rng.standard_normal((97_320, DIMENSIONS), dtype=np.float32)
    ours, total = _medians(lambda: tte_depth(source, target), lambda: (source.sum(), target.sum()), times=15)
    beyond = _peak_allocation(lambda: tte_depth(source, target)) / (source.nbytes + target.nbytes)
    name = f"depth of 60,000 x 97,320 texts ({beyond:.1%} memory beyond the inputs)"
    return _timing_beside(name, ours, "one numpy sum over the same arrays", total, 1.5)


def _peak_allocation(work: Callable[[], object]) -> int:
    """Measure the peak memory allocated by a function, in bytes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _faster(name: str, seconds: float, yardstick: str, yardstick_seconds: float, times: int) -> Timing:
    """Build the timing of work whose target is to be ``times`` times faster than its reference."""
    speedup = yardstick_seconds / seconds
    wanted = f"at least {times:,} times faster"
    return Timing(
        name=name,
        seconds=seconds,
        yardstick=yardstick,
        yardstick_seconds=yardstick_seconds,
        speedup=speedup,
        wanted=wanted,
        met=speedup >= times,
    )


def _timing_beside(name: str, seconds: float, yardstick: str, yardstick_seconds: float, times: float) -> Timing:
    """Build the timing of work whose target is to take at most ``times`` times as long as its reference."""
    ratio = seconds / yardstick_seconds
    wanted = "at most as long" if times == 1 else f"at most {times:g} times as long"
    return Timing(
        name=name,
        seconds=seconds,
        yardstick=yardstick,
        yardstick_seconds=yardstick_seconds,
        cost_ratio=ratio,
        wanted=wanted,
        met=ratio <= times,
    )


def _submission(out: Path, scale: float) -> tuple[DatasetFolder, Path]:
    build_grid(out, scale=scale)
    folder = DatasetFolder.open(out)
    path = out.with_suffix(".parquet")
    noisy_predictions(folder).write_parquet(path)
    return folder, path


def _scoring(folder: DatasetFolder, path: Path) -> Iterator[Timing]:
    frame = pl.read_parquet(path)
    generated = [name for name, task in folder.manifest.tasks.items() if task.kind is TaskKind.GENERATION]
    without = path.with_name("without-generation.parquet")
    is_generated = pl.col("id").str.contains(f"^[^/]+/({'|'.join(generated)})/")
    frame.filter(~is_generated).write_parquet(without)
    ours, joined, ours_without = _medians(
        lambda: _score(folder, path),
        lambda: _read_and_join(folder, path),
        lambda: _score(folder, without),
    )
    what = f"{len(frame):,} predictions read, checked and scored"
    cpu = _processor_seconds(lambda: _score(folder, path))
    yield Timing(name=what, seconds=ours, cpu_seconds=cpu, wanted=f"under {_LIMIT:g} s", met=ours < _LIMIT)
    yield _timing_beside(what, ours, "only reading, validating and joining them with gold", joined, 2.5)
    # References get the joined rows: joining predictions with gold is not part of their work.
    cells, generated_cells = (list(_cells(folder, frame.filter(rows))) for rows in (~is_generated, is_generated))
    plain = _seconds_of(lambda: _plain_scores(cells))
    rouge = _seconds_of(lambda: _plain_rouge(generated_cells))
    tools = "scikit-learn, seqeval and a plain SQuAD script"
    yield _faster("scoring without generated texts", ours_without, tools, plain, 12)
    yield _faster("scoring of all tasks, with ROUGE-L", ours, f"{tools}, rouge-score", plain + rouge, 6)


def _linear(folder: DatasetFolder, path: Path, small_folder: DatasetFolder, small_path: Path) -> Timing:
    large, small = _medians(lambda: _score(folder, path), lambda: _score(small_folder, small_path))
    return _timing_beside("scoring of ten times as many rows", large, "scoring of one tenth of them", small, 11)


def _score(folder: DatasetFolder, path: Path) -> object:
    return score_predictions(checked_predictions(path, folder), folder)


def _read_and_join(folder: DatasetFolder, path: Path) -> list[pl.DataFrame]:
    """Read and validate a submission and join it with gold, one frame per task: work that all scoring code shares."""
    joined = []
    for (task,), rows in checked_predictions(path, folder).group_by("task", maintain_order=True):
        gold = folder.test(str(task), columns=["id", "domain", "group", GOLD[folder.task(str(task)).kind]])
        joined.append(rows.join(gold, on="id", maintain_order="left"))
    return joined


@dataclass(frozen=True)
class _Cell:
    """The predictions of one source for one target, joined with gold and depth weights."""

    key: tuple[str, str, str]
    task: TaskInfo
    rows: pl.DataFrame
    weightings: Sequence[Any]


def _plain_scores(cells: Sequence[_Cell]) -> dict[tuple[str, str, str], float]:
    """Score labels, tags and answers with the usual packages, one source and target at a time.

    Labels are also weighted by depth, like ours. seqeval supports no weights, so tags and answers get only unweighted
    scores, which favours the reference.
    """
    scores = {}
    for cell in cells:
        if cell.task.kind is TaskKind.CLASSIFICATION:
            scores[cell.key] = _sklearn(cell.task.labels, cell.rows, [None, *cell.weightings])
        elif cell.task.kind is TaskKind.TAGGING:
            scores[cell.key] = span_f1_by_seqeval(cell.task.labels, cell.rows)
        else:
            pairs = zip(cell.rows["prediction"], cell.rows["answers"].to_list(), strict=True)
            scores[cell.key] = float(np.mean([answer_f1_by_squad(text, gold["text"]) for text, gold in pairs]))
    return scores


def _plain_rouge(cells: Sequence[_Cell]) -> dict[tuple[str, str, str], float]:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"])
    scores = {}
    for cell in cells:
        pairs = cell.rows.select("target_text", "prediction").iter_rows()
        scores[cell.key] = float(np.mean([scorer.score(gold, text)["rougeL"].fmeasure for gold, text in pairs]))
    return scores


def _cells(folder: DatasetFolder, predictions: pl.DataFrame) -> Iterator[_Cell]:
    for name, task in folder.manifest.tasks.items():
        for target in task.domains:
            gold = folder.split(name, target, "test")
            for source in task.domains:
                rows = gold.join(predictions.filter(source=source), on="id", maintain_order="left")
                if len(rows):
                    weighted = task.kind is TaskKind.CLASSIFICATION and source != target
                    weightings = _depth_weightings(folder, name, source, target, rows) if weighted else []
                    yield _Cell((name, source, target), task, rows, weightings)


def _depth_weightings(folder: DatasetFolder, task: str, source: str, target: str, rows: pl.DataFrame) -> list[Any]:
    """Compute the depth weights for each lambda, and repeat them, because ST and TT are both scored with them."""
    table = rows.join(folder.depth(task, source, target), on="id", maintain_order="left")
    depth, weight = table["depth"].to_numpy(), table["weight"].to_numpy()
    return 2 * [weight * least_deep(depth, lambda_) for lambda_ in LAMBDAS]


def _sklearn(labels: Sequence[str], rows: pl.DataFrame, weightings: Sequence[Any]) -> float:
    from sklearn.metrics import accuracy_score, f1_score

    gold = [labels[code] for code in rows["label"]]
    said = rows["prediction"].to_list()
    results = [
        (
            accuracy_score(gold, said, sample_weight=weights),
            f1_score(gold, said, labels=labels, average="macro", sample_weight=weights),
        )
        for weights in weightings
    ]
    return float(results[0][1])


def span_f1_by_seqeval(labels: Sequence[str], rows: pl.DataFrame) -> float:
    """Compute the micro span F1 of tags with seqeval.

    Args:
        labels: tag names, by code.
        rows: columns ``tags`` (codes) and ``prediction`` (tag names separated by spaces).
    """
    from seqeval.metrics import f1_score
    from seqeval.scheme import IOB2

    def rewrite_as_bio(tags: list[str]) -> list[str]:
        previous = ["O", *tags]
        return [
            "O" if tag == "O" else ("I-" if before == tag else "B-") + tag[2:]
            for before, tag in zip(previous, tags, strict=False)
        ]

    gold = [rewrite_as_bio([labels[code] for code in tags]) for tags in rows["tags"].to_list()]
    said = [
        ["O"] * len(tags) if text == UNPARSED else rewrite_as_bio(text.split(" "))
        for text, tags in zip(rows["prediction"], gold, strict=True)
    ]
    return float(f1_score(gold, said, average="micro", mode="strict", scheme=IOB2))


def answer_f1_by_squad(prediction: str, answers: Sequence[str]) -> float:
    """Score an answer by SQuAD's rules, without vectorisation: the highest token F1 over the gold answers."""
    best = 0.0
    predicted_words = _squad_words(prediction)
    for answer in answers or [""]:
        gold = _squad_words(answer)
        common = sum((Counter(gold) & Counter(predicted_words)).values())
        if not gold or not predicted_words:
            best = max(best, float(gold == predicted_words))
        elif common:
            best = max(best, 2 * common / (len(gold) + len(predicted_words)))
    return best


def _squad_words(text: str) -> list[str]:
    excluded = set(string.punctuation)
    kept = "".join(letter for letter in text.lower() if letter not in excluded)
    return re.sub(r"\b(a|an|the)\b", " ", kept).split()


def _require_yardsticks() -> None:
    from importlib.util import find_spec

    absent = [name for name in ("sklearn", "seqeval", "rouge_score") if find_spec(name) is None]
    if absent:
        cure = "pip install 'shiftbench[dev]'"
        what = "reference implementations are not installed"
        raise InvalidInput(Problem(what, "benchmarks scores", ", ".join(absent), cure))


def _processor_seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of a function, over all threads."""
    start = time.process_time()
    work()
    return time.process_time() - start


def _seconds_of(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _median(work: Callable[[], object], times: int) -> float:
    return _medians(work, times=times)[0]


def _medians(*works: Callable[[], object], times: int = 5) -> list[float]:
    """Time several functions alternately, so that slow phases of the machine affect all of them."""
    for work in works:
        work()  # the first run loads libraries and fills caches
    return [
        float(seconds) for seconds in np.median([[_seconds_of(work) for work in works] for _ in range(times)], axis=0)
    ]
