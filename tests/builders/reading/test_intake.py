"""Reading for several consumers: each gets its rows and counts, and what stopped goes on to the same end."""

import gzip
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.readers.json_lines import JsonLines, json_lines
from shiftbench.builders.reading.intake import Consumer, FileRead, Sample, StepCount, read_file
from shiftbench.builders.specs.spec import Reader, Transform
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import TaskKind
from tests.heard import heard

N_ROWS = 60
READ = json_lines("text", "kind")
SAMPLE = Sample(pl.col("text").str.len_bytes() % 2, size=5, identity=("text",), key="7")


def keep(kind: str) -> Transform:
    return Transform(f"keep_{kind}", lambda frame: frame.filter(kind=kind))


CONSUMERS = (
    Consumer("all", (), kind=TaskKind.GENERATION),
    Consumer("b", (keep("b"), Transform("rename", lambda frame: frame.select(body="text")))),
    Consumer("none", (keep("z"),)),
    Consumer("some", (keep("a"),), SAMPLE, TaskKind.GENERATION),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl.gz"
    rows = [{"text": "t" * n, "kind": "aab"[n % 3]} for n in range(N_ROWS)]
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    return path


@dataclass(frozen=True)
class Stopping:
    """A reader that stops after some frames, as Ctrl-C or a failure would."""

    read: JsonLines
    after: int
    error: type[BaseException] = KeyboardInterrupt

    def __call__(self, file: UpstreamFile) -> Iterator[pl.DataFrame]:
        for count, frame in enumerate(self.read(file)):
            if count == self.after:
                raise self.error
            yield frame

    def __repr__(self) -> str:
        return repr(self.read)


def read(path: Path, reader: Reader = READ, consumers: tuple[Consumer, ...] = CONSUMERS, every: float = 0) -> FileRead:
    return read_file(path, reader, consumers, cache=path.parent / "cache", large=0, every=every, block=200)


def same(one: FileRead, other: FileRead) -> None:
    assert (one.sha256, one.n_rows) == (other.sha256, other.n_rows)
    for name, taken in one.results.items():
        assert_frame_equal(taken.rows, other.results[name].rows)
        assert taken.counts == other.results[name].counts
        assert taken.fingerprint == other.results[name].fingerprint


def test_each_consumer_gets_its_rows_and_counts(path: Path) -> None:
    for cache in (None, path.parent / "cache"):
        found = read_file(path, READ, CONSUMERS, cache=cache, large=0, every=0, block=200)
        assert (found.n_rows, found.sha256) == (N_ROWS, hashlib.sha256(path.read_bytes()).hexdigest())
        results = found.results
        assert results["all"].rows["text"].str.len_bytes().to_list() == list(range(N_ROWS))
        assert results["all"].counts == ()
        assert results["b"].rows.shape == (20, 1)
        assert results["b"].counts == (StepCount("keep_b", 60, 20), StepCount("rename", 20, 20))
        assert results["none"].rows.schema == {"text": pl.String, "kind": pl.String}
        assert results["none"].counts == (StepCount("keep_z", 60, 0),)
        assert results["some"].counts == (
            StepCount("keep_a", 60, 40),
            StepCount("repeats_noticed_leave", 40, 40),
            StepCount("sample", 40, 10),
        )
        assert results["some"].rows.columns == ["text", "kind"]


@pytest.mark.parametrize("every", [0, 1e9], ids=["kept-often", "kept-when-stopped"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_stopped_after_any_block_it_goes_on_to_the_same_end(
    every: float, error: type[BaseException], path: Path
) -> None:
    expected = read_file(path, READ, CONSUMERS, cache=None)
    n_stops = 0
    with heard() as lines:
        while True:
            try:
                found = read(path, Stopping(READ, 1, error), every=every)
                break
            except error:
                n_stops += 1
    assert n_stops > 10
    same(found, expected)
    assert sum("resumes" in line for line in lines) == n_stops


def test_what_a_step_failed_on_is_read_again(path: Path) -> None:
    failing = True

    def fail(frame: pl.DataFrame) -> pl.DataFrame:
        if failing and frame["text"].str.len_bytes().max() > 40:
            raise RuntimeError
        return frame

    consumers = (*CONSUMERS, Consumer("failing", (Transform("fail", fail),)))
    with pytest.raises(RuntimeError):
        read(path, consumers=consumers)
    failing = False
    same(read(path, consumers=consumers), read_file(path, READ, consumers, cache=None))


def test_a_bad_line_is_named_after_going_on(path: Path) -> None:
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()) + b"{\n"))
    with pytest.raises(KeyboardInterrupt):
        read(path, Stopping(READ, 5))
    for _ in range(2):
        with pytest.raises(InvalidInput, match=f"row {N_ROWS + 1}: "):
            read(path)


def unread(file: UpstreamFile) -> Iterator[pl.DataFrame]:
    raise AssertionError(f"{file.path} is read")


def test_a_file_that_was_read_is_not_read_again(path: Path, wording: SnapshotAssertion) -> None:
    class Unread(JsonLines):
        __call__ = staticmethod(unread)  # type: ignore[assignment]
        __repr__ = JsonLines.__repr__

    Unread.__qualname__ = "JsonLines"
    expected = read(path)
    with heard() as lines:
        same(read(path, Unread(READ.keys)), expected)
    assert lines == wording


@pytest.mark.parametrize("what", ["time", "reader", "step", "size", "stratum", "key", "identity"])
def test_another_file_or_request_is_read_anew(what: str, path: Path) -> None:
    read(path)
    consumers, reader = CONSUMERS, READ
    changed = {
        "size": Sample(SAMPLE.stratum, 6, SAMPLE.identity, "7"),
        "stratum": Sample(pl.col("text").str.len_bytes() % 3, 5, SAMPLE.identity, "7"),
        "key": Sample(SAMPLE.stratum, 5, SAMPLE.identity, "8"),
        "identity": Sample(SAMPLE.stratum, 5, ("kind",), "7"),
    }
    if what == "time":
        os.utime(path, ns=(0, 0))
    elif what == "reader":
        reader = json_lines("kind", "text")
    elif what == "step":
        consumers = (*CONSUMERS[:3], Consumer("some", (keep("b"),), SAMPLE))
    else:
        consumers = (*CONSUMERS[:3], Consumer("some", (keep("a"),), changed[what]))
    with heard() as lines:
        same(read(path, reader, consumers), read_file(path, reader, consumers, cache=None))
    assert lines == []


@pytest.mark.parametrize("harm", ["state", "part", "missing part"])
def test_a_damaged_checkpoint_is_set_aside(harm: str, path: Path) -> None:
    expected = read(path)
    reads = path.parent / "cache" / "reads"
    (folder,) = (place for place in reads.iterdir() if place.is_dir())
    part = sorted(folder.glob("*.parquet"))[0]
    if harm == "state":
        (folder / "state.json").write_text("{")
    elif harm == "part":
        part.write_bytes(part.read_bytes()[:-1] + b"x")
    else:
        part.unlink()
    with heard() as lines:
        same(read(path), expected)
    assert lines[0].startswith(f"{folder}: ")
    assert f" {folder.name}.damaged;" in lines[0]
    assert {place.name for place in reads.iterdir() if place.is_dir()} == {folder.name, folder.name + ".damaged"}


def test_ctrl_c_waits_for_the_frame_at_hand_and_what_was_read_is_kept(path: Path) -> None:
    interrupting = True

    def interrupt(frame: pl.DataFrame) -> pl.DataFrame:
        if interrupting and frame["text"].str.len_bytes().max() > 40:  # in the midst of a frame, for one of five
            signal.raise_signal(signal.SIGINT)
        return frame

    consumers = (*CONSUMERS[:2], Consumer("interrupting", (Transform("interrupt", interrupt),)), *CONSUMERS[2:])
    before = signal.getsignal(signal.SIGINT)
    with heard() as lines, pytest.raises(KeyboardInterrupt):
        read(path, consumers=consumers, every=1e9)
    assert signal.getsignal(signal.SIGINT) is before
    assert "kept" in lines[-1]
    interrupting = False
    with heard() as lines:
        same(read(path, consumers=consumers), read_file(path, READ, consumers, cache=None))
    assert "line 4" in lines[0]


def test_two_that_read_the_same_do_so_one_after_the_other(path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from shiftbench.builders.readers.json_lines import json_lines\n"
        "from shiftbench.builders.reading.intake import Consumer, read_file\n"
        "path = Path(sys.argv[1])\n"
        "found = read_file(path, json_lines('text', 'kind'), [Consumer('all', ())], cache=path.parent / 'cache', "
        "large=0, every=0, block=50)\n"
        "print(len(found.results['all'].rows), found.sha256)"
    )
    command = [sys.executable, "-c", code, str(path)]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = [reader.communicate(timeout=60)[0] for reader in readers]
    assert [reader.returncode for reader in readers] == [0, 0, 0]
    assert set(said) == {f"{N_ROWS} {hashlib.sha256(path.read_bytes()).hexdigest()}\n"}


def test_small_files_leave_nothing_behind_and_show_nothing(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read_file(path, READ, CONSUMERS, cache=path.parent / "cache")
    assert not (path.parent / "cache").exists()
    assert capsys.readouterr().err == ""


@dataclass(frozen=True)
class WholeTexts:
    """A reader of a whole text, in two frames."""

    stops: bool = field(default=False, repr=False)

    def __call__(self, file: UpstreamFile) -> Iterator[pl.DataFrame]:
        lines = pl.read_ndjson(file.text().encode())
        yield lines[:30]
        if self.stops:
            raise KeyboardInterrupt
        yield lines[30:]


def test_a_reader_of_whole_texts_is_never_gone_on_with(path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        read(path, WholeTexts(stops=True))
    same(read(path, WholeTexts()), read_file(path, READ, CONSUMERS, cache=None))


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_is_shown_where_it_is_heard(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    read(path)
    assert shown.getvalue() == ""
    with heard():
        read_file(path, READ, CONSUMERS, cache=None)
    assert "rows.jsonl.gz:" in shown.getvalue()
