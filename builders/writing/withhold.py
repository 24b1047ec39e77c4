"""Withheld test labels: a pair of folders with one content hash, ``OUT/public`` without and ``OUT/gold`` with labels.

Possible leaks of test labels and their prevention, using a random key stored only in the gold manifest:

- the gold column: null in every test row of the public folder, whatever the task kind. Null cannot be mistaken for a
  label, an answer ("no answer" is an empty list) or a text, and ``datasets`` loads it with the features of the labelled
  splits.
- hashes: a plain hash over ids and labels can be inverted by trying all labels of a small split, or the last few
  unknown ones. So labels of test splits are hashed with the key (HMAC) in both manifests, and the content hash,
  computed from these, is identical. Checksums of upstream files also cover labels, so the public manifest has none.
- the split: rows of a label are sampled until its quota is filled. Knowing the seed, one could infer where sampling of
  each label ended, and so a row's label. So all random choices of the build use ``secret_seed``.
- ids: rows with equal inputs and group differ only in gold, and are numbered in the order of their gold.
  ``shuffle_gold_among_duplicates`` therefore shuffles it among them. Repeats are dropped regardless of gold (see
  ``assemble``): otherwise two rows with equal inputs would be known to have different labels.
- statistics: values computed from test gold are removed; values computed from inputs (duplicates, depths, words) stay.
- row counts of steps on test splits are removed. The sizes of splits stay, as anyone can count them, and so do the
  label proportions of a balanced task, which are part of its definition.
- other tasks: placebo tasks contain the same rows, also withheld, which are assigned to domains independently of
  labels (see ``placebo_task``). A task whose inputs reveal another's gold is rejected (``label_leaks``).

Remaining leak: a train or validation row with the inputs of a test row shows its label. BOSS keeps such rows of
upstream; the card counts them ("in train").

Groups, depths, subsets and lists of repeated rows are derived from inputs and ids. A group column of user data must not
be derived from labels.
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from shiftbench.builders.assembling.assemble import AssembledTask
from shiftbench.builders.folder.manifest import GOLD_FOLDER, MANIFEST, PUBLIC_FOLDER, Manifest, TaskInfo
from shiftbench.builders.folder.statistics import TaskStatistics
from shiftbench.builders.specs.spec import TaskSpec
from shiftbench.builders.specs.transforms import as_texts
from shiftbench.builders.stored_rows import in_memory
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import GOLD

_NO_GOLD: Mapping[str, object] = {"labels": {}, "tags": {}, "unanswered": None, "target_words": None}
"""Statistics fields of a split with withheld gold."""


def withheld_folders(path: Path) -> tuple[Path, Path] | None:
    """Find the folders written by ``build --withhold-labels``.

    Args:
        path: the folder containing the pair.
    Returns: the public and the gold folder; None if there is no such pair.
    """
    public, gold = path / PUBLIC_FOLDER, path / GOLD_FOLDER
    return (public, gold) if all((folder / MANIFEST).is_file() for folder in (public, gold)) else None


def label_key(out: Path) -> str:
    """Return the key for a new pair of folders.

    Args:
        out: the pair's path.
    Returns: the key of the pair being replaced, so that the same rows keep their hash, otherwise a new one; 64 hex
        digits.
    """
    pair = withheld_folders(out)
    try:
        kept = Manifest.read(pair[1]).label_key if pair else None
    except InvalidInput:
        kept = None  # an unreadable pair is replaced with a new key
    return kept or secrets.token_hex(32)


def secret_seed(seed: int, key: str | None) -> int:
    """Return the seed of a build's random choices.

    Args:
        seed: the user's seed.
        key: the key of withheld labels; None if none are withheld.
    Returns: the seed itself; with a key, a seed that cannot be computed without the key.
    """
    return seed if key is None else int.from_bytes(_keyed(key, f"seed/{seed}")[:16])


def shuffle_gold_among_duplicates(task: AssembledTask, key: str) -> AssembledTask:
    """Shuffle the gold of test rows with equal inputs and group, so that their ids do not reveal it.

    The permutation depends on the key, the rows and their gold, not on their order upstream.
    """
    spec = task.spec
    domains = {
        domain: {
            split: _shuffle_gold(in_memory(rows), spec, f"{key}/{spec.id}/{domain}") if split == "test" else rows
            for split, rows in splits.items()
        }
        for domain, splits in task.domains.items()
    }
    return replace(task, domains=domains)


def _shuffle_gold(frame: pl.DataFrame, spec: TaskSpec, key: str) -> pl.DataFrame:
    gold = GOLD[spec.kind]
    texts = pl.DataFrame({"row": as_texts(frame.select(*spec.inputs, "group")), "gold": as_texts(frame.select(gold))})
    texts = texts.with_row_index("place").filter(pl.struct("row").is_duplicated())
    # Rows that also agree in gold are numbered; otherwise they would always be adjacent.
    texts = texts.with_columns(number=pl.int_range(pl.len()).over("row", "gold"))
    order = list(range(len(frame)))
    for part in texts.partition_by("row"):
        places = part["place"].to_list()
        drawn = sorted(part.rows(), key=lambda row: _keyed(key, "\x1f".join(map(str, row[1:]))))
        for place, (source, *_) in zip(places, drawn, strict=True):
            order[place] = source
    return frame.with_columns(frame[gold].gather(order))


def _keyed(key: str, text: str) -> bytes:
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).digest()


def without_gold(frame: pl.DataFrame, gold: str) -> pl.DataFrame:
    """Return rows with their gold replaced by null."""
    return frame.with_columns(pl.lit(None, dtype=frame.schema[gold]).alias(gold))


def public_statistics(statistics: TaskStatistics) -> TaskStatistics:
    """Return a task's statistics without values computed from test gold."""
    domains = {
        domain: facts.model_copy(
            update={
                "splits": {
                    split: of.model_copy(update=_NO_GOLD) if split == "test" else of
                    for split, of in facts.splits.items()
                },
                "annotators": None,
            }
        )
        for domain, facts in statistics.domains.items()
    }
    lengths = tuple(distance for distance in statistics.target_lengths if distance.split != "test")
    return statistics.model_copy(update={"domains": domains, "target_lengths": lengths})


def public_manifest(manifest: Manifest) -> Manifest:
    """Return the public folder's manifest: the gold folder's, without the key and anything that reveals test gold."""
    sources = {
        slug: source.model_copy(
            update={"files": tuple(file.model_copy(update={"sha256": ""}) for file in source.files)}
        )
        for slug, source in manifest.sources.items()
    }
    tasks = {name: _public_task(task) for name, task in manifest.tasks.items()}
    return manifest.model_copy(update={"label_key": None, "tasks": tasks, "sources": sources})


def _public_task(task: TaskInfo) -> TaskInfo:
    domains = {
        domain: facts.model_copy(
            update={
                "splits": {
                    split: of.model_copy(update={"withheld_labels": True}) if split == "test" else of
                    for split, of in facts.splits.items()
                }
            }
        )
        for domain, facts in task.domains.items()
    }
    steps = tuple(count for count in task.transforms if count.split != "test")
    return task.model_copy(update={"domains": domains, "transforms": steps})


def label_leaks(spec: TaskSpec, others: Iterable[TaskSpec]) -> tuple[Problem, ...]:
    """Find tasks from the same files whose inputs or train labels would reveal this task's withheld gold.

    Args:
        spec: the task whose labels are to be withheld.
        others: the other tasks of the folder.
    Returns: a problem for the first such task; empty if there is none.
    """
    files = _paths(spec)
    for other in others:
        if GOLD[other.kind] != GOLD[spec.kind] and files & _paths(other):
            what = f"{spec.id} and {other.id} are made from the same rows: each reveals what the other withholds"
            cure = (
                f"build it alone: shiftbench build {spec.benchmark} {spec.name} --withhold-labels --raw RAW --out DIR"
            )
            return (Problem(what, spec.id, cure=f"{cure}, and publish only one of the two"),)
    return ()


def _paths(spec: TaskSpec) -> set[str]:
    files: Sequence[str] = [
        file.path for domain in spec.domains for of_split in domain.files.values() for file in of_split
    ]
    return set(files)
