"""What of scores on withheld labels is shown."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders.folder.reader import DatasetFolder
from leaderboard.scoring import disclosure
from leaderboard.scoring.disclosure import disclosed
from leaderboard.scoring.score import score_file
from leaderboard.scoring.shape import Scores
from tests.leaderboard.conftest import Filled
from tests.leaderboard.id_folder import id_predictions


def gold(folder: DatasetFolder) -> DatasetFolder:
    """The same folder, as if its labels were withheld."""
    return dataclasses.replace(folder, manifest=folder.manifest.model_copy(update={"label_key": "0" * 64}))


def with_small(scores: Scores, domain: str) -> Scores:
    """The same scores, as if a domain's test set had 10 texts and the others 500."""
    content = scores.model_dump()
    for task in content["tasks"]:
        for part in (*task["in_domain"], *task["shifts"]):
            part["n"] = 10 if part.get("target", part.get("domain")) == domain else 500
    return Scores.model_validate(content)


def floats(value: Any) -> Iterator[float]:
    if isinstance(value, float):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        yield from floats(part)


def test_scores_on_public_labels_are_shown_as_they_are(filled: Filled) -> None:
    scores = score_file(filled.files["good"], filled.folder, n_draws=0)
    assert disclosed(scores, filled.folder) is scores


def test_nothing_of_a_small_domain_is_shown(filled: Filled) -> None:
    domain = next(iter(filled.folder.task("nli").domains))
    scores = with_small(score_file(filled.files["good"], filled.folder), domain)
    (task,) = disclosed(scores, gold(filled.folder)).tasks
    for shift in task.shifts:
        hidden = domain in (shift.source, shift.target)
        assert (shift.st.value is None, shift.sd.value is None, shift.depth_f1 == {}) == (hidden, hidden, True)
    assert [part.score.value is None for part in task.in_domain] == [part.domain == domain for part in task.in_domain]
    # One of these may be the hidden one's.
    for name in ("highest_ss", "lowest_ss", "highest_st", "lowest_st", "worst_sd", "worst_td"):
        assert getattr(task.summary, name).value is None, name
    assert task.summary.worst_sd_split_half is None
    assert task.summary.mean_st.value == round(scores.tasks[0].summary.mean_st.value or 0, 3)
    assert all(value == round(value, disclosure.DECIMALS) for value in floats(task.model_dump()))


def test_extremes_are_shown_where_every_test_set_is_large(filled: Filled) -> None:
    scores = with_small(score_file(filled.files["good"], filled.folder), "no such domain")
    (task,) = disclosed(scores, gold(filled.folder)).tasks
    assert task.summary.worst_sd.value == round(scores.tasks[0].summary.worst_sd.value or 0, 3)


@pytest.mark.parametrize("domain", ["amazon", "sst"])
def test_an_ood_score_on_a_small_domain_follows_from_nothing(
    id_folder: DatasetFolder, tmp_path: Path, domain: str
) -> None:
    id_predictions(id_folder, "sa", "amazon").write_parquet(tmp_path / "p.parquet")
    scores = with_small(score_file(tmp_path / "p.parquet", id_folder), domain)
    (task,) = disclosed(scores, gold(id_folder)).tasks
    assert task.id_ood is not None
    assert (task.id_ood.id.value is None) == (domain == "amazon")
    shown = {name for name, score in task.id_ood.ood.items() if score.value is not None}
    assert shown == set(task.id_ood.ood) - {domain}
    # The mean and the drop with the other scores would give it away.
    assert (task.id_ood.mean_ood.value, task.id_ood.drop.value, task.id_ood.total) == (None, None, {})
    assert (task.summary.mean_ss.value, task.summary.mean_st.value, task.summary.worst_sd.value) == (None, None, None)
