"""Speed of reading and sampling a large file of JSON lines, compared with only decompressing and parsing it.

Used by ``python -m benchmarks build``. The file is synthetic: rows with the keys of TLDR-17, 2 GB before compression.
Every reading runs in a separate process (``python -m benchmarks.build JOB FILE``), so that its peak memory can be
measured.
"""

import gzip
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench.builders.dr.posts import AS
from shiftbench.builders.reading.intake import Consumer, Sample, read_file
from shiftbench.builders.specs.spec import Transform
from shiftbench.builders.specs.transforms import rename
from shiftbench.builders.specs.upstream_file import BLOCK
from shiftbench.builders.tables import subreddits
from shiftbench.validation.operating_system import peak_memory
from shiftbench.validation.timing import Timing

FULL = 2_000_000_000
"""Size of the file at scale 1, in bytes before compression."""

_TEMPLATES = 4_000
_OTHERS = 100
"""Subreddits that no domain uses, so that about one row in six is used by a domain, as in TLDR-17."""
_SAMPLE = 3_000
"""Rows sampled per domain: less than half of them, to show that memory is bounded by the sample.

The real release is nine times as large as the file, and the sample of a build larger by about the same factor.
"""
_KEYS = ("author", "content", "summary", "subreddit")
_RUNS = 3


@dataclass(frozen=True)
class _Run:
    seconds: float
    peak_memory: int | None


def run_read_bench(scale: float = 1.0) -> Iterator[Timing]:
    """Measure reading and sampling, compared with parsing only, and with half the file.

    Args:
        scale: size of the file as a share of 2 GB.
    Returns: an iterator of timings, as they are measured; files are written to a temporary folder.
    """
    with tempfile.TemporaryDirectory(prefix="shiftbench-bench-") as place:
        full, half = Path(place) / "full.jsonl.gz", Path(place) / "half.jsonl.gz"
        for path, share in ((full, scale), (half, scale / 2)):
            write_rows(path, round(FULL * share))
        parsers = [name for name, needs in _NEEDS.items() if find_spec(needs)]
        jobs = [("read", full), ("read", half), ("steps", full), *((name, full) for name in parsers)]
        rounds = [[_in_own_process(name, path) for name, path in jobs] for _ in range(_RUNS)]
    ours, ours_half, steps, *others = (_median(runs) for runs in zip(*rounds, strict=True))
    size = f"{FULL * scale / 1e9:.2g} GB of JSON lines"
    name = f"{size} decompressed, checked and sampled"
    ranked = sorted(zip((run.seconds for run in others), parsers, strict=True))
    for seconds, parser in ranked:
        wanted = (0.0, 1.6) if scale == 1 and (seconds, parser) == ranked[0] else None
        yield _timing(name, ours, f"decompressed and parsed by {parser}", seconds, wanted)
    half_name = f"half of the rows (peak memory {(ours_half.peak_memory or 0) / 2**20:,.0f} MiB)"
    yield _timing(f"all rows, {size}", ours, half_name, ours_half.seconds, (1.6, 2.4) if scale == 1 else None)
    yield _timing(f"{name}, with all steps of the summaries task", steps, "without these steps", ours.seconds, None)


def write_rows(path: Path, n_bytes: int) -> None:
    """Write rows of random words with the keys of TLDR-17, about 5 KB each, up to ``n_bytes`` before compression."""
    templates = _templates(np.random.default_rng(0))
    with gzip.open(path, "wb", compresslevel=1) as stream:
        row = written = 0
        while written < n_bytes:
            # A number makes each row of a template distinct: the reader drops repeated texts.
            written += stream.write((b"%d" % row).join(templates[row % _TEMPLATES]))
            row += 1


def _templates(rng: np.random.Generator) -> list[tuple[bytes, ...]]:
    letters = np.array(list("aaaeeeeiiioouubcdfghlmnnprrssttvw"))
    words = ["".join(rng.choice(letters, rng.integers(2, 9))) for _ in range(20_000)]
    templates = []
    taken = [name for domain in AS.domains for name in subreddits(domain.name)[:4]]
    for number in range(_TEMPLATES):
        lengths = (rng.integers(150, 330), rng.integers(5, 75))
        # Low indices are sampled more often, like frequent words; most words of a summary are in the post.
        text = [words[i] for i in (20_000 * rng.random(lengths[0]) ** 3).astype(int)]
        content, summary = " ".join(text), " ".join(rng.choice(text, lengths[1]))
        subreddit = rng.choice(taken) if rng.random() < 1 / 6 else f"place{rng.integers(_OTHERS)}"
        row = {
            "author": f"someone{number}-@",
            "body": f"{content}\n\nTL;DR: {summary}",
            "normalizedBody": f"{content} TL;DR: {summary} ",
            "content": f"{content} @",
            "content_len": int(lengths[0]) + 1,
            "summary": summary,
            "summary_len": int(lengths[1]),
            "id": "t3_@",
            "subreddit": subreddit,
            "subreddit_id": "t5_2qh33",
            "title": None if number % 2 else summary[:40],
        }
        templates.append(tuple((json.dumps(row) + "\n").encode().split(b"@")))
    return templates


def _read_as_build(path: Path) -> None:
    """Read like the build of the summaries task, without its slow steps: filter by subreddit, sample, store on disk."""
    columns = rename({"content": "source_text", "summary": "target_text", "author": "group"})
    _sample(path, {domain.name: (domain.transforms[0], columns) for domain in AS.domains})


def _steps(path: Path) -> None:
    """Read with all steps of the summaries task: also count words, and look up the summary's words in the post."""
    _sample(path, {domain.name: domain.transforms for domain in AS.domains})


def _sample(path: Path, steps: Mapping[str, tuple[Transform, ...]]) -> None:
    sample = Sample(pl.lit(0), size=_SAMPLE, identity=AS.inputs, key="0")
    consumers = [Consumer(domain, transforms, sample, AS.kind) for domain, transforms in steps.items()]
    with tempfile.TemporaryDirectory(dir=path.parent) as cache:
        read_file(path, AS.domains[0].files["train"][0].read, consumers, cache=Path(cache), large=0, every=5)


def _polars(path: Path) -> None:
    for block in _blocks(path):
        pl.read_ndjson(block, schema=dict.fromkeys(_KEYS, pl.String))


def _polars_scan(path: Path) -> None:
    rows = pl.scan_ndjson(path, schema=dict.fromkeys(_KEYS, pl.String))
    rows.select(pl.all().str.len_bytes().sum()).collect(engine="streaming")


def _orjson(path: Path) -> None:
    import orjson

    for block in _blocks(path):
        for line in block.splitlines():
            orjson.loads(line)


def _msgspec(path: Path) -> None:
    from msgspec.json import Decoder

    decode = Decoder().decode
    for block in _blocks(path):
        for line in block.splitlines():
            decode(line)


def _blocks(path: Path) -> Iterator[bytes]:
    rest = b""
    with gzip.open(path) as stream:
        while read := stream.read(BLOCK):
            cut = read.rfind(b"\n") + 1
            yield rest + read[:cut]
            rest = read[cut:]


_JOBS: dict[str, Callable[[Path], None]] = {
    "read": _read_as_build,
    "steps": _steps,
    "polars in blocks": _polars,
    "polars scan": _polars_scan,
    "orjson": _orjson,
    "msgspec": _msgspec,
}
_NEEDS = {"polars in blocks": "polars", "polars scan": "polars", "orjson": "orjson", "msgspec": "msgspec"}


def _in_own_process(name: str, path: Path) -> _Run:
    command = [sys.executable, "-m", "benchmarks.build", name, str(path)]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return _Run(**json.loads(printed))


def _measure(name: str, path: Path) -> _Run:
    start = time.perf_counter()
    _JOBS[name](path)
    return _Run(time.perf_counter() - start, peak_memory())


def _median(runs: tuple[_Run, ...]) -> _Run:
    seconds = float(np.median([run.seconds for run in runs]))
    return _Run(seconds, max(run.peak_memory or 0 for run in runs))


def _timing(
    name: str, ours: _Run, yardstick: str, yardstick_seconds: float, wanted: tuple[float, float] | None
) -> Timing:
    ratio = ours.seconds / yardstick_seconds
    return Timing(
        name=name,
        seconds=ours.seconds,
        yardstick=yardstick,
        yardstick_seconds=yardstick_seconds,
        ratio=ratio,
        wanted=wanted,
        met=None if wanted is None else wanted[0] <= ratio <= wanted[1],
        peak_memory=ours.peak_memory,
    )


if __name__ == "__main__":
    job, file = sys.argv[1:]
    print(json.dumps(vars(_measure(job, Path(file)))))
