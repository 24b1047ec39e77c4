"""One CSV with many kinds of mess: what is refused is told at once with rows, what is only odd is noted and built."""

from pathlib import Path

import polars as pl
import pytest

from shiftbench.builders.building.own import build_own
from shiftbench.builders.building.own_columns import Columns
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.report import InvalidInput

COLUMNS = Columns(domain="Site", label="Verdict", text=("Body text",), id="Key", split="Part", group="Page")
HEAD = "Key,Site,Verdict,Body text,Part,Page,Note\n"


def sound(n: int = 40) -> list[str]:
    return [
        f"{site[0]}{number},{site},{number % 3},{site} number {number} is fine,{part},p-{site}-{number},x\n"
        for site in ("Sci Fi", "toys")
        for number in range(n)
        for part in ("train" if number % 4 else "test",)
    ]


# What is wrong, the rows that are so (after 80 sound ones), and what is said.
REFUSED = {
    "id missing": (",Sci Fi,1,text a,train,g1,x", "column 'Key', row 81: an id is empty"),
    "id repeated": ("S1,Sci Fi,1,text b,train,g2,x", "column 'Key', row 82: an id is repeated; found 'S1'"),
    "id of blanks": ("  ,Sci Fi,1,text c,train,g3,x", "an id is empty; found rows 81, 83"),
    "domain missing": ("k4,,1,text d,train,g4,x", "column 'Site', row 84: a value is empty; found rows 84, 99"),
    "domain without letters": ("k5,书,1,text e,test,g5,x", "row 85: no name can be made from this domain"),
    "domain that looks like another": (
        "k6,Sci-Fi,1,text f,train,g6,x",
        "row 86: domains that differ only in case",
    ),
    "domain called none": (
        "k7,None,1,text g,test,g7,x",
        "row 87: 'none' is reserved for models without a source domain",
    ),
    "label missing": ("k8,toys,,text h,train,g8,x", "column 'Verdict', row 88: a value is empty; found rows 88, 89"),
    "label of blanks": ("k9,toys,  ,text i,train,g9,x", "rows 88, 89"),
    "text missing": ("k10,toys,1,,train,g10,x", "column 'Body text', row 90: a value is empty; found rows 90, 91"),
    "text of blanks": ('k11,toys,1,"  ",train,g11,x', "rows 90, 91"),
    "split unknown": ("k12,toys,1,text l,dev,g12,x", "column 'Part', row 92: unknown split; found 'dev'"),
    "split in another case": ("k13,toys,1,text m,Train,g13,x", "'dev' (rows 92, 93, 94)"),
    "split missing": ("k14,toys,1,text n,,g14,x", "use train, validation, test"),
    "group missing": ("k15,toys,1,text o,train,,x", "column 'Page', row 95: a value is empty"),
    "domain with validation rows": (
        "k16,films,1,text p,validation,g16,x",
        "row 96: domain 'films' has only validation rows",
    ),
    "id repeated again": ("S1,toys,1,text q,train,g17,x", "found 'S1' (rows 82, 97"),
    "id repeated a third time": ("S1,toys,1,text r,train,g18,x", "found 'S1' (rows 82, 97, 98)"),
    "everything missing but the id": ("k19,,1,text s,train,g19,x", "rows 84, 99"),
}
ODD = {
    "labels 1 and 1.0": (
        "k1,toys,1.0,text one,train,g1,x",
        "labels that are the same number were merged: '1.0' (1) as '1'",
    ),
    "label with a blank": ("k2,toys,Good ,text two,train,g2,x", "'Good ' (1) as 'Good'"),
    "label in another case": ("k3,toys,Good,text three,train,g3,x", "labels that differ only in case or spaces"),
    "row repeated": (
        "k4,Sci Fi,1,Sci Fi number 1 is fine,train,p-Sci Fi-1,x",
        "exact duplicates of another row of their domain: row 84",
    ),
    "text with two labels": ("k5,Sci Fi,0,Sci Fi number 2 is fine,train,p-Sci Fi-2,x", "have different labels: rows"),
    "text in two domains": ("k6,toys,1,Sci Fi number 5 is fine,train,g6,x", "in more than one domain: rows 6, 86"),
    "domain too small": ("k7,films,1,text seven,test,g7,x", "domain 'films' has 1 test text, fewer than 10"),
    "domain with one label": ("k8,films,1,text eight,train,g8,x", "domain 'films' has only one label: '1'"),
    "a group in train and test": ("k9,toys,1,text nine,test,p-toys-1,x", ""),
    "texts that look like nothing": ("k10,toys,NA,null,train,g10,x", "'NA'"),
    "label of a failed formula": ("k12,toys,#REF!,text twelve,train,g12,x", "errors: row 91"),
    "quotes, commas and lines": ('k11,toys,0,"a ""b"", c\nd",train,g11,x', ""),
    "domain in another case": ("k13,TOYS ,1,text four,train,g13,x", "were merged: 'TOYS ' (1) as 'toys' (rows)"),
}


def test_at_least_25_kinds() -> None:
    assert len(REFUSED) + len(ODD) >= 25


def test_everything_that_is_wrong_is_told_at_once_with_rows(tmp_path: Path) -> None:
    path = tmp_path / "mess.csv"
    path.write_text(HEAD + "".join(sound()) + "".join(f"{row}\n" for row, _ in REFUSED.values()), encoding="utf-8")
    with pytest.raises(InvalidInput) as refused:
        build_own("mess", path, tmp_path / "out", columns=COLUMNS)
    message = str(refused.value)
    for way, (_, words) in REFUSED.items():
        assert words in message, f"{way}\n{message}"
    assert len(refused.value.problems) == 12, "one line a kind and column, however many rows"
    assert not (tmp_path / "out").exists()


def test_what_is_odd_is_noted_and_built_as_written(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text(HEAD + "".join(sound()) + "".join(f"{row}\n" for row, _ in ODD.values()), encoding="utf-8")
    manifest = build_own("mess", path, tmp_path / "out", columns=COLUMNS, min_texts=10)
    task = manifest.tasks["mess"]
    notes = "\n".join(task.notes)
    for way, (_, words) in ODD.items():
        assert words in notes, f"{way}\n{notes}"
    assert task.labels == ("#REF!", "0", "1", "2", "Good", "NA")
    assert {name: facts.title for name, facts in task.domains.items()} == {"films": "", "sci-fi": "Sci Fi", "toys": ""}
    folder = DatasetFolder.open(tmp_path / "out")
    texts = pl.concat([folder.split("mess", "toys", split) for split in ("train", "test")])["text"].to_list()
    assert 'a "b", c\nd' in texts
    assert "null" in texts
    assert "toys number 1 is fine" not in texts, "its group is in test"
    assert "films" in (tmp_path / "out/README.md").read_text(encoding="utf-8")
