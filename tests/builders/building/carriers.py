"""One release in several carriers: packed, written again as JSON of another form, and in the Hub's shape.

The Hub's shape is what the README of each repository says of its Parquet files: columns, labels as numbers, no votes of
annotators, of MultiNLI no unlabelled rows. Their rows are written in the release's form by what fetching uses.
"""

import gzip
import json
import random
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from shiftbench.builders.dr.questions import DOMAINS
from shiftbench.builders.fetching.hub import find_writer
from shiftbench.builders.specs.sources import find_source
from shiftbench.builders.tables import squad_titles

Row = dict[str, Any]
LABELS = ("entailment", "neutral", "contradiction")
GENRES = ("fiction", "government", "slate", "telephone", "travel")
TITLES = tuple(title for name in DOMAINS for title in squad_titles(name)[:4])


class Release(NamedTuple):
    """A source: the task that reads it, its files by upstream split, and the rows of one of them as text and back."""

    benchmark: str
    task: str
    slug: str
    files: Mapping[str, tuple[str, ...]]

    @property
    def is_squad(self) -> bool:
        return self.slug.startswith("squad")


RELEASES = {
    "mnli": Release("dr", "nli", "multinli_1.0", {
        "train": ("multinli_1.0/multinli_1.0_train.jsonl",), "test": ("multinli_1.0/multinli_1.0_dev_matched.jsonl",),
    }),
    "snli": Release("boss", "nli_candidates.snli", "snli", {
        split: (f"snli/snli_1.0/snli_1.0_{split}.jsonl",) for split in ("train", "test")
    }),
    "anli": Release("boss", "nli.anli", "anli", {
        split: tuple(f"anli/anli_v1.0/R{n}/{split}.jsonl" for n in (1, 2, 3)) for split in ("train", "test")
    }),
    "squad_v1": Release("boss", "eqa.squad", "squad_v1", {
        "train": ("squad_v1/train-v1.1.json",), "test": ("squad_v1/dev-v1.1.json",),
    }),
    "squad_v2": Release("dr", "qa", "squad_v2", {"train": ("squad_v2/train-v2.0.json", "squad_v2/dev-v2.0.json")}),
}  # fmt: skip


def invented_rows(release: Release, place: str, n_rows: int, seed: int) -> list[Row]:
    """Invent rows of a file in the release's own keys; of SQuAD a question a row."""
    rng = random.Random(f"{place}/{seed}")
    words = (
        "amber",
        "birch",
        "“cedar”",
        "delta’s",
        "ember\\n",
        "fjörd",
        "grove\t",
        "heath \u2028",
        "日本",
        "knoll",
        "I",
        "I'm",
    )
    rows: list[Row] = []
    for number in range(n_rows):
        text = " ".join(rng.choices(words, k=6)).strip() + f" {place[-12:-6]} {number // 2}"
        other = " ".join(rng.choices(words, k=3)).strip() + f" {number}"
        if release.is_squad:
            context = f"{text} is {other}."
            start = len(text) + 4
            answers = [{"text": other, "answer_start": start}, {"text": text, "answer_start": 0}][: number % 3]
            rows.append(
                {
                    "id": f"q{number}",
                    "title": TITLES[number % len(TITLES)],
                    "context": context,
                    "question": f"What is {text}?",
                    "answers": answers or [{"text": other, "answer_start": start}],
                }
            )
            if "v2" in release.slug and not number % 5:
                rows[-1]["answers"] = []
        elif release.slug == "anli":
            rows.append(
                {"uid": str(number), "context": text, "hypothesis": other, "label": "enc"[number % 3], "reason": "so"}
            )
        else:
            label = LABELS[number % 3] if place.endswith("train.jsonl") or number % 8 else "-"
            rows.append(
                {
                    "annotator_labels": [label, *rng.choices(LABELS, k=4)] if label != "-" else list(LABELS),
                    "genre": GENRES[number % 5],
                    "gold_label": label,
                    "pairID": f"{number}n",
                    "promptID": str(number),
                    "sentence1": text,
                    "sentence1_parse": "( x )",
                    "sentence2": other,
                }
            )
    return rows  # fmt: skip


def read_rows(release: Release, path: Path) -> list[Row]:
    """Read the rows of a file of a release."""
    if not release.is_squad:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    return [
        {"id": asked["id"], "title": article["title"], "context": paragraph["context"],
         "question": asked["question"], "answers": asked["answers"]}
        for article in json.loads(path.read_text(encoding="utf-8"))["data"]
        for paragraph in article["paragraphs"]
        for asked in paragraph["qas"]
    ]  # fmt: skip


def write_rows(release: Release, path: Path, rows: list[Row], **form: Any) -> None:
    """Write rows as the release does, or as JSON of another form, as ``json.dumps`` takes it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    form = {"ensure_ascii": False, **form}
    if not release.is_squad:
        path.write_text("".join(json.dumps(row, **form) + "\n" for row in rows), encoding="utf-8")
        return
    articles: dict[str, list[Row]] = {}
    for row in rows:
        asked = {"id": row["id"], "question": row["question"], "answers": row["answers"]}
        if "v2" in release.slug:
            asked["is_impossible"] = not row["answers"]
        articles.setdefault(row["title"], []).append({"context": row["context"], "qas": [asked]})
    data = [{"title": title, "paragraphs": paragraphs} for title, paragraphs in articles.items()]
    path.write_text(json.dumps({"version": "x", "data": data}, **form), encoding="utf-8")


def _as_gz(release: Release, place: str, rows: list[Row], raw: Path) -> None:
    write_rows(release, raw / place, rows)
    (raw / f"{place}.gz").write_bytes(gzip.compress((raw / place).read_bytes()))
    (raw / place).unlink()


def _as_zip(release: Release, place: str, rows: list[Row], raw: Path) -> None:
    write_rows(release, raw / place, rows)
    with zipfile.ZipFile(raw / f"{place}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(raw / place, "inside.json")
    (raw / place).unlink()


def _as_other_json(release: Release, place: str, rows: list[Row], raw: Path) -> None:
    """Write rows in another order, keys in another order, other spacing, letters beyond ASCII escaped."""
    turned = [dict(reversed(row.items())) for row in reversed(rows)]
    form = {"indent": 1} if release.is_squad else {"separators": (" , ", " : ")}
    write_rows(release, raw / place, turned, ensure_ascii=True, **form)


def hub_frame(release: Release, rows: list[Row]) -> pl.DataFrame:
    """Return rows in the shape of the Hub's Parquet files."""
    if release.is_squad:
        answers = [
            {"text": [a["text"] for a in row["answers"]], "answer_start": [a["answer_start"] for a in row["answers"]]}
            for row in rows
        ]
        kind = pl.Struct({"text": pl.List(pl.String), "answer_start": pl.List(pl.Int32)})
        plain = pl.DataFrame([{key: row[key] for key in ("id", "title", "context", "question")} for row in rows])
        return plain.with_columns(pl.Series("answers", answers, kind))
    if release.slug == "anli":
        renamed = {"uid": "uid", "context": "premise", "hypothesis": "hypothesis"}
        codes = [{label[0]: code for code, label in enumerate(LABELS)}[row["label"]] for row in rows]
    else:
        renamed = {"sentence1": "premise", "sentence2": "hypothesis"}
        if release.slug == "multinli_1.0":
            renamed |= {"genre": "genre", "promptID": "promptID", "pairID": "pairID"}
            rows = [row for row in rows if row["gold_label"] != "-"]
        codes = [LABELS.index(row["gold_label"]) if row["gold_label"] != "-" else -1 for row in rows]
    frame = pl.DataFrame([{new: row.get(old, "") for old, new in renamed.items()} for row in rows])
    return frame.with_columns(pl.Series("label", codes, pl.Int64))


def _as_hub(release: Release, place: str, rows: list[Row], raw: Path) -> None:
    (raw / place).parent.mkdir(parents=True, exist_ok=True)
    parquet = raw / "hub.parquet"
    hub_frame(release, rows).write_parquet(parquet)
    rows_as = {each.place: each.rows_as for each in find_source(release.slug).downloads if each.rows_as}
    write = find_writer(str(rows_as[place]))
    write([parquet], raw / place)
    parquet.unlink()


CARRIERS: Mapping[str, Callable[[Release, str, list[Row], Path], None]] = {
    "gz": _as_gz,
    "zip": _as_zip,
    "JSON of another form": _as_other_json,
    "Hub": _as_hub,
}
"""By name, what writes the rows of a file of a release below a folder, in another carrier."""


def _another_character(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text))
    return text[:at] + rng.choice([char for char in "aeiouy" if char != text[at]]) + text[at + 1 :]


def _relabel(release: Release, rng: random.Random, row: Row) -> Row:
    if release.is_squad:
        return row | {"answers": [{"text": row["context"][:2], "answer_start": 0}] if row["answers"] else []}
    key, names = ("label", list("enc")) if release.slug == "anli" else ("gold_label", list(LABELS))
    return row | {key: rng.choice([name for name in names if name != row[key]])}


def mutate(kind: str, release: Release, rng: random.Random, rows: list[Row]) -> list[Row]:
    """Change rows as a mistake might; rows without a label stay as they are."""
    gold = "answers" if release.is_squad else "label" if release.slug == "anli" else "gold_label"
    used = [number for number, row in enumerate(rows) if row[gold] not in ("-", [])]
    at = rng.choice(used)
    if kind == "a character of a text":
        # Words of the question or hypothesis: in a context an answer might no longer be where it says.
        key = (
            "question"
            if release.is_squad
            else rng.choice(sorted({"context", "hypothesis", "sentence1", "sentence2"} & {*rows[0]}))
        )
        return [*rows[:at], rows[at] | {key: _another_character(rng, rows[at][key])}, *rows[at + 1 :]]
    if kind == "a label":
        return [*rows[:at], _relabel(release, rng, rows[at]), *rows[at + 1 :]]
    if kind == "a row lost":
        return [*rows[:at], *rows[at + 1 :]]
    if kind == "a row doubled":
        return [*rows, rows[at]]
    assert kind == "labels of two rows exchanged"
    others = [number for number in used if rows[number][gold] != rows[at][gold]]
    if release.is_squad:  # an answer stands in its own context, so the questions change places
        others, gold = [number for number in used if rows[number]["question"] != rows[at]["question"]], "question"
    other = rng.choice(others)
    changed = list(rows)
    changed[at], changed[other] = rows[at] | {gold: rows[other][gold]}, rows[other] | {gold: rows[at][gold]}
    return changed


MUTATIONS = ("a character of a text", "a label", "a row lost", "a row doubled", "labels of two rows exchanged")
