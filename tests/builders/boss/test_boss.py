"""The whole of BOSS from files in their upstream formats: what every data set holds, and what left."""

import shutil
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders import boss
from shiftbench.builders.building.build import build, list_domains
from shiftbench.builders.building.report import build_lines
from shiftbench.builders.folder.paper_sizes import paper_sizes
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.command_line import show
from shiftbench.validation.report import InvalidInput
from tests.builders.boss.upstream_writer import MISSING


def texts(folder: DatasetFolder, task: str, domain: str, split: str = "test", column: str = "text") -> list[str]:
    return folder.split(task, domain, split)[column].to_list()


def labels(folder: DatasetFolder, task: str, domain: str, split: str = "test") -> Counter[str]:
    names = folder.task(task).labels
    return Counter(names[code] for code in folder.split(task, domain, split)["label"])


def tagged(folder: DatasetFolder, task: str, domain: str, split: str = "test") -> list[list[tuple[str, str]]]:
    names = folder.task(task).labels
    rows = folder.split(task, domain, split)
    return [
        [(token, names[code]) for token, code in zip(tokens, tags, strict=True)]
        for tokens, tags in zip(rows["tokens"], rows["tags"], strict=True)
    ]


def left(folder: DatasetFolder, task: str, domain: str, step: str) -> int:
    found = [count for count in folder.task(task).transforms if (count.domain, count.name) == (domain, step)]
    assert found, f"no step {step} of {task}.{domain}"
    return sum(count.before - count.after for count in found)


def test_five_tasks_of_one_and_three_and_sixteen_candidates() -> None:
    suite = [task for task in boss.TASKS if task.candidates_for is None]
    assert [task.name for task in suite] == ["sa", "td", "nli", "ner", "eqa"]
    assert [len(task.domains) for task in suite] == [4] * 5
    assert all(task.id_domain == task.domains[0].name for task in suite)
    candidates = [task for task in boss.TASKS if task.candidates_for is not None]
    assert [task.candidates_for for task in candidates] == ["sa", "td", "nli", "ner", "eqa"]
    assert sum(len(task.domains) for task in candidates) == 16
    assert len(set(list_domains("boss"))) == 36


def test_the_folder_is_sound(suite: DatasetFolder) -> None:
    suite.check()
    assert not suite.manifest.partial
    assert {name: task.id_domain for name, task in suite.manifest.tasks.items() if task.id_domain} == {
        "sa": "amazon",
        "td": "civil_comments",
        "nli": "mnli",
        "ner": "few_nerd",
        "eqa": "squad",
    }


def test_configs_load_with_plain_datasets(suite: DatasetFolder) -> None:
    from datasets import load_dataset

    dynasent = load_dataset(str(suite.path), "sa.dynasent", split="test")
    assert dynasent.features["label"].names == ["negative", "positive", "neutral"]
    assert len(load_dataset(str(suite.path), "nli_candidates", split="test")) > 0
    wnut = load_dataset(str(suite.path), "ner.wnut", split="train")
    assert wnut.features["tags"].feature.names[:3] == ["O", "B-location", "I-location"]


def test_amazon_is_drawn_balanced_and_cut_by_product(suite: DatasetFolder) -> None:
    train, test = (suite.split("sa", "amazon", split) for split in ("train", "test"))
    assert set(labels(suite, "sa", "amazon", "train")) == {"negative", "positive", "neutral"}
    everything = [*train["text"], *test["text"]]
    assert len(set(everything)) == len(everything)
    assert "the same in all categories" in everything
    assert not set(train["group"]) & set(test["group"])
    assert not any("\t" in text or "  " in text for text in everything)
    # 1, 3 and 5 stars; of 29 x 20 reviews 12 in 20 have them.
    assert 0.06 < len(test) / len(everything) < 0.14
    assert left(suite, "sa", "amazon", "keep_filled_reviewText") == 29


def test_train_rows_of_each_label_are_cut(
    invented_raw: Path, tmp_path: Path, unrecorded: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from shiftbench.builders.building import build as build_module

    spec = boss.SA
    amazon = replace(spec.domains[0], train_per_label=10)
    title, _ = build_module.BENCHMARKS["boss"]
    cut = replace(spec, domains=(amazon, *spec.domains[1:]))
    monkeypatch.setitem(build_module.BENCHMARKS, "boss", (title, (cut,)))
    build("boss", "sa", invented_raw, tmp_path / "out", placebo=False)
    folder = DatasetFolder.open(tmp_path / "out")
    assert labels(folder, "sa", "amazon", "train") == {"negative": 10, "positive": 10, "neutral": 10}


def test_sentiment(suite: DatasetFolder) -> None:
    assert labels(suite, "sa", "dynasent") == {"positive": 6, "negative": 6, "neutral": 8}
    assert "one line\nand another" in texts(suite, "sa", "dynasent")
    assert left(suite, "sa", "dynasent", "keep_labelled") == 8
    semeval = texts(suite, "sa", "semeval")
    assert len(semeval) == 11
    assert left(suite, "sa", "semeval", "keep_3_fields") == 2  # a stray date in each split
    quoted = next(text for text in semeval if text.startswith('"'))
    assert quoted.endswith('quoted ""twice"" and not undone"')
    assert max(Counter(semeval).values()) == 2  # the paper's rows stay, though labels conflict
    assert labels(suite, "sa", "sst") == {"negative": 3, "neutral": 3, "positive": 3}
    assert all(text.endswith("( film") for text in texts(suite, "sa", "sst"))
    assert labels(suite, "sa_candidates", "imdb") == {"negative": 4, "positive": 4}
    assert labels(suite, "sa_candidates", "yelp") == {"negative": 3, "positive": 3, "neutral": 3}
    assert all(text.endswith('"so" said\nnext, line') for text in texts(suite, "sa_candidates", "yelp"))
    assert labels(suite, "sa_candidates", "dsc") == {"negative": 4, "positive": 4}


def test_toxicity(suite: DatasetFolder) -> None:
    assert labels(suite, "td", "civil_comments") == {"benign": 12, "toxic": 6}
    assert left(suite, "td", "civil_comments", "keep_filled_text") == 3
    assert labels(suite, "td", "adv_civil") == {"benign": 4, "toxic": 4}
    for text in texts(suite, "td", "adv_civil"):
        assert text.endswith(', "so they" say, teh typo')  # quotes of CSV, as the authors' pandas writes them
    assert labels(suite, "td", "implicit_hate") == {"benign": 3, "toxic": 6}
    # Means: 1, 2.5, 3, 3, 2.95, 4.5, 2.95, 5.
    assert labels(suite, "td", "toxigen") == {"benign": 4, "toxic": 4}
    for domain in ("abuse_analyzer", "hate_speech", "hsol"):
        train, test = (suite.split("td_candidates", domain, split) for split in ("train", "test"))
        assert not set(train["group"]) & set(test["group"])
    cleaned = [
        *texts(suite, "td_candidates", "abuse_analyzer"),
        *texts(suite, "td_candidates", "abuse_analyzer", "train"),
    ]
    assert len(cleaned) == 10
    assert not any(sign in text for text in cleaned for sign in ("@", "#", "http", "[", "topic"))
    assert left(suite, "td_candidates", "hate_speech", "label_from_label") == 11
    hsol = [*texts(suite, "td_candidates", "hsol"), *texts(suite, "td_candidates", "hsol", "train")]
    assert all(text.endswith('\nsecond line, "quoted"') for text in hsol)
    assert labels(suite, "td_candidates", "olid") == {"benign": 3, "toxic": 3}


def test_what_is_cut_here_tests_no_text_that_is_trained_on(
    invented_raw: Path, tmp_path: Path, unrecorded: None
) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(invented_raw / "hate_speech", raw / "hate_speech")
    for text in (raw / "hate_speech/all_files").glob("*_2.txt"):
        text.write_text("thanks")
    build("boss", "td_candidates", raw, tmp_path / "out", partial=True)
    folder = DatasetFolder.open(tmp_path / "out")
    assert "thanks" in texts(folder, "td_candidates", "hate_speech")
    assert "thanks" not in texts(folder, "td_candidates", "hate_speech", "train")
    assert left(folder, "td_candidates", "hate_speech", "test_inputs_leave_train") > 0


def test_texts_drawn_with_both_labels_leave(invented_raw: Path, tmp_path: Path, unrecorded: None) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(invented_raw / "civil_comments", raw / "civil_comments")
    path = raw / "civil_comments/train-00001-of-00002.parquet"
    rows = pl.read_parquet(path)
    turned = rows.head(4).with_columns((pl.col("toxicity") < 0.5).cast(pl.Float64).alias("toxicity"))
    pl.concat([rows, turned, rows.slice(4, 2)]).write_parquet(path)
    build("boss", "td", raw, tmp_path / "out", partial=True)
    folder = DatasetFolder.open(tmp_path / "out")
    train = texts(folder, "td", "civil_comments", "train")
    assert len(set(train)) == len(train)
    assert not set(train) & set(turned["text"])
    assert left(folder, "td", "civil_comments", "conflicting_rows_leave") == 8


@pytest.mark.parametrize(
    ("task", "place", "old", "new"),
    [
        ("td", "adv_civil/adv_civil.tsv", 'typo"\t1', 'typo"\t2'),
        ("td", "implicit_hate/implicit_hate_v1_stg1_posts.tsv", "implicit_hate", "implict_hate"),
        ("nli_candidates", "snli/snli_1.0/snli_1.0_test.jsonl", '"contradiction"', '"maybe"'),
    ],
)
def test_an_unknown_label_is_refused(
    invented_raw: Path, tmp_path: Path, unrecorded: None, task: str, place: str, old: str, new: str
) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(invented_raw / place.partition("/")[0], raw / place.partition("/")[0])
    text = (raw / place).read_text()
    (raw / place).write_text(text.replace(old, new, 1))
    with pytest.raises(InvalidInput, match=r"row \d+: .*'(2|implict_hate|maybe)'") as refused:
        build("boss", task, raw, tmp_path / "out", partial=True)
    assert str(raw / place) in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_what_lies_beside_a_file_has_a_checksum(invented_raw: Path, tmp_path: Path, unrecorded: None) -> None:
    raw = tmp_path / "raw"
    for name in ("olid", "hate_speech"):
        shutil.copytree(invented_raw / name, raw / name)

    def sums(out: str) -> dict[str, str]:
        manifest = build("boss", "td_candidates", raw, tmp_path / out, partial=True).manifest
        return {file.path: file.sha256 for source in manifest.sources.values() for file in source.files}

    before = sums("before")
    assert {"olid/OLIDv1.0/labels-levela.csv", "hate_speech/all_files"} <= set(before)
    for path in (raw / "olid/OLIDv1.0/labels-levela.csv", raw / "hate_speech/all_files/0_1.txt"):
        path.write_text(path.read_text().replace("NOT", "OFF").replace("n", "m"))
    after = sums("after")
    changed = {place for place in before if after[place] != before[place]}
    assert changed == {"olid/OLIDv1.0/labels-levela.csv", "hate_speech/all_files"}


def test_inference(suite: DatasetFolder) -> None:
    for task, domain in (("nli", "mnli"), ("nli", "anli"), ("nli", "wanli"), ("nli_candidates", "snli")):
        assert set(MISSING) <= set(texts(suite, task, domain, column="hypothesis")), domain
    mnli = suite.split("nli", "mnli", "test")
    assert len(mnli) == 14  # a pair twice stays
    assert mnli.select("premise", "hypothesis").is_duplicated().sum() == 2
    assert mnli["id"].n_unique() == 14
    contracts = suite.split("nli", "contract_nli", "test")
    assert (len(contracts), contracts["group"].n_unique()) == (34, 2)
    assert labels(suite, "nli", "contract_nli") == {"entailment": 11, "neutral": 12, "contradiction": 11}
    assert labels(suite, "nli_candidates", "bionli") == {"entailment": 3, "not_entailment": 6}
    assert not any("<" in text for text in texts(suite, "nli_candidates", "bionli", column="premise"))
    assert len(suite.split("nli_candidates", "cb", "test")) == 28
    assert set(labels(suite, "nli_candidates", "docnli")) == {"entailment", "not_entailment"}


def test_entities(suite: DatasetFolder) -> None:
    assert suite.task("ner").labels == suite.task("ner_candidates").labels
    for sentence in tagged(suite, "ner", "few_nerd"):
        tags = [tag for _, tag in sentence]
        # Two words of one fine type are one entity, the next of another fine type begins its own.
        assert tags == ["O", "O", "B-person", "I-person", "B-person", "B-miscellaneous", "O"]
    assert len(tagged(suite, "ner", "conll")) == 6
    for sentence in tagged(suite, "ner", "conll"):
        assert [tag for _, tag in sentence] == ["B-person", "B-person", "O", "B-organization"]
    assert suite.split("ner", "conll", "test")["group"].n_unique() == 2
    e_ner = tagged(suite, "ner", "e_ner")
    assert len(e_ner) == 6
    for sentence in e_ner:
        assert [token for token, _ in sentence][2:5] == ['""","""', '"""1,000"""', "\u0097"]
        organization = ["B-organization", "I-organization"]
        assert [tag for _, tag in sentence] == [*organization, "O", "O", "O", "B-person", "B-person"]
    assert len(tagged(suite, "ner", "wnut", "train")) == len(tagged(suite, "ner", "wnut")) == 6
    assert [tag for _, tag in tagged(suite, "ner", "wnut")[0]] == ["O", "B-art", "I-art", "B-organization"]
    crossner = tagged(suite, "ner_candidates", "crossner")
    assert len(crossner) == 5 * len(boss.tag_maps.CROSSNER)
    assert {tag[2:] for sentence in crossner for _, tag in sentence} - {""} == set(boss.tag_maps.TYPES) - {"building"}


def test_questions(suite: DatasetFolder) -> None:
    for task, domain in (("eqa", "newsqa"), ("eqa", "searchqa"), ("eqa_candidates", "trivia_qa")):
        rows = suite.split(task, domain, "test")
        assert (len(rows), rows["group"].n_unique()) == (6, 3)
        for context, answers in zip(rows["context"], rows["answers"], strict=True):
            text, start = answers["text"][0], answers["answer_start"][0]
            assert context[start : start + len(text)] == text
            assert text == context.split()[3]  # inclusive spans: the last character is there
    squad = suite.split("eqa", "squad", "test")
    assert set(squad["title"]) == {"Title_é_0", "Title_é_1"}
    assert all(len(answers["text"]) == 2 for answers in squad["answers"])  # all accepted answers, repeats too
    assert len(suite.split("eqa_candidates", "squad_shifts", "test")) == 24


def test_depths_go_from_what_has_train_rows_to_all(
    invented_raw: Path, tmp_path: Path, unrecorded: None, word_encoder: object
) -> None:
    build("boss", "td", invented_raw, tmp_path / "out", encoder=word_encoder, placebo=False)  # type: ignore[arg-type]
    folder = DatasetFolder.open(tmp_path / "out")
    folder.check()
    pairs = set(folder.task("td").depth_pairs)
    assert ("civil_comments", "adv_civil") in pairs
    assert not [pair for pair in pairs if pair[0] in ("adv_civil", "implicit_hate")]


def test_sizes_are_compared_with_the_papers(
    suite: DatasetFolder, capsys: pytest.CaptureFixture[str], wording: SnapshotAssertion
) -> None:
    sizes = {(size.domain, size.split): size for size in paper_sizes(suite.manifest, "nli")}
    assert sizes["mnli", "train"][2:4] == (14, 392_662)
    assert sizes["mnli", "train"].why == wording
    for task in suite.manifest.tasks:
        assert all(
            sum(part.rows for part in size.parts) == size.rows - size.paper
            for size in paper_sizes(suite.manifest, task)
        )
    show(build_lines(suite.path, suite.manifest, ()))
    assert "392,662" in capsys.readouterr().out
    assert "| mnli | train | 14 | 392,662 | +40: " in (suite.path / "README.md").read_text(encoding="utf-8")


def test_candidates_are_a_group_of_their_own(invented_raw: Path, tmp_path: Path, unrecorded: None) -> None:
    build("boss", "candidates", invented_raw, tmp_path / "out")
    tasks = DatasetFolder.open(tmp_path / "out").manifest.tasks
    assert list(tasks) == [f"{name}_candidates" for name in ("sa", "td", "nli", "ner", "eqa")]


def test_the_same_seed_gives_the_same_rows(
    invented_raw: Path, tmp_path: Path, unrecorded: None, suite: DatasetFolder
) -> None:
    build("boss", "sa", invented_raw, tmp_path / "sa")
    again = DatasetFolder.open(tmp_path / "sa").manifest.tasks["sa"]
    assert again.domains == suite.manifest.tasks["sa"].domains
    build("boss", "sa", invented_raw, tmp_path / "other", seed=1)
    other = DatasetFolder.open(tmp_path / "other").manifest.tasks["sa"]
    assert other.domains["amazon"] != again.domains["amazon"]
    assert other.domains["dynasent"] == again.domains["dynasent"]  # nothing of it is drawn


@pytest.mark.parametrize(
    ("task", "place", "cure"),
    [
        ("td", "implicit_hate", "fill in the form that https://github.com/SALT-NLP/implicit-hate links to"),
        ("td", "toxigen", "fill in the form at https://huggingface.co/datasets/toxigen/toxigen-data"),
        ("ner", "conll2003", "NIST gives licences"),
        ("td", "adv_civil", "fill in the forms that https://github.com/lifan-yuan/OOD_NLP asks for"),
    ],
)
def test_gated_and_closed_sources_say_how_to_get_them(
    invented_raw: Path, tmp_path: Path, unrecorded: None, task: str, place: str, cure: str
) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(invented_raw, raw, ignore=lambda folder, names: [place] if Path(folder) == invented_raw else [])
    with pytest.raises(InvalidInput, match=f"boss/{task} ") as caught:
        build("boss", task, raw, tmp_path / "out")
    assert cure in str(caught.value)
    assert f"RAW/{place}/" in str(caught.value)
    built = build("boss", task, raw, tmp_path / "out", partial=True)
    assert place.removesuffix("2003") in built.manifest.tasks[task].absent_domains


def test_rows_of_closed_licences_are_marked(suite: DatasetFolder) -> None:
    closed = {
        f"{name}.{domain}"
        for name, task in suite.manifest.tasks.items()
        for domain, facts in task.domains.items()
        if facts.rebuild_only and not name.endswith(".placebo")
    }
    assert {"sa.amazon", "td.adv_civil", "td.implicit_hate", "td.toxigen", "ner.conll", "eqa.newsqa"} <= closed
    assert not closed & {"sa.dynasent", "nli.mnli", "nli.anli", "ner.few_nerd", "eqa.squad", "td.civil_comments"}


def test_placebo_tasks_have_no_id_and_candidates_none(suite: DatasetFolder) -> None:
    names = [name for name in suite.manifest.tasks if name.endswith(".placebo")]
    assert names == [f"{name}.placebo" for name in ("sa", "td", "nli", "ner", "eqa")]
    assert all(suite.manifest.tasks[name].id_domain is None for name in names)
    pooled = suite.manifest.tasks["nli"].domains.values()
    dealt = suite.manifest.tasks["nli.placebo"].domains.values()
    assert sum(facts.splits["test"].rows for facts in dealt) == sum(facts.splits["test"].rows for facts in pooled)


def test_labels_that_upstream_does_not_know_leave_or_are_refused(
    invented_raw: Path, tmp_path: Path, unrecorded: None
) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(invented_raw / "wnut17", raw / "wnut17")
    path = raw / "wnut17/emerging.test.annotated"
    path.write_text(path.read_text().replace("B-group", "B-grup", 1))
    with pytest.raises(InvalidInput, match=r"column 'tags', row 1: .*'B-grup'.*'B-group'"):
        build("boss", "ner", raw, tmp_path / "out", partial=True)
