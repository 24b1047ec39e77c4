"""The whole of Domain Robustness from files in their upstream formats: what every task holds, and what left."""

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders import dr
from shiftbench.builders.building.build import build, list_domains
from shiftbench.builders.folder.manifest import TransformCount
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.specs.transforms import words
from shiftbench.builders.tables import squad_titles, subreddits
from shiftbench.metrics.divergence import js_divergence
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import PLACEBO, SPLITS

SHARED = Path(__file__).parents[4] / "shared"


def real_tasks(folder: DatasetFolder) -> list[str]:
    return [name for name in folder.manifest.tasks if not name.endswith(PLACEBO)]


def rows(folder: DatasetFolder, task: str, domain: str) -> dict[str, pl.DataFrame]:
    return {split: folder.split(task, domain, split) for split in SPLITS}


def counts(folder: DatasetFolder, task: str, domain: str, name: str) -> list[TransformCount]:
    return [count for count in folder.task(task).transforms if (count.domain, count.name) == (domain, name)]


def test_seven_tasks_of_thirty_nine_domains() -> None:
    tasks = [task for task in dr.TASKS if task.variant_of is None]
    assert [task.name for task in tasks] == ["sa", "nli", "ab", "qa", "qg", "as", "tg"]
    assert sum(len(task.domains) for task in tasks) == 39
    assert len(set(list_domains("dr"))) == 39 + 6


@pytest.mark.real
def test_sizes_domains_and_few_shot_domains_are_the_papers() -> None:
    reported = SHARED / "reported"
    if not reported.is_dir():
        pytest.skip("no reported figures at ../shared/reported")
    tasks = {task.name.upper(): task for task in dr.TASKS if task.variant_of is None}
    with (reported / "dr_table2_tasks.csv").open() as stream:
        for line in csv.DictReader(stream):
            task = tasks[line["task"]]
            assert (len(task.domains), task.train, task.validation, task.test) == tuple(
                int(line[name]) for name in ("n_domains", "train", "dev", "test")
            )
    with (reported / "dr_domains.csv").open() as stream:
        lines = list(csv.DictReader(stream))
    for name, task in tasks.items():
        theirs = [line for line in lines if line["task"] == name]
        assert {domain.name for domain in task.domains} == {line["domain"].lower() for line in theirs}
        assert set(task.fewshot_domains) == {
            line["domain"].lower() for line in theirs if line["fewshot_subset"] == "yes"
        }


@pytest.mark.real
def test_the_tables_are_those_decided() -> None:
    if not SHARED.is_dir():
        pytest.skip("no tables at ../shared/data")
    for name in ("squad_title_domains.csv", "tldr_subreddit_domains.csv"):
        assert (Path(dr.__file__).parents[1] / "tables" / name).read_bytes() == (SHARED / "data" / name).read_bytes()


def test_tables_name_every_domain_once() -> None:
    titles = [title for name in dr.QA.domains for title in squad_titles(name.name)]
    assert len(titles) == len(set(titles)) == 477 - 57
    assert all("%" not in title for title in titles)
    posts = [subreddit for domain in dr.AS.domains for subreddit in subreddits(domain.name)]
    assert len(posts) == len(set(posts)) == 105


def test_the_folder_is_sound(benchmark: DatasetFolder) -> None:
    benchmark.check()
    assert not benchmark.manifest.partial
    assert real_tasks(benchmark) == [task.name for task in dr.TASKS]


def test_all_domains_of_a_task_have_one_size(benchmark: DatasetFolder) -> None:
    for name in real_tasks(benchmark):
        task = benchmark.task(name)
        for split, size in task.sizes.items():
            assert {facts.splits[split].rows for facts in task.domains.values()} == {size.rows}
            assert size.smallest in task.domains
            assert size.rows < size.paper
            assert size.shortfall(split) in (benchmark.path / "README.md").read_text()


def test_no_group_is_in_two_splits(benchmark: DatasetFolder) -> None:
    for name in real_tasks(benchmark):
        for domain in benchmark.task(name).domains:
            groups = [set(frame["group"]) for frame in rows(benchmark, name, domain).values()]
            assert sum(map(len, groups)) == len(set.union(*groups)), (name, domain)


def test_every_task_but_the_variant_has_a_placebo(benchmark: DatasetFolder) -> None:
    placebos = {name for name in benchmark.manifest.tasks if name.endswith(PLACEBO)}
    assert placebos == {f"{name}{PLACEBO}" for name in real_tasks(benchmark) if name != "qa_imbalanced"}
    for name in placebos:
        real, placebo = benchmark.task(name.removesuffix(PLACEBO)), benchmark.task(name)
        assert len(placebo.domains) == len(real.domains)
        for split in SPLITS:
            sizes = [[facts.splits[split].rows for facts in task.domains.values()] for task in (real, placebo)]
            assert sum(sizes[1]) <= sum(sizes[0])
            if split in real.sizes:
                assert len(set(sizes[1])) == 1, (name, split)
    for domain in benchmark.task("qa.placebo").domains:
        for frame in rows(benchmark, "qa.placebo", domain).values():
            assert unanswered(frame) == pytest.approx(0.2, abs=0.02)


def test_sentiment(benchmark: DatasetFolder) -> None:
    for domain in benchmark.task("sa").domains:
        for split, frame in rows(benchmark, "sa", domain).items():
            assert frame["label"].mean() == 0.5, (domain, split)
            assert not frame["text"].str.contains("http").any()
    # 240 reviews, one without a text, 20 copies, one with both labels; 40 of three stars.
    assert [(c.before, c.after) for c in counts(benchmark, "sa", "books", "label_from_overall")] == [(262, 222)]
    assert [(c.before, c.after) for c in counts(benchmark, "sa", "books", "keep_filled_reviewText")] == [(222, 221)]
    assert [(c.before, c.after) for c in counts(benchmark, "sa", "airline", "label_from_recommended")] == [(200, 200)]
    texts = pl.concat(rows(benchmark, "sa", "airline").values())["text"]
    assert texts.str.contains('"very" odd second line', literal=True).any() or texts.str.contains("\n").any()


def test_reviews_with_both_labels_and_repeats_leave(benchmark: DatasetFolder) -> None:
    for domain in ("appliances", "books"):
        texts = pl.concat(rows(benchmark, "sa", domain).values())["text"]
        assert texts.n_unique() == len(texts)
        assert [c.before - c.after for c in counts(benchmark, "sa", domain, "conflicting_rows_leave")] == [2]


def test_aspects(benchmark: DatasetFolder) -> None:
    task = benchmark.task("ab")
    assert task.labels == ("O", "T-POS", "T-NEG", "T-NEU")
    for domain in task.domains:
        test = benchmark.split("ab", domain, "test")
        tags = Counter(task.labels[code] for codes in test["tags"] for code in codes)
        assert tags == ({"O": 120, "T-NEG": 15} if domain == "mams" else {"O": 75, "T-POS": 15, "T-NEG": 15})
        # The token a=b is split at its last =, and the empty one is gone.
        assert test["tokens"].list.contains("a=b").all() == (domain != "mams")
        assert not test["tokens"].list.contains("").any()


def unanswered(frame: pl.DataFrame) -> float:
    return float((frame["answers"].struct.field("text").list.len() == 0).mean())  # type: ignore[arg-type]


def test_questions(benchmark: DatasetFolder) -> None:
    for domain in benchmark.task("qa").domains:
        for split, frame in rows(benchmark, "qa", domain).items():
            assert unanswered(frame) == pytest.approx(0.2), (domain, split)
            assert set(frame["title"]) <= set(squad_titles(domain))
        assert unanswered(benchmark.split("qa_imbalanced", domain, "test")) > 0.2
        for split in SPLITS:
            documents = [set(benchmark.split(task, domain, split)["title"]) for task in ("qa", "qa_imbalanced")]
            assert documents[0] <= documents[1]


def test_question_generation(benchmark: DatasetFolder) -> None:
    test = benchmark.split("qg", "science", "test")
    assert all(answer in source for answer, source in test.select("answer", "source_text").iter_rows())
    assert benchmark.task("qg").inputs == ("source_text", "answer")


@pytest.mark.parametrize(("task", "fewest", "most", "width"), [("as", 15, 60, 5), ("tg", 5, 20, 1)])
def test_targets_of_like_length_with_words_of_the_source(
    benchmark: DatasetFolder, task: str, fewest: int, most: int, width: int
) -> None:
    histograms = []
    for domain in benchmark.task(task).domains:
        frame = pl.concat(rows(benchmark, task, domain).values())
        n_words = frame.select(words("target_text").list.len()).to_series()
        assert n_words.is_between(fewest, most).all()
        for target, source in frame.select("target_text", "source_text").iter_rows():
            distinct = set(target.lower().split())
            assert len(distinct & set(source.lower().split())) >= 0.75 * len(distinct)
        strata = ((n_words - 1) // width).to_numpy()
        histograms.append(np.bincount(strata, minlength=61))
    assert max(js_divergence(histograms[0], other) for other in histograms) == 0
    if task == "tg":
        assert any("\"a 5'" in text for text in frame["target_text"])


def test_posts_without_subreddit_of_others_or_with_unsaid_words_are_counted(benchmark: DatasetFolder) -> None:
    assert [(c.before, c.after) for c in counts(benchmark, "as", "drugs", "keep_subreddits_of_drugs")] == [(2003, 401)]
    assert [c.before - c.after for c in counts(benchmark, "as", "drugs", "keep_75%_of_words_found")] == [1]


def test_few_shot_subsets(benchmark: DatasetFolder) -> None:
    for spec in dr.TASKS:
        subset = benchmark.subset(spec.name, "fewshot") if spec.fewshot_domains else None
        if subset is not None:
            found = Counter(id_.split("/")[2] for id_ in subset["id"])
            assert set(found) == set(spec.fewshot_domains)


def test_sources_say_where_they_come_from_and_on_what_terms(benchmark: DatasetFolder) -> None:
    sources = benchmark.manifest.sources
    assert set(sources) == {"amazon", "airline", "multinli_1.0", "absa", "mams", "squad_v2", "tldr17", "amazon_us"}
    closed = {slug for slug, facts in sources.items() if not facts.open_licence}
    assert closed == {"amazon", "airline", "absa", "amazon_us"}
    for facts in sources.values():
        assert facts.url.startswith("https://")
        assert facts.citation.startswith("@")
        assert all(len(file.sha256) == 64 and file.rows for file in facts.files)


def test_a_vanished_source_names_the_way_to_get_it_and_the_other_tasks_still_build(
    invented_raw: Path, unrecorded: None, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    for folder in invented_raw.iterdir():
        if folder.name not in ("airline", "amazon_us", "tldr17", "absa"):
            (tmp_path / "raw").mkdir(exist_ok=True)
            (tmp_path / "raw" / folder.name).symlink_to(folder)
    built = build("dr", None, tmp_path / "raw", tmp_path / "out", placebo=False)
    assert list(built.manifest.tasks) == ["nli", "qa", "qa_imbalanced", "qg"]
    assert set(built.failed) == {"sa", "ab", "as", "tg"}
    assert built.without_files == ()
    assert [str(problem) for problem in built.failed["sa"]] == wording
    assert "withdrawn" in str(built.failed["tg"][0])
    with pytest.raises(InvalidInput, match="dr/as"):
        build("dr", "as", tmp_path / "raw", tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_the_seed_and_nothing_else_decides(
    invented_raw: Path, unrecorded: None, benchmark: DatasetFolder, tmp_path: Path
) -> None:
    again = build("dr", "as", invented_raw, tmp_path / "a").manifest
    assert again.tasks["as"].domains == benchmark.task("as").domains
    assert again.tasks["as.placebo"].domains == benchmark.task("as.placebo").domains
    other = build("dr", "as", invented_raw, tmp_path / "b", seed=1).manifest
    assert all(
        other.tasks["as"].domains[name].splits[split] != facts.splits[split]
        for name, facts in benchmark.task("as").domains.items()
        for split in SPLITS
    )
