"""The notebook of docs/check/notebook.md runs, cell by cell, from every kind of table that it says will do."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from matplotlib.figure import Figure

import shiftbench as sb
from shiftbench.builders.folder.reader import DatasetFolder
from tests.leaderboard.conftest import predict
from tests.notebooks import run_cell

PAGE = (Path(__file__).parents[2] / "docs/check/notebook.md").read_text(encoding="utf-8")
CELLS = [cell for cell in re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.M | re.S) if "read_csv(" not in cell]
"""Without the cells that read files of the page's reader; here they are tables of every kind."""


def as_path(frame: pl.DataFrame, name: str) -> str:
    frame.write_csv(f"{name}.csv")
    return f"{name}.csv"


KINDS: dict[str, Callable[[pl.DataFrame, str], Any]] = {
    "path": as_path,
    "polars": lambda frame, _: frame,
    # As after a filter: with an index that is none of the data.
    "pandas": lambda frame, _: frame.to_pandas().set_index(pl.int_range(5, 5 + len(frame), eager=True).to_pandas()),
}


def own_rows() -> pl.DataFrame:
    """Rows of one's own, labels as numbers."""
    rows = [(site, n % 2, f"{site} visit {n}") for site in ("Books", "shop") for n in range(40)]
    return pl.DataFrame(rows, schema=["site", "label", "text"], orient="row")


@pytest.mark.parametrize("kind", KINDS)
def test_the_notebook_runs(
    kind: str, synthetic: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("build").mkdir()
    Path("build/reviews").symlink_to(synthetic.path)
    given = KINDS[kind]
    domains = list(synthetic.task("nli").domains)
    good, poor = (predict(synthetic, domains, errors) for errors in (0.1, 0.9))
    cells: dict[str, Any] = {
        "predictions": given(good, "good"),
        "a": given(good, "a"),
        "b": given(poor, "b"),
    }
    module = "def classify(texts):\n    return [str(int(text[-1]) % 2) for text in texts]\n"
    Path("example.py").write_text(module, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "example", raising=False)
    for cell in CELLS:
        # What the page's own program wrote is a frame.
        cells["frame"] = own_rows() if "example" in cell else given(own_rows(), "own")
        run_cell(cell, cells, "a cell of docs/check/notebook.md")

    good.write_parquet("expected.parquet")
    assert cells["scores"].scores == sb.score_file("expected.parquet", synthetic)
    differences = cells["comparison"].table("shifts").filter(figure="ST")
    assert differences["a_minus_b"].min() > 0
    assert cells["own"].task("own").labels == ("0", "1")
    assert cells["own"].manifest.tasks["own"].domains.keys() == {"books", "shop"}
    assert isinstance(cells["scores"].plot("matrix"), Figure)
    assert len(list(Path("store/entries").iterdir())) == 1


@pytest.mark.parametrize("kind", ["arrow", "lists", "series"])
def test_other_tables_score_alike(kind: str, synthetic: DatasetFolder) -> None:
    frame = predict(synthetic, list(synthetic.task("nli").domains), 0.1)
    table = {
        "arrow": frame.to_arrow(),
        "lists": frame.to_dict(as_series=False),
        "series": {name: frame[name].to_pandas() for name in frame.columns} | {"seed": 0},
    }[kind]
    expected = sb.score(frame, synthetic)
    assert sb.score(table, synthetic).scores == expected.scores


def test_there_are_cells() -> None:
    used = set(re.findall(r"\bsb\.(\w+)", "".join(CELLS)))
    of_data = {"open_dataset", "validate", "score", "compare", "Card", "submit", "build_own", "metrics"}
    assert used == of_data | {"check", "gate"}
