"""Quoted CSV and unquoted TSV: texts stay what they are, and bad rows are named. Every row here is invented."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.readers import delimited
from shiftbench.builders.readers.delimited import quoted_csv, raw_tsv
from shiftbench.builders.specs.spec import Reader
from shiftbench.builders.specs.transforms import keep_in
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput

NOT_MISSING = ("n/a", "NA", "null", "None", "nan", "", " ", "0", "true")


class SmallBlocks(UpstreamFile):
    """A file that comes in blocks of a line or two."""

    def blocks(self, size: int = 24) -> Iterator[tuple[int, bytes]]:
        return super().blocks(size)


def csv_refusal(path: Path, content: str, *columns: str) -> str:
    path.write_bytes(content.encode())
    with pytest.raises(InvalidInput) as refused, UpstreamFile(path) as file:
        next(quoted_csv(*columns)(file))
    return str(refused.value).replace(f"{path.parent}/", "")


def read_csv(path: Path, content: str, *columns: str) -> pl.DataFrame:
    path.write_bytes(content.encode())
    with UpstreamFile(path) as file:
        (frame,) = quoted_csv(*columns)(file)
    return frame


def tsv_refusal(path: Path, content: bytes, *columns: str) -> str:
    path.write_bytes(content)
    with pytest.raises(InvalidInput) as refused, SmallBlocks(path) as file:
        list(raw_tsv(*columns)(file))
    return str(refused.value).replace(f"{path.parent}/", "")


def read_tsv(path: Path, content: bytes, *columns: str) -> pl.DataFrame:
    path.write_bytes(content)
    with UpstreamFile(path) as file:
        return pl.concat(raw_tsv(*columns)(file))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv_keeps_the_columns_asked_for_in_that_order(end: str, tmp_path: Path) -> None:
    content = end.join((",title,content,stars", '0,"a","one, ""two""\nthree",5', '1,b,"#x\r\ny ",', ""))
    frame = read_csv(tmp_path / "a.csv", content, "stars", "content")
    assert frame.schema == {"stars": pl.String, "content": pl.String}
    assert frame.rows() == [("5", 'one, "two"\nthree'), ("", "#x\r\ny ")]


def test_csv_takes_no_text_for_missing(tmp_path: Path) -> None:
    rows = "".join(f'{text},"{text}"\n' for text in NOT_MISSING)
    frame = read_csv(tmp_path / "a.csv", "a,b\n" + rows, "a", "b")
    assert frame.rows() == [(text, text) for text in NOT_MISSING]


def test_csv_may_begin_with_a_byte_order_mark_and_end_without_a_line_break(tmp_path: Path) -> None:
    assert read_csv(tmp_path / "a.csv", '\ufeff"a",b\n1,2', "a").rows() == [("1",)]


def test_csv_with_a_header_alone_has_no_rows_but_its_columns(tmp_path: Path) -> None:
    frame = read_csv(tmp_path / "a.csv", "a,b\n", "b")
    assert (frame.schema, frame.height) == ({"b": pl.String}, 0)


BAD_CSV = (
    "",
    "\na,b\n",
    "a,Text\n1,x\n",
    "a;text\n",
    "text,text\n",
    'a,text\n1,"x\ny"\n2,x,y\n',
    "a,text\n1\n",
    "a,text\n1,x\n\n2,y\n",
    'a,text\n1,x\n2,"x" y\n',
    'a,text\n1,"x\n2,y\n',
)


def test_csv_that_is_refused_is_named_by_row(tmp_path: Path, wording: SnapshotAssertion) -> None:
    said = {content: csv_refusal(tmp_path / "a.csv", content, "text") for content in BAD_CSV}
    assert said | {"two columns": csv_refusal(tmp_path / "a.csv", "a,b\n", "x", "a", "y")} == wording


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_tsv_keeps_quotes_and_all_else_as_characters(end: bytes, tmp_path: Path) -> None:
    lines = (
        b"id\theadline\tbody\tstars",
        b'1\t"\t"a "b\t5',
        b'2\t""c""\t\\t, # \xc3\xa9\xe2\x80\xa8x\t',
        b"3\t\tx\ry\t1",
        b"",
    )
    frame = read_tsv(tmp_path / "a.tsv", end.join(lines), "body", "headline")
    assert frame.schema == {"body": pl.String, "headline": pl.String}
    assert frame.rows() == [('"a "b', '"'), ("\\t, # é\u2028x", '""c""'), ("x\ry", "")]


def test_tsv_takes_no_text_for_missing(tmp_path: Path) -> None:
    rows = "".join(f"{text}\t{text}\n" for text in NOT_MISSING)
    frame = read_tsv(tmp_path / "a.tsv", b"a\tb\n" + rows.encode(), "a", "b")
    assert frame.rows() == [(text, text) for text in NOT_MISSING]


def test_tsv_of_one_column_may_hold_empty_texts(tmp_path: Path) -> None:
    assert read_tsv(tmp_path / "a.tsv", b"a\nx\n\n\ny", "a")["a"].to_list() == ["x", "", "", "y"]


@pytest.mark.parametrize("content", [b"a\tb\n", b"a\tb\r\n", b"a\tb"])
def test_tsv_with_a_header_alone_has_no_rows_but_its_columns(content: bytes, tmp_path: Path) -> None:
    frame = read_tsv(tmp_path / "a.tsv", content, "b")
    assert (frame.schema, frame.height) == ({"b": pl.String}, 0)


def test_tsv_may_begin_with_a_byte_order_mark_and_end_without_a_line_break(tmp_path: Path) -> None:
    assert read_tsv(tmp_path / "a.tsv", b"\xef\xbb\xbfa\tb\n1\t2", "a", "b").rows() == [("1", "2")]


def test_tsv_comes_in_blocks_and_goes_on_from_any_of_them(tmp_path: Path) -> None:
    path, reader = tmp_path / "a.tsv", raw_tsv("b", "a")
    path.write_text("a\tb\n" + "".join(f"row {n}\ttext {n}\n" for n in range(9)))
    whole = [(f"text {n}", f"row {n}") for n in range(9)]
    read: list[tuple[str, ...]] = []
    with SmallBlocks(path) as file:
        for frame in reader(file):
            read += frame.rows()
            with SmallBlocks(path, start=file.position) as later:
                rest = [row for frame in reader(later) for row in frame.rows()]
            assert read + rest == whole
    assert read == whole


@given(
    rows=st.lists(st.lists(st.text('ab"\r ,#\\é\u2028', max_size=6), min_size=3, max_size=3), max_size=12),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_tsv_is_what_splitting_gives(rows: list[list[str]], end: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("tsv") / "a.tsv"
    path.write_bytes(end.join(["a\tb\tc", *("\t".join(row) for row in rows), ""]).encode())
    with SmallBlocks(path) as file:
        frames = list(raw_tsv("a", "b", "c")(file))
    # In lines that end in LF a carriage return at the end of a line belongs to the line end.
    expected = [(a, b, c.removesuffix("\r") if end == "\n" else c) for a, b, c in rows]
    assert pl.concat(frames).rows() == expected


BAD_TSV = (
    b"",
    b"\na\ttext\n",
    b"a\tTexts\n",
    b"text\ttext\n",
)


def test_tsv_without_its_header_is_refused(tmp_path: Path, wording: SnapshotAssertion) -> None:
    assert [tsv_refusal(tmp_path / "a.tsv", content, "text") for content in BAD_TSV] == wording


@pytest.mark.parametrize(
    ("line", "n_fields"),
    [(b"7\tx\ty", 3), (b"7", 1), (b"", 1), (b'7\t"x\ty"', 3), (b"\t\t\t", 4)],
    ids=["more", "fewer", "blank", "quoted-tab", "tabs"],
)
@pytest.mark.parametrize("before", [0, 1, 5])
@pytest.mark.parametrize("after", [b"\n8\tz\n", b"\n8\tz", b"\n"])
def test_a_line_of_another_width_is_refused_by_its_number(
    line: bytes, n_fields: int, before: int, after: bytes, tmp_path: Path
) -> None:
    content = b"a\ttext\n" + b"1\ta longer text\n" * before + line + after
    message = tsv_refusal(tmp_path / "a.tsv", content, "text")
    assert message.startswith(f"a.tsv, row {before + 2}: ")
    assert f" {n_fields} fields" in message
    assert repr(line) in message


@pytest.mark.parametrize("before", [0, 1, 5])
def test_a_line_of_a_tsv_that_is_not_utf8_is_named(before: int, tmp_path: Path) -> None:
    content = b"a\ttext\n" + b"1\ta longer text\n" * before + b"2\tcaf\xe9\n3\tx\n"
    assert tsv_refusal(tmp_path / "a.tsv", content, "a").startswith(f"a.tsv, row {before + 2}: ")


def test_a_line_of_a_csv_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"a,text\n1,caf\xe9\n")
    with (
        pytest.raises(InvalidInput, match=r"a\.csv, row 2: "),
        UpstreamFile(tmp_path / "a.csv") as file,
    ):
        next(quoted_csv("a")(file))


def test_readers_of_the_same_columns_are_the_same_key() -> None:
    assert repr(quoted_csv("a", "b")) == "QuotedCsv(columns=('a', 'b'), header=(), separator=',')"
    assert repr(raw_tsv("a")) == "RawTsv(columns=('a',), header=(), ragged=False)"
    assert {raw_tsv("a"): 1}[raw_tsv("a")] == 1


SEMEVAL = raw_tsv("id", "label", "text", header=("id", "label", "text"), ragged=True)


def all_rows(path: Path, content: bytes, reader: Reader) -> list[tuple[str, ...]]:
    path.write_bytes(content)
    with UpstreamFile(path) as file:
        return pl.concat(reader(file)).rows()


def any_refusal(path: Path, content: bytes, reader: Reader) -> str:
    with pytest.raises(InvalidInput) as refused:
        all_rows(path, content, reader)
    return str(refused.value).replace(f"{path.parent}/", "")


def test_a_ragged_tsv_gives_lines_of_any_width_and_says_it(tmp_path: Path) -> None:
    lines = [
        '1\tneutral\t"quoted" words\t',
        "2\tpositive\tMon Jan 1\tNA\t",
        '3\tneutral\t"\t\t',
        "4\tneutral",
        "\t",
        "",
    ]
    for end in ("\n", "\r\n"):
        rows = all_rows(tmp_path / "a.txt", ("\ufeff" + end.join(lines)).encode(), SEMEVAL)
        assert rows == [
            ("1", "neutral", '"quoted" words', "3"),
            ("2", "positive", "Mon Jan 1", "4"),
            ("3", "neutral", '"', "4"),
            ("4", "neutral", "", "2"),
            ("", "", "", "1"),
        ]
    with UpstreamFile(tmp_path / "a.txt") as file:
        kept = keep_in("n_fields", ("3",)).apply(pl.concat(SEMEVAL(file)))
    assert kept["id"].to_list() == ["1"]


def test_a_ragged_tsv_goes_on_from_a_block(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\ta\tx\t\n\n2\tb\ty\t\n3\tc\n")
    with SmallBlocks(tmp_path / "a.txt", block=8) as file:
        whole = pl.concat(SEMEVAL(file))
    with UpstreamFile(tmp_path / "a.txt", block=8) as file:
        first = next(SEMEVAL(file))
        after = file.position
    with UpstreamFile(tmp_path / "a.txt", start=after) as file:
        assert pl.concat([first, *SEMEVAL(file)]).equals(whole)
    assert whole["n_fields"].to_list() == ["3", "0", "3", "2"]


def test_a_tsv_without_a_header_is_told_its_columns(tmp_path: Path, wording: SnapshotAssertion) -> None:
    reader = raw_tsv("label", header=("text", "label"))
    path = tmp_path / "a.tsv"
    assert all_rows(path, '\ufeffnull\t1\r\n"\t-1'.encode(), reader) == [("1",), ("-1",)]
    assert all_rows(path, b"\xef\xbb\xbfx\t1\n", raw_tsv("text", header=("text", "label"))) == [("x",)]
    assert [
        any_refusal(path, b"", reader),
        any_refusal(path, b"x\t1\ny\n", reader),
        any_refusal(path, b"x\t1\n", raw_tsv("class", header=("text", "label"))),
    ] == wording


def test_a_csv_without_a_header_is_told_its_columns(tmp_path: Path, wording: SnapshotAssertion) -> None:
    reader = quoted_csv("text", "stars", header=("stars", "text"))
    path = tmp_path / "a.csv"
    content = '\ufeff"1","say ""no"", \\n\\"", "\n"5","null"\n'.replace(', "\n', '"\n').encode()
    assert all_rows(path, content, reader) == [('say "no", \\n\\"', "1"), ("null", "5")]
    assert [any_refusal(path, bad, reader) for bad in (b"", b'"1","a"\n"2"\n', b'"1","a" b\n')] == wording


def test_a_tsv_may_be_quoted(tmp_path: Path) -> None:
    content = b'id\ttweet\tsubtask_a\n1\t"a ""b""\tc"\tNOT\n2\td, e\tOFF\n'
    reader = quoted_csv("tweet", "subtask_a", separator="\t")
    assert all_rows(tmp_path / "a.tsv", content, reader) == [('a "b"\tc', "NOT"), ("d, e", "OFF")]
    assert any_refusal(tmp_path / "a.tsv", b"id\ttweet\tsubtask_a\n1\t\n", reader).startswith("a.tsv, row 1: ")


@pytest.mark.parametrize("size", [1, 5, 1 << 20])
def test_records_of_a_csv_may_lie_across_blocks_and_frames(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delimited, "_ROWS", 2)
    (tmp_path / "a.csv").write_bytes(b',text\n0,"a\n\n\r\nb"\n1,"c\rd"\n2,\n3,"\n"\n')
    with UpstreamFile(tmp_path / "a.csv", block=size) as file:
        frames = list(quoted_csv("", "text")(file))
        assert not file.resumable  # a record may begin in one block and end in the next
    assert [frame.height for frame in frames] == [2, 2]
    assert pl.concat(frames).rows() == [("0", "a\n\n\r\nb"), ("1", "c\rd"), ("2", ""), ("3", "\n")]
