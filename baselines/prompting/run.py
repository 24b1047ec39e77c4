"""The loop of prompting programs: for each source of demonstrations, predict the test rows of every target."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from shiftbench.baselines.prompting.asking import Asker
from shiftbench.baselines.prompting.calibration import CONTENT_FREE, calibrated_scores
from shiftbench.baselines.prompting.demonstrations import ChooseDemonstrations
from shiftbench.baselines.prompting.models import Ending, ModelAnswer
from shiftbench.baselines.prompting.scored_labels import LabelScores
from shiftbench.baselines.prompting.task_prompt import TaskPrompt
from shiftbench.baselines.prompting.wire import TOP
from shiftbench.baselines.runs import choose_sources
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.calibration import brier_limits
from shiftbench.validation.progress import progress
from shiftbench.validation.report import InvalidInput, Problem, counted, did_you_mean
from shiftbench.validation.vocabulary import NO_SOURCE, UNPARSED, source_parts

log = logging.getLogger(__name__)
FEWSHOT = "fewshot"
MOST_UNLISTED = 0.01
"""Maximum unknown share of the labels' probability, on average, for which confidences are written."""


def choose_subset(folder: DatasetFolder, task: str, subset: str | None) -> str:
    """Choose the subset of test rows to predict.

    Args:
        folder: the dataset.
        task: its task.
        subset: the requested subset.
    Returns: the requested subset, else 'fewshot' if it exists, else 'all'.
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
) -> pl.DataFrame:
    """Predict the test rows of every target by prompting a model with demonstrations from every source.

    Args:
        asker: the model.
        prompts: format rows as prompts; the i-th run uses the one at index i modulo their number.
        choose: selects demonstrations; None for zero-shot, with source 'none'.
        folder: the dataset.
        task: a task of it, of any kind.
        sources: domains with training rows; ``a+b`` samples from both. Default: the task's ID domain, the joined source
            of a pairing, or else every domain of the subset that has training rows.
        targets: domains to predict; default: all in the subset.
        seeds: one run per seed; default: 0.
        subset: the test rows.
        scores_labels: the model responds with the labels' log-probabilities.
        calibrates: calibrate label scores by those for content-free inputs.
    Returns: source, id, prediction and seed; ``ending`` (an ``Ending``; null if every try failed); for scored labels
        also ``shares`` (lower bound on each label's share; null if no label is listed) and ``unlisted`` (1 minus their
        sum).
    Raises: InvalidInput if the model fails, its budget is spent, or a label to be calibrated is censored; responses
        received so far are saved.
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
            if calibrates:  # sent together, so that the common prefix is read once
                requests += [each for examples in shown for each in prompt.content_free_requests(examples)]
            answers = asker.ask(requests, bar)
            own = answers[: len(rows)]
            if scores_labels:
                scores = [_scores_of(answer) for answer in answers]
                if calibrates:
                    scores = _calibrated(scores, len(rows), prompt.labels)
                predictions = _choose_labels(scores, prompt.labels)
            else:
                predictions = pl.DataFrame(
                    {"prediction": [prompt.read(answer, row) for answer, row in zip(own, test, strict=True)]},
                    schema={"prediction": pl.String},
                )
            # A row is answered only if its content-free inputs are, too.
            groups = [[answer, *answers[len(rows) + place :: len(rows)]] for place, answer in enumerate(own)]
            endings = [None if any(each.text is None for each in group) else group[0].ending for group in groups]
            asked = rows.select(source=pl.lit(source), id="id")
            ended = pl.Series("ending", endings, dtype=pl.String)
            parts.append(asked.with_columns(predictions, seed=pl.lit(seed, pl.Int64), ending=ended))
    return pl.concat(parts)


def _scores_of(answer: ModelAnswer) -> LabelScores | None:
    """Read label scores from a response; None if the model scored none, for example because the prompt is too long."""
    if not answer.text or answer.ending is not Ending.COMPLETE:
        return None
    return LabelScores.from_text(answer.text)


def _calibrated(scores: Sequence[LabelScores | None], n: int, labels: Sequence[str]) -> list[LabelScores | None]:
    """Calibrate the scores of n rows by those of each row's content-free inputs, which follow them in ``scores``.

    Raises: InvalidInput listing the labels that are censored anywhere: a bound would be divided like a value, and a
        label that is never predicted would win.
    """
    censored = {place for each in scores if each is not None for place in each.censored}
    if censored:
        found = ", ".join(f"'{labels[place]}'" for place in sorted(censored))
        cure = "give --api completions, or --local, which score each label itself; or leave --calibrate out"
        what = f"labels that are not among the {TOP} likeliest tokens cannot be calibrated"
        raise InvalidInput(Problem(what, "--calibrate", found, cure))
    step = len(CONTENT_FREE)
    free = [scores[start : start + step] for start in range(n, len(scores), step)]
    return [
        None
        if own is None or None in group
        else LabelScores(tuple(calibrated_scores(_values(own), [_values(each) for each in group if each]).tolist()))
        for own, group in zip(scores[:n], free, strict=True)
    ]


def _values(scores: LabelScores) -> list[float]:
    return [value for value in scores.log_p if value is not None]


def _choose_labels(scores: Sequence[LabelScores | None], labels: Sequence[str]) -> pl.DataFrame:
    """Choose the label with the largest share; a row in which no label is listed gets no prediction and no shares."""
    listed = [each if each is not None and any(each.shares) else None for each in scores]
    return pl.DataFrame(
        {
            "prediction": [UNPARSED if each is None else labels[int(np.argmax(each.shares))] for each in listed],
            "shares": [None if each is None else each.shares for each in listed],
            "unlisted": [0.0 if each is None else each.unlisted_share for each in scores],
        },
        schema={"prediction": pl.String, "shares": pl.List(pl.Float64), "unlisted": pl.Float64},
    )


def with_confidences(asked: pl.DataFrame, gold: Mapping[str, int], *, probabilities: bool) -> pl.DataFrame:
    """Add confidences to predictions from scored labels, if the scores are known well enough.

    If censored labels may have 1% of the probability or more on average, neither confidences nor probabilities are
    written, because calibration error would be undetermined; the bounds of the Brier score are logged instead. Below
    that, the unknown probability is divided equally among a row's labels.

    Args:
        gold: codes of the gold labels by id; empty if they are withheld.
    Returns: source, id, prediction, seed, and possibly confidence and probabilities.
    """
    plain = asked.drop("shares", "unlisted")
    scored = asked.filter(pl.col("shares").is_not_null())
    if scored.is_empty():
        return plain
    unlisted = float(scored["unlisted"].mean())  # type: ignore[arg-type]
    if unlisted:
        undecided = int((scored["shares"].list.max() <= scored["unlisted"]).sum())
        line = f"{100 * unlisted:.1f}% of the labels' probability is not listed by the server"
        if undecided:
            line += f"; in {counted(undecided, 'text')} of {len(scored):,} it may hide a likelier label"
        if gold:
            shares = np.array(scored["shares"].to_list())
            codes = [gold[each] for each in scored["id"]]
            low, high = (100 * limit.mean() for limit in brier_limits(shares, scored["unlisted"].to_numpy(), codes))
            line += f"; the Brier score is between {low:.1f} and {high:.1f}"
        if unlisted >= MOST_UNLISTED:
            line += "; no confidences are written, because calibration error would rest on what is not known"
        log.warning("%s; --api completions, where the server can echo, scores each label itself", line)
    if unlisted >= MOST_UNLISTED:
        return plain
    lists = pl.col("shares") + pl.col("unlisted") / pl.col("shares").list.len()
    columns = [
        pl.col("shares").list.max().alias("confidence"),
        *([pl.col("shares").alias("probabilities")] * probabilities),
    ]
    return asked.with_columns(shares=lists).select(*plain.columns, *columns)


def log_account(asker: Asker, asked: pl.DataFrame) -> None:
    """Log the numbers of answered requests, tokens and cost, and how many responses were unusable, by reason."""
    missing = sum(answer.text is None for answer in asker.answers.values())
    known = len(asker.answers) - asker.asked - missing
    line = f"{counted(asker.asked, 'request')} answered now, {known:,} answered before"
    if missing:
        line += f", {missing:,} without an answer"
    if asker.tokens is not None:
        line += f"; {asker.tokens[0]:,} tokens read, {asker.tokens[1]:,} written"
    if asker.cost is not None:
        line += f"; ${asker.cost:,.4f}, ${asker.spent:,.4f} of it now"
    usable = pl.col("prediction") != UNPARSED
    log.info("%s; %s", line, endings_line(asked["ending"].to_list(), asked.select(usable).to_series().to_list()))


def endings_line(endings: Sequence[str | None], usable: Sequence[bool]) -> str:
    """Summarise how responses ended, and how many of each kind could not be parsed.

    >>> endings_line(["complete", "complete", "truncated", "refused"], [True, False, False, False])
    '3 of 4 predictions could not be read: 1 truncated (give --max-tokens more), 1 refused, 1 unparsed'
    """
    words = {
        Ending.TRUNCATED: "truncated (give --max-tokens more)",
        Ending.REFUSED: "refused",
        Ending.TOO_LONG: "too long for the model",
        Ending.COMPLETE: "unparsed",
    }
    answered = [(ending, fine) for ending, fine in zip(endings, usable, strict=True) if ending is not None]
    lost = Counter(ending for ending, fine in answered if not fine)
    line = f"{lost.total():,} of {len(answered):,} predictions could not be read"
    if lost:
        line += ": " + ", ".join(f"{lost[ending]:,} {words[ending]}" for ending in words if lost[ending])
    cut = sum(ending == Ending.TRUNCATED for ending, fine in answered if fine)
    return line + (f"; {cut:,} more were truncated and read all the same" if cut else "")


def _demonstrations(
    folder: DatasetFolder, task: str, source: str, rows: pl.DataFrame, choose: ChooseDemonstrations, seed: int
) -> list[list[dict[str, object]]]:
    train = pl.concat([folder.split(task, part, "train") for part in source_parts(source)])
    chosen = choose(train, rows, seed)
    needed = sorted({place for places in chosen for place in places})
    examples = dict(zip(needed, train[needed].iter_rows(named=True), strict=True))
    return [[examples[place] for place in places] for places in chosen]


def _choose_sources(folder: DatasetFolder, task: str, asked: Sequence[str] | None, domains: Sequence[str]) -> list[str]:
    """Choose the sources of demonstrations: as for training, but by default only domains in the subset."""
    info = folder.task(task)
    inside = [domain for domain in domains if "train" in info.domains[domain].splits]
    each = info.joined_source is None and info.id_domain is None
    return choose_sources(folder, task, asked or (inside if each else None))
