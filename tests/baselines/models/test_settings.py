"""Settings of a model: what is typed, and what a kind of model does not read."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.models.loading import load_model
from shiftbench.baselines.models.settings import (
    HUB,
    TRANSFORMERS,
    ModelSettings,
    parse_model_args,
)
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import TaskKind
from tests.baselines.models.saved import save_classifier
from tests.command_line import run
from tests.refusals import refusal


def test_each_setting_is_read_by_its_name() -> None:
    typed = ["form=a=b, {text}", "may_abstain=Yes", "concurrency=1024", "revision=v1", "instruction="]
    found = parse_model_args(typed)
    assert found == ModelSettings(form="a=b, {text}", may_abstain=True, concurrency=1024, revision="v1", instruction="")
    assert parse_model_args([]) == ModelSettings()


def test_what_is_no_setting_is_refused(wording: SnapshotAssertion) -> None:
    typed = (
        "max_len=8", "max_length", "max_length=7", "max_length=64,revision=v1", "concurrency=0", "concurrency=1025",
        "trust_pickle=perhaps",
    )  # fmt: skip
    assert {each: refusal(InvalidInput, parse_model_args, [each]) for each in typed} == wording


def test_a_setting_twice_is_refused_and_python_is_held_to_the_range(wording: SnapshotAssertion) -> None:
    assert [
        refusal(InvalidInput, parse_model_args, ["form=a", "form=b"]),
        refusal(InvalidInput, ModelSettings, max_target=1),
    ] == wording


def test_a_kind_of_model_names_each_setting_that_it_does_not_read(tmp_path: Path, wording: SnapshotAssertion) -> None:
    ModelSettings(max_length=64, revision="v1").refuse_unread("judge", TRANSFORMERS, HUB)
    spec = save_classifier(tmp_path / "judge", "yes", "no")
    asked = {"kind": TaskKind.CLASSIFICATION, "inputs": ["text"], "labels": ["yes", "no"]}
    unread = ModelSettings(max_target=4, revision="v1", max_length=16)
    assert [
        refusal(InvalidInput, load_model, spec, **asked, settings=unread),
        refusal(InvalidInput, load_model, "json:dumps", **asked, settings=ModelSettings(concurrency=2)),
    ] == wording


@pytest.mark.parametrize("command", ["predict", "check"])
def test_former_options_say_the_setting_of_today(command: str) -> None:
    words = [command, "x.pkl"]
    more = ["--out", "p.parquet"] if command == "predict" else []
    done = run(*words, *more, "--data", "nowhere", "--trust-pickle", "--max-length", "7")
    assert "--model-arg trust_pickle=yes --model-arg max_length=7'" in done.stderr
    assert "error: --model-arg: max_length " in done.stderr
    assert done.returncode == 1
