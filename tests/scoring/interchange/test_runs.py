"""Several logs of a model: averages, variance components, and whether a ranking survives another prompt."""

from pathlib import Path

import numpy as np
import pytest

from shiftbench.scoring.interchange.comparison import Joining, compare_logs, read_logs
from shiftbench.scoring.reports.item_tables import item_lines
from shiftbench.scoring.reports.plain_tables import as_markdown
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal
from tests.scoring.interchange.logs import digest, lm_eval_choice, write_lm_eval

N = 60


def write_runs(folder: Path, prompts: int, *, own: bool = False, gap: float = 0.3, flip: bool = False) -> list[Path]:
    """Write a log for each model and prompt; with ``flip`` the last prompt reverses the models' order."""
    rng = np.random.default_rng(7)
    paths = []
    luck = rng.random(N)
    for model, share in (("alpha", 0.5 + gap / 2), ("beta", 0.5 - gap / 2)):
        for prompt in range(prompts):
            chance = 1 - share if flip and prompt == prompts - 1 else share
            right = 0.7 * luck + 0.3 * rng.random(N) < chance
            sent = f"{model if own else ''} prompt {prompt}"
            lines = [
                lm_eval_choice(place, {"yes": -1.0, "no": -2.0}, acc=float(one), prompt_hash=digest(f"{sent} {place}"))
                for place, one in enumerate(right)
            ]
            paths.append(write_lm_eval(folder / f"p{prompt}" / model, lines))
    return paths


def compared(paths: list[Path], **more):
    return compare_logs(read_logs(paths, Joining()), Joining(), **more).report


def test_with_5_prompts_an_order_may_survive(tmp_path, wording):
    report = compared(write_runs(tmp_path, 5))
    assert [model.name for model in report.comparison.models] == ["alpha", "beta"]
    (pair,) = report.runs.pairs
    assert (pair.crossed, pair.n_prompts, pair.survives) == (True, 5, "yes")
    assert pair.low > 0
    assert as_markdown(item_lines(report)) == wording
    spreads = report.runs.models[0].spreads
    assert spreads.seeds is None
    assert spreads.prompts.low <= spreads.prompts.value <= spreads.prompts.high


def test_with_3_prompts_it_cannot_be_said(tmp_path):
    report = compared(write_runs(tmp_path, 3))
    assert report.runs.pairs[0].survives == "unknown"
    assert "(a model has only 3 prompts;" in as_markdown(item_lines(report))


def test_prompts_that_contradict_each_other_are_a_no(tmp_path):
    report = compared(write_runs(tmp_path, 6, gap=0.6, flip=True))
    assert report.runs.pairs[0].survives == "no"


def test_own_prompts_are_not_crossed(tmp_path, wording):
    report = compared(write_runs(tmp_path, 5, own=True))
    (pair,) = report.runs.pairs
    assert (pair.crossed, pair.spreads, pair.survives) == (False, None, "yes")
    assert report.notes == wording


def test_named_logs_and_logs_of_one_model_are_compared_with_each_other(tmp_path):
    paths = write_runs(tmp_path, 2)
    with pytest.raises(InvalidInput, match="prompts"):
        compared(paths, names=["a", "b", "c", "d"])
    with pytest.raises(InvalidInput, match="prompts"):
        compared(paths[:2])


def test_too_many_models_are_sent_to_ranks(tmp_path, wording):
    lines = [
        [lm_eval_choice(place, {"yes": -1.0, "no": -2.0}, acc=float(place > n)) for place in range(12)]
        for n in range(11)
    ]
    paths = [write_lm_eval(tmp_path / f"m{n}", each) for n, each in enumerate(lines)]
    assert refusal(InvalidInput, compared, paths) == wording
