"""Candidates as printed in the BOSS paper: statistics, similarity, scores of its ID model.

The tables are the paper's own (``boss_table<number>_<task>_candidates.csv``; ``boss_simcse.csv``: Tables 2, 10, 13, 16
and 19; ``boss_ood_probe.csv``: Tables 3, 11, 14, 17 and 20), except for ``provenance.csv``: statements of the paper's
text on each data set, entered by hand with the reason in ``why``.
"""

from functools import cache
from pathlib import Path

import polars as pl

from shiftbench.scoring.papers.protocol.choice import Facts, MeanWords, Probe, Study
from shiftbench.scoring.papers.protocol.rule import Candidate
from shiftbench.scoring.scores.figures import Figure, Score, single
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

TASKS = {
    "sa": "boss_table1_sa",
    "td": "boss_table9_td",
    "nli": "boss_table12_nli",
    "ner": "boss_table15_ner",
    "eqa": "boss_table18_eqa",
}
_SPREAD = {
    "accuracy": "which is exact for the accuracy of independent rows",
    "token_f1": "which is an upper bound for a mean of F1 by question",
    "span_f1": "which is only a rough guide for span F1",
}


def reported_study(task: str) -> Study:
    """Return a task's candidates as printed in the paper.

    Args:
        task: one of ``TASKS``.

    Raises: InvalidInput if the paper has no such task.
    """
    if task not in TASKS:
        cure = did_you_mean(task, list(TASKS))
        raise InvalidInput(Problem("the paper has no such task", "--reported", f"'{task}'", cure))
    metric = {"ner": "span_f1", "eqa": "token_f1"}.get(task, "accuracy")
    rows = _table(f"{TASKS[task]}_candidates.csv").to_dicts()
    typed = {row["dataset"]: row for row in _table("provenance.csv").filter(task=task).to_dicts()}
    probe = _table("boss_ood_probe.csv").filter(task=task.upper())
    scores = dict(probe.select("test_dataset", "score").iter_rows())
    similarity = _table("boss_simcse.csv").filter(task=task.upper())
    return Study(
        task=task,
        metric=metric,
        basis="reported",
        facts=[_printed_facts(row, typed[row["dataset"]], by_class=metric == "accuracy") for row in rows],
        similarity={(a, b): float(value) / 100 for _, a, b, value in similarity.iter_rows()},
        encoder="SimCSE, as the paper prints it",
        probe=Probe(
            id_name=str(probe["train_dataset"][0]),
            model=f"{probe['model'][0]} trained on {probe['train_dataset'][0]}",
            scores={row["dataset"]: _printed_score(row, float(scores[row["dataset"]]) / 100) for row in rows},
        ),
        notes=_notes(metric),
    )


def _notes(metric: str) -> tuple[str, ...]:
    spread = f"standard error sqrt(p (1 - p) / n), {_SPREAD[metric]}"
    notes = [
        f"The paper reports no standard errors; intervals and frequencies use the {spread}. They do not include "
        "variation between training runs."
    ]
    if metric == "accuracy":
        notes.append("The paper reports no class sizes: 'smallest class' is train rows / classes, an upper bound.")
    return tuple(notes)


def _printed_facts(row: dict[str, str | None], typed: dict[str, str | None], *, by_class: bool) -> Facts:
    train, n_classes = int(row["train"] or 0), int(row["n_classes"]) if row["n_classes"] else None
    parts = [
        name[len("avg_len_") : -len("test")] for name in row if name.startswith("avg_len_") and name.endswith("test")
    ]
    return Facts(
        candidate=Candidate(
            name=str(row["dataset"]),
            text_sources=tuple(str(row["source"]).split(" & ")),
            breadth=int(typed["breadth"] or 1),
            challenge=typed["challenge"] == "yes",
            made_from=typed["made_from"],
            train=train,
            n_classes=n_classes,
            smallest_class=train // n_classes if by_class and n_classes else None,
        ),
        test=int(row["test"] or 0),
        smallest_is_bound=by_class,
        words={
            part.rstrip("_") or "text": MeanWords(
                train=_number(row[f"avg_len_{part}train"]), test=_number(row[f"avg_len_{part}test"])
            )
            for part in parts
        },
    )


def _number(text: str | None) -> float | None:
    return float(text) if text else None


def _printed_score(row: dict[str, str | None], score: float) -> Figure:
    """Return a printed score with its precision, assuming independent rows."""
    n = float(row["test"] or 0)
    return single(Score(score, n, n - 1, row["dataset"], groups=n))


@cache
def _table(name: str) -> pl.DataFrame:
    return pl.read_csv(Path(__file__).parent / name, infer_schema=False)
