"""Completions, labels that are scored, guidance: what is sent, and what the answers are read as."""

import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from fastapi.responses import JSONResponse
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.prompt_llm import Demonstrations, main
from shiftbench.baselines.prompting.models import ModelAnswer, Request
from shiftbench.baselines.prompting.options import PromptingOptions
from shiftbench.baselines.prompting.scored_labels import LabelScores
from shiftbench.baselines.prompting.server import ModelServer
from shiftbench.baselines.prompting.wire import Api, UnscoredError, plain_text, read_answer
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.score import score_file
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal as refused

from .chat_server import ChatServer, completion, refusal, text_completion

LABELS = ("negative", "neutral", "positive")
TURNS = ({"role": "system", "content": "Decide."}, {"role": "user", "content": "Text: it broke"})
ASKED = Request(TURNS, 9, LABELS)


def words_of(text: str) -> list[str]:
    """Cut a text before each blank, as tokenizers do."""
    return [(" " if place else "") + word for place, word in enumerate(text.split(" "))]


def echoes(body: dict[str, Any], score: Any) -> JSONResponse:
    """Echo each prompt with a log-probability of each word, and one word that was generated."""
    tokens = [["<s>", *words_of(prompt), " and"] for prompt in body["prompt"]]
    log_p = [[None, *(score(token) for token in each[1:])] for each in tokens]
    return JSONResponse(text_completion(*body["prompt"], tokens=tokens, token_logprobs=log_p))


def run(folder: DatasetFolder, server: ChatServer, out: Path, **options: Any) -> pl.DataFrame:
    given = {"source": ["lamps"], "target": ["tents"], "api": Api.COMPLETIONS} | options
    main("sa", folder.path, out, "m", server.url, **given)
    return pl.read_parquet(out)


def test_a_base_model_goes_on_with_a_text(synthetic: DatasetFolder, server: ChatServer, tmp_path: Path) -> None:
    server.reply = lambda body: " positive" if "Answer: positive" in body["prompt"] else " no idea"
    frame = run(synthetic, server, tmp_path / "p.parquet", shots=2)
    assert server.paths == {"/v1/completions"}
    body = server.asked[0]
    assert body["stop"] == ["\n\n"]
    instruction, *shown, asked = body["prompt"].split("\n\n")
    assert instruction.startswith("Decide") or "sentiment" in instruction
    assert [part.rpartition("\nAnswer: ")[2] in LABELS for part in shown] == [True, True]
    assert asked.endswith("\nAnswer:")
    assert set(frame["prediction"]) == {"positive"}


def test_a_prompt_that_asks_by_itself_is_left_open() -> None:
    text = "### Input ###\nText: it broke // Prediction:"
    turn = {"role": "user", "content": text}
    assert plain_text([turn], ends_open=True) == text
    assert plain_text([*TURNS]) == "Decide.\n\nText: it broke\nAnswer:"


@pytest.mark.parametrize(
    ("api", "said", "cure"),
    [
        (Api.CHAT, "default chat template is no longer allowed, you must provide a chat template", "--api completions"),
        (Api.CHAT, "This is not a chat model and thus not supported", "--api completions: this model has no chat"),
        (Api.COMPLETIONS, "This is a chat model and not supported in the v1/completions endpoint", "--api chat"),
    ],
)
def test_the_wrong_way_to_ask_is_told_with_the_other(api: Api, said: str, cure: str, server: ChatServer) -> None:
    server.reply = lambda _: refusal(400, said)
    model = ModelServer("m", base_url=server.url, api_key="k", api=api)
    with pytest.raises(InvalidInput, match=f"use {cure}"):
        model.answer([ASKED], lambda place, answer: None)
    assert len(server.asked) == 1


def test_labels_are_scored_by_their_own_tokens(synthetic: DatasetFolder, server: ChatServer, tmp_path: Path) -> None:
    """The last word decides; words of the prompt and the generated one do not."""
    server.reply = lambda body: echoes(body, lambda token: {" negative": -1.0, " positive": -1.5}.get(token, -50.0))
    out = tmp_path / "p.parquet"
    frame = run(synthetic, server, out, score_labels=True, probabilities=True)
    labels = synthetic.task("sa").labels
    assert [prompt.rpartition(" ")[2] for prompt in server.asked[0]["prompt"]] == list(labels)
    assert (server.asked[0]["echo"], server.asked[0]["max_tokens"]) == (True, 1)
    expected = {"negative": math.exp(-1.0), "positive": math.exp(-1.5)}
    total = sum(expected.get(label, math.exp(-50)) for label in labels)
    assert set(frame["prediction"]) == {"negative"}
    assert frame["confidence"].to_list() == pytest.approx([expected["negative"] / total] * len(frame))
    assert frame["probabilities"][0].to_list() == pytest.approx([expected.get(each, 0) / total for each in labels])
    score_file(out, synthetic)
    n_asked = len(server.asked)
    assert run(synthetic, server, out, score_labels=True).equals(frame.drop("probabilities"))
    assert len(server.asked) == n_asked


def read(choices: list[Any], api: Api) -> LabelScores:
    found = read_answer(json.dumps({"choices": choices}), ASKED, api, scores_labels=True)
    assert found.text is not None
    return LabelScores.from_text(found.text)


def test_tokens_of_a_label_add_up_however_they_are_cut() -> None:
    tokens = [
        ["\u2581it", ":", "\u2581neg", "ative"],
        ["it:", " neutral", "</s>"],
        ["it", ":", " posi", "tiv", "e", "."],
    ]
    log_p = [[None, -9.0, -0.5, -0.25], [-9.0, -2.0, -9.0], [None, -9.0, -1.0, -0.5, -0.25, -9.0]]
    body = text_completion("", "", "", tokens=tokens, token_logprobs=log_p)
    assert read(body["choices"][::-1], Api.COMPLETIONS) == LabelScores((-0.75, -2.0, -1.75))


@pytest.mark.parametrize(
    ("api", "reply"),
    [
        (Api.COMPLETIONS, text_completion("x", "y", "z")),
        (Api.COMPLETIONS, text_completion("x")),
        (Api.COMPLETIONS, text_completion("x", "y", "z", tokens=[["x"]] * 3, token_logprobs=[[-1.0]] * 3)),
        (Api.CHAT, completion("positive")),
    ],
    ids=["no log-probabilities", "one choice", "of the answer alone", "no alternatives"],
)
def test_a_server_that_does_not_score_is_told_with_the_cure(api: Api, reply: Any, server: ChatServer) -> None:
    with pytest.raises(UnscoredError):
        read_answer(json.dumps(reply), ASKED, api, scores_labels=True)
    server.reply = lambda _: JSONResponse(reply)
    model = ModelServer("m", base_url=server.url, api_key="k", api=api, scores_labels=True)
    with pytest.raises(InvalidInput, match=r"--api .* --score-labels"):
        model.answer([ASKED], lambda place, answer: None)


def test_servers_may_be_told_to_answer_with_a_label(
    synthetic: DatasetFolder, server: ChatServer, tmp_path: Path
) -> None:
    server.reply = lambda body: body["structured_outputs"]["choice"][0]
    choice = 'structured_outputs={"choice": ["negative", "positive"]}'
    frame = run(synthetic, server, tmp_path / "p.parquet", api=Api.CHAT, param=[choice])
    assert set(frame["prediction"]) == {"negative"}


def test_prompts_that_begin_alike_are_asked_one_after_the_other(server: ChatServer) -> None:
    begins = ["b", "a", "b", "c", "a", "b"]
    asked = [Request(({"role": "system", "content": begin}, TURNS[1]), 9) for begin in begins]
    answers: dict[int, ModelAnswer] = {}
    server.reply = lambda body: body["messages"][0]["content"]
    ModelServer("m", base_url=server.url, api_key="k", concurrency=1).answer(asked, answers.__setitem__)
    assert [body["messages"][0]["content"] for body in server.asked] == sorted(begins)
    assert [answers[place].text for place in range(6)] == begins


def test_boss_has_one_set_of_demonstrations(boss: DatasetFolder, server: ChatServer, tmp_path: Path) -> None:
    def shown(**options: Any) -> set[str]:
        server.asked.clear()
        main("sa", boss.path, tmp_path / "p.parquet", "m", server.url, target=["dynasent"], **options)
        return {turn.split("### Input ###")[0] for turn in server.last_turns()}

    assert len(shown(seed=[1, 2])) == 2
    assert len(shown(demonstrations=Demonstrations.DRAWN)) > 5


@pytest.mark.parametrize(
    ("address", "typed", "concurrency"),
    [
        ("http://127.0.0.1:8000/v1", None, 64),
        ("http://localhost:8000/v1", None, 64),
        ("http://192.168.3.4/v1", None, 64),
        ("http://api.example.org/v1", None, 8),
        ("http://localhost:8000/v1", 3, 3),
    ],
)
def test_servers_nearby_are_asked_more_at_once(address: str, typed: int | None, concurrency: int) -> None:
    options = PromptingOptions("sa", Path(), Path("p.csv"), "m", base_url=address, concurrency=typed)
    model = options.open_model()
    assert isinstance(model, ModelServer)
    assert model._concurrency == concurrency


def test_what_does_not_go_together_is_refused(
    grid: DatasetFolder, server: ChatServer, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    place = grid.path, tmp_path / "p.parquet", "m", server.url
    assert [
        refused(InvalidInput, main, "sa", *place, probabilities=True),
        refused(InvalidInput, main, "ab", *place, score_labels=True),
    ] == wording
    assert server.asked == []
