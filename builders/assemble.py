"""From the rows of a task's domains to its splits: groups kept whole, sizes, ids, label codes.

Which groups go where is decided by a keyed hash of the group, not by its position: the same seed gives the same
splits whatever the order of the upstream rows.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from builders.manifest import TransformCount
from builders.specs import TaskSpec
from builders.transforms import repeated_rows_leave, test_groups_leave_train
from validation.report import InvalidInput, Problem
from validation.schemas import check_examples
from validation.vocabulary import GOLD, SPLITS, TaskKind

TEST_SHARE = 0.2
"""Share of a domain's rows that becomes its test split where upstream has none."""

Splits = dict[str, pl.DataFrame]


@dataclass
class AssembledTask:
    """A task's finished rows, by domain and split, with the counts of every named step."""

    spec: TaskSpec
    domains: dict[str, Splits]
    sources: dict[str, tuple[str, ...]]
    absent: tuple[str, ...] = ()
    counts: list[TransformCount] = field(default_factory=list)
    subsets: dict[str, pl.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class Sizes:
    """Rows that each domain's train and validation split must have; None where nothing is cut to size."""

    train: int
    validation: int


def full_sizes(spec: TaskSpec, recorded: Mapping[str, Mapping[str, int]]) -> Sizes:
    """Find the sizes that all domains of a task share, from the recorded rows of the whole upstream.

    Train is the smaller of the paper's size and what the smallest domain has left after validation.
    """
    pools = [recorded[f"{spec.id}.{domain.name}"]["train"] for domain in spec.domains]
    validation = min(validation_rows(pool, spec) for pool in pools)
    return Sizes(train=min(spec.train, min(pools) - validation), validation=validation)


def validation_rows(pool: int, spec: TaskSpec) -> int:
    """Cut validation from a pool of train rows in the paper's ratio, at most the paper's size."""
    return min(spec.validation, pool * spec.validation // (spec.train + spec.validation))


def assemble(
    spec: TaskSpec,
    rows: Mapping[str, Splits],
    sources: Mapping[str, tuple[str, ...]],
    *,
    seed: int,
    sizes: Sizes | None,
    counts: Sequence[TransformCount] = (),
) -> AssembledTask:
    """Turn labelled rows into finished splits.

    Args:
        spec: the task.
        rows: by domain and upstream split, frames with the task's inputs, its gold column (labels and tags by
            name) and ``group``.
        sources: by domain, the sources its rows came from.
        seed: decides which groups become validation, and which fill a size.
        sizes: sizes to cut to; None (partial builds, own data) keeps every row up to the paper's sizes.
        counts: counts of the named steps that the rows have been through already.
    Returns: splits with ids and label codes, sorted by id, checked against the schema.
    """
    absent = tuple(domain.name for domain in spec.domains if domain.name not in rows)
    task = AssembledTask(spec, {}, dict(sources), absent, list(counts))
    for domain, upstream in rows.items():
        splits = _cut(task, domain, dict(upstream), seed, sizes)
        task.domains[domain] = {
            split: _finish(spec, domain, split, splits[split]) for split in SPLITS if len(splits.get(split, ()))
        }
    _check_schema(task)
    tests = pl.concat([splits["test"].select("id", "domain") for splits in task.domains.values() if "test" in splits])
    task.subsets["all"] = tests.select("id").sort("id")
    if spec.fewshot_domains and all(domain in task.domains for domain in spec.fewshot_domains):
        task.subsets["fewshot"] = _fewshot(spec, tests, seed)
    return task


def _cut(task: AssembledTask, domain: str, splits: Splits, seed: int, sizes: Sizes | None) -> Splits:
    spec = task.spec

    def counted(split: str, name: str, before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
        task.counts.append(TransformCount(domain=domain, split=split, name=name, before=len(before), after=len(after)))
        return after

    for split, frame in splits.items():
        splits[split] = counted(split, "repeated_rows_leave", frame, repeated_rows_leave(frame))
    key = f"{seed}/{spec.id}/{domain}"
    pool = splits["train"] if "train" in splits else next(iter(splits.values())).clear()
    if "test" not in splits:
        # With fewer than three groups there is not one for each split: test comes first, then train.
        splits["test"], pool = fill(pool, max(1, round(len(pool) * TEST_SHARE)), f"{key}/test", at_least=1)
    train = counted("train", "test_groups_leave_train", pool, test_groups_leave_train(pool, splits["test"]))
    if "validation" in splits:
        validation = splits["validation"]
        splits["validation"] = counted(
            "validation",
            "test_groups_leave_validation",
            validation,
            test_groups_leave_train(validation, splits["test"]),
        )
        train = counted(
            "train", "validation_groups_leave_train", train, test_groups_leave_train(train, splits["validation"])
        )
    elif train["group"].n_unique() >= 2:
        n_validation = sizes.validation if sizes else validation_rows(len(train), spec)
        splits["validation"], train = fill(train, n_validation, f"{key}/validation")
    n_train = sizes.train if sizes else spec.train
    if len(train) > n_train:
        train = counted("train", "fill_to_size", train, fill_exactly(train, n_train, f"{key}/train"))
    if sizes and len(train) < sizes.train:
        what = f"{spec.id}.{domain} has too few train rows for the size that all domains share"
        raise InvalidInput(Problem(what, spec.id, f"{len(train):,} rows, {sizes.train:,} needed", "give --partial"))
    splits["train"] = train
    return splits


def fill(pool: pl.DataFrame, n_rows: int, key: str, *, at_least: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Take whole groups until ``n_rows`` rows are reached, in the order of a keyed hash of the group.

    A group that would overshoot is passed over for smaller ones. ``at_least`` groups are taken whatever their size.

    Returns: the rows taken and the rows left, both in their former order.
    """
    sizes = pool.group_by("group").agg(size=pl.len())
    order = sorted(sizes.iter_rows(), key=lambda row: hashlib.sha256(f"{key}/{row[0]}".encode()).digest())
    taken: list[str] = []
    room = n_rows
    for group, size in order:
        if size <= room or len(taken) < at_least:
            taken.append(group)
            room -= size
        if room <= 0:
            break
    chosen = pool["group"].is_in(taken)
    return pool.filter(chosen), pool.filter(~chosen)


def fill_exactly(pool: pl.DataFrame, n_rows: int, key: str) -> pl.DataFrame:
    """Take whole groups as ``fill`` does, and the rows still missing from one of the other groups.

    For a split whose other rows leave the data: a broken group is then still in one split only.
    """
    taken, left = fill(pool, n_rows, key)
    in_order = left.sort(_as_texts(left, "\x1f"))
    return pl.concat([taken, in_order.head(n_rows - len(taken))])


def _finish(spec: TaskSpec, domain: str, split: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Give rows their ids, domain and label codes, and sort them by id."""
    gold = GOLD[spec.kind]
    # Rows with equal inputs are numbered after sorting by the rest, so that their order upstream does not matter.
    keyed = frame.with_columns(
        _inputs=_as_texts(frame.select(spec.inputs), "\x1f"), _gold=_as_texts(frame.select(gold), "\x1f")
    )
    ordered = keyed.sort("_inputs", "group", "_gold")
    numbers = ordered.select(pl.int_range(pl.len()).over("_inputs")).to_series()
    prefix = f"{spec.benchmark}/{spec.name}/{domain}/{split}/"
    ids = [
        prefix + hashlib.sha256(f"{text}\x1f{number}".encode()).hexdigest()[:12]
        for text, number in zip(ordered["_inputs"], numbers, strict=True)
    ]
    finished = ordered.with_columns(pl.Series("id", ids), pl.lit(domain).alias("domain"), _codes(spec))
    return finished.select("id", "domain", "group", *spec.inputs, gold).sort("id").rechunk()


def _as_texts(columns: pl.DataFrame, separator: str) -> pl.Series:
    """Give each row as one text, whatever its columns hold."""
    if set(columns.dtypes) == {pl.String}:
        return columns.select(pl.concat_str(pl.all(), separator=separator)).to_series()
    return pl.Series([json.dumps(row, ensure_ascii=False) for row in columns.iter_rows()], dtype=pl.String)


def _codes(spec: TaskSpec) -> pl.Expr:
    """Turn names of labels or tags into codes; other gold stays as it is."""
    codes = {label: code for code, label in enumerate(spec.labels)}
    gold = pl.col(GOLD[spec.kind])
    if spec.kind is TaskKind.CLASSIFICATION:
        return gold.replace_strict(codes, return_dtype=pl.Int64)
    if spec.kind is TaskKind.TAGGING:
        return gold.list.eval(pl.element().replace_strict(codes, return_dtype=pl.Int64))
    return gold


def _fewshot(spec: TaskSpec, tests: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Choose the few-shot subset: the paper's three domains, 200 test ids each (appendix D.3)."""
    chosen: list[str] = []
    for domain in spec.fewshot_domains:
        ids = tests.filter(domain=domain)["id"].to_list()
        chosen += sorted(ids, key=lambda id_: hashlib.sha256(f"{seed}/fewshot/{id_}".encode()).digest())[
            : spec.fewshot_size
        ]
    return pl.DataFrame({"id": sorted(chosen)})


def _check_schema(task: AssembledTask) -> None:
    spec = task.spec
    for domain, splits in task.domains.items():
        for split, frame in splits.items():
            check_examples(frame, spec.kind, spec.inputs, spec.labels, f"{spec.id}.{domain} {split}")
