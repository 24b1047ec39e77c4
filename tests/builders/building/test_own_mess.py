"""One CSV with many kinds of mess: what is refused is told at once with rows, what is only odd is noted and built."""

from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

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


# What is wrong, and the rows that are so (after 80 sound ones).
REFUSED = {
    "id missing": ",Sci Fi,1,text a,train,g1,x",
    "id repeated": "S1,Sci Fi,1,text b,train,g2,x",
    "id of blanks": "  ,Sci Fi,1,text c,train,g3,x",
    "domain missing": "k4,,1,text d,train,g4,x",
    "domain without letters": "k5,书,1,text e,test,g5,x",
    "domain that looks like another": "k6,Sci-Fi,1,text f,train,g6,x",
    "domain called none": "k7,None,1,text g,test,g7,x",
    "label missing": "k8,toys,,text h,train,g8,x",
    "label of blanks": "k9,toys,  ,text i,train,g9,x",
    "text missing": "k10,toys,1,,train,g10,x",
    "text of blanks": 'k11,toys,1,"  ",train,g11,x',
    "split unknown": "k12,toys,1,text l,dev,g12,x",
    "split in another case": "k13,toys,1,text m,Train,g13,x",
    "split missing": "k14,toys,1,text n,,g14,x",
    "group missing": "k15,toys,1,text o,train,,x",
    "domain with validation rows": "k16,films,1,text p,validation,g16,x",
    "id repeated again": "S1,toys,1,text q,train,g17,x",
    "id repeated a third time": "S1,toys,1,text r,train,g18,x",
    "everything missing but the id": "k19,,1,text s,train,g19,x",
}
ODD = {
    "labels 1 and 1.0": "k1,toys,1.0,text one,train,g1,x",
    "label with a blank": "k2,toys,Good ,text two,train,g2,x",
    "label in another case": "k3,toys,Good,text three,train,g3,x",
    "row repeated": "k4,Sci Fi,1,Sci Fi number 1 is fine,train,p-Sci Fi-1,x",
    "text with two labels": "k5,Sci Fi,0,Sci Fi number 2 is fine,train,p-Sci Fi-2,x",
    "text in two domains": "k6,toys,1,Sci Fi number 5 is fine,train,g6,x",
    "domain too small": "k7,films,1,text seven,test,g7,x",
    "domain with one label": "k8,films,1,text eight,train,g8,x",
    "a group in train and test": "k9,toys,1,text nine,test,p-toys-1,x",
    "texts that look like nothing": "k10,toys,NA,null,train,g10,x",
    "label of a failed formula": "k12,toys,#REF!,text twelve,train,g12,x",
    "quotes, commas and lines": 'k11,toys,0,"a ""b"", c\nd",train,g11,x',
    "domain in another case": "k13,TOYS ,1,text four,train,g13,x",
}


def test_everything_that_is_wrong_is_told_at_once_with_rows(tmp_path: Path, wording: SnapshotAssertion) -> None:
    path = tmp_path / "mess.csv"
    path.write_text(HEAD + "".join(sound()) + "".join(f"{row}\n" for row in REFUSED.values()), encoding="utf-8")
    with pytest.raises(InvalidInput) as refused:
        build_own("mess", path, tmp_path / "out", columns=COLUMNS)
    assert str(refused.value) == wording
    assert not (tmp_path / "out").exists()


def test_what_is_odd_is_noted_and_built_as_written(tmp_path: Path, wording: SnapshotAssertion) -> None:
    path = tmp_path / "odd.csv"
    path.write_text(HEAD + "".join(sound()) + "".join(f"{row}\n" for row in ODD.values()), encoding="utf-8")
    manifest = build_own("mess", path, tmp_path / "out", columns=COLUMNS, min_texts=10)
    task = manifest.tasks["mess"]
    assert task.notes == wording
    assert task.labels == ("#REF!", "0", "1", "2", "Good", "NA")
    assert {name: facts.title for name, facts in task.domains.items()} == {"films": "", "sci-fi": "Sci Fi", "toys": ""}
    folder = DatasetFolder.open(tmp_path / "out")
    texts = pl.concat([folder.split("mess", "toys", split) for split in ("train", "test")])["text"].to_list()
    assert 'a "b", c\nd' in texts
    assert "null" in texts
    assert "toys number 1 is fine" not in texts  # its group is in test
    assert "films" in (tmp_path / "out/README.md").read_text(encoding="utf-8")
