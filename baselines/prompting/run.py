"""The loop of programs that prompt: every source lends demonstrations, every target's test rows are asked about."""

import logging
from collections.abc import Sequence
from typing import Any

import polars as pl

from shiftbench.baselines.prompting.asking import Asker
from shiftbench.baselines.prompting.calibration import CONTENT_FREE, calibrated_scores
from shiftbench.baselines.prompting.demonstrations import ChooseDemonstrations
from shiftbench.baselines.prompting.task_prompt import TaskPrompt
from shiftbench.baselines.runs import choose_sources
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.progress import progress
from shiftbench.validation.report import InvalidInput, Problem, counted, did_you_mean
from shiftbench.validation.vocabulary import NO_SOURCE, UNPARSED, source_parts

log = logging.getLogger(__name__)
FEWSHOT = "fewshot"


def choose_subset(folder: DatasetFolder, task: str, subset: str | None) -> str:
    """Choose the subset of test rows to ask about.

    Args:
        folder: the dataset.
        task: its task.
        subset: the one asked for.
    Returns: the one asked for, else 'fewshot' where there is one, else 'all'.
    """
    return subset or (FEWSHOT if FEWSHOT in folder.task(task).subsets else "all")


def prompt_and_predict(
    asker: Asker,
    prompts: Sequence[TaskPrompt],
    choose: ChooseDemonstrations | None,
    folder: DatasetFolder,
    task: str,
    *,
    sources: Sequence[str] | None,
    targets: Sequence[str] | None,
    seeds: Sequence[int] | None,
    subset: str,
    scores_labels: bool = False,
    calibrates: bool = False,
    probabilities: bool = False,
) -> pl.DataFrame:
    """Predict the test rows of every target by prompting a model with demonstrations from every source.

    Args:
        asker: the model.
        prompts: how rows are put to it; the run of a seed has the one at that place, counted around.
        choose: chooses demonstrations; None asks without any, as source 'none'.
        folder: the dataset.
        task: a task of it, of any kind.
        sources: domains with train rows, ``a+b`` draws from both; default the task's ID domain, the joined source of
            a pairing, or where it has neither every domain of the subset that has train rows.
        targets: domains to predict; default all of the subset.
        seeds: one run a seed; default 0.
        subset: the test rows.
        scores_labels: the model's answers are the labels' log-probabilities.
        calibrates: labels' log-probabilities are compared with those for inputs without content.
        probabilities: keep the probabilities of all labels, of labels that are scored.
    Returns: a prediction frame (source, id, prediction, seed; confidence and probabilities of labels that are scored).
    Raises: InvalidInput when the model fails or its budget is spent; what was answered is kept.
    """
    rows = folder.test(task, subset)
    domains = rows["domain"].unique(maintain_order=True).to_list()
    for target in targets or ():
        if target not in domains:
            what, cure = f"subset '{subset}' has no such domain", did_you_mean(target, domains)
            raise InvalidInput(Problem(what, "--target", f"'{target}'", cure))
    rows = rows.filter(pl.col("domain").is_in(targets or domains))
    if choose is None and sources:
        what, cure = "without demonstrations there is no source", "leave --source out, or give --shots"
        raise InvalidInput(Problem(what, "--source", ", ".join(sources), cure))
    named = [NO_SOURCE] if choose is None else _choose_sources(folder, task, sources, domains)
    runs = [(source, seed) for source in named for seed in dict.fromkeys(seeds or (0,))]
    of = f"{counted(len(rows), 'test row')} of subset '{subset}', {counted(len(runs), 'run')}"
    log.info("asking about %s: %s", counted(len(rows) * len(runs), "row"), of)
    parts = []
    n_prompts = len(runs) * len(rows) * (1 + len(CONTENT_FREE) * calibrates)
    with progress(total=n_prompts, desc="asking", unit="prompt") as bar:
        for source, seed in runs:
            prompt = prompts[seed % len(prompts)]
            shown = _demonstrations(folder, task, source, rows, choose, seed) if choose else [()] * len(rows)
            test = list(rows.iter_rows(named=True))
            requests = [prompt.request(row, examples) for row, examples in zip(test, shown, strict=True)]
            if calibrates:  # asked with the others, because what prompts begin with is then read once
                requests += [each for examples in shown for each in prompt.content_free_requests(examples)]
            answers = asker.ask(requests, bar)
            if scores_labels:
                predictions = _read_scores([answer.text or "" for answer in answers], len(rows), prompt.labels)
            else:
                pairs = zip(answers, test, strict=True)
                predictions = pl.DataFrame(
                    {"prediction": [prompt.prediction(answer.text or "", row) for answer, row in pairs]},
                    schema={"prediction": pl.String},
                )
            asked = rows.select(source=pl.lit(source), id="id")
            parts.append(asked.with_columns(predictions, seed=pl.lit(seed, pl.Int64)))
    columns = ["source", "id", "prediction", "seed", *(["confidence"] if scores_labels else [])]
    return pl.concat(parts).select(*columns, *(["probabilities"] if probabilities else []))


def _read_scores(texts: Sequence[str], n: int, labels: Sequence[str]) -> pl.DataFrame:
    """Read labels' log-probabilities: the likeliest label, its share among the labels, and the shares of all.

    The texts are those of n rows, and where labels are calibrated behind them those of each row's inputs without
    content. A row that lacks any, as of a prompt that is too long, gets no prediction, confidence or probabilities.
    """
    from scipy.special import softmax

    scores = [parse_json(text) if text else None for text in texts]
    if len(scores) > n:
        step = len(CONTENT_FREE)
        content_free: list[Any] = [scores[start : start + step] for start in range(n, len(scores), step)]
        scores = [
            None if own is None or None in free else calibrated_scores(own, free).tolist()
            for own, free in zip(scores[:n], content_free, strict=True)
        ]
    shares = [None if each is None else softmax(each).tolist() for each in scores]
    return pl.DataFrame(
        {
            "prediction": [UNPARSED if each is None else labels[each.index(max(each))] for each in shares],
            "confidence": [None if each is None else max(each) for each in shares],
            "probabilities": shares,
        },
        schema={"prediction": pl.String, "confidence": pl.Float64, "probabilities": pl.List(pl.Float64)},
    )


def log_account(asker: Asker, predictions: pl.DataFrame) -> None:
    """Log how many requests were answered, their tokens and cost, and the unusable answers.

    Args:
        asker: what asked the model.
        predictions: all predictions, with ``prediction``.
    """
    known = len(asker.answers) - asker.asked
    line = f"{counted(asker.asked, 'request')} answered now, {known:,} answered before"
    if asker.tokens is not None:
        line += f"; {asker.tokens[0]:,} tokens read, {asker.tokens[1]:,} written"
    if asker.cost is not None:
        line += f"; ${asker.cost:,.4f}, ${asker.spent:,.4f} of it now"
    unparsed = int((predictions["prediction"] == UNPARSED).sum())
    log.info("%s; %s of %s predictions could not be read", line, f"{unparsed:,}", f"{len(predictions):,}")


def _demonstrations(
    folder: DatasetFolder, task: str, source: str, rows: pl.DataFrame, choose: ChooseDemonstrations, seed: int
) -> list[list[dict[str, object]]]:
    train = pl.concat([folder.split(task, part, "train") for part in source_parts(source)])
    chosen = choose(train, rows, seed)
    needed = sorted({place for places in chosen for place in places})
    examples = dict(zip(needed, train[needed].iter_rows(named=True), strict=True))
    return [[examples[place] for place in places] for places in chosen]


def _choose_sources(folder: DatasetFolder, task: str, asked: Sequence[str] | None, domains: Sequence[str]) -> list[str]:
    """Choose the sources of demonstrations: as for training, but by default only domains of the subset."""
    info = folder.task(task)
    inside = [domain for domain in domains if "train" in info.domains[domain].splits]
    each = info.joined_source is None and info.id_domain is None
    return choose_sources(folder, task, asked or (inside if each else None))
