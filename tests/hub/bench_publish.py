"""Time publishing a large dataset folder beside ``HfApi.upload_folder`` of the same files, to a Hub in a process of its
own that holds nothing before each run: python -m tests.hub.bench_publish --gigabytes 1 --runs 3

Texts are random, so that Parquet cannot make them smaller. Times are of the call alone, without imports.
"""

import argparse
import base64
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from shiftbench.builders.building.synthetic import build_synthetic
from shiftbench.builders.folder.hashes import content_hash, data_files_sha256, rows_sha256
from shiftbench.builders.folder.reader import DatasetFolder

ROOT = Path(__file__).parents[2]
TEXT_BYTES, SHARDS = 2_000, 4
REPO = "org/bench"
WANTED = 1.5
OURS = """
import json, sys, time
from pathlib import Path
from shiftbench.builders.publishing import publish as command
from shiftbench.builders.folder.reader import DatasetFolder
from huggingface_hub import HfApi, create_repo

check, took = DatasetFolder.check, []
def timed(folder):
    start = time.perf_counter()
    check(folder)
    took.append(time.perf_counter() - start)
DatasetFolder.check = timed
start = time.perf_counter()
command.publish_folders(Path(sys.argv[1]), sys.argv[2])
print(json.dumps({"seconds": time.perf_counter() - start, "check": sum(took)}))
"""
THEIRS = """
import json, sys, time
from huggingface_hub import HfApi
from huggingface_hub.utils import disable_progress_bars

disable_progress_bars()
start = time.perf_counter()
api = HfApi()
api.create_repo(sys.argv[2], repo_type="dataset")
api.upload_folder(folder_path=sys.argv[1], repo_id=sys.argv[2], repo_type="dataset")
print(json.dumps({"seconds": time.perf_counter() - start}))
"""


def large_folder(out: Path, gigabytes: float) -> int:
    """Write a dataset folder whose train splits of task sa are large; returns its bytes."""
    build_synthetic(out, n_train=60, n_test=30)
    manifest = json.loads((out / "shiftbench.json").read_text())
    domains = manifest["tasks"]["sa"]["domains"]
    # Base64 is four characters for three random bytes, which Parquet's zstd finds out.
    n_rows = int(gigabytes * 1e9 / len(domains) / SHARDS / (TEXT_BYTES * 0.76))
    for number, (domain, facts) in enumerate(domains.items()):
        folder = out / "data/sa" / domain
        old = next(folder.glob("train-*"))
        schema = pq.read_schema(old)
        old.unlink()
        for shard in range(SHARDS):
            rows = _random_rows(np.random.default_rng([number, shard]), n_rows, f"synthetic/sa/{domain}/train", shard)
            path = folder / f"train-{shard:05d}-of-{SHARDS:05d}.parquet"
            pq.write_table(
                rows.with_columns(domain=pl.lit(domain)).select(schema.names).to_arrow().cast(schema),
                path,
                compression="zstd",
            )
        frame = pl.read_parquet(folder / "train-*")
        facts["splits"]["train"] = {
            "rows": len(frame),
            "groups": frame["group"].n_unique(),
            "inputs_sha256": rows_sha256(frame, manifest["tasks"]["sa"]["inputs"]),
            "labels_sha256": rows_sha256(frame, ["label"]),
        }
    (out / "shiftbench.json").write_text(json.dumps(manifest))
    opened = DatasetFolder.open(out).manifest
    manifest["content_hash"] = content_hash(opened.tasks, opened.benchmark)
    manifest["files"] = data_files_sha256(out)
    (out / "shiftbench.json").write_text(json.dumps(manifest))
    return sum(path.stat().st_size for path in out.rglob("*") if path.is_file())


def _random_rows(rng: np.random.Generator, n_rows: int, prefix: str, shard: int) -> pl.DataFrame:
    text = base64.b64encode(rng.bytes(n_rows * TEXT_BYTES * 3 // 4))[: n_rows * TEXT_BYTES]
    offsets = np.arange(n_rows + 1, dtype=np.int64) * TEXT_BYTES
    texts = pa.LargeStringArray.from_buffers(n_rows, pa.py_buffer(offsets), pa.py_buffer(text))
    keys = [f"{shard:02x}{row:010x}" for row in range(n_rows)]
    return pl.DataFrame({"text": pl.from_arrow(texts), "group": keys}).with_columns(
        id=pl.concat_str(pl.lit(f"{prefix}/"), "group"), label=pl.Series(rng.integers(2, size=n_rows))
    )


@contextmanager
def _hub(folder: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "tests.hub", str(folder)]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait(timeout=60)
        shutil.rmtree(folder)


def _time(script: str, folder: Path, work: Path) -> dict[str, float]:
    with _hub(work / "hub") as url:
        home = {"HF_ENDPOINT": url, "HF_TOKEN": "hf_write", "HF_HUB_DISABLE_XET": "1", "HF_HOME": str(work / "home")}
        environment = {**os.environ, **home, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", script, str(folder), REPO]
        out = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True, cwd=work).stdout
        times: dict[str, float] = json.loads(out.splitlines()[-1])
        return times


def main() -> None:
    """Print each run, the medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--work", type=Path, help="folder for the files; default: a temporary one")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.work) as temporary:
        work = Path(temporary)
        size = large_folder(work / "folder", asked.gigabytes)
        print(f"{size / 1e9:.2f} GB of files", flush=True)
        ours, theirs, checks = [], [], []
        for _ in range(asked.runs):
            times = _time(OURS, work / "folder", work)
            ours.append(times["seconds"])
            checks.append(times["check"])
            theirs.append(_time(THEIRS, work / "folder", work)["seconds"])
            print(f"publish {ours[-1]:.2f} s (check {checks[-1]:.2f} s), upload_folder {theirs[-1]:.2f} s", flush=True)
    whole, check, yardstick = (statistics.median(times) for times in (ours, checks, theirs))
    sending = statistics.median(each - checked for each, checked in zip(ours, checks, strict=True))
    met = "met" if whole <= WANTED * yardstick else "not met"
    print(
        f"medians: publish {whole:.2f} s (check {check:.2f} s, else {sending:.2f} s), upload_folder {yardstick:.2f} s"
    )
    print(f"ratio {whole / yardstick:.2f}, wanted at most {WANTED}: {met}; without the check {sending / yardstick:.2f}")


if __name__ == "__main__":
    main()
