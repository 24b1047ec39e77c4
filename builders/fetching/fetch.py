"""What is missing under RAW, which download brings it, and fetching it: several at a time, each whole or not at all."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shiftbench.builders.fetching.records import Fetched
from shiftbench.builders.specs.sources import Download, SourceSpec
from shiftbench.builders.specs.spec import TaskSpec

if TYPE_CHECKING:
    from huggingface_hub import HfApi

ALL = "all"
"""Accepts the terms of every source."""


@dataclass(frozen=True)
class Request:
    """A download that will be made: the first of its source that brings the places.

    Attributes:
        source: the release.
        download: what is asked for; where it fails, the source's next one that brings the places is tried.
        places: the missing places that it brings, as specs name them; a place may be filled by its gzipped or zipped
            form.
    """

    source: SourceSpec
    download: Download
    places: tuple[str, ...]


@dataclass(frozen=True)
class ByHand:
    """Missing places of a source that no download brings: its ``instructions`` say how a person gets them."""

    source: SourceSpec
    places: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """What is to be fetched.

    Attributes:
        requests: downloads, in the order of the specs; empty where nothing is missing that one brings.
        by_hand: what a person must get, a source each.
        terms: sources of ``requests`` whose terms were not accepted yet.
    """

    requests: tuple[Request, ...]
    by_hand: tuple[ByHand, ...]
    terms: tuple[SourceSpec, ...]

    @property
    def size(self) -> int:
        """Return the bytes of all downloads whose size is recorded."""
        return sum(request.download.size or 0 for request in self.requests)

    @property
    def n_unmeasured(self) -> int:
        """Return how many downloads have no recorded size."""
        return sum(request.download.size is None for request in self.requests)


def plan_fetch(specs: Iterable[TaskSpec], raws: Sequence[Path]) -> Plan:
    """Find which files of tasks no folder has, and which download brings each; no network is touched.

    Files that hold a release in part are not looked for. A folder that is not there lacks everything.

    Args:
        raws: folders of upstream files; what is fetched goes to the first.
    Raises: InvalidInput where a folder or a broken link lies in a file's place.
    """
    raise NotImplementedError


def fetch(
    plan: Plan, raw: Path, *, accepted: Collection[str] = (), parallel: int = 4, api: "HfApi | None" = None
) -> tuple[Fetched, ...]:
    """Fetch what a plan asks for into a folder of upstream files, with a bar of progress where standard error shows it.

    What was fetched is there whole, and recorded in ``RAW/<slug>/fetched.json``; accepted terms are kept in
    ``RAW/<slug>/terms.json``. A source that fails stops no other. Stopped or killed, the same call asks for the rest.

    Args:
        raw: made where it is not there.
        accepted: slugs of sources whose terms are accepted, or ``all``.
        parallel: downloads at a time, 1 or more.
        api: the Hub; by default the one of ``HF_ENDPOINT``.
    Returns: what was fetched, a place each, in the order of the plan; places by hand are left out without a word.
    Raises: InvalidInput after everything else was fetched, naming at once every source that failed or whose terms
        were not accepted; before anything is fetched where ``accepted`` names no source (UnknownChoice), the disk has
        too little space, or another fetch is writing to the folder.
    """
    raise NotImplementedError
