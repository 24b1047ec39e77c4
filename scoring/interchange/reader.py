"""Reader of any supported evaluation log, detecting the tool that wrote it."""

from collections.abc import Sequence
from pathlib import Path

from shiftbench.scoring.interchange.helm import is_helm, read_helm
from shiftbench.scoring.interchange.inspect_ai import is_inspect, read_inspect
from shiftbench.scoring.interchange.lm_eval import is_lm_eval, read_lm_eval
from shiftbench.scoring.interchange.log import HELM, INSPECT, LM_EVAL, EvaluationLog, refuse_log

_RECOGNISED = {HELM: is_helm, INSPECT: is_inspect, LM_EVAL: is_lm_eval}


def read_log(
    path: Path, *, tool: str | None = None, filter_name: str | None = None, fields: Sequence[str] = ()
) -> EvaluationLog:
    """Read one complete evaluation log.

    Args:
        path: lm-eval's ``samples_*.jsonl``, Inspect's ``.eval`` or ``.json``, or a run folder of HELM.
        tool: the required tool, one of ``log.TOOLS``; None for any.
        filter_name: the lm-eval filter whose answers and scores are read; None: the first in the log.
        fields: fields of the items to keep, in the column ``document``.

    Returns: the log.

    Raises: InvalidInput if the log is truncated, of an unknown version, has an item twice, or lacks a field.
    """
    if not path.exists():
        refuse_log(path, "there is no such log", cure="give the path of a log file or run folder")
    wrote = next((name for name, recognises in _RECOGNISED.items() if recognises(path)), None)
    if wrote is None:
        cure = "give samples_*.jsonl of lm-eval, a .eval or .json log of Inspect, or a run folder of HELM"
        refuse_log(path, "this is not a log of lm-eval, Inspect or HELM", cure=cure)
    if tool not in (None, wrote):
        refuse_log(path, f"this is not a log of {tool}", f"a log of {wrote}", f"import it as {wrote}")
    if wrote == LM_EVAL:
        return read_lm_eval(path, filter_name, fields)
    if filter_name is not None:
        refuse_log(path, "only logs of lm-eval have filters", f"'{filter_name}'", "omit the filter")
    return read_inspect(path, fields) if wrote == INSPECT else read_helm(path, fields)
