"""Readers on the real rows beside the project: how many there are, how many cannot be answered, or tagged."""

from pathlib import Path

import polars as pl
import pytest

from builders.readers.aspect_terms import aspect_terms
from builders.readers.squad import squad
from builders.reading.upstream_file import UpstreamFile
from builders.specs import Reader
from builders.transforms import keep_tagged

pytestmark = pytest.mark.real


def read(reader: Reader, path: Path) -> pl.DataFrame:
    with UpstreamFile(path) as file:
        return pl.concat(reader(file))


@pytest.mark.parametrize(
    ("path", "titles", "contexts", "questions", "unanswerable", "answers"),
    [
        ("squad_v1/train-v1.1.json", 16, 675, 2_775, 0, 2_775),
        ("squad_v1/dev-v1.1.json", 4, 240, 1_680, 0, 5_035),
        ("squad_v2/train-v2.0.json", 10, 694, 4_719, 348, 4_371),
        ("squad_v2/dev-v2.0.json", 6, 217, 1_905, 910, 3_065),
        ("squad_v2_cs224n/dev-v2.0.json", 14, 559, 5_452, 2_835, 9_171),
    ],
)
def test_squad(
    path: str, titles: int, contexts: int, questions: int, unanswerable: int, answers: int, real_raw: Path
) -> None:
    frame = read(squad, real_raw / path)
    n_answers = frame["answers"].struct.field("text").list.len()
    assert (frame["title"].n_unique(), frame["context"].n_unique()) == (titles, contexts)
    assert (frame.height, frame["question_id"].n_unique()) == (questions, questions)
    assert ((n_answers == 0).sum(), n_answers.sum()) == (unanswerable, answers)
    assert not frame["title"].str.contains("%").any()


@pytest.mark.parametrize(
    ("split", "sentences", "overlap", "unaligned", "tags"),
    [
        ("train", 2_000, 4, 2, {"O": 46_216, "T-NEG": 1_439, "T-NEU": 2_946, "T-POS": 2_205}),
        ("val", 500, 0, 0, {"O": 12_054, "T-NEG": 365, "T-NEU": 812, "T-POS": 582}),
        ("test", 500, 0, 1, {"O": 12_133, "T-NEG": 379, "T-NEU": 810, "T-POS": 549}),
    ],
)
def test_mams(split: str, sentences: int, overlap: int, unaligned: int, tags: dict[str, int], real_raw: Path) -> None:
    frame = read(aspect_terms, real_raw / "mams" / "MAMS-ATSA" / "raw" / f"{split}.xml")
    assert frame.height == sentences
    assert frame["refused"].drop_nulls().value_counts().sort("refused", descending=True).rows() == [
        (reason, n) for reason, n in (("terms overlap", overlap), ("a term does not align with words", unaligned)) if n
    ]
    tagged = keep_tagged().apply(frame)
    assert tagged.height == sentences - overlap - unaligned
    assert (tagged["tokens"].list.len() == tagged["tags"].list.len()).all()
    assert dict(sorted(tagged["tags"].explode().value_counts().rows())) == tags
