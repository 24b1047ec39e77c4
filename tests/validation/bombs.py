"""Small files that stand for much more, and a program that reads such files and measures itself."""

import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.validation.test_yaml_text import ATTACKS

MIB = 2**20
HEAD = b"source,id,prediction\n"
_LINE = b'{"source": "a", "id": "b", "prediction": "c", "probabilities": [%s1]}\n'


def _write(path: Path, start: bytes, block: bytes, n_bytes: int) -> None:
    with path.open("wb") as stream:
        stream.write(start)
        for _ in range(n_bytes // len(block)):
            stream.write(block)


def _codes(values: list[str], n: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array(values, pa.large_string()))


def _table(n: int = 1, prediction: pa.Array | None = None) -> pa.Table:
    texts = _codes(["x"], n)
    return pa.table({"source": texts, "id": texts, "prediction": texts if prediction is None else prediction})


def _one_text_in_many_rows(path: Path, n_characters: int, n: int) -> None:
    pq.write_table(_table(n, _codes(["x" * n_characters], n)), path, dictionary_pagesize_limit=2**30)


def _a_page(path: Path, n_bytes: int) -> None:
    table = _table(1, pa.array(["x" * n_bytes]))
    pq.write_table(table, path, use_dictionary=False, compression="zstd", write_statistics=False)


def _shared_beginnings(path: Path) -> None:
    texts = pa.table(dict.fromkeys(["source", "id", "prediction"], ["x" * 10_000] * 1000))
    encodings = dict.fromkeys(texts.column_names, "DELTA_BYTE_ARRAY")
    pq.write_table(texts, path, use_dictionary=False, column_encoding=encodings)


def _lists(path: Path, n_rows: int, n: int) -> None:
    offsets = pa.array(np.arange(n_rows + 1) * n)
    tags = pa.LargeListArray.from_arrays(offsets, _codes(["O"], n_rows * n))
    pq.write_table(_table(n_rows, tags), path, data_page_size=2**30, row_group_size=2**30)


def _nested(path: Path) -> None:
    values: pa.Array = pa.array(["x"])
    for _ in range(3):
        values = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), values)
    pq.write_table(_table(1, values), path)


def _probabilities(path: Path, n_rows: int, n: int) -> None:
    offsets = pa.array(np.arange(n_rows + 1) * n)
    lists = pa.LargeListArray.from_arrays(offsets, pa.array(np.full(n_rows * n, 1 / n)))
    table = _table(n_rows).append_column("probabilities", lists)
    pq.write_table(table, path, data_page_size=2**20, row_group_size=2**30)


def _fixed_lists(path: Path) -> None:
    lists = pa.nulls(4, pa.list_(pa.float64(), 10**6))
    pq.write_table(_table(4).append_column("probabilities", lists), path)


def _wide(path: Path) -> None:
    pq.write_table(pa.table({f"c{number}": ["x"] for number in range(20_000)}), path)


def _metadata(path: Path) -> None:
    pq.write_table(_table().replace_schema_metadata({"x": "y" * 32 * MIB}), path)


def _row_groups(path: Path) -> None:
    table = _table(10_500)
    pq.write_table(table, path, row_group_size=1)


BOMBS: dict[str, tuple[Callable[[Path], None], str]] = {
    "one text of 100 MB": (lambda p: _one_text_in_many_rows(p, 10**8, 100), "a page of 100,000,004 bytes"),
    "one text of 30 MB": (lambda p: _one_text_in_many_rows(p, 3 * 10**7, 100), "a value is too long"),
    "a text as long as may be, in 5 million rows": (
        lambda p: _one_text_in_many_rows(p, 20_000, 5 * 10**6),
        "the predictions contain more text",
    ),
    "25 million rows": (lambda p: pq.write_table(_table(25 * 10**6), p), "25,000,000 rows"),
    "a page of 200 MB": (lambda p: _a_page(p, 200 * 10**6), "a page of 200,000,010 bytes"),
    "shared beginnings": (_shared_beginnings, "a page with encoding 7"),
    "a list of 40 million": (lambda p: _lists(p, 1, 40 * 10**6), "too many tags in lists"),
    "a list of 7 million": (lambda p: _lists(p, 1, 7 * 10**6), "a value is too long"),
    "lists of 7 million": (lambda p: _lists(p, 250, 30_000), "a value is too long"),
    "probabilities of 10,000": (lambda p: _probabilities(p, 700, 10_000), "a list of probabilities is too long"),
    "probabilities of 7 million": (lambda p: _probabilities(p, 1, 7 * 10**6), "a value is too long"),
    "40 million probabilities": (lambda p: _probabilities(p, 10**6, 40), "too many probabilities in lists"),
    "lists of a million by their type": (_fixed_lists, "lists of 1,000,000 values each"),
    "lists in lists": (_nested, "a column is nested too deeply"),
    "20,000 columns": (_wide, "there are too many columns"),
    "metadata of 32 MiB": (_metadata, "a footer of "),
    "10,500 row groups": (_row_groups, "10,500 row groups"),
    "JSON without end": (lambda p: _write(p, b'{"source": "', b"x" * MIB, 100 * MIB), "this row is too long"),
    "deep JSON": (lambda p: _write(p, b'{"source": ', b"[" * 1000, MIB // 2), "this line is not JSON text"),
    "deep JSON, whole": (
        lambda p: p.write_bytes(b'{"source": ' + b"[" * 900 + b"]" * 900 + b', "id": "a", "prediction": "b"}') and None,
        "a value is not text",
    ),
    "JSON of many lists": (
        lambda p: _write(p, b"", b'{"source": "a", "id": "b", "prediction": [%s1]}\n' % (b"[]," * 340_000), 32 * MIB),
        "a value is not text",
    ),
    "JSON of many probabilities": (
        lambda p: _write(p, b"", _LINE % (b"0," * 500_000), 32 * MIB),
        "a list of probabilities is too long",
    ),
    "CSV of many probabilities": (
        lambda p: _write(p, b"source,id,prediction,probabilities\n", b"a,b,c,%s1\n" % (b"0 " * 500_000), 32 * MIB),
        "a list of probabilities is too long",
    ),
    "JSON of many keys": (
        lambda p: p.write_bytes(b"{" + b",".join(b'"%d": 1' % n for n in range(50_000)) + b"}") and None,
        "there are too many columns",
    ),
    "empty lines": (lambda p: _write(p, b"{}", b"\n" * MIB, 100 * MIB), "104,857,600 rows"),
    "empty objects": (lambda p: _write(p, b"", b"{}\n" * MIB, 20 * 3 * MIB), "20,971,520 rows"),
    "CSV without end": (lambda p: _write(p, HEAD, b"x" * MIB, 100 * MIB), "this row is too long"),
    "CSV in a quote": (lambda p: _write(p, HEAD + b'"', b"x\n" * MIB, 100 * MIB), "this row is too long"),
    "CSV of quotes": (lambda p: _write(p, HEAD, b'"' * MIB, 100 * MIB), "this row is too long"),
    "CSV of quotes and lines": (lambda p: _write(p, HEAD, b'"\n' * MIB, 100 * MIB), "rows; the limit is"),
    "CSV of commas": (lambda p: _write(p, HEAD, b"," * MIB, 100 * MIB), "this row is too long"),
    "CSV of short rows": (lambda p: _write(p, HEAD, b"a,b,c\n" * MIB, 200 * MIB), "rows; the limit is 20,000,000"),
    "a header of commas": (lambda p: _write(p, b"", b"a," * 1000, MIB // 2), "there are too many columns"),
    "a header without end": (lambda p: _write(p, b"", b"x" * MIB, 100 * MIB), "this row is too long"),
    "spaces": (lambda p: _write(p, b"", b" " * MIB, 100 * MIB), "the file contains no predictions"),
}
"""By name: what writes it, and what its refusal says."""


def _refusals(folder: Path) -> Iterator[tuple[str, str]]:
    from shiftbench.validation.cards import parse_card
    from shiftbench.validation.prediction_files import read_predictions
    from shiftbench.validation.report import InvalidInput

    for name in ["good", *BOMBS, *ATTACKS]:
        path = folder / "bomb"
        try:
            if name in ATTACKS:
                parse_card(ATTACKS[name])
            elif name == "good":
                pq.write_table(_table(1000), path)
                read_predictions(path)
            else:
                read_predictions(folder / name)
        except InvalidInput as refused:
            yield name, str(refused)
        else:
            yield name, "read"


def main() -> None:
    """Read every file of a folder, and print for each how far the peak rose since the first one, and what was said."""
    start = 0
    for name, said in _refusals(Path(sys.argv[1])):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        start = start or peak
        print(f"{name}\t{peak - start}\t{said[:300]!r}", flush=True)


if __name__ == "__main__":
    main()
