"""Coverage of labelled samples on the real genres: ``pytest -m long -s tests/shiftbench/test_label_on_real_rows.py``.

Needs the folder build/dr, and what ``shiftbench grid`` wrote for its NLI task in build/dr-nli; skips without.
"""

import numpy as np
import polars as pl
import pytest

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.checking.label_draws import group_codes
from shiftbench.checking.label_rows import calibrate_confidences
from tests.metrics.sampled import Domain, Simulated, simulate
from tests.shiftbench.elsewhere import ROOT

DATA, ENTRIES = ROOT / "build/dr", ROOT / "build/dr-nli/nli"
N_DRAWS = 100


def resampled(domain: Domain, rng: np.random.Generator) -> Domain:
    """Resample whole groups, so that the domain's accuracy is the truth behind it."""
    order = np.argsort(domain.groups, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(domain.groups))[:-1])
    picked = rng.integers(len(members), size=len(members))
    rows = np.concatenate([members[each] for each in picked])
    groups = np.repeat(np.arange(picked.size), [members[each].size for each in picked])
    return Domain(domain.confidence[rows], domain.correct[rows], groups)


def shift_domain(rows: pl.DataFrame, source: str, target: str) -> Domain:
    """Take one shift's target texts; confidences are calibrated on the source's own test texts, as 'label' does."""
    here = rows.filter(pl.col("source") == source, pl.col("domain").is_in([source, target]))
    known = here.with_columns(label=pl.when(pl.col("domain") == source).then("label"))
    here = here.with_columns(confidence=calibrate_confidences(known)).filter(domain=target)
    correct = (here["label"] == here["prediction"]).cast(pl.Float64).to_numpy()
    return Domain(here["confidence"].to_numpy(), correct, group_codes(here["group"]))


@pytest.mark.long
@pytest.mark.real
@pytest.mark.parametrize("model", ["tfidf-lr", "sbert-lr"])
def test_coverage_on_real_genres(model: str) -> None:
    file = ENTRIES / f"{model}.parquet"
    if not (DATA.is_dir() and file.is_file()):
        pytest.skip(f"needs {DATA} and {file}")
    folder = DatasetFolder.open(DATA)
    info = folder.task("nli")
    words = pl.col("label").replace_strict(dict(enumerate(info.labels)), return_dtype=pl.String)
    tests = folder.test("nli").select("id", "domain", "group", words)
    rows = pl.read_parquet(file).filter(pl.col("source").is_in(list(info.domains))).join(tests, on="id")
    shifts = [(source, target) for source in info.domains for target in info.domains if source != target]
    print(f"\n{model}, {len(shifts)} shifts, {N_DRAWS} draws each")
    print("| budget | drawn by confidence: held | at random: held | narrower by | expected |")
    print("|---:|---:|---:|---:|---:|")
    for budget in (50, 100, 200):
        found: list[Simulated] = []
        for source, target in shifts:
            domain = shift_domain(rows, source, target)
            truth = float(domain.correct.mean())

            def make(rng: np.random.Generator, domain: Domain = domain) -> Domain:
                return resampled(domain, rng)

            found.append(simulate(make, truth, budget, N_DRAWS, budget))
        mean = np.mean([each[:4] for each in found], axis=0)
        print(f"| {budget} | {' | '.join(f'{100 * each:.1f}' for each in mean)} |", flush=True)
        assert 0.93 <= mean[0] <= 0.975
