"""ID and OOD scores of tasks with one training domain, against direct counts over the same rows."""

import io
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console
from seqeval.metrics import f1_score
from seqeval.scheme import IOB2
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.tagging import RARER_TO_MISCELLANEOUS
from shiftbench.scoring.reports.terminal import score_lines
from shiftbench.scoring.scores.score import checked_predictions, score_file
from shiftbench.scoring.scores.shape import IdOod, Scores, TaskScores
from shiftbench.validation.plain_console import print_parts
from shiftbench.validation.report import InvalidInput
from tests.leaderboard.id_folder import id_predictions

OOD = ("dynasent", "semeval", "sst")


def scored(folder: DatasetFolder, tmp_path: Path, *frames: pl.DataFrame) -> Scores:
    pl.concat(frames).write_parquet(tmp_path / "preds.parquet")
    return score_file(tmp_path / "preds.parquet", folder)


def task(scores: Scores, name: str = "sa") -> TaskScores:
    return next(item for item in scores.tasks if item.task == name)


def id_ood(scores: Scores, name: str = "sa") -> IdOod:
    found = task(scores, name).id_ood
    assert found is not None
    return found


def said(scores: Scores, name: str = "sa") -> list[tuple[str | None, str | None, str]]:
    return [(item.source, item.target, item.what) for item in scores.missing if item.task == name]


def plain_accuracy(folder: DatasetFolder, frame: pl.DataFrame, target: str, name: str = "sa") -> float:
    """Average over seeds the share of right labels, counted one by one."""
    labels = folder.task(name).labels
    gold = {row["id"]: labels[row["label"]] for row in folder.split(name, target, "test").iter_rows(named=True)}
    shares = []
    for seed in sorted(set(frame["seed"])):
        rows = [row for row in frame.filter(seed=seed).iter_rows(named=True) if row["id"] in gold]
        shares.append(sum(row["prediction"] == gold[row["id"]] for row in rows) / len(gold))
    return sum(shares) / len(shares)


def test_id_ood_their_mean_and_the_drop(id_folder: DatasetFolder, tmp_path: Path) -> None:
    frame = id_predictions(id_folder, "sa", "amazon", seeds=(0, 1))
    scores = scored(id_folder, tmp_path, frame)
    found = id_ood(scores)
    own = plain_accuracy(id_folder, frame, "amazon")
    away = {target: plain_accuracy(id_folder, frame, target) for target in OOD}
    mean = sum(away.values()) / 3
    assert (found.id_domain, found.source, found.complete) == ("amazon", "amazon", True)
    assert found.id.value == pytest.approx(own, abs=1e-12)
    assert {target: item.value for target, item in found.ood.items()} == pytest.approx(away, abs=1e-12)
    assert found.mean_ood.value == pytest.approx(mean, abs=1e-12)
    assert found.drop.value == pytest.approx(own - mean, abs=1e-12)
    for item in (found.id, *found.ood.values(), found.mean_ood, found.drop):
        assert item.low is not None
        assert item.high is not None
        assert item.low < item.value < item.high  # type: ignore[operator]
    # A mean over three test sets is more precise than each of them; a drop is less precise than either score.
    width = {name: item.high - item.low for name, item in {**found.ood, "mean": found.mean_ood}.items()}  # type: ignore[operator]
    assert width["mean"] < min(width[target] for target in OOD)
    assert found.drop.high - found.drop.low > width["mean"]  # type: ignore[operator]
    assert found.total == {}
    assert found.four_types is None


def test_the_summary_is_over_the_shifts_from_the_id_domain(id_folder: DatasetFolder, tmp_path: Path) -> None:
    frame = id_predictions(id_folder, "sa", "amazon")
    scores = scored(id_folder, tmp_path, frame)
    found, summary = id_ood(scores), task(scores).summary
    assert (summary.basis, summary.complete, summary.n_shifts) == ("id-ood", True, 3)
    assert (summary.mean_ss, summary.mean_st, summary.average_drop) == (found.id, found.mean_ood, found.drop)
    drops = [found.id.value - item.value for item in found.ood.values()]  # type: ignore[operator]
    assert summary.worst_sd.value == pytest.approx(max(drops), abs=1e-12)
    assert summary.mean_sd.value == pytest.approx(sum(drops) / 3, abs=1e-12)
    assert summary.mean_sd == summary.average_drop  # equal values, so one interval and one smallest drop
    assert summary.detectable["mean_sd"] == summary.detectable["average_drop"] == found.detectable["drop"]
    assert summary.highest_st.value == max(item.value for item in found.ood.values())  # type: ignore[type-var]
    grid_only = ("sd_std", "td_std", "average_worst_sd", "average_worst_td", "highest_ss", "lowest_ss")
    assert all(getattr(summary, name).value is None for name in grid_only)
    assert (summary.home_advantage, summary.spearman_st_ss, summary.r2_idd_sd) == (None, None, None)
    assert (summary.mean_td.value, summary.worst_td.value) == (None, None)
    assert set(summary.depth_f1) == {"0", "25", "50", "75", "90"}
    # TT is listed once, and no OOD domain is required as a source.
    what = "no TT, so no TD, on dynasent, semeval, sst: no predictions of a model trained there (sst: no train split)"
    assert said(scores) == [(None, None, what)]


def test_models_of_ood_domains_give_tt_and_are_averaged_with_nothing(
    id_folder: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    frame = id_predictions(id_folder, "sa", "amazon")
    at_home = [id_predictions(id_folder, "sa", source, targets=[source]) for source in ("dynasent", "semeval")]
    zero_shot = id_predictions(id_folder, "sa", "none", errors=0.4)
    alone, more = scored(id_folder, tmp_path, frame), scored(id_folder, tmp_path, frame, *at_home, zero_shot)
    assert id_ood(more) == id_ood(alone)
    summary = task(more).summary
    assert (summary.n_shifts, summary.mean_st, summary.worst_sd) == (3, *_of(alone, "mean_st", "worst_sd"))
    td = [
        plain_accuracy(id_folder, own, target) - plain_accuracy(id_folder, frame, target)
        for own, target in zip(at_home, ("dynasent", "semeval"), strict=True)
    ]
    assert summary.mean_td.value == pytest.approx(sum(td) / 2, abs=1e-12)
    assert summary.worst_td.value == pytest.approx(max(td), abs=1e-12)
    assert summary.unparsed == 0
    assert said(more) == wording
    # Candidates are scored as shifts, as before.
    zero = [shift for shift in task(more).shifts if shift.source == "none"]
    assert [shift.target for shift in zero] == sorted(("amazon", *OOD))


def _of(scores: Scores, *names: str) -> list[object]:
    return [getattr(task(scores).summary, name) for name in names]


def test_a_missing_ood_domain_is_named_and_leaves_the_drop_open(id_folder: DatasetFolder, tmp_path: Path) -> None:
    frame = id_predictions(id_folder, "sa", "amazon", targets=("amazon", "dynasent", "sst"))
    scores = scored(id_folder, tmp_path, frame)
    found = id_ood(scores)
    two = (plain_accuracy(id_folder, frame, "dynasent") + plain_accuracy(id_folder, frame, "sst")) / 2
    assert not found.complete
    assert not task(scores).summary.complete
    assert found.mean_ood.value == pytest.approx(two, abs=1e-12)
    assert found.drop.value is None
    assert ("amazon", "semeval") in [(source, target) for source, target, _ in said(scores)]


def test_without_the_id_test_there_is_no_drop(
    id_folder: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    scores = scored(id_folder, tmp_path, id_predictions(id_folder, "sa", "amazon", targets=OOD))
    found = id_ood(scores)
    assert (found.id.value, found.drop.value, found.complete) == (None, None, False)
    assert found.mean_ood.value is not None
    assert said(scores) == wording


@pytest.mark.parametrize(("source", "basis"), [("none", "zero-shot"), ("elsewhere", "elsewhere")])
def test_models_of_no_domain_have_scores_and_no_drop(
    id_folder: DatasetFolder, tmp_path: Path, source: str, basis: str
) -> None:
    frame = id_predictions(id_folder, "sa", source)
    scores = scored(id_folder, tmp_path, frame)
    found, summary = id_ood(scores), task(scores).summary
    assert (found.source, found.complete, found.drop.value) == (source, True, None)
    assert found.id.value == pytest.approx(plain_accuracy(id_folder, frame, "amazon"), abs=1e-12)
    assert found.mean_ood.value == pytest.approx(
        sum(plain_accuracy(id_folder, frame, target) for target in OOD) / 3, abs=1e-12
    )
    assert (summary.basis, summary.n_shifts, summary.complete) == (basis, 3, True)
    assert (summary.mean_ss.value, summary.average_drop.value) == (None, None)
    assert summary.mean_st == found.mean_ood
    assert said(scores) == []


def test_a_joined_source_with_the_id_domain_stands_in(id_folder: DatasetFolder, tmp_path: Path) -> None:
    frame = id_predictions(id_folder, "sa", "amazon+dynasent")
    found = id_ood(scored(id_folder, tmp_path, frame))
    assert (found.source, found.complete, list(found.ood)) == ("amazon+dynasent", False, ["semeval", "sst"])
    mean = sum(plain_accuracy(id_folder, frame, target) for target in ("semeval", "sst")) / 2
    assert found.drop.value == pytest.approx(plain_accuracy(id_folder, frame, "amazon") - mean, abs=1e-12)


def test_models_of_ood_domains_alone_have_no_id_figures(
    id_folder: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    scores = scored(id_folder, tmp_path, id_predictions(id_folder, "sa", "semeval"))
    summary = task(scores).summary
    assert task(scores).id_ood is None
    assert (summary.basis, summary.n_shifts, summary.complete, summary.mean_st.value) == ("id-ood", 0, False, None)
    assert said(scores) == wording


def test_five_runs_give_total_intervals(id_folder: DatasetFolder, tmp_path: Path) -> None:
    frame = id_predictions(id_folder, "sa", "amazon", seeds=range(5))
    scores = scored(id_folder, tmp_path, frame)
    found = id_ood(scores)
    assert set(found.total) == {"id", "mean_ood", "drop", *(f"ood.{target}" for target in OOD)}
    for name, item in (("id", found.id), ("mean_ood", found.mean_ood), ("drop", found.drop)):
        assert found.total[name].low <= item.value <= found.total[name].high  # type: ignore[operator]
        assert found.total[name].high - found.total[name].low > 0.9 * (item.high - item.low)  # type: ignore[operator]
    total = task(scores).summary.total
    assert total == {
        "mean_ss": found.total["id"],
        "mean_st": found.total["mean_ood"],
        "average_drop": found.total["drop"],
        "mean_sd": found.total["drop"],
    }


def test_four_types_against_seqeval(id_folder: DatasetFolder, tmp_path: Path) -> None:
    frame = id_predictions(id_folder, "ner", "few_nerd", errors=0.4)
    found = id_ood(scored(id_folder, tmp_path, frame), "ner")
    labels = id_folder.task("ner").labels

    def plain(target: str, fold: dict[str, str]) -> float:
        def folded(tag: str) -> str:
            mark, _, name = tag.partition("-")
            return f"{mark}-{fold.get(name, name)}" if name else tag

        rows = id_folder.split("ner", target, "test").join(frame, on="id", maintain_order="left")
        gold = [[folded(labels[code]) for code in tags] for tags in rows["tags"]]
        predicted = [[folded(tag) for tag in text.split(" ")] for text in rows["prediction"]]
        return float(f1_score(gold, predicted, average="micro", mode="strict", scheme=IOB2))

    assert found.four_types is not None
    ood = ("conll", "wnut", "e_ner")
    four = {target: plain(target, dict(RARER_TO_MISCELLANEOUS)) for target in ("few_nerd", *ood)}
    eight = {target: plain(target, {}) for target in ("few_nerd", *ood)}
    assert found.id.value == pytest.approx(eight["few_nerd"], abs=1e-12)
    assert found.four_types.id == pytest.approx(four["few_nerd"], abs=1e-12)
    assert found.four_types.ood == pytest.approx({target: four[target] for target in ood}, abs=1e-12)
    assert found.four_types.mean_ood == pytest.approx(sum(four[target] for target in ood) / 3, abs=1e-12)
    assert found.four_types.mean_ood > found.mean_ood.value  # type: ignore[operator]


# Candidates


def test_candidates_take_models_of_the_main_task(
    id_folder: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    main = id_predictions(id_folder, "nli", "mnli")
    frame = id_predictions(id_folder, "nli_candidates", "mnli")
    scores = scored(id_folder, tmp_path, main, frame)
    tried = task(scores, "nli_candidates")
    assert [(shift.source, shift.target) for shift in tried.shifts] == [("mnli", "cb"), ("mnli", "scitail")]
    for shift in tried.shifts:
        expected = plain_accuracy(id_folder, frame, shift.target, "nli_candidates")
        assert shift.st.value == pytest.approx(expected, abs=1e-12)
        assert (shift.ss.value, shift.sd.value, shift.scenario) == (None, None, "Unknown")
    summary = tried.summary
    assert (summary.basis, summary.complete, summary.n_shifts) == ("id-ood", True, 2)
    assert summary.mean_st.value == pytest.approx(
        sum(shift.st.value for shift in tried.shifts) / 2,  # type: ignore[misc]
        abs=1e-12,
    )
    assert (summary.mean_ss.value, summary.average_drop.value, tried.id_ood) == (None, None, None)
    assert said(scores, "nli_candidates") == wording


def test_five_runs_on_candidates_give_a_total_interval(id_folder: DatasetFolder, tmp_path: Path) -> None:
    scores = scored(id_folder, tmp_path, id_predictions(id_folder, "nli_candidates", "mnli", seeds=range(5)))
    summary = task(scores, "nli_candidates").summary
    assert list(summary.total) == ["mean_st"]
    assert summary.total["mean_st"].low < summary.mean_st.value < summary.total["mean_st"].high  # type: ignore[operator]


def test_candidates_are_asked_of_nobody(id_folder: DatasetFolder, tmp_path: Path) -> None:
    scores = scored(id_folder, tmp_path, id_predictions(id_folder, "nli", "mnli"))
    assert said(scores, "nli_candidates") == []
    assert [(source, target) for source, target, _ in said(scores, "sa")] == [(None, None)]


def test_a_candidate_may_be_trained_on(id_folder: DatasetFolder, tmp_path: Path) -> None:
    frame = id_predictions(id_folder, "nli_candidates", "mnli", targets=["scitail"])
    at_home = id_predictions(id_folder, "nli_candidates", "scitail", targets=["scitail"])
    scores = scored(id_folder, tmp_path, frame, at_home)
    assert task(scores, "nli_candidates").shifts[0].td.value is not None
    assert not task(scores, "nli_candidates").summary.complete
    places = [(source, target) for source, target, _ in said(scores, "nli_candidates")]
    assert len(places) == 2
    assert ("mnli", "cb") in places


@pytest.mark.parametrize(("name", "source"), [("nli_candidates", "amazon"), ("nli", "scitail"), ("sa", "sst")])
def test_other_sources_are_refused(id_folder: DatasetFolder, tmp_path: Path, name: str, source: str) -> None:
    id_predictions(id_folder, name, source).write_parquet(tmp_path / "preds.parquet")
    with pytest.raises(InvalidInput, match="source"):
        checked_predictions(tmp_path / "preds.parquet", id_folder)


# Terminal


@pytest.mark.parametrize("width", [60, 140])
def test_the_terminal_shows_id_and_ood(id_folder: DatasetFolder, tmp_path: Path, width: int) -> None:
    frames = [id_predictions(id_folder, "ner", "few_nerd"), id_predictions(id_folder, "nli_candidates", "mnli")]
    scores = scored(id_folder, tmp_path, *frames)
    out = Console(width=width, file=io.StringIO())
    print_parts(score_lines(scores), out)
    text = out.file.getvalue()  # type: ignore[attr-defined]
    assert text.count("4 types") == 5
    found = id_ood(scores, "ner")
    for value in (found.id.value, found.mean_ood.value, found.drop.value, found.four_types.mean_ood):  # type: ignore[union-attr]
        assert f"{100 * value:.1f}" in text  # type: ignore[operator]
    assert "…" not in text
