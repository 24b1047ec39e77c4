"""Value of the advice of ``check`` on which domains to label, compared with labelling evenly and at random.

A file is one reference model, trained on one domain, with its predictions on real rows of all domains of the task. The
source domain is fully labelled; every other domain starts with ``START`` labelled texts, sampled by whole groups. Then
each strategy spends the same budget of further labels:

- evenly over all domains;
- at random over all unlabelled texts;
- by the advice of one check: evenly over the domains whose recommended step is *label*;
- by the advice in four rounds, each with a new check and a quarter of the budget.

If the advice is to label no domain, the rest of the budget is not spent. A final check decides which domains are
accepted. A domain is truly acceptable if its drop with all labels of domain and source is below 5 points. The
error is the share of domains with a wrong decision; open decisions (*label*) count as not accepted.

All strategies label texts in the same random order. Intervals are for the mean difference of errors over the given
files, from the variation over repeats, so they do not generalise to other files.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from zlib import crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import t

from shiftbench.baselines.grid.stored import StoredTrials
from shiftbench.baselines.grid.trial import PREDICTIONS
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.label_budget import share_budget
from shiftbench.metrics.ranking import holm
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.scoring.scores.figures import Figure, difference, single
from shiftbench.scoring.scores.next_steps import MARGIN, Domain, Step, next_steps
from shiftbench.scoring.scores.outcomes import TargetRuns, target_runs
from shiftbench.scoring.scores.score import checked_predictions
from shiftbench.scoring.scores.values import sampled_scores
from shiftbench.validation.progress import progress
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import PLACEBO

START = 100
"""Number of initially labelled texts per domain."""
BUDGETS = (100, 300, 800)
"""Budgets: further labels per domain."""
Labelled = dict[str, int]
"""Number of labelled texts per domain."""


@dataclass
class File:
    """One model's outcomes on the rows of one task.

    Attributes:
        name: the model and its training.
        metric: the task's metric.
        source: the source domain.
        targets: the model's outcomes on the test texts, by domain (including the source).
    """

    name: str
    metric: str
    source: str
    targets: Mapping[str, TargetRuns]
    _order: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    _known: dict[tuple[str, int], Domain] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sizes = {name: len(target.ids) for name, target in self.targets.items() if name != self.source}
        self.in_domain = self._score(self.targets[self.source])
        whole = {name: difference(self.in_domain, self._score(self.targets[name])).value for name in self.sizes}
        self.is_acceptable = {name: loss < MARGIN for name, loss in whole.items()}

    def _score(self, target: TargetRuns) -> Figure:
        return single(sampled_scores(target, [0], self.metric)[0])

    def shuffle(self, rng: np.random.Generator) -> None:
        """Sample the order in which texts are labelled, keeping groups together."""
        self._known.clear()
        for name in self.sizes:
            groups = self.targets[name].groups
            self._order[name] = np.argsort(rng.permutation(groups.max() + 1)[groups], kind="stable")

    def steps(self, labelled: Labelled) -> dict[str, str]:
        """Return the step that a check (without probes) recommends for each domain, given the labelled texts."""
        known = {name: self._partly(name, n) for name, n in labelled.items()}
        tested = [name for name, each in known.items() if not np.isnan(each.p)]
        corrected = dict(zip(tested, holm([known[name].p for name in tested]).tolist(), strict=True))
        domains = {name: each._replace(p=corrected.get(name, each.p)) for name, each in known.items()}
        return {each.domain: each.step for each in next_steps(domains)}

    def _partly(self, name: str, n: int) -> Domain:
        """Estimate score and drop of a domain from the first n texts in labelling order; p is uncorrected."""
        if (name, n) not in self._known:
            chosen = np.zeros(self.sizes[name], dtype=np.bool_)
            chosen[self._order[name][:n]] = True
            score = self._score(self.targets[name].of_rows(chosen))
            loss = difference(self.in_domain, score)
            self._known[name, n] = Domain(score, n, loss, loss.p_value())
        return self._known[name, n]


Way = Callable[[File, Labelled, int, np.random.Generator], Labelled]
"""Allocates a budget of labels."""


def _add(file: File, labelled: Labelled, domains: Sequence[str], budget: int) -> Labelled:
    """Label up to ``budget`` more texts, evenly over ``domains``; less in domains with too few unlabelled texts."""
    room = [file.sizes[name] - labelled[name] for name in domains]
    shares = share_budget(room, min(budget, sum(room)))
    return labelled | {name: labelled[name] + share for name, share in zip(domains, shares, strict=True)}


def spend_evenly(file: File, labelled: Labelled, budget: int, _: np.random.Generator) -> Labelled:
    """Allocate the labels evenly to all domains."""
    return _add(file, labelled, list(labelled), budget)


def spend_at_random(file: File, labelled: Labelled, budget: int, rng: np.random.Generator) -> Labelled:
    """Sample the texts to label from all unlabelled ones."""
    names = list(labelled)
    pool = np.repeat(np.arange(len(names)), [file.sizes[name] - labelled[name] for name in names])
    drawn = np.bincount(rng.permutation(pool)[:budget], minlength=len(names))
    return {name: labelled[name] + int(n) for name, n in zip(names, drawn, strict=True)}


def spend_by_advice(file: File, labelled: Labelled, budget: int, _: np.random.Generator, rounds: int = 1) -> Labelled:
    """Allocate the labels evenly to the domains with the step "label", checking again before each round."""
    left = budget
    for number in range(rounds):
        domains = [name for name, step in file.steps(labelled).items() if step == Step.LABEL]
        before = sum(labelled.values())
        labelled = _add(file, labelled, domains, left // (rounds - number))
        left -= sum(labelled.values()) - before
    return labelled


def spend_in_rounds(file: File, labelled: Labelled, budget: int, rng: np.random.Generator) -> Labelled:
    """Allocate the labels by the advice in four rounds, with a new check before each."""
    return spend_by_advice(file, labelled, budget, rng, rounds=4)


WAYS: dict[str, Way] = {
    "evenly": spend_evenly,
    "at random": spend_at_random,
    "by advice": spend_by_advice,
    "by advice, 4 rounds": spend_in_rounds,
}


class Decided(NamedTuple):
    """Decisions about a file's domains after a budget was spent.

    Attributes:
        wrong: share of domains with a wrong decision.
        wrongly_accepted: share of domains accepted although the drop is too large.
        open: share of domains without a decision.
        labels: number of labels used.
    """

    wrong: float
    wrongly_accepted: float
    open: float
    labels: float


def decide(file: File, labelled: Labelled, spent: int) -> Decided:
    """Compare the decisions of the final check with the truth; ``spent`` is the number of labels used."""
    steps = file.steps(labelled)
    accepted = {name: step == Step.ACCEPT for name, step in steps.items()}
    wrong = [accepted[name] != file.is_acceptable[name] for name in steps]
    wrongly = [accepted[name] and not file.is_acceptable[name] for name in steps]
    is_open = [step == Step.LABEL for step in steps.values()]
    return Decided(float(np.mean(wrong)), float(np.mean(wrongly)), float(np.mean(is_open)), spent)


def repeat(file: File, budgets: Sequence[int], seed: Sequence[int]) -> dict[str, list[Decided]]:
    """Spend every budget by every strategy, with texts labelled in the same random order.

    Args:
        file: the model's outcomes.
        budgets: labels per domain.
        seed: seed of this repeat.
    Returns: by strategy, the decisions with each budget.
    """
    found: dict[str, list[Decided]] = {name: [] for name in WAYS}
    rng = np.random.default_rng(seed)
    file.shuffle(rng)
    start = {name: min(START, size) for name, size in file.sizes.items()}
    for budget in budgets:
        whole = min(budget * len(start), sum(file.sizes.values()) - sum(start.values()))
        for name, way in WAYS.items():
            labelled = way(file, dict(start), whole, rng)
            found[name].append(decide(file, labelled, sum(labelled.values()) - sum(start.values())))
    return found


def read_models(board: Path, folder: DatasetFolder) -> Iterator[File]:
    """Read the predictions of trained models for a dataset's rows, matched by id.

    Args:
        board: a folder with ``shiftbench grid``'s runs, possibly packed.
        folder: the dataset.
    Yields: models with one source domain, predictions on it, and predictions on at least two other domains; only the
        first seed of each, as further seeds add little evidence. Models with constant predictions on the source domain,
        and placebos, are skipped.
    """
    kept = StoredTrials(board)
    for trial in kept.trials():
        task, model, name = trial.folder.parts
        if task not in folder.manifest.tasks or task.endswith(PLACEBO):
            continue
        with TemporaryDirectory() as place:
            file = Path(place, PREDICTIONS)
            kept.predictions(trial).write_parquet(file)
            try:
                frame = checked_predictions(file, folder, "all")
            except InvalidInput:  # the predictions are for another version of the rows
                continue
        source = frame["source"][0]
        if frame["seed"][0] != 0:
            continue
        targets = {each.target: each for each in target_runs(task, frame, folder, "all")}
        of_source = frame.filter(pl.col("target") == source)["prediction"]
        if source in targets and len(targets) > 2 and of_source.n_unique() > 1:
            yield File(f"{board.name}/{model}/{name}", folder.task(task).metric, source, targets)


def measure(
    files: Sequence[File], n_repeats: int, seed: int, resume: Path | None = None, budgets: Sequence[int] = BUDGETS
) -> dict[str, NDArray[np.float64]]:
    """Measure every strategy on every file, repeatedly.

    Args:
        files: the models.
        n_repeats: repeats per model.
        seed: seed of all repeats.
        resume: a file of JSON lines with finished models, which is read and appended to; None for none.
        budgets: labels per domain.
    Returns: by strategy, the fields of ``Decided``, shape (n_budgets, n_files, n_repeats, 4).
    """
    done = {}
    if resume is not None and resume.exists():
        done = {tuple(line["key"]): line["found"] for line in map(json.loads, resume.read_text().splitlines())}
    rows: dict[str, list[NDArray[np.float64]]] = {name: [] for name in WAYS}
    for file in progress(files, desc="advising", unit="model"):
        key = (file.name, seed, n_repeats, START, *budgets)
        if key not in done:
            repeats = [repeat(file, budgets, [seed, crc32(file.name.encode()), each]) for each in range(n_repeats)]
            done[key] = {name: [each[name] for each in repeats] for name in WAYS}
            if resume is not None:
                with resume.open("a") as out:
                    out.write(json.dumps({"key": key, "found": done[key]}) + "\n")
        for name in WAYS:
            rows[name].append(np.swapaxes(np.array(done[key][name], dtype=np.float64), 0, 1))
    return {name: np.stack(parts, axis=1) for name, parts in rows.items()}


@dataclass(frozen=True)
class Worth:
    """Errors with one strategy and budget, compared with the even allocation; fractions.

    Attributes:
        budget: labels per domain.
        way: the strategy.
        means: the decisions, means over files and repeats.
        less: mean error minus that of the even allocation.
        low, high: 95% limits of ``less``, over repeats.
        better, worse: number of files with a lower, or higher, mean error than the even allocation.
    """

    budget: int
    way: str
    means: Decided
    less: float
    low: float
    high: float
    better: int
    worse: int


def summarise(found: Mapping[str, NDArray[np.float64]], budgets: Sequence[int] = BUDGETS) -> list[Worth]:
    """Average the decisions, and compare each strategy with the even allocation.

    Args:
        found: from ``measure``, with at least two repeats.
        budgets: labels per domain.
    """
    rows = []
    for place, budget in enumerate(budgets):
        for way, all_budgets in found.items():
            here = all_budgets[place]
            less = here[..., 0] - found["evenly"][place][..., 0]
            by_repeat, by_file = less.mean(axis=0), less.mean(axis=1)
            reach = t.ppf(0.975, len(by_repeat) - 1) * by_repeat.std(ddof=1) / np.sqrt(len(by_repeat))
            value = float(by_repeat.mean())
            means = Decided(*here.mean(axis=(0, 1)).tolist())
            counts = int((by_file < 0).sum()), int((by_file > 0).sum())
            bounds = value, value - float(reach), value + float(reach)
            rows.append(Worth(budget, way, means, *bounds, *counts))
    return rows


def advice_lines(rows: Sequence[Worth], files: Sequence[File], n_repeats: int) -> Iterator[str | PlainTable]:
    """Yield a sentence on the models and repeats, and the table of strategies.

    Args:
        rows: from ``summarise``.
        files: the models.
        n_repeats: repeats per model.
    """
    truths = [each for file in files for each in file.is_acceptable.values()]
    yield (
        f"{len(files)} models, {len(truths)} target domains, of which {sum(truths)} lose less than "
        f"{100 * MARGIN:g} points according to all labels; {START} labels per domain at the start; {n_repeats} "
        "repeats. Decisions are in percent of domains, differences in points with 95% intervals over repeats."
    )
    head = (
        "labels per domain", "allocation", "wrong", "wrongly accepted", "open", "labels per model",
        "wrong, minus evenly", "models",
    )  # fmt: skip
    cells = []
    for row in rows:
        bounds = f"{100 * row.less:+.1f} [{100 * row.low:+.1f}, {100 * row.high:+.1f}]"
        shares = (f"{100 * each:.1f}" for each in row.means[:3])
        models = "" if row.way == "evenly" else f"{row.better} better, {row.worse} worse"
        compared = "" if row.way == "evenly" else bounds
        cells.append([f"{row.budget}", row.way, *shares, f"{row.means.labels:,.0f}", compared, models])
    yield PlainTable(f"Decisions at a margin of {100 * MARGIN:g} points, by allocation of labels", head, cells)


def as_json(rows: Sequence[Worth], n_files: int, n_repeats: int, seed: int) -> dict[str, object]:
    """Return the contents of the file of ``--json``; errors are fractions."""
    return {
        "models": n_files,
        "repeats": n_repeats,
        "seed": seed,
        "ways": [asdict(row) | {"means": row.means._asdict()} for row in rows],
    }
