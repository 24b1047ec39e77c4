"""Run folders of HELM: some written by HELM 0.5.16 (``fixtures/helm``), others built from its code."""

import json
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.scoring.interchange.comparison import Joining, compare_logs
from shiftbench.scoring.interchange.reader import read_log
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal
from tests.scoring.interchange.logs import FIXTURES, completion, helm_state, helm_stats, write_helm

RUNS = FIXTURES / "helm"


def states_of(run: str) -> list[dict[str, Any]]:
    return list(json.loads((RUNS / run / "scenario_state.json").read_text())["request_states"])


def test_helms_own_choices_are_read() -> None:
    log = read_log(RUNS / "joint", fields=["domain"])
    states = states_of("joint")
    texts = [state["result"]["completions"][0]["text"] for state in states]
    assert {" B", " (A) it is", ""} <= set(texts)
    assert log.samples["answer"].to_list() == [state["output_mapping"].get(text.strip())
                                               for state, text in zip(states, texts, strict=True)]  # fmt: skip
    assert log.samples["id"].to_list() == [state["instance"]["extra_data"]["id"] for state in states]
    assert log.samples["document"].unique().to_list() == ['{"domain":"lamps"}']
    # Scores in HELM's order, without its counts, times and stop reasons.
    assert log.metrics[:2] == ("exact_match", "exact_match@5")
    assert not [name for name in log.metrics if name.startswith(("num_", "finish_", "inference_", "max_prob"))]
    correct = [
        next(each["output"]["text"] for each in state["instance"]["references"] if "correct" in each["tags"])
        for state in states
    ]
    right = [float(answer == gold) for answer, gold in zip(log.samples["answer"], correct, strict=True)]
    assert log.samples["score.exact_match"].to_list() == right
    assert (log.task, log.model, log.facts.shots, log.facts.engine) == ("shifted", "invented/scripted", 0, "invented")


def test_helms_own_likelihoods_are_read() -> None:
    log = read_log(RUNS / "original_a")
    for state, likelihoods in zip(states_of("original_a")[::2], log.samples["log_likelihoods"], strict=True):
        tokens = state["result"]["completions"][0]["tokens"][-len(" negative") :]
        assert "".join(token["text"] for token in tokens) == " negative"  # one token a letter, in this model
        assert likelihoods[0] == pytest.approx(sum(token["logprob"] for token in tokens))
    # HELM divides by the number of tokens before it chooses.
    stats = json.loads((RUNS / "original_a" / "per_instance_stats.json").read_text())
    chosen = [stat["mean"] for each in stats for stat in each["stats"] if stat["name"]["name"] == "predicted_index"]
    assert log.samples["answer"].to_list() == [("negative", "positive")[int(place)] for place in chosen]
    assert log.facts.tokens == sum(
        stat["sum"] for each in stats for stat in each["stats"] if stat["name"]["name"] == "num_prompt_tokens"
    )


def test_helms_own_runs_are_compared_by_a_score() -> None:
    logs = [read_log(RUNS / name) for name in ("original_a", "original_b")]
    compared = compare_logs(logs, Joining())
    assert (compared.report.metric, compared.report.comparison.n_items) == ("exact_match", 4)
    means = [log.samples["score.exact_match"].mean() for log in logs]
    scores = {each.name: each.score.value for each in compared.report.comparison.models}
    assert scores == {log.model: mean for log, mean in zip(logs, means, strict=True)}


def test_what_was_generated_is_read(tmp_path: Path) -> None:
    states = [helm_state(0, " the cat"), helm_state(1, " a dog"), helm_state(1, "x", result={"success": False})]
    states[2]["train_trial_index"] = 1
    stats = [helm_stats(0, exact_match=1.0, num_prompt_tokens=9), helm_stats(0, num_output_tokens=2)]
    stats += [helm_stats(1, exact_match=0.0, num_prompt_tokens=9, num_output_tokens=2)]
    stats += [{**helm_stats(1, exact_match=0.0), "train_trial_index": 1}]
    log = read_log(write_helm(tmp_path / "run", states, stats), fields=["split"])

    rows = log.samples.select("id", "epoch", "answer", "score.exact_match", "document").rows()
    split = '{"split":"test"}'
    assert rows == [("id0", 1, " the cat", 1.0, split), ("id1", 1, " a dog", 0.0, split), ("id1", 2, None, 0.0, split)]
    assert log.samples["content_hash"].n_unique() == 2
    assert (log.tool, log.task, log.model, log.version) == ("helm", "quiz", "openai/gpt2", None)
    facts = log.facts
    assert (facts.shots, facts.engine, facts.tokens, facts.scorer) == (2, "huggingface", 22, "BasicGenerationMetric")


def test_letters_stand_for_references(tmp_path: Path) -> None:
    mapping = {"A": "the cat", "B": "a dog"}
    states = [helm_state(place, text, output_mapping=mapping) for place, text in enumerate((" B", "(A) it is", "C"))]
    stats = [helm_stats(place) for place in range(3)]
    plain = read_log(write_helm(tmp_path / "plain", states, stats, method="multiple_choice_joint"))
    assert plain.samples["answer"].to_list() == ["a dog", None, None]
    pattern = read_log(write_helm(tmp_path / "pattern", states, stats, output_mapping_pattern=r"\(([AB])\)"))
    assert pattern.samples["answer"].to_list() == [None, "the cat", None]


def test_a_pattern_that_could_be_searched_for_without_end(tmp_path: Path) -> None:
    states = [
        helm_state(0, result={"success": True, "completions": [completion("a" * 60 + "!")]}, output_mapping={"A": "x"})
    ]
    endless = read_log(write_helm(tmp_path / "endless", states, [helm_stats(0)], output_mapping_pattern="(a+)+$"))
    assert endless.samples["answer"].to_list() == [None]
    for name, pattern in (("cut", "("), ("behind", "(?<=a)b"), ("large", "(a{1000}){1000}")):
        with pytest.raises(InvalidInput, match="'output_mapping_pattern'"):
            read_log(write_helm(tmp_path / name, states, [helm_stats(0)], output_mapping_pattern=pattern))


def separate(tmp_path: Path, **scores: float) -> Path:
    states = []
    for reference, tokens in enumerate([((" the", -1.0), (" cat", -2.0)), ((" a", -0.5), (" dog", -1.0))]):
        result = {"success": True, "completions": [completion("", ("Q0", -9.0), *tokens)]}
        states.append(helm_state(0, reference_index=reference, request_mode="original", result=result))
    return write_helm(tmp_path / "run", states, [helm_stats(0, **scores)], method="multiple_choice_separate_original")


def test_references_that_were_scored_have_likelihoods(tmp_path: Path) -> None:
    log = read_log(separate(tmp_path))
    assert log.samples.select("choices", "log_likelihoods", "answer").row(0) == (
        ["the cat", "a dog"],
        [-3.0, -1.5],
        "a dog",
    )


def test_the_choice_that_helm_counted_is_the_answer(tmp_path: Path) -> None:
    assert read_log(separate(tmp_path, predicted_index=0.0)).samples["answer"].to_list() == ["the cat"]


def test_perturbed_copies_are_other_items(tmp_path: Path) -> None:
    copy = helm_state(0, "no")
    copy["instance"]["perturbation"] = {"name": "typos"}
    stats = [helm_stats(0, exact_match=1.0), {**helm_stats(0, exact_match=0.0), "perturbation": {"name": "typos"}}]
    log = read_log(write_helm(tmp_path / "run", [helm_state(0, "yes"), copy], stats))
    assert log.samples.select("answer", "score.exact_match").rows() == [("yes", 1.0)]


def test_folders_that_are_not_whole_are_refused(tmp_path: Path, wording: SnapshotAssertion) -> None:
    path = write_helm(tmp_path / "run", [helm_state(0, "yes"), helm_state(0, "yes")], [helm_stats(0)])
    messages = [refusal(InvalidInput, read_log, path)]
    for name, content in (
        ("per_instance_stats", "[]"),
        ("per_instance_stats", "[{"),
        ("scenario_state", '{"request_states": []}'),
        ("scenario_state", ""),
    ):
        (path / f"{name}.json").write_text(content)
        messages.append(refusal(InvalidInput, read_log, path))
    (path / "per_instance_stats.json").unlink()
    spec = {"method": "", "model": "m"}
    (path / "scenario_state.json").write_text(json.dumps({"adapter_spec": spec, "request_states": []}))
    assert [*messages, refusal(InvalidInput, read_log, path)] == wording
