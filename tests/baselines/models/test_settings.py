"""Settings of a model: what is typed, and what a kind of model does not read."""

from pathlib import Path

import pytest

from shiftbench.baselines.models.loading import load_model
from shiftbench.baselines.models.settings import (
    HUB,
    SETTINGS,
    TRANSFORMERS,
    ModelSettings,
    parse_model_args,
)
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import TaskKind
from tests.baselines.models.saved import save_classifier
from tests.command_line import run


def test_each_setting_is_read_by_its_name() -> None:
    typed = ["form=a=b, {text}", "may_abstain=Yes", "concurrency=1024", "revision=v1", "instruction="]
    found = parse_model_args(typed)
    assert found == ModelSettings(form="a=b, {text}", may_abstain=True, concurrency=1024, revision="v1", instruction="")
    assert parse_model_args([]) == ModelSettings()


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("max_len=8", f"models have no such setting; found 'max_len'; the settings are {', '.join(SETTINGS)}"),
        ("max_length", "this is not a setting; found 'max_length'; write it as NAME=VALUE"),
        ("max_length=7", "max_length is a whole number from 8; found '7'"),
        ("max_length=64,revision=v1", "max_length is a whole number from 8; found '64,revision=v1'"),
        ("concurrency=0", "concurrency is a whole number from 1 to 1,024; found '0'"),
        ("concurrency=1025", "concurrency is a whole number from 1 to 1,024; found '1025'"),
        ("trust_pickle=perhaps", "trust_pickle is yes or no; found 'perhaps'"),
    ],
)
def test_what_is_no_setting_is_refused(typed: str, words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_model_args([typed])
    assert words in str(refused.value)


def test_a_setting_twice_is_refused_and_python_is_held_to_the_range() -> None:
    with pytest.raises(InvalidInput, match="a setting is given twice; found 'form'"):
        parse_model_args(["form=a", "form=b"])
    with pytest.raises(InvalidInput, match="max_target is a whole number from 2; found '1'"):
        ModelSettings(max_target=1)


def test_a_kind_of_model_names_each_setting_that_it_does_not_read(tmp_path: Path) -> None:
    ModelSettings(max_length=64, revision="v1").refuse_unread("judge", TRANSFORMERS, HUB)
    spec = save_classifier(tmp_path / "judge", "yes", "no")
    asked = {"kind": TaskKind.CLASSIFICATION, "inputs": ["text"], "labels": ["yes", "no"]}
    with pytest.raises(InvalidInput) as refused:
        load_model(spec, **asked, settings=ModelSettings(max_target=4, revision="v1", max_length=16))  # type: ignore[arg-type]
    assert [problem.what for problem in refused.value.problems] == [
        "revision is for models on the Hub", "max_target is for models that write texts",
    ]  # fmt: skip
    with pytest.raises(InvalidInput, match="concurrency is for models on a server; found 'json:dumps'; leave it out"):
        load_model("json:dumps", **asked, settings=ModelSettings(concurrency=2))  # type: ignore[arg-type]


@pytest.mark.parametrize("command", ["predict", "check"])
def test_former_options_say_the_setting_of_today(command: str) -> None:
    words = [command, "x.pkl"]
    more = ["--out", "p.parquet"] if command == "predict" else []
    done = run(*words, *more, "--data", "nowhere", "--trust-pickle", "--max-length", "7")
    assert "--model-arg trust_pickle=yes --model-arg max_length=7'; the old name works until 0.4" in done.stderr
    assert "error: --model-arg: max_length is a whole number from 8; found '7'" in done.stderr
    assert done.returncode == 1
