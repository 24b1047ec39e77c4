"""Attacks that read withheld labels off a leaderboard: what they recover from exact scores, and from ours."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.board.submission import submit
from shiftbench.leaderboard.release import LOOKS_PER_YEAR, close_round, nominate
from shiftbench.leaderboard.release.halves import MIN_TEXTS
from shiftbench.leaderboard.store import Store
from shiftbench.scoring.scores.score import checked_predictions, score_predictions
from shiftbench.validation.report import InvalidInput
from tests.leaderboard.release.attacks import flips, read_off
from tests.leaderboard.release.gold import (
    DOMAINS,
    TASK,
    build_gold,
    file_of,
    gold_codes,
    in_feedback,
    send,
    with_errors,
    with_permuted_half,
)

QUOTA = 10_000


def exact_scores(folder: DatasetFolder, path: Path) -> Callable[[pl.DataFrame], Mapping[tuple[str, str], float | None]]:
    """Return what boards showed before: every score, rounded to a tenth of a point."""

    def shown(file: pl.DataFrame) -> dict[tuple[str, str], float | None]:
        file.write_parquet(path)
        (task,) = score_predictions(checked_predictions(path, folder), folder).scores.tasks
        accuracies = {(part.domain, part.domain): part.secondary["accuracy"] for part in task.in_domain}
        accuracies |= {(shift.source, shift.target): shift.secondary["accuracy"] for shift in task.shifts}
        return {cell: None if value is None else round(value, 3) for cell, value in accuracies.items()}

    return shown


class Account:
    """An account that submits files to a server, and keeps every answer."""

    def __init__(self, index: Index, folder: DatasetFolder, name: str, path: Path) -> None:
        self.index, self.folder, self.name, self.path = index, folder, name, path
        self.answers: list[str] = []

    def send(self, file: Path) -> dict[str, float | None]:
        """Submit a file; return the feedback on each target."""
        card = {"name": f"m{len(self.answers)}", "paradigm": "other", "data": self.folder.content_hash}
        answer = submit(self.index, str(file), json.dumps(card), sender=lambda: self.name, daily_quota=QUOTA)
        assert answer["ok"], answer["problems"]
        self.answers.append(json.dumps(answer))
        told = answer["summary"]["feedback"]
        return {each["target"]: each["best"] if each["is_new"] else None for each in told}

    def shown(self, file: pl.DataFrame) -> dict[tuple[str, str], float | None]:
        file.write_parquet(self.path)
        told = self.send(self.path)
        return {(source, target): number for target, number in told.items() for source in DOMAINS}

    def look(self, target: str) -> Callable[[NDArray[np.int64]], float | None]:
        return lambda codes: self.send(file_of(self.folder, {target: codes}, self.path))[target]


@pytest.mark.long
def test_binary_labels_three_domains_of_150_texts_one_account(small: DatasetFolder, tmp_path: Path) -> None:
    ids = {target: small.split(TASK, target, "test").sort("id")["id"].to_list() for target in DOMAINS}
    guess = small.task(TASK).labels[1]
    labels = {target: gold_codes(small, target).astype(bool) for target in DOMAINS}

    def recovered(found: Mapping[str, NDArray[np.bool_]]) -> int:
        return sum(int((found[target] == labels[target]).sum()) for target in DOMAINS)

    found, n_files = read_off(ids, guess, exact_scores(small, tmp_path / "probe.parquet"))
    print(f"\nbefore: {recovered(found)} of 450 labels from {n_files} files")
    assert (recovered(found), n_files) == (450, 13)

    account = Account(Index([small], Store(tmp_path / "store")), small, "mallory", tmp_path / "probe.parquet")
    found, n_files = read_off(ids, guess, account.shown)
    guessed = sum(int((~labels[target]).sum()) for target in DOMAINS)
    print(f"after: {recovered(found)} of 450, as many as guessing one label gives, from {n_files} files")
    assert recovered(found) == guessed
    # No byte of the thirteen answers depends on a label of either half.
    other = with_permuted_half(small, tmp_path / "half", feedback=False)
    other = with_permuted_half(other, tmp_path / "both", feedback=True)
    again = Account(Index([other], Store(tmp_path / "again")), other, "mallory", tmp_path / "probe.parquet")
    read_off(ids, guess, again.shown)
    assert again.answers == account.answers


@pytest.mark.parametrize(
    ("n_texts", "looks"), [(1_000, 2), pytest.param(1_150, LOOKS_PER_YEAR, marks=pytest.mark.long)]
)
def test_a_thousand_texts_three_classes_five_accounts(n_texts: int, looks: int, tmp_path: Path) -> None:
    """Test colluding accounts: they climb on the feedback half, but learn nothing of the ranking half before a round.

    Of a thousand texts one half has fewer than 500, so nothing is told at all; of some more it is.
    """
    target, other = DOMAINS[:2]
    folder = build_gold(tmp_path / "data", n_texts, classes=3, domains=(target, other))
    gold, feedback = gold_codes(folder, target), in_feedback(folder, target)
    index, rng = Index([folder], Store(tmp_path / "store")), np.random.default_rng(0)
    file = rng.integers(3, size=gold.size)
    start = file.copy()
    told: list[str] = []
    for number in range(5):
        account = Account(index, folder, f"account{number}", tmp_path / "probe.parquet")
        file = flips(0.2)(account.look(target), file, 3, looks, rng)
        told += account.answers
    assert len(told) == 5 * looks
    has_feedback = min(feedback.sum(), (~feedback).sum()) >= MIN_TEXTS
    numbers = [each["best"] for answer in told for each in json.loads(answer)["summary"]["feedback"]]
    assert has_feedback == (n_texts > 1_000)
    assert has_feedback or not any(numbers)

    def gain(half: NDArray[np.bool_]) -> float:
        return float((file == gold)[half].mean() - (start == gold)[half].mean())

    def error(half: NDArray[np.bool_]) -> float:
        return float(((file == gold)[half] * 1.0 - (start == gold)[half]).std(ddof=1) / np.sqrt(half.sum()))

    recovered, prior, n_ranking = (file == gold)[~feedback].mean(), 1 / 3, (~feedback).sum()
    print(
        f"\n{n_texts} texts: feedback half {100 * gain(feedback):+.1f} points after {5 * looks} looks, ranking half "
        f"{100 * gain(~feedback):+.1f} ± {100 * error(~feedback):.1f}, {100 * recovered:.1f}% of its labels recovered"
    )
    assert abs(gain(~feedback)) <= 2 * max(error(~feedback), 1e-9)
    assert abs(recovered - prior) <= 2 * np.sqrt(prior * (1 - prior) / n_ranking)


def test_rounds_tell_nothing_of_few_texts(small: DatasetFolder, tmp_path: Path) -> None:
    account = Account(Index([small], Store(tmp_path / "store")), small, "mallory", tmp_path / "probe.parquet")
    account.send(file_of(small, {target: gold_codes(small, target) * 0 for target in DOMAINS}, account.path))
    store = account.index.store
    nominate(store, store.ids()[0], "mallory", [small])
    with pytest.raises(InvalidInput, match="500 texts"):
        close_round(store, [small])
    assert not store.records("round-")


def test_a_round_depends_on_the_ranking_half_by_its_answer_alone(ranked: DatasetFolder, tmp_path: Path) -> None:
    """Deal the ranking half anew five times: a board with one answer has two forms, whatever the labels are."""
    store = Store(tmp_path / "store")
    for number, share in enumerate((0.1, 0.11, 0.12, 0.3, 0.5, 0.52, 1.0)):
        predicted = with_errors(ranked, share, number)
        entry = send(store, ranked, predicted, tmp_path / "sent.parquet", f"account{number}", f"m{number}")
        nominate(store, entry.id, f"account{number}", [ranked])
    released = set()
    for seed in range(6):
        other = with_permuted_half(ranked, tmp_path / f"gold{seed}", feedback=False, seed=seed) if seed else ranked
        shutil.copytree(store.root, tmp_path / f"store{seed}")
        closed = close_round(Store(tmp_path / f"store{seed}"), [other])
        assert closed.boards[0].n_answers == 1
        released.add(closed.model_dump_json())
    assert len(released) == 2
