"""Upstream files for all of Domain Robustness in their exact formats. Every text in them is invented."""

import csv
import gzip
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from shiftbench.builders.building import build as build_module
from shiftbench.builders.dr.questions import DOMAINS
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.specs.spec import Upstream
from shiftbench.builders.tables import squad_titles, subreddits

GENRES = ("fiction", "government", "slate", "telephone", "travel")
AMAZON = ("Appliances", "All_Beauty", "Books", "Video_Games", "Software")
CATEGORIES = ("Beauty", "Books", "Video_DVD", "Kitchen", "Sports", "Wireless")
ABSA = ("device", "laptop", "rest", "service")
TOPICS = ("drugs", "fitness", "lol", "politics", "relationships")
_WORDS = [
    *("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet"),
    *("jetty", "knoll", "larch", "marsh", "north", "ocean", "pines", "quarry", "ridge"),
]


class Writer:
    """A writer of a file of each source; each text is made distinct by a running number."""

    def __init__(self, raw: Path) -> None:
        self.raw = raw
        self.rng = np.random.default_rng(0)
        self.number = 0

    def words(self, n_words: int) -> list[str]:
        self.number += 1
        return [f"n{self.number}", *self.rng.choice(_WORDS, n_words - 1).tolist()]

    def text(self, n_words: int) -> str:
        return " ".join(self.words(n_words))

    def path(self, place: str) -> Path:
        path = self.raw / place
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def json_lines(self, place: str, rows: list[dict[str, object]]) -> None:
        content = "".join(json.dumps(row) + "\n" for row in rows).encode()
        path = self.path(place)
        if path.suffix == ".zip":
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("corpus-webis-tldr-17.json", content)
        else:
            path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)

    def multinli(self) -> None:
        for place, n_rows in {"train": 63, "dev_matched": 12}.items():
            rows = [
                {
                    "gold_label": ("entailment", "neutral", "contradiction")[number % 3],
                    "genre": genre,
                    "sentence1": f"{place} {genre} {number // 3} {self.rng.choice(_WORDS)}",
                    "sentence2": self.text(4),
                }
                for genre in GENRES
                for number in range(n_rows)
            ]
            rows.append({**rows[0], "gold_label": "-", "sentence2": "nobody agreed"})
            self.json_lines(f"multinli_1.0/multinli_1.0_{place}.jsonl", rows)

    def amazon(self) -> None:
        for category in AMAZON:
            rows: list[dict[str, object]] = [
                {
                    "overall": (1.0, 2.0, 4.0, 5.0, 5.0, 3.0)[number % 6],
                    "verified": True,
                    "reviewTime": "01 1, 2018",
                    "reviewerID": f"R{number}",
                    "asin": f"B{number // 2}",
                    "reviewText": f"{self.text(6)} http://shop.example/{number}",
                    "summary": "Five Stars",
                    "unixReviewTime": 1514764800,
                }
                for number in range(240)
            ]
            rows.append({key: value for key, value in rows[0].items() if key != "reviewText"})
            rows += [{**rows[1], "asin": f"C{number}"} for number in range(20)]  # one text of many products
            rows.append({**rows[2], "overall": 1.0})  # one text with both labels
            self.json_lines(f"amazon/{category}.json.gz", rows)

    def airline(self) -> None:
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(["airline_name", "link", "title", "author", "content", "overall_rating", "recommended"])
        for number in range(200):
            content = f'{self.text(5)}, "very" odd\nsecond line' if number % 9 == 0 else self.text(7)
            writer.writerow([f"air-{number // 4}", "/x", "t", "a", content, "", number % 2])
        self.path("airline/airline.csv").write_text(text.getvalue(), encoding="utf-8")

    def absa(self) -> None:
        for name in ABSA:
            for split, n_rows in {"train": 30 if name == "service" else 60, "test": 15}.items():
                lines = []
                for _ in range(n_rows):
                    tokens = self.words(6)
                    items = [f"{token}={'T-POS' if at == 2 else 'O'}" for at, token in enumerate(tokens)]
                    lines.append(f"{' '.join(tokens)}####{' '.join(items)} a=b=T-NEG =O")
                self.path(f"absa/data/{name}_{split}.txt").write_bytes("\r\n".join([*lines, ""]).encode())

    def mams(self) -> None:
        for split, n_rows in {"train": 60, "val": 12, "test": 15}.items():
            sentences = []
            for _ in range(n_rows):
                words = self.words(6)
                text = " ".join(words) + " &amp; more."
                start = len(words[0]) + 1
                term = (
                    f'<aspectTerm from="{start}" polarity="negative" term="{words[1]}" to="{start + len(words[1])}"/>'
                )
                sentences.append(f"<sentence><text>{text}</text><aspectTerms>{term}</aspectTerms></sentence>")
            content = (
                '<?xml version="1.0" encoding="utf-8"?>\n<sentences>\n' + "\n".join(sentences) + "\n</sentences>\n"
            )
            self.path(f"mams/MAMS-ATSA/raw/{split}.xml").write_text(content, encoding="utf-8")

    def squad(self) -> None:
        articles = [
            self._article(title, at) for domain in DOMAINS for at, title in enumerate(squad_titles(domain)[:12])
        ]
        for split, part in {
            "train": [*articles[::2], self._article("Not in the map", 0)],
            "dev": articles[1::2],
        }.items():
            content = json.dumps({"version": "v2.0", "data": part})
            self.path(f"squad_v2/{split}-v2.0.json").write_text(content, encoding="utf-8")

    def _article(self, title: str, at: int) -> dict[str, object]:
        paragraphs = []
        for _ in range(2):
            words = self.words(12)
            context, start = " ".join(words), len(words[0]) + 1
            qas: list[dict[str, object]] = [
                {
                    "id": f"q{self.number}-{number}",
                    "question": self.text(3 + number),
                    "is_impossible": False,
                    "answers": [{"text": words[1], "answer_start": start}],
                }
                for number in range(6)
            ]
            if at % 3 == 0:  # documents without unanswerable questions are many
                qas += [
                    {
                        "id": f"q{self.number}-n{number}",
                        "question": self.text(5),
                        "is_impossible": True,
                        "answers": [],
                        "plausible_answers": [{"text": words[1], "answer_start": start}],
                    }
                    for number in range(6)
                ]
            paragraphs.append({"context": context, "qas": qas})
        return {"title": title.replace("é", "%C3%A9"), "paragraphs": paragraphs}

    def tldr(self) -> None:
        rows: list[dict[str, object]] = []
        for topic in TOPICS:
            for number in range(400):
                words = self.words(70)
                n_words = int(self.rng.integers(12, 64))
                summary = " ".join([*words[: n_words - 1], "unsaid"])
                rows.append(
                    {
                        "author": "[deleted]" if number % 5 == 0 else f"{topic}-{number // 2}",
                        "body": f"{' '.join(words)} TL;DR {summary}",
                        "normalizedBody": "",
                        "content": " ".join(words),
                        "content_len": len(words),
                        "summary": summary,
                        "summary_len": n_words,
                        "id": f"c{self.number}",
                        "subreddit": subreddits(topic)[number % 3],
                        "subreddit_id": "t5_x",
                    }
                )
        rows.append({key: value for key, value in rows[0].items() if key != "subreddit"})
        rows.append({**rows[1], "subreddit": "aww"})
        rows.append({**rows[2], "summary": "words that the post has nowhere " * 4})
        self.json_lines("tldr17/corpus-webis-tldr-17.zip", rows)

    def titles(self) -> None:
        header = (
            "marketplace\tcustomer_id\treview_id\tproduct_id\tproduct_parent\tproduct_title\tproduct_category\t"
            "star_rating\thelpful_votes\ttotal_votes\tvine\tverified_purchase\treview_headline\treview_body\treview_date"
        )
        for category in CATEGORIES:
            lines = [header]
            for number in range(900):
                words = self.words(25)
                headline = " ".join(words[: int(self.rng.integers(3, 23))]) + (" \"a 5'" if number % 7 == 0 else "")
                body = " ".join(words) + " a 5' \"quote"
                lines.append(
                    f"US\t1\tR{number}\tP{number}\t{number // 2}\tx\t{category}\t5\t0\t0\tN\tY\t"
                    f"{headline}\t{body}\t2015-01-01"
                )
            content = ("\n".join(lines) + "\n").encode()
            self.path(f"amazon_us/amazon_reviews_us_{category}_v1_00.tsv.gz").write_bytes(gzip.compress(content))

    def all(self) -> None:
        for write in (
            self.multinli,
            self.amazon,
            self.airline,
            self.absa,
            self.mams,
            self.squad,
            self.tldr,
            self.titles,
        ):
            write()


@pytest.fixture(scope="session")
def invented_raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every upstream file of Domain Robustness, small, with the traps of the real ones."""
    raw = tmp_path_factory.mktemp("invented")
    Writer(raw).all()
    return raw


@pytest.fixture(scope="session")
def benchmark(invented_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    """The whole benchmark, built from the invented files."""
    out = tmp_path_factory.mktemp("dr") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_module, "upstream", lambda: Upstream(files={}, rows={}))
        built = build_module.build("dr", None, invented_raw, out)
    assert built.failed == {}
    return DatasetFolder.open(out)
