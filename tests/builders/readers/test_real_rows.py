"""Readers on the real rows beside the project: how many there are, of which labels, and which cannot be used."""

from pathlib import Path

import polars as pl
import pytest

from shiftbench.builders.boss import tag_maps
from shiftbench.builders.readers.aspect_terms import aspect_terms
from shiftbench.builders.readers.contract_nli import contract_nli
from shiftbench.builders.readers.delimited import quoted_csv
from shiftbench.builders.readers.squad import squad
from shiftbench.builders.readers.text_folder import listed_texts
from shiftbench.builders.readers.token_lines import token_lines
from shiftbench.builders.specs.spec import Reader, Transform
from shiftbench.builders.specs.tagging import bio_tags
from shiftbench.builders.specs.transforms import keep_tagged
from shiftbench.builders.specs.upstream_file import UpstreamFile

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


TAB, SPACE = token_lines(), token_lines(" ")


@pytest.mark.parametrize(
    ("path", "reader", "step", "sentences", "documents", "entities"),
    [
        ("wnut17/wnut17train.conll", TAB, bio_tags(tag_maps.WNUT, "bio"), 3_394, 3_394, 1_975),
        ("wnut17/emerging.dev.conll", TAB, bio_tags(tag_maps.WNUT, "bio"), 1_009, 1_009, 836),
        ("wnut17/emerging.test.annotated", TAB, bio_tags(tag_maps.WNUT, "bio"), 1_287, 1_287, 1_079),
        ("few_nerd/inter/train.txt", TAB, bio_tags(tag_maps.FEW_NERD, "io"), 2_500, 2_500, 5_886),
        ("few_nerd/inter/test.txt", TAB, bio_tags(tag_maps.FEW_NERD, "io"), 2_000, 2_000, 3_892),
        ("e_ner/edgar_all_4.csv", SPACE, bio_tags(tag_maps.E_NER, "iob1"), 1_815, 12, 1_574),
        ("crossner/ner_data/ai/test.txt", TAB, bio_tags(tag_maps.CROSSNER, "bio"), 431, 431, 1_809),
        ("crossner/ner_data/literature/test.txt", TAB, bio_tags(tag_maps.CROSSNER, "bio"), 416, 416, 2_266),
        ("crossner/ner_data/music/test.txt", TAB, bio_tags(tag_maps.CROSSNER, "bio"), 465, 465, 3_336),
        ("crossner/ner_data/politics/test.txt", TAB, bio_tags(tag_maps.CROSSNER, "bio"), 651, 651, 4_209),
        ("crossner/ner_data/science/test.txt", TAB, bio_tags(tag_maps.CROSSNER, "bio"), 543, 543, 3_089),
    ],
)
def test_entities(
    path: str, reader: Reader, step: Transform, sentences: int, documents: int, entities: int, real_raw: Path
) -> None:
    frame = step.apply(read(reader, real_raw / path))
    assert (frame.height, frame["document"].n_unique()) == (sentences, documents)
    assert (frame["tokens"].list.len() == frame["tags"].list.len()).all()
    tags = frame["tags"].explode()
    assert tags.str.starts_with("B-").sum() == entities
    assert set(tags.str.replace("^[BI]-", "")) <= {"O", *tag_maps.TYPES}


def test_tokens_of_filings_keep_their_quotes(real_raw: Path) -> None:
    tokens = read(SPACE, real_raw / "e_ner" / "edgar_all_4.csv")["tokens"].explode()
    assert (len(tokens), tokens.str.contains('"').sum(), tokens.str.contains("\x97").sum()) == (62_558, 3_152, 7)
    assert "-DOCSTART-" not in tokens


@pytest.mark.parametrize(
    ("split", "documents", "choices"),
    [
        ("dev", 15, {"Contradiction": 16, "Entailment": 129, "NotMentioned": 110}),
        ("test", 25, {"Contradiction": 40, "Entailment": 179, "NotMentioned": 206}),
    ],
)
def test_contracts(split: str, documents: int, choices: dict[str, int], real_raw: Path) -> None:
    frame = read(contract_nli, real_raw / "contract_nli" / "contract-nli" / f"{split}.json")
    assert (frame.height, frame["hypothesis"].n_unique()) == (17 * documents, 17)
    assert frame["document"].n_unique() == documents
    assert dict(sorted(frame["choice"].value_counts().rows())) == choices


def test_posts_in_a_folder(real_raw: Path) -> None:
    reader = listed_texts("file_id", "label", folder="all_files")
    frame = read(reader, real_raw / "hate_speech" / "annotations_metadata.csv")
    counts = {"hate": 100, "idk/skip": 20, "noHate": 100, "relation": 20}
    assert dict(sorted(frame["label"].value_counts().rows())) == counts
    assert (frame["file_id"].n_unique(), frame["text"].str.contains(r"\S").all()) == (240, True)


def test_tweets_that_span_lines(real_raw: Path) -> None:
    frame = read(quoted_csv("", "class", "tweet"), real_raw / "hsol" / "data" / "labeled_data.csv")
    assert dict(sorted(frame["class"].value_counts().rows())) == {"0": 300, "1": 300, "2": 300}
    assert (frame[""].n_unique(), frame["tweet"].str.contains("[\r\n]").sum()) == (900, 59)
