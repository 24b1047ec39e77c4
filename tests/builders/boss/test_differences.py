"""The table that puts every data set beside the authors' code: whole, and true of what can be counted here."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from shiftbench.builders import boss
from shiftbench.builders.boss.suite import find_differences, read_differences
from shiftbench.builders.boss.tag_maps import E_NER
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.readers.token_lines import token_lines
from shiftbench.builders.specs.tagging import bio_tags
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.builders.writing.dataset_card import dataset_card

WHOLE = Path(__file__).parents[4] / "shared" / "data" / "whole"
AS_THEIRS = "as the authors' code"
NAMES = [f"{task.name}.{domain.name}" for task in boss.TASKS for domain in task.domains]


def test_every_data_set_has_a_line_of_its_own() -> None:
    """Test that each data set has its own line; lines about all data sets of a task do not count."""
    own = {name for line in read_differences() if not of_all(line.data_sets) for name in line.data_sets}
    assert own == set(NAMES)
    assert len(own) == 20 + 16


def of_all(names: Sequence[str]) -> bool:
    groups = {group_of(name) for name in names}
    return set(names) == {name for name in NAMES if group_of(name) in groups}


def group_of(name: str) -> str:
    return name.partition(".")[0].removesuffix("_candidates")


def test_tasks_carry_the_lines_of_their_own_data_sets() -> None:
    for task in boss.TASKS:
        assert task.differences
        assert {name for line in task.differences for name in line.data_sets} == {d.name for d in task.domains}
    assert Counter(name for line in read_differences() for name in line.data_sets) == Counter(
        f"{task.name}.{name}" for task in boss.TASKS for line in task.differences for name in line.data_sets
    )


def test_a_line_says_that_nothing_differs_or_what_it_touches() -> None:
    for line in read_differences():
        assert (line.here == AS_THEIRS) <= line.touches.startswith("none"), line
        assert line.here == AS_THEIRS or line.here != line.theirs


def test_the_card_has_the_table_once(suite: DatasetFolder) -> None:
    card = (suite.path / "README.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"## Data sets compared with the authors' code\n.*?\n\n(\|.*?\n)\n", card, re.DOTALL)
    rows = [row.strip("| ").split(" | ") for row in table.splitlines()]
    assert len(rows[0]) == 4
    assert sorted([*row[0].split(", "), *row[1:]] for row in rows[2:]) == sorted(
        [*line.data_sets, line.theirs, line.here, line.touches] for line in read_differences()
    )


def test_the_card_names_the_data_sets_that_the_folder_knows(suite: DatasetFolder) -> None:
    nli = suite.manifest.tasks["nli"]
    known = {name: facts for name, facts in nli.domains.items() if name != "wanli"}
    task = nli.model_copy(update={"domains": known, "absent_domains": ("wanli",)})
    card = dataset_card(suite.manifest.model_copy(update={"tasks": {"nli": task}}), {})
    assert "| nli.mnli, nli.anli, nli.contract_nli | " in card
    assert "nli.wanli |" not in card


def test_data_that_nobody_compared_has_no_table(synthetic: DatasetFolder) -> None:
    assert "the authors' code" not in dataset_card(synthetic.manifest, {})


@pytest.mark.real
def test_e_ner_counts_are_those_of_the_file() -> None:
    """Test the authors' rule: an entity begins where the whole tag is not that of the word before."""
    path = WHOLE / "e_ner" / "edgar_all_4.csv"
    if not path.is_file():
        pytest.skip("no whole E-NER at ../shared/data/whole/e_ner")
    with UpstreamFile(path) as file:
        rows = pl.concat(token_lines(" ")(file))
    here = bio_tags(E_NER, "iob1").apply(rows)["tags"].to_list()
    n_tags = [
        sum(ours != "O" and (ours[0] == "B") != (before != tag) for ours, (before, tag) in zip(new, pairs, strict=True))
        for new, old in zip(here, rows["tags"].to_list(), strict=True)
        for pairs in [pairwise(["O", *old])]
    ]
    told = next(line.touches for line in find_differences("ner") if line.data_sets == ("e_ner",))
    assert told == f"{sum(n_tags)} tags in {sum(n > 0 for n in n_tags)} of {len(n_tags):,} sentences"
