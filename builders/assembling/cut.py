"""Cut rows into splits by whole groups, then sample each split to its size with the task's label proportions.

Rows are assigned by keyed hashes of group and row, never by position: the same seed gives the same splits for any order
of the upstream rows.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from shiftbench.builders.specs.balances import by_label
from shiftbench.builders.specs.spec import COMMON, Balance, TaskSpec
from shiftbench.builders.specs.transforms import as_texts
from shiftbench.validation.vocabulary import SPLITS

Splits = dict[str, pl.DataFrame]
Supply = dict[int, int]
"""Number of rows available, or to take, by stratum."""


@dataclass(frozen=True)
class Size:
    """Size of a split after ``fill_to_sizes``.

    Attributes:
        paper: number of rows per domain in the paper.
        rows: the common size of all domains; None if domains keep different sizes.
        smallest: the domain that limits the common size; None if the common size is the paper's.
    """

    paper: int
    rows: int | None = None
    smallest: str | None = None


def fill(pool: pl.DataFrame, n_rows: int, key: str, *, at_least: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Take whole groups until ``n_rows`` rows are reached, in the order of a keyed hash of the group.

    A group that no longer fits is skipped, and smaller ones are tried; if fewer than ``at_least`` groups are taken, the
    smallest skipped ones are added.

    Returns: the rows taken and the remaining rows, both in their original order.
    """
    sizes = pool.group_by("group").agg(size=pl.len())
    keys = pl.Series("_key", (_keyed(key, group) for group in sizes["group"]), dtype=pl.Binary)
    order = sizes.with_columns(keys).sort("_key")
    room, fits = n_rows, []
    for size in order["size"].to_list():
        fits.append(size <= room)
        room -= size if fits[-1] else 0
    fitting = pl.Series(fits, dtype=pl.Boolean)
    taken = order.filter(fitting)["group"]
    passed = order.filter(~fitting).sort("size", maintain_order=True)["group"]
    chosen = pool["group"].is_in(pl.concat([taken, passed.head(max(0, at_least - len(taken)))]).implode())
    return pool.filter(chosen), pool.filter(~chosen)


def take_share(
    pool: pl.DataFrame, share: float, key: str, balance: Balance | None, *, first: bool
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Take about a share of a pool's rows, in whole groups.

    If the balance fixes the proportions of strata, groups that contain the same strata are divided separately:
    otherwise the few documents with unanswerable questions might all end up in one split. If none of the groups taken
    contains a stratum, one more group that contains it is taken. If the pool has only one such group, a split other
    than the first takes no rows at all: without the stratum it would end up empty anyway.

    Args:
        pool: rows with the column ``group``.
        share: fraction of the rows to take.
        key: key of the hash that orders the groups.
        balance: the task's balance.
        first: whether this is the first split taken from the pool; it gets at least one group.
    Returns: the rows taken and the remaining rows.
    """
    if balance is None or balance.shares == COMMON:
        n_rows = round(len(pool) * share)
        needed = first or (pool["group"].n_unique() > 1 and n_rows > 0)
        return fill(pool, n_rows, key, at_least=1 if needed else 0)
    taken: list[str] = []
    for part in _by_strata_held(pool, balance.stratum):
        n_rows = round(len(part) * share)
        needed = part["group"].n_unique() > 1 and (first or n_rows > 0)
        taken += fill(part, n_rows, key, at_least=1 if needed else 0)[0]["group"].unique().to_list()
    strata = _strata(pool, balance)
    for stratum in strata.unique().sort() if taken or first else []:
        holders = set(pool.filter(strata == stratum)["group"])
        if not holders & set(taken):
            if len(holders) < 2 and not first:
                return pool.clear(), pool
            rows = pool.filter(pl.col("group").is_in(holders))
            taken += fill(rows, 0, key, at_least=1)[0]["group"].unique().to_list()
    chosen = pool["group"].is_in(taken)
    return pool.filter(chosen), pool.filter(~chosen)


def fill_to_sizes(
    spec: TaskSpec, domains: Mapping[str, Splits], cut: Mapping[str, Sequence[str]], seed: int, *, equal: bool
) -> tuple[dict[str, Splits], dict[str, Size]]:
    """Sample each split down to a target size: the paper's, or that of the smallest domain.

    Args:
        spec: the task, with the paper's sizes and its balance.
        domains: the rows, by domain and split.
        cut: the splits to sample, by domain; other splits are unchanged.
        seed: determines which rows are sampled.
        equal: cut all domains to the size of the smallest; otherwise each keeps its rows, up to the paper's size.
    Returns: the filled splits by domain, and the sizes by split.
    """
    filled = {domain: dict(splits) for domain, splits in domains.items()}
    sizes: dict[str, Size] = {}
    for split in SPLITS:
        frames = {
            domain: splits[split] for domain, splits in domains.items() if split in cut[domain] and split in splits
        }
        if not frames:
            continue
        limit = {"train": spec.train, "validation": spec.validation, "test": spec.test}[split]
        quotas, sizes[split] = _quotas(spec.balance, frames, limit, equal=equal)
        for domain, frame in frames.items():
            key = f"{seed}/{spec.id}/{domain}/{split}"
            filled[domain][split] = _choose(frame, quotas[domain], spec.balance, key)
    return filled, sizes


def take_per_label(frame: pl.DataFrame, n_rows: int, key: str) -> pl.DataFrame:
    """Take up to ``n_rows`` rows of each label, in the order of a keyed hash of the row."""
    balance = Balance("per_label", by_label(sorted(frame["label"].unique())), {})
    supply = _supply(frame, balance)
    return _choose(frame, {code: min(n_rows, n) for code, n in supply.items()}, balance, key)


def _quotas(
    balance: Balance | None, frames: Mapping[str, pl.DataFrame], limit: int, *, equal: bool
) -> tuple[dict[str, Supply], Size]:
    """Return the number of rows of each stratum in each domain's split."""
    supplies = {domain: _supply(frame, balance) for domain, frame in frames.items()}
    if balance is not None and balance.shares == COMMON and equal:
        common = _common_quotas(list(supplies.values()), limit)
        size = sum(common.values())
        smallest = min(supplies, key=lambda domain: sum(supplies[domain].values()))
        return dict.fromkeys(supplies, common), Size(limit, size, smallest if size < limit else None)
    shares = {domain: _shares(balance, supply) for domain, supply in supplies.items()}
    most = {domain: largest_size(supply, shares[domain], limit) for domain, supply in supplies.items()}
    if not equal:
        return {domain: apportion(n, shares[domain]) for domain, n in most.items()}, Size(limit)
    smallest = min(most, key=lambda domain: most[domain])
    size = most[smallest]
    quotas = {domain: apportion(size, share) for domain, share in shares.items()}
    return quotas, Size(limit, size, smallest if size < limit else None)


def apportion(n_rows: int, shares: Mapping[int, float]) -> Supply:
    """Divide rows among strata by largest remainders.

    >>> apportion(10, {0: 1 / 3, 1: 1 / 3, 2: 1 / 3})
    {0: 4, 1: 3, 2: 3}
    """
    exact = {stratum: n_rows * share / sum(shares.values()) for stratum, share in shares.items()}
    whole = {stratum: int(rows) for stratum, rows in exact.items()}
    # Rounded because floating-point noise would otherwise order equal remainders.
    by_remainder = sorted(exact, key=lambda stratum: (-round(exact[stratum] - whole[stratum], 9), stratum))
    for stratum in by_remainder[: n_rows - sum(whole.values())]:
        whole[stratum] += 1
    return whole


def largest_size(supply: Mapping[int, int], shares: Mapping[int, float], limit: int) -> int:
    """Find the largest number of rows, up to a limit, that a supply allows at the given proportions.

    >>> largest_size({0: 50, 1: 10}, {0: 0.5, 1: 0.5}, 100), largest_size({0: 50}, {0: 0.5, 1: 0.5}, 100)
    (21, 0)
    """
    if not shares:
        return 0
    total = sum(shares.values())
    most = min(limit, *(int((supply.get(stratum, 0) + 1) * total / share) for stratum, share in shares.items()))
    if any(not supply.get(stratum) for stratum in shares):
        return 0  # every stratum that has rows must have one in the split
    while any(n > supply[stratum] for stratum, n in apportion(most, shares).items()):
        most -= 1
    return most


def _common_quotas(supplies: Sequence[Mapping[int, int]], limit: int) -> Supply:
    """Return the rows per stratum that every domain can supply, as close as possible to the mean proportions."""
    cap = {stratum: min(supply.get(stratum, 0) for supply in supplies) for stratum in sorted(set().union(*supplies))}
    shares = {
        stratum: sum(supply.get(stratum, 0) / sum(supply.values()) for supply in supplies)
        for stratum, n in cap.items()
        if n
    }
    quotas: Supply = {}
    left = min(limit, sum(cap.values()))
    while shares:
        wanted = apportion(left, shares)
        short = [stratum for stratum, n in wanted.items() if n > cap[stratum]]
        if not short:
            return quotas | wanted
        for stratum in short:
            quotas[stratum] = cap[stratum]
            left -= cap[stratum]
            del shares[stratum]
    return quotas


def _shares(balance: Balance | None, supply: Supply) -> Mapping[int, float]:
    if balance is not None and isinstance(balance.shares, Mapping):
        return balance.shares
    return dict(supply)


def _supply(frame: pl.DataFrame, balance: Balance | None) -> Supply:
    return dict(_strata(frame, balance).value_counts().sort("_stratum").iter_rows())


def _strata(frame: pl.DataFrame, balance: Balance | None) -> pl.Series:
    stratum = pl.lit(0) if balance is None else balance.stratum
    return frame.with_columns(stratum.cast(pl.Int64).alias("_stratum"))["_stratum"]


def _choose(frame: pl.DataFrame, quotas: Supply, balance: Balance | None, key: str) -> pl.DataFrame:
    """Take the quota of each stratum, in the order of a keyed hash of the row."""
    if sum(quotas.values()) == len(frame):
        return frame
    keys = (_keyed(key, text) for part in frame.iter_slices() for text in as_texts(part))
    ranked = frame.with_columns(_strata(frame, balance), pl.Series("_key", keys, dtype=pl.Binary)).with_columns(
        pl.col("_key").rank("ordinal").over("_stratum").alias("_rank"),
        pl.col("_stratum").replace_strict(quotas, default=0, return_dtype=pl.Int64).alias("_quota"),
    )
    return ranked.filter(pl.col("_rank") <= pl.col("_quota")).select(frame.columns)


def _by_strata_held(pool: pl.DataFrame, stratum: pl.Expr) -> list[pl.DataFrame]:
    """Split a pool into parts whose groups contain the same set of strata."""
    held = pool.with_columns(stratum.cast(pl.Int64).unique().sort().implode().over("group").alias("_held"))
    keyed = held.with_columns(pl.col("_held").list.eval(pl.element().cast(pl.String)).list.join(" "))
    return [part.drop("_held") for _, part in sorted(keyed.partition_by("_held", as_dict=True).items())]


def _keyed(key: str, text: str) -> bytes:
    return hashlib.sha256(f"{key}/{text}".encode()).digest()
