"""The compare page: what it says, that names stay text, and what it shows where nothing can be compared."""

import dataclasses
import re
import xml.etree.ElementTree as ET
from pathlib import Path

from syrupy.assertion import SnapshotAssertion

from shiftbench.leaderboard.pages.compare_page import Chooser, Compared, EntryOption, compare_page
from shiftbench.leaderboard.pages.shell import page
from shiftbench.leaderboard.store import Store
from shiftbench.scoring.comparing.entries import ComparedEntry, compare_with_first
from shiftbench.scoring.comparing.shape import winner
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.numbers import points
from tests.leaderboard.conftest import SCRIPT, Filled, Visible


def chooser(filled: Filled, *ids: str) -> Chooser:
    options = [EntryOption(entry.id, entry.card.name) for entry in filled.entries.values()]
    return Chooser([each for each in options if each.id in ids], options, "nli")


def compared(filled: Filled, root: Path, *names: str) -> Compared:
    entries = [filled.entries[name] for name in names]
    sides = [
        ComparedEntry(entry.id, entry.card.name, filled.files[name], entry.card.version, entry.card.subset)
        for name, entry in zip(names, entries, strict=True)
    ]
    ids = frozenset(entry.id for entry in entries)
    pairs = compare_with_first(sides, filled.folder, Store(root), "nli")
    return Compared(
        sides, [filled.store.scores(entry, filled.folder) for entry in entries], pairs, "dr", "nli", ids, "2026"
    )


def content(filled: Filled, found: Compared) -> Markup:
    return compare_page(chooser(filled, *(side.id for side in found.sides)), found, base="https://here")


def test_three_entries_side_by_side(filled: Filled, tmp_path: Path, wording: SnapshotAssertion) -> None:
    found = compared(filled, tmp_path, "good", "poor", "script")
    drawn = content(filled, found)
    shown = Visible(drawn)
    messages = shown.lines.partition("Every shift")[0]
    assert messages == wording
    assert shown.tags.count("table") == 3  # the means, and the shifts of each of two pairs
    # What answers stands first: a sentence, the differences by target, the means; every shift is folded.
    assert shown.tags.index("svg") < shown.tags.index("table") < drawn.count("<", 0, drawn.index('id="shifts-1"'))
    assert shown.tags.count("details") == 2 + 2 + 3  # shifts, to share, tables to copy
    assert shown.tags.count("figure") == 2
    assert not re.search(r"<(h[23]|figure)(?![^>]* id=)", drawn)  # every heading and every picture has an address


def test_the_forest_has_each_shift_by_target_its_interval_and_the_mean(filled: Filled, tmp_path: Path) -> None:
    (pair,) = compared(filled, tmp_path, "good", "poor").page.pairs
    drawn = ET.fromstring(str(pair.forest.drawn))
    headings = [each.text for each in drawn.iter("text") if "sb-quadrant" in each.get("class", "")]
    assert headings == list(dict.fromkeys(shift.target for shift in pair.pair.shifts))
    told = [row for row in drawn.iter("g") if row.find("title") is not None]
    marks = [each for row in told for each in row if each.tag in ("circle", "path")]
    assert len(marks) == 12 + 1
    n_intervals = sum(shift.differences[0].low is not None for shift in pair.pair.shifts) + 1
    bars = [each for each in drawn.iter("line") if "sb-whisker" in each.get("class", "")]
    assert len(bars) == n_intervals
    (zero,) = [each for each in drawn.iter("line") if each.get("class") == "sb-zero"]
    mean = pair.ranked
    assert mean is not None
    assert mean.difference.value is not None
    assert mean.difference.value > 0
    assert float(marks[-1].get("transform", "").split("(")[1].split()[0]) > float(zero.get("x1", ""))
    decided = [shift for shift in pair.pair.shifts if winner(shift.differences[0])]
    assert sum("sb-filled" in each.get("class", "") for each in marks) == len(decided) + 1


def test_a_citation_has_at_most_35_words_and_what_one_must_know(
    filled: Filled, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    (pair,) = compared(filled, tmp_path, "good", "poor").page.pairs
    names = ("A", "B"), ("A long name of a model " * 3, "another long name of one " * 4)
    said = [dataclasses.replace(pair, names=each).citation for each in names]
    assert max(len(each.split()) for each in said) <= 35
    assert said == wording


def test_who_is_better_is_said_in_words(filled: Filled, tmp_path: Path) -> None:
    found = compared(filled, tmp_path, "good", "poor")
    first = found.pairs[0].shifts[0]
    # Sure that A has the higher score, and that B has the lower drop.
    sure = {"value": 0.2, "p_corrected": 0.00001, "p": 0.00001, "at_floor": None}
    differences = tuple(each.model_copy(update=sure) for each in first.differences)
    shift = first.model_copy(update={"differences": differences})
    pair = found.pairs[0].model_copy(update={"shifts": (shift,), "means": ()})
    shown = Visible(content(filled, dataclasses.replace(found, pairs=[pair])))
    assert [shown.text.count(f"{filled.card(name).name} better") for name in ("good", "poor")] == [1, 2]


def test_a_zero_shot_entry_is_compared_by_its_score_under_shift(filled: Filled, tmp_path: Path) -> None:
    found = compared(filled, tmp_path, "good", "poor", "zero-shot")
    drawn = content(filled, found)
    shown = Visible(drawn)
    assert drawn.count("applicable</td>") == 2 * 12  # the drops of each shift
    means = [scores.tasks[0].summary.mean_st.value for scores in found.scores]
    assert all(points(mean) in shown.text for mean in means)


def test_files_are_offered(filled: Filled, tmp_path: Path) -> None:
    found = compared(filled, tmp_path, "good", "poor")
    files = [f"/predictions.parquet?id={side.id}" for side in found.sides]
    assert set(files) <= set(Visible(content(filled, found)).links)


def test_names_are_text_and_nothing_runs(filled: Filled, tmp_path: Path) -> None:
    whole = page("Compare", content(filled, compared(filled, tmp_path, "script", "poor")), active="compare")
    assert SCRIPT not in whole
    shown = Visible(whole)
    assert shown.tags.count("script") == 1  # the site's own
    assert SCRIPT in shown.text
    assert not re.search(r'<[a-z]+ [^<>]*(href|src|action)="(?!/|#|data:image/svg)', whole)


def test_empty_states(filled: Filled, wording: SnapshotAssertion) -> None:
    pages = [Visible(compare_page(Chooser(choices=chooser(filled).choices[:n]), None)) for n in (0, 1, 2)]
    assert [page.lines for page in pages] == wording
    assert ["form" in page.tags for page in pages] == [False, False, True]


def test_what_cannot_be_compared_is_told_in_a_box(filled: Filled) -> None:
    problem = "a and b: the entries are on different data"
    shown = Visible(compare_page(chooser(filled), None, problems=[problem, SCRIPT]))
    assert problem in shown.text
    assert "script" not in shown.tags
