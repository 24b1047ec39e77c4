"""Simulated attacks on withheld labels by crowds of accounts, and the cost of the defence for an honest newcomer.

The test texts are divided into a feedback half, on which accounts get a score (Ladder), and a ranking half, on which
rounds compare entries. A crowd pools all responses to its accounts. In advance it knows some labels, each with
probability 97%: half of them (prior *strong*), a tenth (*weak*) or none (*none*). About the others it knows nothing.
Its gain is the accuracy of its final guess at all labels of a half minus that of its first guess. All draws of a
setting are simulated at once: arrays have one row per draw.

feedback, Bayesian  submits files whose expected score equals the hurdle (the score to beat). Known labels serve as
                    levers: some are submitted wrong to lower the expected score; other labels are sampled. Beliefs are
                    updated after each score and each refusal (diagonal Gaussian updates)
feedback, boosting  submits files sampled from the prior beliefs; each file then votes for its labels, weighted by how
                    much better or worse than expected its score is
ranking, Bayesian   chooses every comparison (cut) of the rounds, as if the crowd knew which texts are in which half:
                    two files differ on a block of labels, and on as many known labels as make both outcomes equally
                    likely
ranking, boosting   nominates files sampled from the prior beliefs; cuts are proposed from their feedback halves, and
                    each file votes for its labels, weighted by its rank
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri
from tqdm import tqdm

from shiftbench.leaderboard.release.history import LOOKS_PER_YEAR
from shiftbench.leaderboard.release.ladder import MIN_STEP, STANDARD_ERRORS, Measured
from shiftbench.leaderboard.release.meter import gain_by_feedback
from shiftbench.leaderboard.release.ranking import (
    ROUNDS_PER_YEAR,
    Cut,
    answers_per_round,
    highest_gain,
    propose_cuts,
    rank_ranges,
    steps_between,
)
from shiftbench.scoring.reports.plain_tables import PlainTable

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
TEXTS, ACCOUNTS, CLASSES = (500, 1_000, 2_000, 5_000), (1, 4, 20, 100), (2, 3)
PRIORS = {"none": 0.0, "weak": 0.1, "strong": 0.5}
"""Share of labels known in advance."""
ATTACKS, HALVES = ("Bayesian", "boosting"), ("feedback", "ranking")
BOARDS, LEADS = (2, 5, 20, 50), (0.0, 0.02, 0.05)
"""Number of entries on an honest board; true lead of a newcomer over a rival."""
_MORE_DRAWS = {("ranking", "Bayesian"): 10}
"""Factor on the number of draws, for attacks that take little time."""
_SURE, _LEVER = 0.97, 0.9
"""Probability that a label known in advance is correct; probability from which it may be submitted wrong on purpose."""
_TINY = 1e-4


class Cell(msgspec.Struct, frozen=True, tag=True):
    """Gain of one attack in one setting.

    Attributes:
        half, attack: the half attacked, ``feedback`` or ``ranking``, and the attack.
        classes: number of classes.
        prior: a key of ``PRIORS``.
        texts: number of texts in the half.
        accounts, draws: number of accounts of the crowd, and of simulations.
        gain, error: mean gain over the draws, a fraction of the labels, and its standard error.
    """

    half: str
    attack: str
    classes: int
    prior: str
    texts: int
    accounts: int
    draws: int
    gain: float
    error: float


class Newcomer(msgspec.Struct, frozen=True, tag=True):
    """Information that an honest new submitter receives, averaged over simulations.

    Attributes:
        texts, draws: number of texts per half, and of simulations.
        told: share of rounds that show the newcomer's true lead over a rival, by number of entries and lead.
        unlimited: share of ranking halves that would show the lead if every pair were compared, by lead.
        first, tenth: the newcomer submits ten files, each a point better than the one before: share of simulations in
            which the first, or the tenth, gets a score.
        numbers: mean number of these ten files that get a score.
        off: mean absolute difference between the last released score and the file's accuracy on the feedback half.
    """

    texts: int
    draws: int
    told: dict[str, float]
    unlimited: dict[str, float]
    first: float
    tenth: float
    numbers: float
    off: float


class Crowd:
    """The true labels of one half, shape (draws, texts), and a crowd's beliefs about them, (draws, texts, classes).

    The truth is sampled from the prior beliefs, so these are calibrated.
    """

    def __init__(self, draws: int, texts: int, classes: int, prior: str, rng: np.random.Generator) -> None:
        self.rng, self.classes = rng, classes
        sure = np.where(rng.random((draws, texts)) < PRIORS[prior], _SURE, 1 / classes + _TINY)
        guess = rng.integers(classes, size=sure.shape)
        self.beliefs = np.repeat(((1 - sure) / (classes - 1))[..., None], classes, axis=2)
        np.put_along_axis(self.beliefs, guess[..., None], sure[..., None], axis=2)
        self.gold = self.draw()
        self.start = self.share_right(guess)

    def draw(self) -> Codes:
        """Sample labels from the beliefs."""
        edges = self.beliefs.cumsum(axis=2)[..., :-1]
        return np.asarray((self.rng.random(self.beliefs.shape[:2])[..., None] > edges).sum(axis=2))

    def share_right(self, file: Codes) -> Floats:
        """Return each draw's share of correct labels."""
        return np.asarray((file == self.gold).mean(axis=1))

    def chance_of(self, file: Codes) -> Floats:
        """Return the believed probability that each label of a file is correct."""
        return np.take_along_axis(self.beliefs, file[..., None], axis=2)[..., 0]

    def shift(self, file: Codes, moved: Floats) -> None:
        """Add ``moved`` to the probabilities of a file's labels, and rescale those of the other labels."""
        old = self.chance_of(file)
        new = np.clip(old + moved, _TINY, 1 - _TINY)
        self.beliefs *= ((1 - new) / (1 - old))[..., None]
        np.put_along_axis(self.beliefs, file[..., None], new[..., None], axis=2)

    def gain(self) -> Floats:
        """Return, per draw, the accuracy of the most probable labels minus that of the first guess."""
        return self.share_right(self.beliefs.argmax(axis=2)) - self.start


class Ladders:
    """Feedback to one account in each draw: a vectorised ``ladder.next_rung`` with simulated labels."""

    def __init__(self, gold: Codes, rng: np.random.Generator) -> None:
        self.gold, self.rng = gold, rng
        self.told = np.full(len(gold), -np.inf)
        self.file = np.zeros_like(gold)

    def look(self, file: Codes) -> Floats:
        """Submit one file per draw; return the released scores, shape (draws,), NaN where no score is released."""
        right = file == self.gold
        # next_rung compares a file with its own shuffled predictions. One permutation serves all draws, as their labels
        # are independent.
        guess = file[:, self.rng.permutation(file.shape[1])] == self.gold
        last, value = self.file == self.gold, right.mean(axis=1)
        is_first = np.isinf(self.told)
        hurdle = np.maximum(self.told, np.where(is_first, -np.inf, last.mean(axis=1)))
        cleared = value > guess.mean(axis=1) + paired_step(right, guess) + 1e-12
        cleared &= is_first | (value > hurdle + paired_step(right, last) + 1e-12)
        number = np.where(cleared, np.round(value / MIN_STEP) * MIN_STEP, np.nan)
        self.told = np.where(cleared, number, self.told)
        self.file = np.where(cleared[:, None], file, self.file)
        return number


def paired_step(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> Floats:
    """Return, per draw, the smallest difference between two files' accuracies that is reported; texts are ungrouped."""
    differences = first.astype(np.int8) - second
    squares, mean = np.square(differences).mean(axis=1), differences.mean(axis=1)
    variance = np.maximum(squares - mean**2, 0) / (first.shape[1] - 1)
    return np.asarray(np.maximum(MIN_STEP, STANDARD_ERRORS * np.sqrt(variance)))


def below(edge: Floats) -> Floats:
    """Return the mean of a standard normal variable truncated above at ``edge``."""
    return np.asarray(-np.exp(-(edge**2) / 2 - 0.5 * np.log(2 * np.pi) - log_ndtr(edge)))


def bayesian_feedback(crowd: Crowd, accounts: Sequence[int]) -> Iterable[tuple[int, Floats]]:
    """Attack the feedback half with the Bayesian strategy, one account after the other.

    Yields: the number of accounts used so far, if it is in ``accounts``, and the gain of each draw.
    """
    n_texts = crowd.gold.shape[1]
    for account in range(1, max(accounts) + 1):
        ladders = Ladders(crowd.gold, crowd.rng)
        for _ in range(LOOKS_PER_YEAR):
            file, (hurdle, spread) = _at_the_hurdle(crowd, ladders)
            right = crowd.chance_of(file)
            variance = right * (1 - right)
            total, expected = variance.sum(axis=1), right.sum(axis=1)
            number = ladders.look(file)
            sd = np.sqrt(total + spread**2)
            refused = expected + total / sd * below((hurdle - expected) / sd)
            rounding = (MIN_STEP * n_texts) ** 2 / 12
            answered = expected + total / (total + rounding) * (number * n_texts - expected)
            seen = np.where(np.isnan(number), refused, answered)
            crowd.shift(file, variance * ((seen - expected) / total)[:, None])
        if account in accounts:
            yield account, crowd.gain()


def _at_the_hurdle(crowd: Crowd, ladders: Ladders) -> tuple[Codes, tuple[Floats, Floats]]:
    """Build the most informative file of each draw: its expected score is close to the hurdle (the score to beat).

    Three shares of sampled labels are tried. The more labels are sampled, the more a score reveals about each; but the
    further the expected score is below the hurdle, the less a refusal reveals.

    Returns: the files; the hurdle of each, as a number of correct texts, and its standard deviation.
    """
    n_texts, chance = crowd.gold.shape[1], 1 / crowd.classes
    best, sure, drawn = crowd.beliefs.argmax(axis=2), crowd.beliefs.max(axis=2), crowd.draw()
    wrong = (best + crowd.rng.integers(1, crowd.classes, best.shape)) % crowd.classes
    is_first = np.isinf(ladders.told)
    told = np.where(is_first, chance, ladders.told)
    spread = np.where(is_first, np.sqrt(chance * (1 - chance) * n_texts), MIN_STEP * n_texts / np.sqrt(12))
    is_lever = sure > _LEVER
    is_lever |= (crowd.rng.random(best.shape) < 0.4) & (is_lever.mean(axis=1) < 0.1)[:, None]
    found, at, most = best, np.zeros(len(best)), np.full(len(best), -1.0)
    for explored in (1.0, 0.5, 0.25):
        file = np.where(~is_lever & (crowd.rng.random(best.shape) < explored), drawn, best)
        right = crowd.chance_of(file)
        differs = file != ladders.file
        squares = np.where(differs, right + crowd.chance_of(ladders.file), 0).sum(axis=1)
        squares = np.where(is_first, (right * (1 - chance) + (1 - right) * chance).sum(axis=1), squares)
        hurdle = told * n_texts + np.maximum(MIN_STEP * n_texts, STANDARD_ERRORS * np.sqrt(squares))
        # Submit levers wrong until the expected score is down at the hurdle.
        excess = right.sum(axis=1) - hurdle
        worth = np.where(is_lever, right - crowd.chance_of(wrong), 0).sum(axis=1)
        held = np.clip(excess / np.maximum(worth, 1), 0, 1)
        file = np.where(is_lever & (crowd.rng.random(best.shape) < held[:, None]), wrong, file)
        edge = np.maximum(-excess, 0) / np.sqrt((right * (1 - right)).sum(axis=1) + spread**2)
        tells = explored * np.exp(-(edge**2) - log_ndtr(edge) - log_ndtr(-edge))
        better = tells > most
        found, at = np.where(better[:, None], file, found), np.where(better, hurdle, at)
        most = np.where(better, tells, most)
    return found, (at, spread)


def boosting_feedback(crowd: Crowd, accounts: Sequence[int]) -> Iterable[tuple[int, Floats]]:
    """Attack the feedback half with the boosting strategy: files sampled from the prior beliefs vote for their labels.

    Yields: the number of accounts used so far, if it is in ``accounts``, and the gain of each draw.
    """
    start, votes = crowd.beliefs, np.log(crowd.beliefs)
    for account in range(1, max(accounts) + 1):
        ladders = Ladders(crowd.gold, crowd.rng)
        for _ in range(LOOKS_PER_YEAR):
            file = crowd.draw()
            right = crowd.chance_of(file)
            sd = np.sqrt((right * (1 - right)).sum(axis=1))
            number = ladders.look(file)
            deviation = (number * file.shape[1] - right.sum(axis=1)) / sd
            # A file without a score is slightly worse than expected: by 0.055 standard deviations, on average.
            _vote(votes, start, file, np.where(np.isnan(number), -0.055, deviation) / sd)
        if account in accounts:
            crowd.beliefs = votes
            yield account, crowd.gain()
            crowd.beliefs = start


def _vote(votes: Floats, start: Floats, file: Codes, weight: Floats) -> None:
    """Add a file's weighted votes; subtract the expected vote under the prior, which carries no information."""
    added = np.take_along_axis(votes, file[..., None], axis=2) + weight[:, None, None]
    np.put_along_axis(votes, file[..., None], added, axis=2)
    votes -= weight[:, None, None] * start


def bayesian_rounds(crowd: Crowd, accounts: int) -> Floats:
    """Attack the ranking half with the Bayesian strategy for a year of rounds; return the gain of each draw.

    A cut separates the entries of a round into better and worse ones, so it needs two entries. A single account
    compares its entry with one whose predictions it knows; n accounts can ask for n cuts.
    """
    n_draws, n_texts = crowd.gold.shape
    n_cuts = min(answers_per_round(n_texts), accounts)
    sure = crowd.beliefs.max(axis=2)
    is_lever = sure > _LEVER
    block = crowd.rng.integers(ROUNDS_PER_YEAR * n_cuts, size=sure.shape)
    for number in range(ROUNDS_PER_YEAR * n_cuts):
        asked = (block == number) & ~is_lever
        first = np.where(asked, crowd.draw(), crowd.beliefs.argmax(axis=2))
        other = (first + crowd.rng.integers(1, crowd.classes, first.shape)) % crowd.classes
        ahead, behind = crowd.chance_of(first), crowd.chance_of(other)
        # Without labels known in advance, the texts outside the block are levers: rounds learn some of their labels.
        lever = is_lever if is_lever.any() else ~asked
        order = np.where(lever, crowd.rng.random(sure.shape), 2.0)
        # Find the number of levers that makes both outcomes equally likely. It is a fixed point, because the step grows
        # with the number of labels on which the two files differ.
        n_asked, gap = asked.sum(axis=1), (asked * (ahead - behind)).sum(axis=1)
        worth = (lever * (ahead - behind)).sum(axis=1) / np.maximum(lever.sum(axis=1), 1)
        n_levers = np.zeros(n_draws)
        for _ in range(30):
            step = np.maximum(MIN_STEP * n_texts, STANDARD_ERRORS * np.sqrt(n_asked + n_levers))
            n_levers = np.clip((step - gap) / np.maximum(worth, _TINY), 0, lever.sum(axis=1))
        last = np.minimum(n_levers, n_texts - 1).astype(int)[:, None]
        differs = asked | (lever & (order < np.take_along_axis(np.sort(order, axis=1), last, axis=1)))
        second = np.where(differs, other, first)
        right, left = first == crowd.gold, second == crowd.gold
        answer = right.mean(axis=1) - left.mean(axis=1) > paired_step(right, left)
        each = np.where(differs, ahead - behind, 0)
        variance = np.where(differs, ahead + behind, 0) - each**2
        total, expected = variance.sum(axis=1), each.sum(axis=1)
        sd = np.sqrt(np.maximum(total, _TINY))
        step = np.maximum(MIN_STEP * n_texts, STANDARD_ERRORS * np.sqrt(np.maximum(differs.sum(axis=1), 1)))
        edge = (step - expected) / sd
        pull = np.where(answer, -below(-edge), below(edge)) / sd
        # A belief changes by its covariance with the difference of the two files.
        sign = (np.arange(crowd.classes) == first[..., None]) * 1.0 - (np.arange(crowd.classes) == second[..., None])
        moved = crowd.beliefs * (sign - each[..., None]) * differs[..., None]
        crowd.beliefs = np.clip(crowd.beliefs + moved * pull[:, None, None], _TINY, 1)
        crowd.beliefs /= crowd.beliefs.sum(axis=2, keepdims=True)
    return crowd.gain()


def boosting_rounds(crowd: Crowd, accounts: int) -> Floats:
    """Attack the ranking half with the boosting strategy for a year of rounds; return the gain of each draw.

    Every round ranks the attacker's best guess and one file per account, sampled from the prior beliefs; each file then
    votes for its labels, weighted by its rank.
    """
    start, votes = crowd.beliefs, np.log(crowd.beliefs)
    seen, n_texts = crowd.draw(), crowd.gold.shape[1]  # labels of the feedback half, as well known as these
    for _ in range(ROUNDS_PER_YEAR):
        files = np.stack([start.argmax(axis=2), *(crowd.draw() for _ in range(accounts))], axis=1)
        cuts = [
            confirmed_cuts(mine == other[None], mine == gold[None])
            for mine, other, gold in zip(files, seen, crowd.gold, strict=True)
        ]
        better = np.array(
            [[last - first for first, last in _balance(rank_ranges(accounts + 1, each))] for each in cuts]
        )
        for number in range(accounts + 1):
            _vote(votes, start, files[:, number], better[:, number] / (accounts + 1) / np.sqrt(n_texts))
    crowd.beliefs = votes
    return crowd.gain()


def _balance(placed: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Convert rank intervals (best, worst) to numbers of entries shown to be better, and shown to be worse."""
    return [(first - 1, len(placed) - last) for first, last in placed]


def confirmed_cuts(feedback: NDArray[np.bool_], ranking: NDArray[np.bool_]) -> list[Cut]:
    """Return the confirmed cuts of a round: divisions of its entries into better and worse ones.

    Args:
        feedback: whether each entry is correct on each text of the feedback half, shape (n_entries, n_texts).
        ranking: the same for the ranking half.
    """
    proposed = propose_cuts(*_scores_and_steps(feedback), answers_per_round(ranking.shape[1]))
    scores, steps = _scores_and_steps(ranking)
    return [cut for cut in proposed if cut.is_confirmed(scores, steps)]


def _scores_and_steps(right: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    ones = right.astype(np.float64)
    sums, n = ones.sum(axis=1), ones.shape[1]
    entries = [[Measured(total / n, (total - row) / (n - 1))] for total, row in zip(sums, ones, strict=True)]
    return sums / n, steps_between(entries)


def measure(draws: int, seed: int, resume: Path | None = None) -> tuple[list[Cell], list[Newcomer]]:
    """Simulate every setting of attacks and of honest boards.

    Args:
        draws: simulations per setting of attacks; honest boards have ten times as many.
        seed: seed of the simulation.
        resume: file of finished settings, which are reused if the number of draws is the same; new ones are appended.
    Returns: the results of attacks, and of honest newcomers.
    """
    lines = resume.read_bytes().splitlines() if resume is not None and resume.exists() else []
    kept = [msgspec.json.decode(line, type=Cell | Newcomer) for line in lines]
    cells = {
        _key(cell): cell
        for cell in kept
        if isinstance(cell, Cell) and cell.draws == draws * _MORE_DRAWS.get(_key(cell)[:2], 1)
    }
    seen = {each.texts: each for each in kept if isinstance(each, Newcomer) and each.draws == 10 * draws}

    def keep(each: Cell | Newcomer) -> None:
        if resume is not None:
            with resume.open("ab") as file:
                file.write(msgspec.json.encode(each) + b"\n")

    settings = list(product(TEXTS, HALVES, ATTACKS, CLASSES, PRIORS))
    for texts, half, attack, classes, prior in tqdm(settings, desc="settings"):
        if any((half, attack, classes, prior, texts, n) not in cells for n in ACCOUNTS):
            for cell in attack_cells(half, attack, classes, prior, texts, draws, seed, ACCOUNTS):
                cells[_key(cell)] = cell
                keep(cell)
    for texts in TEXTS:
        if texts not in seen:
            seen[texts] = newcomer(texts, 10 * draws, np.random.default_rng([seed, texts]))
            keep(seen[texts])
    order = [
        (half, attack, classes, prior, texts, n) for texts, half, attack, classes, prior in settings for n in ACCOUNTS
    ]
    return [cells[key] for key in order], [seen[texts] for texts in TEXTS]


def attack_cells(
    half: str,
    attack: str,
    classes: int,
    prior: str,
    texts: int,
    draws: int,
    seed: int,
    accounts: Sequence[int],
) -> list[Cell]:
    """Simulate one attack by crowds of different sizes, all on the same labels."""
    draws *= _MORE_DRAWS.get((half, attack), 1)
    start = [seed, *f"{half} {attack} {prior}".encode(), classes, texts]
    crowd = partial(Crowd, draws, texts, classes, prior)
    if half == "feedback":
        attacker = bayesian_feedback if attack == "Bayesian" else boosting_feedback
        gains = dict(attacker(crowd(np.random.default_rng(start)), accounts))
    else:
        play = bayesian_rounds if attack == "Bayesian" else boosting_rounds
        gains = {n: play(crowd(np.random.default_rng(start)), n) for n in accounts}
    errors = {n: float(each.std(ddof=1) / np.sqrt(draws)) for n, each in gains.items()}
    return [
        Cell(half, attack, classes, prior, texts, n, draws, float(gain.mean()), errors[n]) for n, gain in gains.items()
    ]


def _key(cell: Cell) -> tuple[Any, ...]:
    return cell.half, cell.attack, cell.classes, cell.prior, cell.texts, cell.accounts


def newcomer(texts: int, draws: int, rng: np.random.Generator) -> Newcomer:
    """Simulate boards of honest entries: accuracies spread over 20 points, latent errors with correlation 0.5."""
    told: dict[str, float] = {}
    unlimited: dict[str, list[bool]] = {}
    for lead in LEADS:
        for entries in BOARDS:
            seen = []
            for _ in range(draws):
                skills = np.array([0.7, 0.7 + lead, *rng.uniform(0.62, 0.82, entries - 2)])
                halves = [_right(skills, texts, rng) for _ in range(2)]
                cuts = confirmed_cuts(*halves)
                seen.append(any(1 in cut.above and 0 in cut.below for cut in cuts))
                if entries == BOARDS[0]:
                    scores, steps = _scores_and_steps(halves[1])
                    unlimited.setdefault(f"{lead}", []).append(scores[1] - scores[0] > steps[0, 1])
            told[f"{entries} {lead}"] = float(np.mean(seen))
    gold = rng.integers(2, size=(draws, texts))
    ladders, difficulty = Ladders(gold, rng), rng.standard_normal((draws, texts))
    numbers, off = np.zeros((10, draws), dtype=bool), np.full(draws, np.nan)
    for number in range(10):
        latent = np.sqrt(0.5) * (difficulty + rng.standard_normal((draws, texts)))
        file = np.where(latent < ndtri(0.7 + 0.01 * number), gold, 1 - gold)
        answer = ladders.look(file)
        numbers[number] = ~np.isnan(answer)
        off = np.where(numbers[number], np.abs(answer - (file == gold).mean(axis=1)), off)
    return Newcomer(
        texts,
        draws,
        told,
        {lead: float(np.mean(each)) for lead, each in unlimited.items()},
        float(numbers[0].mean()),
        float(numbers[-1].mean()),
        float(numbers.sum(axis=0).mean()),
        float(np.nanmean(off)),
    )


def _right(skills: Floats, texts: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Sample on which texts entries are correct, shape (k, texts); ``skills`` are their true accuracies, shape (k,)."""
    latent = np.sqrt(0.5) * (rng.standard_normal(texts) + rng.standard_normal((len(skills), texts)))
    return np.asarray(latent < ndtri(skills)[:, None])


def tables(cells: Sequence[Cell], seen: Sequence[Newcomer]) -> Iterator[PlainTable]:
    """Build the tables of ``docs/why/threat-model.md`` and some more: gains of attacks, and costs for a newcomer."""
    sizes = {half: sorted({cell.texts for cell in cells if cell.half == half}) for half in HALVES}
    for half in HALVES:
        rows = []
        for texts in sizes[half]:
            here = [cell for cell in cells if (cell.half, cell.texts) == (half, texts)]
            worst = [max((cell for cell in here if cell.accounts == n), key=lambda cell: cell.gain) for n in ACCOUNTS]
            bound = gain_by_feedback(LOOKS_PER_YEAR * ACCOUNTS[-1], texts, max(CLASSES))
            if half == "ranking":
                bound = highest_gain(ROUNDS_PER_YEAR * answers_per_round(texts), texts)
            rows.append([f"{texts:,}", *map(_gain, worst), f"{100 * bound:.1f}"])
        heads = ("texts per half", "1 account", *(f"{n} accounts" for n in ACCOUNTS[1:]), "upper bound")
        yield PlainTable(f"Gain on the {half} half in a year, in points: the strongest attack", heads, rows)
    for half in HALVES:
        rows = []
        for attack, prior, classes in product(ATTACKS, PRIORS, CLASSES):
            key = half, attack, classes, prior
            mine = [cell for cell in cells if _key(cell)[:4] == key and cell.accounts == ACCOUNTS[-1]]
            gains = [_gain(cell) for cell in sorted(mine, key=lambda cell: cell.texts)]
            rows.append([attack, prior, str(classes), *gains])
        heads = ("attack", "prior", "classes", *(f"{texts:,} texts" for texts in sizes[half]))
        yield PlainTable(f"Gain of {ACCOUNTS[-1]} accounts on the {half} half, in points", heads, rows)
    for lead in LEADS:
        rows = [
            [f"{each.texts:,}", _percent(each.unlimited[f"{lead}"])]
            + [_percent(each.told[f"{entries} {lead}"]) for entries in BOARDS]
            for each in seen
        ]
        heads = ("texts per half", "all pairs compared", *(f"{entries} entries" for entries in BOARDS))
        yield PlainTable(f"Rounds that show a true lead of {100 * lead:.0f} points", heads, rows)
    rows = [
        [f"{each.texts:,}", _percent(each.first), f"{each.numbers:.1f}", _percent(each.tenth), f"{100 * each.off:.1f}"]
        for each in seen
    ]
    heads = (
        "texts per half", "first file gets a score", "files with a score, of ten", "tenth file gets a score",
        "error of the last score, points",
    )  # fmt: skip
    yield PlainTable("Feedback on ten honest files, each a point better than the one before", heads, rows)


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"


def _gain(cell: Cell) -> str:
    return f"{100 * cell.gain:.1f} ± {100 * cell.error:.1f}"
