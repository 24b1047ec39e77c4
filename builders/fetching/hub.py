"""Files of dataset repositories on the Hugging Face Hub, and conversion of their Parquet rows to release formats.

``huggingface_hub`` provides URLs, revisions, tokens and checksums; ``fetch_file`` downloads the bytes and can resume.
"""

import fnmatch
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import polars as pl

from shiftbench.builders.hub_access import reaching_hub, retry
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

if TYPE_CHECKING:
    from huggingface_hub import HfApi

_ADDRESS = re.compile(r"hub:(?P<repository>[^/@]+/[^/@]+)(@(?P<revision>[^/]+))?/(?P<pattern>.+)")
_CURE = "try again, or fetch the release by hand"


class RemoteFile(NamedTuple):
    """A remote file: its URL, and its size and checksum if known."""

    name: str
    url: str
    size: int | None
    sha256: str | None


class HubFiles(NamedTuple):
    """The files of a ``hub:`` URL, the URL with its commit, and ``<repository>@<commit>``.

    ``headers`` contain the token, if there is one.
    """

    address: str
    revision: str
    files: tuple[RemoteFile, ...]
    headers: dict[str, str]


def is_on_hub(address: str) -> bool:
    """Return whether a URL has the form ``hub:<repository>@<revision>/<path>``."""
    return address.startswith("hub:")


def find_on_hub(address: str, known: Sequence[str], api: "HfApi | None" = None) -> HubFiles:
    """Find the Hub files of a URL.

    Args:
        address: ``hub:<repository>@<revision>/<path>``; a star in the path matches any part of a name. The default
            revision is the one in ``known``, or else the latest. A slash in a revision is written ``%2F``.
        known: revisions (``<repository>@<commit>``) of earlier downloads of this source.
        api: the Hub client; by default for ``HF_ENDPOINT``.
    Raises: InvalidInput if the Hub cannot be reached or has no such file (the message lists its files).
    """
    from huggingface_hub import HfApi, RepoFile, hf_hub_url
    from huggingface_hub.utils._headers import build_hf_headers

    parts = _ADDRESS.fullmatch(address)
    if parts is None:
        raise InvalidInput(Problem("this is not a URL of the Hub", address, cure="write hub:ORG/NAME@REVISION/PATH"))
    name, revision, pattern = parts["repository"], parts["revision"], parts["pattern"]
    before = next((each.rpartition("@")[2] for each in known if each.startswith(f"{name}@")), None)
    asked = unquote(revision) if revision else before
    api = api or HfApi()
    with reaching_hub(name, _CURE):
        info = retry(lambda _: api.dataset_info(name, revision=asked))
    commit, there = str(info.sha), [each.rfilename for each in info.siblings or ()]
    # A star matches within a name, never a slash.
    wanted = sorted(
        file
        for file in fnmatch.filter(there, pattern)
        if file.count("/") == pattern.count("/") and ".." not in file.split("/")
    )
    if not wanted:
        found = ", ".join(file for file in there if not file.startswith("."))[:200] or "nothing"
        where = f"{name}@{commit[:12]}"
        raise InvalidInput(Problem(f"the Hub's repository has no file '{pattern}'", where, found, _CURE))
    with reaching_hub(name, _CURE):
        entries = retry(lambda _: api.get_paths_info(name, wanted, revision=commit, repo_type="dataset"))
    files = []
    for entry in sorted((each for each in entries if isinstance(each, RepoFile)), key=lambda entry: entry.path):
        url = hf_hub_url(name, entry.path, repo_type="dataset", revision=commit, endpoint=api.endpoint)
        files.append(RemoteFile(entry.path, url, entry.size, entry.lfs.sha256 if entry.lfs else None))
    at = f"{name}@{commit}"
    return HubFiles(f"hub:{at}/{pattern}", at, tuple(files), build_hf_headers(token=api.token))


Write = Callable[[Sequence[Path], Path], None]
"""Writes the downloaded files, sorted by name, as one file in the release's format."""


def find_writer(rows_as: str) -> Write:
    """Return the writer of a release format; raise InvalidInput, suggesting the nearest name, if it is unknown."""
    if rows_as not in _WRITERS:
        cure = did_you_mean(rows_as, list(_WRITERS))
        raise InvalidInput(Problem("there is no such row format", "rows_as", f"'{rows_as}'", cure))
    return _WRITERS[rows_as]


def count_rows(path: Path) -> int | None:
    """Count the rows of a Parquet or JSON lines file; None for other files."""
    if path.suffix == ".parquet":
        return int(pl.scan_parquet(path).select(pl.len()).collect().item())
    if path.suffix != ".jsonl":
        return None
    with path.open("rb") as stream:
        return sum(1 for _ in stream)


def _write_json_lines(keys: Mapping[str, str], labels: Mapping[int, str], fetched: Sequence[Path], out: Path) -> None:
    """Write rows as JSON lines; ``keys`` maps the release's keys to the repository's columns."""
    label = next(own for own in keys.values() if own == "label")
    with out.open("w", encoding="utf-8") as stream:
        for row in _iterate_rows(fetched, list(keys.values())):
            row[label] = labels[row[label]]
            stream.write(json.dumps({key: row[own] for key, own in keys.items()}, ensure_ascii=False) + "\n")


def _write_squad(version: str, fetched: Sequence[Path], out: Path) -> None:
    """Write rows as SQuAD JSON, with questions grouped by context and contexts by title."""
    articles: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for row in _iterate_rows(fetched, ["id", "title", "context", "question", "answers"]):
        given = row["answers"]
        answers = [
            {"text": text, "answer_start": start}
            for text, start in zip(given["text"], given["answer_start"], strict=True)
        ]
        question = {"id": row["id"], "question": row["question"], "answers": answers}
        if version == "v2.0":
            question["is_impossible"] = not answers
        articles.setdefault(row["title"], {}).setdefault(row["context"], []).append(question)
    data = [
        {"title": title, "paragraphs": [{"context": context, "qas": asked} for context, asked in contexts.items()]}
        for title, contexts in articles.items()
    ]
    out.write_text(json.dumps({"version": version, "data": data}, ensure_ascii=False), encoding="utf-8")


def _iterate_rows(paths: Sequence[Path], columns: list[str]) -> Iterator[dict[str, Any]]:
    for path in paths:
        yield from pl.read_parquet(path, columns=columns).iter_rows(named=True)


_NLI = ("entailment", "neutral", "contradiction")
_LABELS = {-1: "-", **dict(enumerate(_NLI))}
_SNLI = {"gold_label": "label", "sentence1": "premise", "sentence2": "hypothesis"}
_WRITERS: Mapping[str, Write] = {
    "multinli": partial(_write_json_lines, {**_SNLI, "genre": "genre", "pairID": "pairID"}, _LABELS),
    "snli": partial(_write_json_lines, _SNLI, _LABELS),
    "anli": partial(
        _write_json_lines,
        {"uid": "uid", "context": "premise", "hypothesis": "hypothesis", "label": "label"},
        {code: label[0] for code, label in enumerate(_NLI)},
    ),
    "squad-1.1": partial(_write_squad, "1.1"),
    "squad-2.0": partial(_write_squad, "v2.0"),
}
"""Writers by format name (``rows_as`` of a download)."""
