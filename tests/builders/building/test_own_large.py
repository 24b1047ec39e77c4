"""Files of one's own that are large or compressed: time and memory grow with their rows, and no faster."""

import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.builders.building.own import build_own
from shiftbench.builders.building.own_tables import read_tables
from shiftbench.validation.report import InvalidInput

FEW, MANY = 3_000, 13_000
CALLS = 20
"""Python functions that may be entered for a row: its hashes, each twice, as numbers of rows come through iterators."""
MILLION = """
import sys, time
from pathlib import Path
from shiftbench.builders.building.own import build_own
from shiftbench.validation.operating_system import peak_memory
manifest = build_own("tickets", Path(sys.argv[1]), Path(sys.argv[2]))
rows = sum(split.rows for facts in manifest.tasks["tickets"].domains.values() for split in facts.splits.values())
print(rows, time.process_time(), peak_memory() / 2**30)
"""


def write_tickets(path: Path, n_rows: int, *, groups: bool = False) -> Path:
    """Write invented rows of about 155 bytes, one in fifty with the text of another."""
    rng = np.random.default_rng(n_rows)
    words = pl.Series([f"{stem}{end}" for stem in ("cab", "fan", "men", "fon", "log") for end in range(10, 4_000)])
    lengths = rng.integers(12, 34, n_rows)
    chosen = words.gather(rng.integers(0, len(words), lengths.sum()))
    row = np.repeat(np.arange(n_rows), lengths)
    texts = (
        pl.DataFrame({"row": row, "word": chosen})
        .group_by("row", maintain_order=True)
        .agg(pl.col("word").str.join(" "))
    )
    place = np.where(rng.random(n_rows) < 0.02, rng.integers(0, n_rows, n_rows), np.arange(n_rows))
    frame = pl.DataFrame(
        {
            "domain": pl.Series(["north", "south", "east"]).gather(rng.integers(0, 3, n_rows)),
            "label": pl.Series(["urgent", "routine"]).gather(rng.integers(0, 2, n_rows)),
            "text": texts["word"].gather(place),
        }
    )
    if groups:
        frame = frame.with_columns(group=pl.Series(rng.integers(0, n_rows // 8, n_rows)).cast(pl.String))
    frame.write_csv(path)
    return path


def count_calls(act: Callable[[], object]) -> int:
    """Count how often a Python function is entered, or a generator goes on."""
    n_calls = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal n_calls
        n_calls += event == "call"

    sys.setprofile(count)
    try:
        act()
    finally:
        sys.setprofile(None)
    return n_calls


@pytest.mark.parametrize("groups", [False, True])
def test_hardly_any_work_is_done_row_by_row(tmp_path: Path, *, groups: bool) -> None:
    files = {n: write_tickets(tmp_path / f"{n}.csv", n, groups=groups) for n in (FEW, MANY)}
    build_own("warm", files[FEW], tmp_path / "warm")  # what is imported on the way is not counted
    few, many = (
        count_calls(lambda file=file, n=n: build_own("tickets", file, tmp_path / str(n))) for n, file in files.items()
    )
    assert (many - few) / (MANY - FEW) < CALLS


@pytest.mark.parametrize("name", ["mine.csv", "mine.jsonl", "mine.tsv"])
def test_a_compressed_file_is_the_file(tmp_path: Path, name: str) -> None:
    plain = tmp_path / name
    if name == "mine.tsv":
        plain.write_text("".join(f"alpha{row}\tO\nbeta\tB-X\n\n" for row in range(40)))
        sources = {"a": plain.read_bytes(), "b": plain.read_bytes().replace(b"alpha", b"gamma")}
    else:
        rows = pl.read_csv(write_tickets(tmp_path / "rows.csv", 400))
        (rows.write_csv if name == "mine.csv" else rows.write_ndjson)(plain)
        sources = {"mine": plain.read_bytes()}
    hashes = []
    for ending in ("", ".gz"):
        folder = tmp_path / f"raw{ending}"
        folder.mkdir()
        for stem, content in sources.items():
            file = folder / f"{stem}{plain.suffix}{ending}"
            file.write_bytes(gzip.compress(content) if ending else content)
        hashes.append(build_own("tickets", folder, tmp_path / f"out{ending}").content_hash)
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize("spoil", [lambda file: file[:-200], lambda file: b"domain,text,label\n" + file])
def test_a_damaged_compressed_file_is_refused(tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "mine.csv.gz"
    file.write_bytes(spoil(gzip.compress(write_tickets(tmp_path / "rows.csv", 400).read_bytes())))
    with pytest.raises(InvalidInput, match="compressed"):
        build_own("tickets", file, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.long
@pytest.mark.parametrize("groups", [False, True])
def test_a_million_rows_take_a_minute_and_a_gibibyte(tmp_path: Path, *, groups: bool) -> None:
    file = write_tickets(tmp_path / "million.csv", 1_000_000, groups=groups)
    done = subprocess.run(
        [sys.executable, "-c", MILLION, str(file), str(tmp_path / "out")], capture_output=True, text=True, check=True
    )
    rows, seconds, gibibytes = map(float, done.stdout.split())
    assert rows > 990_000
    assert seconds < 60
    assert gibibytes < 1


def test_a_table_of_tabs_may_have_an_index_and_empty_lines_in_its_cells(tmp_path: Path) -> None:
    """As pandas writes it: no name for the index, and a text of two paragraphs in quotes."""
    path = tmp_path / "mine.tsv"
    path.write_text('\tdomain\ttext\tlabel\n0\tkettles\t"It boils.\n\nOften."\tgood\n1\tlamps\tdark\tbad\n', "utf-8")
    (table,) = read_tables([path])
    assert table.kind is None
    assert table.frame["text"].to_list() == ["It boils.\n\nOften.", "dark"]
    assert table.frame.columns[1:] == ["domain", "text", "label"]
