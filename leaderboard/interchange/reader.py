"""Opens any evaluation log: finds out which tool wrote it, and reads it."""

from collections.abc import Sequence
from pathlib import Path

from leaderboard.interchange.lm_eval import is_lm_eval, read_lm_eval
from leaderboard.interchange.log import EvaluationLog, refuse_log


def read_log(path: Path, *, filter_name: str | None = None, fields: Sequence[str] = ()) -> EvaluationLog:
    """Read one evaluation log, whole.

    Args:
        path: lm-eval's ``samples_*.jsonl``, Inspect's ``.eval`` or ``.json``, or a run folder of HELM.
        filter_name: of lm-eval's filters, the one whose answers and scores are read; None: the first of the log.
        fields: fields of the items that are kept, in the column ``document``.
    Returns: the log.
    Raises: InvalidInput when the log is cut off, of an unknown version, holds an item twice or lacks a field.
    """
    if not path.exists():
        refuse_log(path, "there is no such log", cure="give the path of a log file or run folder")
    if is_lm_eval(path):
        return read_lm_eval(path, filter_name, fields)
    cure = "give samples_*.jsonl of lm-eval, a .eval or .json log of Inspect, or a run folder of HELM"
    refuse_log(path, "this is no log of lm-eval, Inspect or HELM", cure=cure)
