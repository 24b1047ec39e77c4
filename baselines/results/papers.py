"""The papers' rows that can be run here beside our own scores, as the Markdown tables of ``baselines/README.md``.

The papers' figures are those of the boards (``leaderboard/pages/reported/``), ours are read from the scores that lie
here. Leaves out: rows without a result of ours, whose commands the README lists.

    python baselines/results/papers.py
"""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shiftbench.baselines.grid.kept import read_results

RESULTS = Path(__file__).parent
REPORTED = RESULTS.parents[1] / "leaderboard" / "pages" / "reported"

Row = tuple[str, ...]


def paper_tables() -> Iterator[tuple[str, list[Row]]]:
    """Build the tables: a title, then rows of cells, the header first.

    Yields: Table 4 of Domain Robustness, Table 5 of BOSS, and Table 3 of Depth F1, each for the tasks that were run.
    """
    header = ("the paper's row", "figure", "paper", "ours", "our result")
    yield "Domain Robustness, Table 4", [header, *_domain_robustness()]
    yield "BOSS, Table 5", [header, *_boss()]
    yield "Depth F1, Table 3", [header, *_depth_f1()]


def _domain_robustness() -> Iterator[Row]:
    names = {
        "mean_ss": "mean score at home (SS)",
        "mean_st": "mean score under shift (ST)",
        "average_drop": "average drop",
        "worst_sd": "worst SD",
        "worst_td": "worst TD",
    }
    for task in ("nli", "ab", "qa"):
        summary = _task_scores(f"dr-{task}/minilm")["summary"]
        reported = [_reported("dr_table4.csv", task, model) for model in ("RoBERTa-L", "DeBERTa-L")]
        for figure, name in names.items():
            paper = " / ".join(f"{row[figure]:.2f}" for row in reported)
            row = f"{task.upper()}, RoBERTa-L / DeBERTa-L"
            yield row, name, paper, _points(summary[figure]), f"`dr-{task}/minilm`"


def _boss() -> Iterator[Row]:
    for task, names in (
        ("nli", {"MNLI": "mnli", "ANLI": "anli", "ContractNLI": "contract_nli"}),
        ("ner", {"Few-NERD": "few_nerd", "E-NER": "e_ner", "WNUT": "wnut"}),
    ):
        reported, scores = _reported("boss_table5.csv", task, "Vanilla"), _task_scores(f"boss-{task}/minilm")["id_ood"]
        for title, domain in names.items():
            role = "ID" if domain == scores["id_domain"] else "OOD"
            score = scores["id"] if role == "ID" else scores["ood"][domain]
            row = f"{task.upper()}, Vanilla"
            yield row, f"{title} ({role})", f"{reported[title]:.2f}", _points(score), f"`boss-{task}/minilm`"


def _depth_f1() -> Iterator[Row]:
    for name in ("SiS-3", "SiS-4", "MuS-3", "MuS-4"):
        pairing = name.lower()
        reported = _reported("df1_table3.csv", pairing, "SBERTLR")
        summary = _task_scores(f"df1-nli/{pairing}-sbert-lr")["summary"]
        ours = {"mean_st": summary["mean_st"], **{f"depth_f1_{key}": summary["depth_f1"][key] for key in ("0", "90")}}
        for figure, score in ours.items():
            title = "F1" if figure == "mean_st" else f"Depth F1 at lambda {figure.rpartition('_')[2]}"
            paper = f"{100 * reported[figure]:.1f}"
            yield f"{name}, SBERTLR", title, paper, _points(score), f"`df1-nli/{pairing}-sbert-lr`"


def _task_scores(result: str) -> dict[str, Any]:
    """Read the scores of a result's first task."""
    board, name = result.split("/")
    tasks: list[dict[str, Any]] = read_results(RESULTS / board)[name].scores["tasks"]
    return tasks[0]


def _reported(file: str, task: str, model: str) -> dict[str, float]:
    """Read a model's figures on a task, as the paper prints them."""
    with (REPORTED / file).open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return {row["figure"]: float(row["score"]) for row in rows if (row["task"], row["model"]) == (task, model)}


def _points(score: Mapping[str, Any]) -> str:
    """Format a score in points, with its interval where it has one."""
    interval = "no interval" if score["low"] is None else f"[{100 * score['low']:.1f}, {100 * score['high']:.1f}]"
    return f"{100 * score['value']:.1f} {interval}"


def markdown(rows: list[Row]) -> str:
    """Format a table as Markdown, figures to the right."""
    header, *body = rows
    lines = ["| " + " | ".join(cells) + " |" for cells in (header, *body)]
    return "\n".join([lines[0], "|---|---|---:|---:|---|", *lines[1:]])


if __name__ == "__main__":
    for title, table in paper_tables():
        print(f"### {title}\n\n{markdown(table)}\n")
