"""No-skill levels, and marks on scores that are not above them."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.classification import confusion_counts, macro_f1
from shiftbench.scoring.reports.terminal import warnings
from shiftbench.scoring.scores.floors import Floor, constant_runs, floor_of
from shiftbench.scoring.scores.score import score_file
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.vocabulary import UNPARSED, TaskKind
from tests.leaderboard.conftest import predict


@given(st.lists(st.integers(0, 3), min_size=2, max_size=60), st.integers(0, 3))
def test_one_label_for_all_scores_the_majority_level_or_less(gold: list[int], label: int) -> None:
    frame = pl.DataFrame({"label": gold})
    counts = confusion_counts(np.array(gold), np.full(len(gold), label), 4)
    floor = floor_of(TaskKind.CLASSIFICATION, "macro_f1", frame)
    assert floor is not None
    present = np.bincount(gold, minlength=4) > 0
    score = float(macro_f1(counts, present))
    assert score <= floor.majority + 1e-12
    if present[label] and gold.count(label) == max(gold.count(each) for each in range(4)):
        assert score == pytest.approx(floor.majority)
    assert floor.level == max(floor.chance, floor.majority) == floor.chance


@pytest.mark.parametrize("shares", [(0.7, 0.2, 0.1), (1 / 3, 1 / 3, 1 / 3), (0.1, 0.8, 0.1)])
def test_labels_that_know_nothing_of_the_texts_do_not_exceed_chance_on_average(shares: tuple[float, ...]) -> None:
    rng = np.random.default_rng(0)
    gold = np.repeat([0, 1, 2], [1200, 600, 200])
    floor = floor_of(TaskKind.CLASSIFICATION, "macro_f1", pl.DataFrame({"label": gold}))
    assert floor is not None
    scores = [
        float(macro_f1(confusion_counts(gold, rng.choice(3, gold.size, p=shares), 3), [True] * 3)) for _ in range(50)
    ]
    assert np.mean(scores) <= floor.level + 0.005
    assert floor == Floor(pytest.approx(1 / 3), pytest.approx(2 * 0.6 / 1.6 / 3))


def test_levels_of_other_kinds() -> None:
    answers = pl.DataFrame({"answers": [{"text": ["a"]}, {"text": []}, {"text": ["b"]}, {"text": ["c"]}]})
    assert floor_of(TaskKind.EXTRACTIVE_QA, "token_f1", answers) == Floor(0.0, 0.25)
    assert floor_of(TaskKind.TAGGING, "span_f1", pl.DataFrame()) == Floor(0.0, 0.0)
    assert floor_of(TaskKind.GENERATION, "bertscore_f1", pl.DataFrame()) is None


def test_what_predicts_one_thing_is_found() -> None:
    def rows(source: str, *predictions: str) -> pl.DataFrame:
        columns = {"source": source, "target": "x", "seed": 0, "prediction": list(predictions)}
        return pl.DataFrame(columns, schema_overrides={"seed": pl.Int64})

    labels = pl.concat([rows("a", "yes", "yes"), rows("b", "yes", "no"), rows("c", "yes"), rows("d", *[UNPARSED] * 2)])
    assert {source for source, _, _ in constant_runs(labels, TaskKind.CLASSIFICATION)} == {"a", "d"}
    tags = pl.concat([rows("a", "O O", "O", UNPARSED), rows("b", "O", "O B-LOC"), rows("c", "B-ORG", "B-ORG O")])
    assert {source for source, _, _ in constant_runs(tags, TaskKind.TAGGING)} == {"a"}


@pytest.fixture(scope="module")
def scored(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scores]:
    domains = list(synthetic.task("nli").domains)
    good = predict(synthetic, domains, 0.05)
    label = synthetic.task("nli").labels[0]
    found = {}
    for name, frame in (("good", good), ("constant", good.with_columns(prediction=pl.lit(label)))):
        path: Path = tmp_path_factory.mktemp("floors") / f"{name}.parquet"
        frame.write_parquet(path)
        found[name] = score_file(path, synthetic)
    return found


def test_a_constant_predictor_is_at_floor_and_a_good_one_is_not(scored: dict[str, Scores]) -> None:
    good, constant = (scored[name].tasks[0] for name in ("good", "constant"))
    assert constant.summary.at_floor
    assert all(set(shift.at_floor) == {"st", "ss", "tt"} for shift in constant.shifts)
    assert all(home.at_floor for home in constant.in_domain)
    assert not good.summary.at_floor
    assert not any(shift.at_floor for shift in good.shifts)
    assert set(good.floors) == set(good.domains)
    assert all(0.3 < floor.chance < 0.34 for floor in good.floors.values())
    # Its drop is smaller, but no conclusion is drawn from that.
    assert constant.summary.average_drop.value < good.summary.average_drop.value
    words = (
        "nli: mean ST is not significantly above chance or always predicting one label, so drops are not informative."
    )
    assert words in warnings(scored["constant"])
    assert not [line for line in warnings(scored["good"]) if "chance" in line]


def test_scores_written_before_are_read(scored: dict[str, Scores]) -> None:
    old = scored["good"].model_dump(mode="json")
    for task in old["tasks"]:
        del task["floors"], task["summary"]["at_floor"]
        for part in (*task["shifts"], *task["in_domain"]):
            del part["at_floor"]
    assert Scores.model_validate(old).tasks[0].summary.at_floor is False
