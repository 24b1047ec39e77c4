"""Split withheld test labels into two halves: one for feedback between rounds, and one to rank the rounds on.

A group of texts always belongs to the same half: it follows from the group's name and the key in the gold folder's
manifest (``label_key``), which a rebuild keeps. A text that occurs in both halves, because two groups contain it, is
assigned to the ranking half.

A *gold key* identifies a label whatever its row id: it is a hash of the text only, so copies of a row in another task,
subset or version of the data have the same key. Texts that differ only in case, spaces, invisible characters or
Unicode normalisation form (NFC, NFKC) count as one text.
"""

import hashlib
import hmac
import json
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.report import InvalidInput, Problem, quote_names
from shiftbench.validation.vocabulary import PLACEBO, TOKENS, TaskKind

GoldKeys = NDArray[np.uint64]
"""Sorted, unique keys of labels."""
MIN_TEXTS, MIN_GROUPS = 500, 10
"""Minimum number of texts and groups in each half of a target. With fewer texts, a step (at
least one point) would hide few labels; with fewer groups, standard errors would often be too small."""
ENOUGH_TEXTS = 1_100
"""Number of test texts of a target, each a group by itself, whose smaller half has almost surely ``MIN_TEXTS`` (three
standard deviations: 1,100 / 2 - 3 * sqrt(1,100) / 2 = 500)."""
_IGNORED_INPUT = "title"
"""Input column ignored in gold keys: copies of the same text and question may differ in it."""


def released_tasks(folder: DatasetFolder) -> list[str]:
    """List the tasks with feedback: those with a board, so no placebos or candidates."""
    tasks = folder.manifest.tasks.items()
    return [name for name, info in tasks if info.candidates_for is None and not name.endswith(PLACEBO)]


def halves(folder: DatasetFolder) -> pl.DataFrame:
    """Return every test row of the tasks with a board, with its half; cached per process.

    Returns: columns task, domain, id, group, gold (the label's key, UInt64) and feedback (Boolean; false: ranking
        half), in the order of the folder.
    Raises: InvalidInput for a folder whose labels are not withheld, since it has no key.
    """
    if folder.manifest.label_key is None:
        what, cure = "the folder contains no key to withheld labels", "give the gold folder of the build"
        raise InvalidInput(Problem(what, str(folder.path), cure=cure))
    return _halves(folder.path.as_posix(), folder.manifest.label_key)


@lru_cache(maxsize=16)
def _halves(path: str, key: str) -> pl.DataFrame:
    folder = DatasetFolder.open(Path(path))
    rows = pl.concat(_task_rows(folder, task) for task in released_tasks(folder))
    groups = rows["group"].unique()

    def is_in_feedback(group: str) -> bool:
        return hmac.new(key.encode(), f"half/{group}".encode(), hashlib.sha256).digest()[0] % 2 == 0

    in_feedback = pl.Series([is_in_feedback(group) for group in groups.to_list()], dtype=pl.Boolean)
    rows = rows.with_columns(feedback=pl.col("group").replace_strict(groups, in_feedback, return_dtype=pl.Boolean))
    return rows.with_columns(feedback=pl.col("feedback").all().over("gold"))


def _task_rows(folder: DatasetFolder, task: str) -> pl.DataFrame:
    info = folder.task(task)
    inputs = [name for name in info.inputs if name != _IGNORED_INPUT or info.kind is not TaskKind.EXTRACTIVE_QA]
    rows = folder.test(task, columns=["id", "domain", "group", *inputs])
    texts = rows.select(pl.col(name).list.join(" ") if name == TOKENS else pl.col(name) for name in inputs)
    keys = [_gold_key(row) for row in texts.iter_rows()]
    gold = pl.Series("gold", keys, dtype=pl.UInt64)
    return rows.select(pl.lit(task).alias("task"), "domain", "id", pl.col("group").cast(pl.String), gold)


def _gold_key(texts: Sequence[str]) -> int:
    text = "\x1f".join(" ".join(_folded(part).split()) for part in texts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def _folded(text: str) -> str:
    """Return a text in Unicode's NFKC_Casefold form without format characters, so that spelling variants compare equal.

    >>> _folded("ＣＡＦE\\u0301\\u200b"), _folded("caf\\xe9")
    ('café', 'café')
    """
    if text.isascii():
        return text.casefold()
    shown = "".join(each for each in text if unicodedata.category(each) != "Cf")
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFD", shown).casefold())
    return unicodedata.normalize("NFKC", folded.casefold())


def secret_draws(folder: DatasetFolder, *names: str) -> np.random.Generator:
    """Return a random generator seeded only by the folder's secret key and the names."""
    key, message = str(folder.manifest.label_key), "draws" + json.dumps(names)
    return np.random.default_rng(list(hmac.new(key.encode(), message.encode(), hashlib.sha256).digest()))


def half_of(folder: DatasetFolder, task: str, subset: str, target: str, *, feedback: bool) -> pl.DataFrame:
    """Return a subset's rows of one target in one half, with the columns of ``halves``."""
    return both_halves(folder, task, subset, target).filter(pl.col("feedback") == feedback)


def both_halves(folder: DatasetFolder, task: str, subset: str, target: str) -> pl.DataFrame:
    """Return a subset's rows of one target, with the columns of ``halves``."""
    rows = halves(folder).filter(pl.col("task") == task, pl.col("domain") == target)
    return rows if subset == "all" else rows.join(folder.subset(task, subset), on="id", how="semi")


def why_too_small(folder: DatasetFolder, task: str, subset: str, target: str) -> str:
    """Return why a target has no feedback (one of its halves is too small), or an empty string if it has."""
    rows = both_halves(folder, task, subset, target)
    parts = [rows.filter(pl.col("feedback") == half) for half in (True, False)]
    if min(part.height for part in parts) < MIN_TEXTS:
        return f"fewer than {MIN_TEXTS} texts in a half of the test set"
    if min(part["group"].n_unique() for part in parts) < MIN_GROUPS:
        return f"fewer than {MIN_GROUPS} groups of texts in a half of the test set"
    return ""


def too_small_lines(folder: DatasetFolder) -> Iterator[str]:
    """List the targets of a gold folder that can neither be scored nor ranked, and what they need; nothing if none."""
    small = []
    for task in released_tasks(folder):
        info = folder.task(task)
        tested = [name for name, facts in info.domains.items() if "test" in facts.splits and name != info.id_domain]
        small += [(f"{task}/{target}", why) for target in tested if (why := why_too_small(folder, task, "all", target))]
    for reason in dict.fromkeys(why for _, why in small):
        named = [name for name, why in small if why == reason]
        yield f"warning: too small for scores and rounds on withheld labels: {quote_names(named, 5)}: {reason}"
    if small:
        yield (
            f"each half needs {MIN_TEXTS} texts and {MIN_GROUPS} groups: give at least {ENOUGH_TEXTS:,} test texts per "
            "target, by more rows or by a column 'split' of your own"
        )


def gold_keys(rows: pl.DataFrame) -> GoldKeys:
    """Return the keys of rows' labels."""
    return rows["gold"].unique().sort().to_numpy()


def refuse_split_twice(folders: Sequence[DatasetFolder]) -> None:
    """Raise InvalidInput if folders put the same labels in different halves, since one would reveal the other.

    Refused are folders with different keys that share any label, and folders with the same key in which a text belongs
    to different groups.
    """
    withheld = [folder for folder in folders if folder.manifest.label_key is not None]
    for first, second in combinations(withheld, 2):
        places = f"{first.path} and {second.path}"
        if first.manifest.label_key != second.manifest.label_key:
            if np.intersect1d(gold_keys(halves(first)), gold_keys(halves(second))).size:
                what = "two folders withhold the same labels with different keys, so their halves differ"
                cure = "serve one of them, or rebuild the second one over the first (--overwrite reuses its key)"
                raise InvalidInput(Problem(what, places, cure=cure))
            continue
        shared = halves(first).select("gold", "feedback").unique().join(halves(second).unique("gold"), on="gold")
        moved = shared.filter(pl.col("feedback") != pl.col("feedback_right"))["gold"].n_unique()
        if moved:
            what = "two folders assign the same labels to different halves, because their groups differ"
            cure = "serve one of them, or build both with the same groups"
            raise InvalidInput(Problem(what, places, f"{moved:,} labels", cure))
