"""Whole real upstream files that lie beside the project: what is built of them, against readers written here."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from builders.building.build import Built, build
from builders.folder.reader import DatasetFolder

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
