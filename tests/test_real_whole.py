"""Whole real upstream files that lie beside the project: what is built of them, against readers written here."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from shiftbench.builders import boss
from shiftbench.builders.building import build as build_module
from shiftbench.builders.building.build import Built, build, choose_tasks
from shiftbench.builders.building.check import check_files
from shiftbench.builders.folder.paper_sizes import paper_sizes
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.report import InvalidInput

pytestmark = pytest.mark.real

Sentence = tuple[tuple[str, ...], tuple[str, ...]]
FILES = {"device": "device", "laptops": "laptop", "restaurants": "rest", "service": "service"}
SIZES = {"device": 1279, "laptops": 800, "restaurants": 2158, "service": 747, "mams": 499}


@pytest.fixture(scope="module")
def aspects(real_whole: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[DatasetFolder, Built]:
    out = tmp_path_factory.mktemp("whole") / "dr"
    built = build("dr", "ab", real_whole, out, placebo=False)
    return DatasetFolder.open(out), built


def sentences(path: Path) -> list[Sentence]:
    """Read tagged text independently: after the last '####', words and tags parted at the last '='."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        pairs = [item.rsplit("=", 1) for item in line.split("####")[-1].split(" ") if item]
        words = [(pair[0], pair[1] if len(pair) == 2 else "O") for pair in pairs if pair[0]]
        if words:
            found.append((tuple(word for word, _ in words), tuple(tag for _, tag in words)))
    return found


def rows(folder: DatasetFolder, domain: str, *splits: str) -> list[Sentence]:
    names = folder.task("ab").labels
    return [
        (tuple(tokens), tuple(names[code] for code in tags))
        for split in splits
        for tokens, tags in folder.split("ab", domain, split).select("tokens", "tags").iter_rows()
    ]


def test_all_five_domains_of_ab_are_built_at_equal_sizes(aspects: tuple[DatasetFolder, Built]) -> None:
    folder, built = aspects
    assert not built.manifest.partial
    task = folder.task("ab")
    sizes = {domain: [facts.splits[split].rows for split in facts.splits] for domain, facts in task.domains.items()}
    assert {domain: size[-1] for domain, size in sizes.items()} == SIZES
    assert {tuple(size[:2]) for size in sizes.values()} == {(1191, 298)}
    mended = [(count.domain, count.split, count.name) for count in task.transforms if count.changed]
    assert mended == [("service", "test", "untagged_words_are_outside")]


@pytest.mark.parametrize("domain", FILES)
def test_sentences_of_ab_are_those_that_another_reader_finds(
    domain: str, aspects: tuple[DatasetFolder, Built], real_whole: Path
) -> None:
    folder, _ = aspects
    data = real_whole / "absa" / "data"
    train, test = (sentences(data / f"{FILES[domain]}_{split}.txt") for split in ("train", "test"))
    assert sorted(rows(folder, domain, "test")) == sorted(dict.fromkeys(test))
    ours, tested = rows(folder, domain, "train", "validation"), {tokens for tokens, _ in test}
    assert set(ours) <= {sentence for sentence in train if sentence[0] not in tested}
    assert len(ours) == len(set(ours))


def test_mams_has_every_sentence_whose_terms_stand_apart(
    aspects: tuple[DatasetFolder, Built], real_whole: Path
) -> None:
    folder, _ = aspects
    root = ElementTree.parse(real_whole / "mams/MAMS-ATSA/raw/test.xml").getroot()
    polarities = {"positive": "T-POS", "negative": "T-NEG", "neutral": "T-NEU"}
    wanted = sorted(
        sorted({polarities[term.attrib["polarity"]] for term in sentence.iter("aspectTerm")})
        for sentence in root.iter("sentence")
    )
    ours = sorted(sorted(set(tags) - {"O"}) for _, tags in rows(folder, "mams", "test"))
    assert len(wanted) == len(ours) + 1  # one sentence's terms overlap
    assert all(kinds in wanted for kinds in ours)


@pytest.mark.parametrize(
    "task",
    [
        "sa",
        "ner_candidates",
        pytest.param("td_candidates", marks=pytest.mark.long),
        pytest.param("eqa_candidates", marks=pytest.mark.long),
    ],
)
def test_differences_from_the_papers_sizes_add_up(task: str, real_whole: Path, tmp_path: Path) -> None:
    """What is left of whole files when absent files, cuts and the authors' code are told is nothing."""
    manifest = build("boss", task, real_whole, tmp_path / "out", partial=True, placebo=False).manifest
    assert not manifest.unverified
    found = {(size.domain, size.split): size for size in paper_sizes(manifest, task)}
    for size in found.values():
        assert sum(part.rows for part in size.parts) == size.rows - size.paper
        assert "according to the paper's size" not in size.why
    for domain, facts in manifest.tasks[task].domains.items():
        steps = [step for step in manifest.tasks[task].transforms if step.domain == domain]
        n_read = sum(file.rows or 0 for files in facts.upstream.values() for file in files)
        n_left = sum(step.before - step.after for step in steps)
        assert n_read - n_left == sum(split.rows for split in facts.splits.values())
    if task == "eqa_candidates":
        assert found["squad_shifts", "test"].why == "-10,065: squadshifts/nyt_v1.0.json was missing"


def test_dr_sizes_add_up(aspects: tuple[DatasetFolder, Built]) -> None:
    found = paper_sizes(aspects[1].manifest, "ab")
    assert {(size.rows, size.paper) for size in found} == {(1191, 2000), (298, 500)}
    assert all(sum(part.rows for part in size.parts) == size.rows - size.paper for size in found)
    assert {size.why for size in found if size.domain == "service"} == {
        "-809: only 1,191 rows to sample from",
        "-202: only 298 rows to sample from",
    }


def test_sst_with_dev_appended_is_refused_and_explained(real_whole: Path, tmp_path: Path) -> None:
    trees = tmp_path / "raw" / "sst" / "trees"
    trees.mkdir(parents=True)
    for name, parts in (("train", ("train", "dev")), ("test", ("test",))):
        text = "".join((real_whole / f"sst/trees/{part}.txt").read_text(encoding="utf-8") for part in parts)
        (trees / f"{name}.txt").write_text(text, encoding="utf-8")
    (sst,) = [domain for domain in boss.sentiment.SA.domains if domain.name == "sst"]
    alone = replace(boss.sentiment.SA, domains=(sst,), id_domain="sst")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(build_module.BENCHMARKS, "boss", ("BOSS", (alone,)))  # type: ignore[misc]
        with pytest.raises(
            InvalidInput, match="found 9,645 rows, recorded 8,544; rows of another file may have been appended"
        ):
            build("boss", "sa", tmp_path / "raw", tmp_path / "out")
        manifest = build("boss", "sa", tmp_path / "raw", tmp_path / "out", partial=True, placebo=False).manifest
    train = next(size for size in paper_sizes(manifest, "sa") if size.split == "train")
    assert train.parts[0] == (1_101, "sst/trees/train.txt has 9,645 rows, 8,544 are recorded")
    n_left = 4_540 - train.parts[1].rows
    assert train.parts[1].why == f"{n_left:,} rows dropped by label_from_root here, 4,540 according to the paper's size"


def test_every_whole_file_is_verified_by_its_checksum(real_whole: Path) -> None:
    files = check_files(choose_tasks(None, None), [real_whole])
    files = [file for file in files if file.state not in ("missing", "closed")]
    assert len(files) == 31
    assert {(file.state, file.verified) for file in files} == {("whole", "checksum")}


@pytest.mark.long
@pytest.mark.parametrize("task", ["nli", "ner", "eqa", "td_candidates", "nli_candidates", "eqa_candidates"])
def test_differences_of_slices_add_up(task: str, real_raw: Path, tmp_path: Path) -> None:
    manifest = build("boss", task, real_raw, tmp_path / "out", partial=True, placebo=False).manifest
    for size in paper_sizes(manifest, task):
        assert sum(part.rows for part in size.parts) == size.rows - size.paper
    if task == "ner":
        wnut = {size.split: size.why for size in paper_sizes(manifest, task) if size.domain == "wnut"}
        assert all(why.startswith("-1: the authors' code: counts an empty sentence") for why in wnut.values())
