"""Annotators' votes: counted on the rows that a build keeps, and without a trace in these."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from shiftbench.builders.assembling.assemble import AssembledTask, assemble, count_annotators, upstream_votes
from shiftbench.builders.boss.inference import NLI_CANDIDATES
from shiftbench.builders.dr.inference import NLI
from shiftbench.builders.folder.manifest import SourceFacts
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.folder.statistics import Annotators, read_statistics
from shiftbench.builders.readers.json_lines import json_lines
from shiftbench.builders.specs.spec import DomainSpec, TaskSpec
from shiftbench.builders.specs.transforms import VOTES
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.builders.writing.withhold import public_statistics
from shiftbench.builders.writing.writer import write_folder
from shiftbench.leaderboard.pages.data_page import data_page
from shiftbench.scoring.reports.terminal import score_lines
from shiftbench.scoring.scores.score import score_file
from shiftbench.validation.plain_console import print_parts
from shiftbench.validation.vocabulary import TaskKind
from tests.leaderboard.shapes import CITATION, labels_with_errors
from tests.scoring.reports.notes import notes

LABELS = ("no", "yes")


def spec() -> TaskSpec:
    return TaskSpec(
        benchmark="asked", name="claims", title="Invented claims", kind=TaskKind.CLASSIFICATION, inputs=("text",),
        labels=LABELS, metric="accuracy", train=40, validation=0, test=40, domains=(),
    )  # fmt: skip


def upstream(seed: int) -> dict[str, pl.DataFrame]:
    """Return rows whose gold is the majority of five votes; a few repeat another, with its votes in another order."""
    rng = np.random.default_rng(seed)
    votes = [rng.choice(LABELS, size=5, p=(0.3, 0.7)).tolist() for _ in range(80)]
    texts = [f"claim {seed} {number}" for number in range(80)]
    for number in range(40, 80, 10):
        texts[number + 1], votes[number + 1] = texts[number], votes[number][::-1]
    labels = ["yes" if each.count("yes") > 2 else "no" for each in votes]
    groups = [f"g{number // 2}" for number in range(80)]
    frame = pl.DataFrame({"text": texts, "label": labels, "group": groups, VOTES: votes})
    return {"train": frame.head(40).drop(VOTES), "test": frame.tail(40)}


def assembled(rows: dict[str, dict[str, pl.DataFrame]]) -> AssembledTask:
    return assemble(spec(), rows, dict.fromkeys(rows, ("invented",)), seed=0, equal=False)


def test_votes_leave_no_trace_in_rows() -> None:
    rows = {"attic": upstream(1), "cellar": upstream(2)}
    bare = {domain: {split: frame.drop(VOTES, strict=False) for split, frame in splits.items()}
            for domain, splits in rows.items()}  # fmt: skip
    with_votes, without = assembled(rows), assembled(bare)
    assert without.annotators == {}
    assert set(with_votes.annotators) == set(rows)
    for domain, splits in with_votes.domains.items():
        for split, frame in splits.items():
            assert isinstance(frame, pl.DataFrame)
            assert frame.equals(without.domains[domain][split])  # type: ignore[arg-type]


def test_votes_are_counted_on_the_rows_that_stay() -> None:
    rows = upstream(1)
    task = assembled({"attic": rows, "cellar": upstream(2)})
    kept = task.domains["attic"]["test"]
    assert len(kept) < 40, "repeats leave"
    found = task.annotators["attic"]
    assert (found.texts, found.votes) == (len(kept), 5)
    votes = rows["test"].unique("text")
    agree = votes.select((pl.col(VOTES).list.count_matches("yes") / 5 - (pl.col("label") == "no")).abs().mean()).item()
    assert found.gold["accuracy"] == pytest.approx(agree)
    assert found.others["accuracy"] < found.gold["accuracy"]


def test_pages_and_the_terminal_show_them_beside_scores(tmp_path: Path) -> None:
    task = assembled({"attic": upstream(1), "cellar": upstream(2)})
    source = SourceFacts(
        title="Invented", url="https://example.org/none", revision="1", licence="yes", open_licence=True,
        citation=CITATION,
    )  # fmt: skip
    write_folder(
        tmp_path / "data", [task], {"invented": source}, title="Asked", seed=0, partial=False, synthetic=False,
        encoder=None,
    )  # fmt: skip
    folder = DatasetFolder.open(tmp_path / "data")
    labels_with_errors(folder, "claims", ("attic", "cellar"), 0.2).write_parquet(tmp_path / "p.parquet")
    scores = score_file(tmp_path / "p.parquet", folder)
    found = scores.tasks[0].annotators
    assert found is not None
    assert found.others == {name: each.others["accuracy"] for name, each in task.annotators.items()}
    assert found.mean_others == pytest.approx(np.mean(list(found.others.values())))
    shown = f"{100 * found.mean_others:.1f}"
    assert "majority" in notes(scores.tasks[0])
    console = Console(record=True, width=300)
    print_parts(score_lines(scores), console)
    assert f" {shown}" in console.export_text()
    for page in (data_page([folder], ""), (folder.path / "README.md").read_text(encoding="utf-8")):
        assert "annotators" in page
    public = public_statistics(read_statistics(folder.path, "claims"))
    assert all(facts.annotators is None for facts in public.domains.values())


def test_files_without_votes_are_read_as_before(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": "x"}\n{"a": "y"}\n')
    with UpstreamFile(path) as file:
        (frame,) = json_lines("a", lists=("votes",))(file)
    assert frame.to_dicts() == [{"a": "x", "votes": None}, {"a": "y", "votes": None}]
    assert upstream_votes(spec(), {"test": frame.with_columns(text="a", label=pl.lit("no"))}) is None


def annotators_of(raw: Path, task: TaskSpec, domain: DomainSpec) -> Annotators | None:
    """Count votes on all test rows of a domain's first file that is there."""
    file = next(file for file in domain.files["test"] if (raw / file.path).is_file())
    with UpstreamFile(raw / file.path) as opened:
        rows = pl.concat(file.read(opened))
    for step in domain.transforms:
        rows = step.apply(rows)
    votes = upstream_votes(task, {"test": rows})
    codes = {name: code for code, name in enumerate(task.labels)}
    tests = rows.with_columns(pl.col("label").replace_strict(codes, return_dtype=pl.Int64))
    return None if votes is None else count_annotators(votes, tests, task.inputs, task.labels)


@pytest.mark.real
def test_annotators_of_real_rows_agree_as_their_paper_says(real_raw: Path) -> None:
    """Test Table 2 of MultiNLI's paper: 89.0% of SNLI's single annotators chose the gold label, 88.7% of its own."""
    snli = next(domain for domain in NLI_CANDIDATES.domains if domain.name == "snli")
    found = annotators_of(real_raw, NLI_CANDIDATES, snli)
    assert found is not None
    print(f"snli: {found}")
    assert found.gold["accuracy"] == pytest.approx(0.89, abs=0.03)
    assert found.others["accuracy"] < found.gold["accuracy"]


@pytest.mark.real
def test_annotators_of_real_genres(real_whole: Path) -> None:
    if not (real_whole / "multinli_1.0/multinli_1.0_dev_matched.jsonl").is_file():
        pytest.skip("MultiNLI's development pairs with their votes are not at ../shared/data/whole")
    found = {genre.name: annotators_of(real_whole, NLI, genre) for genre in NLI.domains}
    for name, each in found.items():
        print(f"{name}: {each}")
        assert each is not None
    assert np.mean([each.gold["accuracy"] for each in found.values() if each]) == pytest.approx(0.887, abs=0.02)
