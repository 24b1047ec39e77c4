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
from shiftbench.builders.specs import sources, spec
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
harm = "none"
personal_data = "none"
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
    monkeypatch.setattr(spec, "find_source", found.__getitem__)
    return found


def download(*urls: str, place: str = "letters/post.csv", more: str = "") -> str:
    """Return a download of one file, in TOML."""
    return f'[[{place.split("/", maxsplit=1)[0]}.downloads]]\nurls = {list(urls)}\nplace = "{place}"\n{more}\n'


def archive(url: str, members: dict[str, str], more: str = "") -> str:
    """Return a download of an archive, in TOML; ``members`` by place."""
    kept = ", ".join(f'"{place}" = "{member}"' for place, member in members.items())
    slug = next(iter(members)).split("/")[0]
    return f'[[{slug}.downloads]]\nurls = ["{url}"]\nmembers = {{ {kept} }}\n{more}\n'


def whole_files(raw: Path) -> dict[str, bytes]:
    """Return what lies at places: every file under RAW but records and what is not whole yet."""
    return {
        path.relative_to(raw).as_posix(): path.read_bytes()
        for path in raw.rglob("*")
        if path.is_file() and path.name not in ("fetched.json", "terms.json") and ".fetching" not in path.parts
    }
