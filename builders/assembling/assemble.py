"""Assemble the finished splits of a task: cut to size, with ids and label codes."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path

import polars as pl

from shiftbench.builders.assembling.cut import Size, Splits, fill_to_sizes, take_per_label, take_share
from shiftbench.builders.folder.manifest import Pairing, SplitOverlap, TransformCount, UpstreamRows
from shiftbench.builders.folder.reader import SUBSET_IDS
from shiftbench.builders.folder.statistics import Annotators
from shiftbench.builders.reading.intake import add_file_name
from shiftbench.builders.reading.sampling import STRATUM, Reservoir
from shiftbench.builders.specs.spec import DomainSpec, TaskSpec
from shiftbench.builders.specs.transforms import (
    VOTES,
    as_texts,
    drop_conflicting_rows,
    drop_equal_inputs,
    drop_repeated_inputs,
    drop_repeated_rows,
    drop_shared_groups,
)
from shiftbench.builders.stored_rows import Rows, RowWriter, Sorter, StoredRows, frame_bytes, in_memory, slices_of
from shiftbench.metrics.agreement import annotator_tables
from shiftbench.metrics.classification import accuracy, macro_f1
from shiftbench.validation.progress import progress
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.schemas import check_examples
from shiftbench.validation.vocabulary import GOLD, SPLITS, TaskKind


@dataclass
class AssembledTask:
    """A task's finished rows by domain and split, with row counts before and after every named step.

    Rows are frames, or stored on disk if the task uses upstream's splits.
    """

    spec: TaskSpec
    domains: dict[str, dict[str, Rows]]
    sources: dict[str, tuple[str, ...]]
    absent: tuple[str, ...] = ()
    counts: list[TransformCount] = field(default_factory=list)
    sizes: dict[str, Size] = field(default_factory=dict)
    subsets: dict[str, pl.DataFrame] = field(default_factory=dict)
    upstream: dict[str, dict[str, tuple[UpstreamRows, ...]]] = field(default_factory=dict)
    """The files the rows come from, by domain and upstream split."""
    overlaps: dict[str, tuple[SplitOverlap, ...]] = field(default_factory=dict)
    """Rows shared by two upstream splits, by domain."""
    titles: dict[str, str] = field(default_factory=dict)
    annotators: dict[str, Annotators] = field(default_factory=dict)
    """Scores of single annotators on the test rows, by domain, if upstream publishes their votes."""


def assemble(
    spec: TaskSpec,
    rows: Mapping[str, Mapping[str, Rows]],
    sources: Mapping[str, tuple[str, ...]],
    *,
    seed: int,
    equal: bool,
    counts: Sequence[TransformCount] = (),
    withhold: bool = False,
    store: Path | None = None,
) -> AssembledTask:
    """Turn labelled rows into finished splits.

    Args:
        spec: the task.
        rows: by domain and upstream split, frames with the task's inputs, its gold column (labels and tags as
            names, not codes) and ``group``.
        sources: the sources of the rows, by domain.
        seed: determines which groups become test and validation, and which rows are sampled.
        equal: cut all domains to the size of the smallest; otherwise (partial builds, user data) each keeps its rows,
            up to the paper's sizes. Tasks with upstream's splits are never cut to one size; pairings have the paper's
            sizes, or fewer rows if there are not enough.
        counts: row counts of the named steps already applied.
        withhold: drop repeats regardless of their gold, because test labels are withheld
            (``shiftbench.builders.writing.withhold``).
        store: a folder for the finished rows of a task with upstream's splits, so that only part of them is in memory;
            None returns frames.
    Returns: splits with ids and label codes, sorted by id, checked against the schema.
    Raises: InvalidInput if a domain has no rows left for the common size, or a row does not match the task kind's
        schema.
    """
    task = AssembledTask(spec, {}, dict(sources), counts=list(counts))
    votes = {domain: upstream_votes(spec, splits) for domain, splits in rows.items()}
    if spec.as_upstream:
        for data_set in spec.domains:
            if data_set.name in rows:
                _take_as_upstream(task, data_set, dict(rows[data_set.name]), seed, store)
        return _complete_task(task, seed, votes)
    frames = {
        domain: {split: in_memory(part).drop(VOTES, strict=False) for split, part in splits.items()}
        for domain, splits in rows.items()
    }
    if spec.pairing is not None:
        _draw_pairing(task, spec.pairing, frames, seed, whole=equal)
        return _complete_task(task, seed, votes)
    split_rows = {
        domain: _split_groups(task, domain, dict(upstream), seed, withhold=withhold)
        for domain, upstream in progress(frames.items(), desc=f"splitting {spec.name}", unit="domain", leave=False)
    }
    # Upstream's test split is never cut, and its validation split only if all domains get the same size.
    ours = {
        domain: [split for split in SPLITS if split == "train" or split not in upstream or (equal and split != "test")]
        for domain, upstream in frames.items()
    }
    filled, task.sizes = fill_to_sizes(spec, split_rows, ours, seed, equal=equal)
    for domain, splits in progress(filled.items(), desc=f"finishing {spec.name}", unit="domain", leave=False):
        for split in (split for split in ours[domain] if split in splits):
            _count(task, domain, split, "fill_to_size", split_rows[domain][split], splits[split])
        if any(map(len, splits.values())):
            task.domains[domain] = {
                split: _finish_split(spec, domain, split, splits[split])
                for split in SPLITS
                if len(splits.get(split, ()))
            }
    if equal:
        _check_not_empty(task)
    return _complete_task(task, seed, votes)


def _complete_task(task: AssembledTask, seed: int, votes: Mapping[str, pl.DataFrame | None]) -> AssembledTask:
    task.absent = tuple(domain.name for domain in task.spec.domains if domain.name not in task.domains)
    check_schema(task)
    add_subsets(task, seed)
    for domain, splits in task.domains.items():
        given = votes.get(domain)
        annotators = (
            count_annotators(given, splits["test"], task.spec.inputs, task.spec.labels)
            if given is not None and "test" in splits
            else None
        )
        if annotators is not None:
            task.annotators[domain] = annotators
    return task


def _take_as_upstream(
    task: AssembledTask, domain: DomainSpec, upstream: Mapping[str, Rows], seed: int, store: Path | None
) -> None:
    """Keep upstream's splits; if there is no test split, take it from the train split.

    Sampled or cut splits are small and held in memory; the others are streamed.
    """
    key = f"{seed}/{task.spec.id}/{domain.name}"
    inputs = task.spec.inputs
    drawn = domain.draw.splits if domain.draw is not None else ()
    cut = ("train",) if domain.test_share is not None or domain.train_per_label is not None else ()
    splits = {split: in_memory(upstream[split]) for split in (*drawn, *cut) if split in upstream}

    def apply_counted(split: str, name: str, after: pl.DataFrame) -> None:
        splits[split] = _count(task, domain.name, split, name, splits[split], after)

    for split in drawn:
        if split in splits:
            apply_counted(split, "conflicting_rows_leave", drop_conflicting_rows(splits[split], inputs))
            apply_counted(split, "repeated_inputs_leave", drop_repeated_inputs(splits[split], inputs))
    if domain.test_share is not None and "test" not in upstream:
        splits["test"], splits["train"] = take_share(
            splits["train"], domain.test_share, f"{key}/test", None, first=True
        )
        unseen = splits["train"].join(splits["test"], on=inputs, how="anti", maintain_order="left")
        apply_counted("train", "test_inputs_leave_train", unseen)
    if domain.train_per_label is not None and "train" in splits:
        apply_counted(
            "train", "train_per_label", take_per_label(splits["train"], domain.train_per_label, f"{key}/train")
        )
    taken: dict[str, Rows] = {**upstream, **splits}
    finished: dict[str, Rows] = {}
    for split in SPLITS:
        rows = taken.get(split)
        if rows is not None and len(rows):
            finished[split] = _finish_split(task.spec, domain.name, split, rows, store)
    if finished:
        task.domains[domain.name] = finished


def _draw_pairing(task: AssembledTask, pairing: Pairing, rows: Mapping[str, Splits], seed: int, *, whole: bool) -> None:
    """Sample the target's test texts, and the source's train texts from its pooled domains (DF1 sec. 4.1)."""
    spec = task.spec

    def draw(split: str, frames: Mapping[str, pl.DataFrame], size: int) -> dict[str, pl.DataFrame]:
        # The key must equal the one used to sample each file while reading: only then are the rows with the smallest
        # hashes over all files among the rows sampled from each.
        reservoir = Reservoir(size, spec.inputs, f"{seed}/{spec.id}")
        for domain, frame in frames.items():
            reservoir.take(frame.with_columns(pl.lit(domain).alias("domain"), pl.lit(0).alias(STRATUM)))
        drawn = reservoir.rows() if frames else pl.DataFrame({"domain": []}, schema={"domain": pl.String})
        if not len(drawn) or (whole and len(drawn) < size):
            what = f"{spec.id} has too few {split} texts to sample from"
            found = f"{len(drawn):,} of {size:,} in {', '.join(frames) or 'no file'}"
            raise InvalidInput(Problem(what, spec.id, found, "fetch the complete upstream files, or give --partial"))
        parts = {domain: drawn.filter(domain=domain).drop("domain") for domain in frames}
        return {domain: _count(task, domain, split, "draw", frames[domain], part) for domain, part in parts.items()}

    pools = {
        split: {domain: splits[split] for domain, splits in rows.items() if split in splits}
        for split in ("train", "test")
    }
    tests = draw("test", pools["test"], pairing.target_rows)
    held_out = pl.concat(tests.values())
    for domain, pool in pools["train"].items():
        kept = drop_shared_groups(pool, held_out)
        pools["train"][domain] = _count(task, domain, "train", "test_groups_leave_train", pool, kept)
    drawn = {"train": draw("train", pools["train"], pairing.source_rows), "test": tests}
    for domain in (domain.name for domain in spec.domains):
        parts = {split: drawn[split][domain] for split in drawn if len(drawn[split].get(domain, ()))}
        if parts:
            task.domains[domain] = {split: _finish_split(spec, domain, split, part) for split, part in parts.items()}


def _count(
    task: AssembledTask, domain: str, split: str, name: str, before: pl.DataFrame, after: pl.DataFrame
) -> pl.DataFrame:
    task.counts.append(TransformCount(domain=domain, split=split, name=name, before=len(before), after=len(after)))
    return after


def _split_groups(task: AssembledTask, domain: str, splits: Splits, seed: int, *, withhold: bool) -> Splits:
    """Create the splits that upstream lacks; splitting is by group, so that no group is in two splits."""
    spec = task.spec

    def apply_counted(split: str, name: str, after: pl.DataFrame) -> None:
        splits[split] = _count(task, domain, split, name, splits[split], after)

    for split in list(splits):
        # 'distinct' keeps at most one of several rows with equal inputs but different gold; other tasks keep them all.
        if withhold and not (spec.distinct and set(spec.distinct) <= set(spec.inputs)):
            same = [*spec.inputs, "group"]
            apply_counted(split, "equal_inputs_leave", drop_equal_inputs(splits[split], same, f"{seed}/{spec.id}"))
        apply_counted(split, "repeated_rows_leave", drop_repeated_rows(splits[split]))
        if spec.distinct and spec.kind is TaskKind.CLASSIFICATION:
            apply_counted(split, "conflicting_rows_leave", drop_conflicting_rows(splits[split], spec.distinct))
        if spec.distinct:
            apply_counted(split, "repeated_inputs_leave", drop_repeated_inputs(splits[split], spec.distinct))
    key = f"{seed}/{spec.benchmark}/{spec.variant_of or spec.name}/{domain}"
    splits.setdefault("train", next(iter(splits.values())).clear())
    if "test" not in splits:
        share = spec.test / (spec.train + spec.validation + spec.test)
        splits["test"], splits["train"] = take_share(splits["train"], share, f"{key}/test", spec.balance, first=True)
    apply_counted("train", "test_groups_leave_train", drop_shared_groups(splits["train"], splits["test"]))
    if "validation" in splits:
        apply_counted(
            "validation", "test_groups_leave_validation", drop_shared_groups(splits["validation"], splits["test"])
        )
        apply_counted(
            "train", "validation_groups_leave_train", drop_shared_groups(splits["train"], splits["validation"])
        )
    elif splits["train"]["group"].n_unique() > 1 and spec.validation:
        share = spec.validation / (spec.train + spec.validation)
        splits["validation"], splits["train"] = take_share(
            splits["train"], share, f"{key}/validation", spec.balance, first=False
        )
    return splits


def _check_not_empty(task: AssembledTask) -> None:
    """Raise InvalidInput if a split would be empty because a domain lacks rows of a required label."""
    problems = []
    for split, size in task.sizes.items():
        if size.rows == 0 and size.paper:
            what = f"{task.spec.id}.{size.smallest} has no {split} rows of a class that every domain needs"
            problems.append(
                Problem(what, task.spec.id, "0 rows", "fetch the complete upstream files, or give --partial")
            )
    if problems:
        raise InvalidInput(problems)


def _finish_split(spec: TaskSpec, domain: str, split: str, rows: Rows, store: Path | None = None) -> Rows:
    """Add ids, domain and label codes to rows, and sort them by id."""
    return finish_rows(rows, spec, domain, split, store, _codes(spec))


def finish_rows(
    rows: Rows, spec: TaskSpec, domain: str, split: str, store: Path | None, step: pl.Expr | None = None
) -> Rows:
    """Add ids, domain and label codes to rows in memory or on disk (see ``with_ids``).

    Args:
        store: a folder for the finished rows; None returns a frame.
        step: an expression applied first, for example to replace labels by codes.
    Returns: the rows with ids, sorted by id.
    """
    steps = [] if step is None else [step]
    if store is None:
        return with_ids(in_memory(rows).with_columns(steps), spec, domain, split)
    place = store / spec.name / domain / split
    parts = [(_digests(as_texts(part.select(spec.inputs)), repeat(0)), frame_bytes(part)) for part in slices_of(rows)]
    digests, n_bytes = pl.concat(digest for digest, _ in parts), sum(size for _, size in parts)
    # Rows with equal inputs are numbered, and their ids contain the number, so all of them must be known first.
    repeated = digests.is_duplicated()
    together = Sorter.of(place / "repeated", digests, n_bytes)
    by_id = Sorter.of(place / "by_id", (_prefix(spec, domain, split) + digests).alias("id"), n_bytes)
    start = 0
    for part in slices_of(rows):
        here = slice(start, start + len(part))
        keyed = part.with_columns(*steps, digests[here])
        by_id.add(with_ids(keyed.filter(~repeated[here]), spec, domain, split))
        together.add(keyed.filter(repeated[here]))
        start += len(part)
    for part in together.frames():
        by_id.add(with_ids(part, spec, domain, split))
    finished = RowWriter(place / "rows")
    for part in by_id.frames():
        finished.add(part)
    return finished.rows()


def with_ids(frame: pl.DataFrame, spec: TaskSpec, domain: str, split: str) -> pl.DataFrame:
    """Add ids, computed from domain, split and inputs, and sort the rows by id."""
    gold = GOLD[spec.kind]
    # Rows with equal inputs are numbered after sorting by the other columns, so upstream's order does not matter.
    keyed = frame.with_columns(_inputs=as_texts(frame.select(spec.inputs)), _gold=as_texts(frame.select(gold)))
    ordered = keyed.sort("_inputs", "group", "_gold")
    numbers = ordered.select(pl.int_range(pl.len()).over("_inputs")).to_series()
    ids = _prefix(spec, domain, split) + _digests(ordered["_inputs"], numbers)
    finished = ordered.with_columns(ids.alias("id"), pl.lit(domain).alias("domain"))
    return finished.select("id", "domain", "group", *spec.inputs, gold).sort("id").rechunk()


def _prefix(spec: TaskSpec, domain: str, split: str) -> str:
    return f"{spec.benchmark}/{spec.name}/{domain}/{split}/"


def _digests(inputs: pl.Series, numbers: Iterable[int]) -> pl.Series:
    """Hash the inputs of each row and its occurrence index among rows with identical inputs."""
    texts = zip(inputs, numbers, strict=False)
    digests = (hashlib.sha256(f"{text}\x1f{number}".encode()).hexdigest()[:12] for text, number in texts)
    return pl.Series("_digest", digests, dtype=pl.String)


def _codes(spec: TaskSpec) -> pl.Expr:
    """Return an expression that replaces label or tag names by codes; other gold is unchanged."""
    codes = {label: code for code, label in enumerate(spec.labels)}
    gold = pl.col(GOLD[spec.kind])
    if spec.kind is TaskKind.CLASSIFICATION:
        return gold.replace_strict(codes, return_dtype=pl.Int64)
    if spec.kind is TaskKind.TAGGING:
        return gold.list.eval(pl.element().replace_strict(codes, return_dtype=pl.Int64))
    return gold


def add_subsets(task: AssembledTask, seed: int) -> None:
    """Add a task's subsets: all test ids and, if all few-shot domains have test rows, the few-shot ids."""
    spec = task.spec
    tests = {domain: splits["test"]["id"].to_list() for domain, splits in task.domains.items() if "test" in splits}
    if not tests:
        what = "no domain of the task has a test row"
        raise InvalidInput(Problem(what, spec.id, "0 rows", "fetch more upstream files"))
    task.subsets["all"] = _ids(id_ for ids in tests.values() for id_ in ids)
    if spec.fewshot_domains and all(domain in tests for domain in spec.fewshot_domains):
        # Appendix D.3: the paper's three domains, 200 test ids each.
        task.subsets["fewshot"] = _ids(
            id_
            for domain in spec.fewshot_domains
            for id_ in sorted(tests[domain], key=lambda id_: hashlib.sha256(f"{seed}/fewshot/{id_}".encode()).digest())[
                : spec.fewshot_size
            ]
        )


def _ids(ids: Iterable[str]) -> pl.DataFrame:
    return pl.DataFrame({"id": sorted(ids)}, schema=SUBSET_IDS)


def check_schema(task: AssembledTask) -> None:
    """Check every split against the schema of the task's kind; raise InvalidInput listing invalid rows."""
    spec = task.spec
    for domain, splits in task.domains.items():
        for split, rows in splits.items():
            n_before = 0
            for frame in _checked_at_once(rows):
                place = f"{spec.id}.{domain} {split}"
                try:
                    check_examples(frame, spec.kind, spec.inputs, spec.labels, place)
                except InvalidInput as refused:
                    raise add_file_name(refused, place, n_before) from refused
                n_before += len(frame)


def _checked_at_once(rows: Rows) -> Iterable[pl.DataFrame]:
    """Return the frames to validate: all rows at once, or slices of rows on disk (sorted, with unique ids)."""
    return slices_of(rows) if isinstance(rows, StoredRows) else (in_memory(rows),)


def upstream_votes(spec: TaskSpec, splits: Mapping[str, Rows]) -> pl.DataFrame | None:
    """Collect the annotators' votes on a domain's test texts, if the rows have a column of votes.

    Args:
        splits: rows by upstream split, with label names and optionally ``VOTES``.
    Returns: the inputs, ``label`` and ``VOTES``, without repeated pairs of inputs and label; None without votes.
    """
    if spec.kind is not TaskKind.CLASSIFICATION or "test" not in splits:
        return None
    columns = (*spec.inputs, "label")
    parts = [part.select(*columns, VOTES).drop_nulls(VOTES) for part in slices_of(splits["test"]) if VOTES in part]
    votes = pl.concat(parts).unique(columns, keep="first", maintain_order=True) if parts else None
    return votes if votes is not None and len(votes) else None


def count_annotators(
    votes: pl.DataFrame, tests: Rows, inputs: Sequence[str], labels: Sequence[str]
) -> Annotators | None:
    """Score single annotators on finished test rows.

    Args:
        votes: the result of ``upstream_votes``; votes for labels outside the task are ignored.
        tests: finished test rows, labels as codes.
        inputs: the task's inputs.
        labels: names of the labels, by code.
    Returns: the annotators' scores; None if no text has two votes.
    """
    codes = {name: code for code, name in enumerate(labels)}
    counts = [
        pl.col(VOTES).list.count_matches(name).cast(pl.Int64).alias(f"votes_{code}") for name, code in codes.items()
    ]
    counted = votes.select(*inputs, *counts, label=pl.col("label").replace_strict(codes, return_dtype=pl.Int64))
    rows = pl.concat(part.select(*inputs, "label") for part in slices_of(tests))
    names = [f"votes_{code}" for code in range(len(labels))]
    known = rows.join(counted, on=[*inputs, "label"], how="inner").filter(pl.sum_horizontal(names) >= 2)
    if not len(known):
        return None
    tables = annotator_tables(known.select(names).to_numpy(), known["label"].to_numpy())
    scores = [{"accuracy": float(accuracy(table)), "macro_f1": float(macro_f1(table))} for table in tables]
    n_votes = known.select(pl.sum_horizontal(names)).to_series()
    return Annotators(texts=len(known), votes=float(n_votes.to_numpy().mean()), others=scores[0], gold=scores[1])
