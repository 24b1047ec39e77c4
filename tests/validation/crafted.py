"""Two hundred small files that are made to take memory or time, or to end the process that reads them.

Most name test ids that exist, because what is refused by its ids is refused before anything else is read.
"""

import gzip
import io
import itertools
import json
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

MIB = 2**20
Write = Callable[[Path], Any]
Build = Callable[[], pa.Array | None]
CODECS = ("none", "snappy", "gzip", "brotli", "zstd", "lz4")


@dataclass(frozen=True)
class Target:
    """What the files are for: a classification task's test ids, one of its sources and one of its labels."""

    ids: Sequence[str]
    source: str
    label: str

    def rows(self, runs: int) -> int:
        """Count the rows of some runs."""
        return runs * len(self.ids)

    def table(self, n: int, **changed: Any) -> pa.Table:
        """Build sound rows, each column as codes: every id once for each seed."""
        rows = np.arange(n)
        columns = {
            "source": codes([self.source], np.zeros(n)),
            "id": codes(self.ids, rows % len(self.ids)),
            "prediction": codes([self.label], np.zeros(n)),
            "seed": pa.array(rows // len(self.ids)),
        }
        return pa.table({name: column for name, column in {**columns, **changed}.items() if column is not None})

    def text(self, n: int, **changed: Sequence[str]) -> dict[str, list[str]]:
        """Build the same rows as texts."""
        table = self.table(n).to_pydict()
        columns = {**table, **changed}
        return {name: list(itertools.islice(itertools.cycle(map(str, values)), n)) for name, values in columns.items()}


def codes(texts: Sequence[Any], of_row: Any, kind: pa.DataType | None = None) -> pa.Array:
    """Build a column of codes into a few texts."""
    indices = pa.array(np.asarray(of_row, np.int32))
    return pa.DictionaryArray.from_arrays(indices, pa.array(list(texts), kind or pa.large_string()))


def zeros(n: int) -> Any:
    """Build codes that all are the first."""
    return np.zeros(n, np.int32)


def parquet(path: Path, table: pa.Table, **options: Any) -> None:
    """Write a table as the widest pages that may be."""
    pq.write_table(table, path, **{"compression": "zstd", "row_group_size": 2**30, **options})


def csv(path: Path, columns: dict[str, list[str]], end: str = "\n") -> None:
    """Write columns as CSV without quotes."""
    rows = (",".join(row) for row in zip(*columns.values(), strict=True))
    path.write_text(end.join([",".join(columns), *rows]) + end)


def json_lines(path: Path, columns: dict[str, list[str]]) -> None:
    """Write columns as JSON lines."""
    rows = zip(*columns.values(), strict=True)
    with path.open("w") as stream:
        stream.writelines(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows)


def flipped(path: Path, table: pa.Table, seed: int, *, footer: bool, **options: Any) -> None:
    """Write a table and change bytes of its pages, or of its footer."""
    parquet(path, table, **options)
    content, chance = bytearray(path.read_bytes()), Random(seed)
    end = len(content) - 8
    start = end - int.from_bytes(content[end : end + 4], "little") if footer else 4
    stop = end if footer else end - int.from_bytes(content[end : end + 4], "little")
    for _ in range(3):
        content[chance.randrange(start, stop)] = chance.randrange(256)
    path.write_bytes(content)


def crafted(target: Target) -> dict[str, Write]:
    """Return what writes each file, by what it is; nothing is made before it is written."""
    families = (
        _long_texts, _many_keys, _codecs, _encodings, _shapes, _probabilities, _types, _metadata, _damage, _csv, _json,
        _others,
    )  # fmt: skip
    return {name: write for family in families for name, write in family(target)}


def _changed(target: Target, n: int, name: str, column: Build, path: Path, **options: Any) -> None:
    """Write sound rows with a column of another kind."""
    wide = {"dictionary_pagesize_limit": 2**30, "data_page_size": 2**30}
    parquet(path, target.table(n, **{name: column()}), **{**wide, **options})


def _long_texts(target: Target) -> Iterator[tuple[str, Write]]:
    one, few, some, many = map(target.rows, (1, 4, 13, 90))
    for length, n in itertools.product((100, 1_000, 5_000, 20_000, 10**6, 3 * 10**7), (one, few, some, many)):
        text = partial(lambda length, n: codes(["x" * length], zeros(n)), length, n)
        yield f"{n:,} predictions of {length:,} letters", partial(_changed, target, n, "prediction", text)
    for name, n in itertools.product(("source", "id", "seed", "confidence"), (one, many)):
        text = partial(lambda n: codes(["y" * 300], zeros(n)), n)
        yield f"{n:,} long texts as {name}", partial(_changed, target, n, name, text)


def _at_the_end(n: int) -> Any:
    return np.arange(n) == n - 1


def _many_keys(target: Target) -> Iterator[tuple[str, Write]]:
    some, many = map(target.rows, (13, 90))
    for what, n, form in (
        ("sources", many, target.source + "{:06}"),
        ("joined sources", many, target.source + "+z{:06}"),
        ("long sources", some, "{:06}" + "+ab" * 300),
    ):
        texts = partial(lambda form, n: list(map(form.format, range(n))), form)
        yield f"many {what}", partial(_changed, target, n, "source", lambda texts=texts, n=n: pa.array(texts(n)))
        yield f"many {what}, CSV", lambda p, texts=texts: csv(p, target.text(some, source=texts(some)))
        yield f"many {what}, JSON", lambda p, texts=texts: json_lines(p, target.text(some, source=texts(some)))
    unknown = target.ids[0][:-12] + "{:012x}"
    columns: dict[str, tuple[str, Callable[[], pa.Array | None]]] = {
        "many ids": ("id", lambda: pa.array(list(map(unknown.format, range(many))))),
        "one id": ("id", lambda: codes(target.ids[:1], zeros(many))),
        "one unknown id": ("id", lambda: codes([unknown.format(1)], zeros(many))),
        "an unknown id at the end": ("id", lambda: codes([target.ids[0], "x"], _at_the_end(many))),
        "many seeds": ("seed", lambda: pa.array(np.arange(many))),
        "many seeds as text": ("seed", lambda: pa.array(list(map(str, range(many))))),
        "seeds of 100 digits": ("seed", lambda: codes(["9" * 100], zeros(many))),
        "no seeds": ("seed", lambda: None),
        "ids in turn, by seed": ("seed", lambda: pa.array(np.arange(many) % 97)),
        "many labels": ("prediction", lambda: pa.array(list(map("label{}".format, range(many))))),
        "labels that differ at the end": (
            "prediction",
            lambda: codes([target.label, "x"], _at_the_end(many)),
        ),
    }
    for what, (name, column) in columns.items():
        yield what, partial(_changed, target, many, name, column)
    yield "sound rows, as many as may be", partial(_changed, target, many, "confidence", lambda: None)
    yield "sound rows, CSV", lambda p: csv(p, target.text(many))
    yield (
        "sound rows, JSON",
        lambda p: json_lines(p, target.text(some)),
    )


def _codecs(target: Target) -> Iterator[tuple[str, Write]]:
    one, many = map(target.rows, (1, 90))
    texts = {"few long": ("x" * 5 * 10**6, 6), "many short": ("", many), "long": ("x" * 15_000, one)}
    for codec, (what, (text, n)) in itertools.product(CODECS, texts.items()):
        column = partial(lambda text, n: pa.array([text] * n), text, n)
        yield (
            f"{what} texts, {codec}",
            partial(_changed, target, n, "prediction", column, compression=codec, use_dictionary=False),
        )


def _encodings(target: Target) -> Iterator[tuple[str, Write]]:
    few, many = map(target.rows, (4, 90))
    columns: dict[str, tuple[str, int, Callable[[], pa.Array]]] = {
        "PLAIN": ("prediction", few, lambda: pa.array(["x" * 2_000] * few)),
        "DELTA_LENGTH_BYTE_ARRAY": ("prediction", few, lambda: pa.array(["x" * 2_000] * few)),
        "DELTA_BYTE_ARRAY": ("prediction", few, lambda: pa.array(["x" * 2_000] * few)),
        "DELTA_BINARY_PACKED": ("seed", many, lambda: pa.array(zeros(many))),
        "BYTE_STREAM_SPLIT": ("confidence", many, lambda: pa.array(np.zeros(many))),
        "RLE": ("confidence", many, lambda: pa.array(np.zeros(many, bool))),
    }
    for (encoding, (name, n, column)), version in itertools.product(columns.items(), ("1.0", "2.0")):
        options = {"use_dictionary": False, "column_encoding": {name: encoding}, "data_page_version": version}
        yield f"{encoding}, pages {version}", partial(_changed, target, n, name, column, **options)


def _lists(n: int, length: int, values: Callable[[], pa.Array]) -> pa.Array:
    return pa.LargeListArray.from_arrays(pa.array(np.arange(n + 1) * length), values())


def _nested(depth: int) -> pa.Array:
    nested: pa.Array = pa.array(["x"])
    for _ in range(depth):
        nested = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), nested)
    return nested


def _fields(n: int) -> pa.Array:
    return pa.StructArray.from_arrays([codes(["x" * 20_000], zeros(n))] * 3, ["a", "b", "c"])


def _shapes(target: Target) -> Iterator[tuple[str, Write]]:
    one, some, many = map(target.rows, (1, 13, 90))
    sizes = ((1, 7 * 10**6), (1, 4 * 10**7), (one, 2_000), (one, 30_000), (some, 100), (many, 8), (many, 0))
    for (n, length), name in itertools.product(sizes, ("prediction", "id")):
        tags = partial(lambda n, length: _lists(n, length, lambda: codes(["O"], zeros(n * length))), n, length)
        yield f"{n:,} lists of {length:,} as {name}", partial(_changed, target, n, name, tags)
    columns: dict[str, tuple[int, Callable[[], pa.Array]]] = {
        "a list of numbers": (1, lambda: _lists(1, 7 * 10**6, lambda: pa.array(zeros(7 * 10**6)))),
        "lists of nothing": (many, lambda: pa.nulls(many, pa.list_(pa.string()))),
        "lists 2 deep": (1, lambda: _nested(2)),
        "lists 3 deep": (1, lambda: _nested(3)),
        "lists 11 deep": (1, lambda: _nested(11)),
        "structs of long texts": (some, lambda: _fields(some)),
        "lists of structs": (some, lambda: _lists(some, 1, lambda: _fields(some))),
        "a map": (1, lambda: pa.MapArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(["k"]), pa.array(["v"]))),
    }
    for what, (n, column) in columns.items():
        yield what, partial(_changed, target, n, "prediction", column)


def _probabilities(target: Target) -> Iterator[tuple[str, Write]]:
    one, some, many = map(target.rows, (1, 13, 60))
    for n, length, value in (
        (many, 2, 0.5), (many, 3, 1 / 3), (many, 3, np.nan), (many, 3, 0.5), (many, 3, -1.0), (many, 3, 1e308),
        (one, 700, 1 / 700), (some, 4, 0.25), (700, 10_000, 1e-4), (1, 7 * 10**6, 0.0), (1, 4 * 10**7, 0.0),
    ):  # fmt: skip
        lists = partial(
            lambda n, length, value: _lists(n, length, lambda: pa.array(np.full(n * length, value))), n, length, value
        )
        yield f"{n:,} lists of {length:,} times {value}", partial(_changed, target, n, "probabilities", lists)
    kinds: dict[str, tuple[int, Build]] = {
        "no lists": (many, lambda: pa.nulls(many, pa.list_(pa.float64()))),
        "empty lists": (many, lambda: _lists(many, 0, lambda: pa.array([], pa.float64()))),
        "fixed lists of nothing": (one, lambda: pa.nulls(one, pa.list_(pa.float64(), 1_000))),
        "lists of wide decimals": (
            one, lambda: _lists(one, 3, lambda: pa.array([0] * 3 * one).cast(pa.decimal256(76, 2))),
        ),
        "lists of texts": (some, lambda: _lists(some, 3, lambda: codes(["0.5"], zeros(3 * some)))),
        "texts of numbers": (some, lambda: codes(["0 " * 10_000], zeros(some))),
        "lists in lists": (1, lambda: _nested(2)),
    }  # fmt: skip
    for what, (n, column) in kinds.items():
        yield f"probabilities: {what}", partial(_changed, target, n, "probabilities", column)
    numbers = "0 " * 5_000 + "1"
    yield "probabilities in CSV", lambda p: csv(p, target.text(one, probabilities=[numbers]))
    yield "probabilities as texts in JSON", lambda p: json_lines(p, target.text(one, probabilities=[numbers]))


def _types(target: Target) -> Iterator[tuple[str, Write]]:
    one, few, some, many = map(target.rows, (1, 4, 13, 90))
    kinds: dict[str, tuple[int, Callable[[], pa.Array]]] = {
        "wide bytes": (few, lambda: codes([b"x" * 20_000], zeros(few), pa.binary(20_000))),
        "bytes": (some, lambda: codes([b"\xff" * 20_000], zeros(some), pa.large_binary())),
        "nulls": (many, lambda: pa.nulls(many)),
        "truths": (many, lambda: pa.array(np.zeros(many, bool))),
        "half floats": (many, lambda: pa.array(np.zeros(many, np.float16))),
        "times": (many, lambda: pa.array(np.zeros(many, "datetime64[ns]"))),
        "decimals": (one, lambda: pa.array([1] * one).cast(pa.decimal128(38, 2))),
        "wide decimals": (one, lambda: pa.array([1] * one).cast(pa.decimal256(76, 2))),
    }
    for (what, (n, column)), name in itertools.product(kinds.items(), ("prediction", "seed", "id")):
        yield f"{what} as {name}", partial(_changed, target, n, name, column)


def _metadata(target: Target) -> Iterator[tuple[str, Write]]:
    one, some, many = map(target.rows, (1, 13, 90))

    def described(pairs: Callable[[], dict[str, str]]) -> Write:
        return lambda p: parquet(p, target.table(target.rows(1)).replace_schema_metadata(pairs()))

    for size in (1, 10, 15, 17, 64):
        yield f"metadata of {size} MiB", described(lambda size=size: {"x": "y" * size * MIB})
    yield "100,000 pairs of metadata", described(lambda: {f"{n}": "" for n in range(100_000)})
    yield "metadata that is no schema", described(lambda: {"ARROW:schema": "x" * 1000, "huggingface": "{" * 10**6})
    for n in (60, 2_000, 20_000):
        more = partial(lambda n: pa.table({f"c{number}": ["x"] for number in range(n)}), n)
        yield f"{n:,} columns", lambda p, more=more: parquet(p, more())
    yield "a name of 10 MiB", lambda p: parquet(p, pa.table({"x" * 10 * MIB: ["x"]}))
    for n, size in ((many, 100), (many, 20), (some, 1)):
        yield f"row groups of {size}", lambda p, n=n, size=size: parquet(p, target.table(n), row_group_size=size)
    yield (
        "statistics of long texts",
        lambda p: parquet(
            p, target.table(one, prediction=["xyz"[n % 3] * 19_000 for n in range(one)]), row_group_size=1
        ),
    )
    yield "pages of a row", lambda p: parquet(p, target.table(some), data_page_size=1, write_batch_size=1)


def _damage(target: Target) -> Iterator[tuple[str, Write]]:
    for seed in range(12):
        for footer, checksum in ((True, False), (False, True), (False, False)):
            what = f"{'footer' if footer else 'pages'} changed{' under a checksum' * checksum}, {seed}"
            yield (
                what,
                partial(
                    flipped,
                    table=target.table(target.rows(4)),
                    seed=seed,
                    footer=footer,
                    write_page_checksum=checksum,
                    compression=("none", "zstd", "snappy")[seed % 3],
                ),
            )


def _filled(start: bytes, block: bytes, n_bytes: int, end: bytes = b"") -> Write:
    return lambda p: p.write_bytes(start + block * (n_bytes // len(block)) + end)


_HEAD = b"source,id,prediction\n"


def _csv(target: Target) -> Iterator[tuple[str, Write]]:
    row = f"{target.source},{target.ids[0]},".encode()
    for what, start, block, size in (
        ("a field of 20 MiB", _HEAD + row, b"x", 20 * MIB),
        ("a field of 1 MB", _HEAD + row, b"x", 10**6),
        ("a quote left open", _HEAD + b'"', b"x\n", 20 * MIB),
        ("quotes", _HEAD, b'"', 20 * MIB),
        ("quotes and lines", _HEAD, b'"\n', 10 * MIB),
        ("doubled quotes", _HEAD + row + b'"', b'""', 10**6),
        ("commas", _HEAD, b",", 20 * MIB),
        ("short rows", _HEAD, b"a,b,c\n", 5 * MIB),
        ("empty fields", _HEAD, b",,\n", 2 * MIB),
        ("NUL bytes", _HEAD, b"\x00", 5 * MIB),
        ("NUL bytes in fields", _HEAD, b"\x00,\x00,\x00\n", 5 * MIB),
        ("carriage returns", _HEAD, b"\r", 5 * MIB),
        ("other line ends", _HEAD, b"a,b,c\r\n", 5 * MIB),
        ("a wide header", b"", b"a,", MIB // 2),
        ("a header of 20 MiB", b"", b"x", 20 * MIB),
        ("byte order marks", b"", b"\xef\xbb\xbf", 3 * MIB),
        ("UTF-16", b"\xff\xfe", b"a\x00", 3 * MIB),
        ("half letters", _HEAD, b"\xed\xa0\x80,b,c\n", 3 * MIB),
        ("spaces", b"", b" ", 20 * MIB),
    ):
        yield f"CSV: {what}", _filled(start, block, size)
    labels = [f"label{n}" for n in range(target.rows(13))]
    yield "CSV: many labels", lambda p: csv(p, target.text(len(labels), prediction=labels))


def _json(target: Target) -> Iterator[tuple[str, Write]]:
    start = f'{{"source": "{target.source}", "id": "{target.ids[0]}", "prediction": '.encode()
    for what, before, block, size, end in (
        ("a text of 20 MiB", start + b'"', b"x", 20 * MIB, b'"}'),
        ("escapes", start + b'"', b"\\u0000", 900_000, b'"}'),
        ("half pairs", start + b'"', b"\\ud800", 900_000, b'"}'),
        ("lists in lists", start, b"[", 900_000, b""),
        ("lists in lists, whole", start + b"[" * 900, b"]", 900, b"}"),
        ("a list of lists", start + b"[", b"[],", 900_000, b"1]}"),
        ("mappings in mappings", start, b'{"a":', 900_000, b""),
        ("a number of many digits", start, b"9", 900_000, b"}"),
        ("a number with a great exponent", start, b"1e99999999", 10, b"}"),
        ("one key many times", b"{", b'"a":1,', 900_000, b'"b":1}'),
        ("many lines of lists", b"", start + b"[%s1]}\n" % (b"[]," * 300_000), 8 * MIB, b""),
        ("empty objects", b"", b"{}\n", 2 * MIB, b""),
        ("empty lines", b"{}", b"\n", 20 * MIB, b""),
        ("NUL bytes", b"{", b"\x00", 5 * MIB, b""),
        ("spaces in a line", b"{", b" ", 20 * MIB, b"}"),
        ("byte order marks", b"{}\n", b"\xef\xbb\xbf\n", 3 * MIB, b""),
    ):
        yield f"JSON: {what}", _filled(before, block, size, end)
    keys = b",".join(b'"%d": 1' % n for n in range(90_000))
    yield "JSON: many keys", _filled(b"{" + keys + b"}", b"\n", 1)


def _others(target: Target) -> Iterator[tuple[str, Write]]:
    yield "nothing", lambda p: p.write_bytes(b"")
    yield "a magic number alone", lambda p: p.write_bytes(b"PAR1")
    yield "magic numbers", _filled(b"", b"PAR1", MIB)
    for byte in (b"\x00", b"\x15", b"\x19", b"\xff"):
        yield f"a footer of {byte!r}", _filled(b"PAR1", byte, MIB, MIB.to_bytes(4, "little") + b"PAR1")
    yield "gzip", lambda p: p.write_bytes(gzip.compress(bytes(64 * MIB)))
    yield "a zip archive", lambda p: p.write_bytes(_zipped())
    yield "random bytes", lambda p: p.write_bytes(b"PAR1" + Random(0).randbytes(MIB) + b"PAR1")


def _zipped() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", bytes(64 * MIB))
    return stream.getvalue()
