"""What every baseline program shares: sources, targets and seeds asked for, and the two files that come out."""

import shutil
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl
import pytest
import typer
from numpy.typing import NDArray
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from shiftbench.baselines.majority import main as majority
from shiftbench.baselines.program import make_card, with_options, write_outputs
from shiftbench.baselines.runs import Predict, Run, train_and_predict
from shiftbench.builders.building.own import build_own
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.cards import read_card
from shiftbench.validation.prediction_files import read_predictions
from shiftbench.validation.predictions import check_predictions
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

PLACES = ("harbour", "kitchen", "orchard", "workshop")


class Recorder:
    """A training function that notes what it was given and predicts its seed modulo the labels."""

    def __init__(self) -> None:
        self.calls: list[tuple[set[str], int, int | None, int]] = []

    def __call__(self, run: Run) -> Predict:
        n_validation = None if run.validation is None else len(run.validation)
        self.calls.append((set(run.train["domain"]), len(run.train), n_validation, run.seed))
        assert all("/train/" in id_ for id_ in run.train["id"])

        def predict(rows: pl.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
            return np.full(len(rows), run.seed % 3), np.full(len(rows), 0.5)

        return predict


def predicted(folder: DatasetFolder, fit: Recorder | None = None, **asked: object) -> pl.DataFrame:
    options: dict[str, object] = {"sources": None, "targets": None, "seeds": None} | asked
    return train_and_predict(fit or Recorder(), folder, "nli", **options).predictions  # type: ignore[arg-type]


def pairs(frame: pl.DataFrame) -> set[tuple[str, str]]:
    return set(frame.select("source", pl.col("id").str.split("/").list.get(2)).unique().iter_rows())


def test_by_default_every_domain_is_source_and_target_of_one_run(synthetic: DatasetFolder) -> None:
    fit = Recorder()
    frame = predicted(synthetic, fit)
    sizes = {name: facts.splits for name, facts in synthetic.task("nli").domains.items()}
    assert fit.calls == [({place}, sizes[place]["train"].rows, sizes[place]["validation"].rows, 0) for place in PLACES]
    assert pairs(frame) == {(source, target) for source in PLACES for target in PLACES}
    assert set(frame["seed"]) == {0}
    ids = sorted(synthetic.test("nli")["id"])
    for (_,), run in frame.group_by("source"):
        assert sorted(run["id"]) == ids
    assert len(check_predictions(frame, [synthetic.prediction_task("nli")], "p")) == len(frame) == 4 * 120


def test_sources_targets_and_seeds_are_those_asked_for(synthetic: DatasetFolder) -> None:
    fit = Recorder()
    frame = predicted(synthetic, fit, sources=["orchard"], targets=["kitchen", "orchard"], seeds=[4, 1, 4])
    assert [(domains, seed) for domains, _, _, seed in fit.calls] == [({"orchard"}, 4), ({"orchard"}, 1)]
    assert pairs(frame) == {("orchard", "kitchen"), ("orchard", "orchard")}
    assert {(seed, label) for seed, label in frame.select("seed", "prediction").iter_rows()} == {
        (4, "neutral"),
        (1, "neutral"),
    }
    assert len(frame) == 2 * 60


def test_joined_sources_train_on_all_their_rows_under_one_name(synthetic: DatasetFolder) -> None:
    fit = Recorder()
    frame = predicted(synthetic, fit, sources=["orchard+harbour", "harbour+orchard", "harbour+harbour"])
    both = [synthetic.task("nli").domains[place].splits for place in ("harbour", "orchard")]
    assert fit.calls[0] == (
        {"harbour", "orchard"},
        sum(splits["train"].rows for splits in both),
        sum(splits["validation"].rows for splits in both),
        0,
    )
    assert len(fit.calls) == 2
    assert set(frame["source"]) == {"harbour+orchard", "harbour"}


def test_unknown_domains_are_refused_before_training(synthetic: DatasetFolder, wording: SnapshotAssertion) -> None:
    fit = Recorder()
    sources = (["harbor"], ["harbour+orchart"], ["none"])
    messages = [refusal(InvalidInput, predicted, synthetic, fit, sources=each) for each in sources]
    assert [*messages, refusal(InvalidInput, predicted, synthetic, fit, targets=["Kitchen"])] == wording
    assert fit.calls == []


def test_own_data_too_small_to_train_on_is_refused(tmp_path: Path, wording: SnapshotAssertion) -> None:
    (tmp_path / "c.csv").write_text("domain,label,text\na,x,one\nb,y,two\n")
    build_own("nli", tmp_path / "c.csv", tmp_path / "out")
    assert refusal(InvalidInput, predicted, DatasetFolder.open(tmp_path / "out")) == wording


def test_a_source_without_validation_is_trained_without(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text(
        "domain,label,text,split\na,x,one,train\na,y,two,test\nb,x,three,train\nb,y,four,validation\nb,z,five,test\n"
    )
    build_own("nli", tmp_path / "c.csv", tmp_path / "out")
    fit = Recorder()
    predicted(DatasetFolder.open(tmp_path / "out"), fit, sources=["a", "b", "a+b"])
    assert [n_validation for _, _, n_validation, _ in fit.calls] == [None, 1, 1]


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_both_files_come_out_readable(suffix: str, synthetic: DatasetFolder, tmp_path: Path) -> None:
    frame = predicted(synthetic, targets=["kitchen"])
    card = make_card(synthetic, name="Recorder", paradigm="other")
    out = tmp_path / f"new/p{suffix}"
    assert write_outputs(frame, card, out) == tmp_path / "new/p.card.yaml"
    assert read_predictions(out).select(frame.columns).equals(frame)
    assert read_card(tmp_path / "new/p.card.yaml") == card
    assert sorted(path.name for path in out.parent.iterdir()) == ["p.card.yaml", f"p{suffix}"]


def test_an_output_that_is_no_prediction_file_is_refused_before_training(
    synthetic: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    assert refusal(InvalidInput, majority, "nli", synthetic.path, tmp_path / "new/p.xlsx") == wording
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_older_files(
    synthetic: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = make_card(synthetic, name="Recorder", paradigm="other")
    write_outputs(predicted(synthetic), card, tmp_path / "p.csv")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def fail(*_: object) -> None:
        raise OSError("full")

    monkeypatch.setattr("shiftbench.baselines.program.write_card", fail)
    with pytest.raises(OSError, match="full"):
        write_outputs(predicted(synthetic, seeds=[1]), card, tmp_path / "p.csv")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_card_says_command_versions_and_data(synthetic: DatasetFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/bin/shiftbench", "train", "majority", "nli", "--data", "my data"])
    card = make_card(synthetic, libraries=["scikit-learn"], name="M", paradigm="other", parameters=1)
    assert card.command == "shiftbench train majority nli --data 'my data'"
    assert card.data == synthetic.content_hash
    names = ("shiftbench", "numpy", "polars", "scikit-learn")
    assert card.versions == {name: version(name) for name in names}
    assert (card.name, card.parameters, card.subset) == ("M", 1, "all")


def test_the_card_says_when_a_program_ran_alone(synthetic: DatasetFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Path(sys.modules["shiftbench.baselines.majority"].__file__ or "")
    monkeypatch.setattr(sys, "argv", [str(program), "nli", "--out", "p.csv"])
    card = make_card(synthetic, name="M", paradigm="other")
    assert card.command == "python -m shiftbench.baselines.majority nli --out p.csv"


def test_a_long_command_still_fits_its_card(synthetic: DatasetFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = [part for seed in range(200) for part in ("--seed", str(seed))]
    monkeypatch.setattr(sys, "argv", ["shiftbench", "train", "majority", "nli", *seeds])
    assert (
        make_card(synthetic, name="M", paradigm="other").command == f"shiftbench train majority nli {' '.join(seeds)}"
    )


@pytest.mark.parametrize("seed", ["-1", str(2**32)])
def test_seeds_that_no_run_can_have_are_wrong_usage(seed: str, synthetic: DatasetFolder, tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(majority)
    arguments = ["nli", "--data", str(synthetic.path), "--out", str(tmp_path / "p.csv"), "--seed", seed]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert "--seed" in result.output
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_task_is_named(synthetic: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion) -> None:
    copy = shutil.copytree(synthetic.path, tmp_path / "copy", ignore=shutil.ignore_patterns("*.parquet"))
    assert refusal(InvalidInput, majority, "nil", copy, tmp_path / "p.csv") == wording


@dataclass(frozen=True)
class Place:
    street: str
    number: Annotated[int, typer.Option("--number", help="Which house.")] = 1


@dataclass(frozen=True)
class Size:
    size: Annotated[int, typer.Option("--size", help="How large.")] = 3
    name: Annotated[str | None, typer.Option("--name", help="What it is called.")] = None


def test_a_command_has_the_fields_of_its_dataclasses_where_these_stand() -> None:
    seen: list[tuple[Place, bool, Size]] = []

    @with_options
    def main(place: Place, *, loud: Annotated[bool, typer.Option("--loud")] = False, size: Size) -> None:
        """Build a house."""
        seen.append((place, loud, size))

    app = typer.Typer(rich_markup_mode=None)
    app.command()(main)
    assert CliRunner().invoke(app, ["Mill Lane", "--size", "7"]).exit_code == 0
    assert CliRunner().invoke(app, ["Mill Lane", "--number", "2", "--loud", "--name", "x"]).exit_code == 0
    assert CliRunner().invoke(app, []).exit_code == 2
    assert seen == [(Place("Mill Lane"), False, Size(7)), (Place("Mill Lane", 2), True, Size(3, "x"))]
    text = CliRunner().invoke(app, ["--help"]).output
    order = [text.index(word) for word in ("Build a house.", "--number", "--loud", "--size", "--name")]
    assert order == sorted(order)
    main("High Street", 4, size=1)
    assert seen[-1] == (Place("High Street", 4), False, Size(1))
    with pytest.raises(TypeError, match="street"):
        main(size=1)
