"""Logs of other tools as prediction files: ids, answers, seeds, card; and what is refused with nothing written."""

import json
from pathlib import Path

import polars as pl
import pytest
from scipy.special import softmax
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.building.synthetic import build_synthetic
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli.logs import _warn_of_partial_domains
from shiftbench.scoring.interchange.predictions import public_model_name
from shiftbench.validation.cards import read_card
from shiftbench.validation.notices import DataWarning
from shiftbench.validation.vocabulary import UNPARSED
from tests.command_line import run
from tests.scoring.interchange.logs import (
    DATE,
    FIXTURES,
    helm_state,
    helm_stats,
    inspect_sample,
    lm_eval_choice,
    lm_eval_text,
    write_eval,
    write_helm,
    write_lm_eval,
)
from tests.shiftbench.test_inputs import few_folder

__all__ = ["few_folder"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    """The rows that the tools were run on."""
    out = tmp_path_factory.mktemp("data") / "synthetic"
    build_synthetic(out, n_train=60, n_test=20)
    return DatasetFolder.open(out)


@pytest.fixture
def ids(folder: DatasetFolder) -> list[str]:
    return folder.split("sa", "lamps", "test")["id"].to_list()


def recorded(name: str, ending: str) -> Path:
    (path,) = (FIXTURES / name).glob(f"*{ending}")
    return path


def imported(tool: str, log: Path, folder: DatasetFolder, out: Path, *more: object) -> pl.DataFrame:
    done = run("logs", "import", tool, log, "--data", folder.path, "--out", out, *more)
    assert done.returncode == 0, done.stderr
    scored = run("score", out, "--data", folder.path, "--json", out.with_suffix(".json"))
    assert scored.returncode == 0, scored.stderr
    return pl.read_parquet(out)


def refused(tool: str, logs: list[Path], folder: DatasetFolder, out: Path, *more: object, code: int = 1) -> str:
    """Return the one error, after checking that nothing was written."""
    done = run("logs", "import", tool, *logs, "--data", folder.path, "--out", out, *more)
    assert done.returncode == code, done.stderr
    assert not out.exists()
    assert not out.with_name(f"{out.stem}.card.yaml").exists()
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    return line


def test_likelihoods_of_lm_eval(folder: DatasetFolder, tmp_path: Path) -> None:
    log = recorded("lm_eval", ".jsonl")
    frame = imported("lm-eval", log, folder, tmp_path / "p.parquet")

    lines = [json.loads(line) for line in log.read_text().splitlines()]
    scores = [[float(value) for value, _ in line["filtered_resps"]] for line in lines]
    shares = softmax(scores, axis=1)
    assert frame["id"].to_list() == [line["doc"]["id"] for line in lines]
    assert frame["prediction"].to_list() == [("negative", "positive")[row.argmax()] for row in shares]
    assert frame["confidence"].to_list() == pytest.approx(shares.max(axis=1).tolist())
    assert frame["probabilities"].to_list()[0] == pytest.approx(shares[0].tolist())
    right = [line["acc"] for line in lines]
    gold = folder.split("sa", "lamps", "test").join(frame, on="id")
    labels = pl.Series(["negative", "positive"])
    assert (labels.gather(gold["label"]) == gold["prediction"]).cast(float).to_list() == right
    card = read_card(tmp_path / "p.card.yaml")
    assert (card.paradigm, card.shots, card.parameters, card.data) == ("zero-shot", 0, 18720, folder.content_hash)
    assert card.run["engine"] == "hf"
    assert len(card.run["prompts"]) == 12


def test_a_model_is_named_without_the_folders_of_who_ran_it() -> None:
    names = {"ORG/model": "ORG/model", "/home/me/llama": "llama", "./out/llama": "llama", "~/llama": "llama"}
    assert {name: public_model_name(name) for name in names} == names


def test_domains_that_are_not_there_whole_are_named(folder: DatasetFolder) -> None:
    n = folder.task("sa").domains["lamps"].splits["test"].rows
    with pytest.warns(DataWarning, match=f"3 of {n} "):
        _warn_of_partial_domains(set(folder.split("sa", "lamps", "test")["id"][:3]), set(folder.test("sa")["id"]))


def test_what_a_chat_wrote_to_lm_eval(folder: DatasetFolder, tmp_path: Path) -> None:
    frame = imported("lm-eval", recorded("lm_eval_chat", ".jsonl"), folder, tmp_path / "p.parquet")
    assert frame.columns == ["source", "id", "prediction", "seed"]
    assert set(frame["prediction"]) == {"negative", "positive", UNPARSED}


def test_epochs_of_inspect_are_seeds(folder: DatasetFolder, tmp_path: Path) -> None:
    frame = imported("inspect", recorded("inspect", ".eval"), folder, tmp_path / "p.parquet")
    chat = imported("lm-eval", recorded("lm_eval_chat", ".jsonl"), folder, tmp_path / "chat.parquet")
    for seed in (0, 1):  # the same server answered both tools
        assert frame.filter(seed=seed).sort("id")["prediction"].equals(chat.sort("id")["prediction"])
    assert len(frame) == 40
    assert read_card(tmp_path / "p.card.yaml").tokens == 480


def test_a_run_folder_of_helm(folder: DatasetFolder, ids: list[str], tmp_path: Path) -> None:
    states, stats = [], []
    for place, own in enumerate(ids):
        states.append(helm_state(place, " Positive" if place % 2 else "none of them", num_train_instances=0))
        states[-1]["instance"]["extra_data"] = {"id": own}
        stats.append(helm_stats(place, exact_match=0.0))
    log = write_helm(tmp_path / "run", states, stats)
    frame = imported("helm", log, folder, tmp_path / "p.parquet")
    assert dict(zip(frame["id"], frame["prediction"], strict=True)) == {
        own: "positive" if place % 2 else UNPARSED for place, own in enumerate(ids)
    }


def test_choices_that_helm_put(folder: DatasetFolder, tmp_path: Path) -> None:
    """HELM's own run: letters are read as the labels that they stand for, all else is unparsed."""
    log = FIXTURES / "helm" / "joint"
    frame = imported("helm", log, folder, tmp_path / "p.parquet")
    states = json.loads((log / "scenario_state.json").read_text())["request_states"]
    letters = {"A": "negative", "B": "positive"}
    assert dict(zip(frame["id"], frame["prediction"], strict=True)) == {
        state["instance"]["extra_data"]["id"]: letters.get(state["result"]["completions"][0]["text"].strip(), UNPARSED)
        for state in states
    }
    card = read_card(tmp_path / "p.card.yaml")
    assert (card.base_model, card.shots, card.tokens) == ("invented/scripted", 0, 3075)


def test_answers_are_read_by_our_rules(folder: DatasetFolder, ids: list[str], tmp_path: Path) -> None:
    texts = ["<think>negative?</think> Positive", "NEGATIVE!", "neither", "[invalid]"]
    log = write_lm_eval(tmp_path, [lm_eval_text(n, text, doc={"id": ids[n]}) for n, text in enumerate(texts)])
    run("logs", "import", "lm-eval", log, "--data", folder.path, "--out", tmp_path / "p.csv")
    assert pl.read_csv(tmp_path / "p.csv")["prediction"].to_list() == ["positive", "negative", UNPARSED, UNPARSED]


def test_the_subset_of_a_log_is_found_from_its_ids(few_folder: DatasetFolder, tmp_path: Path) -> None:
    rows, label = few_folder.test("nli", "fewshot"), few_folder.task("nli").labels[0]
    lines = [lm_eval_text(place, label, doc={"id": own}) for place, own in enumerate(rows["id"])]
    words = ("logs", "import", "lm-eval", write_lm_eval(tmp_path, lines), "--data", few_folder.path)
    for out, more in (("found.csv", ()), ("stated.csv", ("--subset", "fewshot"))):
        done = run(*words, "--out", tmp_path / out, *more)
        assert done.returncode == 0, done.stderr
        assert read_card(tmp_path / out.replace("csv", "card.yaml")).subset == "fewshot"
        assert ("--subset:" in done.stderr) == bool(more)


def test_demonstrations_need_a_source(
    folder: DatasetFolder, ids: list[str], tmp_path: Path, wording: SnapshotAssertion
) -> None:
    log = write_lm_eval(tmp_path, [lm_eval_text(0, "positive", doc={"id": ids[0]})])
    results = {"lm_eval_version": "0.4.13", "model_name": "org/m", "config": {}, "n-shot": {"quiz": 4}}
    (tmp_path / f"results_{DATE}.json").write_text(json.dumps(results))
    out = tmp_path / "p.parquet"
    assert {more: refused("lm-eval", [log], folder, out, *more) for more in ((), ("--source", "tent"))} == wording
    run("logs", "import", "lm-eval", log, "--data", folder.path, "--out", out, "--source", "tents", "--name", "Mine")
    card = read_card(tmp_path / "p.card.yaml")
    assert (card.name, card.base_model, card.paradigm, card.shots) == ("Mine", "org/m", "few-shot", 4)
    assert pl.read_parquet(out)["source"].to_list() == ["tents"]


def test_choices_with_other_names_are_mapped(folder: DatasetFolder, ids: list[str], tmp_path: Path) -> None:
    choices = {"good": -0.1, "bad": -3.0}
    log = write_lm_eval(tmp_path, [lm_eval_choice(0, choices, doc={"id": ids[0]})])
    out = tmp_path / "p.parquet"
    assert "good" in refused("lm-eval", [log], folder, out)
    mapped = ("--label-map", "good=positive", "--label-map", "bad=negative")
    run("logs", "import", "lm-eval", log, "--data", folder.path, "--out", out, *mapped)
    frame = pl.read_parquet(out)
    assert frame["prediction"].to_list() == ["positive"]
    assert frame["probabilities"].to_list()[0] == pytest.approx(softmax([-3.0, -0.1]).tolist())


def test_the_filter_that_is_read_is_named(folder: DatasetFolder, ids: list[str], tmp_path: Path) -> None:
    lines = [lm_eval_text(0, text, name, doc={"id": ids[0]}) for name, text in (("strict", "?"), ("loose", "positive"))]
    log, out = write_lm_eval(tmp_path, lines), tmp_path / "p.parquet"
    done = run("logs", "import", "lm-eval", log, "--data", folder.path, "--out", out)
    assert "'strict' (not read: 'loose')" in done.stderr
    assert read_card(tmp_path / "p.card.yaml").run["filter"] == "strict"
    run("logs", "import", "lm-eval", log, "--data", folder.path, "--out", out, "--filter", "loose")
    assert pl.read_parquet(out)["prediction"].to_list() == ["positive"]


def test_logs_that_do_not_fit_are_refused(
    folder: DatasetFolder, ids: list[str], tmp_path: Path, wording: SnapshotAssertion
) -> None:
    out, other = tmp_path / "p.parquet", ids[0][:-12] + "0123456789ab"

    def log_of(name: str, *own: str) -> Path:
        return write_lm_eval(tmp_path / name, [lm_eval_text(n, "x", doc={"id": each}) for n, each in enumerate(own)])

    line = lm_eval_text(0, "positive", doc={"id": ids[0]})
    first, second = (write_lm_eval(tmp_path / "m", [line], task) for task in ("one", "two"))
    log = write_eval(tmp_path / "log.eval", [inspect_sample(1, id=ids[0])])
    said = {
        "no ids": refused("lm-eval", [log_of("a", "q0")], folder, out),
        "another row": refused("lm-eval", [log_of("b", ids[0], other)], folder, out),
        "another dataset": refused("lm-eval", [log_of("c", ids[0].replace("/sa/", "/qa/"))], folder, out),
        "an item in two logs": refused("lm-eval", [first, second], folder, out),
        "two models": refused("lm-eval", [first, write_lm_eval(tmp_path / "other", [line])], folder, out),
        "a log of inspect": refused("lm-eval", [log], folder, out),
        "no such tool": refused("inspekt", [log], folder, out, code=2),
        "no filters": refused("inspect", [log], folder, out, "--filter", "none"),
    }
    log.write_bytes(log.read_bytes()[:-60])
    assert {**said, "truncated": refused("inspect", [log], folder, out)} == wording
