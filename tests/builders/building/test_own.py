"""Your own CSV: what becomes of good rows, and how bad ones are refused with nothing written."""

from pathlib import Path

import polars as pl
import pytest

from shiftbench.builders.building.own import build_own
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.report import InvalidInput
from tests import wording

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


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", f"c.csv: {wording.FILE_EMPTY}; found no header; write a header, then one row for each example"),
        (
            HEAD,
            f"c.csv, column 'domain': {wording.AT_LEAST_TWO_DIFFERENT} to measure a shift in column 'domain'",
        ),
        (
            "domain,label,body\na,x,one\n",
            "c.csv, column 'text': the text column is missing; found columns domain, label, body; "
            "name it 'text', or 'premise' and 'hypothesis', or give --columns text=NAME",
        ),
        (
            "text,domain\none,a\n",
            f"c.csv, column 'label': {wording.A_COLUMN_IS_MISSING}; found columns text, domain; add 'label', or give",
        ),
        (
            "Domain,LABEL,Text\na,x,one\n",
            "c.csv, column 'text': the text column is missing; found columns Domain, LABEL, Text; "
            "rename 'Text' to 'text'\n"
            f"c.csv, column 'domain': {wording.A_COLUMN_IS_MISSING}; found columns Domain, LABEL, Text; "
            "rename 'Domain' to 'domain'\n"
            f"c.csv, column 'label': {wording.A_COLUMN_IS_MISSING}; found columns Domain, LABEL, Text; "
            "rename 'LABEL' to 'label'",
        ),
        (
            "domain,label,text,text\na,x,one,two\n",
            f"c.csv, column 'text': {wording.TWO_COLUMNS_HAVE_NAME}; found columns domain, label, text, text; "
            f"{wording.RENAME_OR_DROP_ONE}",
        ),
        (
            GOOD + "Toys,good,  \nToys,good,\n",
            f"c.csv, column 'text', row 5: {wording.VALUE_EMPTY}; found rows 5, 6; fill it in or drop the row",
        ),
        (
            GOOD + "Toys,,fine\n",
            f"c.csv, column 'label', row 5: {wording.VALUE_EMPTY}; fill it in or drop the row",
        ),
        (
            GOOD + "Toys,good\n",
            "c.csv, row 5: this row has 2 fields, the header 3; found 'Toys,good'; "
            "put texts that contain commas or quotes in quotes",
        ),
        (
            GOOD + "Toys,good,fine, I think\n",
            "c.csv, row 5: this row has 4 fields, the header 3; found 'Toys,good,fine, I think'; "
            "put texts that contain commas or quotes in quotes",
        ),
        (GOOD.replace("\n", "\n\n", 2), "c.csv, row 1: this row is empty; delete the line"),
        (
            GOOD.replace("dull", "caf\xe9").encode("latin-1"),
            f"c.csv, row 2: {wording.FILE_NOT_UTF8}; found byte 0xe9, which is 'é' in Windows-1252; save it as UTF-8",
        ),
        (
            GOOD.replace("Toys", "Books"),
            f"c.csv, column 'domain': {wording.AT_LEAST_TWO_DIFFERENT} to measure a shift in column 'domain'; "
            "found 'Books'; add rows with another value",
        ),
        (
            GOOD + "books!,good,nice\n",
            "c.csv, column 'domain', row 5: domains that differ only in case, spaces or punctuation would have the "
            "same name; found 'Books' and 'books!'; spell each domain in one way, and give different domains names "
            "that differ in letters or digits",
        ),
        (GOOD + "书,good,nice\n", "c.csv, column 'domain', row 5: no name can be made from this domain"),
        (
            GOOD + "None,good,nice\n",
            "c.csv, column 'domain', row 5: 'none' is reserved for models without a source domain; found 'None'; "
            "give it another name",
        ),
        (
            "domain,label,text,split\na,x,one,train\na,y,two,dev\nb,x,three,test\n",
            "c.csv, column 'split', row 2: unknown split; found 'dev'; use train, validation, test",
        ),
        (
            "domain,label,text,split\na,x,one,train\nb,y,two,validation\nb,x,three,validation\n",
            "c.csv, column 'split', row 2: domain 'b' has only validation rows; found validation; give it train or "
            "test rows",
        ),
        ("domain,label,text,group\na,x,one,g\nb,y,two,\n", f"c.csv, column 'group', row 2: {wording.VALUE_EMPTY}"),
    ],
)
def test_bad_input_is_refused_and_nothing_written(content: str | bytes, words: str, tmp_path: Path) -> None:
    assert words in refusal(tmp_path, content).splitlines() or refusal(tmp_path, content).startswith(words)


def test_all_problems_come_at_once(tmp_path: Path) -> None:
    lines = refusal(tmp_path, "domain,label,text,split\na,,one,dev\n,x,two,train\n").splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "c.csv, column 'domain', row 2",
        "c.csv, column 'label', row 1",
        "c.csv, column 'split', row 1",
    ]


def test_names_that_no_file_can_have_and_ids_as_domains_are_refused(tmp_path: Path) -> None:
    """Test names that once gave a traceback of the system, and 40,000 domains, which once took 37 s."""
    long = "a" * 300
    assert "row 5: a domain's name is longer than 100 characters; found 'aaaa" in refusal(
        tmp_path, f"{GOOD}{long},x,y\n"
    )
    rows = "".join(f"d{number},l{number % 2},text {number}\n" for number in range(40_000))
    words = "c.csv, column 'domain': there are too many domains; found 40,000 different values; these look like ids; "
    words += "choose a column"
    assert refusal(tmp_path, HEAD + rows).startswith(words)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("c.json", "[" * 200_000, "the file nests too deep"),
        ("c.jsonl", '{"domain": ' + "[" * 200_000 + "\n", f"row 1: {wording.LINE_NOT_JSON}, or nests too deep"),
    ],
)
def test_json_that_nests_too_deep_is_refused(name: str, content: str, words: str, tmp_path: Path) -> None:
    """Test JSON that once raised a RecursionError."""
    (tmp_path / name).write_text(content)
    with pytest.raises(InvalidInput, match=words):
        build_own("reviews", tmp_path / name, tmp_path / "out")


def test_a_refused_csv_leaves_an_older_folder_as_it_was(tmp_path: Path) -> None:
    folder = built(tmp_path, many())
    with pytest.raises(InvalidInput, match=wording.VALUE_EMPTY):
        built(tmp_path, many() + "toys,good,\n", overwrite=True)
    folder.check()
    assert DatasetFolder.open(tmp_path / "out").content_hash == folder.content_hash


def test_a_task_needs_a_name_and_the_csv_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="'My Task'; use lower case, digits, - and _"):
        build_own("My Task", csv_file(tmp_path, GOOD), tmp_path / "out")
    with pytest.raises(InvalidInput, match=rf"b\.csv: {wording.NO_SUCH_FILE}; check the path"):
        build_own("reviews", tmp_path / "b.csv", tmp_path / "out")
    assert not (tmp_path / "out").exists()
