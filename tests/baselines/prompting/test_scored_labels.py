"""Labels by the likeliest tokens of a server: censored ones have a bound, and those that begin others are followed."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from fastapi.responses import JSONResponse
from scipy.optimize import minimize

from shiftbench.baselines.prompt_llm import main
from shiftbench.baselines.prompting.models import Request
from shiftbench.baselines.prompting.scored_labels import LabelScores, read_listed_tokens
from shiftbench.baselines.prompting.wire import Api, request_body
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.calibration import brier_limits, brier_scores
from shiftbench.validation.report import InvalidInput

from .chat_server import ChatServer, completion

LABELS = ("negative", "neutral", "positive")


def position(written: str, **listed: float) -> dict[str, Any]:
    """Build one token of an answer with the likeliest alternatives, as servers list it."""
    top = [{"token": token, "logprob": math.log(p)} for token, p in listed.items()]
    return {"token": written, "logprob": -0.1, "top_logprobs": top}


def scored(*positions: dict[str, Any], labels: tuple[str, ...] = LABELS, ended: bool = False) -> LabelScores:
    return read_listed_tokens(positions, labels, ended=ended)


def approx(*values: float | None) -> Any:
    return pytest.approx([None if value is None else math.log(value) for value in values])


def test_a_label_that_is_not_listed_has_a_bound_and_no_value() -> None:
    top = {"Pos": 0.5, " positive": 0.1, "Neg": 0.3, "The": 0.02}
    scores = scored(position("Pos", **top))
    assert list(scores.log_p) == approx(0.3, None, 0.6)
    assert scores.unlisted == pytest.approx(0.08)
    assert scores.shares == pytest.approx([0.3 / 0.98, 0, 0.6 / 0.98])
    assert scores.unlisted_share == pytest.approx(0.08 / 0.98)
    assert LabelScores.from_text(scores.to_text()) == scores


def test_where_all_labels_are_listed_nothing_is_left_open() -> None:
    scores = scored(position("Pos", Pos=0.5, Neg=0.2, neut=0.1))
    assert list(scores.log_p) == approx(0.2, 0.1, 0.5)
    assert scores.unlisted_share == 0


def test_where_no_label_is_listed_nothing_is_known() -> None:
    scores = scored(position("The", The=0.9))
    assert scores == LabelScores((None, None, None), pytest.approx(0.1))
    assert scores.shares == [0, 0, 0]


def test_a_token_that_begins_several_labels_is_followed() -> None:
    first, second = position("ne", ne=0.7, Pos=0.2), position("g", g=0.6, ut=0.3, gl=0.05)
    scores = scored(first, second)
    assert list(scores.log_p) == approx(0.7 * 0.6, 0.7 * 0.3, 0.2)
    # Not followed, because the answer went another way: it belongs to one of the two, or to neither.
    aside = scored(position("Pos", ne=0.3, Pos=0.6))
    assert list(aside.log_p) == approx(None, None, 0.6)
    assert aside.unlisted == pytest.approx(0.3 + 0.1)


def test_labels_that_begin_each_other_are_told_apart_by_what_follows() -> None:
    labels = ("join", "joint")
    first = position("join", join=0.8, no=0.1)
    ends, goes_on = position("", t=0.25, **{"": 0.6}), position("t", t=0.7, **{".": 0.2})
    assert list(scored(first, ends, labels=labels).log_p) == approx(0.8 * 0.6, 0.8 * 0.25)
    assert list(scored(first, goes_on, labels=labels).log_p) == approx(0.8 * 0.2, 0.8 * 0.7)
    # OpenAI lists no end: what the answer was is known, how likely it was is not.
    alone = scored(first, labels=labels, ended=True)
    assert list(alone.log_p) == approx(0.8, None)
    assert scored(first, labels=labels).log_p == (None, None)


def test_underscores_are_spaces() -> None:
    labels = ("not", "not_sure")
    scores = scored(position("not", **{"not": 0.8}), position(" su", **{" su": 0.9, ".": 0.05}), labels=labels)
    assert list(scores.log_p) == approx(0.8 * 0.05, 0.8 * 0.9)


@pytest.mark.parametrize(
    ("labels", "n"), [(("yes", "no"), 1), (LABELS, 3), (("join", "joint"), 5)], ids=["apart", "alike", "prefix"]
)
def test_as_many_tokens_are_asked_for_as_may_be_needed(labels: tuple[str, ...], n: int) -> None:
    request = Request(({"role": "user", "content": "x"},), 9, labels)
    body = request_body(request, Api.CHAT, {}, scores_labels=True)
    assert (body["logprobs"], body["top_logprobs"], body["max_tokens"]) == (True, 20, n)
    prompts = request_body(request, Api.COMPLETIONS, {}, scores_labels=True)["prompt"]
    assert [prompt.endswith("\n") for prompt in prompts] == [labels == ("join", "joint")] * len(labels)


def test_limits_of_the_brier_score_hold_every_division() -> None:
    rng = np.random.default_rng(5)
    known = rng.dirichlet([1, 1, 1, 1], size=40)
    shares, free = known[:, :3], known[:, 3]
    labels = rng.integers(3, size=40)
    low, high = brier_limits(shares, free, labels)
    divided = shares + free[:, None] * rng.dirichlet([0.3] * 3, size=(4000, 40))
    some = brier_scores(divided, labels)
    assert (some >= low - 1e-9).all()
    assert (some <= high + 1e-9).all()
    corners = np.stack([brier_scores(shares + free[:, None] * np.eye(3)[k], labels) for k in range(3)])
    assert corners.max(axis=0) == pytest.approx(high)
    for row, u, label, least in zip(shares[:10], free, labels, low, strict=False):
        found = minimize(
            lambda q, row=row, u=u, label=label: brier_scores([row + u * np.abs(q) / np.abs(q).sum()], [label])[0],
            np.ones(3), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 5000},
        )  # fmt: skip
        assert found.fun == pytest.approx(least, abs=1e-4)


def reply(listed: dict[str, float]) -> JSONResponse:
    top = [{"token": token, "logprob": math.log(p)} for token, p in listed.items()]
    body = completion("x")
    body["choices"][0] |= {
        "finish_reason": "length", "logprobs": {"content": [{"token": "x", "logprob": 0.0, "top_logprobs": top}]},
    }  # fmt: skip
    return JSONResponse(body)


def run(folder: DatasetFolder, server: ChatServer, out: Path, **options: Any) -> pl.DataFrame:
    given = {"source": ["harbour"], "target": ["kitchen"], "subset": "all", "score_labels": True} | options
    main("nli", folder.path, out, "m", server.url, **given)
    return pl.read_parquet(out)


def test_calibration_with_a_censored_label_is_refused(
    synthetic: DatasetFolder, server: ChatServer, tmp_path: Path
) -> None:
    """A label that no list ever held would be divided by next to nothing, and win with .99."""
    server.reply = lambda _: reply({"entailment": 0.6, "contra": 0.3})
    words = (
        "labels that are not among the 20 most probable tokens cannot be calibrated; found 'neutral'; use --api compl"
    )
    with pytest.raises(InvalidInput, match=words):
        run(synthetic, server, tmp_path / "p.parquet", calibrate=True, shots=3, demonstrations="fixed")
    assert not (tmp_path / "p.parquet").exists()
    server.reply = lambda _: reply({"entailment": 0.6, "contra": 0.3, "neutral": 0.05})
    given: dict[str, Any] = {"calibrate": True, "shots": 4, "demonstrations": "fixed"}
    frame = run(synthetic, server, tmp_path / "p.parquet", **given)
    assert frame["confidence"].to_list() == pytest.approx([1 / 3] * len(frame))


def test_confidences_are_written_only_where_they_are_known(
    synthetic: DatasetFolder, server: ChatServer, tmp_path: Path, heard: pytest.LogCaptureFixture
) -> None:
    assert synthetic.task("nli").labels == ("entailment", "neutral", "contradiction")
    server.reply = lambda _: reply({"entailment": 0.6, "contra": 0.3})  # 10% for 'neutral' and all other texts
    frame = run(synthetic, server, tmp_path / "p.parquet", probabilities=True)
    assert frame.columns == ["source", "id", "prediction", "seed"]
    assert set(frame["prediction"]) == {"entailment"}
    assert "10.0% " in heard.text
    heard.clear()
    server.reply = lambda _: reply({"entailment": 0.698, "contra": 0.3})
    frame = run(synthetic, server, tmp_path / "q.parquet", probabilities=True, shots=3)
    assert frame["probabilities"].list.sum().to_list() == pytest.approx([1.0] * len(frame))
    assert frame["probabilities"][0].to_list() == pytest.approx([0.698 + 0.002 / 3, 0.002 / 3, 0.3 + 0.002 / 3])
    assert "0.2% " in heard.text


def test_a_row_where_no_label_is_listed_has_no_prediction(
    synthetic: DatasetFolder, server: ChatServer, tmp_path: Path
) -> None:
    server.reply = lambda _: reply({"The": 0.9})
    assert set(run(synthetic, server, tmp_path / "p.parquet")["prediction"]) == {"__unparsed__"}
