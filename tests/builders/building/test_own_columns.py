"""Columns of one's own file, as they are typed after ``--columns``."""

from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest

from shiftbench.builders.building.own_columns import ROLES, Columns, parse_columns
from shiftbench.builders.building.own_rows import own_rows
from shiftbench.builders.building.own_tables import read_tables, table_of
from shiftbench.validation.report import InvalidInput, UnknownChoice
from shiftbench.validation.vocabulary import TaskKind


@pytest.mark.parametrize(
    ("typed", "columns", "kind"),
    [
        ([], Columns(), None),
        (["domain=site,label=stars"], Columns(domain="site", label="stars"), None),
        (["domain=site", "label=stars"], Columns(domain="site", label="stars"), None),
        (["id=key, split =part, group= page "], Columns(id="key", split="part", group=" page "), None),
        (["text=premise,text=hypothesis"], Columns(text=("premise", "hypothesis")), None),
        (["month=date"], Columns(domain="date", domain_by="month"), None),
        (["quarter=d,labels=stars"], Columns(domain="d", label="stars", domain_by="quarter"), TaskKind.CLASSIFICATION),
        (["year=date"], Columns(domain="date", domain_by="year"), None),
        (["tags=bio"], Columns(label="bio"), TaskKind.TAGGING),
        (["answers=spans"], Columns(label="spans"), TaskKind.EXTRACTIVE_QA),
        (["texts="], Columns(), TaskKind.GENERATION),
        (["domain=City, state,id=a=b"], Columns(domain="City, state", id="a=b"), None),
        (["text=Body text"], Columns(text=("Body text",)), None),
    ],
)  # fmt: skip
def test_roles_are_parsed(typed: list[str], columns: Columns, kind: TaskKind | None) -> None:
    assert parse_columns(typed) == (columns, kind)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["site"], "a column has no role; found 'site'"),
        (["lable=stars"], "there is no such column role; found 'lable'"),
        (["domain=site,lable=stars"], "there is no such column role; found 'lable'"),
        (["premise=a,hypothesis=b"], "name inputs with the role 'text', twice for a pair: text=sentence1,text=sent"),
        (["domain="], "the column name is missing; found 'domain='; give domain=COLUMN"),
        (["domain=a", "domain=b"], "several columns have the same role; found domain=a, domain=b"),
        (["domain=site,month=date"], "found domain=site, month=date; give only one of them"),
        (["label=stars,tags=bio"], "found label=stars, tags=bio"),
        (["id=a,id=b"], "found id=a, id=b"),
    ],
)
def test_what_cannot_be_parsed_is_refused(typed: list[str], words: str) -> None:
    with pytest.raises(UnknownChoice) as refused:
        parse_columns(typed)
    assert words in str(refused.value)
    assert "--columns" in str(refused.value)


def test_an_unknown_role_lists_the_roles() -> None:
    with pytest.raises(UnknownChoice) as refused:
        parse_columns(["lable=stars"])
    assert str(refused.value).endswith(", ".join(ROLES))


def test_lists_of_answers_stand_in_a_cell_as_json_or_as_python_writes_them() -> None:
    pages = ["It was built in 1843, by Ada.", "Nobody knows."] * 2
    frame = pl.DataFrame({"context": pages, "question": ["When?"] * 4, "domain": ["a", "a", "b", "b"]})
    cells = ['["in 1843", "1843"]', "[]", "['in 1843', '1843']", "[]"]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "qa.csv"
        frame.with_columns(answers=pl.Series(cells)).write_csv(path)
        answers = own_rows(read_tables([path]), Columns()).frame["answers"].to_list()
    assert answers == [{"text": ["in 1843", "1843"], "answer_start": [13, 16]}, {"text": [], "answer_start": []}] * 2


def test_lists_that_do_not_belong_in_a_column_are_refused_with_an_example() -> None:
    frame = pl.DataFrame({"text": [["a"], ["b"]], "label": ["x", "y"], "domain": ["a", "b"]})
    with pytest.raises(InvalidInput, match="lists"):
        own_rows([table_of(frame, "frame")], Columns())
    squad = pl.DataFrame({"tokens": ["a b"], "tags": [{"text": ["a"], "answer_start": [0]}], "domain": ["a"]})
    with pytest.raises(InvalidInput, match="offsets"):
        own_rows([table_of(squad, "frame")], Columns())
