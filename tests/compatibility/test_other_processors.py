"""What another processor computes: the same entry where no figure is rounded, and the same up to rounding elsewhere.

OpenBLAS, numpy and torch choose their instructions when they are loaded, so each setting has a process of its own.
"""

import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from numpy._core._multiarray_umath import __cpu_features__ as numpy_features

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.store.entries import entry_id, stored_rows
from shiftbench.scoring.scores.score import checked_predictions
from shiftbench.validation.cards import read_card
from tests.close_figures import FITTED, assert_close

from .test_written_by_0_1_0 import WRITTEN

ROOT = Path(__file__).parents[2]
WITHOUT_AVX = {
    "OPENBLAS_CORETYPE": "Prescott",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    "ATEN_CPU_CAPABILITY": "default",
}
"""Settings under which an x86-64 processor computes with the oldest instructions; others ignore them."""
TRAIN = """
import hashlib
import numpy as np
from tests.command_line import run

rng = np.random.default_rng(0)
a, b = rng.normal(size=(300, 200)), rng.normal(size=(200, 17))
print(*(hashlib.sha256(array.tobytes()).hexdigest() for array in (a @ b, np.exp(a))))
for program in ("majority", "tfidf-lr"):
    assert run("train", program, "gadgets", "--data", "data", "--out", f"{program}.parquet").returncode == 0
"""


@dataclass(frozen=True)
class Trained:
    """A folder with what programs wrote under one setting, and the hashes of a product and of exponentials there."""

    path: Path
    hashes: tuple[str, ...]

    def predictions(self, program: str) -> pl.DataFrame:
        return stored_rows(checked_predictions(self.path / f"{program}.parquet", DatasetFolder.open(WRITTEN / "data")))

    def entry_id(self, program: str) -> str:
        card = read_card(self.path / f"{program}.card.yaml")
        return entry_id("a submitter", card, self.predictions(program))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trained, Trained]:
    """The same programs with this processor's own instructions, and without AVX."""
    plain = {name: value for name, value in os.environ.items() if name not in WITHOUT_AVX}
    plain["PYTHONPATH"] = str(ROOT)
    places = [tmp_path_factory.mktemp("place") for _ in range(2)]
    for place in places:
        shutil.copytree(WRITTEN / "data", place / "data")
    started = [
        subprocess.Popen([sys.executable, "-c", TRAIN], cwd=place, env=env, stdout=subprocess.PIPE, text=True)
        for place, env in zip(places, (plain, plain | WITHOUT_AVX), strict=True)
    ]
    printed = [process.communicate(timeout=300)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0]
    first, second = (Trained(place, tuple(hashes.split())) for place, hashes in zip(places, printed, strict=True))
    return first, second


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the settings are those of x86-64")
def test_the_settings_change_last_digits(trained: tuple[Trained, Trained]) -> None:
    """Without this the other tests would compare a processor with itself.

    Exponentials of float64 have instructions of their own with AVX-512 alone.
    """
    product, exponentials = (len(set(pair)) for pair in zip(trained[0].hashes, trained[1].hashes, strict=True))
    assert product == 2
    assert exponentials == 2 or not numpy_features["X86_V4"]


def test_a_program_that_rounds_nothing_makes_the_same_entry(trained: tuple[Trained, Trained]) -> None:
    first, second = (each.entry_id("majority") for each in trained)
    assert first == second
    assert first != trained[0].entry_id("tfidf-lr")


def test_a_fitted_classifier_differs_in_last_digits_alone(trained: tuple[Trained, Trained]) -> None:
    first, second = (each.predictions("tfidf-lr") for each in trained)
    assert first["confidence"].n_unique() > 100
    assert_close(first, second, FITTED)
