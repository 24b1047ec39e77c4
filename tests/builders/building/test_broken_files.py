"""Files that are not what they should be: each is refused in words that say what it is and what to do."""

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from shiftbench.builders.building import build as build_module
from shiftbench.builders.building.build import build
from shiftbench.builders.specs.spec import Upstream
from shiftbench.validation.report import InvalidInput
from tests import wording

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21\nsize 134217\n"
PAGE = b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>\n"
TREE = b"(4 (2 It) (4 works))\n"
PAIR = b'{"gold_label": "neutral", "genre": "fiction", "sentence1": "a b", "sentence2": "c", "pairID": "1"}\n'
TWEETS = b"id,count,class,tweet\n0,3,2,fine day\n1,3,1,awful day\n"
POSTS = b"post\tclass\nfine day\tnot_hate\nbad day\timplicit_hate\n"
TOKENS = b"Ada\tB-person\nsleeps\tO\n"
SST, HSOL, MNLI = "sst/trees/test.txt", "hsol/data/labeled_data.csv", "multinli_1.0/multinli_1.0_dev_matched.jsonl"
WNUT, IMPLICIT = "wnut17/emerging.test.annotated", "implicit_hate/implicit_hate_v1_stg1_posts.tsv"
SQUAD = "squad_v1/dev-v1.1.json"
OLID = "olid/OLIDv1.0/testset-levela.tsv"
OLID_TEST = b"id\ttweet\n7\tfine day\n8\tbad day\n"


def zipped(*names: str, content: bytes = TREE) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, content)
    return buffer.getvalue()


def parquet() -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame({"post": ["a"], "class": ["not_hate"]}).write_parquet(buffer)
    return buffer.getvalue()


@dataclass(frozen=True)
class Broken:
    """A way in which a file is not what it should be, and what is said of it: about the file, and the cure."""

    build: str
    place: str
    content: bytes | Callable[[Path], None]
    words: str
    cure: str
    beside: tuple[str, bytes] | None = None


def folder(path: Path) -> None:
    path.mkdir()
    (path / path.name).write_bytes(TREE)


def loop(path: Path) -> None:
    path.symlink_to(path)


def dangling(path: Path) -> None:
    path.symlink_to("elsewhere.txt")


BROKEN = {
    "Git LFS pointer": Broken("boss sa.sst", SST, LFS, "this is a Git LFS pointer", "git lfs pull"),
    "Git LFS pointer, gzipped": Broken(
        "boss sa.sst", SST + ".gz", gzip.compress(LFS), "this is a Git LFS pointer", "git lfs pull"
    ),
    "git-annex pointer": Broken(
        "boss sa.sst", SST, b"/annex/objects/MD5E-s12--ab.txt\n", "this is a git-annex pointer", "git annex get"
    ),
    "web page saved as CSV": Broken("boss td_candidates.hsol", HSOL, PAGE, "this is a web page", "'raw' or 'download'"),
    "web page as .gz": Broken("boss sa.sst", SST + ".gz", PAGE, "this is a web page", "'raw' or 'download'"),
    "404 of a host": Broken("boss sa.sst", SST, b"404: Not Found", "a server's error message", "check its link"),
    "expired link": Broken(
        "boss sa.sst",
        SST,
        b'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code></Error>',
        "this is a server's error message",
        "its link may have expired",
    ),
    "JSON list, lines wanted": Broken(
        "boss nli.mnli", MNLI, b"[" + PAIR.strip() + b"]", "the file is one JSON list, not one object per line", "jq -c"
    ),
    "JSON lines, document wanted": Broken(
        "boss eqa.squad", SQUAD, b'{"data": []}\n{"data": []}\n', "the file is not JSON", "JSON lines"
    ),
    "JSON lines, list wanted": Broken(
        "boss nli_candidates.docnli", "docnli/test.json", PAIR, "the file is not a JSON list", "is it JSON lines"
    ),
    "JSON lines cut off": Broken(
        "boss nli.mnli", MNLI, PAIR + PAIR[:40], "row 2: this line is not JSON", "it may be truncated"
    ),
    "JSON of another project": Broken(
        "boss eqa.squad", SQUAD, b'{"rows": []}', "this is not SQuAD's JSON", "the upstream release"
    ),
    "header in a labels file": Broken(
        "boss td_candidates.olid",
        OLID,
        OLID_TEST,
        "row 1: the first row is a header",
        "delete the first line",
        ("olid/OLIDv1.0/labels-levela.csv", b"id,subtask_a\n7,NOT\n8,OFF\n"),
    ),
    "labels file missing": Broken(
        "boss td_candidates.olid", OLID, OLID_TEST, "the file that belongs to testset-levela.tsv is missing", "put it"
    ),
    "labels of another release": Broken(
        "boss td_candidates.olid",
        OLID,
        OLID_TEST,
        "a key is not in labels-levela.csv",
        "do both files come from one release?",
        ("olid/OLIDv1.0/labels-levela.csv", b"7,NOT\n9,OFF\n"),
    ),
    "labels file is a web page": Broken(
        "boss td_candidates.olid",
        OLID,
        OLID_TEST,
        "labels-levela.csv: this is a web page",
        "'raw' or 'download'",
        ("olid/OLIDv1.0/labels-levela.csv", PAGE),
    ),
    "two zips": Broken(
        "boss sa.sst",
        SST + ".zip",
        zipped("test.txt"),
        "two zip files could contain test.txt; found test.txt.zip and test.zip",
        "delete the other",
        ("sst/trees/test.zip", zipped("test.txt")),
    ),
    "zip of several": Broken(
        "boss sa.sst", SST + ".zip", zipped("test.txt", "dev.txt"), "the zip must contain exactly one file", "unpack "
        "the zip"
    ),
    "zip cut off": Broken(
        "boss sa.sst", SST + ".zip", zipped("test.txt")[:60], "the zip file is truncated", "fetch the file itself again"
    ),
    "another file of the project": Broken(
        "boss ner.e_ner",
        "e_ner/edgar_all_4.csv",
        b"-DOCSTART- O\n\nAcme I-BUSINESS\nInc I-BUSINESS\n",
        "unknown tag; found 'I-BUSINESS'",
        "another file of the same project",
    ),
    "another file, other separator": Broken(
        "boss ner.e_ner",
        "e_ner/edgar_all_4.csv",
        b"-DOCSTART-\tO\n\nAcme\tI-BUSINESS\n",
        "row 1: fields are separated by tabs",
        "another file of the same project",
    ),
    "gz that is none": Broken("boss sa.sst", SST + ".gz", TREE, "ends in .gz, but this is not gzip", "name it"),
    "gz cut off": Broken(
        "boss sa.sst",
        SST + ".gz",
        gzip.compress(TREE * 900)[:-9],
        "the compressed file is truncated or damaged",
        "fetch the file again",
    ),
    "gz of nothing": Broken("boss sa.sst", SST + ".gz", gzip.compress(b""), "compressed file is empty", "fetch"),
    "gzip without .gz": Broken("boss sa.sst", SST, gzip.compress(TREE), "this is gzip under another name", ".gz"),
    "zip without .zip": Broken("boss sa.sst", SST, zipped("test.txt"), "this is a zip under another name", "unpack it"),
    "not UTF-8": Broken(
        "boss td.implicit_hate", IMPLICIT, POSTS.replace(b"fine", b"caf\xe9"), "row 2: this line is not UTF-8", "saved"
    ),
    "UTF-16": Broken(
        "boss td.implicit_hate",
        IMPLICIT,
        POSTS.decode().encode("utf-16"),
        "this is UTF-16, as spreadsheets save",
        "without opening and saving it",
    ),
    "Macintosh line ends": Broken(
        "boss td.implicit_hate", IMPLICIT, POSTS.replace(b"\n", b"\r"), "bare carriage returns", "fetch the file again"
    ),
    "semicolons": Broken(
        "boss td_candidates.hsol",
        HSOL,
        TWEETS.replace(b",", b";"),
        "the columns are separated by semicolons",
        "the original file",
    ),
    "commas where tabs are": Broken(
        "boss td.implicit_hate",
        IMPLICIT,
        POSTS.replace(b"\t", b","),
        "the columns are separated by commas",
        "the original file",
    ),
    "Excel saved as CSV": Broken(
        "boss td_candidates.hsol",
        HSOL,
        zipped("[Content_Types].xml", "xl/workbook.xml"),
        "this is a spreadsheet (Excel)",
        "spreadsheets change texts",
    ),
    "old Excel": Broken(
        "boss td_candidates.hsol", HSOL, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" * 9, "this is a spreadsheet", "original "
        "file"
    ),
    "Parquet as TSV": Broken(
        "boss td.implicit_hate", IMPLICIT, parquet(), "this is Parquet under another name", "the original file"
    ),
    "text as Parquet": Broken(
        "boss td.civil_comments",
        "civil_comments/test-00000-of-00001.parquet",
        TWEETS,
        "the file is damaged, or is not Parquet",
        "fetch the file again",
    ),
    "PDF": Broken("boss sa.sst", SST, b"%PDF-1.7\n%x", "this is a PDF", "fetch the file itself"),
    "zeros": Broken("boss sa.sst", SST, bytes(4096), "starts with zeros", "fetch the file itself again"),
    "empty": Broken("boss sa.sst", SST, b"", "the file is empty", "fetch the file itself again"),
    "header alone": Broken(
        "boss td_candidates.hsol", HSOL, TWEETS.splitlines(keepends=True)[0], "no domain of boss/td_candidates", "fetch"
    ),
    "a folder": Broken("boss sa.sst", SST, folder, "there is a folder where a file should be", "move test.txt out"),
    "link in a circle": Broken("boss sa.sst", SST, loop, "the link is circular or broken", "the file itself"),
    "link to nothing": Broken("boss sa.sst", SST, dangling, "found a link to elsewhere.txt", "the file itself"),
    "wrong columns": Broken(
        "boss td_candidates.hsol",
        HSOL,
        b"id,label,text\n0,2,fine day\n",
        "column 'tweet': this column is missing; found columns ['id', 'label', 'text']",
        "did you mean 'text'?",
    ),
    "a row too long": Broken(
        "boss td_candidates.hsol", HSOL, TWEETS + b"2,3,1,bad, day\n", "row 3: this row has 5 fields", "not be quoted"
    ),
    "an open quote": Broken(
        "boss td_candidates.hsol", HSOL, TWEETS + b'2,3,1,"bad day\n', "row 3: this row breaks the rules", "truncated"
    ),
    "an unknown label": Broken(
        "boss td.implicit_hate", IMPLICIT, POSTS + b"x\thateful\n", "row 3: unknown label", "implicit_hate"
    ),
    "trees without brackets": Broken(
        "boss sa.sst", SST, TREE + b"It works.\n", "row 2: a tree must begin with a bracket", "edited"
    ),
    "XML cut off": Broken(
        "dr ab.mams", "mams/MAMS-ATSA/raw/test.xml", b"<sentences><text>Good", "not XML", "fetch the file again"
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def unrecorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_module, "upstream", lambda: Upstream(files={}, rows={}))


def lay(raw: Path, place: str, content: bytes | Callable[[Path], None]) -> None:
    path = raw / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content) if isinstance(content, bytes) else content(path)


def build_named(name: str, raw: Path, out: Path) -> None:
    benchmark, task = name.split(" ")
    build(benchmark, task, raw, out, partial=True, placebo=False)


@pytest.mark.parametrize("way", BROKEN)
def test_a_broken_file_is_told_what_it_is_and_what_to_do(way: str, tmp_path: Path) -> None:
    broken = BROKEN[way]
    lay(tmp_path / "raw", broken.place, broken.content)
    if broken.beside is not None:
        lay(tmp_path / "raw", *broken.beside)
    with pytest.raises(InvalidInput) as refused:
        build_named(broken.build, tmp_path / "raw", tmp_path / "out")
    message = str(refused.value)
    assert broken.words in message
    assert broken.cure in message
    if "no domain" not in broken.words:
        place = broken.place if broken.beside is None else str(Path(broken.place).parent)
        assert place.removesuffix(".zip") in message or broken.words.startswith("the file that belongs")
    assert not (tmp_path / "out").exists()


def test_at_least_25_ways() -> None:
    assert len(BROKEN) >= 25


@pytest.mark.parametrize(
    ("name", "place", "content"),
    [
        ("boss td_candidates.hsol", HSOL, b"\xef\xbb\xbf" + TWEETS),
        ("boss td_candidates.hsol", HSOL, TWEETS.replace(b"\n", b"\r\n")),
        ("boss sa.sst", SST + ".zip", zipped("test.txt", content=TREE * 2)),
        ("boss sa.sst", "sst/trees/test.zip", zipped("test.txt", content=TREE * 2)),
    ],
)
def test_what_only_looks_odd_is_read(name: str, place: str, content: bytes, tmp_path: Path) -> None:
    lay(tmp_path / "raw", place, content)
    build_named(name, tmp_path / "raw", tmp_path / "out")
    assert (tmp_path / "out/README.md").is_file()


def test_a_broken_file_does_not_stop_the_other_data_sets_of_its_task(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    lay(raw, WNUT, TOKENS)
    lay(raw, "conll2003/eng.testb", PAGE)
    lay(raw, "e_ner/edgar_all_4.csv", folder)
    built = build("boss", "ner", raw, tmp_path / "out", partial=True, placebo=False)
    assert list(built.manifest.tasks["ner"].domains) == ["wnut"]
    assert set(built.failed) == {"ner.conll", "ner.e_ner"}
    assert "web page" in str(built.failed["ner.conll"][0])
    with pytest.raises(InvalidInput, match="there is a folder"):
        build("boss", "ner", raw, tmp_path / "other")


def test_one_domain_is_built_as_listed(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    lay(raw, "sst/trees/train.txt", TREE)
    lay(raw, SST, TREE + TREE.replace(b"It", b"He"))
    for name in ("sa.sst", "boss/sa.sst"):
        manifest = build("boss", name, raw, tmp_path / "out", overwrite=True).manifest
        assert manifest.partial, "one domain is partial by nature"
        assert list(manifest.tasks) == ["sa"]
        assert list(manifest.tasks["sa"].domains) == ["sst"]
        assert "amazon" in manifest.tasks["sa"].absent_domains
    (raw / "sst/trees/train.txt").unlink()
    with pytest.raises(InvalidInput) as refused:
        build("boss", "sa.sst", raw, tmp_path / "out", overwrite=True)
    words = "found no sst/trees/train.txt; give --partial to build from the available files, or "
    assert words in str(refused.value)
    with pytest.raises(InvalidInput, match="no such domain of sa; found 'sts'; did you mean 'sst'"):
        build("boss", "sa.sts", raw, tmp_path / "out", overwrite=True)
    with pytest.raises(InvalidInput, match="a pairing cannot be built from a single domain"):
        build("df1", "sis-1." + _a_domain_of_a_pairing(), raw, tmp_path / "out", overwrite=True)


def _a_domain_of_a_pairing() -> str:
    from shiftbench.builders.df1 import TASKS

    return next(task for task in TASKS if task.name == "sis-1").domains[0].name


def test_folders_of_upstream_files_are_searched_in_order(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    lay(first, SST, TREE)
    lay(second, SST, TREE + TREE.replace(b"It", b"He"))
    lay(second, "sst/trees/train.txt", TREE.replace(b"It", b"She"))
    manifest = build("boss", "sa.sst", (first, second), tmp_path / "out").manifest
    splits = manifest.tasks["sa"].domains["sst"].splits
    assert {split: facts.rows for split, facts in splits.items()} == {"train": 1, "test": 1}
    with pytest.raises(InvalidInput, match=f"third: {wording.NO_SUCH_FOLDER}"):
        build("boss", "sa.sst", (first, tmp_path / "third"), tmp_path / "out", overwrite=True)


def test_an_object_a_line_may_be_anything_but_a_list(tmp_path: Path) -> None:
    lay(tmp_path / "raw", MNLI, json.dumps("text").encode())
    with pytest.raises(InvalidInput, match="this line is not an object with keys"):
        build_named("boss nli.mnli", tmp_path / "raw", tmp_path / "out")
