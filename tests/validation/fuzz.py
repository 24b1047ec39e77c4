"""A fuzzer of prediction files and cards: hypothesis writes them, and damages their bytes.

Run by itself it prints what it did: ``python tests/validation/fuzz.py SEED N``. What is accepted must be, row by row,
what a slow reader of our own makes of the same bytes, and cover exactly the wanted ids.
"""

import csv
import io
import json
import math
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from shiftbench.validation import csv_text, parquet_file, prediction_lines
from shiftbench.validation.cards import Card, parse_card
from shiftbench.validation.limits import MAX_CHARACTERS
from shiftbench.validation.prediction_files import read_predictions
from shiftbench.validation.prediction_task import PredictionTask
from shiftbench.validation.predictions import check_prediction_file
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import UNPARSED, TaskKind

LABELS = ("yes", "no", "it depends")
DOMAINS = ("north", "south")
TEST = pl.DataFrame(
    [(f"own/t/{domain}/test/{number:012x}", domain) for domain in DOMAINS for number in range(2)],
    schema=["id", "domain"],
    orient="row",
)
TASK = PredictionTask("own", "t", TaskKind.CLASSIFICATION, LABELS, DOMAINS, TEST, DOMAINS)
WANTED = {domain: sorted(TEST.filter(domain=domain)["id"]) for domain in DOMAINS}
CARD = {"name": "A model", "paradigm": "fine-tuned", "data": "0123456789abcdef" * 4, "parameters": 110_000_000}
TOKENS = [b'"', b'""', b",", b"\n", b"\r", b"\r\n", b"\x00", b"\xff", b"\xef\xbb\xbf", b"{", b"}", b"[", b"null"]
TOKENS += [
    b"NaN",
    b"1e400",
    b"\\ud800",
    b"PAR1",
    b"*a",
    b"&a ",
    b"<<: ",
    b"!!",
    b": ",
    b"- ",
    b"\xed\xa0\x80",
    b"9" * 30,
]

odd_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["=1", "\r", "a,b", '"', " "]
)
odd_value = st.one_of(
    odd_text,
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.lists(odd_text, max_size=3),
    st.dictionaries(odd_text, st.integers(), max_size=2),
    st.sampled_from(["1", "+1", "01", "1.0", "1e3", "-0", ".5", "5.", "inf", "nan", "0x10", "1_0", " 1", "x" * 301]),
)
HOWS = ("flip", "cut", "repeat", "insert", "swap")
DAMAGED = 9
"""Damaged copies that are tried of each file that hypothesis wrote."""


@st.composite
def sound_rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw the rows of a file that covers what it should."""
    runs = draw(
        st.lists(
            st.tuples(st.sampled_from(["north", "south", "none", "north+south"]), st.integers(0, 2)),
            min_size=1,
            max_size=3,
            unique=True,
        )
    )
    targets = draw(st.lists(st.sampled_from(DOMAINS), min_size=1, max_size=2, unique=True))
    extra = draw(st.sampled_from([(), ("confidence",), ("seed",), ("seed", "confidence")]))
    rows = [
        {
            "source": source,
            "id": id_,
            "prediction": draw(st.sampled_from([*LABELS, UNPARSED])),
            "seed": number,
            "confidence": draw(st.sampled_from([0.0, 0.25, 1.0])),
        }
        for source, number in runs
        for target in targets
        for id_ in WANTED[target]
    ]
    return [
        {name: value for name, value in row.items() if name not in ("seed", "confidence") or name in extra}
        for row in draw(st.permutations(rows))
    ]


@st.composite
def prediction_files(draw: st.DrawFn) -> bytes:
    """Draw the bytes of a prediction file: sound rows, some odd values, one of three formats."""
    rows = draw(sound_rows())
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        row = draw(st.sampled_from(rows))
        row[draw(st.sampled_from([*row, "prediction", "seed"]))] = draw(odd_value)
    if draw(st.integers(0, 9)) == 0:
        rows.append(draw(st.sampled_from(rows)))
    kind = draw(st.sampled_from(["csv", "json", "parquet", "parquet"]))
    return {"csv": _csv, "json": _json, "parquet": _parquet}[kind](draw, rows)


def _csv(draw: st.DrawFn, rows: list[dict[str, Any]]) -> bytes:
    text = io.StringIO(newline="")
    names = list(dict.fromkeys(name for row in rows for name in row))
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    writer = csv.writer(text, quoting=quoting, lineterminator=draw(st.sampled_from(["\n", "\r\n"])))
    writer.writerow(names)
    writer.writerows([row.get(name) for name in names] for row in rows)
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.getvalue().encode(errors="surrogatepass")


def _json(draw: st.DrawFn, rows: list[dict[str, Any]]) -> bytes:
    ascii_only = draw(st.booleans())
    end = draw(st.sampled_from(["\n", "\r\n", "\n\n"]))
    return "".join(json.dumps(row, ensure_ascii=ascii_only) + end for row in rows).encode(errors="surrogatepass")


def _parquet(draw: st.DrawFn, rows: list[dict[str, Any]]) -> bytes:
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = [pl.Series(name, [row.get(name) for row in rows], strict=False) for name in names]
    table = pl.DataFrame([column for column in columns if column.dtype != pl.Object])
    options = {
        "use_dictionary": draw(st.booleans()),
        "compression": draw(st.sampled_from(["none", "snappy", "zstd"])),
        "row_group_size": draw(st.sampled_from([2, 100])),
        "data_page_version": draw(st.sampled_from(["1.0", "2.0"])),
    }
    by_polars = draw(st.booleans())
    stream = io.BytesIO()
    try:
        if by_polars:
            table.write_parquet(stream, compression="uncompressed" if options["use_dictionary"] else "zstd")
        else:
            pq.write_table(table.to_arrow(), stream, **options)
    except (pa.ArrowException, pl.exceptions.PolarsError):  # what cannot be written is no file
        return b"PAR1"
    return stream.getvalue()


def damaged(content: bytes, chance: Random) -> bytes:
    """Damage one to three places."""
    for _ in range(chance.randint(1, 3)):
        at = chance.randint(0, len(content))
        # Half of the damage is where a parquet file says what it holds.
        if chance.random() < 0.5:
            at = max(at, len(content) - 600)
        part = content[at : at + chance.randint(1, 20)]
        new = {
            "flip": bytes([chance.randrange(256)]) + part[1:],
            "cut": b"",
            "repeat": part + part,
            "insert": chance.choice(TOKENS) + part,
            "swap": part[::-1],
        }[chance.choice(HOWS)]
        content = content[:at] + new + content[at + len(part) :]
    return content


@st.composite
def cards(draw: st.DrawFn) -> bytes:
    """Draw the bytes of a card: sound, with odd keys and values, as YAML or JSON."""
    card: dict[str, Any] = {**CARD, "subset": "all", "command": "train\nmore"}
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        card[draw(st.sampled_from([*Card.model_fields]) | odd_text)] = draw(odd_value)
    text = draw(st.sampled_from([lambda: json.dumps(card), lambda: yaml.safe_dump(card, allow_unicode=True)]))()
    return text.encode(errors="surrogatepass")


# What a slow reader makes of the same bytes


def slow_rows(content: bytes) -> list[tuple[Any, ...]]:
    """Read source, id, prediction, seed and confidence of each row; ValueError where nothing could be meant."""
    if content.lstrip().startswith(b"PAR1"):
        rows = pq.read_table(io.BytesIO(content)).to_pylist()
    else:
        text = content.decode("utf-8-sig")
        rows = _slow_json(text) if text.lstrip()[:1] in ("{", "[") else _slow_csv(text)
    with_seed, with_confidence = (any(name in row for row in rows) for name in ("seed", "confidence"))
    return [
        (
            row["source"],
            row["id"],
            " ".join(row["prediction"]) if isinstance(row["prediction"], list) else row["prediction"],
            _slow_int(row["seed"]) if with_seed else 0,
            _slow_float(row["confidence"]) if with_confidence else None,
        )
        for row in rows
    ]


def _slow_json(text: str) -> list[dict[str, Any]]:
    lines = [line for line in text.split("\n") if line.strip(" \t\r\x0b\x0c")]
    return [json.loads(line.removeprefix("\ufeff")) for line in lines]


def _slow_csv(text: str) -> list[dict[str, Any]]:
    header, _, body = text.partition("\n")
    separator = next((each for each in ",;\t" if each in header.strip()), ",")
    names = _slow_fields(header.strip(), separator)[0]
    rows = _slow_fields(body, separator)
    if any(len(row) != len(names) for row in rows):
        raise ValueError("ragged")
    return [dict(zip(names, row, strict=True)) for row in rows]


def _slow_fields(text: str, separator: str) -> list[list[str]]:
    """Read fields letter by letter, as RFC 4180 has them."""
    rows: list[list[str]] = [[]]
    at = 0
    while at < len(text):
        field = ""
        if text[at] == '"':
            at += 1
            while text[at : at + 1] != '"' or text[at : at + 2] == '""':
                if at >= len(text):
                    raise ValueError("open quote")
                step = 2 if text[at : at + 2] == '""' else 1
                field, at = field + text[at], at + step
            at += 1
        else:
            while at < len(text) and text[at] not in separator + '\n\r"':
                field, at = field + text[at], at + 1
        rows[-1].append(field)
        if text[at : at + 1] == separator:
            at += 1
            if at == len(text) or text[at] in "\r\n":
                if text[at : at + 2] not in ("", "\r\n") and text[at : at + 1] != "\n":
                    raise ValueError("bare return")
                rows[-1].append("")
            else:
                continue
        if at < len(text):
            end = 2 if text[at : at + 2] == "\r\n" else 1
            if text[at : at + end] not in ("\n", "\r\n"):
                raise ValueError("letters after a quote")
            at += end
            rows.append([])
    return rows if rows[-1] else rows[:-1]


def _slow_int(value: Any) -> int:
    if isinstance(value, bool) or (isinstance(value, str) and not re.fullmatch(r"[+-]?[0-9]+", value)):
        raise ValueError(f"{value!r} is no seed")
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"{value!r} is no seed")
    return int(value)


def _slow_float(value: Any) -> float:
    if isinstance(value, bool):
        raise ValueError(f"{value!r} is no confidence")
    return float(value)


# What must hold


def check_file(content: bytes, path: Path) -> str:
    """Read a file twice, and check what was made of it; returns what became of it."""
    path.write_bytes(content)
    try:
        frame = read_predictions(path)
    except InvalidInput as refused:
        _told(refused)
        return "refused"
    expected = slow_rows(content)
    names = ["source", "id", "prediction", "seed"] + ["confidence"] * ("confidence" in frame.columns)
    assert frame.columns == names
    found = [(*row, None)[:5] for row in frame.rows()]
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one == other, f"{one} is not {other}"
    for name in ("source", "id", "prediction"):
        assert all(isinstance(text, str) and len(text) <= MAX_CHARACTERS[name] for text in frame[name])
    try:
        check_prediction_file(path, [TASK])
    except InvalidInput as refused:
        _told(refused)
        return "read"
    _sound(expected)
    return "accepted"


def _sound(rows: list[tuple[Any, ...]]) -> None:
    runs = defaultdict(list)
    for source, id_, prediction, number, confidence in rows:
        assert prediction in (*LABELS, UNPARSED)
        assert source in ("north", "south", "none", "north+south")
        assert confidence is None or 0 <= confidence <= 1
        assert number >= 0
        runs[source, number, id_.split("/")[2]].append(id_)
    for (_, _, target), ids in runs.items():
        assert sorted(ids) == WANTED[target]


def check_card(content: bytes) -> str:
    """Parse a card, and check that it holds what was written; returns what became of it."""
    text = content.decode(errors="surrogateescape")
    try:
        card = parse_card(text)
    except InvalidInput as refused:
        _told(refused)
        return "card refused"
    written = _slow_mapping(text)
    for key, value in card.as_dict().items():
        same = value.strip() == written[key].strip() if isinstance(value, str) else True
        assert same, f"{key}: {value!r} is not {written[key]!r}"
        assert not isinstance(value, float) or math.isfinite(value)
    assert set(written) <= set(Card.model_fields)
    assert parse_card(json.dumps(card.as_dict())) == card
    return "card accepted"


def _slow_mapping(text: str) -> dict[str, Any]:
    """Read a card with every plain word of YAML as text."""
    try:
        read = json.loads(text.removeprefix("\ufeff"), parse_constant=str)
    except ValueError:
        read = yaml.load(text, yaml.BaseLoader)
    assert isinstance(read, dict)
    return read


def _told(refused: InvalidInput) -> None:
    assert refused.problems
    for problem in refused.problems:
        assert len(str(problem)) < 1500
        assert "Traceback" not in str(problem)
        assert str(problem).isprintable()


def run(number: int, n: int) -> Counter[str]:
    """Fuzz about n files and cards, three files for each card; returns how many became what."""
    found: Counter[str] = Counter()
    each = n // (1 + DAMAGED)
    quick = settings(database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    chance = Random(number)

    def tried(content: bytes, check: Callable[[bytes], str]) -> None:
        for copy in [content, *(damaged(content, chance) for _ in range(DAMAGED))]:
            found[check(copy)] += 1

    @seed(number)
    @settings(quick, max_examples=each - each // 4)
    @given(prediction_files(), st.sampled_from([16, 100, 10**6]))
    def files(content: bytes, part: int) -> None:
        # Small parts, so that a few rows cross from one to the next.
        csv_text.BLOCK_BYTES, prediction_lines.BATCH_LINES = part, 1 + part // 16
        parquet_file.BATCH_ROWS = 1 + part // 8
        tried(content, lambda copy: check_file(copy, path))

    @seed(number)
    @settings(quick, max_examples=each // 4)
    @given(cards())
    def texts(content: bytes) -> None:
        tried(content, check_card)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "upload"
        files()
        texts()
    return found


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]), int(sys.argv[2]))))
