"""How fast scoring is beside a yardstick timed in the same run, and how often intervals are right.

Run by ``shiftbench bench`` and ``shiftbench coverage``.

Every figure is a median of several runs; yardsticks that take minutes are timed on a part and extrapolated, and say
so. The submission is the synthetic grid: all source-target pairs of Domain Robustness at Table 2's sizes.
"""

import re
import resource
import string
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from tqdm import tqdm

from builders.folder import DatasetFolder
from builders.synthetic_grid import build_grid, noisy_predictions
from leaderboard.metrics.coverage import KINDS, simulate_coverage
from leaderboard.metrics.depth import LAMBDAS, least_deep, tte_depth
from leaderboard.scoring import checked_predictions, score_predictions
from leaderboard.values import N_DRAWS
from validation.report import InvalidInput, Problem
from validation.vocabulary import UNPARSED, TaskKind

DIMENSIONS = 384
_LOOP_PAIRS = 20_000
_CHUNK = 20


@dataclass(frozen=True)
class Timing:
    """One measurement: seconds of ours and of the yardstick, and whether the ratio is as wanted.

    ``ratio`` is yardstick / ours where ours should be faster, ours / yardstick where it may cost a bit more.
    """

    name: str
    seconds: float
    yardstick: str
    yardstick_seconds: float
    ratio: float
    wanted: str
    met: bool


def run_bench(scale: float = 1.0) -> Iterator[Timing]:
    """Measure everything, one timing at a time.

    Args:
        scale: test sizes of the submission as a share of Table 2's; the targets hold for 1.
    Raises: InvalidInput when the yardsticks (extra 'dev') are not installed.
    """
    _require_yardsticks()
    yield _depth_against_a_loop()
    yield _depth_against_a_sum()
    with tempfile.TemporaryDirectory(prefix="shiftbench-bench-") as place:
        folder, path = _submission(Path(place) / "full", scale)
        yield from _scoring(folder, path)
        small_folder, small_path = _submission(Path(place) / "tenth", scale / 10)
        yield _linear(folder, path, small_folder, small_path)


def peak_memory() -> int:
    """Peak resident memory of this process so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _depth_against_a_loop() -> Timing:
    from scipy.spatial.distance import cosine

    rng = np.random.default_rng(0)
    source = rng.normal(size=(5_000, DIMENSIONS)).astype(np.float32)
    target = rng.normal(size=(1_000, DIMENSIONS)).astype(np.float32)
    ours = _median(lambda: tte_depth(source, target), 31)
    few = target[: _LOOP_PAIRS // len(source)]
    part = _median(lambda: [2 - np.mean([cosine(x, y) for y in source]) for x in few], 3)
    loop = part * len(target) / len(few)
    return Timing(
        "depth of 5,000 x 1,000 texts",
        ours,
        f"pairwise scipy cosine, {_LOOP_PAIRS:,} pairs timed and extrapolated",
        loop,
        loop / ours,
        "at least 20,000 times faster",
        loop / ours >= 20_000,
    )


def _depth_against_a_sum() -> Timing:
    rng = np.random.default_rng(0)
    source = rng.standard_normal((60_000, DIMENSIONS), dtype=np.float32)
    target = rng.standard_normal((97_320, DIMENSIONS), dtype=np.float32)
    ours, total = _medians(lambda: tte_depth(source, target), lambda: (source.sum(), target.sum()), times=15)
    return Timing(
        "depth of 60,000 x 97,320 texts",
        ours,
        "one numpy sum over the same arrays",
        total,
        ours / total,
        "at most 2 times as long",
        ours / total <= 2,
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
    ours, ours_without, with_intervals = _medians(
        lambda: _score(folder, path), lambda: _score(folder, without), lambda: _score(folder, path, N_DRAWS)
    )
    yield Timing(
        f"{len(frame):,} predictions read, checked and scored",
        ours,
        "the clock",
        4.0,
        ours / 4.0,
        "under 4 s",
        ours < 4,
    )
    plain = _once(lambda: _plain_scores(folder, frame.filter(~is_generated)))
    rouge = _once(lambda: _plain_rouge(folder, frame.filter(is_generated)))
    tools = "scikit-learn, seqeval and a plain SQuAD script"
    ratio = plain / ours_without
    yield Timing(
        "the same without generated text", ours_without, tools, plain, ratio, "at least 10 times faster", ratio >= 10
    )
    ratio = (plain + rouge) / ours
    yield Timing(
        "all of it, ROUGE-L too", ours, f"{tools}, rouge-score", plain + rouge, ratio, "at least 6 times", ratio >= 6
    )
    draws = with_intervals - ours
    yield Timing(
        f"{N_DRAWS:,} bootstrap draws of everything",
        draws,
        "the point scores' own time",
        ours,
        draws / ours,
        "at most as long",
        draws <= ours,
    )


def _linear(folder: DatasetFolder, path: Path, small_folder: DatasetFolder, small_path: Path) -> Timing:
    large, small = _medians(lambda: _score(folder, path), lambda: _score(small_folder, small_path))
    return Timing(
        "ten times the rows", large, "one tenth", small, large / small, "at most 11 times", large / small <= 11
    )


def _score(folder: DatasetFolder, path: Path, n_draws: int = 0) -> object:
    return score_predictions(checked_predictions(path, folder), folder, n_draws=n_draws)


def _plain_scores(folder: DatasetFolder, predictions: pl.DataFrame) -> dict[tuple[str, str, str], float]:
    """Score labels, tags and answers as one would with the usual packages: one source and target at a time.

    Labels are weighted by depth too, as ours are; seqeval takes no weights, so of tags and answers only the plain
    scores are made, which favours the yardstick.
    """
    scores = {}
    for name, task, source, target, rows in _cells(folder, predictions):
        if task.kind is TaskKind.CLASSIFICATION:
            weightings = [None, *_depth_weightings(folder, name, source, target, rows)]
            scores[name, source, target] = _sklearn(task.labels, rows, weightings)
        elif task.kind is TaskKind.TAGGING:
            scores[name, source, target] = _seqeval(task.labels, rows)
        else:
            answers = rows["answers"].to_list()
            each = [_squad_f1(text, gold["text"]) for text, gold in zip(rows["prediction"], answers, strict=True)]
            scores[name, source, target] = float(np.mean(each))
    return scores


def _plain_rouge(folder: DatasetFolder, predictions: pl.DataFrame) -> dict[tuple[str, str, str], float]:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"])
    return {
        (name, source, target): float(
            np.mean(
                [
                    scorer.score(reference, text)["rougeL"].fmeasure
                    for reference, text in rows.select("target_text", "prediction").iter_rows()
                ]
            )
        )
        for name, _, source, target, rows in _cells(folder, predictions)
    }


def _cells(folder: DatasetFolder, predictions: pl.DataFrame) -> Iterator[tuple[str, Any, str, str, pl.DataFrame]]:
    for name, task in folder.manifest.tasks.items():
        for target in task.domains:
            gold = folder.split(name, target, "test")
            for source in task.domains:
                rows = gold.join(predictions.filter(source=source), on="id", maintain_order="left")
                if len(rows):
                    yield name, task, source, target, rows


def _depth_weightings(folder: DatasetFolder, task: str, source: str, target: str, rows: pl.DataFrame) -> list[Any]:
    """Weights of each lambda; twice, because TT is weighted like ST."""
    if source == target:
        return []
    table = rows.join(folder.depth(task, source, target), on="id", maintain_order="left")
    depth, weight = table["depth"].to_numpy(), table["weight"].to_numpy()
    return 2 * [weight * least_deep(depth, lambda_) for lambda_ in LAMBDAS]


def _sklearn(labels: Sequence[str], rows: pl.DataFrame, weightings: Sequence[Any]) -> float:
    from sklearn.metrics import accuracy_score, f1_score

    gold = [labels[code] for code in rows["label"]]
    said = rows["prediction"].to_list()
    found = [
        (
            accuracy_score(gold, said, sample_weight=weights),
            f1_score(gold, said, labels=labels, average="macro", sample_weight=weights),
        )
        for weights in weightings
    ]
    return float(found[0][1])


def _seqeval(labels: Sequence[str], rows: pl.DataFrame) -> float:
    from seqeval.metrics import f1_score
    from seqeval.scheme import IOB2

    def as_bio(tags: list[str]) -> list[str]:
        previous = ["O", *tags]
        return [
            "O" if tag == "O" else ("I-" if before == tag else "B-") + tag[2:]
            for before, tag in zip(previous, tags, strict=False)
        ]

    gold = [as_bio([labels[code] for code in tags]) for tags in rows["tags"].to_list()]
    said = [
        ["O"] * len(tags) if text == UNPARSED else as_bio(text.split(" "))
        for text, tags in zip(rows["prediction"], gold, strict=True)
    ]
    return float(f1_score(gold, said, average="micro", mode="strict", scheme=IOB2))


def _squad_f1(prediction: str, answers: Sequence[str]) -> float:
    """SQuAD's rules, one question at a time."""
    best = 0.0
    found = _squad_words(prediction)
    for answer in answers or [""]:
        gold = _squad_words(answer)
        common = sum((Counter(gold) & Counter(found)).values())
        if not gold or not found:
            best = max(best, float(gold == found))
        elif common:
            best = max(best, 2 * common / (len(gold) + len(found)))
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
        raise InvalidInput(Problem("the yardsticks are not installed", "bench", ", ".join(absent), cure))


def measure_coverage(n_tasks: int, seed: int) -> dict[str, dict[str, float]]:
    """Simulate the coverage of each kind of interval with a progress bar; see ``metrics.coverage``."""
    found: dict[str, dict[str, float]] = {}
    for kind in KINDS:
        rng = np.random.default_rng(seed)
        sums: Counter[str] = Counter()
        with tqdm(total=n_tasks, desc=f"simulating, {kind}", unit="task", disable=None, file=sys.stderr) as bar:
            for start in range(0, n_tasks, _CHUNK):
                n = min(_CHUNK, n_tasks - start)
                for figure, share in simulate_coverage(kind, n, rng).items():
                    sums[figure] += n * share  # type: ignore[assignment]
                bar.update(n)
        found[kind] = {figure: total / n_tasks for figure, total in sums.items()}
    return found


def _once(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _median(work: Callable[[], object], times: int) -> float:
    return _medians(work, times=times)[0]


def _medians(*works: Callable[[], object], times: int = 5) -> list[float]:
    """Time several pieces of work in turn, so that a slow spell of the machine falls on all of them."""
    for work in works:
        work()  # the first run loads and warms
    return [float(seconds) for seconds in np.median([[_once(work) for work in works] for _ in range(times)], axis=0)]
