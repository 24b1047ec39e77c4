"""The eight pairings of the Depth F1 paper from files in their upstream formats, up to their scores."""

import csv
import random
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines import tfidf_lr
from shiftbench.baselines.runs import Predict, Run, train_and_predict
from shiftbench.builders import df1
from shiftbench.builders.assembling.assemble import assemble
from shiftbench.builders.building import build as build_module
from shiftbench.builders.building.build import build, list_domains
from shiftbench.builders.building.report import build_lines
from shiftbench.builders.encoder import Encoder, encoder_texts
from shiftbench.builders.folder.manifest import Pairing
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.publishing.public import published_folder
from shiftbench.metrics.depth import (
    LAMBDAS,
    depth_weights,
    least_deep,
    pooled_q,
    q_reference,
    q_statistic,
    tte_depth,
)
from shiftbench.scoring.scores.score import score_file
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.command_line import show
from shiftbench.validation.report import InvalidInput
from tests.builders.df1.upstream_writer import GENRES

pytestmark = pytest.mark.xdist_group("df1")
SHARED = Path(__file__).parents[4] / "shared"
SIZES = {"sis-1": 5_000, "sis-2": 5_000, "sis-3": 2_000, "sis-4": 2_000} | dict.fromkeys(
    ("mus-1", "mus-2", "mus-3", "mus-4"), 5_000
)
NO_HOME = "no SS and no TT, so no drops: the pairing has no test rows of its source and no train rows of its target"


def drawn(folder: DatasetFolder, task: str, split: str) -> pl.DataFrame:
    domains = folder.task(task).domains
    return pl.concat([folder.split(task, name, split) for name in sorted(domains) if split in domains[name].splits])


def rows_left(folder: DatasetFolder, task: str, domain: str, step: str) -> int:
    (found,) = [count for count in folder.task(task).transforms if (count.domain, count.name) == (domain, step)]
    return found.before - found.after


@pytest.mark.real
def test_pairings_are_those_of_table_1() -> None:
    if not (SHARED / "reported").is_dir():
        pytest.skip("no reported figures at ../shared/reported")
    names = {"Cell Phone": "cell_phone", "Baby Product": "baby"}
    with (SHARED / "reported" / "df1_table1_pairings.csv").open() as stream:
        rows = {row["pairing"]: row for row in csv.DictReader(stream)}
    assert {spec.pairing.name for spec in df1.TASKS if spec.pairing} == set(rows)
    for spec in df1.TASKS:
        assert spec.pairing is not None
        row = rows[spec.pairing.name]
        sources, targets = (
            {domain.name for domain in spec.domains if split in domain.files} for split in ("train", "test")
        )
        assert sources == {names.get(name, name.lower()) for name in row["sources"].split(";")}
        assert targets == {names.get(row["target"], row["target"].lower())}
        assert (spec.pairing.source_rows, spec.pairing.target_rows) == (int(row["n_source"]), int(row["n_target"]))
        assert spec.pairing.reported_q == float(row["q"])
        assert spec.name == spec.pairing.name.lower()


def test_eight_pairings_in_the_papers_sizes(pairings: DatasetFolder) -> None:
    pairings.check()
    assert list(pairings.manifest.tasks) == [spec.name for spec in df1.TASKS]  # no placebo tasks
    assert {task: len(drawn(pairings, task, "train")) for task in SIZES} == SIZES
    assert {task: len(drawn(pairings, task, "test")) for task in SIZES} == dict.fromkeys(SIZES, 1_000)
    assert pairings.task("mus-1").joined_source == "baby+cell_phone+yelp"
    assert pairings.task("sis-3").joined_source == "travel"
    assert "df1/sis-3.travel" in list_domains("df1")
    for task in SIZES:
        train, test = drawn(pairings, task, "train"), drawn(pairings, task, "test")
        assert not set(train["group"]) & set(test["group"])
        assert not train.select(pairings.task(task).inputs).is_duplicated().any()


def test_joined_sources_are_drawn_from_together(pairings: DatasetFolder) -> None:
    # Four genres with as many pairs: each gives about a quarter of 5,000, none exactly (a draw of sd 27).
    sizes = [facts.splits["train"].rows for facts in pairings.task("mus-3").domains.values() if "train" in facts.splits]
    assert len(sizes) == 4
    assert all(1_120 < size < 1_380 for size in sizes)
    assert len(set(sizes)) > 1


def test_licences_and_sources(pairings: DatasetFolder) -> None:
    closed = {task for task in SIZES for facts in pairings.task(task).domains.values() if facts.rebuild_only}
    assert closed == {"sis-1", "sis-2", "mus-1", "mus-2"}
    assert not pairings.manifest.sources["das"].open_licence
    assert any("aclImdb" in note for note in pairings.task("mus-1").notes)


def test_reviews_keep_their_ratings(pairings: DatasetFolder, invented_raw: Path) -> None:
    folder = invented_raw / "das" / "large"
    lines = {name: (folder / "imdb" / name).read_bytes().decode().split("\n") for name in ("text.txt", "label.txt")}
    rating = dict(zip(lines["text.txt"], lines["label.txt"], strict=False))
    for row in drawn(pairings, "mus-1", "test").iter_rows(named=True):
        assert row["label"] == (int(rating[row["text"]]) - 1) // 2  # codes from 0
    assert set(drawn(pairings, "mus-1", "test")["label"]) == {0, 1, 2, 3, 4}
    texts = (folder / "baby" / "text.txt").read_bytes().decode().split("\r\n")
    labels = (folder / "baby" / "label.txt").read_bytes().decode().split("\r\n")
    wanted = {text: int(float(label)) - 1 for text, label in zip(texts[:-1], labels[:-1], strict=True)}
    again = texts[20]  # rated twice: either rating will do
    for row in pairings.split("mus-1", "baby", "train").iter_rows(named=True):
        assert row["text"] == again or row["label"] == wanted[row["text"]]
    assert rows_left(pairings, "sis-1", "cell_phone", "keep_filled_text") == 2
    everything = [*drawn(pairings, "sis-1", "train")["text"], *drawn(pairings, "mus-1", "train")["text"]]
    assert any("\u2028" in text and "\x85" in text for text in everything)
    assert not any(text.endswith(("\r", "\n")) for text in everything)


def test_pairs_are_of_their_genre(pairings: DatasetFolder) -> None:
    labels = Counter(drawn(pairings, "mus-4", "train")["label"])
    assert set(labels) == {0, 1, 2}
    for task, domain, split in (("sis-3", "travel", "train"), ("mus-4", "travel", "test")):
        section = "train" if split == "train" else "dev_matched"
        premises = pairings.split(task, domain, split)["premise"]
        assert all(text.startswith((f"travel {section}", "The same premise")) for text in premises)


def test_configs_have_the_papers_names(pairings: DatasetFolder) -> None:
    from datasets import get_dataset_config_names, load_dataset

    names = get_dataset_config_names(str(pairings.path))
    assert {"SiS-1", "SiS-2", "SiS-3", "SiS-4", "MuS-1", "MuS-2", "MuS-3", "MuS-4"} <= set(names)
    assert {"SiS-3.travel", "SiS-3.depth", "MuS-1.imdb"} <= set(names)
    found = load_dataset(str(pairings.path), "SiS-3")
    assert {split: len(rows) for split, rows in found.items()} == {"train": 2_000, "test": 1_000}
    assert found["train"].features["label"].names == ["entailment", "neutral", "contradiction"]
    assert load_dataset(str(pairings.path), "MuS-1", split="test").features["label"].names == ["1", "2", "3", "4", "5"]
    depths = load_dataset(str(pairings.path), "MuS-3.depth", split="test")
    assert set(depths["source"]) == {*GENRES, "government+slate+telephone+travel"} - {"fiction"}


def test_q_stands_beside_the_papers(
    pairings: DatasetFolder, word_encoder: Encoder, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = pairings.task("mus-3").inputs
    x, y = (word_encoder.encode(encoder_texts(drawn(pairings, "mus-3", split), inputs)) for split in ("train", "test"))
    own, target = tte_depth(x), tte_depth(x, y)
    q = q_statistic(own, target)
    card = (pairings.path / "README.md").read_text()
    line = next(line for line in card.splitlines() if line.startswith("MuS-3: Q"))
    shown = ("0.48", *(f"{value:.2f}" for value in (pooled_q(q, 500, 1_000), q_reference(own, target), q)))
    assert tuple(re.findall(r"\d\.\d\d", line)) == shown
    assert 'load_dataset("DIR", "SiS-1")["train"][0]' in card
    show(build_lines(pairings.path, pairings.manifest, ()))
    printed = capsys.readouterr().out
    assert "SiS-3: Q 0.34 " in printed
    assert "without" not in printed


def test_the_seed_decides_and_the_order_of_rows_does_not(
    pairings: DatasetFolder, invented_raw: Path, tmp_path: Path
) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(invented_raw, raw)
    mixed = random.Random(1)
    for file in raw.glob("multinli_1.0/*"):
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(mixed.sample(lines, len(lines))))
    for folder in (raw / "das" / "large" / name for name in ("cell_phone", "yelp2014")):
        files = [folder / "text.txt", folder / "label.txt"]
        rows = list(zip(*(file.read_bytes().decode().split("\n")[:-1] for file in files), strict=True))
        mixed.shuffle(rows)
        for file, lines in zip(files, zip(*rows, strict=True), strict=True):
            file.write_bytes("".join(f"{line}\n" for line in lines).encode())
    for task, seed in (("sis-2", 0), ("mus-3", 0), ("mus-3", 1)):
        out = tmp_path / f"{task}-{seed}"
        manifest = build("df1", task, raw, out, seed=seed).manifest
        assert manifest.seed == seed
        found = DatasetFolder.open(out)
        for split in ("train", "test"):
            same = drawn(found, task, split).equals(drawn(pairings, task, split))
            assert same is (seed == 0), (task, split)


def test_a_pairing_is_built_by_its_name_in_the_paper(invented_raw: Path, tmp_path: Path) -> None:
    assert list(build("df1", "SiS-4", invented_raw, tmp_path / "out").manifest.tasks) == ["sis-4"]
    card = (tmp_path / "out" / "README.md").read_text()
    assert "SiS-4: Q 0.42 " in card
    with pytest.raises(InvalidInput, match="df1"):
        build("df1", "SiS-5", invented_raw, tmp_path / "other")


def test_missing_reviews_are_named(invented_raw: Path, tmp_path: Path, wording: SnapshotAssertion) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(invented_raw / "multinli_1.0", raw / "multinli_1.0")
    built = build("df1", None, raw, tmp_path / "out")
    assert set(built.manifest.tasks) == {"sis-3", "sis-4", "mus-3", "mus-4"}
    assert set(built.failed) == {"sis-1", "sis-2", "mus-1", "mus-2"}
    assert [str(problem) for problem in built.failed["sis-1"]] == wording


def test_too_few_texts_are_refused_unless_partial(invented_raw: Path, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(invented_raw / "multinli_1.0", raw / "multinli_1.0")
    train = raw / "multinli_1.0" / "multinli_1.0_train.jsonl"
    train.write_text("".join(train.read_text().splitlines(keepends=True)[: 5 * 900]))
    with pytest.raises(InvalidInput, match=r"df1/sis-3.* \d\d\d of 2,000"):
        build("df1", "sis-3", raw, tmp_path / "out")
    manifest = build("df1", "sis-3", raw, tmp_path / "out", partial=True).manifest
    assert 890 < manifest.tasks["sis-3"].domains["travel"].splits["train"].rows <= 900
    with pytest.raises(InvalidInput, match="df1/mus-3"):
        build("df1", "mus-3", raw, tmp_path / "other")
    train.unlink()
    with pytest.raises(InvalidInput, match=r"df1/sis-3.* 0 of 2,000"):
        build("df1", "sis-3", raw, tmp_path / "other", partial=True)


def test_reviews_are_not_published(pairings: DatasetFolder) -> None:
    with published_folder(pairings) as public:
        public.check()
        assert public.content_hash == pairings.content_hash
        assert {name for name, task in public.manifest.tasks.items() if task.domains} == {
            "sis-3",
            "sis-4",
            "mus-3",
            "mus-4",
        }
        assert (public.path / "depth/mus-3/government+slate+telephone+travel--fiction.parquet").is_file()
        assert "Q 0.35 " in (public.path / "README.md").read_text()


def test_texts_of_the_target_are_not_in_the_source() -> None:
    spec = replace(df1.TASKS[7], pairing=Pairing(name="t", source_rows=4, target_rows=3, reported_q=0.5))

    def frame(*premises: str) -> pl.DataFrame:
        rows = [(text, f"about {text}", "neutral", text) for text in premises]
        return pl.DataFrame(rows, schema=["premise", "hypothesis", "label", "group"], orient="row")

    rows = {
        "fiction": {"train": frame("a", "b", "x")},
        "government": {"train": frame("b", "c", "d", "d", "y")},
        "travel": {"test": frame("x", "y", "z")},
    }
    task = assemble(spec, rows, {}, seed=0, equal=True)
    source = pl.concat([splits["train"] for splits in task.domains.values() if "train" in splits])
    assert sorted(source["premise"]) == ["a", "b", "c", "d"]
    assert sorted(task.domains["travel"]["test"]["premise"]) == ["x", "y", "z"]
    left = {(count.domain, count.name): count.before - count.after for count in task.counts}
    assert left["fiction", "test_groups_leave_train"] == left["government", "test_groups_leave_train"] == 1
    assert task.absent == ("slate", "telephone")


def scored(
    folder: DatasetFolder, task: str, out: Path, sources: list[str] | None = None
) -> tuple[Scores, pl.DataFrame]:
    inputs = folder.task(task).inputs

    def fit(run: Run) -> Predict:
        return tfidf_lr.classifier(run.train, inputs, run.seed).predict

    frame = train_and_predict(fit, folder, task, sources=sources, targets=None, seeds=None).predictions
    frame.write_parquet(out)
    return score_file(out, folder), frame


@pytest.mark.parametrize("task", ["sis-3", "mus-3"])
def test_the_score_is_depth_f1_of_the_pairing(
    task: str, pairings: DatasetFolder, word_encoder: Encoder, tmp_path: Path
) -> None:
    scores, frame = scored(pairings, task, tmp_path / "preds.parquet")
    info = pairings.task(task)
    assert set(frame["source"]) == {info.joined_source}
    found = next(item for item in scores.tasks if item.task == task)
    (shift,) = found.shifts
    assert (shift.source, shift.ss.value, shift.tt.value, shift.td.value) == (info.joined_source, None, None, None)
    test = drawn(pairings, task, "test")
    gold = {row["id"]: info.labels[row["label"]] for row in test.iter_rows(named=True)}
    given = dict(frame.select("id", "prediction").iter_rows())
    correct = np.array([given[id_] == gold[id_] for id_ in test["id"]])
    assert shift.st.value == pytest.approx(correct.mean())
    # Equations 1 to 7 on the pooled source, whose deepest text is one of all parts.
    x, y = (word_encoder.encode(encoder_texts(rows, info.inputs)) for rows in (drawn(pairings, task, "train"), test))
    own, depth = tte_depth(x), tte_depth(x, y)
    for lambda_ in LAMBDAS:
        weights = depth_weights(depth, own) * least_deep(depth, lambda_)
        wanted = float(weights @ correct / weights.sum())
        assert shift.depth_f1[str(lambda_)].value == pytest.approx(wanted, abs=1e-9), lambda_
    assert (found.summary.basis, found.summary.complete) == ("pairing", True)
    assert found.summary.mean_st.value == shift.st.value
    assert [item.what for item in scores.missing if item.task == task] == [NO_HOME]


def test_models_of_a_part_of_the_source_are_scored_too(pairings: DatasetFolder, tmp_path: Path) -> None:
    scores, _ = scored(pairings, "mus-3", tmp_path / "preds.parquet", ["slate", "slate+travel"])
    found = next(item for item in scores.tasks if item.task == "mus-3")
    assert all(shift.depth_f1 for shift in found.shifts)
    assert not found.summary.complete
    whole = "government+slate+telephone+travel"
    *others, depths = [item.what for item in scores.missing if item.task == "mus-3"]
    assert [other.endswith(whole) for other in others[:-1]] == [True]
    assert others[-1] == NO_HOME
    assert "deepest" in depths


def test_the_modules_of_the_benchmark_are_known() -> None:
    assert build_module.BENCHMARKS["df1"] == (df1.TITLE, df1.TASKS)
