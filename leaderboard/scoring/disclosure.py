"""What of scores on withheld labels may be shown: rounded figures, and none of small slices.

Whoever may send predictions again and again can read labels off exact scores, most easily where few texts are scored.
Scores on withheld labels are therefore rounded to a tenth of a point, and figures of fewer than ``MIN_TEXTS`` texts
are left out. Scores on labels that anybody can load pass as they are.
"""

from typing import Any

from builders.folder.reader import DatasetFolder
from leaderboard.scoring.shape import Missing, Scores
from validation.vocabulary import source_parts

MIN_TEXTS = 100
"""Figures of fewer texts than this are not shown where labels are withheld."""
DECIMALS = 3
"""Decimals of a fraction that are kept there: a tenth of a point."""
_HIDDEN = f"not shown: fewer than {MIN_TEXTS} texts whose labels are withheld"
_SCORED = ("score", "st", "ss", "tt", "sd", "td", "idd", "reference_td")
_EXTREMES = ("highest_ss", "lowest_ss", "highest_st", "lowest_st", "worst_sd", "worst_td")
_SPLIT_HALVES = ("worst_sd_split_half", "worst_td_split_half")
"""Figures of a task that may be those of one hidden slice."""
_FEW_SLICES = ("id-ood", "pairing")
"""Bases of a task whose means are of one slice, or of so few that a hidden one follows from the others."""
_NOTHING = {"value": None, "low": None, "high": None}
_BY_LAMBDA = ("depth_f1", "depth_score", "depth_sd", "depth_td", "effective_n")


def labels_are_public(folder: DatasetFolder) -> bool:
    """Check whether anybody can load the test labels of a dataset.

    Args:
        folder: the dataset.
    Returns: False for either folder of a build that withholds labels.
    """
    return folder.manifest.label_key is None and not folder.manifest.withholds_labels


def disclosed(scores: Scores, folder: DatasetFolder) -> Scores:
    """Take out of scores what may not be shown.

    Args:
        scores: an entry's scores.
        folder: the dataset that they are on.
    Returns: the scores, unchanged where labels are public, else rounded and without small slices.
    """
    if labels_are_public(folder):
        return scores
    content: dict[str, Any] = _rounded(scores.model_dump())
    hidden = []
    for task in content["tasks"]:
        small = {part["domain"] for part in task["in_domain"] if part["n"] < MIN_TEXTS}
        small |= {shift["target"] for shift in task["shifts"] if shift["n"] < MIN_TEXTS}
        for part in task["in_domain"]:
            if part["domain"] in small:
                _hide(part)
                hidden.append(Missing(task=task["task"], source=part["domain"], target=part["domain"], what=_HIDDEN))
        for shift in task["shifts"]:
            _hide_lambdas(shift)
            if small & {*source_parts(shift["source"]), shift["target"]}:
                _hide(shift)
                hidden.append(Missing(task=task["task"], source=shift["source"], target=shift["target"], what=_HIDDEN))
        if small:
            _hide_in_summary(task["summary"])
            if task["id_ood"] is not None:
                _hide_in_id_ood(task["id_ood"], small)
    return Scores.model_validate({**content, "missing": (*scores.missing, *hidden)})


def _hide(part: dict[str, Any]) -> None:
    """Leave a part's figures out, in place; how many texts it has stays."""
    part |= {name: _NOTHING for name in _SCORED if part.get(name) is not None}
    part |= {name: {} for name in ("total", "secondary") if name in part}
    part["unparsed"] = 0.0
    if "scenario" in part:
        part |= {"scenario": "Unknown", "resolved": False, "scenario_support": {}, "flips": None, "prior_fixed": None}
        part |= {name: {} for name in _BY_LAMBDA}


def _hide_in_summary(summary: dict[str, Any]) -> None:
    """Leave out the figures of a task from which one of a hidden slice may be read."""
    figures = [name for name, value in summary.items() if isinstance(value, dict) and "value" in value]
    hidden = figures if summary["basis"] in _FEW_SLICES else _EXTREMES
    summary |= dict.fromkeys(hidden, _NOTHING) | dict.fromkeys(_SPLIT_HALVES)
    summary["total"] = {name: value for name, value in summary["total"].items() if name not in hidden}
    if summary["basis"] in _FEW_SLICES:
        summary |= {"depth_f1": {}, "depth_score": {}}


def _hide_in_id_ood(id_ood: dict[str, Any], small: set[str]) -> None:
    """Leave out the scores on hidden domains, and the means and drops that they are in."""
    id_ood["ood"] |= dict.fromkeys(small & set(id_ood["ood"]), _NOTHING)
    if id_ood["id_domain"] in small:
        id_ood["id"] = _NOTHING
    id_ood |= {"mean_ood": _NOTHING, "drop": _NOTHING, "total": {}, "four_types": None}


def _hide_lambdas(shift: dict[str, Any]) -> None:
    """Leave out the depths' figures of which few texts carry the weight."""
    small = {key for key, size in shift["effective_n"].items() if size < MIN_TEXTS}
    for name in _BY_LAMBDA:
        shift[name] = {key: value for key, value in shift[name].items() if key not in small}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DECIMALS)
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, (list, tuple)) else value
