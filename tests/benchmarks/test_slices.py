"""The simulation of searches for unnamed domains: a small part of it, on invented texts."""

import numpy as np
import pytest

from benchmarks.slices import invented_sources, placebo_cells, read_sources, recoveries, slice_tables
from tests.conftest import SHARED

RNG = np.random.default_rng


def test_hidden_invented_sources_are_recovered() -> None:
    found = list(recoveries(1, 3, invented_sources(RNG(0), 4)))
    assert [each.recovered.share for each in found] == [1.0] * 4
    assert min(each.purity for each in found) > 0.9


def test_placebo_files_name_no_slice() -> None:
    cells = list(placebo_cells(8, 1, {}))
    assert len(cells) == 4
    assert max(each.named.low for each in cells) <= 0.05
    assert "Placebo" in slice_tables(cells, [])[0].title


@pytest.mark.skipif(not (SHARED / "data/whole").is_dir(), reason="no whole real files at ../shared/data/whole")
def test_real_sources_are_read() -> None:
    sources = read_sources([SHARED / "data/raw", SHARED / "data/whole"])
    assert set(sources) == {"captions", "telephone", "government", "filings", "tweets", "restaurants", "films"}
    assert min(map(len, sources.values())) > 150
