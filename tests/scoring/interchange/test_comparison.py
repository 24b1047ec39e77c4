"""Joining of logs by id and content; other differences are refused, or noted if allowed."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.scoring.interchange.comparison import JoinedLogs, Joining, join_logs, model_names, read_logs
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal
from tests.scoring.interchange.logs import (
    FIXTURES,
    digest,
    helm_state,
    helm_stats,
    inspect_header,
    inspect_sample,
    lm_eval_choice,
    write_eval,
    write_helm,
    write_lm_eval,
)

Lines = list[dict[str, Any]]
N = 12
AS_THEY_ARE = Joining()


def lines(scores: Iterable[float] = (1.0,) * N, **more: Any) -> Lines:
    choice = {"yes": -1.0, "no": -2.0}
    return [lm_eval_choice(place, choice, acc=score, **more) for place, score in enumerate(scores)]


def joined(folder: Path, logs: Mapping[str, Lines], how: Joining = AS_THEY_ARE) -> JoinedLogs:
    paths = [write_lm_eval(folder / name, content) for name, content in logs.items()]
    found = read_logs(paths, how)
    return join_logs(found, model_names(found), how)


def problems(folder: Path, a: Lines, b: Lines, how: Joining = AS_THEY_ARE) -> list[str]:
    with pytest.raises(InvalidInput) as error:
        joined(folder, {"a": a, "b": b}, how)
    return [str(problem) for problem in error.value.problems]


def test_items_are_joined_by_id_whatever_their_order(tmp_path: Path) -> None:
    scores = [float(place % 3 == 0) for place in range(N)]
    found = joined(tmp_path, {"a": lines(scores), "b": lines(np.ones(N))[::-1]}, Joining(by="genre"))
    by_id = {f"q{place}": score for place, score in enumerate(scores)}
    assert found.items.scores[0].tolist() == [by_id[name] for name in sorted(by_id)]
    assert list(found.items.names) == ["a", "b"]
    assert (found.metric, found.task) == ("acc", "quiz")
    assert list(found.items.domains) == ["prose", "verse"]
    of = {name: found.items.domains[code] for name, code in zip(sorted(by_id), found.items.domain_of, strict=True)}
    assert (of["q3"], of["q10"]) == ("prose", "verse")
    assert found.notes == ()


def test_a_field_may_be_the_cluster(tmp_path: Path) -> None:
    found = joined(tmp_path, {"a": lines(), "b": lines(np.zeros(N))}, Joining(cluster="genre"))
    assert np.bincount(found.items.clusters).tolist() == [6, 6]


def without_an_item(content: Lines) -> None:
    del content[4]


def other_content(content: Lines) -> None:
    content[4]["doc_hash"] = digest("another document")


def other_id(content: Lines) -> None:
    content[4]["doc"] = {**content[4]["doc"], "id": "q99"}


def no_score(content: Lines) -> None:
    content[4]["acc"] = None


def test_items_that_differ_are_refused_or_left_out_for_all(tmp_path: Path, wording: SnapshotAssertion) -> None:
    messages = {}
    for change in (without_an_item, other_content, other_id, no_score):
        other = lines(np.zeros(N))
        change(other)
        refused = problems(tmp_path, lines(), other)
        found = joined(tmp_path, {"a": lines(), "b": other}, Joining(shared_items=True))
        assert found.items.scores.tolist() == [[1.0] * 11, [0.0] * 11]
        messages[change.__name__] = {"refused": refused, "allowed": found.notes}
    assert messages == wording


def test_other_prompts_are_refused_or_named(tmp_path: Path, wording: SnapshotAssertion) -> None:
    other = lines(np.zeros(N), prompt_hash=digest("five examples first"))
    found = joined(tmp_path, {"a": lines(), "b": other}, Joining(any_prompts=True))
    assert {"refused": problems(tmp_path, lines(), other), "allowed": found.notes} == wording


def test_other_scorers_are_refused_with_all_that_differs(tmp_path: Path, wording: SnapshotAssertion) -> None:
    other = lines(np.zeros(N), metrics=["acc"], filter="strip", prompt_hash=digest("five examples first"))
    assert problems(tmp_path, lines(), other[1:]) == wording


def test_what_one_log_does_not_state_is_named(tmp_path: Path, wording: SnapshotAssertion) -> None:
    """Check a log with version and shots from its results file against a log without that file."""
    written = next((FIXTURES / "lm_eval").glob("samples_*.jsonl"))
    other = [json.loads(line) for line in written.read_text().splitlines()]
    for line in other:
        line["acc"] = 1.0 - line["acc"]
    alone = write_lm_eval(tmp_path / "other", other, task="shiftbench_synthetic_sa_lamps")
    logs = read_logs([written, alone], AS_THEY_ARE)
    found = join_logs(logs, model_names(logs), AS_THEY_ARE)
    assert found.items.scores.sum(axis=0).tolist() == [1.0] * len(other)
    assert found.notes == wording


def test_logs_that_do_not_fit_are_refused(tmp_path: Path, wording: SnapshotAssertion) -> None:
    other = [{**line, "doc_hash": digest(f"other {n}")} for n, line in enumerate(lines())]
    zeros = lines(np.zeros(N))
    half = [None] * 6 + [1.0] * 6
    ends = [
        [{**line, "acc": score} for line, score in zip(lines(), scores, strict=True)] for scores in (half, half[::-1])
    ]
    path, copy = write_lm_eval(tmp_path / "a", lines()), write_lm_eval(tmp_path / "copy" / "a", lines())
    logs = read_logs([path, copy], AS_THEY_ARE)
    messages = {
        "no shared item, whatever is allowed": problems(
            tmp_path, lines(), other, Joining(shared_items=True, any_prompts=True)
        ),
        "a score of all items": problems(tmp_path, lines(), zeros, Joining(metric="f1")),
        "an unknown score": problems(tmp_path, lines(), zeros, Joining(metric="bcc")),
        "no item scored in both": problems(tmp_path, *ends, Joining(shared_items=True)),
        "an item twice": problems(tmp_path, lines(), [*lines(), lines()[3]]),
        "a log twice": refusal(InvalidInput, join_logs, logs, model_names(logs), AS_THEY_ARE),
    }
    assert messages == wording
    same = read_logs([path, path], AS_THEY_ARE)
    with pytest.raises(InvalidInput):
        join_logs(same, model_names(same), AS_THEY_ARE)


def test_logs_that_are_cut_off_are_all_named(tmp_path: Path) -> None:
    paths = [write_lm_eval(tmp_path / name, lines()) for name in "ab"]
    for path in paths:
        path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InvalidInput) as error:
        read_logs(paths, AS_THEY_ARE)
    assert [problem.file for problem in error.value.problems] == [str(path) for path in paths]


def test_a_field_of_one_value_or_of_one_an_item_is_no_domain(tmp_path: Path, wording: SnapshotAssertion) -> None:
    messages = {}
    for values in (["one"] * N, [f"{place}" for place in range(N)]):
        logs = [
            [
                {**line, "doc": {**line["doc"], "topic": value}}
                for line, value in zip(lines(np.full(N, score)), values, strict=True)
            ]
            for score in (1.0, 0.0)
        ]
        messages[f"{len(set(values))} values"] = problems(tmp_path, *logs, Joining(by="topic"))
    messages["no such field"] = problems(tmp_path, *logs, Joining(by="topics"))[:1]
    assert messages == wording


def test_answers_to_an_item_are_averaged_over_epochs(tmp_path: Path, wording: SnapshotAssertion) -> None:
    def samples(right: Callable[[int, int], bool]) -> list[dict[str, Any]]:
        return [
            inspect_sample(place, "yes" if right(place, epoch) else "no", epoch=epoch)
            for place in range(8)
            for epoch in (1, 2)
        ]

    other = inspect_header()["eval"] | {"model": "openai/gpt-5"}
    paths = [
        write_eval(tmp_path / "a.eval", samples(lambda place, epoch: epoch == 1)),
        write_eval(tmp_path / "b.eval", samples(lambda place, epoch: place < 4), eval=other),
    ]
    logs = read_logs(paths, AS_THEY_ARE)
    found = join_logs(logs, model_names(logs), AS_THEY_ARE)
    assert found.items.scores.tolist() == [[0.5] * 8, [1.0] * 4 + [0.0] * 4]
    assert found.notes[-1] == wording


def test_models_that_judge_themselves_are_not_compared(tmp_path: Path, wording: SnapshotAssertion) -> None:
    graded = [{"name": "model_graded_qa", "options": {"model_role": "grader"}}]
    samples = [inspect_sample(place) for place in range(8)]
    paths = []
    for model in ("openai/gpt-4o", "openai/gpt-5"):
        about = inspect_header()["eval"] | {"model": model, "scorers": graded}
        paths.append(write_eval(tmp_path / f"{model[-1]}.eval", samples, eval=about))
    logs = read_logs(paths, AS_THEY_ARE)
    assert refusal(InvalidInput, join_logs, logs, model_names(logs), AS_THEY_ARE) == wording
    for path, model in zip(paths, ("openai/gpt-4o", "openai/gpt-5"), strict=True):
        roles = {"grader": {"model": "anthropic/judge", "config": {}}}
        about = inspect_header()["eval"] | {"model": model, "scorers": graded, "model_roles": roles}
        write_eval(path, samples, eval=about)
    logs = read_logs(paths, AS_THEY_ARE)
    assert logs[0].facts.scorer is not None
    assert logs[0].facts.scorer.endswith(" anthropic/judge)")
    assert join_logs(logs, model_names(logs), AS_THEY_ARE).items.scores.shape == (2, 8)


def test_fields_that_logs_tell_differently_make_no_domains(tmp_path: Path, wording: SnapshotAssertion) -> None:
    paths = []
    for model, genre in (("openai/gpt-4o", "verse"), ("openai/gpt-5", "prose")):
        about = inspect_header()["eval"] | {"model": model}
        samples = [inspect_sample(place, metadata={"genre": genre}) for place in range(8)]
        paths.append(write_eval(tmp_path / f"{model[-1]}.eval", samples, eval=about))
    logs = read_logs(paths, Joining(by="genre"))
    assert refusal(InvalidInput, join_logs, logs, model_names(logs), Joining(by="genre")) == wording


def test_runs_of_helm_are_joined_and_tools_are_not_mixed(tmp_path: Path, wording: SnapshotAssertion) -> None:
    runs = []
    for name, score in (("gpt2", 1.0), ("gpt3", 0.0)):
        states = [helm_state(place, "the cat") for place in range(8)]
        stats = [helm_stats(place, exact_match=score) for place in range(8)]
        runs.append(write_helm(tmp_path / name, states, stats, model=f"openai/{name}"))
    logs = read_logs(runs, AS_THEY_ARE)
    found = join_logs(logs, model_names(logs), Joining(metric="exact_match"))
    assert found.items.scores.mean(axis=1).tolist() == [1.0, 0.0]
    mixed = read_logs([runs[0], write_lm_eval(tmp_path / "lm", lines())], AS_THEY_ARE)
    assert refusal(InvalidInput, join_logs, mixed, model_names(mixed), AS_THEY_ARE) == wording
