"""Main loop of the prompting programs: validate options, send requests, write predictions and card."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shiftbench.baselines.program import check_out_path, make_card, typed_command, write_outputs
from shiftbench.baselines.prompting.asking import Asker, Budget, Prices, refuse_unanswered
from shiftbench.baselines.prompting.cache import AnswerStore
from shiftbench.baselines.prompting.demonstrations import ChooseDemonstrations
from shiftbench.baselines.prompting.local import LocalModel
from shiftbench.baselines.prompting.models import Ending, ModelAnswer
from shiftbench.baselines.prompting.options import PromptingOptions
from shiftbench.baselines.prompting.scored_labels import CONTENT_FREE, LabelScores, calibrated_scores
from shiftbench.baselines.prompting.server import ModelServer
from shiftbench.baselines.prompting.task_prompt import PromptProtocol, TaskPrompt
from shiftbench.baselines.prompting.wire import TOP
from shiftbench.baselines.runs import choose_sources
from shiftbench.builders.cache import check_cache
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.progress import progress
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean, plural
from shiftbench.validation.vocabulary import NO_SOURCE, UNPARSED, source_parts

log = logging.getLogger(__name__)
FEWSHOT = "fewshot"
MOST_UNLISTED = 0.01
"""Confidences are written only if, on average, at most this share of the labels' probability is unknown."""


@dataclass(frozen=True)
class PromptingProgram:
    """The validated options of a prompting program, with data and model opened."""

    options: PromptingOptions
    folder: DatasetFolder
    prompt: TaskPrompt
    model: ModelServer | LocalModel
    subset: str

    @classmethod
    def of(cls, options: PromptingOptions, protocol: PromptProtocol | None) -> "PromptingProgram":
        """Check the options, and open data and model; protocol None: the benchmark's."""
        check_out_path(options.out)
        check_cache()
        folder = DatasetFolder.open(options.data)
        prompt = TaskPrompt.of(folder, options.task, protocol, options.instruction, options.max_tokens)
        options.check_kind(prompt.kind)
        model = options.open_model()
        subset = options.subset or (FEWSHOT if FEWSHOT in folder.task(options.task).subsets else "all")
        return cls(options, folder, prompt, model, subset)

    def ask_and_write(
        self, choose: ChooseDemonstrations | None, *, libraries: Sequence[str] = (), **facts: Any
    ) -> None:
        """Predict all test rows, log requests, tokens and cost, and write prediction file and card.

        Args:
            choose: selects demonstrations; None for zero-shot.
            libraries: libraries of the program, for the card.
            **facts: its fields of the card.
        Raises: InvalidInput if the model fails, its budget is spent, or requests remain unanswered; the message names
            these requests and the command that repeats them. Responses received so far are saved.
        """
        options = self.options
        with AnswerStore() as store:
            prices, budget = Prices(options.price_in, options.price_out), Budget(options.max_requests, options.max_cost)
            asker = Asker(self.model, store, prices, budget)
            asked = self._ask(asker, choose)
        usable = asked.select(pl.col("prediction") != UNPARSED).to_series().to_list()
        log.info("%s; %s", asker.account, endings_line(asked["ending"].to_list(), usable))
        missing = asked.filter(pl.col("ending").is_null())["id"].to_list()
        refuse_unanswered(missing, len(asked), options.model_name, typed_command())
        predictions = asked.drop("ending")
        if options.score_labels:
            predictions = with_confidences(predictions, probabilities=options.probabilities)
        card = make_card(
            self.folder, libraries=[*libraries, *(["torch", "transformers"] if options.local else ["openai"])],
            base_model=options.model_name,
            parameters=self.model.parameters if isinstance(self.model, LocalModel) else None,
            tokens=sum(asker.tokens) if asker.tokens else None, cost_usd=asker.cost, subset=self.subset, **facts,
        )  # fmt: skip
        write_outputs(predictions, card, options.out)

    def _ask(self, asker: Asker, choose: ChooseDemonstrations | None) -> pl.DataFrame:
        """Predict the test rows of every target, with demonstrations from every source; one run per source and seed.

        Returns: source ('none' for zero-shot), id, prediction and seed; ``ending`` (an ``Ending``; null if every try
            failed); for scored labels also ``shares`` (lower bound on each label's share; null if no label is listed)
            and ``unlisted`` (1 minus their sum).
        """
        options, prompt = self.options, self.prompt
        rows = self.folder.test(options.task, self.subset)
        domains = rows["domain"].unique(maintain_order=True).to_list()
        for target in options.target or ():
            if target not in domains:
                what, cure = f"subset '{self.subset}' has no such domain", did_you_mean(target, domains)
                raise InvalidInput(Problem(what, "--target", f"'{target}'", cure))
        rows = rows.filter(pl.col("domain").is_in(options.target or domains))
        if choose is None and options.source:
            what, cure = "a source is used only with demonstrations", "omit --source, or set --shots"
            raise InvalidInput(Problem(what, "--source", ", ".join(options.source), cure))
        named = [NO_SOURCE] if choose is None else self._sources(domains)
        runs = [(source, seed) for source in named for seed in dict.fromkeys(options.seed or (0,))]
        of = f"{plural(len(rows), 'test row')} of subset '{self.subset}', {plural(len(runs), 'run')}"
        log.info("prompting on %s: %s", plural(len(rows) * len(runs), "row"), of)
        parts = []
        n_prompts = len(runs) * len(rows) * (1 + len(CONTENT_FREE) * options.calibrate)
        with progress(total=n_prompts, desc="asking", unit="prompt") as bar:
            for source, seed in runs:
                shown = self._demonstrations(source, rows, choose, seed) if choose else [()] * len(rows)
                test = list(rows.iter_rows(named=True))
                requests = [prompt.request(row, examples) for row, examples in zip(test, shown, strict=True)]
                if options.calibrate:  # sent together, so that the common prefix is read once
                    requests += [each for examples in shown for each in prompt.content_free_requests(examples)]
                answers = asker.ask(requests, bar)
                own = answers[: len(rows)]
                if options.score_labels:
                    scores = [_scores_of(answer) for answer in answers]
                    if options.calibrate:
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

    def _sources(self, domains: Sequence[str]) -> list[str]:
        """Choose the sources of demonstrations: as for training, but by default only domains in the subset."""
        info = self.folder.task(self.options.task)
        inside = [domain for domain in domains if "train" in info.domains[domain].splits]
        each = info.joined_source is None and info.id_domain is None
        return choose_sources(self.folder, self.options.task, self.options.source or (inside if each else None))

    def _demonstrations(
        self, source: str, rows: pl.DataFrame, choose: ChooseDemonstrations, seed: int
    ) -> list[list[dict[str, object]]]:
        train = pl.concat([self.folder.split(self.options.task, part, "train") for part in source_parts(source)])
        chosen = choose(train, rows, seed)
        needed = sorted({place for places in chosen for place in places})
        examples = dict(zip(needed, train[needed].iter_rows(named=True), strict=True))
        return [[examples[place] for place in places] for places in chosen]


def _scores_of(answer: ModelAnswer) -> LabelScores | None:
    """Read label scores from a response; None if the model scored none, for example because the prompt is too long."""
    if not answer.text or answer.ending is not Ending.COMPLETE:
        return None
    return LabelScores.from_text(answer.text)


def _calibrated(scores: Sequence[LabelScores | None], n: int, labels: Sequence[str]) -> list[LabelScores | None]:
    """Calibrate the scores of n rows by the scores for content-free inputs, which follow the rows' own in ``scores``.

    Raises: InvalidInput listing the labels that are censored in any response: only a bound on their probability is
        known, and using the bound as the value could favour labels that are never predicted.
    """
    censored = {place for each in scores if each is not None for place in each.censored}
    if censored:
        found = ", ".join(f"'{labels[place]}'" for place in sorted(censored))
        cure = "use --api completions or --local, which score every label, or omit --calibrate"
        what = f"labels that are not among the {TOP} most probable tokens cannot be calibrated"
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


def with_confidences(asked: pl.DataFrame, *, probabilities: bool) -> pl.DataFrame:
    """Add confidences to predictions from scored labels, if the scores are known well enough.

    If censored labels may have 1% of the probability or more on average, neither confidences nor probabilities are
    written, because calibration error would be undetermined. Below that, the unknown probability is divided equally
    among a row's labels.

    Returns: source, id, prediction, seed, and possibly confidence and probabilities.
    """
    plain = asked.drop("shares", "unlisted")
    scored = asked.filter(pl.col("shares").is_not_null())
    if scored.is_empty():
        return plain
    unlisted = float(scored["unlisted"].mean())  # type: ignore[arg-type]
    if unlisted:
        undecided = int((scored["shares"].list.max() <= scored["unlisted"]).sum())
        line = f"{100 * unlisted:.1f}% of the labels' probability mass is not returned by the server"
        if undecided:
            line += f"; in {plural(undecided, 'text')} of {len(scored):,} a missing label may be more probable"
        if unlisted >= MOST_UNLISTED:
            line += "; confidences are not written, because the calibration error would be unreliable"
        log.warning("%s; --api completions scores every label if the server supports echo", line)
    if unlisted >= MOST_UNLISTED:
        return plain
    lists = pl.col("shares") + pl.col("unlisted") / pl.col("shares").list.len()
    columns = [
        pl.col("shares").list.max().alias("confidence"),
        *([pl.col("shares").alias("probabilities")] * probabilities),
    ]
    return asked.with_columns(shares=lists).select(*plain.columns, *columns)


def endings_line(endings: Sequence[str | None], usable: Sequence[bool]) -> str:
    """Summarise how responses ended, and how many of each kind could not be parsed.

    >>> endings_line(["complete", "complete", "truncated", "refused"], [True, False, False, False])
    '3 of 4 predictions could not be parsed: 1 truncated (increase --max-tokens), 1 refused, 1 unparsed'
    """
    words = {
        Ending.TRUNCATED: "truncated (increase --max-tokens)",
        Ending.REFUSED: "refused",
        Ending.TOO_LONG: "too long for the model",
        Ending.COMPLETE: "unparsed",
    }
    answered = [(ending, fine) for ending, fine in zip(endings, usable, strict=True) if ending is not None]
    lost = Counter(ending for ending, fine in answered if not fine)
    line = f"{lost.total():,} of {len(answered):,} predictions could not be parsed"
    if lost:
        line += ": " + ", ".join(f"{lost[ending]:,} {words[ending]}" for ending in words if lost[ending])
    cut = sum(ending == Ending.TRUNCATED for ending, fine in answered if fine)
    return line + (f"; {cut:,} more were truncated but could be parsed" if cut else "")
