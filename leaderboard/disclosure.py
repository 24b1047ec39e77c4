"""What of scores on withheld labels may be shown: rounded figures, and none of small slices.

Whoever may send predictions again and again can read labels off exact scores, most easily where few texts are scored.
Scores on withheld labels are therefore rounded to a tenth of a point, and figures of fewer than ``MIN_TEXTS`` texts
are left out. Scores on labels that anybody can load pass as they are.
"""

from typing import Any

from builders.folder import DatasetFolder
from leaderboard.scores import Missing, Scores

MIN_TEXTS = 100
"""Figures of fewer texts than this are not shown where labels are withheld."""
DECIMALS = 3
"""Decimals of a fraction that are kept there: a tenth of a point."""
_HIDDEN = f"not shown: fewer than {MIN_TEXTS} texts whose labels are withheld"
_SCORED = ("score", "st", "ss", "tt", "sd", "td", "idd", "reference_td")
_EXTREMES = ("highest_ss", "lowest_ss", "highest_st", "lowest_st", "worst_sd", "worst_td")
"""Figures of a task that may be those of one hidden slice."""
_NOTHING = {"value": None, "low": None, "high": None}
_BY_LAMBDA = ("depth_f1", "depth_score", "depth_sd", "depth_td", "effective_n")


def labels_are_public(folder: DatasetFolder) -> bool:
    """Whether anybody can load the test labels of a dataset: it is not the gold of a build that withholds them."""
    return folder.manifest.label_key is None and not folder.manifest.withholds_labels


def disclosed(scores: Scores, folder: DatasetFolder) -> Scores:
    """Give scores as they may be shown: unchanged where labels are public, else rounded and without small slices."""
    if labels_are_public(folder):
        return scores
    content: dict[str, Any] = _rounded(scores.model_dump())
    hidden = []
    for task in content["tasks"]:
        small = {part["domain"] for part in task["in_domain"] if part["n"] < MIN_TEXTS}
        for part in task["in_domain"]:
            if part["domain"] in small:
                _hide(part)
                hidden.append(Missing(task=task["task"], source=part["domain"], target=part["domain"], what=_HIDDEN))
        for shift in task["shifts"]:
            _hide_lambdas(shift)
            if shift["n"] < MIN_TEXTS or small & {shift["source"], shift["target"]}:
                _hide(shift)
                hidden.append(Missing(task=task["task"], source=shift["source"], target=shift["target"], what=_HIDDEN))
    return Scores.model_validate({**content, "missing": (*scores.missing, *hidden)})


def _hide(part: dict[str, Any]) -> None:
    """Leave a part's figures out, in place; how many texts it has stays."""
    part |= {name: _NOTHING for name in _SCORED if part.get(name) is not None}
    part |= {name: {} for name in ("total", "secondary") if name in part}
    part["unparsed"] = 0.0
    if "scenario" in part:
        part |= {"scenario": "Unknown", "resolved": False, "scenario_support": {}, "flips": None, "prior_fixed": None}
        part |= {name: {} for name in _BY_LAMBDA}


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
