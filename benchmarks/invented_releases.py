"""Synthetic files of BOSS's large data sets, at the published sizes, for measuring memory and time of builds.

Files have the release's format, number of rows and approximate words per row; MRQA's files lack the tokenised
context, which the build does not read. Word frequencies are like those of a language (few frequent, many rare); one row
in fifty is a near duplicate with an added word, and one in a hundred a duplicate. The small data sets are not included.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TextIO

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa

from shiftbench.builders.boss.sentiment import CATEGORIES

_SYLLABLES = [a + b for a in "bcdfglmnprstvw" for b in ("a", "e", "i", "o", "u", "er", "in", "on")]
_N_WORDS = 1_000_000
_WORDS_AT_ONCE = 1_000_000
_ARROW = pl.CompatLevel.oldest()


class _Texts:
    """A generator of synthetic texts."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._words = pl.Series([_word(number) for number in range(_N_WORDS)])

    def draw(self, n_texts: int, n_words: int) -> Iterator[str]:
        """Generate texts of about ``n_words`` words."""
        at_once = max(1, _WORDS_AT_ONCE // n_words)
        for start in range(0, n_texts, at_once):
            n_drawn = min(at_once, n_texts - start)
            lengths = self._rng.integers(max(1, n_words // 2), n_words + n_words // 2 + 1, n_drawn)
            words = self._words.gather((_N_WORDS * self._rng.random(int(lengths.sum())) ** 6).astype(np.uint32))
            lists = pa.ListArray.from_arrays(np.cumsum([0, *lengths]), words.to_arrow(compat_level=_ARROW))
            texts = pl.Series(pl.from_arrow(lists)).list.join(" ").to_list()
            fates, others = self._rng.random(n_drawn), self._rng.integers(n_drawn, size=n_drawn)
            for text, fate, other in zip(texts, fates, others, strict=True):
                if fate < 0.01:
                    yield texts[other]
                elif fate < 0.03:
                    yield texts[other] + f" {fate}"
                else:
                    yield text

    def repeated(self, n_rows: int, n_words: int, times: int) -> Iterator[str]:
        """Generate texts of about ``n_words`` words, each repeated ``times`` times."""
        return islice(chain.from_iterable([text] * times for text in self.draw(-(-n_rows // times), n_words)), n_rows)


def _word(number: int) -> str:
    """Spell a number in syllables, so that frequent words are short."""
    word = ""
    while True:
        number, syllable = divmod(number, len(_SYLLABLES))
        word += _SYLLABLES[syllable]
        if not number:
            return word


Writer = Callable[[Path, _Texts, float], None]


def _mrqa(folder: str, sizes: Mapping[str, int], n_words: int, times: int = 1) -> Writer:
    """Return a function that writes MRQA's JSON lines, with ``times`` questions per context."""

    def write(raw: Path, texts: _Texts, scale: float) -> None:
        for split, size in sizes.items():
            n_contexts = max(1, round(size * scale) // times)
            with _open_for_writing(raw / f"mrqa/{split}/{folder}.jsonl") as file:
                file.write('{"header": {}}\n')
                questions = texts.draw(n_contexts * times, 12)
                for number, context in enumerate(texts.draw(n_contexts, n_words)):
                    start = context.rfind(" ", 0, len(context) // 2) + 1
                    end = context.find(" ", start) % (len(context) + 1)
                    answers = [{"text": context[start:end], "char_spans": [[start, end - 1]]}]
                    qas = [
                        {"qid": f"{split}{number}-{of}", "question": question, "detected_answers": answers}
                        for of, question in enumerate(islice(questions, times))
                    ]
                    file.write(_json({"context": context, "qas": qas}) + "\n")

    return write


def _pairs(place: str, sizes: Mapping[str, int], n_words: tuple[int, int], times: int) -> Writer:
    """Return a function that writes sentence pairs as JSON lines, with ``times`` pairs per premise."""
    labels = ("entailment", "neutral", "contradiction")

    def write(raw: Path, texts: _Texts, scale: float) -> None:
        for split, size in sizes.items():
            n_rows = max(1, round(size * scale))
            with _open_for_writing(raw / place.format(split)) as file:
                pairs = zip(texts.repeated(n_rows, n_words[0], times), texts.draw(n_rows, n_words[1]), strict=True)
                for number, (premise, hypothesis) in enumerate(pairs):
                    row = {"gold_label": labels[number % 3], "sentence1": premise, "sentence2": hypothesis}
                    file.write(_json(row) + "\n")

    return write


def _docnli(raw: Path, texts: _Texts, scale: float) -> None:
    for split, size in {"train": 942_314, "test": 267_086}.items():
        n_rows = max(1, round(size * scale))
        with _open_for_writing(raw / f"docnli/{split}.json") as file:
            pairs = zip(texts.repeated(n_rows, 320, 4), texts.draw(n_rows, 50), strict=True)
            for number, (premise, hypothesis) in enumerate(pairs):
                label = ("entailment", "not_entailment")[number % 2]
                file.write("[" if number == 0 else ", ")
                file.write(_json({"premise": premise, "hypothesis": hypothesis, "label": label}))
            file.write("]\n")


def _contract_nli(raw: Path, texts: _Texts, scale: float) -> None:
    names = [f"nda-{number}" for number in range(17)]
    labels = {name: {"hypothesis": text} for name, text in zip(names, texts.draw(17, 15), strict=True)}
    choices = ("Entailment", "NotMentioned", "Contradiction")
    for split, size in {"train": 423, "test": 123}.items():
        annotations = [{"annotations": {name: {"choice": choices[at % 3]} for at, name in enumerate(names)}}]
        documents = [
            {"id": number, "text": text, "annotation_sets": annotations}
            for number, text in enumerate(texts.draw(max(2, round(size * scale)), 1_700))
        ]
        with _open_for_writing(raw / f"contract_nli/contract-nli/{split}.json") as file:
            file.write(_json({"documents": documents, "labels": labels}))


def _wanli(raw: Path, texts: _Texts, scale: float) -> None:
    for split, size in {"train": 102_885, "test": 5_000}.items():
        n_rows = max(1, round(size * scale))
        with _open_for_writing(raw / f"wanli/data/wanli/{split}.jsonl") as file:
            for premise, hypothesis in zip(texts.draw(n_rows, 18), texts.draw(n_rows, 10), strict=True):
                file.write(_json({"premise": premise, "hypothesis": hypothesis, "gold": "neutral"}) + "\n")


def _squad(raw: Path, texts: _Texts, scale: float) -> None:
    for split, size in {"train": 87_599, "dev": 10_570}.items():
        n_contexts = max(1, round(size * scale / 5))
        questions = texts.draw(5 * n_contexts, 11)
        paragraphs = []
        for number, context in enumerate(texts.draw(n_contexts, 120)):
            answer = {"text": context.split(" ")[0], "answer_start": 0}
            qas = [
                {"id": f"{split}{number}-{of}", "question": question, "answers": [answer]}
                for of, question in enumerate(islice(questions, 5))
            ]
            paragraphs.append({"context": context, "qas": qas})
        articles = [
            {"title": f"{split} {start}", "paragraphs": paragraphs[start : start + 40]}
            for start in range(0, len(paragraphs), 40)
        ]
        with _open_for_writing(raw / f"squad_v1/{split}-v1.1.json") as file:
            file.write(_json({"data": articles}))


def _civil_comments(raw: Path, texts: _Texts, scale: float) -> None:
    for place, size in (
        ("train-00000-of-00002", 902_437),
        ("train-00001-of-00002", 902_437),
        ("test-00000-of-00001", 97_320),
    ):
        comments = list(texts.draw(max(4, round(size * scale)), 50))
        toxicity = [0.9 if number % 12 == 0 else 0.1 for number in range(len(comments))]
        path = raw / f"civil_comments/{place}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pl.DataFrame({"text": comments, "toxicity": toxicity}).write_parquet(path, row_group_size=50_000)


def _amazon(raw: Path, texts: _Texts, scale: float) -> None:
    for category in CATEGORIES:
        with _open_for_writing(raw / f"amazon_5core/{category}_5.json") as file:
            for number, text in enumerate(texts.draw(max(10, round(25_000 * scale)), 75)):
                row = {"overall": float(1 + number % 5), "reviewText": text, "asin": f"B{number // 9}"}
                file.write(_json(row) + "\n")


def _dsc(raw: Path, texts: _Texts, scale: float) -> None:
    for split, size in {"train": 92_244, "test": 11_531}.items():
        with _open_for_writing(raw / f"dsc/{split}.tsv") as file:
            for number, text in enumerate(texts.draw(max(4, round(size * scale)), 90)):
                file.write(f"{text}\t{(1, -1)[number % 2]}\n")


def _yelp(raw: Path, texts: _Texts, scale: float) -> None:
    for split, size in {"train": 650_000, "test": 50_000}.items():
        with _open_for_writing(raw / f"yelp/yelp_review_full_csv/{split}.csv") as file:
            for number, text in enumerate(texts.draw(max(15, round(size * scale)), 130)):
                file.write(f'"{1 + number % 5}","{text}"\n')


@dataclass(frozen=True)
class Shape:
    """Data sets built together: a task of BOSS (None: all tasks), and the functions that write their files."""

    task: str | None
    writers: tuple[Writer, ...]


_MNLI = "multinli_1.0/multinli_1.0_{}.jsonl"
_SHAPES = {
    "DSC": Shape("sa_candidates", (_dsc,)),
    "Amazon": Shape("sa", (_amazon,)),
    "Civil Comments": Shape("td", (_civil_comments,)),
    "MultiNLI, ContractNLI, WANLI": Shape(
        "nli", (_pairs(_MNLI, {"train": 392_702, "dev_matched": 9_815}, (20, 10), 3), _contract_nli, _wanli)
    ),
    "DocNLI, SNLI": Shape(
        "nli_candidates",
        (_docnli, _pairs("snli/snli_1.0/snli_1.0_{}.jsonl", {"train": 549_367, "test": 9_824}, (14, 8), 3)),
    ),
    "SQuAD, NewsQA, SearchQA": Shape(
        "eqa",
        (
            _squad,
            _mrqa("NewsQA", {"train": 74_160, "dev": 4_212}, 500, 6),
            _mrqa("SearchQA", {"train": 117_384, "dev": 16_980}, 2_750),
        ),
    ),
    "HotpotQA, NaturalQuestions, TriviaQA": Shape(
        "eqa_candidates",
        (
            _mrqa("HotpotQA", {"train": 72_928, "dev": 5_901}, 170),
            _mrqa("NaturalQuestionsShort", {"train": 104_071, "dev": 12_836}, 150),
            _mrqa("TriviaQA-web", {"train": 61_688, "dev": 7_785}, 780),
        ),
    ),
    "Yelp": Shape("sa_candidates", (_yelp,)),
}
SHAPES: Mapping[str, Shape] = {
    **_SHAPES,
    "all of them": Shape(None, tuple(write for shape in _SHAPES.values() for write in shape.writers)),
}
"""Data sets built together, by their names."""


def write_release(shape: str, raw: Path, scale: float) -> int:
    """Write the upstream files of one shape into a folder.

    Args:
        shape: a key of ``SHAPES``.
        raw: the folder; created if missing.
        scale: share of the published rows.
    Returns: bytes of the files written.
    """
    texts = _Texts(seed=0)
    for write in SHAPES[shape].writers:
        write(raw, texts, scale)
    return sum(path.stat().st_size for path in raw.rglob("*") if path.is_file())


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _open_for_writing(path: Path) -> TextIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("w", encoding="utf-8")
