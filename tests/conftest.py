"""Fixtures that all tests share. Every text in them is invented."""

import gc
import hashlib
import os
import re
import signal
import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import settings
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.building.synthetic import build_synthetic
from shiftbench.builders.encoder import Vectors
from shiftbench.builders.folder.manifest import EncoderFacts
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.writing import writer

SHARED = Path(__file__).parents[2] / "shared"

# As in a command (see ``shiftbench.cli.command.run_app``).
pl.Config.set_engine_affinity("in-memory")

# A busy machine is no fault of an example.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

# A shell that runs the tests in the background has their programs ignore Ctrl-C, which is what some tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep what is imported and collected out of garbage collection: it is never freed, and is millions of objects."""
    gc.disable()
    collected = yield
    gc.freeze()
    gc.enable()
    return collected


class WordEncoder:
    """An encoder in a few lines: each word votes for eight of 64 directions. No model, no network."""

    def encode(self, texts: Sequence[str], description: str = "") -> Vectors:
        vectors = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                for byte in hashlib.sha256(word.encode()).digest()[:8]:
                    vectors[row, byte % 64] += 1
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / np.where(norms == 0, 1, norms)

    def facts(self) -> EncoderFacts:
        return EncoderFacts(id="word-encoder", revision="1", dimensions=64)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep tests out of the user's cache."""
    os.environ["SHIFTBENCH_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session", autouse=True)
def _few_pictures() -> Iterator[None]:
    """Draw pictures only in the tests of pictures, and in those of the command: each takes about a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "statistics_picture", lambda _: b"\x89PNG")
        yield


_VARYING = {
    r"(\b|(?<=%3D))[0-9a-f]{12,64}\b": "ID",
    r"\b20\d\d-\d\d-\d\d\b": "DATE",
    r"(?<=year = \{)\d{4}": "YEAR",
    r"(?<=127\.0\.0\.1:)\d+": "PORT",
}


@pytest.fixture
def wording(snapshot: SnapshotAssertion, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> SnapshotAssertion:
    """Compare whole messages and pages with those last accepted (``__snapshots__``; ``pytest --snapshot-update``).

    What differs between machines and runs is replaced: the folder of a test by TMP, those that tests share by SHARED,
    ids and hashes by ID, days by DATE, and so on.
    """
    shared = re.escape(str(tmp_path_factory.getbasetemp())) + r"/[^/\s]+"
    varying = {re.escape(str(tmp_path)): "TMP", shared: "SHARED", **_VARYING}

    def stable(data: object, **_: object) -> object:
        if isinstance(data, str):
            for pattern, name in varying.items():
                data = re.sub(pattern, name, data)
        return data

    return snapshot.with_defaults(matcher=stable)


@pytest.fixture(scope="session")
def word_encoder() -> WordEncoder:
    return WordEncoder()


@pytest.fixture(scope="session")
def synthetic(tmp_path_factory: pytest.TempPathFactory, word_encoder: WordEncoder) -> DatasetFolder:
    """A small synthetic dataset folder with depth tables: tasks nli and sa, four domains each."""
    out = tmp_path_factory.mktemp("data") / "synthetic"
    build_synthetic(out, encoder=word_encoder, n_train=90, n_test=30)  # type: ignore[arg-type]
    return DatasetFolder.open(out)


@pytest.fixture(scope="session")
def real_raw() -> Path:
    """The folder of real upstream rows beside the project; tests that need it skip where it is absent."""
    raw = SHARED / "data" / "raw"
    if not raw.is_dir():
        pytest.skip("no real rows at ../shared/data/raw")
    return raw


@pytest.fixture(scope="session")
def real_whole() -> Path:
    """The folder of whole real upstream files beside the project; tests that need it skip where it is absent."""
    whole = SHARED / "data" / "whole"
    if not whole.is_dir():
        pytest.skip("no whole real files at ../shared/data/whole")
    return whole


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Make retries immediate; return how long each would have waited."""
    waited: list[float] = []
    # Of the publisher and of the Hub's client, which share this clock.
    sleep = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: (waited.append(seconds), sleep(min(seconds, 0.01))))
    return waited


@pytest.fixture
def basic_uploads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the Hub's client upload files as it does without Xet."""
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
