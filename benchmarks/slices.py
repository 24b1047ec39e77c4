"""Error rates of ``check --find-domains``, the search for slices of texts with more errors.

In a *placebo* file, errors are independent of texts, lengths and columns, so every slice that is reported is false.
Texts of a group are dependent: each group has its own error probability, source, and value of a column. To measure
*recovery*, several sources are mixed and their names hidden; one of them has more errors, and the reported slice that
matches it best is compared with it.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.over_time import Share
from shiftbench.checking.found_domains import SearchedTexts, independent_groups
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.scoring.scores.slices import Texts

Ints = NDArray[np.int64]

WRONG, WRONG_THERE, ENOUGH = 0.1, 0.4, 0.75
"""Error rates of the other sources, and of the source with more errors; minimum purity and recall for recovery."""
_LEAST = 30
"""Minimum number of texts of a slice."""
_TEXTS = 1500
"""Texts of a placebo file."""
_FILES_EACH = 100
"""Number of files whose errors are sampled for the same texts."""
_OF_SOURCE = 300
"""Texts of each source in a mixed file."""
_DRAWS = 3
"""Number of error samples per source for the same texts."""
_SETTINGS = {
    "no groups, 15% wrong": (0.15, None, 0.0),
    "no groups, 3% wrong": (0.03, None, 0.0),
    "groups of 10, correlation .2": (0.15, (10, 10), 0.2),
    "groups of 1 to 40, correlation .2": (0.15, (1, 40), 0.2),
}
"""Share of errors, smallest and largest group, within-group correlation of errors."""


@dataclass(frozen=True)
class PlaceboCell:
    """False slices in placebo files of one setting.

    Attributes:
        setting: a key of ``_SETTINGS``.
        files: number of files.
        named: share of files with any reported slice.
        searched: share of files with a reported slice that was found by searching the errors.
    """

    setting: str
    files: int
    named: Share
    searched: Share


@dataclass(frozen=True)
class Recovery:
    """How well reported slices match one hidden source.

    Attributes:
        source: the source with more errors.
        files: number of files.
        named: share of files with any reported slice.
        purity, recall: share of the best slice that is from the source, and share of the source in that slice: means
            over files, 0 for files without a slice.
        recovered: share of files with purity and recall of at least ``ENOUGH``.
        slices: mean number of reported slices.
    """

    source: str
    files: int
    named: Share
    purity: float
    recall: float
    recovered: Share
    slices: float


def placebo_cells(n_files: int, seed: int, sources: Mapping[str, Sequence[str]]) -> Iterator[PlaceboCell]:
    """Search placebo files of each setting for slices.

    Args:
        n_files: files per setting.
        seed: seed of texts, groups and errors.
        sources: texts by source; synthetic ones if empty.
    """
    for number, (setting, (wrong, sizes, correlation)) in enumerate(_SETTINGS.items()):
        named, searched = [], []
        for start in range(0, n_files, _FILES_EACH):
            rng = np.random.default_rng([seed, number, start])
            texts, groups, columns = _grouped_texts(sources or invented_sources(rng), sizes, rng)
            place, codes = _prepared(texts, groups, columns)
            for each in range(min(_FILES_EACH, n_files - start)):
                chances = np.full(codes.max() + 1, wrong)
                if correlation > 0:
                    more = 1 / correlation - 1
                    chances = rng.beta(wrong * more, (1 - wrong) * more, chances.size)
                right = (rng.random(codes.size) >= chances[codes]).astype(np.float64)
                found, _ = place.find(Texts("accuracy", right, codes), seed=each)
                named.append(bool(found.slices))
                searched.append(any(slice_.kind == "errors" for slice_ in found.slices))
        yield PlaceboCell(setting, n_files, Share.of(np.array(named)), Share.of(np.array(searched)))


def recoveries(n_files: int, seed: int, sources: Mapping[str, Sequence[str]]) -> Iterator[Recovery]:
    """Mix the sources without their names, with more errors on one of them at a time, and search for slices.

    Args:
        n_files: files per source.
        seed: seed of texts and errors.
        sources: texts by source, at least two.
    """
    found: dict[str, list[tuple[float, float, int]]] = {name: [] for name in sources}
    for start in range(0, n_files, _DRAWS):
        rng = np.random.default_rng([seed, 100, start])
        drawn = [(name, text) for name, texts in sources.items() for text in _draw(texts, _OF_SOURCE, rng)]
        order = rng.permutation(len(drawn))
        names = np.array([drawn[row][0] for row in order])
        texts = [drawn[row][1] for row in order]
        place, codes = _prepared(texts, np.arange(len(texts)), pl.DataFrame())
        for source in sources:
            there = names == source
            for each in range(min(_DRAWS, n_files - start)):
                wrong = rng.random(codes.size) < np.where(there, WRONG_THERE, WRONG)
                _, masks = place.find(Texts("accuracy", (~wrong).astype(np.float64), codes), seed=each)
                matches = [((mask & there).sum() / mask.sum(), (mask & there).sum() / there.sum()) for mask in masks]
                best = max(matches, key=lambda match: match[0] * match[1] / max(sum(match), 1e-9), default=(0.0, 0.0))
                found[source].append((float(best[0]), float(best[1]), len(masks)))
    for source, rows in found.items():
        purity, recall, n_slices = np.array(rows).T
        yield Recovery(
            source,
            len(rows),
            Share.of(n_slices > 0),
            float(purity.mean()),
            float(recall.mean()),
            Share.of((purity >= ENOUGH) & (recall >= ENOUGH)),
            float(n_slices.mean()),
        )


def _prepared(texts: Sequence[str], groups: Ints, columns: pl.DataFrame) -> tuple[SearchedTexts, Ints]:
    frame = pl.DataFrame({"text": texts, "group": groups}).with_columns(
        pl.col("group").cast(pl.String), domain=pl.lit("a")
    )
    return SearchedTexts.of(texts, columns, None, _LEAST), independent_groups(frame)


def _draw(texts: Sequence[str], n: int, rng: np.random.Generator) -> list[str]:
    return [texts[row] for row in rng.permutation(len(texts))[:n]]


def _grouped_texts(
    sources: Mapping[str, Sequence[str]], sizes: tuple[int, int] | None, rng: np.random.Generator
) -> tuple[list[str], Ints, pl.DataFrame]:
    """Sample texts and their groups (each from one source), and columns to search, one of them constant in groups."""
    left = {name: _draw(texts, len(texts), rng) for name, texts in sources.items()}
    texts: list[str] = []
    groups: list[int] = []
    while len(texts) < _TEXTS:
        size = 1 if sizes is None else int(rng.integers(sizes[0], sizes[1] + 1))
        pool = left[str(rng.choice([name for name, pool in left.items() if len(pool) >= size]))]
        groups += [groups[-1] + 1 if groups else 0] * size
        texts += [pool.pop() for _ in range(size)]
    codes = np.array(groups)
    columns = pl.DataFrame(
        {
            "channel": rng.choice(["web", "app", "shop", "mail"], codes.size).tolist(),
            "client": [f"client {each}" for each in rng.integers(0, 6, codes.max() + 1)[codes]],
            "age": [str(each) for each in rng.integers(18, 90, codes.size)],
        }
    )
    return texts, codes, columns


def invented_sources(rng: np.random.Generator, n_sources: int = 5, n_texts: int = 1000) -> dict[str, list[str]]:
    """Generate texts of sources that differ in words and lengths."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = np.array(["".join(rng.choice(letters, rng.integers(2, 9))) for _ in range(500)])
    sources = {}
    for number in range(n_sources):
        chances, mean = rng.dirichlet(np.full(words.size, 0.2)), 6 * (number + 1)
        lengths = 1 + rng.poisson(mean, n_texts)
        sources[f"source {number}"] = [" ".join(rng.choice(words, length, p=chances)) for length in lengths]
    return sources


def read_sources(folders: Sequence[Path]) -> dict[str, list[str]]:
    """Read texts of up to seven sources from the available upstream files, without duplicates, in file order.

    Args:
        folders: folders of upstream files, with one folder per source, as for ``build --raw``.
    """
    readers: dict[str, tuple[str, Callable[[Path], Iterator[str]]]] = {
        "captions": ("snli/snli_1.0/snli_1.0_test.jsonl", _first_sentences),
        "telephone": ("mnli_genres/telephone_train.jsonl", _first_sentences),
        "government": ("mnli_genres/government_train.jsonl", _first_sentences),
        "filings": ("e_ner/edgar_all_4.csv", _token_sentences),
        "tweets": ("olid/OLIDv1.0/olid-training-v1.0.tsv", _tweets),
        "restaurants": ("mams/MAMS-ATSA/raw/train.xml", _marked_sentences),
        "films": ("sst/trees/train.txt", _tree_sentences),
    }
    sources = {}
    for name, (place, read) in readers.items():
        file = max(
            (folder / place for folder in folders if (folder / place).is_file()),
            key=lambda each: each.stat().st_size,
            default=None,
        )
        if file is not None:
            sources[name] = list(dict.fromkeys(filter(None, map(str.strip, read(file)))))
    return sources


def _first_sentences(file: Path) -> Iterator[str]:
    for line in file.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)["sentence1"]


def _token_sentences(file: Path) -> Iterator[str]:
    words: list[str] = []
    with file.open(encoding="utf-8", newline="") as stream:
        for row in csv.reader(stream):
            word = row[0].rsplit(" ", 1)[0] if row else ""
            if word and not word.startswith("-DOCSTART-"):
                words.append(word or '"')
            elif words:
                yield _joined(words)
                words = []


def _tweets(file: Path) -> Iterator[str]:
    for line in file.read_text(encoding="utf-8").splitlines()[1:]:
        yield line.split("\t")[1]


def _marked_sentences(file: Path) -> Iterator[str]:
    for text in re.findall(r"<text>(.*?)</text>", file.read_text(encoding="utf-8")):
        yield text.replace("&amp;", "&").replace("&quot;", '"').replace("&apos;", "'")


def _tree_sentences(file: Path) -> Iterator[str]:
    for line in file.read_text(encoding="utf-8").splitlines():
        words = re.findall(r"\(\d ([^()]+)\)", line)
        yield _joined([word.replace("-LRB-", "(").replace("-RRB-", ")") for word in words])


def _joined(words: Sequence[str]) -> str:
    """Join tokens to text without spaces before punctuation, which would reveal that the source was tokenised."""
    text = re.sub(r"\s+([,.;:!?%)\]'’]|n't\b)", r"\1", " ".join(words))
    return re.sub(r"([(\[$`])\s+", r"\1", text)


def slice_tables(placebos: Sequence[PlaceboCell], found: Sequence[Recovery]) -> list[PlainTable]:
    """Build the tables of placebo files and of recovered sources."""
    heads = ("random errors", "files", "with a slice, %", "found by searching errors, %")
    rows = [[each.setting, f"{each.files:,}", str(each.named), str(each.searched)] for each in placebos]
    tables = [PlainTable("Placebo files in which a slice is reported (target: at most 5%)", heads, rows)]
    if found:
        columns = ("source", "files", "with a slice, %", "purity, %", "recall, %", "recovered, %", "slices")
        rows = [
            [each.source, f"{each.files:,}", str(each.named), f"{100 * each.purity:.0f}", f"{100 * each.recall:.0f}",
             str(each.recovered), f"{each.slices:.1f}"]
            for each in found
        ]  # fmt: skip
        n = sum(each.recovered.share for each in found)
        title = (
            f"Sources with {WRONG_THERE:.0%} errors, {WRONG:.0%} elsewhere: best match among the reported slices; "
            f"{n:.1f} of {len(found)} recovered (purity and recall of at least {ENOUGH:.0%})"
        )
        tables.append(PlainTable(title, columns, rows))
    return tables
