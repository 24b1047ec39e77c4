"""rag: the nearest source texts are shown, nearest last, with their labels."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shiftbench.baselines import rag
from shiftbench.baselines.robust import in_context
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.score import score_file
from shiftbench.validation.cards import read_card

from .chat_server import ChatServer


def shown(body: dict[str, Any]) -> list[tuple[str, str]]:
    """List the demonstrations of a request: text and label."""
    turns = [message["content"] for message in body["messages"][1:-1]]
    return [(text.removeprefix("Text: "), label) for text, label in zip(turns[::2], turns[1::2], strict=True)]


def test_the_nearest_texts_are_shown_nearest_last(
    synthetic: DatasetFolder, word_encoder: Any, server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rag, "Encoder", lambda name: word_encoder)
    monkeypatch.setattr(in_context, "_BLOCK", 7)
    server.reply = lambda body: f"{shown(body)[-1][1]}, because that of the nearest"
    out = tmp_path / "p.parquet"
    rag.main("sa", synthetic.path, out, "m", server.url, source=["kettles+lamps"], target=["tents"])
    train = pl.concat([synthetic.split("sa", source, "train") for source in ("kettles", "lamps")])
    rows = synthetic.split("sa", "tents", "test")
    cosines = word_encoder.encode(rows["text"].to_list()) @ word_encoder.encode(train["text"].to_list()).T
    labels = dict(zip(train["text"], train["label"], strict=True))
    names = synthetic.task("sa").labels
    by_text = {body["messages"][-1]["content"].removeprefix("Text: "): shown(body) for body in server.asked}
    for row, text in enumerate(rows["text"]):
        similar = [float(word_encoder.encode([near])[0] @ word_encoder.encode([text])[0]) for near, _ in by_text[text]]
        assert similar == sorted(similar)
        assert similar == pytest.approx(sorted(np.sort(cosines[row])[-3:]), abs=1e-6)
        assert [label for _, label in by_text[text]] == [names[labels[near]] for near, _ in by_text[text]]
    frame = pl.read_parquet(out)
    assert frame["prediction"].to_list() == [by_text[text][-1][1] for text in rows["text"]]
    card = read_card(out.with_name("p.card.yaml"))
    assert (card.paradigm, card.shots) == ("retrieval", 3)
    score_file(out, synthetic)


def test_tags_are_labelled_in_the_same_way(
    boss: DatasetFolder, word_encoder: Any, server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rag, "Encoder", lambda name: word_encoder)
    server.reply = lambda body: body["messages"][-2]["content"]
    rag.main("ner", boss.path, tmp_path / "p.parquet", "m", server.url, target=["wnut"])
    predictions = pl.read_parquet(tmp_path / "p.parquet")["prediction"]
    assert predictions.str.split(" ").list.len().to_list() == [8] * 40
    score_file(tmp_path / "p.parquet", boss)
