"""The bench of whole builds: invented files of the published numbers of rows, built in bounded memory."""

import json
from pathlib import Path

import pytest

from benchmarks import builds as bench_builds
from benchmarks.builds import run_build_bench
from benchmarks.invented_releases import SHAPES, write_release
from shiftbench.builders.building.build import BENCHMARKS, build


def test_shapes_name_tasks_and_write_files_that_these_read(tmp_path: Path) -> None:
    tasks = {task.name: task for task in BENCHMARKS["boss"][1]}
    for name, shape in SHAPES.items():
        specs = [tasks[shape.task]] if shape.task else list(tasks.values())
        places = {file.path for spec in specs for domain in spec.domains for of in domain.files.values() for file in of}
        raw = tmp_path / name
        n_bytes = write_release(name, raw, 0.00005)
        written = {str(path.relative_to(raw)): path.stat().st_size for path in raw.rglob("*") if path.is_file()}
        assert written.keys() <= places
        assert sum(written.values()) == n_bytes > 0


def test_invented_rows_are_built(tmp_path: Path) -> None:
    write_release("SQuAD, NewsQA, SearchQA", tmp_path / "raw", 0.0005)
    built = build("boss", "eqa", tmp_path / "raw", tmp_path / "out", partial=True)
    assert not built.failed
    rows = {
        name: {split: facts.rows for split, facts in domain.splits.items()}
        for name, domain in built.manifest.tasks["eqa"].domains.items()
    }
    assert rows == {
        "squad": {"train": 45, "test": 5},
        "newsqa": {"train": 36, "test": 6},
        "searchqa": {"train": 59, "test": 8},
    }
    contexts = [json.loads(line) for line in (tmp_path / "raw/mrqa/train/SearchQA.jsonl").read_text().splitlines()[1:]]
    assert 2_000 < sum(len(row["context"].split()) for row in contexts) / len(contexts) < 3_500
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["out", "raw"]


@pytest.mark.long
def test_a_small_run_gives_a_line_a_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_builds, "SHAPES", {"DSC": SHAPES["DSC"]})
    (timing,) = run_build_bench(scale=0.002)
    assert timing.name.startswith("boss sa_candidates built from DSC, 0 MB")
    assert (timing.wanted, timing.met) == ("at most 2,048 MiB", None)  # holds at full size
    assert timing.seconds is not None
    assert timing.peak_memory is not None
    assert timing.peak_memory > 10_000_000


@pytest.mark.long
def test_the_whole_of_dsc_takes_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_builds, "SHAPES", {"DSC": SHAPES["DSC"]})
    (timing,) = run_build_bench()
    assert timing.met
    assert timing.peak_memory is not None
    assert timing.peak_memory < 800 << 20  # held whole, as it was before, 1,092 MiB
