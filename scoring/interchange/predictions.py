"""Predictions, and facts for a card, from logs over the rows of a dataset folder.

The caller supplies the parser of answers, because its rules belong to the prompting programs.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.scoring.interchange.log import EvaluationLog, refuse_log
from shiftbench.validation.report import and_more, plural
from shiftbench.validation.vocabulary import UNPARSED

OWN_IDS = "run the task that 'shiftbench data export' writes: its items have the ids of the dataset"


Parse = Callable[[str, Mapping[str, Any]], str]
"""Function from a generated text and its row to a prediction."""
Match = Callable[[Sequence[str], NDArray[np.float64]], pl.DataFrame]
"""Function from the choices' texts and their probabilities, shape (n, n_choices), to the columns ``prediction``,
``confidence`` and ``probabilities``.
"""
_PREDICTED: dict[str, Any] = {
    "id": pl.String,
    "epoch": pl.Int64,
    "prediction": pl.String,
    "confidence": pl.Float64,
    "probabilities": pl.List(pl.Float64),
}


def log_predictions(
    log: EvaluationLog, rows: pl.DataFrame, parse: Parse, match: Match | None, source: str
) -> pl.DataFrame:
    """Build predictions from the samples of a log.

    Args:
        log: over rows of one task.
        rows: the test rows that a log may contain: ``id``, and ``tokens`` for tagging.
        parse: parses generated text.
        match: maps choices to labels; None if the task has no labels.
        source: what the model was trained on, or the source of its demonstrations.

    Returns: ``source``, ``id``, ``prediction``, ``seed`` (0-based epochs), ``confidence``, ``probabilities``, in the
        log's order; confidence and probabilities are null without log-likelihoods.

    Raises: InvalidInput if an item is not among the rows, or a choice is not a label.
    """
    other = log.samples.join(rows, on="id", how="anti")
    if len(other):
        found = f"'{other['id'][0]}'{and_more(other['id'].n_unique() - 1, 'item')}"
        refuse_log(log.path, "an item is not among the dataset's test rows", found, OWN_IDS)
    likely = log.samples.filter(pl.col("log_likelihoods").is_not_null())
    if len(likely) and match is None:
        refuse_log(log.path, "the log has answers to multiple choice, but the task has no labels", cure=OWN_IDS)
    written = log.samples.filter(pl.col("log_likelihoods").is_null()).join(rows, on="id", how="left")
    answers = [
        UNPARSED if row["answer"] is None else parse(row["answer"], row) for row in written.iter_rows(named=True)
    ]
    parts = [written.select("id", "epoch", prediction=pl.Series(answers, dtype=pl.String))]
    if match is not None:
        parts += [_chosen(part, match) for part in likely.partition_by("choices", maintain_order=True)]
    # Without likelihoods, or with a choice that is not a label, confidence and probabilities are missing.
    known = pl.concat([pl.DataFrame(schema=_PREDICTED), *parts], how="diagonal")
    order = log.samples.select("id", "epoch")
    predicted = order.join(known, on=["id", "epoch"], how="left", maintain_order="left")
    return predicted.select(
        pl.lit(source).alias("source"),
        "id",
        "prediction",
        (pl.col("epoch") - 1).alias("seed"),
        "confidence",
        "probabilities",
    )


def _chosen(samples: pl.DataFrame, match: Match) -> pl.DataFrame:
    from scipy.special import softmax

    choices = [choice.strip() for choice in samples["choices"][0]]
    matched = match(choices, softmax(np.stack(samples["log_likelihoods"].to_list()), axis=1))
    return samples.select("id", "epoch").with_columns(matched)


def joined_predictions(parts: Sequence[pl.DataFrame], logs: Sequence[EvaluationLog]) -> pl.DataFrame:
    """Concatenate the predictions of logs of one run.

    Args:
        parts: the predictions from each log (``log_predictions``).
        logs: the logs, in the same order.

    Returns: all rows; ``confidence`` and ``probabilities`` are dropped if they are null in every row.

    Raises: InvalidInput if two logs contain the same item, or differ in model, revision, shots or filter.
    """
    for log in logs[1:]:
        for name, own, first in (
            ("model", log.model, logs[0].model),
            ("revision", log.facts.revision, logs[0].facts.revision),
            ("number of shots", log.facts.shots, logs[0].facts.shots),
            ("filter", log.facts.filter, logs[0].facts.filter),
        ):
            if own != first:
                found = f"'{own}', but '{first}' in {logs[0].path}"
                refuse_log(log.path, f"the logs differ in their {name}", found, "import each run separately")
    frame = pl.concat(parts)
    repeated = frame.filter(frame.select("id", "seed").is_duplicated())
    if len(repeated):
        n = repeated.select("id", "seed").n_unique()
        found = f"'{repeated['id'][0]}'{and_more(n - 1, 'item')}"
        refuse_log(logs[-1].path, "an item occurs in two logs", found, "give each log once, and only logs of one run")
    return frame.drop(name for name in ("confidence", "probabilities") if frame[name].null_count() == len(frame))


def run_facts(logs: Sequence[EvaluationLog]) -> dict[str, Any]:
    """Collect the facts about a run that its logs state, for the card of its predictions.

    Args:
        logs: the logs of one run, at least one.

    Returns: values by card field; None if not stated.
    """
    first = logs[0]
    facts, prompts = first.facts, [log.prompts_hash for log in logs]
    hashes = ", ".join(dict.fromkeys(each[:12] for each in prompts if each is not None))
    run = {
        "revision": facts.revision,
        "engine": facts.engine,
        "dtype": facts.dtype,
        "batch size": facts.batch_size,
        "filter": facts.filter,
        "prompts": hashes,
    }
    tokens = [log.facts.tokens for log in logs if log.facts.tokens is not None]
    costs = [log.facts.cost_usd for log in logs if log.facts.cost_usd is not None]
    return {
        "base_model": public_model_name(first.model),
        "parameters": facts.parameters,
        "shots": facts.shots,
        "tokens": sum(tokens) if len(tokens) == len(logs) else None,
        "cost_usd": sum(costs) if len(costs) == len(logs) else None,
        "versions": {first.tool: first.version or "not stated"},
        "run": {name: value[:500] for name, value in run.items() if value},
    }


def public_model_name(model: str) -> str:
    """Return a model's name that reveals no local folders: the last part of a path; Hub ids are unchanged."""
    return PurePath(model).name if PurePath(model).is_absolute() or model.startswith((".", "~")) else model


def reading_notes(log: EvaluationLog, predictions: pl.DataFrame) -> str:
    """Describe in one line what was read from a log.

    Args:
        log: the log.
        predictions: the predictions from it, whose unusable answers are counted.
    """
    facts, n = log.facts, len(predictions)
    unparsed = int((predictions["prediction"] == UNPARSED).sum())
    others = [name for name in facts.filters if name != facts.filter]
    chosen = f"; filter '{facts.filter}' (not read: {', '.join(map(repr, others))})" if others else ""
    how = "by log-likelihoods" if log.samples["log_likelihoods"].null_count() < n else "by the generated text"
    epochs = f", {log.epochs} epochs as seeds" if log.epochs > 1 else ""
    read = f"{log.path}: {plural(n, 'answer')} of {log.model}, {how}{epochs}{chosen}"
    return f"{read}; {unparsed:,} unparsed"
