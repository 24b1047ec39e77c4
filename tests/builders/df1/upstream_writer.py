"""Upstream files for all eight pairings in their exact formats, traps included. Every text is invented."""

import json
from pathlib import Path

import numpy as np

GENRES = ("fiction", "government", "slate", "telephone", "travel")
LABELS = ("entailment", "neutral", "contradiction")
REVIEWS = {"baby": 5, "cell_phone": 5, "imdb": 10, "yelp2014": 5}
"""Folders of reviews, with the highest rating."""
SHARED_TEXT = "the same words in all four data sets"
SHARED_PREMISE = "The same premise in all five genres."
_WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty", "knoll", "larch")


class Writer:
    """A writer of the files; each text is made distinct by a running number."""

    def __init__(self, raw: Path) -> None:
        self.raw = raw
        self.rng = np.random.default_rng(0)
        self.number = 0

    def all(self) -> None:
        """Write everything."""
        for name, highest in REVIEWS.items():
            self.reviews(name, highest)
        self.multinli("train", 2_100)
        self.multinli("dev_matched", 1_050)

    def text(self, n_words: int = 6) -> str:
        self.number += 1
        return " ".join([f"n{self.number}", *self.rng.choice(_WORDS, n_words - 1).tolist()])

    def write(self, place: str, content: str) -> None:
        path = self.raw / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())

    def reviews(self, name: str, highest: int) -> None:
        """Write texts and ratings, in the form of line ends and decimals that the data set's turn makes it."""
        texts = [SHARED_TEXT, "", "  \t ", *(self.text() for _ in range(5_300))]
        texts[10] += "\u2028which is no line end\x0b, nor that \x85, nor a stray \r in between"
        texts[20] = texts[19]  # once in the data set, though rated twice
        end, decimal = ("\r\n", ".0") if name == "baby" else ("\n", "")
        ratings = [str(1 + row % highest) + decimal for row in range(len(texts))]
        self.write(f"das/large/{name}/text.txt", end.join(texts) + end)
        self.write(f"das/large/{name}/label.txt", end.join(ratings) + (end if name != "imdb" else ""))

    def multinli(self, section: str, n_rows: int) -> None:
        """Write rows of all genres in turn, a premise for every three, some without a label, some of another genre."""
        rows = []
        for row in range(n_rows):
            for genre in GENRES:
                premise = SHARED_PREMISE if row < 3 else f"{genre} {section} premise {row // 3}"
                rows.append((genre, LABELS[row % 3], premise, self.text()))
        rows += [("verbatim", "neutral", self.text(), self.text()), ("travel", "-", self.text(), self.text()), rows[-1]]
        keys = ("genre", "gold_label", "sentence1", "sentence2")
        lines = (json.dumps(dict(zip(keys, row, strict=True))) for row in rows)
        self.write(f"multinli_1.0/multinli_1.0_{section}.jsonl", "".join(f"{line}\n" for line in lines))
