"""The compare page: what it says, that names stay text, and what it shows where nothing can be compared."""

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from shiftbench.leaderboard.pages.compare_page import Compared, EntryOption, compare_page
from shiftbench.leaderboard.pages.shell import page
from shiftbench.leaderboard.store import Store
from shiftbench.scoring.comparing.entries import ComparedEntry, compare_with_first
from shiftbench.scoring.reports.compare_pictures import difference_bar, drop_dots
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.numbers import points
from tests.leaderboard.conftest import SCRIPT, Filled, Visible


def choices(filled: Filled) -> list[EntryOption]:
    return [EntryOption(entry.id, entry.card.name) for entry in filled.entries.values()]


def compared(filled: Filled, root: Path, *names: str) -> Compared:
    entries = [filled.entries[name] for name in names]
    sides = [
        ComparedEntry(entry.id, entry.card.name, filled.files[name], entry.card.version, entry.card.subset)
        for name, entry in zip(names, entries, strict=True)
    ]
    ids = frozenset(entry.id for entry in entries)
    pairs = compare_with_first(sides, filled.folder, Store(root), "nli")
    return Compared(sides, [filled.store.scores(entry, filled.folder) for entry in entries], pairs, "dr", "nli", ids)


def content(filled: Filled, found: Compared) -> Markup:
    return compare_page(choices(filled), [side.id for side in found.sides], found, task="nli")


def test_three_entries_side_by_side(filled: Filled, tmp_path: Path) -> None:
    found = compared(filled, tmp_path, "good", "poor", "script")
    shown = Visible(content(filled, found))
    assert "These trained models, nli: 'Good model' scores higher than 'Poor model' (mean ST, " in shown.text
    assert "claims about recipes need 5 runs (seeds) of every source in both entries; there are 1 and 1" in shown.text
    assert "more robust" not in shown.text
    assert "alone, 1.0000 corrected, undecided" in shown.text
    assert "shiftbench compare " in shown.text
    assert shown.tags.count("table") == 4  # the means, one for each of two pairs, and the flips
    # What answers stands first: the means, then a sentence; the rest is folded.
    assert shown.tags.index("table") < shown.tags.index("details")
    assert shown.tags.count("details") == 4 + 3
    # One bar for each difference there is, and three pictures with their legends.
    assert shown.tags.count("figure") == 3
    assert shown.tags.count("rect") == 2 * 12 * 3


def test_who_is_better_is_said_in_words(filled: Filled, tmp_path: Path) -> None:
    found = compared(filled, tmp_path, "good", "poor")
    first = found.pairs[0].shifts[0]
    # Sure that A has the higher score, and that B has the lower drop.
    sure = {"value": 0.2, "p_corrected": 0.00001, "p": 0.00001, "at_floor": None}
    differences = tuple(each.model_copy(update=sure) for each in first.differences)
    shift = first.model_copy(update={"differences": differences})
    pair = found.pairs[0].model_copy(update={"shifts": (shift,), "means": ()})
    shown = Visible(content(filled, dataclasses.replace(found, pairs=[pair])))
    assert shown.text.count("p < 0.0001 alone, < 0.0001 corrected, Good model better") == 1
    assert shown.text.count("p < 0.0001 alone, < 0.0001 corrected, Poor model better") == 2
    assert "TD is lower for 'Good model' on 0 and for 'Poor model' on 1 of 1" in shown.text


def test_a_zero_shot_entry_is_compared_by_its_score_under_shift(filled: Filled, tmp_path: Path) -> None:
    found = compared(filled, tmp_path, "good", "poor", "zero-shot")
    drawn = content(filled, found)
    shown = Visible(drawn)
    assert drawn.count(">not applicable</td>") == 2 * 12  # the drops of each shift
    assert "'Zero-shot model' was trained on none of these domains" in shown.text
    row = next(
        row for row in re.findall(r"<tr>.*?</tr>", drawn) if "mean ST" in row and "<td>Zero-shot model</td>" in row
    )
    means = [scores.tasks[0].summary.mean_st.value for scores in found.scores]
    assert all(points(means[place]) in row for place in (0, 2))


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
    assert not re.search(r'(href|src|action)="(?!/|#|data:image/svg)', whole)


def test_the_form_keeps_what_was_chosen(filled: Filled, tmp_path: Path) -> None:
    found = compared(filled, tmp_path, "good", "poor")
    selected = re.findall(r'<option value="(\w+)" selected="">', content(filled, found))
    assert selected == [side.id for side in found.sides]
    assert '<input type="hidden" name="task" value="nli">' in content(filled, found)


@pytest.mark.parametrize(
    ("n_choices", "words"),
    [(0, "No entries yet"), (1, "One entry so far"), (2, "Nothing chosen")],
)
def test_empty_states(filled: Filled, n_choices: int, words: str) -> None:
    shown = Visible(compare_page(choices(filled)[:n_choices], [], None))
    assert words in shown.text
    assert ("form" in shown.tags) == (n_choices > 1)


def test_what_cannot_be_compared_is_told_in_a_box(filled: Filled) -> None:
    problem = "a and b: the entries are of different data"
    shown = Visible(compare_page(choices(filled), ["x"], None, problems=[problem, SCRIPT]))
    assert "These entries cannot be compared" in shown.text
    assert problem in shown.text
    assert "script" not in shown.tags


@pytest.mark.parametrize(("value", "start"), [(0.2, 48.0), (-0.2, 24.0), (0.0, 48.0)])
def test_a_bar_goes_from_the_middle_to_its_side(value: float, start: float) -> None:
    assert f'<rect x="{start:.1f}" y="2" width="{abs(value) * 120:.1f}"' in difference_bar(value, 0.4, "a")


@pytest.mark.parametrize("values", [[[0.5, None, 0.7]], [[0.5, 0.5, 0.5], [None, None, None]], [[-0.2, 0.0, 1.0]] * 4])
def test_pictures_leave_out_what_is_not_there(values: Sequence[Sequence[float | None]]) -> None:
    names = ["A", "B", "C", "D"][: len(values)]
    there = sum(value is not None for each in values for value in each)
    drawn = drop_dots("TD", names, ["x", "y", "z"], values)
    assert drawn is not None
    assert drawn.count("<title>") == there + 1  # that of the picture
    assert "nan" not in drawn
    assert drop_dots("TD", names, [], [[]] * len(values)) is None
