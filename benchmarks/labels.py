"""What crowds of accounts gain on withheld labels, and what the rules against that cost an honest newcomer.

A crowd pools every answer. Beforehand it knows some labels (to 97%) and nothing of the others: a tenth of them by a
*weak* prior, half of them by a *strong* one, by *none* no label. Its gain is by how much its last guess at all labels
of a half is better than its first one, in fractions of them. All draws of a setting are made at once: arrays have a row
for each.

feedback, Bayesian  files of which the expected score lies at what the account has to beat: known labels are held
                    back as levers, all others are drawn; beliefs follow each number, and each refusal (diagonal
                    Gaussian updates)
feedback, boosting  files drawn from what was known, combined by vote; a number weighs by how far it is from chance
ranking, Bayesian   the crowd chooses each cut that a round tests, as if it knew which texts lie in which half: its two
                    files differ on a block of labels, and on as many known ones as make the answer even
ranking, boosting   files drawn from what is believed, cuts proposed by their feedback halves, votes by place
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

from shiftbench.leaderboard.release.history import LOOKS_A_YEAR
from shiftbench.leaderboard.release.ladder import MIN_STEP, STANDARD_ERRORS, Measured
from shiftbench.leaderboard.release.meter import gain_by_feedback
from shiftbench.leaderboard.release.ranking import (
    ROUNDS_A_YEAR,
    Cut,
    answers_a_round,
    highest_gain,
    places,
    propose_cuts,
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
_TINY = 1e-4


class Cell(msgspec.Struct, frozen=True, tag=True):
    """One setting: the mean gain over its draws, and the standard error."""

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
    """Information that an honest new submitter receives, for one number of texts per half, averaged over simulations.

    Attributes:
        told: proportion of rounds that reveal a true lead over a rival, by number of entries on the board and lead.
        unlimited: proportion of ranking halves in which a true lead is at least a step, by lead: the result of a round
            without limits.
        first, tenth: proportion of simulations in which the first and tenth of ten files, each a point better, get a
            score.
        numbers: mean number of the ten files that get a score.
        off: mean distance of the last number from its file's score on the feedback half.
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
    """A crowd's beliefs about the labels of one half, shape (draws, texts, classes), and the truth."""

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
        """Change the belief in a file's labels, and all others in proportion."""
        old = self.chance_of(file)
        new = np.clip(old + moved, _TINY, 1 - _TINY)
        self.beliefs *= ((1 - new) / (1 - old))[..., None]
        np.put_along_axis(self.beliefs, file[..., None], new[..., None], axis=2)

    def gain(self) -> Floats:
        """Return the gain of each draw's best guess."""
        return self.share_right(self.beliefs.argmax(axis=2)) - self.start


class Ladders:
    """The Ladder of one account in each draw: the responses of ``ladder.next_rung``, with simulated labels."""

    def __init__(self, gold: Codes, rng: np.random.Generator) -> None:
        self.gold, self.rng = gold, rng
        self.told = np.full(len(gold), -np.inf)
        self.file = np.zeros_like(gold)

    def look(self, file: Codes) -> Floats:
        """Return the number released for each draw's file, NaN without one."""
        right = file == self.gold
        # One permutation for all draws, whose labels are independent.
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
    """Return the step between two files' accuracies, with each text as its own group."""
    differences = first.astype(np.int8) - second
    squares, mean = np.square(differences).mean(axis=1), differences.mean(axis=1)
    variance = np.maximum(squares - mean**2, 0) / (first.shape[1] - 1)
    return np.asarray(np.maximum(MIN_STEP, STANDARD_ERRORS * np.sqrt(variance)))


def below(edge: Floats) -> Floats:
    """Return the mean of a standard normal variable truncated above at ``edge``."""
    return np.asarray(-np.exp(-(edge**2) / 2 - 0.5 * np.log(2 * np.pi) - log_ndtr(edge)))


def bayesian_feedback(crowd: Crowd, accounts: Sequence[int]) -> Iterable[tuple[int, Floats]]:
    """Attack the feedback half with one account after the other; yield the gains at the given numbers of accounts."""
    n_texts = crowd.gold.shape[1]
    for account in range(1, max(accounts) + 1):
        ladders = Ladders(crowd.gold, crowd.rng)
        for _ in range(LOOKS_A_YEAR):
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
    """Build files whose expected score is at their hurdle; return that hurdle, in texts, and its standard deviation.

    The more labels are sampled, the more a file's number reveals of each; the further its expected score is below the
    hurdle, the less a refusal reveals.
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
        # Levers are held back until the expected score is at the hurdle.
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
    """Send files sampled from the prior beliefs, and vote; yield the gains after the given numbers of accounts."""
    start, votes = crowd.beliefs, np.log(crowd.beliefs)
    for account in range(1, max(accounts) + 1):
        ladders = Ladders(crowd.gold, crowd.rng)
        for _ in range(LOOKS_A_YEAR):
            file = crowd.draw()
            right = crowd.chance_of(file)
            sd = np.sqrt((right * (1 - right)).sum(axis=1))
            number = ladders.look(file)
            deviation = (number * file.shape[1] - right.sum(axis=1)) / sd
            # A file without a number is slightly worse than expected: by 0.055 of its standard deviation.
            _vote(votes, start, file, np.where(np.isnan(number), -0.055, deviation) / sd)
        if account in accounts:
            crowd.beliefs = votes
            yield account, crowd.gain()
            crowd.beliefs = start


def _vote(votes: Floats, start: Floats, file: Codes, weight: Floats) -> None:
    """Add a file's votes, subtracting what all files have in common."""
    added = np.take_along_axis(votes, file[..., None], axis=2) + weight[:, None, None]
    np.put_along_axis(votes, file[..., None], added, axis=2)
    votes -= weight[:, None, None] * start


def bayesian_rounds(crowd: Crowd, accounts: int) -> Floats:
    """Choose every cut of the year's rounds, and return the gains.

    A cut needs two entries: one account compares its entry with a known one; a crowd has one more entry than cuts.
    """
    n_draws, n_texts = crowd.gold.shape
    n_cuts = min(answers_a_round(n_texts), accounts)
    sure = crowd.beliefs.max(axis=2)
    is_lever = sure > _LEVER
    block = crowd.rng.integers(ROUNDS_A_YEAR * n_cuts, size=sure.shape)
    for number in range(ROUNDS_A_YEAR * n_cuts):
        asked = (block == number) & ~is_lever
        first = np.where(asked, crowd.draw(), crowd.beliefs.argmax(axis=2))
        other = (first + crowd.rng.integers(1, crowd.classes, first.shape)) % crowd.classes
        ahead, behind = crowd.chance_of(first), crowd.chance_of(other)
        # If nothing is known for certain, the other texts are levers, some of which are better known by now.
        lever = is_lever if is_lever.any() else ~asked
        order = np.where(lever, crowd.rng.random(sure.shape), 2.0)
        # As many levers as make both outcomes equally likely.
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
    """Nominate files sampled from the beliefs together with the best guess; vote by rank."""
    start, votes = crowd.beliefs, np.log(crowd.beliefs)
    seen, n_texts = crowd.draw(), crowd.gold.shape[1]  # labels of the feedback half, as well known as these
    for _ in range(ROUNDS_A_YEAR):
        files = np.stack([start.argmax(axis=2), *(crowd.draw() for _ in range(accounts))], axis=1)
        cuts = [
            confirmed_cuts(mine == other[None], mine == gold[None])
            for mine, other, gold in zip(files, seen, crowd.gold, strict=True)
        ]
        better = np.array([[last - first for first, last in _balance(places(accounts + 1, each))] for each in cuts])
        for number in range(accounts + 1):
            _vote(votes, start, files[:, number], better[:, number] / (accounts + 1) / np.sqrt(n_texts))
    crowd.beliefs = votes
    return crowd.gain()


def _balance(placed: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return, for each entry, how many are shown to be better, and how many worse."""
    return [(first - 1, len(placed) - last) for first, last in placed]


def confirmed_cuts(feedback: NDArray[np.bool_], ranking: NDArray[np.bool_]) -> list[Cut]:
    """Return the confirmed cuts of a round, given which texts entries have correct in each half, shape (k, texts)."""
    proposed = propose_cuts(*_scores_and_steps(feedback), answers_a_round(ranking.shape[1]))
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
        draws: draws per setting of attacks; honest boards have ten times as many.
        seed: seed of the simulation.
        resume: file of finished settings, which are reused if the number of draws is the same; new ones are appended.
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
    """Simulate one attack, by different numbers of accounts. The ranking half's labels are the same for all of them."""
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
    """Simulate honest boards with entries spread over 20 points, whose errors have correlation 0.5."""
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
    """Sample which texts entries with given true scores have correct, shape (k, texts)."""
    latent = np.sqrt(0.5) * (rng.standard_normal(texts) + rng.standard_normal((len(skills), texts)))
    return np.asarray(latent < ndtri(skills)[:, None])


def tables(cells: Sequence[Cell], seen: Sequence[Newcomer]) -> Iterator[PlainTable]:
    """Arrange the tables of ``docs/why/threat-model.md``, and more: gains in points, and what the rules cost."""
    sizes = {half: sorted({cell.texts for cell in cells if cell.half == half}) for half in HALVES}
    for half in HALVES:
        rows = []
        for texts in sizes[half]:
            here = [cell for cell in cells if (cell.half, cell.texts) == (half, texts)]
            worst = [max((cell for cell in here if cell.accounts == n), key=lambda cell: cell.gain) for n in ACCOUNTS]
            bound = gain_by_feedback(LOOKS_A_YEAR * ACCOUNTS[-1], texts, max(CLASSES))
            if half == "ranking":
                bound = highest_gain(ROUNDS_A_YEAR * answers_a_round(texts), texts)
            rows.append([f"{texts:,}", *map(_gain, worst), f"{100 * bound:.1f}"])
        heads = ("texts a half", "1 account", *(f"{n} accounts" for n in ACCOUNTS[1:]), "bound")
        yield PlainTable(f"Gain on the {half} half in a year, in points: the worst of all attacks", heads, rows)
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
        heads = ("texts a half", "without a limit", *(f"{entries} entries" for entries in BOARDS))
        yield PlainTable(f"Rounds that tell of a true lead of {100 * lead:.0f} points", heads, rows)
    rows = [
        [f"{each.texts:,}", _percent(each.first), f"{each.numbers:.1f}", _percent(each.tenth), f"{100 * each.off:.1f}"]
        for each in seen
    ]
    heads = ("texts a half", "first file has a number", "files of ten with one", "tenth file has one", "off by, points")
    yield PlainTable("Feedback on ten honest files, each a point better", heads, rows)


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"


def _gain(cell: Cell) -> str:
    return f"{100 * cell.gain:.1f} ± {100 * cell.error:.1f}"
