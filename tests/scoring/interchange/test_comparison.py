"""Joining of logs by id and content; other differences are refused, or noted if allowed."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftbench.scoring.interchange.comparison import JoinedLogs, Joining, join_logs, model_names, read_logs
from shiftbench.validation.report import InvalidInput
from tests import wording
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


def without(place: int) -> Callable[[Lines], None]:
    def change(content: Lines) -> None:
        del content[place]

    return change


def other_content(content: Lines) -> None:
    content[4]["doc_hash"] = digest("another document")


def other_id(content: Lines) -> None:
    content[4]["doc"] = {**content[4]["doc"], "id": "q99"}


def no_score(content: Lines) -> None:
    content[4]["acc"] = None


SHARED = "--allow items compares on the 11 items that all have"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without(4), f"the logs are not over the same items; found 1 item only in a, as 'q4'; {SHARED}"),
        (other_content, f"found 1 item with the same id but other content, as 'q4'; {SHARED}"),
        (other_id, "found 1 item only in a, as 'q4'; 1 item only in b, as 'q99'"),
        (no_score, "b: items have no score 'acc'; found 1 of 12, as 'q4'"),
    ],
)
def test_items_that_differ_are_refused_or_left_out_for_all(
    tmp_path: Path, change: Callable[[Lines], None], words: str
) -> None:
    other = lines(np.zeros(N))
    change(other)
    (problem,) = problems(tmp_path, lines(), other)
    assert words in problem
    found = joined(tmp_path, {"a": lines(), "b": other}, Joining(shared_items=True))
    assert found.items.scores.tolist() == [[1.0] * 11, [0.0] * 11]
    assert found.notes[0].startswith("Compared on the 11 items scored in all logs, out of 12 of a, 1")


def test_other_prompts_are_refused_or_named(tmp_path: Path) -> None:
    other = lines(np.zeros(N), prompt_hash=digest("five examples first"))
    (problem,) = problems(tmp_path, lines(), other)
    assert "a and b: the prompts differ; found 12 of 12 items" in problem
    found = joined(tmp_path, {"a": lines(), "b": other}, Joining(any_prompts=True))
    assert found.notes[0].startswith("The prompts of 12 of 12 items differ")


def test_other_scorers_are_refused_with_all_that_differs(tmp_path: Path) -> None:
    other = lines(np.zeros(N), metrics=["acc"], filter="strip", prompt_hash=digest("five examples first"))
    found = problems(tmp_path, lines(), other[1:])
    assert len(found) == 4
    assert "the logs have different scorers; found a: acc, f1; b: acc" in found[0]
    assert "the logs have different filters of answers; found a: none; b: strip" in found[1]
    assert "1 item only in a" in found[2]
    assert "the prompts differ; found 11 of 11 items" in found[3]


def test_what_one_log_does_not_state_is_named(tmp_path: Path) -> None:
    """Check a log with version and shots from its results file against a log without that file."""
    written = next((FIXTURES / "lm_eval").glob("samples_*.jsonl"))
    other = [json.loads(line) for line in written.read_text().splitlines()]
    for line in other:
        line["acc"] = 1.0 - line["acc"]
    alone = write_lm_eval(tmp_path / "other", other, task="shiftbench_synthetic_sa_lamps")
    logs = read_logs([written, alone], AS_THEY_ARE)
    found = join_logs(logs, model_names(logs), AS_THEY_ARE)
    assert found.items.scores.sum(axis=0).tolist() == [1.0] * len(other)
    assert found.notes == (
        "The logs of other do not state their versions of the task, so it is unknown whether they are the same",
    )


def test_logs_without_a_shared_item_are_refused_whatever_is_allowed(tmp_path: Path) -> None:
    other = [{**line, "doc_hash": digest(f"other {n}")} for n, line in enumerate(lines())]
    (problem,) = problems(tmp_path, lines(), other, Joining(shared_items=True, any_prompts=True))
    assert "12 items with the same id but other content" in problem
    assert "--allow items" not in problem


def test_scores_of_no_single_item_are_refused(tmp_path: Path) -> None:
    for metric in ("f1", "bcc"):
        (problem,) = problems(tmp_path, lines(), lines(np.zeros(N)), Joining(metric=metric))
        assert f"the log has no such per-item score; found '{metric}'" in problem
    half = [None] * 6 + [1.0] * 6
    ends = [
        [{**line, "acc": score} for line, score in zip(lines(), scores, strict=True)] for scores in (half, half[::-1])
    ]
    (problem,) = problems(tmp_path, *ends, Joining(shared_items=True))
    assert "a and b: no item has a score in all logs" in problem


def test_one_log_is_not_compared_with_itself(tmp_path: Path) -> None:
    path = write_lm_eval(tmp_path / "a", lines())
    copy = write_lm_eval(tmp_path / "copy" / "a", lines())
    for other in (path, copy):
        logs = read_logs([path, other], AS_THEY_ARE)
        with pytest.raises(InvalidInput, match="a log is given twice"):
            join_logs(logs, model_names(logs), AS_THEY_ARE)


def test_an_item_that_stands_twice_is_refused(tmp_path: Path) -> None:
    twice = [*lines(), lines()[3]]
    (problem,) = problems(tmp_path, lines(), twice)
    assert f"{wording.ITEM_OCCURS_TWICE_LOG}; found '3', epoch 1" in problem


def test_logs_that_are_cut_off_are_all_named(tmp_path: Path) -> None:
    paths = [write_lm_eval(tmp_path / name, lines()) for name in "ab"]
    for path in paths:
        path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InvalidInput) as error:
        read_logs(paths, AS_THEY_ARE)
    assert [problem.file for problem in error.value.problems] == [str(path) for path in paths]
    assert f"the log is {wording.TRUNCATED_OR_WAS_CHANGED}" in str(error.value)


@pytest.mark.parametrize("values", [["one"] * N, [f"{place}" for place in range(N)]])
def test_a_field_of_one_value_or_of_one_an_item_is_no_domain(tmp_path: Path, values: list[str]) -> None:
    logs = {}
    for name in "ab":
        logs[name] = [
            {**line, "doc": {**line["doc"], "topic": value}}
            for line, value in zip(lines(np.full(N, float(name == "a"))), values, strict=True)
        ]
    (problem,) = problems(tmp_path, *logs.values(), Joining(by="topic"))
    assert "--by topic: this field cannot be used for domains" in problem
    (problem, _) = problems(tmp_path, *logs.values(), Joining(by="topics"))
    assert "an item has no such field; found 'topics'; did you mean 'topic'?" in problem


def test_answers_to_an_item_are_averaged_over_epochs(tmp_path: Path) -> None:
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
    assert "means over the responses to an item: 2 of openai/gpt-4o, 2 of openai/gpt-5" in found.notes[-1]


def test_models_that_judge_themselves_are_not_compared(tmp_path: Path) -> None:
    graded = [{"name": "model_graded_qa", "options": {"model_role": "grader"}}]
    samples = [inspect_sample(place) for place in range(8)]
    paths = []
    for model in ("openai/gpt-4o", "openai/gpt-5"):
        about = inspect_header()["eval"] | {"model": model, "scorers": graded}
        paths.append(write_eval(tmp_path / f"{model[-1]}.eval", samples, eval=about))
    logs = read_logs(paths, AS_THEY_ARE)
    with pytest.raises(InvalidInput, match=r"different scorers; .*judged by openai/gpt-4o\).*judged by openai/gpt-5\)"):
        join_logs(logs, model_names(logs), AS_THEY_ARE)
    for path, model in zip(paths, ("openai/gpt-4o", "openai/gpt-5"), strict=True):
        roles = {"grader": {"model": "anthropic/judge", "config": {}}}
        about = inspect_header()["eval"] | {"model": model, "scorers": graded, "model_roles": roles}
        write_eval(path, samples, eval=about)
    logs = read_logs(paths, AS_THEY_ARE)
    assert logs[0].facts.scorer is not None
    assert logs[0].facts.scorer.endswith("judged by anthropic/judge)")
    assert join_logs(logs, model_names(logs), AS_THEY_ARE).items.scores.shape == (2, 8)


def test_fields_that_logs_tell_differently_make_no_domains(tmp_path: Path) -> None:
    paths = []
    for model, genre in (("openai/gpt-4o", "verse"), ("openai/gpt-5", "prose")):
        about = inspect_header()["eval"] | {"model": model}
        samples = [inspect_sample(place, metadata={"genre": genre}) for place in range(8)]
        paths.append(write_eval(tmp_path / f"{model[-1]}.eval", samples, eval=about))
    logs = read_logs(paths, Joining(by="genre"))
    with pytest.raises(InvalidInput, match="different values of 'genre' for the same items; found 8 of 8 items"):
        join_logs(logs, model_names(logs), Joining(by="genre"))


def test_runs_of_helm_are_joined_and_tools_are_not_mixed(tmp_path: Path) -> None:
    runs = []
    for name, score in (("gpt2", 1.0), ("gpt3", 0.0)):
        states = [helm_state(place, "the cat") for place in range(8)]
        stats = [helm_stats(place, exact_match=score) for place in range(8)]
        runs.append(write_helm(tmp_path / name, states, stats, model=f"openai/{name}"))
    logs = read_logs(runs, AS_THEY_ARE)
    found = join_logs(logs, model_names(logs), Joining(metric="exact_match"))
    assert found.items.scores.mean(axis=1).tolist() == [1.0, 0.0]
    mixed = read_logs([runs[0], write_lm_eval(tmp_path / "lm", lines())], AS_THEY_ARE)
    with pytest.raises(InvalidInput, match="logs of different tools"):
        join_logs(mixed, model_names(mixed), AS_THEY_ARE)
