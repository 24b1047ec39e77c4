"""The heat map: colours and words by the tests alone, every text escaped, links to each pair."""

import dataclasses
import re
from html import unescape
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.leaderboard.pages.compare_page import Chooser, EntryOption, Pairwise, compare_page
from shiftbench.scoring.comparing.entries import ComparedEntry
from shiftbench.scoring.comparing.shape import Comparison, Difference, MeanComparison, mirror_comparison
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.scores.shape import Estimate
from shiftbench.validation.versions import DataVersion
from tests.leaderboard.conftest import SCRIPT, Visible

IDS = [f"{n:016x}" for n in range(5)]
NAMES = ["A", "B", SCRIPT, "D", "D"]


def pair(a: int, b: int, value: float, p: float) -> Comparison:
    ends = {"low": value - 0.01, "high": value + 0.01}
    difference = Difference(figure="mean ST", value=value, p=p / 9, p_corrected=p, **ends)
    mean = MeanComparison(task="nli", source=None, targets=("x",), difference=difference, ranked=True)
    return Comparison(
        a=IDS[a], b=IDS[b], data="d", subset="all", metric_version="1", seed=0, shifts=(), means=(mean,),
        only_a=(), only_b=(),
    )  # fmt: skip


def pairwise_table(found: Pairwise) -> Markup:
    return compare_page(Chooser(task="nli"), found)


@pytest.fixture
def found() -> Pairwise:
    """A beats B and the script; all others tie; the last shares no shift with A."""
    pairs = [pair(0, 1, 0.04, 0.001), pair(0, 2, 0.05, 0.04), pair(0, 3, 0.06, 0.2), pair(1, 2, 0.01, 0.05)]
    pairs += [
        pair(1, 3, 0.02, 0.9),
        pair(1, 4, 0.0, 1.0),
        pair(2, 3, 0.01, 1.0),
        pair(2, 4, 0.0, 1.0),
        pair(3, 4, 0.0, 1.0),
    ]
    sides = [
        ComparedEntry(identity, name, Path("p"), DataVersion("d"), "all")
        for identity, name in zip(IDS, NAMES, strict=True)
    ]
    both = {(each.a, each.b): each for one in pairs for each in (one, mirror_comparison(one))}
    return Pairwise(sides, [Estimate(value=each) for each in (0.8, 0.76, 0.75, 0.74, None)], both, "nli")


def test_the_test_decides_and_not_the_order(found: Pairwise, wording: SnapshotAssertion) -> None:
    drawn = pairwise_table(found)
    shown = Visible(drawn)
    assert shown.lines == wording
    assert shown.text.count("\N{ALMOST EQUAL TO}") == 2 * 7 + 1  # seven ties in both directions, and the key
    # Two pairs are told apart: both cells of each are coloured.
    assert drawn.count("--sb-part:") == 4
    assert shown.text.count("n/a") == 2 + 1  # no shared shift, and a score that there is not
    rows = re.findall(r"<tr>.*?</tr>", drawn[drawn.rindex("<table") :])[1:]
    counts = [tuple(re.findall(r'<td class="sb-num">(\d+)</td>', row)) for row in rows]
    assert counts == [("2", "1", "0"), ("0", "3", "1"), ("0", "3", "1"), ("0", "4", "0"), ("0", "3", "0")]


def test_pairs_that_cannot_be_compared_are_said_first(found: Pairwise, wording: SnapshotAssertion) -> None:
    few = {ids: each for ids, each in found.pairs.items() if IDS[4] not in ids and IDS[3] not in ids}
    shown = Visible(pairwise_table(dataclasses.replace(found, pairs=few)))
    nothing = Visible(pairwise_table(dataclasses.replace(found, pairs={})))
    assert "table" not in nothing.tags
    assert [line for line in shown.lines.splitlines() if "7 of 10" in line] + nothing.lines.splitlines() == wording


def test_every_cell_leads_to_its_pair_and_says_all_in_words(found: Pairwise, wording: SnapshotAssertion) -> None:
    drawn = pairwise_table(found)
    assert f'/compare?id={IDS[0]}&amp;id={IDS[1]}&amp;task=nli"' in drawn
    titles = [title for title in re.findall('title="([^"]*)"', drawn) if "points" in title]
    assert len(titles) == len(found.pairs)
    assert sorted(unescape(title) for title in titles if title.startswith("A ")) == wording


def test_names_are_text(found: Pairwise) -> None:
    assert SCRIPT not in pairwise_table(found)
    assert "script" not in Visible(pairwise_table(found)).tags


def test_groups_that_share_no_shift_stand_apart(found: Pairwise, wording: SnapshotAssertion) -> None:
    few = {ids: each for ids, each in found.pairs.items() if set(ids) <= set(IDS[:2]) or set(ids) <= set(IDS[2:4])}
    apart = dataclasses.replace(found, pairs=few)
    assert [group.members for group in apart.groups] == [[0, 1], [2, 3], [4]]
    drawn = pairwise_table(apart)
    assert [line for line in Visible(drawn).lines.splitlines() if "share" in line] == wording
    assert drawn.count('class="sb-cells"') == 2


def test_pills_take_an_entry_out_and_a_search_adds_one(found: Pairwise) -> None:
    chosen = [EntryOption(identity, name) for identity, name in zip(IDS, NAMES, strict=True)]
    drawn = compare_page(Chooser(chosen[:3], chosen, "nli", "D", chosen[3:]), None)
    assert f'href="/compare?id={IDS[0]}&amp;id={IDS[1]}&amp;task=nli" aria-label="Remove ' in drawn
    for other in IDS[3:]:
        assert f'href="/compare?id={IDS[0]}&amp;id={IDS[1]}&amp;id={IDS[2]}&amp;id={other}&amp;task=nli"' in drawn
    assert drawn.count('type="hidden" name="id"') == 3
    assert SCRIPT not in drawn
