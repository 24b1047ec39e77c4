"""Without an extra: what works, from the command line and in a notebook, and what is refused before it begins."""

import resource
import subprocess
import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions, packages_distributions
from pathlib import Path

import polars as pl
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from skops import io

from tests.shiftbench.elsewhere import ROOT, make_environment


def required(there: dict[str, Distribution]) -> set[str]:
    """Return the distributions that the project's own requirements lead to, no extra of its own asked for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found, left = set[tuple[str, str]](), [Requirement(each) for each in project["dependencies"]]
    while left:
        need = left.pop()
        name = canonicalize_name(need.name)
        for extra in {"", *need.extras}:
            if (name, extra) not in found:
                found.add((name, extra))
                more = map(Requirement, there[name].requires or ())
                left += [each for each in more if each.marker is None or each.marker.evaluate({"extra": extra})]
    return {name for name, _ in found}


def beyond(core: Collection[str]) -> set[str]:
    """Return the import names of all distributions that are installed here and not in the core."""
    owners = packages_distributions()
    return {
        name
        for name, several in owners.items()
        if name != "shiftbench" and not {canonicalize_name(each) for each in several} & set(core)
    }


@dataclass(frozen=True)
class SmallInstall:
    """An environment with the core's packages alone, and a folder with a model's file, rows, and predictions."""

    python: Path
    place: Path

    def run(self, *words: str, options: Collection[str] = ()) -> "subprocess.CompletedProcess[str]":
        """Run a command in the folder, with options of Python."""
        command = [str(self.python), *options, "-m", "shiftbench", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.place, timeout=300)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> SmallInstall:
    place = tmp_path_factory.mktemp("small")
    there = {canonicalize_name(each.metadata["Name"]): each for each in distributions()}
    names = beyond(required(there))
    assert {"matplotlib", "gradio_client", "httpx", "torch", "transformers", "gradio", "pytest", "lxml"} & names
    python = make_environment(place / "environment", without=names | {f"{name}.py" for name in names})
    site = next((place / "environment").glob("lib/python*/site-packages"))
    (site / "clone.pth").write_text(f"{ROOT}\n")
    info = site / "shiftbench-0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shiftbench\nVersion: 0.0\n")
    write_rows(place)
    return SmallInstall(python, place)


def write_rows(place: Path) -> None:
    """Write ``mine.csv``, the model of the README's form that reads it, and two models' predictions."""
    sites, n = ("tents", "lamps"), 120
    rows = pl.DataFrame(
        {
            "key": [f"r{number}" for number in range(n)],
            "site": [sites[number % 2] for number in range(n)],
            "review": [f"{'good' if number % 3 else 'bad'} {sites[number % 2]} {number}" for number in range(n)],
            "label": ["pos" if number % 3 else "neg" for number in range(n)],
        }
    )
    rows.write_csv(place / "mine.csv")
    model = make_pipeline(TfidfVectorizer(), LogisticRegression())
    io.dump(model.fit(rows["review"].to_list(), rows["label"].to_list()), place / "model.skops")
    right = pl.DataFrame({"source": "elsewhere", "id": rows["key"], "prediction": rows["label"]})
    right.write_csv(place / "right.csv")
    right.with_columns(prediction=pl.lit("pos")).write_csv(place / "constant.csv")


COLUMNS = ("--columns", "text=review,domain=site,id=key")
WORKS = {
    "check": ("check", "model.skops", "--data", "mine.csv", *COLUMNS, "--report", "check.html"),
    "score": ("score", "constant.csv", "--data", "mine.csv", *COLUMNS, "--report", "score.html"),
    "compare": ("compare", "right.csv", "constant.csv", "--data", "mine.csv", *COLUMNS),
    "build": ("build", "own", "mine", "--raw", "mine.csv", *COLUMNS, "--encoder", "none", "--out", "built"),
    "gate": ("gate", "right.csv", "--data", "mine.csv", *COLUMNS, "--min-score", "80"),
}


@pytest.mark.parametrize("words", WORKS.values(), ids=WORKS)
def test_without_an_extra_it_works(words: tuple[str, ...], small: SmallInstall) -> None:
    done = small.run(*words, options=("-X", "importtime"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    imported = {line.rsplit("| ", 1)[1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "polars" in imported
    assert words[0] in ("check", "build") or not {"datasets", "sklearn", "scipy.stats"} & imported  # two seconds
    if "--report" in words:
        assert "<html" in (small.place / words[-1]).read_text(encoding="utf-8")


def test_a_card_shows_no_picture_that_is_not_there(small: SmallInstall) -> None:
    if not (small.place / "built").exists():
        assert small.run(*WORKS["build"]).returncode == 0
    assert "statistics/mine.json" in (small.place / "built/README.md").read_text(encoding="utf-8")
    assert ".png" not in (small.place / "built/README.md").read_text(encoding="utf-8")
    assert not list((small.place / "built").rglob("*.png"))


REFUSED = {
    "study": (("study", "analyse", "p.csv", "--data", "no"), "pictures"),
    "submit": (("submit", "right.csv", "--to", "http://127.0.0.1:9"), "submit"),
    "serve": (("serve", "--data", "no", "--store", "store"), "app"),
    "train": (("train", "finetune-classifier", "sa", "--data", "no", "--out", "p.parquet"), "train"),
    "check-encoder": (
        ("check", "model.skops", "--data", "mine.csv", *COLUMNS, "--trained-on", "lamps", "--train-file", "mine.csv"),
        "encoder",
    ),
    "check-hub": (("check", "acme/model", "--data", "mine.csv", *COLUMNS), "train"),
    "build-encoder": (("build", "synthetic", "--out", "no"), "encoder"),
}


@pytest.mark.parametrize(("words", "extra"), REFUSED.values(), ids=REFUSED)
def test_what_needs_an_extra_is_refused_before_it_begins(
    words: tuple[str, ...], extra: str, small: SmallInstall
) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = small.run(*words)
    assert f"'shiftbench[{extra}]'" in done.stderr, done.stdout + done.stderr
    assert done.returncode == 1
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 2  # under one where nothing else runs
