"""An invented release in several archives and files, under paths as upstream has them, and a task that reads it."""

import gzip
import io
import random
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from shiftbench.builders.readers.delimited import quoted_csv
from shiftbench.builders.specs import sources
from shiftbench.builders.specs.sources import SourceSpec, parse_sources
from shiftbench.builders.specs.spec import DomainSpec, FileSpec, TaskSpec
from shiftbench.validation.vocabulary import TaskKind

_READ = quoted_csv("text", "label")

SOURCE = """
[{slug}]
title = "Invented"
url = "https://example.org/{slug}"
revision = "1"
licence = "CC BY 4.0"
open_licence = true
cite = ["nobody"]
instructions = "ask the clerk for {slug}"
{more}
"""


def lines(n_bytes: int, seed: int) -> bytes:
    """Return invented rows that do not compress to nothing."""
    chance = random.Random(seed)
    rows = (f"{number},{chance.getrandbits(256):x},letter {number % 7}\n" for number in range(n_bytes // 70 + 1))
    return "".join(rows).encode()[:n_bytes]


def as_zip(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def as_tar(members: dict[str, bytes], *, compressed: bool = True) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return gzip.compress(stream.getvalue()) if compressed else stream.getvalue()


def task(files: Sequence[FileSpec | str]) -> TaskSpec:
    """Return a task that reads files, each named by its place."""
    listed = tuple(FileSpec(file, _READ) if isinstance(file, str) else file for file in files)
    return TaskSpec(
        benchmark="invented",
        name="letters",
        title="Invented letters",
        kind=TaskKind.CLASSIFICATION,
        inputs=("text",),
        labels=("a", "b"),
        metric="macro_f1",
        domains=(DomainSpec(name="post", files={"train": listed}, transforms=()),),
    )


def declare(monkeypatch: pytest.MonkeyPatch, **tables: str) -> dict[str, SourceSpec]:
    """Make these the sources that there are: by slug the rest of the table in TOML, downloads included."""
    text = "".join(SOURCE.format(slug=slug, more=more) for slug, more in tables.items())
    found = parse_sources(text, "invented.toml")
    monkeypatch.setattr(sources, "read_sources", lambda: found)
    return found


def one_file(url: str, slug: str = "letters", name: str = "post.csv", more: str = "", n_urls: int = 1) -> str:
    """Return a download of one file in TOML; ``{url}/a``, ``{url}/b`` ... where there are several addresses."""
    urls = ", ".join(f'"{url}"' for url in (url.split() if n_urls else ()))
    return f'[[{slug}.downloads]]\nurls = [{urls}]\nplace = "{slug}/{name}"\n{more}\n'


def whole_files(raw: Path) -> dict[str, bytes]:
    """Return what lies at places: every file under RAW but records and what is not whole yet."""
    return {
        path.relative_to(raw).as_posix(): path.read_bytes()
        for path in raw.rglob("*")
        if path.is_file() and path.name not in ("fetched.json", "terms.json") and ".fetching" not in path.parts
    }
