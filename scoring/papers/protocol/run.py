"""The steps of ``shiftbench study protocol``: candidates, the ID, scores, the choice."""

from dataclasses import replace
from pathlib import Path

from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.papers.protocol.choice import DatasetChoice, Study, choose
from shiftbench.scoring.papers.protocol.measured import measured_scores, measured_study, with_similarity
from shiftbench.scoring.papers.protocol.reported import reported_study
from shiftbench.scoring.papers.protocol.rule import MIN_TRAIN, choose_id
from shiftbench.scoring.scores.score import token_encoder
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import TaskKind


def choose_reported(task: str, n_ood: int, id_: str | None = None) -> DatasetChoice:
    """Choose from the paper's tables.

    Args:
        task: one of the paper's tasks.
        n_ood: how many OOD data sets to choose.
        id_: the ID, by name; default: the rule's.
    Returns: the choice with the figures that it rests on.
    Raises: InvalidInput when there is no such task, or the paper tested no model trained on ``id_``.
    """
    study = reported_study(task)
    assert study.probe is not None
    tested = study.probe.id_name
    id_name = study.find_name(id_) if id_ else choose_id(study.candidates)[0]
    if id_name != tested:
        what, found = "the paper tested no model trained on this data set", f"'{id_name}'"
        cure = f"leave --id out (it tested one trained on {tested}), or give --data and --predictions"
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
    """Choose from a dataset folder.

    Args:
        folder: the dataset.
        task: the task; tasks of candidates for it belong to it.
        n_ood: how many OOD data sets to choose.
        id_: the ID, by name or domain; default: the folder's, or else the rule's.
        encoder: for similarity.
        predictions: for scores; without them no OOD data set is chosen.
    Returns: the choice with the figures that it rests on.
    Raises: InvalidInput when the folder has no such task or ID, withholds its labels, or the predictions do not fit it.
    """
    folder.refuse_withheld()
    study = measured_study(folder, task)
    id_name, note = resolve_id_domain(study, folder, id_)
    notes = [*study.notes, note]
    if predictions is None:
        notes.append("No OOD data set is chosen: that needs the ID model's predictions (--predictions).")
    elif id_name is None:
        raise InvalidInput(Problem("no ID, so no drops", str(folder.path), cure=note))
    else:
        tokens = token_encoder(folder) if folder.task(task).kind is TaskKind.GENERATION else None
        study = replace(study, probe=measured_scores(predictions, folder, study, id_name, tokens))
        notes.append("Intervals and frequencies: over resampled test texts, for the same trained models.")
    if encoder is not None:  # similarity comes last, because embedding may take long
        study = with_similarity(study, folder, encoder)
    return choose(replace(study, notes=tuple(notes)), id_name, n_ood)


def resolve_id_domain(study: Study, folder: DatasetFolder, id_: str | None) -> tuple[str | None, str]:
    """Return the ID's name and what chose it: ``id_``, the folder, or else the rule; None where none of them can."""
    rule_id, _ = choose_id(study.candidates)
    choice = (
        f"the rule would choose {rule_id}"
        if rule_id
        else f"no candidate fits the rule: all classes, {MIN_TRAIN:,} train rows a class, not made to be hard"
    )
    own = folder.task(study.task).id_domain
    if id_ is None and own is None:
        return rule_id, f"ID: {rule_id}, by the rule." if rule_id else f"No ID: {choice}. Choose one with --id."
    by_domain = {facts.domain: facts.name for facts in study.facts if facts.task == study.task}
    if id_ is None and own not in by_domain:
        return None, f"No ID: the folder's, {own}, is not in it; {choice}. Choose one with --id."
    name = study.find_name(id_) if id_ else by_domain[own]
    chosen_by = "as --id says" if id_ else "as the folder says"
    beside = "the rule agrees" if name == rule_id else f"but {choice}"
    return name, f"ID: {name}, {chosen_by}; {beside}."
