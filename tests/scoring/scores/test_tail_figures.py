"""Parts of a summary that are not means: worst true drop, next domain, depth slope, lenient tags."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.building.synthetic_grid import noisy_predictions
from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.new_domain import next_domain
from shiftbench.scoring.reports.score_words import lenient_line, tail_lines
from shiftbench.scoring.scores.outcomes import LENIENT, Outcomes, outcomes
from shiftbench.scoring.scores.score import score_file
from shiftbench.scoring.scores.shape import Scores, TaskScores
from shiftbench.validation.vocabulary import UNPARSED, TaskKind

TAGS = ("O", "B-person", "I-person", "B-place", "I-place")


@pytest.fixture(scope="module")
def predictions(synthetic: DatasetFolder) -> pl.DataFrame:
    return noisy_predictions(synthetic, n_runs=2)


def scored(folder: DatasetFolder, frame: pl.DataFrame, path: Path) -> Scores:
    frame.write_parquet(path)
    return score_file(path, folder)


@pytest.fixture(scope="module")
def task(synthetic: DatasetFolder, predictions: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> TaskScores:
    frame = predictions.filter(pl.col("id").str.contains("/nli/"))
    return scored(synthetic, frame, tmp_path_factory.mktemp("scores") / "a.parquet").tasks[0]


def test_the_next_domain_is_predicted_from_the_means_by_target(task: TaskScores) -> None:
    found = task.summary.next_domain
    assert found is not None
    assert found.n_domains == len(task.domains)
    for estimate, name in ((found.st, "st"), (found.drop, "sd")):
        by_target = [
            np.mean([getattr(shift, name).value for shift in task.shifts if shift.target == target])
            for target in task.domains
        ]
        mean, low, high = next_domain(by_target, bounds=(-1.0, 1.0))
        assert (estimate.value, estimate.low, estimate.high) == pytest.approx((mean, low, high))
    assert found.st.value == pytest.approx(task.summary.mean_st.value)
    assert found.drop.value == pytest.approx(task.summary.average_drop.value)
    assert len(list(tail_lines(task))) == 1


def test_a_partial_grid_has_no_next_domain(synthetic: DatasetFolder, predictions: pl.DataFrame, tmp_path: Path) -> None:
    domains = synthetic.task("nli").domains
    frame = predictions.filter(pl.col("id").str.contains("/nli/"), pl.col("source") == next(iter(domains)))
    summary = scored(synthetic, frame, tmp_path / "a.parquet").tasks[0].summary
    assert summary.next_domain is None


def test_slopes_on_depth_are_those_of_right_on_depth(
    synthetic: DatasetFolder, predictions: pl.DataFrame, task: TaskScores
) -> None:
    shift = task.shifts[0]
    table = synthetic.depths("nli", [shift.source], shift.target)[shift.source]
    names = dict(enumerate(synthetic.task("nli").labels))
    gold = synthetic.split("nli", shift.target, "test").select("id", right=pl.col("label").replace_strict(names))
    rows = predictions.filter(source=shift.source).join(gold, on="id").join(table, on="id")
    slopes = []
    for _, run in rows.group_by("seed"):
        depth, correct = run["depth"].to_numpy(), (run["prediction"] == run["right"]).to_numpy().astype(float)
        slopes.append(np.polyfit(depth, correct, 1)[0] * depth.std())
    found, mean = shift.depth_slope, task.summary.depth_slope
    assert found is not None
    assert mean is not None
    assert found.value == pytest.approx(np.mean(slopes), abs=1e-6)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high
    every = [each.depth_slope.value for each in task.shifts if each.depth_slope]
    assert mean.value == pytest.approx(np.mean(every))
    assert mean.low is not None
    assert mean.high is not None
    assert mean.high - mean.low < found.high - found.low


def tagged(gold: list[str], predicted: list[str]) -> Outcomes:
    info = TaskInfo(
        title="", kind=TaskKind.TAGGING, inputs=("tokens",), labels=TAGS, metric="span_f1", domains={}, subsets={}
    )
    frame = pl.DataFrame({"tags": [[TAGS.index(tag) for tag in text.split(" ")] for text in gold]})
    return outcomes(info, frame, frame, pl.Series(predicted), None)


def test_lenient_span_f1_is_that_of_seqeval_where_it_differs() -> None:
    gold = ["B-person I-person O", "O B-place O", "B-person B-place I-place"]
    strict = tagged(gold, gold)
    assert strict.unweighted == {}
    # An I- tag after O, after another type, and an unusable output.
    found = tagged(gold, ["O I-person O", "O I-place O", UNPARSED])
    assert found.score("span_f1", found.totals(0, np.ones((1, 3))))[0] == 0
    assert found.unweighted[LENIENT] == pytest.approx([2 * 1 / (4 + 2)])


@pytest.mark.parametrize(("begin_as_inside", "by_chance", "gains"), [(0.08, 0.02, True), (0.0, 0.10, False)])
def test_lenient_reading_favours_some_taggers(begin_as_inside: float, by_chance: float, gains: bool) -> None:
    """Check spans that begin with I-, which count only in lenient mode, as do orphan I- tags (as wrong spans)."""
    rng = np.random.default_rng(18)
    gold, predicted = [], []
    for _ in range(2000):
        tags: list[str] = []
        while len(tags) < 12:
            kind = str(rng.choice(["person", "place"]))
            tags += [f"B-{kind}", *[f"I-{kind}"] * int(rng.integers(0, 3))] if rng.random() < 0.3 else ["O"]
        guessed = [tag.replace("B-", "I-") if rng.random() < begin_as_inside else tag for tag in tags]
        gold.append(" ".join(tags))
        predicted.append(" ".join(str(rng.choice(TAGS)) if rng.random() < by_chance else tag for tag in guessed))
    found = tagged(gold, predicted)
    strict = float(found.score("span_f1", found.totals(0, np.ones((1, len(gold)))))[0])
    lenient = float(found.unweighted[LENIENT][0])
    print(f"I- for B- in {begin_as_inside:.0%}, any tag in {by_chance:.0%}: strict {100 * strict:.1f}, "
          f"lenient {100 * lenient:.1f}")  # fmt: skip
    assert (lenient > strict + 0.02) if gains else (lenient < strict)


def test_the_page_says_both_readings(task: TaskScores, wording: SnapshotAssertion) -> None:
    assert lenient_line(task) == ""
    shift = task.shifts[0].model_copy(update={"secondary": {LENIENT: 0.61}})
    shift = shift.model_copy(update={"st": shift.st.model_copy(update={"value": 0.57})})
    line = lenient_line(task.model_copy(update={"shifts": (shift,), "in_domain": ()}))
    assert line == wording
