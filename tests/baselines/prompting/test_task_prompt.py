"""What a model is shown, by protocol and kind of task, and that gold answers are read as they were written."""

from typing import Any

import pytest

from shiftbench.baselines.prompting.instructions import Wording
from shiftbench.baselines.prompting.task_prompt import DEMONSTRATION_WORDS, PromptProtocol, TaskPrompt
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.vocabulary import UNPARSED, TaskKind


def rows(folder: DatasetFolder, task: str, split: str = "train") -> list[dict[str, Any]]:
    return list(folder.split(task, next(iter(folder.task(task).domains)), split).iter_rows(named=True))


@pytest.mark.parametrize("protocol", PromptProtocol)
@pytest.mark.parametrize("task", ["sa", "nli", "ab", "qa", "qg", "as", "tg"])
def test_a_gold_answer_is_read_as_the_gold(task: str, protocol: PromptProtocol, grid: DatasetFolder) -> None:
    prompt = TaskPrompt.of(grid, task, protocol)
    for row in rows(grid, task):
        found = prompt.prediction(prompt.answer(row), row)
        if task in ("sa", "nli"):
            assert found == prompt.labels[row["label"]]
        elif task == "ab":
            assert found == " ".join(prompt.labels[code] for code in row["tags"])
        elif task == "qa":
            assert found == (row["answers"]["text"] or [""])[0]
        else:
            assert found == row["target_text"]
        assert prompt.prediction("", row) == UNPARSED


def test_entities_that_are_listed_come_back_as_tags(boss: DatasetFolder) -> None:
    prompt = TaskPrompt.of(boss, "ner")
    for row in rows(boss, "ner"):
        listed = prompt.answer(row)
        assert listed.startswith("Location: ")
        tags = prompt.prediction(listed, row).split(" ")
        gold = [prompt.labels[code] for code in row["tags"]]
        assert len(tags) == len(row["tokens"])
        if len(set(row["tokens"])) == len(row["tokens"]):
            assert tags == gold
    assert prompt.prediction("I see none.", row) == UNPARSED


def test_dr_turns(grid: DatasetFolder) -> None:
    prompt = TaskPrompt.of(grid, "nli", PromptProtocol.DR)
    test, first, second = rows(grid, "nli")[:3]
    messages = prompt.request(test, [first, second]).messages
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert "entailment, neutral, contradiction" in messages[0]["content"]
    assert messages[1]["content"] == f"Premise: {first['premise']}\nHypothesis: {first['hypothesis']}"
    assert messages[2]["content"] == prompt.labels[first["label"]]
    assert messages[-1]["content"] == f"Premise: {test['premise']}\nHypothesis: {test['hypothesis']}"


def test_boss_layout(boss: DatasetFolder) -> None:
    prompt = TaskPrompt.of(boss, "sa")
    test, shown = rows(boss, "sa")[:2]
    (message,) = prompt.request(test, [shown]).messages
    assert message["role"] == "user"
    lines = message["content"].split("\n")
    assert lines[0] == "### Instruction ###"
    assert "negative, positive, neutral" in lines[1]
    assert lines[2:] == [
        "### Format ###",
        "Text: {{Text}} // Prediction: {{Prediction}}",
        "### Examples ###",
        f"Text: {shown['text']} // Prediction: {prompt.labels[shown['label']]}",
        "### Input ###",
        f"Text: {test['text']} // Prediction:",
    ]
    assert "### Examples" not in prompt.request(test, []).messages[0]["content"]
    # A model that only goes on with a text goes on with the layout.
    assert prompt.prediction(" neither good\n### Input ###\nText: x // Prediction: positive", test) == UNPARSED


@pytest.mark.parametrize(("task", "shots"), [("sa", 3), ("ner", 7), ("nli", 3)])
def test_shots_of_boss(task: str, shots: int, boss: DatasetFolder) -> None:
    assert TaskPrompt.of(boss, task).default_shots == shots
    assert TaskPrompt.of(boss, task, PromptProtocol.DR).default_shots == 4


def test_candidates_are_put_as_their_task(boss: DatasetFolder) -> None:
    assert TaskPrompt.of(boss, "nli_candidates").words == TaskPrompt.of(boss, "nli").words


def test_only_demonstrations_are_cut() -> None:
    words = Wording("Tag.", (("tokens", "Text"),))
    prompt = TaskPrompt(TaskKind.TAGGING, ("O", "T"), words, PromptProtocol.DR)
    long = {"tokens": [f"w{place}" for place in range(500)], "tags": [0] * 499 + [1]}
    messages = prompt.request(long, [long]).messages
    assert len(messages[1]["content"].split()) == DEMONSTRATION_WORDS + 1
    assert messages[2]["content"].split() == ["O"] * DEMONSTRATION_WORDS
    assert len(messages[3]["content"].split()) == 501
    assert len(long["tokens"]) == 500

    pair = TaskPrompt(
        TaskKind.CLASSIFICATION, ("a", "b"), Wording("?", (("premise", "P"), ("hypothesis", "H"))), PromptProtocol.DR
    )
    row = {"premise": "p " * 400, "hypothesis": "short one", "label": 1}
    shown = pair.request(row, [row]).messages[1]["content"]
    assert shown.endswith("H: short one")
    assert len(shown.split()) == DEMONSTRATION_WORDS + 2


def test_own_words_for_a_task(grid: DatasetFolder) -> None:
    prompt = TaskPrompt.of(grid, "sa", None, "Praise {or} blame? One of: {labels}")
    assert (
        prompt.request(rows(grid, "sa")[0], []).messages[0]["content"]
        == "Praise {or} blame? One of: negative, positive"
    )


def test_long_rows_may_have_long_answers(grid: DatasetFolder) -> None:
    prompt, row = TaskPrompt.of(grid, "ab"), rows(grid, "ab")[0]
    twice = {**row, "tokens": row["tokens"] * 2}
    assert prompt.request(twice, []).max_tokens - prompt.request(row, []).max_tokens == 8 * len(row["tokens"])
    assert TaskPrompt.of(grid, "ab", max_tokens=5).request(row, []).max_tokens == 5
