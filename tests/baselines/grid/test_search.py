"""Searches: what is drawn, what is chosen by which rule, and what is kept of it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.grid.collect import by_entry
from shiftbench.baselines.grid.plan import GridPlan, read_plan
from shiftbench.baselines.grid.search import add_settings, choose_settings, draw_settings
from shiftbench.baselines.grid.stored import StoredTrials, pack_board
from shiftbench.baselines.grid.trial import PREDICTIONS, RECORD, Searched, Trial
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli.help import imported_command
from shiftbench.validation.cards import Card, card_path, read_card, write_card
from shiftbench.validation.report import InvalidInput
from tests.baselines.tiny import save_bert, words_in
from tests.refusals import refusal

SEARCH = "[searches.tuned]\ntrials = {n}\nseed = 7\nselect = '{rule}'\nspace = {{ {space} }}\n"
PROGRAM = '''
from typing import Annotated
import numpy as np
import typer
from shiftbench.baselines.program import RunOptions, make_card, train_runs, with_options, write_results

@with_options
def main(runs: RunOptions, label: Annotated[int, typer.Option("--label")] = 0):
    """Predict one label, whatever the text."""
    folder = runs.open_folder()
    fit = lambda run: lambda rows: (np.full(len(rows), label), None)
    write_results(train_runs(fit, folder, runs), make_card(folder, name="One", paradigm="other"), runs.out)
'''


@pytest.fixture
def plan(synthetic: DatasetFolder, tmp_path: Path, checked_here: None) -> Any:
    (tmp_path / "one.py").write_text(PROGRAM, encoding="utf-8")

    def read(text: str, n: int = 3, rule: str = "source-validation", space: str = "label = [0, 1, 2]") -> GridPlan:
        head = f"data = '{synthetic.path}'\ntasks = ['nli']\nsources = ['harbour']\nseeds = [1, 2]\n"
        text = head + SEARCH.format(n=n, rule=rule, space=space) + text
        (tmp_path / "grid.toml").write_text(text, encoding="utf-8")
        return read_plan(tmp_path / "grid.toml", imported_command("train", "shiftbench.cli.train"))

    return read


OWN = "[[models]]\nname = 'one'\nprogram = 'one.py'\nsearch = 'tuned'\n"
TUNED = """[[models]]
name = "{}"
program = "finetune-classifier"
sources = ["harbour+kitchen"]
search = "tuned"
options = {{ epochs = 1{} }}
"""


def test_draws_are_those_of_the_seed_and_the_same_for_every_model() -> None:
    space = {"learning-rate": (1e-5, 1e-3), "batch-size": [8, 16, 32], "irm.warm-up": (1, 1000)}
    drawn = draw_settings(space, {"irm.warm-up"}, 400, 3)
    assert drawn[0] == {}
    assert drawn == draw_settings(space, {"irm.warm-up"}, 400, 3)
    rates = np.array([each["learning-rate"] for each in drawn[1:]])
    assert np.median(rates) == pytest.approx(1e-4, rel=0.3)  # evenly in the logarithm
    assert rates.min() >= 1e-5
    assert rates.max() <= 1e-3
    assert {each["batch-size"] for each in drawn[1:]} == {8, 16, 32}
    assert all(isinstance(each["irm.warm-up"], int) for each in drawn[1:])
    plain = draw_settings({"learning-rate": (1e-5, 1e-3)}, (), 400, 3)
    assert [each.get("learning-rate") for each in plain] == [each.get("learning-rate") for each in drawn]
    assert draw_settings(space, (), 5, 4) != draw_settings(space, (), 5, 3)


def test_settings_stand_in_the_place_of_a_models_own() -> None:
    words = ("--epochs=1", "--set=clip=1", "--set=irm.weight=3", "--method=irm")
    added = add_settings(words, {"irm.weight": 9.0, "epochs": 2, "warmup": 0.1}, ["epochs", "set", "method"])
    assert set(added) == {"--epochs=2", "--set=clip=1", "--set=irm.weight=9.0", "--set=warmup=0.1", "--method=irm"}


def test_plain_training_gets_as_many_trials_with_the_same_draws(plan: Any, caplog: pytest.LogCaptureFixture) -> None:
    read = plan(TUNED.format("plain", "") + TUNED.format("dro", ", method = 'group-dro'"), 4, space="clip = [0, 1, 5]")
    tries = {name: [trial for trial in read.trials if trial.model == name] for name in ("plain", "dro")}
    assert len(tries["plain"]) == len(tries["dro"]) == 4
    clips = [[[w for w in trial.options if "clip" in w] for trial in tries[name]] for name in tries]
    assert clips[0] == clips[1]
    steps = [[word for word in trial.options if "group-dro.step-size" in word] for trial in tries["dro"]]
    assert steps[0] == []  # the model's own options are tried first
    assert all(steps[1:])
    assert {trial.seed for trial in read.trials} == {7}
    assert tries["dro"][2].search == Searched("tuned", "source-validation", 4, 3)
    finals = [trial for each in read.searches for trial in each.finals(0)]
    assert {trial.seed for trial in finals} == {1, 2}
    assert not any("--validation" in trial.options for trial in finals)
    assert not caplog.records
    plan(TUNED.format("dro", ", method = 'group-dro'"), 2, space="clip = [0, 1]")
    assert "'tuned'" in caplog.text


def test_a_search_is_in_the_record_and_not_in_the_key(plan: Any) -> None:
    (first, *_) = plan(OWN).trials
    assert json.loads(first.record)["search"] == ["tuned", "source-validation", 3, 1]
    assert Trial.from_facts(json.loads(first.record)).search == first.search
    (alone,) = [trial for trial in plan(OWN, 2).trials if trial.search.number == 1]
    assert alone.key == first.key  # the same training in a search of another size


def keep(runs: Path, trial: Trial, predictions: pl.DataFrame, name: str = PREDICTIONS) -> None:
    folder = runs / trial.folder
    folder.mkdir(parents=True, exist_ok=True)
    predictions.write_parquet(folder / name)
    write_card(Card(name="m", paradigm="other", data=trial.data), card_path(folder / name))
    (folder / RECORD).write_text(trial.record, encoding="utf-8")


@pytest.mark.parametrize(("rule", "best"), [("source-validation", 2), ("oracle", 1)])
def test_the_rule_decides_which_rows_choose(
    rule: str, best: int, plan: Any, synthetic: DatasetFolder, tmp_path: Path
) -> None:
    """Draw 2 is right on validation rows and wrong on the targets, draw 1 the other way round."""
    read = plan(OWN, rule=rule)
    (searched,) = read.searches
    names = synthetic.task("nli").labels
    for number, trial in enumerate(searched.tries):
        for split, name, right in (
            ("validation", "predictions.validation.parquet", number == 2),
            ("test", PREDICTIONS, number == 1),
        ):
            rows = pl.concat(
                [
                    synthetic.split("nli", domain, split)
                    for domain in (["harbour"] if split == "validation" else synthetic.task("nli").domains)
                ]
            )
            codes = rows["label"] if right else (rows["label"] + 1) % 3
            predicted = [names[code] for code in codes]
            keep(tmp_path, trial, rows.select("id").with_columns(prediction=pl.Series(predicted)), name)
    found = choose_settings(searched, StoredTrials(tmp_path), synthetic)
    assert found.chosen == best
    assert found.scores[best] == 1
    assert sorted(found.scores)[:2] == [0, 0]


def run_grid(place: Path, *more: str) -> str:
    words = [sys.executable, "-m", "shiftbench", "grid", "grid.toml", *more]
    ended = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stderr


def test_a_search_runs_from_the_grid_file_and_keeps_what_it_did_not_choose(
    plan: Any, synthetic: DatasetFolder, tmp_path: Path
) -> None:
    read = plan(OWN)
    run_grid(tmp_path)
    listed = json.loads((tmp_path / "results/nli/one.search.json").read_text(encoding="utf-8"))
    assert [each["trial"] for each in listed] == [1, 2, 3]
    assert sum(each["chosen"] for each in listed) == 1
    (chosen,) = [each for each in listed if each["chosen"]]
    assert chosen["score"] == max(each["score"] for each in listed)
    assert (chosen["rule"], chosen["seed"]) == ("source-validation", 7)
    card = read_card(tmp_path / "results/nli/one.card.yaml")
    assert (card.model_selection, card.tuning_trials) == ("source-validation", 3)
    frame = pl.read_parquet(tmp_path / "results/nli/one.parquet")
    assert set(frame["seed"]) == {1, 2}
    codes = {int(word.rpartition("=")[2]) for word in chosen["options"] if word.startswith("--label=")} or {0}
    assert frame["prediction"].unique().to_list() == [synthetic.task("nli").labels[codes.pop()]]
    before = (tmp_path / "results/nli/one.parquet").read_bytes()
    run_grid(tmp_path, "--collect")  # chooses again, and runs nothing
    assert (tmp_path / "results/nli/one.parquet").read_bytes() == before
    pack_board(tmp_path / "results")
    packed = [trial for trial in StoredTrials(tmp_path / "results").trials() if trial.search is not None]
    assert sorted(str(trial.search.number) for trial in packed if trial.search) == ["1", "2", "3", "None", "None"]
    assert len(by_entry([*read.trials, *packed])) == 1


def test_lists_of_values_are_models_of_their_own(plan: Any) -> None:
    model = TUNED.format("dro", ", method = 'irm', set = 'clip=0'").replace('search = "tuned"\n', "")
    read = plan(model + 'vary = { learning-rate = [1e-5, 3e-5], "irm.weight" = [1, 10] }\n')
    named = {trial.model: trial.options for trial in read.trials}
    assert list(named) == [
        f"dro-learning-rate-{rate}-weight-{weight}" for rate in ("1e-05", "3e-05") for weight in (1, 10)
    ]
    options = named["dro-learning-rate-3e-05-weight-10"]
    assert {"--learning-rate=3e-05", "--set=clip=0", "--set=irm.weight=10"} <= set(options)


def test_a_search_that_cannot_be_run_is_refused(plan: Any, wording: SnapshotAssertion) -> None:
    assert [
        refusal(InvalidInput, plan, OWN.replace("tuned", "tuned2")),
        refusal(InvalidInput, plan, OWN + "seeds = [7]\n"),
        refusal(InvalidInput, plan, OWN, n=1),
        refusal(InvalidInput, plan, OWN, rule="best"),
        *(
            refusal(InvalidInput, plan, OWN, space=space)
            for space in ("lable = [1]", "label = [1], 'irm.weight' = [1]", "label = { low = 2, high = 1 }")
        ),
    ] == wording


@pytest.mark.long
def test_tuned_methods_and_tuned_plain_training_with_as_many_trials(synthetic: DatasetFolder, tmp_path: Path) -> None:
    """Prints the comparison of GroupDRO and plain training, four trials each, chosen settings on three new seeds."""
    save_bert(tmp_path / "model", words_in(synthetic, "nli"))
    models = "".join(
        f"[[models]]\nname = '{name}'\nprogram = 'finetune-classifier'\nsearch = 'tuned'\n"
        f"options = {{ model = 'model', epochs = 4, learning-rate = 1e-3{more} }}\n"
        for name, more in (("plain", ""), ("dro", ", method = 'group-dro'"))
    )
    head = (
        f"data = '{synthetic.path}'\ntasks = ['nli']\nsources = ['harbour+kitchen+orchard']\nseeds = [1, 2, 3]\n"
        "[searches.tuned]\ntrials = 4\n"
        "space = { learning-rate = { low = 3e-4, high = 1e-2 }, weight-decay = [0, 0.1] }\n"
    )
    (tmp_path / "grid.toml").write_text(head + models, encoding="utf-8")
    run_grid(tmp_path)
    for name in ("plain", "dro"):
        for each in json.loads((tmp_path / f"results/nli/{name}.search.json").read_text(encoding="utf-8")):
            print(
                name,
                each["trial"],
                [w for w in each["options"] if "rate" in w or "set" in w],
                each["score"],
                each["chosen"],
            )
    words = ["compare", "results/nli/dro.parquet", "results/nli/plain.parquet", "--data", str(synthetic.path)]
    said = subprocess.run(
        [sys.executable, "-m", "shiftbench", *words], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    print(said.stdout)
    for name in ("plain", "dro"):
        card = read_card(tmp_path / f"results/nli/{name}.card.yaml")
        assert (card.model_selection, card.tuning_trials) == ("source-validation", 4)
