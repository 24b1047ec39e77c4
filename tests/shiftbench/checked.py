"""A CSV and a model for tests of ``shiftbench check``: four domains, one of them hard for any model, one tiny."""

import re
from pathlib import Path

import numpy as np
import polars as pl

GOOD, BAD = ("great", "lovely", "superb", "fine"), ("dull", "awful", "weak", "tired")
TOPICS = {"Sci Fi": "ship star", "kitchen": "pan knife", "toys": "doll wheel", "garden": "soil hose"}
N, N_TINY = 160, 12
FLIPPED = {"kitchen": 0.3}
"""Share of texts whose words say the opposite of their label, where it is not 0.08."""


def rows(n: int = N) -> pl.DataFrame:
    """Rows with id, site, body and verdict; 'garden' has a dozen."""
    rng, found = np.random.default_rng(5), []
    for site, topic in TOPICS.items():
        for number in range(N_TINY if site == "garden" else n):
            is_good = bool(rng.random() < 0.5)
            said = is_good != (rng.random() < FLIPPED.get(site, 0.08))
            words = [*rng.choice(GOOD if said else BAD, 2), *topic.split(), f"w{rng.integers(500)}", f"{site} {number}"]
            found.append((f"{site[:2]}{number}", site, " ".join(words), "pos" if is_good else "neg"))
    return pl.DataFrame(found, schema=["key", "site", "body", "verdict"], orient="row")


def write_model(folder: Path) -> str:
    """Write a module whose function reads the words, and reads them the wrong way round about toys."""
    module = folder / "own_words_model.py"
    module.write_text(
        "def classify(texts):\n"
        f"    good = set({GOOD!r})\n"
        "    found = []\n"
        "    for text in texts:\n"
        "        words = set(text.split())\n"
        "        p = 0.9 if (words & good and 'doll' not in words) else 0.2\n"
        "        found.append({'pos': p, 'neg': 1 - p})\n"
        "    return found\n",
        encoding="utf-8",
    )
    return "own_words_model:classify"


def stable(text: str) -> str:
    """Return the sentences and headings of an output without decimals: no rows of tables, no hashes. Counts remain."""
    text = re.sub(r"\b(?=\d*[a-f])[0-9a-f]{12,}\b", "HASH", text)
    lines = [" ".join(re.sub(r"(?<!\w)[-+]?\d+(?:,\d+)*\.\d+", "N", line).split()) for line in text.splitlines()]
    return "\n".join(line for line in lines if line and not _is_row(re.sub(r"(?<!\w)[-+]?\d+(?:[.,]\d+)*", "N", line)))


def _is_row(line: str) -> bool:
    """Return whether a line is a rule or a row of a table: at most every second of its words is not a number."""
    cells = line.replace("[", "").replace("]", "").replace(",", "").split()
    numbers = sum(cell.strip("*%") in ("N", "n/a", "floor", "<", "to") for cell in cells)
    return set(line) <= {"─", " "} or 2 * numbers >= len(cells)


def headings(page: str) -> list[str]:
    """Return the headings of a page in their order."""
    return [re.sub(r"<[^>]+>", "", found) for found in re.findall(r"<h[12][^>]*>(.*?)</h[12]>", page, re.DOTALL)]
