"""Tasks as text to text, for encoder-decoder models: templates of inputs and targets, and labels as words.

Generation uses the input as is; question generation appends the answer to the document (Domain Robustness paper,
appendix D.1). Question answering names the question and the context. Classification ends in T5's sentinel
``<extra_id_0>``, for which the decoder generates the label's word (BOSS paper, Table 21: same words, in our own
sentence). Only the first piece of each label's word is scored.

If an input is too long, its longest field is truncated, never the template.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import GOLD, TaskKind

NO_ANSWER = "No answer"
"""Target text for a question without an answer, as in the papers."""
SENTINEL = "<extra_id_0>"

_ENTAILMENT = {"entailment": "Yes", "neutral": "Maybe", "contradiction": "No"}
_OPINIONS = {
    frozenset({"negative", "positive"}): "{text} Overall, the opinion is",
    frozenset({"negative", "positive", "neutral"}): "{text} Overall, the opinion is",
    frozenset({"benign", "toxic"}): "{text} Overall, the tone is",
}


def input_form(inputs: Sequence[str]) -> str:
    """Return the template of a generation or question answering task's input.

    >>> input_form(("source_text", "answer")), input_form(("context", "question"))
    ('{source_text} answer: {answer}', 'question: {question} context: {context} answer:')
    """
    if "question" in inputs:
        return "question: {question} context: {context} answer:"
    first, *others = inputs
    return " ".join([f"{{{first}}}", *(f"{name}: {{{name}}}" for name in others)])


def label_form(inputs: Sequence[str], labels: Sequence[str]) -> str:
    """Return the template of a classification task, ending in the sentinel.

    Args:
        labels: the task's labels, which determine the question.

    >>> label_form(("text",), ("benign", "toxic"))
    '{text} Overall, the tone is <extra_id_0>'
    """
    if set(labels) == set(_ENTAILMENT):
        form = "First: {premise} Second: {hypothesis} Does the second follow from the first?"
    else:
        named = " ".join(f"{name}: {{{name}}}" for name in inputs)
        form = _OPINIONS.get(frozenset(labels), f"{named} label:")
    return f"{form} {SENTINEL}"


def encode_form(form: str, rows: pl.DataFrame, tokenizer: Any, max_length: int) -> list[list[int]]:
    """Fill in a template and encode it, truncating fields, but not the template, to at most ``max_length`` tokens."""
    names = [name for name in rows.columns if f"{{{name}}}" in form]
    fields = rows.select(names).to_dicts()
    filled = [form.format_map(row) for row in fields]
    ids: list[list[int]] = tokenizer(filled, verbose=False)["input_ids"] if filled else []
    while long := [row for row, tokens in enumerate(ids) if len(tokens) > max_length and any(fields[row].values())]:
        for row in long:
            _shorten_longest(fields[row], len(ids[row]), max_length)
        shorter = tokenizer([form.format_map(fields[row]) for row in long], verbose=False)["input_ids"]
        for row, tokens in zip(long, shorter, strict=True):
            ids[row] = tokens
    return ids


def target_texts(rows: pl.DataFrame, kind: TaskKind) -> list[str]:
    """Return the target texts for training; for questions the first accepted answer, or ``No answer``."""
    if kind is TaskKind.GENERATION:
        return rows[GOLD[kind]].to_list()
    return [answers["text"][0] if answers["text"] else NO_ANSWER for answers in rows[GOLD[kind]].to_list()]


def predicted_texts(written: Sequence[str], kind: TaskKind) -> list[str]:
    """Parse predictions from generated texts; ``""`` if the model states that a question has no answer."""
    texts = [text.strip() for text in written]
    if kind is TaskKind.EXTRACTIVE_QA:
        return ["" if text.casefold() == NO_ANSWER.casefold() else text for text in texts]
    return texts


def label_words(labels: Sequence[str]) -> list[str]:
    """Return the word for each label: Yes, Maybe and No for inference, otherwise the label's name."""
    words: Mapping[str, str] = _ENTAILMENT if set(labels) == set(_ENTAILMENT) else {}
    return [words.get(label, label) for label in labels]


def label_tokens(labels: Sequence[str], tokenizer: Any) -> list[int]:
    """Return the first token of each label's word, which is scored; InvalidInput if two labels have the same one."""
    words = label_words(labels)
    tokens = [tokenizer(word, add_special_tokens=False)["input_ids"][0] for word in words]
    same = [word for word, token in zip(words, tokens, strict=True) if tokens.count(token) > 1]
    if same:
        what, cure = "several labels begin with the same token", "use an encoder instead"
        raise InvalidInput(Problem(what, "--model", ", ".join(same), cure))
    return tokens


def decoder_tokens(start: int, tokenizer: Any) -> list[int]:
    """Return the decoder's input before the label's word: start token and sentinel; InvalidInput without a sentinel."""
    # By id: T5's tokenizer would insert a space piece before it.
    sentinel = tokenizer.convert_tokens_to_ids(SENTINEL)
    if sentinel is None or sentinel == tokenizer.unk_token_id:
        what, cure = f"the tokenizer has no token {SENTINEL}", "use a T5 model, or an encoder"
        raise InvalidInput(Problem(what, "--model", cure=cure))
    return [start, int(sentinel)]


def class_logits(logits: Any, tokens: Sequence[int]) -> Any:
    """Return each class's logit: that of its token at the position after ``decoder_tokens``.

    Args:
        logits: logits of the decoder, shape (n, 2, vocabulary); array or tensor.
    Returns: shape (n, n_labels).

    >>> import numpy as np
    >>> class_logits(np.arange(12).reshape(1, 2, 6), [5, 0])
    array([[11,  6]])
    """
    return logits[:, -1, list(tokens)]


def _shorten_longest(fields: dict[str, str], n_tokens: int, max_length: int) -> None:
    """Truncate the longest field by roughly the excess length of the input."""
    longest = max(fields, key=lambda name: len(fields[name]))
    characters = len(fields[longest])
    # The share is relative to all tokens, including other fields and the template, so the cut tends to be too short;
    # the caller repeats it until the input fits.
    share = (n_tokens - max_length) / n_tokens
    fields[longest] = fields[longest][: characters - max(1, math.ceil(characters * share))].rstrip()
