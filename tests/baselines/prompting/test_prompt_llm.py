"""prompt-llm from command to scores: every kind of task, sources and shots, resuming, what goes wrong."""

import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from fastapi.responses import JSONResponse
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.prompt_llm import main
from shiftbench.baselines.prompting.options import PromptingOptions
from shiftbench.baselines.prompting.task_prompt import PromptProtocol, TaskPrompt
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.score import score_file
from shiftbench.validation.cards import Card, read_card
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import UNPARSED
from tests.refusals import refusal as refused

from .chat_server import ChatServer, completion, refusal, running_chat_server

ROOT = Path(__file__).parents[3]


class LetterTokens:
    """Token vectors from the letters of words, in place of an encoder."""

    name, revision = "letters", "1"

    def token_vectors(self, texts: list[str], description: str = "", *, keep: bool = True) -> tuple[Any, Any]:
        words = [text.split() for text in texts]
        vectors = [[1.0 + word.count(letter) for letter in "abcdefghij"] for text in words for word in text]
        offsets = np.concatenate([[0], np.cumsum([len(text) for text in words])])
        return np.array(vectors, dtype=np.float32).reshape(-1, 10), offsets


def oracle(folder: DatasetFolder, task: str, protocol: PromptProtocol | None = None) -> Callable[[dict[str, Any]], str]:
    """Answer each test row with its gold answer, in the words of a demonstration."""
    prompt = TaskPrompt.of(folder, task, protocol)
    known = {
        prompt.request(row, []).messages[-1]["content"].split("### Input ###")[-1]: prompt.answer(row)
        for row in folder.test(task).iter_rows(named=True)
    }
    return lambda body: known[body["messages"][-1]["content"].split("### Input ###")[-1]]


def run(folder: DatasetFolder, server: ChatServer, out: Path, task: str, **options: Any) -> tuple[pl.DataFrame, Card]:
    main(task, folder.path, out, "m", server.url, **options)
    return pl.read_parquet(out), read_card(out.with_name(f"{out.stem}.card.yaml"))


@pytest.mark.parametrize(
    ("task", "protocol"),
    [*((task, "dr") for task in ("sa", "nli", "ab", "qa", "qg", "as", "tg")), ("nli", "boss"), ("qa", "boss")],
)
def test_gold_answers_of_every_kind_get_full_marks(
    task: str, protocol: str, grid: DatasetFolder, server: ChatServer, tmp_path: Path
) -> None:
    server.reply = oracle(grid, task, PromptProtocol(protocol))
    out = tmp_path / "p.parquet"
    frame, card = run(grid, server, out, task, protocol=PromptProtocol(protocol), shots=2, source=["d0"])
    assert set(frame["source"]) == {"d0"}
    assert sorted(frame["id"]) == sorted(grid.test(task)["id"])
    (scores,) = score_file(out, grid, encoder=LetterTokens()).tasks  # type: ignore[arg-type]
    values = [shift.st.value for shift in scores.shifts] + [shift.ss.value for shift in scores.shifts]
    assert values
    assert values == pytest.approx([1.0] * len(values))
    assert (card.paradigm, card.shots, card.base_model, card.subset) == ("few-shot", 2, "m", "all")


def test_entities_of_boss_from_the_id_domain(boss: DatasetFolder, server: ChatServer, tmp_path: Path) -> None:
    server.reply = oracle(boss, "ner")
    frame, card = run(boss, server, tmp_path / "p.parquet", "ner", target=["few_nerd", "wnut"])
    assert set(frame["source"]) == {"few_nerd"}
    assert card.shots == 7
    (scores,) = score_file(tmp_path / "p.parquet", boss).tasks
    # A word that stands twice in a text and is named once is tagged in both places.
    assert all(shift.st.value > 0.95 for shift in scores.shifts)


def test_demonstrations_from_an_ood_data_set(boss: DatasetFolder, server: ChatServer, tmp_path: Path) -> None:
    frame, _ = run(boss, server, tmp_path / "p.parquet", "sa", source=["dynasent"], target=["dynasent"])
    assert set(frame["source"]) == {"dynasent"}
    train = boss.split("sa", "dynasent", "train")["text"].to_list()
    shown = server.last_turns()[0].split("### Examples ###\n")[1].split("\n### Input")[0].split("\n")
    assert len(shown) == 3
    assert all(line.removeprefix("Text: ").split(" // ")[0] in train for line in shown)


def test_few_shots_make_a_grid_of_the_domains_of_the_fewshot_subset(
    synthetic: DatasetFolder, server: ChatServer, tmp_path: Path, heard: pytest.LogCaptureFixture
) -> None:
    server.reply = lambda _: "neutral"
    frame, card = run(synthetic, server, tmp_path / "p.parquet", "nli", target=["kitchen", "orchard"])
    assert set(frame["source"]) == {"harbour", "kitchen", "orchard"}
    ids = synthetic.subset("nli", "fewshot")["id"]
    assert sorted(frame.filter(source="kitchen")["id"]) == sorted(ids.filter(~ids.str.contains("/harbour/")))
    assert "180 rows: 60 " in heard.text
    assert (card.subset, card.shots, card.paradigm) == ("fewshot", 4, "few-shot")
    assert card.tokens == 12 * len(server.asked)
    (scores,) = score_file(tmp_path / "p.parquet", synthetic, "fewshot").tasks
    assert len(scores.shifts) == 4
    for body in server.asked:
        labels = [message["content"] for message in body["messages"] if message["role"] == "assistant"]
        assert len(labels) == 4
        assert set(labels) == {"entailment", "neutral", "contradiction"}


def test_without_shots_there_is_no_source(synthetic: DatasetFolder, server: ChatServer, tmp_path: Path) -> None:
    prices = {"price_in": 100.0, "price_out": 1_000.0}
    frame, card = run(synthetic, server, tmp_path / "p.parquet", "sa", shots=0, target=["tents"], **prices)
    assert set(frame["source"]) == {"none"}
    assert set(frame["prediction"]) == {"positive"}
    assert [message["role"] for message in server.asked[0]["messages"]] == ["system", "user"]
    assert card.paradigm == "zero-shot"
    assert card.cost_usd == pytest.approx(len(server.asked) * (10 * 100 + 2 * 1_000) / 1e6)
    score_file(tmp_path / "p.parquet", synthetic)


def test_a_rerun_asks_nothing_and_writes_the_same(
    synthetic: DatasetFolder, server: ChatServer, tmp_path: Path, heard: pytest.LogCaptureFixture
) -> None:
    server.reply = lambda body: ["positive", "negative", "no idea"][len(body["messages"][-1]["content"]) % 3]
    options = {"source": ["lamps"], "target": ["tents"], "seed": [0, 1]}
    first, card = run(synthetic, server, tmp_path / "a.parquet", "sa", **options)
    n_asked = len(server.asked)
    assert n_asked == len(first) == 60
    heard.clear()
    second, again = run(synthetic, server, tmp_path / "b.parquet", "sa", **options)
    assert len(server.asked) == n_asked
    assert second.equals(first)
    assert again.tokens == card.tokens
    unparsed = int((first["prediction"] == UNPARSED).sum())
    said = heard.text
    for figure in ("0 requests ", "60 from ", "600 input ", "120 output ", f"{unparsed} of 60 predictions"):
        assert figure in said
    assert unparsed > 0


def test_predictions_hang_on_neither_concurrency_nor_targets_asked_for(
    synthetic: DatasetFolder, server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The stub's answer depends on the demonstrations and their order.
    server.reply = lambda body: ["positive", "negative"][sum(map(ord, str(body["messages"]))) % 2]
    frames = []
    both = ["kettles", "tents"]
    asked = [{"target": both, "concurrency": 1}, {"target": both, "concurrency": 16}, {"target": ["tents"]}]
    for number, options in enumerate(asked):
        monkeypatch.setenv("SHIFTBENCH_CACHE", str(tmp_path / f"cache{number}"))
        frames.append(run(synthetic, server, tmp_path / "p.parquet", "sa", source=["lamps"], **options)[0])
    assert frames[0].equals(frames[1])
    assert frames[2].equals(frames[0].filter(pl.col("id").str.contains("/tents/")))


def command(folder: DatasetFolder, server: ChatServer, out: Path, cache: Path) -> "subprocess.Popen[str]":
    words = ["train", "prompt-llm", "sa", "--data", str(folder.path), "--out", str(out), "--model", "m"]
    words += ["--base-url", server.url, "--source", "lamps", "--concurrency", "2"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "SHIFTBENCH_CACHE": str(cache)}
    process = [sys.executable, "-m", "shiftbench", *words]
    return subprocess.Popen(process, env=environment, stderr=subprocess.PIPE, text=True)


def n_kept(cache: Path) -> int:
    """Count the answers on disk."""
    place = cache / "answers.sqlite"
    if not place.is_file():
        return 0
    with closing(sqlite3.connect(place, timeout=60)) as kept:
        (n_tables,) = kept.execute("SELECT count(*) FROM sqlite_master WHERE name = 'answers'").fetchone()
        return int(kept.execute("SELECT count(*) FROM answers").fetchone()[0]) if n_tables else 0


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_was_stopped_asks_only_for_what_was_not_answered(
    how: signal.Signals, synthetic: DatasetFolder, server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, cache = tmp_path / "p.parquet", tmp_path / "kept"
    server.answers_only = 30
    process = command(synthetic, server, out, cache)
    deadline = time.monotonic() + 60
    # A killed process loses the answers that wait to be written: how many these are depends on the disk.
    while (len(server.asked) < 32 or n_kept(cache) < 30) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(how)
    _, said = process.communicate(timeout=60)
    assert process.returncode == (130 if how is signal.SIGINT else -how)
    assert "Traceback" not in said
    assert (len(server.asked), n_kept(cache)) == (32, 30)
    assert not out.exists()
    server.answers_only = None
    monkeypatch.setenv("SHIFTBENCH_CACHE", str(cache))
    frame, card = run(synthetic, server, out, "sa", source=["lamps"])
    # The two that were under way are asked for twice.
    assert len(server.asked) == 120 + 2
    assert len(frame) == 120
    assert card.tokens == 120 * 12


def test_a_failing_server_ends_in_one_message_and_the_run_goes_on_later(
    synthetic: DatasetFolder, server: ChatServer, tmp_path: Path
) -> None:
    server.reply = lambda _: refusal(401, "wrong key") if len(server.asked) > 40 else "positive"
    out = tmp_path / "p.parquet"
    with pytest.raises(InvalidInput, match=r"--api-key-env.*cached"):
        run(synthetic, server, out, "sa", source=["lamps"], target=["kettles", "tents"], concurrency=1)
    assert not out.exists()
    server.reply = lambda _: "positive"
    run(synthetic, server, out, "sa", source=["lamps"], target=["kettles", "tents"], concurrency=1)
    assert len(server.asked) == 61


def test_what_stays_without_an_answer_is_named_with_the_command_that_asks_again(
    synthetic: DatasetFolder, server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server whose responses of status 200 hold no answer for some texts: these are no wrong predictions."""
    typed = ["shiftbench", "train", "prompt-llm", "sa", "--data", "build/x", "--out", "p.parquet", "--model", "m"]
    monkeypatch.setattr(sys, "argv", typed)
    monkeypatch.setattr("shiftbench.baselines.prompting.server.LONGEST_WAIT", 0.01)
    lost = {0, 7}
    texts = synthetic.split("sa", "tents", "test")
    lost_texts = [texts["text"][place] for place in lost]
    empty = JSONResponse(completion("x") | {"choices": []})
    is_lost = lambda body: any(text in body["messages"][-1]["content"] for text in lost_texts)  # noqa: E731
    server.reply = lambda body: empty if is_lost(body) else "positive"
    out, options = tmp_path / "p.parquet", {"source": ["lamps"], "target": ["tents"], "concurrency": 1}
    with pytest.raises(InvalidInput) as refused:
        run(synthetic, server, out, "sa", **options)
    said = str(refused.value)
    assert "m: 2 of 30 requests" in said
    assert all(texts["id"][place] in said for place in lost)
    assert said.endswith(f": {shlex.join(typed)}")
    assert not out.exists()
    server.asked.clear()
    server.reply = lambda _: "positive"
    frame, card = run(synthetic, server, out, "sa", **options)
    assert len(server.asked) == 2
    assert set(frame["prediction"]) == {"positive"}
    assert card.tokens == 30 * 12


def test_answers_that_cannot_be_used_are_counted_apart(
    synthetic: DatasetFolder, server: ChatServer, tmp_path: Path, heard: pytest.LogCaptureFixture
) -> None:
    kinds: list[Any] = [
        ("<think>positive?", "length"),
        ("positive, because", "length"),
        ("", "content_filter"),
        ("hm", "stop"),
    ]

    def reply(body: dict[str, Any]) -> JSONResponse:
        content, reason = kinds[len(body["messages"][-1]["content"]) % 4]
        answer = completion(content)
        answer["choices"][0]["finish_reason"] = reason
        return JSONResponse(answer)

    server.reply = reply
    options = {"source": ["lamps"], "target": ["tents"]}
    n = Counter(len(text) % 4 for text in server_texts(synthetic))
    for _ in range(2):  # the second run reads the cache: a truncated answer is not an empty one there, either
        frame, _card = run(synthetic, server, tmp_path / "p.parquet", "sa", **options)
        lost = 30 - n[1]
        (line,) = [line for line in heard.messages if "truncated" in line]
        assert list(map(int, re.findall(r"\d+", line)))[-6:] == [lost, 30, n[0], n[2], n[3], n[1]]
        assert int((frame["prediction"] == UNPARSED).sum()) == lost
        assert len(server.asked) == 30
        heard.clear()
    run(synthetic, server, tmp_path / "p.parquet", "sa", max_tokens=200, **options)
    assert len(server.asked) == 60


def server_texts(folder: DatasetFolder) -> list[str]:
    return [f"Text: {text}" for text in folder.split("sa", "tents", "test")["text"]]


def test_the_same_model_at_another_address_is_not_asked_again(
    synthetic: DatasetFolder, server: ChatServer, tmp_path: Path
) -> None:
    options = {"source": ["lamps"], "target": ["tents"]}
    run(synthetic, server, tmp_path / "p.parquet", "sa", **options)
    assert len(server.asked) == 30
    with running_chat_server() as other:
        run(synthetic, other, tmp_path / "p.parquet", "sa", **options)
        assert other.asked == []


def test_a_server_is_waited_for_as_long_as_told(synthetic: DatasetFolder, server: ChatServer, tmp_path: Path) -> None:
    options = PromptingOptions("sa", synthetic.path, tmp_path / "p.csv", "m", base_url=server.url, timeout=7.5)
    model: Any = options.open_model()
    assert model._options["timeout"] == 7.5


def test_what_cannot_be_done_is_refused_before_a_request(
    synthetic: DatasetFolder, server: ChatServer, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    given = {"task": "sa", "data": synthetic.path, "out": tmp_path / "p.parquet", "model": "m", "base_url": server.url}
    wrong: list[dict[str, Any]] = [
        {"local": True, "base_url": None, "timeout": 5.0},
        {"base_url": "localhost:8000"},
        {"base_url": "http://[::1/v1"},
        {"base_url": "http://localhost:99999/v1"},
        {"base_url": "http://me:secret@localhost/v1"},
        {"base_url": None},
        {"api_key_env": "MY_KEY"},
        {"param": ["temperature"]},
        {"param": ["model=x"]},
        {"local": True},
        {"shots": 0, "source": ["lamps"]},
        {"source": ["lamp"]},
        {"target": ["tent"]},
        {"subset": "few"},
        {"shots": 999},
        {"out": Path("p.txt")},
    ]
    assert [refused(InvalidInput, main, **{**given, **options}) for options in wrong] == wording
    assert server.asked == []


@pytest.mark.parametrize("key", ["schl\u00fcssel", "secret\n"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(
    key: str, synthetic: DatasetFolder, server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(InvalidInput, match="--api-key-env") as refused:
        run(synthetic, server, tmp_path / "p.parquet", "sa")
    assert key.strip() not in str(refused.value)
    assert server.asked == []


def test_the_key_comes_from_the_environment_and_stays_out_of_the_card(
    synthetic: DatasetFolder, server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "hush-hush")
    options = {"api_key_env": "MY_KEY", "param": ["temperature=null", "reasoning_effort=low", "seed=3"]}
    run(synthetic, server, tmp_path / "p.parquet", "sa", source=["lamps"], target=["tents"], **options)
    assert server.authorizations == {"Bearer hush-hush"}
    assert {name: server.asked[0].get(name) for name in ("temperature", "reasoning_effort", "seed")} == {
        "temperature": None,
        "reasoning_effort": "low",
        "seed": 3,
    }
    kept = [*tmp_path.glob("p.*"), *(tmp_path / "cache").rglob("*")]
    assert not any(b"hush-hush" in path.read_bytes() for path in kept if path.is_file())
