import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.scoring.interchange.reader import read_log
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal
from tests.scoring.interchange.logs import DATE, FIXTURES, digest, lm_eval_choice, lm_eval_text, write_lm_eval

YES, NO = {"yes": -1.0, "no": -2.0}, {"yes": -3.0, "no": -0.5}


def test_choices_are_read_with_their_likelihoods(tmp_path: Path) -> None:
    log = read_log(write_lm_eval(tmp_path / "m", [lm_eval_choice(0, YES), lm_eval_choice(1, NO)]), fields=["genre"])

    assert log.samples.rows(named=True)[1] == {
        "id": "q1",
        "epoch": 1,
        "content_hash": digest("document 1"),
        "prompt_hash": digest("Q1:"),
        "answer": " no",
        "choices": [" yes", " no"],
        "log_likelihoods": [-3.0, -0.5],
        "document": '{"genre":"prose"}',
        "score.acc": 1.0,
    }
    assert (log.tool, log.task, log.model, log.metrics, log.version) == ("lm-eval", "quiz", "m", ("acc",), None)
    assert log.prompts_hash == digest(digest("Q0:") + digest("Q1:"))


def test_the_second_half_of_mutual_information_is_no_choice(tmp_path: Path) -> None:
    line = lm_eval_choice(0, YES | {"yes ": -0.1, "no ": -9.0}, metrics=["acc", "acc_mutual_info"], acc_mutual_info=0.0)
    assert read_log(write_lm_eval(tmp_path, [line])).samples["log_likelihoods"].to_list() == [[-1.0, -2.0]]


def test_repeats_are_epochs(tmp_path: Path) -> None:
    log = read_log(write_lm_eval(tmp_path, [lm_eval_text(0, "", filtered_resps=[["yes", "no"]])]))
    assert log.samples.select("id", "epoch", "answer").rows() == [("q0", 1, "yes"), ("q0", 2, "no")]
    assert log.samples["log_likelihoods"].to_list() == [None, None]


def test_one_filter_is_chosen_and_named(tmp_path: Path) -> None:
    lines = [lm_eval_text(place, text, name) for name, text in (("strict", "4"), ("loose", "x 4")) for place in (0, 1)]
    path = write_lm_eval(tmp_path, lines)

    first, named = read_log(path), read_log(path, filter_name="loose")
    assert (first.facts.filter, first.facts.filters) == ("strict", ("strict", "loose"))
    assert first.samples["answer"].to_list() == ["4", "4"]
    assert (named.facts.filter, named.samples["answer"].to_list()) == ("loose", ["x 4", "x 4"])
    with pytest.raises(InvalidInput, match=r"'lose'.*'loose'\?"):
        read_log(path, filter_name="lose")


def test_facts_come_from_the_results_file(tmp_path: Path) -> None:
    path = write_lm_eval(tmp_path, [lm_eval_choice(0, YES)])
    config = {"model": "vllm", "model_sha": "abc", "model_dtype": "torch.bfloat16", "batch_size": "auto", "limit": None}
    results = {"lm_eval_version": "0.4.13", "model_name": "org/m", "config": config, "versions": {"quiz": 2.0}}
    (tmp_path / f"results_{DATE}.json").write_text(json.dumps(results | {"n-shot": {"quiz": 5}}))

    log = read_log(path)
    facts = log.facts
    assert (log.version, log.model, facts.shots, facts.task_version) == ("0.4.13", "org/m", 5, "2.0")
    assert (facts.revision, facts.dtype, facts.batch_size, facts.engine) == ("abc", "bfloat16", "auto", "vllm")

    (tmp_path / f"results_{DATE}.json").write_text(json.dumps(results | {"lm_eval_version": "1.0.0"}))
    with pytest.raises(InvalidInput, match=r"'1\.0\.0'"):
        read_log(path)


@pytest.mark.parametrize("ids", [("a", "a"), ("a", None), ("a", ["b"])])
def test_items_without_ids_of_their_own_are_named_by_their_place(tmp_path: Path, ids: tuple[object, object]) -> None:
    lines = [lm_eval_choice(place, YES, doc={"id": own}) for place, own in enumerate(ids)]
    assert read_log(write_lm_eval(tmp_path, lines)).samples["id"].to_list() == ["0", "1"]


def test_what_python_writes_as_nan_is_nothing(tmp_path: Path) -> None:
    line = lm_eval_choice(0, YES, acc=float("nan"), doc={"id": "a", "weight": float("nan")})
    second = lm_eval_choice(1, YES)
    samples = read_log(write_lm_eval(tmp_path, [line, second])).samples
    assert samples.select("id", "score.acc").rows() == [("a", None), ("q1", 1.0)]


def test_a_log_that_is_not_as_written_is_refused(tmp_path: Path, wording: SnapshotAssertion) -> None:
    path = write_lm_eval(tmp_path, [lm_eval_choice(0, YES), lm_eval_choice(1, YES)])
    text = path.read_text()
    messages = {}
    for name, changed in {
        "cut off": text[:-40],
        "an item twice": text + text.splitlines()[1] + "\n",
        "empty": "",
        "a list": "[1]\n",
        "a key missing": text.replace('"doc_hash"', '"hash"'),
        "a likelihood in words": text.replace('"-2.0"', '"soon"'),
        "a response missing": text.replace(', ["-2.0", "False"]], "filter"', '], "filter"'),
        "an id in words": text.replace('"doc_id": 1', '"doc_id": "b"'),
        "a field missing": text.replace('"genre"', '"kind"'),
        "metrics that are no list": text.replace('["acc", "f1"]', "3"),
        "arguments without text": text.replace('{"gen_args_0"', '{}, "b": {"gen_args_0"'),
    }.items():
        path.write_text(changed)
        messages[name] = refusal(InvalidInput, read_log, path, fields=["genre"])
    assert messages == wording


def test_other_files_are_none(tmp_path: Path, wording: SnapshotAssertion) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    log = write_lm_eval(tmp_path, [lm_eval_choice(0, YES)])
    assert [
        refusal(InvalidInput, read_log, tmp_path / "notes.txt"),
        refusal(InvalidInput, read_log, tmp_path / "absent.jsonl"),
        refusal(InvalidInput, read_log, log, tool="inspect"),
    ] == wording


def test_a_log_that_lm_eval_wrote() -> None:
    (path,) = (FIXTURES / "lm_eval").glob("samples_*.jsonl")
    log = read_log(path, fields=["domain"])
    assert (log.version, log.facts.engine, log.facts.shots, log.facts.scorer) == ("0.4.13", "hf", 0, "acc, f1")
    assert (len(log.samples), log.metrics) == (20, ("acc",))
    assert log.samples["choices"].unique().to_list() == [[" negative", " positive"]]
    assert log.samples["document"].unique().to_list() == ['{"domain":"lamps"}']
    assert log.samples["id"].str.starts_with("synthetic/sa/lamps/test/").all()
