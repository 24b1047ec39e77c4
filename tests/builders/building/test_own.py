"""Your own CSV: what becomes of good rows, and how bad ones are refused with nothing written."""

from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.building.own import build_own
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.report import InvalidInput

HEAD = "domain,label,text\n"
GOOD = HEAD + "Books,good,fine read\nBooks,bad,dull\nToys,good,sturdy\nToys,bad,broke\n"


def csv_file(folder: Path, content: str | bytes) -> Path:
    path = folder / "c.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def built(folder: Path, content: str | bytes, **options: object) -> DatasetFolder:
    build_own("reviews", csv_file(folder, content), folder / "out", **options)  # type: ignore[arg-type]
    return DatasetFolder.open(folder / "out")


def refusal(folder: Path, content: str | bytes) -> str:
    with pytest.raises(InvalidInput) as refused:
        built(folder, content)
    assert [path.name for path in folder.iterdir()] == ["c.csv"]
    return str(refused.value).replace(f"{folder}/", "")


def many(n: int = 40) -> str:
    rows = [
        f"{domain},{label},the {domain} were {label} for {number} days"
        for domain in ("Sci Fi", "toys")
        for label in ("good", "bad")
        for number in range(n // 2)
    ]
    return HEAD + "\n".join(rows) + "\n"


def test_domains_are_named_and_cut_into_three_splits(tmp_path: Path) -> None:
    folder = built(tmp_path, many())
    facts = folder.task("reviews")
    assert list(facts.domains) == ["sci-fi", "toys"]
    assert facts.labels == ("bad", "good")
    for domain in facts.domains.values():
        sizes = {split: split_facts.rows for split, split_facts in domain.splits.items()}
        assert sizes == {"train": 29, "validation": 3, "test": 8}
    folder.check()
    rows = pl.concat([folder.split("reviews", "toys", split) for split in ("train", "validation", "test")])
    assert set(rows["domain"]) == {"toys"}
    assert all(text.endswith("days") and "toys were" in text for text in rows["text"])
    assert rows.filter(text="the toys were good for 3 days")["label"].to_list() == [1]
    source = folder.manifest.sources["own"]
    assert [(file.path, file.rows) for file in source.files] == [("c.csv", 80)]


def test_row_order_and_quoting_do_not_matter(tmp_path: Path) -> None:
    head, *rows = many().splitlines()
    for name, lines in (("a", rows), ("b", rows[::-1])):
        (tmp_path / name).mkdir()
        built(tmp_path / name, "\n".join([head, *lines, ""]))
    first, second = (DatasetFolder.open(tmp_path / name / "out") for name in "ab")
    assert first.content_hash == second.content_hash
    assert list(first.task("reviews").domains) == list(second.task("reviews").domains)


@pytest.mark.parametrize(("separator", "name"), [(";", "c.csv"), ("\t", "c.csv"), ("\t", "c.tsv")])
def test_other_separators_are_read(separator: str, name: str, tmp_path: Path) -> None:
    comma = built(tmp_path, many())
    other = tmp_path / "other"
    other.mkdir()
    path = csv_file(other, many().replace(",", separator)).rename(other / name)
    build_own("reviews", path, other / "out", min_texts=1)
    assert DatasetFolder.open(other / "out").content_hash == comma.content_hash


def test_given_splits_and_groups_are_followed(tmp_path: Path) -> None:
    folder = built(
        tmp_path,
        "domain,label,premise,hypothesis,split,group\n"
        "a,yes,p1,h1,train,g1\na,no,p2,h2,validation,g2\na,yes,p3,h3,test,g3\n"
        "b,no,p1,h1,train,g1\nb,yes,p4,h4,test,g4\nb,yes,p5,h5,train,g4\n",
    )
    facts = folder.task("reviews")
    assert facts.inputs == ("premise", "hypothesis")
    read = {
        (domain, split): folder.split("reviews", domain, split)["premise"].to_list()
        for domain, domain_facts in facts.domains.items()
        for split in domain_facts.splits
    }
    # p5 shares its group with b's test, and leaves train.
    assert read == {
        ("a", "train"): ["p1"],
        ("a", "validation"): ["p2"],
        ("a", "test"): ["p3"],
        ("b", "train"): ["p1"],
        ("b", "test"): ["p4"],
    }
    left = [count for count in facts.transforms if count.name == "test_groups_leave_train" and count.domain == "b"]
    assert [(count.before, count.after) for count in left] == [(2, 1)]


def test_the_manifest_counts_every_row_that_leaves(tmp_path: Path) -> None:
    lines = many().splitlines()
    folder = built(tmp_path, "\n".join([*lines, lines[1], lines[1], lines[-1]]) + "\n")
    facts = folder.task("reviews")
    repeats = {
        count.domain: count.before - count.after for count in facts.transforms if count.name.startswith("repeat")
    }
    assert repeats == {"sci-fi": 2, "toys": 1}
    kept = sum(split.rows for domain in facts.domains.values() for split in domain.splits.values())
    assert folder.manifest.sources["own"].files[0].rows == 83
    assert kept == 83 - sum(count.before - count.after for count in facts.transforms)


def test_without_groups_equal_texts_stay_together(tmp_path: Path) -> None:
    repeated = HEAD + "".join(
        f"{domain},{label},text {number}\n" for domain in "ab" for number in range(30) for label in ("x", "y")
    )
    folder = built(tmp_path, repeated)
    for domain in "ab":
        texts = [
            set(folder.split("reviews", domain, split)["text"])
            for split in folder.task("reviews").domains[domain].splits
        ]
        assert len(texts) == 3
        assert sum(map(len, texts)) == len(set.union(*texts)) == 30


def test_texts_that_look_like_nothing_are_kept(tmp_path: Path) -> None:
    folder = built(tmp_path, HEAD + "NA,null,None\nNA,x,n/a\nnull,null,nan\nnull,x,-\n")
    assert list(folder.task("reviews").domains) == ["na", "null"]
    assert folder.task("reviews").labels == ("null", "x")


BAD = {
    "empty": "",
    "no rows": HEAD,
    "no text column": "domain,label,body\na,x,one\n",
    "no label column": "text,domain\none,a\n",
    "columns in another case": "Domain,LABEL,Text\na,x,one\n",
    "a column twice": "domain,label,text,text\na,x,one,two\n",
    "empty texts": GOOD + "Toys,good,  \nToys,good,\n",
    "an empty label": GOOD + "Toys,,fine\n",
    "a field too few": GOOD + "Toys,good\n",
    "a field too many": GOOD + "Toys,good,fine, I think\n",
    "an empty row": GOOD.replace("\n", "\n\n", 2),
    "Latin-1": GOOD.replace("dull", "caf\xe9").encode("latin-1"),
    "one domain": GOOD.replace("Toys", "Books"),
    "domains alike": GOOD + "books!,good,nice\n",
    "a domain without letters": GOOD + "书,good,nice\n",
    "a domain none": GOOD + "None,good,nice\n",
    "an unknown split": "domain,label,text,split\na,x,one,train\na,y,two,dev\nb,x,three,test\n",
    "only validation rows": "domain,label,text,split\na,x,one,train\nb,y,two,validation\nb,x,three,validation\n",
    "an empty group": "domain,label,text,group\na,x,one,g\nb,y,two,\n",
    "two problems": "domain,label,text,split\na,,one,dev\n,x,two,train\n",
    "a long domain": f"{GOOD}{'a' * 300},x,y\n",
    "ids as domains": HEAD + "".join(f"d{number},l{number % 2},text {number}\n" for number in range(40_000)),
}


def test_bad_input_is_refused_and_nothing_written(tmp_path: Path, wording: SnapshotAssertion) -> None:
    assert {name: refusal(tmp_path, content) for name, content in BAD.items()} == wording


@pytest.mark.parametrize(
    ("name", "content"), [("c.json", "[" * 200_000), ("c.jsonl", '{"domain": ' + "[" * 200_000 + "\n")]
)
def test_json_that_nests_too_deep_is_refused(name: str, content: str, tmp_path: Path) -> None:
    """Test JSON that once raised a RecursionError."""
    (tmp_path / name).write_text(content)
    with pytest.raises(InvalidInput, match="nests"):
        build_own("reviews", tmp_path / name, tmp_path / "out")


def test_a_refused_csv_leaves_an_older_folder_as_it_was(tmp_path: Path) -> None:
    folder = built(tmp_path, many())
    with pytest.raises(InvalidInput, match="empty"):
        built(tmp_path, many() + "toys,good,\n", overwrite=True)
    folder.check()
    assert DatasetFolder.open(tmp_path / "out").content_hash == folder.content_hash


def test_a_task_needs_a_name_and_the_csv_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="'My Task'"):
        build_own("My Task", csv_file(tmp_path, GOOD), tmp_path / "out")
    with pytest.raises(InvalidInput, match=r"b\.csv:"):
        build_own("reviews", tmp_path / "b.csv", tmp_path / "out")
    assert not (tmp_path / "out").exists()
