"""Contextual calibration against the matrix of the paper, and through the program with a server that is biased."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import softmax
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.prompt_llm import main
from shiftbench.baselines.prompting.scored_labels import CONTENT_FREE, calibrated_scores
from shiftbench.baselines.prompting.wire import Api
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.report import InvalidInput
from tests.baselines.prompting.chat_server import ChatServer
from tests.baselines.prompting.test_wire import echoes
from tests.refusals import refusal


def test_quotients_are_those_of_the_diagonal_matrix() -> None:
    """Equation 1 as the authors compute it: W = diag(p_cf)^-1, b = 0, p_cf the normalised mean over the inputs."""
    rng = np.random.default_rng(0)
    scores, free = rng.normal(-6, 2, size=(5, 4)), rng.normal(-6, 2, size=(5, 3, 4))
    for row, empty, found in zip(scores, free, calibrated_scores(scores, free), strict=True):
        p_cf = np.exp(empty).mean(axis=0)
        weights = np.linalg.inv(np.diag(p_cf / p_cf.sum()))
        expected = weights @ (np.exp(row) / np.exp(row).sum())
        np.testing.assert_allclose(softmax(found), expected / expected.sum(), rtol=1e-12)


def test_a_prompt_without_bias_changes_nothing() -> None:
    scores = np.log([[0.2, 0.5, 0.3]])
    np.testing.assert_allclose(softmax(calibrated_scores(scores, np.zeros((1, 3, 3))), axis=1), np.exp(scores))


@pytest.mark.parametrize(
    ("scores", "free", "message"),
    [
        ([0.0, -math.inf], [[0.0, 0.0]], "must be finite"),
        ([0.0, 0.0], [[0.0, math.nan]], "must be finite"),
        ([0.0, 0.0], [[0.0, 0.0, 0.0]], "do not fit"),
        ([0.0, 0.0], [0.0, 0.0], "do not fit"),
        ([0.0, 0.0], np.zeros((0, 2)), "do not fit"),
    ],
)
def test_scores_that_do_not_fit_are_refused(scores: Any, free: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        calibrated_scores(scores, free)


def test_each_prompt_is_calibrated_by_its_own_words_and_demonstrations(
    synthetic: DatasetFolder, server: ChatServer, tmp_path: Path
) -> None:
    """The server likes one label more by a factor, whatever the input: divided out, the labels are equal."""
    server.reply = lambda body: echoes(body, lambda token: {" negative": -1.0, " positive": -2.0}.get(token, -50.0))
    given: dict[str, Any] = {
        "target": ["tents"], "api": Api.COMPLETIONS, "score_labels": True, "probabilities": True, "calibrate": True,
    }  # fmt: skip
    main("sa", synthetic.path, tmp_path / "p.parquet", "m", server.url, shots=0, **given)
    for shares in pl.read_parquet(tmp_path / "p.parquet")["probabilities"]:
        assert shares.to_list() == pytest.approx([1 / len(shares)] * len(shares))
    inputs = [body["prompt"][0].partition("Text: ")[2].rpartition("\nAnswer:")[0] for body in server.asked]
    assert [inputs.count(text) for text in CONTENT_FREE] == [1, 1, 1]
    assert len(inputs) == len(synthetic.split("sa", "tents", "test")) + 3

    server.asked.clear()
    main(
        "sa", synthetic.path, tmp_path / "q.parquet", "m", server.url,
        shots=2, source=["lamps"], seed=[0, 1, 2], demonstrations="fixed", **given,
    )  # fmt: skip
    empty = [
        body["prompt"][0]
        for body in server.asked
        if any(f": {text}\nAnswer:" in body["prompt"][0][-60:] for text in CONTENT_FREE)
    ]
    assert len(set(empty)) == 9  # three sets of demonstrations
    assert len(empty) == 9
    assert pl.read_parquet(tmp_path / "q.parquet")["seed"].unique().sort().to_list() == [0, 1, 2]


def test_options_that_do_not_go_together(synthetic: DatasetFolder, wording: SnapshotAssertion) -> None:
    out, given = synthetic.path.parent / "p.parquet", ({"calibrate": True}, {"precision": "bf16"})
    messages = [
        refusal(InvalidInput, main, "sa", synthetic.path, out, "m", "http://127.0.0.1:9/v1", **each) for each in given
    ]
    assert messages == wording
