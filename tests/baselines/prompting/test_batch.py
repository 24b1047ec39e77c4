"""Batch files: written, sent and collected, they give what asking one by one gives."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shiftbench.baselines.prompt_llm import main
from shiftbench.baselines.prompting import batch as module
from shiftbench.baselines.prompting.batch import BatchStage
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.report import InvalidInput

from .chat_server import ChatServer

ASKED: dict[str, Any] = {"source": ["lamps"], "target": ["tents"], "shots": 1}


def step(folder: DatasetFolder, server: ChatServer, out: Path, stage: BatchStage | None) -> None:
    main("sa", folder.path, out, "m", server.url, batch=stage, **ASKED)


def test_a_batch_gives_what_single_requests_give(
    synthetic: DatasetFolder, server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    heard: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    monkeypatch.setattr(module, "MOST_REQUESTS", 20)  # two files
    server.reply = lambda body: ["positive", "negative"][len(body["messages"][-1]["content"]) % 2]
    out = tmp_path / "p.parquet"
    step(synthetic, server, out, BatchStage.WRITE)
    lines = [json.loads(line) for path in sorted(tmp_path.glob("p.batch-*")) for line in path.read_text().splitlines()]
    assert len(lines) == 30
    assert {line["url"] for line in lines} == {"/v1/chat/completions"}
    assert lines[0]["body"].keys() == {"model", "messages", "temperature", "max_tokens"}
    assert "wrote 30 requests to p.batch-0.jsonl, p.batch-1.jsonl; --batch send" in heard.text
    step(synthetic, server, out, BatchStage.SEND)
    with pytest.raises(InvalidInput, match="the batch was sent before"):
        step(synthetic, server, out, BatchStage.SEND)
    with pytest.raises(InvalidInput, match="the batch is not done; found batch-0 in_progress, batch-1 in_progress"):
        step(synthetic, server, out, BatchStage.COLLECT)
    server.finish_batches()
    step(synthetic, server, out, BatchStage.COLLECT)
    assert server.asked == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "p.card.yaml", "p.parquet"]
    monkeypatch.setenv("SHIFTBENCH_CACHE", str(tmp_path / "other"))
    step(synthetic, server, tmp_path / "single.parquet", None)
    assert len(server.asked) == 30
    assert pl.read_parquet(out).equals(pl.read_parquet(tmp_path / "single.parquet"))


def test_what_a_batch_lacks_is_told_and_the_rest_kept(
    synthetic: DatasetFolder, server: ChatServer, tmp_path: Path
) -> None:
    out = tmp_path / "p.parquet"
    for stage in (BatchStage.WRITE, BatchStage.SEND):
        step(synthetic, server, out, stage)
    server.finish_batches(lost=4)
    with pytest.raises(InvalidInput, match="came back incomplete; found 4 of 30 requests without an answer; batch-0"):
        step(synthetic, server, out, BatchStage.COLLECT)
    assert not out.exists()
    step(synthetic, server, out, None)
    assert len(server.asked) == 4


def test_steps_out_of_order_are_refused(synthetic: DatasetFolder, server: ChatServer, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="there is nothing to send; give --batch write first"):
        step(synthetic, server, tmp_path / "p.parquet", BatchStage.SEND)
    with pytest.raises(InvalidInput, match="no batch was sent; give --batch write, then --batch send"):
        step(synthetic, server, tmp_path / "p.parquet", BatchStage.COLLECT)
