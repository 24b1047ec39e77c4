"""A private repository of the loopback Hub, as a store."""

from pathlib import Path

from huggingface_hub import HfApi

from shiftbench.leaderboard.store import Store, open_store
from tests.hub.server import WRITE, LoopbackHub

REPO = "org/entries"
PLACE = f"hf://datasets/{REPO}"


def opened(hub: LoopbackHub, cache: Path, token: str = WRITE) -> Store:
    """Open the store with a copy of its own, as another machine would."""
    return open_store(PLACE, cache=cache, api=HfApi(endpoint=hub.url, token=token))
