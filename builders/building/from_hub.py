"""Original rows of open sources on the Hugging Face Hub, downloaded into a folder of upstream files.

Where the Hub has a release as Parquet, its rows are written in the release's own form, which the specs read. A
repository's revision is resolved when the first file of it is fetched, kept in ``<slug>/from_hub.json``, and used from
then on; none is known beforehand. Rows count as those of the release only where their number is the recorded one.
"""

import fnmatch
import json
import logging
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from shiftbench.builders.checksums import file_sha256
from shiftbench.builders.hub_access import reaching_hub
from shiftbench.builders.reading.places import find_file
from shiftbench.builders.specs.spec import TaskSpec, upstream
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.output_files import replace_file
from shiftbench.validation.report import InvalidInput, Problem

if TYPE_CHECKING:
    from huggingface_hub import HfApi

log = logging.getLogger(__name__)

RECORD = "from_hub.json"
"""Lies in a source's folder: the repository, its revision, and the files written from it."""

_Write = Callable[[Sequence[Path], Path], None]
"""Writes the files fetched, in the order of their names, as the release's own file."""


class HubFiles(NamedTuple):
    """A file of a release, and the files of its repository that hold its rows: a pattern, and how they are written."""

    place: str
    pattern: str
    write: _Write


class Fetched(NamedTuple):
    """A file that was fetched, the revision, its rows, and the recorded number where there is one."""

    place: str
    repository: str
    revision: str
    rows: int
    recorded_rows: int | None

    @property
    def agrees(self) -> bool:
        """Return whether the rows are as many as recorded of the whole release."""
        return self.rows == self.recorded_rows


def _as_it_is(fetched: Sequence[Path], out: Path) -> None:
    shutil.copyfile(fetched[0], out)


def _as_json_lines(keys: Mapping[str, str], labels: Mapping[int, str], fetched: Sequence[Path], out: Path) -> None:
    """Write rows as JSON lines: ``keys`` names the repository's column for each of the release's."""
    label = next(own for own in keys.values() if own == "label")
    with out.open("w", encoding="utf-8") as stream:
        for row in _iterate_rows(fetched, list(keys.values())):
            row[label] = labels[row[label]]
            stream.write(json.dumps({key: row[own] for key, own in keys.items()}, ensure_ascii=False) + "\n")


def _as_squad(version: str, fetched: Sequence[Path], out: Path) -> None:
    """Write rows as SQuAD's JSON: questions of one context together, contexts of one title together."""
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
_MULTINLI: _Write = partial(
    _as_json_lines,
    {"gold_label": "label", "genre": "genre", "sentence1": "premise", "sentence2": "hypothesis", "pairID": "pairID"},
    _LABELS,
)
_SNLI: _Write = partial(
    _as_json_lines, {"gold_label": "label", "sentence1": "premise", "sentence2": "hypothesis"}, _LABELS
)
_ANLI: _Write = partial(
    _as_json_lines,
    {"uid": "uid", "context": "premise", "hypothesis": "hypothesis", "label": "label"},
    {code: label[0] for code, label in enumerate(_NLI)},
)


def _squad(slug: str, version: str) -> tuple[HubFiles, ...]:
    write: _Write = partial(_as_squad, "1.1" if version == "v1.1" else version)
    folder = "plain_text" if version == "v1.1" else "squad_v2"
    return tuple(
        HubFiles(f"{slug}/{split}-{version}.json", f"{folder}/{name}-*.parquet", write)
        for split, name in (("train", "train"), ("dev", "validation"))
    )


ON_HUB: Mapping[str, tuple[str, tuple[HubFiles, ...]]] = {
    "civil_comments": (
        "google/civil_comments",
        tuple(
            HubFiles(f"civil_comments/{name}.parquet", f"data/{name}.parquet", _as_it_is)
            for name in ("train-00000-of-00002", "train-00001-of-00002", "test-00000-of-00001")
        ),
    ),
    "wanli": (
        "alisawuffles/WANLI",
        tuple(HubFiles(f"wanli/data/wanli/{name}", name, _as_it_is) for name in ("train.jsonl", "test.jsonl")),
    ),
    "multinli_1.0": (
        "nyu-mll/multi_nli",
        (
            HubFiles("multinli_1.0/multinli_1.0_train.jsonl", "data/train-*.parquet", _MULTINLI),
            HubFiles("multinli_1.0/multinli_1.0_dev_matched.jsonl", "data/validation_matched-*.parquet", _MULTINLI),
        ),
    ),
    "snli": (
        "stanfordnlp/snli",
        tuple(
            HubFiles(f"snli/snli_1.0/snli_1.0_{split}.jsonl", f"plain_text/{split}-*.parquet", _SNLI)
            for split in ("train", "test")
        ),
    ),
    "anli": (
        "facebook/anli",
        tuple(
            HubFiles(f"anli/anli_v1.0/R{n}/{split}.jsonl", f"plain_text/{split}_r{n}-*.parquet", _ANLI)
            for n in (1, 2, 3)
            for split in ("train", "test")
        ),
    ),
    "squad_v1": ("rajpurkar/squad", _squad("squad_v1", "v1.1")),
    "squad_v2": ("rajpurkar/squad_v2", _squad("squad_v2", "v2.0")),
}
"""Repositories on the Hub by the slug of an open source, and the files of the release that they hold."""


@dataclass(frozen=True)
class _Repository:
    """One repository at one revision."""

    api: "HfApi"
    name: str
    revision: str
    files: tuple[str, ...]

    def fetch(self, pattern: str, into: Path) -> list[Path]:
        """Fetch the files that a pattern names; InvalidInput lists what is there where none does."""
        # A star stands for a name, not for a way up or down the folders.
        wanted = sorted(file for file in fnmatch.filter(self.files, pattern) if file.count("/") == pattern.count("/"))
        if not wanted:
            found = ", ".join(file for file in self.files if not file.startswith("."))[:200] or "nothing"
            cure = "fetch the release by hand, as its instructions say"
            where = f"{self.name}@{self.revision[:12]}"
            raise InvalidInput(Problem(f"the Hub's repository has no file '{pattern}'", where, found, cure))
        with reaching_hub(self.name, "try again, or fetch the release by hand"):
            return [
                Path(
                    self.api.hf_hub_download(
                        self.name, file, repo_type="dataset", revision=self.revision, local_dir=str(into)
                    )
                )
                for file in wanted
            ]


def fetch_from_hub(
    specs: Iterable[TaskSpec],
    raws: Sequence[Path],
    *,
    api: "HfApi | None" = None,
) -> tuple[Fetched, ...]:
    """Fetch the files of tasks that no folder has and the Hub does, into the first folder.

    Args:
        raws: folders of upstream files; the first is made where it is not there.
        api: the Hub; by default the one of ``HF_ENDPOINT``.
    Returns: what was fetched; empty where nothing is missing that the Hub has.
    Raises: InvalidInput when the Hub cannot be reached or has other files; files fetched before stay.
    """
    wanted = dict.fromkeys(
        file.path
        for spec in specs
        for domain in spec.domains
        for files in domain.files.values()
        for file in files
        if file.source.open_licence and not file.partial
    )
    raws[0].mkdir(parents=True, exist_ok=True)
    fetched: list[Fetched] = []
    for slug, (name, files) in ON_HUB.items():
        missing = [file for file in files if file.place in wanted and find_file(raws, file.place) is None]
        if not missing:
            continue
        repository = _open(slug, name, raws[0], api)
        for file in missing:
            log.info("fetching %s from %s@%s on the Hub", file.place, name, repository.revision[:12])
            fetched.append(_fetch(file, slug, repository, raws[0]))
            log.info("%s", _outcome(fetched[-1]))
    return tuple(fetched)


def hub_revision(raws: Sequence[Path], slug: str, places: Iterable[str]) -> str | None:
    """Return ``<repository>@<revision>`` where any of a source's files was fetched from the Hub; None otherwise."""
    for raw in raws:
        record = _read_record(raw, slug)
        if record is not None and set(record["files"]) & set(places):
            return f"{record['repository']}@{record['revision']}"
    return None


def _open(slug: str, name: str, raw: Path, api: "HfApi | None") -> _Repository:
    """Open a repository at the revision of the first fetch, which is resolved where this is the first."""
    from huggingface_hub import HfApi

    api = api or HfApi()
    record = _read_record(raw, slug)
    revision = record["revision"] if record and record["repository"] == name else None
    with reaching_hub(name, "fetch the release by hand, or try again with a network"):
        info = api.dataset_info(name, revision=revision)
    return _Repository(api, name, str(info.sha), tuple(each.rfilename for each in info.siblings or ()))


def _fetch(file: HubFiles, slug: str, repository: _Repository, raw: Path) -> Fetched:
    out = raw / file.place
    out.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=raw, prefix=".from-hub-") as place:
        fetched = repository.fetch(file.pattern, Path(place))
        rows = sum(map(_n_rows, fetched))
        with replace_file(out) as new:
            file.write(fetched, new)
    record = _read_record(raw, slug) or {"repository": repository.name, "revision": repository.revision, "files": {}}
    record["files"][file.place] = {"pattern": file.pattern, "sha256": file_sha256(out), "rows": rows}
    with replace_file(raw / slug / RECORD) as new:
        new.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    facts = upstream().files.get(file.place)
    return Fetched(file.place, repository.name, repository.revision, rows, facts.rows if facts else None)


def _n_rows(path: Path) -> int:
    if path.suffix == ".parquet":
        return int(pl.scan_parquet(path).select(pl.len()).collect().item())
    return path.read_bytes().count(b"\n")


def _outcome(one: Fetched) -> str:
    rows = f"{one.place}: {one.rows:,} rows"
    if one.recorded_rows is None:
        return f"{rows}; no row count is recorded to compare with, so the file is unverified"
    return (
        f"{rows}, as recorded"
        if one.agrees
        else f"{rows}, recorded {one.recorded_rows:,}: not verified; give --partial"
    )


def _read_record(raw: Path, slug: str) -> dict[str, Any] | None:
    path = raw / slug / RECORD
    if not path.is_file():
        return None
    try:
        record: dict[str, Any] = parse_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        cure = "remove it, and what was fetched beside it"
        raise InvalidInput(
            Problem("the record of what was fetched is not JSON", str(path), str(error), cure)
        ) from error
    return record
