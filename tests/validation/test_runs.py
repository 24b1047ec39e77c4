"""The ledger of runs against sets of ids: repeats and missing ids, whatever the parts that rows come in."""

from collections import Counter
from collections.abc import Sequence

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from shiftbench.validation.runs import KnownIds, RunLedger

TESTS = {
    "nli": pl.DataFrame({"id": ["n3", "n1", "n2"], "domain": ["b", "a", "b"]}),
    "sa": pl.DataFrame({"id": ["s1", "s2"], "domain": ["a", "a"]}),
}
DOMAIN = {id_: (task, domain) for task, rows in TESTS.items() for id_, domain in rows.iter_rows()}

row = st.tuples(st.sampled_from(["x", "y"]), st.integers(0, 1), st.sampled_from([*DOMAIN, "unknown", "other"]))


def ledger_of(rows: Sequence[tuple[str, int, str]], cut: int) -> RunLedger:
    ledger = RunLedger(KnownIds(TESTS))
    frame = pl.DataFrame(rows, schema={"source": pl.String, "seed": pl.Int64, "id": pl.String}, orient="row")
    for part in (frame.head(cut), frame.slice(cut)):
        if len(part):
            known = part.filter(pl.col("id").is_in(list(DOMAIN)))
            assert ledger.add(ledger.known.locate_ids(part)) == known.is_duplicated().any()
    return ledger


@given(st.lists(row, min_size=1, max_size=40), st.integers(0, 40))
def test_repeats_and_missing_ids_are_those_of_sets(rows: list[tuple[str, int, str]], cut: int) -> None:
    ledger = ledger_of(rows, cut)
    seen: set[tuple[str, int, str]] = set()
    repeats = [number for number, each in enumerate(rows) if each[2] in DOMAIN and (each in seen or seen.add(each))]
    assert ledger.rows == len(rows)
    assert ledger.repeats().tolist() == repeats
    for number in repeats:
        assert ledger.row(number) == (rows[number][:2], rows[number][2])
    given_ids = Counter((source, seed, *DOMAIN[id_]) for source, seed, id_ in seen)
    short = {key: n for key, n in given_ids.items() if n < Counter(DOMAIN.values())[key[2:]]}
    listed, n = ledger.short_runs(most=100)
    assert n == len(short)
    assert {(run.source, run.seed, run.target): run.given for run in listed} == {
        (source, seed, domain): count for (source, seed, _, domain), count in short.items()
    }
    for run in listed:
        ids = {id_ for id_, (_, domain) in DOMAIN.items() if domain == run.target}
        assert run.first_missing in ids
        assert (run.source, run.seed, run.first_missing) not in seen
    assert ledger.short_runs(most=1) == (listed[:1], n)
