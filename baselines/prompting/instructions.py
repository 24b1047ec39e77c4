"""Instructions for each task in our own wording.

Labels, field names and the answer 'No answer' are the papers' (DR paper, appendix E.1; BOSS paper, Table 22); the
sentences are not, so scores may differ from the papers'. A task that is not in the papers gets the wording of a task
with the same labels, or a general one for its kind.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.validation.vocabulary import PLACEBO, TaskKind

NO_ANSWER = "No answer"
"""The reply for a question without an answer in its context."""


@dataclass(frozen=True)
class Wording:
    """The wording of one task: an instruction with ``{labels}``, names of its columns, and the name of the answer."""

    instruction: str
    fields: tuple[tuple[str, str], ...]
    answer: str = "Prediction"


_LABEL = "Reply with one of these labels and nothing else: {labels}."
_PAIR = (("premise", "Premise"), ("hypothesis", "Hypothesis"))
_TEXT = (("text", "Text"),)
_TAGS = (
    "Reply with one tag for each word, in the order of the words, separated by spaces, and nothing else. "
    "The tags are: {labels}."
)
_SPAN = f"Reply with words copied from the context and nothing else. If the context has no answer, reply: {NO_ANSWER}"

_INFERENCE = Wording(
    "You get a premise and a hypothesis. Decide whether the premise entails the hypothesis, contradicts it, or does "
    f"neither. {_LABEL}",
    _PAIR,
)
_SENTIMENT = Wording(f"Decide which sentiment the text expresses. {_LABEL}", _TEXT)
_TOXICITY = Wording(f"Decide whether the text is toxic. {_LABEL}", _TEXT)
_STARS = Wording(f"Decide how many stars the writer of this review gave, from 1 (worst) to 5 (best). {_LABEL}", _TEXT)

_BY_TASK = {
    ("dr", "sa"): Wording(f"You get a review. Decide which sentiment it expresses. {_LABEL}", (("text", "Review"),)),
    ("dr", "nli"): _INFERENCE,
    ("dr", "ab"): Wording(
        "You get the words of a sentence. Find the aspects that it judges, and tag each word: O where it is no part "
        "of an aspect, else T-POS, T-NEG or T-NEU for an aspect that is judged well, badly or neither. So the words "
        f"'Lovely old piano' have the tags: O O T-POS. {_TAGS}",
        (("tokens", "Text"),),
    ),
    ("dr", "qa"): Wording(
        f"You get a context and a question. Find the answer in the context. {_SPAN}",
        (("context", "Context"), ("question", "Question")),
        "Answer",
    ),
    ("dr", "qg"): Wording(
        "You get a context and an answer. Write the question about the context that has this answer. Reply with the "
        "question and nothing else.",
        (("source_text", "Context"), ("answer", "Answer")),
        "Question",
    ),
    ("dr", "as"): Wording(
        "You get a post from Reddit. Write the short TL;DR that its author may have put at the end. Reply with the "
        "summary and nothing else.",
        (("source_text", "Post"),),
        "Summary",
    ),
    ("dr", "tg"): Wording(
        "You get a review of a product. Write the title that the reviewer may have given it. Reply with the title and "
        "nothing else.",
        (("source_text", "Review"),),
        "Title",
    ),
    ("boss", "sa"): _SENTIMENT,
    ("boss", "td"): _TOXICITY,
    ("boss", "nli"): _INFERENCE,
    ("boss", "ner"): Wording("Find the named entities of the text.", (("tokens", "Text"),), "Entity"),
    ("boss", "eqa"): Wording(
        "Find the answer to the question in the passage. Reply with the shortest words of the passage that answer it, "
        "and nothing else.",
        (("context", "Passage"), ("question", "Question")),
        "Answer",
    ),
}
_BY_LABELS = {
    frozenset({"entailment", "neutral", "contradiction"}): _INFERENCE,
    frozenset({"negative", "positive"}): _SENTIMENT,
    frozenset({"negative", "positive", "neutral"}): _SENTIMENT,
    frozenset({"benign", "toxic"}): _TOXICITY,
    frozenset({"1", "2", "3", "4", "5"}): _STARS,
}
_BY_KIND = {
    TaskKind.CLASSIFICATION: f"Decide which label fits. {_LABEL}",
    TaskKind.TAGGING: f"You get the words of a text. Tag each of them. {_TAGS}",
    TaskKind.EXTRACTIVE_QA: f"You get a context and a question. Find the answer in the context. {_SPAN}",
    TaskKind.GENERATION: "Write the text that belongs to this one. Reply with that text and nothing else.",
}


def wording(benchmark: str, task: str, info: TaskInfo, instruction: str | None = None) -> Wording:
    """Return the wording of a task of a benchmark.

    Args:
        task: the task's name; a placebo task and candidate data sets have the wording of the real task.
        instruction: a user instruction that replaces ours; ``{labels}`` is replaced in it, too.
    """
    words = _BY_TASK.get((benchmark, info.candidates_for or task.removesuffix(PLACEBO)))
    return general_wording(info.kind, info.inputs, info.labels, instruction, words)


def numbered_wording(benchmark: str, task: str, info: TaskInfo) -> Wording:
    """Return the wording of a classification task in which the model replies ``ANSWER:`` and the label's code."""
    words = wording(benchmark, task, info)
    numbers = ", ".join(f"{code} {label}" for code, label in enumerate(info.labels))
    reply = f"Reply with one line and nothing else: ANSWER: and the number of one of these labels: {numbers}."
    return replace(words, instruction=words.instruction.replace(_with_labels(_LABEL, info.labels), reply))


def _with_labels(text: str, labels: Sequence[str]) -> str:
    return text.replace("{labels}", ", ".join(labels))


def general_wording(
    kind: TaskKind,
    inputs: Sequence[str],
    labels: Sequence[str],
    instruction: str | None = None,
    words: Wording | None = None,
) -> Wording:
    """Return the wording of a task by its kind, inputs and labels.

    Args:
        instruction: a user instruction that replaces ours; ``{labels}`` is replaced in it, too.
        words: the task's own wording, if it has one.
    """
    words = words or _BY_LABELS.get(frozenset(labels))
    if words is None or {column for column, _ in words.fields} - set(inputs):
        fields = tuple((column, column.replace("_", " ").capitalize()) for column in inputs if column != "title")
        words = Wording(_BY_KIND[kind], fields)
    return replace(words, instruction=_with_labels(instruction or words.instruction, labels))
