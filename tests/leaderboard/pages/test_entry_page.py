"""An entry's page: what it says of real scores in every shape, and that texts of users stay texts."""

import dataclasses
import re
import time
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.pages.entry_page import TABS, EntryPage, EntryQuery, entry_html, entry_page, public_years
from shiftbench.leaderboard.store import Entry
from shiftbench.scoring.reports.numbers import drop_points, points
from shiftbench.scoring.reports.task_page import AboveLine
from shiftbench.scoring.scores.controls import unseen_drops
from shiftbench.scoring.scores.examples import wrong_examples
from shiftbench.scoring.scores.floors import is_drop_at_floor
from shiftbench.scoring.scores.score import Scored, checked_predictions, score_predictions
from shiftbench.scoring.scores.shape import Estimate, Scores
from shiftbench.validation.cards import Card
from tests.leaderboard.conftest import SCRIPT, Filled, Visible
from tests.leaderboard.id_folder import id_predictions
from tests.leaderboard.shapes import build_dealt_folder, labels_with_errors

DOMAINS = ["books", "films", "games"]
NOT_RESOLVED = "not resolved"
IDENTITY = "0123456789abcdef"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, word_encoder: Any) -> DatasetFolder:
    return build_dealt_folder(tmp_path_factory.mktemp("dealt") / "folder", DOMAINS, word_encoder)


@pytest.fixture(scope="module")
def predictions(folder: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("p") / "p.parquet"
    frames = [
        labels_with_errors(folder, "moods", DOMAINS, 0.3),
        labels_with_errors(folder, "moods.placebo", list(folder.task("moods.placebo").domains), 0.3),
    ]
    pl.concat(frames).write_parquet(path)
    return path


@pytest.fixture(scope="module")
def scored(folder: DatasetFolder, predictions: Path) -> Scored:
    return score(folder, predictions)


def score(folder: DatasetFolder, path: Path, reference: Path | None = None) -> Scored:
    pinned = checked_predictions(reference, folder) if reference else None
    return score_predictions(checked_predictions(path, folder), folder, reference=pinned)


def entry(**facts: Any) -> Entry:
    card = Card(**{"name": "Model", "paradigm": "fine-tuned", "data": "0" * 64, **facts})
    return Entry(IDENTITY, "ada", "2026-05-01T10:00:00+00:00", card)


def page(scores: Scores, **options: Any) -> str:
    """Return all tabs of the page, one after the other."""
    item, task, more = options.pop("entry", entry()), options.pop("task", ""), options.pop("more", {})
    shown = ""
    for tab in TABS:
        found = entry_page(EntryQuery(IDENTITY, task, tab.lower()), item, scores, **options)
        assert found.it is not None
        shown += entry_html(dataclasses.replace(found, it=dataclasses.replace(found.it, **more)))
    return shown


def seen(scores: Scores, **options: Any) -> Visible:
    return Visible(page(scores, **options))


def test_the_page_says_who_what_and_when_and_links_on(folder: DatasetFolder, scored: Scored) -> None:
    shown = seen(scored.scores, folder=folder)
    for words in ("Model", "submitted by ada on 2026-05-01", "dealt/moods", "Scores as JSON"):
        assert words in shown.text
    assert f"/entry?id={IDENTITY}&task=moods" in shown.links
    assert f"/compare?id={IDENTITY}&task=moods" in shown.links
    assert f"/scores.json?id={IDENTITY}" in shown.links


def test_headline_stands_with_intervals_and_placebo_values(scored: Scored, wording: SnapshotAssertion) -> None:
    moods, placebo = scored.scores.tasks
    text = seen(scored.scores).text
    for drop in ("average_drop", "worst_sd", "worst_td"):
        assert f"placebo {drop_points(getattr(placebo.summary, drop).value)}" in text
    assert moods.summary.depth_slope is not None
    assert drop_points(moods.summary.depth_slope.value) in text
    assert Visible(entry_html(entry_page(EntryQuery(IDENTITY), entry(), scored.scores))).lines == wording


def test_the_line_of_other_entries_stands_on_the_page(folder: DatasetFolder, scored: Scored) -> None:
    found = AboveLine(Estimate(value=0.02, low=-0.01, high=0.05), expected=0.6, n_others=4, is_extended=False)
    text = seen(scored.scores, folder=folder, more={"above_line": found}).text
    figure = "+2.0 [\N{MINUS SIGN}1.0, 5.0]"
    assert figure in text
    assert figure not in seen(scored.scores, folder=folder).text


def test_five_seeds_have_total_intervals(folder: DatasetFolder, tmp_path: Path) -> None:
    labels_with_errors(folder, "moods", DOMAINS, 0.3, range(5)).write_parquet(tmp_path / "p.parquet")
    text = seen(score(folder, tmp_path / "p.parquet").scores, folder=folder).text
    assert text.count("training runs [") == 3  # in the headline
    assert "moods.placebo" in text


def test_placebo_tasks_are_no_choices_of_their_own(filled: Filled, scored: Scored) -> None:
    assert 'aria-label="Tasks"' not in page(scored.scores)
    both = scored.scores.model_copy(
        update={"tasks": (*scored.scores.tasks, scored.scores.tasks[0].model_copy(update={"task": "other"}))}
    )
    shown = seen(both, task="other")
    assert f"/entry?id={IDENTITY}&task=moods" in shown.links
    assert f"/entry?id={IDENTITY}&task=moods.placebo" not in shown.links
    assert "dealt/other" in shown.text
    assert "dealt/moods" in seen(both, task="unknown").text


def test_the_smallest_detectable_drop_stands_beside_every_drop(scored: Scored) -> None:
    task = scored.scores.tasks[0]
    text = seen(scored.scores).text
    assert f"detectable {points(task.summary.detectable['average_drop'].models)}" in text
    for shift in task.shifts:
        for name in ("sd", "td"):
            found = shift.detectable[name]
            assert f"detectable {points(found.models)}" in text
    assert "with 80% power" in text


def test_every_shift_stands_in_the_table(scored: Scored) -> None:
    task = scored.scores.tasks[0]
    table = page(scored.scores).split("Every shift</a></h2>")[1]
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</th><th scope=\"row\">(.*?)</th>(.*?)</tr>", table)
    assert [(source, target) for source, target, _ in rows] == [(s.source, s.target) for s in task.shifts]
    for (_, _, cells), shift in zip(rows, task.shifts, strict=True):
        assert drop_points(shift.td.value) in cells
        if not shift.at_floor:
            assert (NOT_RESOLVED in cells) != shift.resolved
        assert f"{shift.n:,}" in cells


def test_a_reference_td_is_marked_as_such(folder: DatasetFolder, predictions: Path, tmp_path: Path) -> None:
    labels_with_errors(folder, "moods", ["books"], 0.3).write_parquet(tmp_path / "p.parquet")
    scores = score(folder, tmp_path / "p.parquet", reference=predictions).scores
    assert page(scores).count(">reference ") == 2


def test_exposure_of_public_labels(folder: DatasetFolder, scored: Scored) -> None:
    assert public_years(folder, "moods") == (2014, 2014)
    text = seen(scored.scores, folder=folder).text
    assert "since 2014, 12 " in text


def test_examples_of_the_worst_shifts(folder: DatasetFolder, scored: Scored, predictions: Path) -> None:
    give = partial(wrong_examples, predictions, folder)
    shown = seen(scored.scores, folder=folder, examples=give)
    shifts = scored.scores.tasks[0].shifts
    above = [shift for shift in shifts if not is_drop_at_floor(shift, "sd")]
    assert 0 < len(above) < len(shifts)
    worst = max(above, key=lambda shift: shift.sd.value or -1)
    example = give("moods", worst.source, worst.target)[0]
    assert example.id in shown.text
    assert dict(example.texts)["text"] in shown.text
    gold = DatasetFolder(folder.path, folder.manifest.model_copy(update={"label_key": "0" * 64}))
    hidden = seen(scored.scores, folder=gold, examples=give).text
    assert example.id not in hidden


def test_domains_not_in_pretraining(folder: DatasetFolder, scored: Scored) -> None:
    card = entry(pretraining_domains=("books",)).card
    unseen = unseen_drops(scored.table, card, folder, scored.scores.tasks[0])
    text = seen(scored.scores, more={"unseen": unseen}).text
    assert "2 of 6" in text
    assert "pretraining" not in seen(scored.scores).text


@pytest.mark.parametrize("name", ["good", "partial", "zero-shot"])
def test_entries_of_any_shape_have_a_page(filled: Filled, name: str) -> None:
    item = filled.entries[name]
    scores = filled.store.scores(item, filled.folder)
    shown = seen(
        scores, entry=item, folder=filled.folder, examples=partial(wrong_examples, filled.files[name], filled.folder)
    )
    assert "Synthetic data." in shown.text
    assert ("n/a" in shown.text) == (name != "good")
    assert ("Flips" in shown.text) == (name != "zero-shot")


def test_a_page_of_one_training_domain(id_folder: DatasetFolder, tmp_path: Path) -> None:
    frames = [id_predictions(id_folder, "sa", "amazon"), id_predictions(id_folder, "ner", "few_nerd")]
    pl.concat(frames).write_parquet(tmp_path / "p.parquet")
    scores = score(id_folder, tmp_path / "p.parquet").scores
    text = seen(scores, folder=id_folder, task="ner").text
    assert text.count("4 types") == 5  # the ID score, three OOD ones and their mean
    assert "(SD)" in text
    assert "(TD)" not in text  # no model was trained on a target
    give = partial(wrong_examples, tmp_path / "p.parquet", id_folder)
    assert "person" in seen(scores, folder=id_folder, task="ner", examples=give).text


def test_an_entry_without_scores_says_why(folder: DatasetFolder) -> None:
    page = EntryPage(EntryQuery(IDENTITY), entry(), None, [f"made for another version {SCRIPT}"])
    shown = Visible(entry_html(page))
    assert SCRIPT in shown.text
    assert "script" not in shown.tags
    assert IDENTITY in Visible(entry_html(dataclasses.replace(page, entry=None))).text


def test_texts_of_a_card_are_inert_in_every_field(folder: DatasetFolder, scored: Scored) -> None:
    texts = {name: f'{SCRIPT}"><img src=x onerror=alert(1)>{name}' for name in (
        "name", "base_model", "family", "extra_data", "command", "contact", "licence")}  # fmt: skip
    card = entry(**texts, versions={SCRIPT: SCRIPT}, pretraining_domains=(SCRIPT,), url="https://example.org/a?b=1&c=2")
    markup = page(scored.scores, entry=Entry(IDENTITY, SCRIPT, card.submitted_at, card.card), folder=folder)
    shown = Visible(markup)  # which refuses on... attributes
    assert not {"script", "img"} & set(shown.tags)
    for text in texts.values():
        assert text in shown.text
    assert "https://example.org/a?b=1&c=2" in shown.links
    evil = card.card.model_copy(update={"url": "javascript:alert(1)"})
    links = seen(scored.scores, entry=Entry(IDENTITY, "a", card.submitted_at, evil)).links
    assert not [url for url in links if url.startswith("javascript")]


def test_example_texts_are_inert(folder: DatasetFolder, scored: Scored, predictions: Path) -> None:
    def evil(task: str, source: str, target: str, n: int) -> Any:
        found = wrong_examples(predictions, folder, task, source, target, n=1)[0]
        return [type(found)(found.id, (("text", SCRIPT),), SCRIPT, SCRIPT, 0.0)]

    shown = seen(scored.scores, folder=folder, examples=evil)
    assert "script" not in shown.tags
    assert shown.text.count(SCRIPT) == 6, "text, answer and prediction of one shift, on two tabs"


def test_a_page_is_drawn_quickly(tmp_path: Path, word_encoder: Any) -> None:
    n_domains = 10
    names = [f"domain-{number}" for number in range(n_domains)]
    wide = build_dealt_folder(tmp_path / "wide", names, word_encoder, n_test=40)
    labels_with_errors(wide, "moods", names, 0.3).write_parquet(tmp_path / "p.parquet")
    found = score(wide, tmp_path / "p.parquet")
    give = partial(wrong_examples, tmp_path / "p.parquet", wide)
    seconds = []
    for _ in range(4):
        start = time.process_time()
        text = page(found.scores, folder=wide, examples=give)
        seconds.append(time.process_time() - start)
    first, warm = 1000 * seconds[0], 1000 * min(seconds[1:])
    print(f"{n_domains} x {n_domains}: first {first:.0f} ms, then {warm:.0f} ms, {len(text):,} bytes")
    assert min(seconds[1:]) < 0.4
