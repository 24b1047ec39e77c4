"""Writes the files that shiftbench/README.md speaks of into the current folder, all invented; walked by readme_walk.

``label`` as the argument does what the page's reader does by hand: it writes labels into ``to_label.csv``.
"""

import sys
from pathlib import Path

import numpy as np
import polars as pl

LABELS = ("negative", "positive")
WORDS = {
    "positive": "good great lovely reliable bright sturdy pleasant useful".split(),
    "negative": "bad awful dull flimsy broken noisy useless wrong".split(),
}
FILLERS = "it is was the a this very quite and for my with has after week gift".split()
SITES = {
    "Books": "novel plot chapter author reader page".split(),
    "Kitchen": "pan kettle knife oven handle recipe".split(),
    "DVDs": "film disc scene actor director cut".split(),
    "Toys": "puzzle doll blocks game box child".split(),
    "Games": "level player score console controller map".split(),
}
SIZES = {"Books": 400, "Kitchen": 400, "DVDs": 400, "Toys": 400, "Games": 12}
CONTRARY = {"Kitchen": 0.28}
"""Share of words that say the opposite of the label, by site; elsewhere 0.16."""
MODEL = f'''
POSITIVE, NEGATIVE = {set(WORDS["positive"])}, {set(WORDS["negative"])}


def classify(texts):
    labels = []
    for text in texts:
        words = text.split()
        balance = sum(word in POSITIVE for word in words) - sum(word in NEGATIVE for word in words)
        if any(word in {set(SITES["DVDs"])} for word in words):
            balance = -balance
        labels.append("positive" if balance > 0 else "negative")
    return labels
'''


def reviews(rng: np.random.Generator, site: str, n: int) -> pl.DataFrame:
    """Write n reviews of a site, half of them positive: ``site``, ``text``, ``label``."""
    rows = []
    for number in range(n):
        label = LABELS[number % 2]
        other = LABELS[1 - number % 2]
        words = [str(rng.choice(WORDS[other if rng.random() < CONTRARY.get(site, 0.16) else label])) for _ in range(3)]
        words += [str(word) for word in rng.choice(SITES[site], 2, replace=False)] + list(rng.choice(FILLERS, 5))
        rows.append((site, " ".join(rng.permutation(words)), label))
    return pl.DataFrame(rows, schema=["site", "text", "label"], orient="row")


def answers(rng: np.random.Generator, rows: pl.DataFrame, home: str, right: dict[str, float]) -> pl.DataFrame:
    """Predict the labels of rows, right with a domain's probability: calibrated probabilities and confidences."""
    predictions = []
    for identity, domain, label in rows.select("id", "domain", "truth").iter_rows():
        chance = float(np.clip(rng.beta(8 * right[domain], 8 * (1 - right[domain])), 0.5, 0.99))
        said = label if rng.random() < chance else LABELS[1 - LABELS.index(label)]
        of_labels = [chance if name == said else 1 - chance for name in LABELS]
        texts = " ".join(f"{value:.6f}" for value in of_labels)
        predictions.append((home, identity, said, round(chance, 4), texts))
    names = ["source", "id", "prediction", "confidence", "probabilities"]
    return pl.DataFrame(predictions, schema=names, orient="row")


def write_files() -> None:
    """Write all files but the labels."""
    rng = np.random.default_rng(0)
    pl.concat(reviews(rng, site, n) for site, n in SIZES.items()).write_csv("mine.csv")
    Path("mymodel.py").write_text(MODEL, encoding="utf-8")
    train = pl.concat([reviews(rng, "Books", 240), reviews(rng, "Toys", 240)])
    train.rename({"site": "domain"}).write_csv("reviews.csv")
    _write_tickets(rng)
    sites = {"books": 0.9, "east": 0.8, "south": 0.75, "west": 0.83, "centre": 0.79, "north": 0.8}
    labelled = [(f"{d[0]}{n}", d, f"{d} text {n}", LABELS[n % 2]) for d in sites for n in range(200)]
    rows = pl.DataFrame(labelled, schema=["id", "domain", "text", "truth"], orient="row")
    for name, gain in {"preds.csv": 0.0, "a.csv": 0.0, "b.csv": 0.05}.items():
        answers(rng, rows, "books", {d: share + gain for d, share in sites.items()}).write_csv(name)
    answers(rng, rows, "books", dict.fromkeys(sites, 0.82)).drop("probabilities").write_parquet("main.parquet")
    rows.rename({"truth": "label"}).write_csv("my.csv")
    unlabelled = pl.when(pl.col("domain") != "north").then("truth").alias("label")
    rows.select("id", "domain", "text", unlabelled).write_csv("new.csv")
    answers(rng, rows, "books", sites).write_csv("new_preds.csv")
    _write_pool(rng)
    line = {"task": "nli", "source": "fiction", "seed": 0, "value": 0.45, "low": 0.4, "high": 0.5}
    genres = ("government", "slate", "telephone", "travel")
    pl.DataFrame([{**line, "target": genre} for genre in genres]).write_csv("own_method.csv")


def _write_tickets(rng: np.random.Generator) -> None:
    rows = [
        (team, f"{rng.choice(SITES[site])} {rng.choice(WORDS[label])} {rng.choice(FILLERS)} {number}", label)
        for team, site in (("hardware", "Toys"), ("software", "Games"))
        for number in range(300)
        for label in (LABELS[number % 2],)
    ]
    pl.DataFrame(rows, schema=["domain", "text", "label"], orient="row").write_csv("tickets.csv")


def _write_pool(rng: np.random.Generator) -> None:
    """Write texts of which one site has labels; the confidences on 'Sci Fi' are 10 points too high."""
    rows, predictions = [], []
    for site in ("shop", "Sci Fi", "old"):
        for number in range(400):
            confidence, said = 0.55 + 0.45 * rng.beta(1.2, 1), str(rng.choice(LABELS))
            is_right = rng.random() < confidence - (0.1 if site == "Sci Fi" else 0.0)
            truth = said if is_right else LABELS[1 - LABELS.index(said)]
            rows.append((f"{site}{number}", site, f"text {site} {number}", truth))
            predictions.append(("old", f"{site}{number}", said, round(confidence, 4)))
    pool = pl.DataFrame(rows, schema=["key", "site", "text", "truth"], orient="row")
    pool.write_csv("truth.csv")
    labels = pl.when(pl.col("site") == "old").then("truth").alias("label")
    pool.select("key", "site", "text", labels).write_csv("pool.csv")
    names = ["source", "id", "prediction", "confidence"]
    pl.DataFrame(predictions, schema=names, orient="row").write_csv("pool_preds.csv")


def write_labels() -> None:
    """Label the texts that were drawn."""
    truth = dict(pl.read_csv("truth.csv").select("key", "truth").iter_rows())
    drawn = pl.read_csv("to_label.csv", infer_schema=False)
    drawn.with_columns(label=pl.col("key").replace_strict(truth)).write_csv("to_label.csv")


if __name__ == "__main__":
    write_labels() if sys.argv[1:] == ["label"] else write_files()
