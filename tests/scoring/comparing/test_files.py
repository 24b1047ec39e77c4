"""Comparison of two prediction files: the better one per figure, and no difference between equal files."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.comparing.files import Entrant, compare_entrants
from shiftbench.scoring.comparing.shape import Comparison
from shiftbench.scoring.scores.score import score_file
from shiftbench.validation.report import InvalidInput


def predictions(folder: DatasetFolder, error: float, sources: list[str], seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    info = folder.task("nli")
    parts = []
    for source in sources:
        for target in info.domains:
            rows = folder.split("nli", target, "test")
            wrong = rng.random(len(rows)) < error
            codes = np.where(wrong, (rows["label"].to_numpy() + 1) % 3, rows["label"].to_numpy())
            names = pl.Series("prediction", [info.labels[code] for code in codes])
            parts.append(rows.select("id", source=pl.lit(source)).with_columns(names))
    return pl.concat(parts)


def compared(folder: DatasetFolder, a: pl.DataFrame, b: pl.DataFrame, tmp_path: Path) -> Comparison:
    a.write_csv(tmp_path / "a.csv")
    b.write_csv(tmp_path / "b.csv")
    return compare_entrants(*(Entrant(tmp_path / f"{name}.csv", folder) for name in "ab"))


def test_a_better_entry_wins_and_values_are_the_scores(synthetic: DatasetFolder, tmp_path: Path) -> None:
    domains = list(synthetic.task("nli").domains)
    good, bad = predictions(synthetic, 0.05, domains), predictions(synthetic, 0.7, domains)
    result = compared(synthetic, good, bad, tmp_path)
    assert len(result.shifts) == 12
    scores = [score_file(tmp_path / name, synthetic).tasks[0].shifts for name in ("a.csv", "b.csv")]
    for shift, a, b in zip(result.shifts, *scores, strict=True):
        assert (shift.source, shift.target) == (a.source, a.target) == (b.source, b.target)
        for difference, figure in zip(shift.differences, ("st", "sd", "td"), strict=True):
            expected = getattr(a, figure).value - getattr(b, figure).value
            assert difference.value == pytest.approx(expected, abs=1e-12)
        st = shift.differences[0]
        assert st.p is not None
        assert st.p < 0.05
        assert st.p_corrected is not None
        assert st.p_corrected >= st.p


def test_a_file_does_not_differ_from_itself(synthetic: DatasetFolder, tmp_path: Path) -> None:
    same = predictions(synthetic, 0.3, list(synthetic.task("nli").domains))
    result = compared(synthetic, same, same, tmp_path)
    assert {(d.value, d.p_corrected) for shift in result.shifts for d in shift.differences} == {(0.0, 1.0)}


def test_a_joined_source_is_at_home_in_its_parts(synthetic: DatasetFolder, tmp_path: Path) -> None:
    joined = "+".join(list(synthetic.task("nli").domains)[:2])
    a, b = (predictions(synthetic, error, [joined], seed) for seed, error in ((0, 0.1), (1, 0.4)))
    result = compared(synthetic, a, b, tmp_path)
    scores = [score_file(tmp_path / name, synthetic).tasks[0].shifts for name in ("a.csv", "b.csv")]
    for shift, first, second in zip(result.shifts, *scores, strict=True):
        st, sd, td = shift.differences
        assert st.value == pytest.approx(first.st.value - second.st.value, abs=1e-12)
        assert sd.value == pytest.approx(first.sd.value - second.sd.value, abs=1e-12)
        assert td.value is None


def test_a_missing_run_of_the_target_does_not_shorten_st(synthetic: DatasetFolder, tmp_path: Path) -> None:
    domains = list(synthetic.task("nli").domains)
    entries = []
    for error in (0.1, 0.4):
        runs = [predictions(synthetic, error, domains, seed).with_columns(seed=pl.lit(seed)) for seed in (0, 1)]
        both = pl.concat(runs)
        entries.append(both.filter((pl.col("source") != domains[1]) | (pl.col("seed") == 0)))
    result = compared(synthetic, *entries, tmp_path)
    shift = next(item for item in result.shifts if (item.source, item.target) == (domains[0], domains[1]))
    assert shift.runs == 2
    a, b = (
        next(item for item in score_file(tmp_path / name, synthetic).tasks[0].shifts if item.target == domains[1])
        for name in ("a.csv", "b.csv")
    )
    assert shift.differences[0].value == pytest.approx(a.st.value - b.st.value, abs=1e-12)
    assert shift.differences[1].value == pytest.approx(a.sd.value - b.sd.value, abs=1e-12)
    assert shift.differences[2].value is not None


def test_only_shared_shifts_are_compared(synthetic: DatasetFolder, tmp_path: Path) -> None:
    first, second, *_ = synthetic.task("nli").domains
    a, b = predictions(synthetic, 0.1, [first, second]), predictions(synthetic, 0.5, [first])
    result = compared(synthetic, a, b, tmp_path)
    assert {shift.source for shift in result.shifts} == {first}
    assert all(only.startswith(f"nli/{second}/") for only in result.only_a)
    assert len(result.only_a) == 3
    st, sd, td = result.shifts[0].differences
    assert st.value is not None
    assert sd.value is not None
    # B has no model of the target, so TD cannot be compared, which is stated.
    assert (td.value, td.p, td.p_corrected) == (None, None, None)
    with pytest.raises(InvalidInput, match="shift"):
        compared(synthetic, predictions(synthetic, 0.1, [second]), b, tmp_path)


def test_a_shift_is_tested_alike_whatever_else_is_compared(synthetic: DatasetFolder, tmp_path: Path) -> None:
    domains = list(synthetic.task("nli").domains)
    files = [predictions(synthetic, error, domains, seed) for seed, error in ((0, 0.4), (1, 0.45))]
    every = compared(synthetic, *files, tmp_path)
    few = compared(synthetic, *(file.filter(pl.col("source").is_in(domains[:2])) for file in files), tmp_path)
    tests = {(shift.source, shift.target): [d.p for d in shift.differences] for shift in every.shifts}
    pair = (domains[0], domains[1])
    (found,) = (shift for shift in few.shifts if (shift.source, shift.target) == pair)
    assert [d.p for d in found.differences] == tests[pair]
    assert any(p is not None and 0.001 < p < 1 for p in tests[pair])


def test_an_entrant_is_read_once(synthetic: DatasetFolder, tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.csv" for name in "abc"]
    for seed, path in enumerate(paths):
        predictions(synthetic, 0.2, list(synthetic.task("nli").domains), seed).write_csv(path)
    a, b, c = (Entrant(path, synthetic) for path in paths)
    expected = compare_entrants(Entrant(paths[0], synthetic), Entrant(paths[2], synthetic))
    compare_entrants(a, b)
    paths[0].unlink()
    assert compare_entrants(a, c) == expected
