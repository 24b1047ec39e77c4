"""Files that are not what they should be: each is refused in words that say what it is and what to do."""

import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.building import build as build_module
from shiftbench.builders.building.build import build
from shiftbench.builders.specs.spec import Upstream
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

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
    """A way in which a file is not what it should be."""

    build: str
    place: str
    content: bytes | Callable[[Path], None]
    beside: tuple[str, bytes] | None = None


def folder(path: Path) -> None:
    path.mkdir()
    (path / path.name).write_bytes(TREE)


def loop(path: Path) -> None:
    path.symlink_to(path)


def dangling(path: Path) -> None:
    path.symlink_to("elsewhere.txt")


BROKEN = {
    "Git LFS pointer": Broken("boss sa.sst", SST, LFS),
    "Git LFS pointer, gzipped": Broken("boss sa.sst", SST + ".gz", gzip.compress(LFS)),
    "git-annex pointer": Broken("boss sa.sst", SST, b"/annex/objects/MD5E-s12--ab.txt\n"),
    "web page saved as CSV": Broken("boss td_candidates.hsol", HSOL, PAGE),
    "web page as .gz": Broken("boss sa.sst", SST + ".gz", PAGE),
    "404 of a host": Broken("boss sa.sst", SST, b"404: Not Found"),
    "expired link": Broken(
        "boss sa.sst", SST, b'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code></Error>'
    ),
    "JSON list, lines wanted": Broken("boss nli.mnli", MNLI, b"[" + PAIR.strip() + b"]"),
    "JSON lines, document wanted": Broken("boss eqa.squad", SQUAD, b'{"data": []}\n{"data": []}\n'),
    "JSON lines, list wanted": Broken("boss nli_candidates.docnli", "docnli/test.json", PAIR),
    "JSON lines cut off": Broken("boss nli.mnli", MNLI, PAIR + PAIR[:40]),
    "JSON of another project": Broken("boss eqa.squad", SQUAD, b'{"rows": []}'),
    "header in a labels file": Broken(
        "boss td_candidates.olid", OLID, OLID_TEST, ("olid/OLIDv1.0/labels-levela.csv", b"id,subtask_a\n7,NOT\n8,OFF\n")
    ),
    "labels file missing": Broken("boss td_candidates.olid", OLID, OLID_TEST),
    "labels of another release": Broken(
        "boss td_candidates.olid", OLID, OLID_TEST, ("olid/OLIDv1.0/labels-levela.csv", b"7,NOT\n9,OFF\n")
    ),
    "labels file is a web page": Broken(
        "boss td_candidates.olid", OLID, OLID_TEST, ("olid/OLIDv1.0/labels-levela.csv", PAGE)
    ),
    "two zips": Broken("boss sa.sst", SST + ".zip", zipped("test.txt"), ("sst/trees/test.zip", zipped("test.txt"))),
    "zip of several": Broken("boss sa.sst", SST + ".zip", zipped("test.txt", "dev.txt")),
    "zip cut off": Broken("boss sa.sst", SST + ".zip", zipped("test.txt")[:60]),
    "another file of the project": Broken(
        "boss ner.e_ner", "e_ner/edgar_all_4.csv", b"-DOCSTART- O\n\nAcme I-BUSINESS\nInc I-BUSINESS\n"
    ),
    "another file, other separator": Broken(
        "boss ner.e_ner", "e_ner/edgar_all_4.csv", b"-DOCSTART-\tO\n\nAcme\tI-BUSINESS\n"
    ),
    "gz that is none": Broken("boss sa.sst", SST + ".gz", TREE),
    "gz cut off": Broken("boss sa.sst", SST + ".gz", gzip.compress(TREE * 900)[:-9]),
    "gz of nothing": Broken("boss sa.sst", SST + ".gz", gzip.compress(b"")),
    "gzip without .gz": Broken("boss sa.sst", SST, gzip.compress(TREE, mtime=0)),
    "zip without .zip": Broken("boss sa.sst", SST, zipped("test.txt")),
    "not UTF-8": Broken("boss td.implicit_hate", IMPLICIT, POSTS.replace(b"fine", b"caf\xe9")),
    "UTF-16": Broken("boss td.implicit_hate", IMPLICIT, POSTS.decode().encode("utf-16")),
    "Macintosh line ends": Broken("boss td.implicit_hate", IMPLICIT, POSTS.replace(b"\n", b"\r")),
    "semicolons": Broken("boss td_candidates.hsol", HSOL, TWEETS.replace(b",", b";")),
    "commas where tabs are": Broken("boss td.implicit_hate", IMPLICIT, POSTS.replace(b"\t", b",")),
    "Excel saved as CSV": Broken("boss td_candidates.hsol", HSOL, zipped("[Content_Types].xml", "xl/workbook.xml")),
    "old Excel": Broken("boss td_candidates.hsol", HSOL, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" * 9),
    "Parquet as TSV": Broken("boss td.implicit_hate", IMPLICIT, parquet()),
    "text as Parquet": Broken("boss td.civil_comments", "civil_comments/test-00000-of-00001.parquet", TWEETS),
    "PDF": Broken("boss sa.sst", SST, b"%PDF-1.7\n%x"),
    "zeros": Broken("boss sa.sst", SST, bytes(4096)),
    "empty": Broken("boss sa.sst", SST, b""),
    "header alone": Broken("boss td_candidates.hsol", HSOL, TWEETS.splitlines(keepends=True)[0]),
    "a folder": Broken("boss sa.sst", SST, folder),
    "link in a circle": Broken("boss sa.sst", SST, loop),
    "link to nothing": Broken("boss sa.sst", SST, dangling),
    "wrong columns": Broken("boss td_candidates.hsol", HSOL, b"id,label,text\n0,2,fine day\n"),
    "a row too long": Broken("boss td_candidates.hsol", HSOL, TWEETS + b"2,3,1,bad, day\n"),
    "an open quote": Broken("boss td_candidates.hsol", HSOL, TWEETS + b'2,3,1,"bad day\n'),
    "an unknown label": Broken("boss td.implicit_hate", IMPLICIT, POSTS + b"x\thateful\n"),
    "trees without brackets": Broken("boss sa.sst", SST, TREE + b"It works.\n"),
    "XML cut off": Broken("dr ab.mams", "mams/MAMS-ATSA/raw/test.xml", b"<sentences><text>Good"),
}


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


def test_a_broken_file_is_told_what_it_is_and_what_to_do(tmp_path: Path, wording: SnapshotAssertion) -> None:
    said = {}
    for way, broken in BROKEN.items():
        raw = tmp_path / way.replace(" ", "-")
        lay(raw, broken.place, broken.content)
        if broken.beside is not None:
            lay(raw, *broken.beside)
        message = refusal(InvalidInput, build_named, broken.build, raw, tmp_path / "out")
        # How much of a truncated file can be read, depends on the library that reads it.
        said[way] = re.sub(r"(\.gz), row \d+", r"\1", message.replace(str(raw), "RAW"))
        assert not (tmp_path / "out").exists()
    assert said == wording


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
    with pytest.raises(InvalidInput, match="folder"):
        build("boss", "ner", raw, tmp_path / "other")


def test_one_domain_is_built_as_listed(tmp_path: Path, wording: SnapshotAssertion) -> None:
    raw = tmp_path / "raw"
    lay(raw, "sst/trees/train.txt", TREE)
    lay(raw, SST, TREE + TREE.replace(b"It", b"He"))
    for name in ("sa.sst", "boss/sa.sst"):
        manifest = build("boss", name, raw, tmp_path / "out", overwrite=True).manifest
        assert manifest.partial
        assert list(manifest.tasks) == ["sa"]
        assert list(manifest.tasks["sa"].domains) == ["sst"]
        assert "amazon" in manifest.tasks["sa"].absent_domains
    (raw / "sst/trees/train.txt").unlink()
    assert [
        refusal(InvalidInput, build, *name, raw, tmp_path / "out", overwrite=True)
        for name in (("boss", "sa.sst"), ("boss", "sa.sts"), ("df1", "sis-1." + _a_domain_of_a_pairing()))
    ] == wording


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
    with pytest.raises(InvalidInput, match="third:"):
        build("boss", "sa.sst", (first, tmp_path / "third"), tmp_path / "out", overwrite=True)


def test_an_object_a_line_may_be_anything_but_a_list(tmp_path: Path) -> None:
    lay(tmp_path / "raw", MNLI, json.dumps("text").encode())
    with pytest.raises(InvalidInput, match="object"):
        build_named("boss nli.mnli", tmp_path / "raw", tmp_path / "out")
