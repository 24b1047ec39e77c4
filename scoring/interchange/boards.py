"""Reader of a board's scores in any supported format: a table, a folder of MTEB results, lists of solved items, logs.

Sources: embeddings-benchmark/results (``<organisation>__<model>/<revision>/<Task>.json`` with ``task_name`` and
``scores`` by split, each with ``main_score`` by subset); SWE-bench's ``results.json`` (``{"resolved": [...]}``) and its
harness's reports (``resolved_ids``, ``unresolved_ids``).
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from shiftbench.scoring.comparing.unit_ranks import ScoreTable, Unit
from shiftbench.scoring.interchange.helm import STATE
from shiftbench.scoring.interchange.inspect_ai import is_inspect
from shiftbench.scoring.interchange.lm_eval import is_lm_eval
from shiftbench.scoring.interchange.log import SCORE, EvaluationLog
from shiftbench.scoring.interchange.reader import read_log
from shiftbench.scoring.interchange.score_tables import Reading, finish, table_of_file, tasks_of_items
from shiftbench.validation.report import InvalidInput, Problem, plural, quote_names

_TABLES = (".csv", ".tsv", ".md", ".parquet", ".json", ".jsonl", ".txt")
_SOLVED, _UNSOLVED = ("resolved", "resolved_ids", "solved"), ("unresolved_ids", "unresolved", "submitted_ids")
_PLAIN_NAMES = frozenset({"results", "result", "report", "logs", "evaluation", "eval"})


def read_board(paths: Sequence[Path], how: Reading) -> ScoreTable:
    """Read a board's scores.

    Args:
        paths: one table; or logs of lm-eval, Inspect or HELM, lists of solved items, or folders of any of these or of
            MTEB's results.
        how: how to read them.

    Returns: the table.

    Raises: InvalidInput if no supported files are found, or if they cannot be read unambiguously.
    """
    missing = [path for path in paths if not path.exists()]
    if missing:
        raise InvalidInput([Problem("there is no such file or folder", str(path)) for path in missing])
    if len(paths) == 1 and paths[0].is_file() and paths[0].suffix in _TABLES and not _is_log(paths[0]):
        solved = _solved_list(paths[0])
        if solved is None:
            return table_of_file(paths[0], how)
    place = str(paths[0])
    files = [file for path in paths for file in _files_within(path)]
    if logs := [file for file in files if _is_log(file)]:
        return table_of_logs([read_log(path, filter_name=how.filter_name) for path in logs], how, place)
    results = [file for file in files if file.suffix == ".json"]
    if found := [each for each in map(_mteb_result, results) if each]:
        return finish(_mteb_table(found), how, place)
    lists = [(file, ids) for file in results if (ids := _solved_list(file)) is not None]
    if lists:
        return finish(_solved_table(lists, how.n_items), how, place)
    cure = "give a table (CSV, Parquet, JSON), logs, MTEB's results, or lists of solved items"
    raise InvalidInput(Problem("no scores found", place, f"{plural(len(files), 'file')}", cure))


def _files_within(path: Path) -> Iterator[Path]:
    if path.is_file() or (path / STATE).is_file():
        yield path
        return
    inner = sorted(path.rglob("*"))
    runs = {file.parent for file in inner if file.name == STATE}
    yield from sorted(runs)
    yield from (file for file in inner if file.is_file() and not runs & set(file.parents))


def _is_log(path: Path) -> bool:
    if path.is_dir():
        return (path / STATE).is_file()
    return path.suffix in (".jsonl", ".eval", ".json") and (is_lm_eval(path) or is_inspect(path))


def _json_object(path: Path) -> dict[str, Any] | None:
    try:
        content = msgspec.json.decode(path.read_bytes())
    except msgspec.DecodeError as error:
        raise InvalidInput(Problem("not valid JSON", str(path), str(error), "copy the complete file again")) from error
    return content if isinstance(content, dict) else None


@dataclass(frozen=True)
class _Result:
    """A model revision's result on one task."""

    model: str
    revision: str
    task: str
    score: float


def _mteb_result(path: Path) -> _Result | None:
    """Read a result file of MTEB: the main score on the test split (or else the first one), averaged over subsets."""
    content = _json_object(path)
    scores = content.get("scores") if content else None
    if content is None or not isinstance(scores, dict) or not isinstance(content.get("task_name"), str) or not scores:
        return None
    split = scores.get("test") or next(iter(scores.values()))
    mains = [each.get("main_score") for each in split if isinstance(each, dict)] if isinstance(split, list) else []
    numbers = [float(each) for each in mains if isinstance(each, int | float)]
    if not numbers:
        raise InvalidInput(
            Problem("a result without a main_score", str(path), cure="give results of MTEB 1.12 or later")
        )
    model = path.parent.parent.name.replace("__", "/", 1)
    return _Result(model, path.parent.name, content["task_name"], float(np.mean(numbers)))


def _mteb_table(results: Sequence[_Result]) -> ScoreTable:
    """Build the table of MTEB's results, using each model's revision with the most tasks."""
    n_tasks = Counter((each.model, each.revision) for each in results)
    chosen: dict[str, str] = {}
    for model, revision in sorted(n_tasks, key=lambda key: (-n_tasks[key], key)):
        chosen.setdefault(model, revision)
    notes = ["Scores are MTEB's main scores, the mean over a task's subsets, on its test split"]
    several = [model for model, n in Counter(model for model, _ in n_tasks).items() if n > 1]
    if several:
        notes.append(f"If there are several revisions, the one with the most tasks is used: {quote_names(several, 5)}")
    models, tasks = sorted(chosen), sorted({each.task for each in results})
    scores = np.full((len(models), len(tasks)), np.nan)
    for each in results:
        if chosen[each.model] == each.revision:
            scores[models.index(each.model), tasks.index(each.task)] = each.score
    return ScoreTable(models, tasks, scores, Unit.TASKS, notes=tuple(notes))


def _solved_list(path: Path) -> tuple[set[str], set[str]] | None:
    """Read the solved items of a list, and all items that it mentions; None if the file is not such a list."""
    content = _json_object(path) if path.suffix == ".json" else None
    if content is None:
        return None
    solved = next((content[key] for key in _SOLVED if isinstance(content.get(key), list)), None)
    if solved is None:
        return None
    named = [name for value in content.values() if isinstance(value, list) for name in value if isinstance(name, str)]
    return {str(each) for each in solved}, set(named)


def _solved_table(lists: Sequence[tuple[Path, tuple[set[str], set[str]]]], n_items: int | None) -> ScoreTable:
    """Build a 0/1 table from lists of solved items; items that a list does not mention count as not solved."""
    items = sorted(set().union(*(named for _, (_, named) in lists)))
    unnamed = max((n_items or 0) - len(items), 0)
    if n_items is not None and n_items < len(items):
        found = f"{n_items}, but the lists contain {len(items)}"
        raise InvalidInput(Problem("there are more items than given by --items", "--items", found))
    names = [_list_name(path) for path, _ in lists]
    if twice := [name for name, n in Counter(names).items() if n > 1]:
        raise InvalidInput(
            Problem("two lists have the same name", str(lists[0][0]), f"'{twice[0]}'", "rename a folder")
        )
    scores = np.array([[item in solved for item in items] + [False] * unnamed for _, (solved, _) in lists], dtype=float)
    notes = [f"Items missing in a list count as not solved; {plural(len(items), 'item')} occur in at least one list"]
    if n_items is None:
        notes.append("Items that occur in no list are not counted: give the total number of items (--items)")
    return ScoreTable(
        names, [*items, *(f"(unnamed {n + 1})" for n in range(unnamed))], scores, Unit.ITEMS, notes=tuple(notes)
    )


def _list_name(path: Path) -> str:
    """Return the model's name for a list: the file's name, or the nearest folder's if it is generic (``results``)."""
    return next(
        (name for name in (path.stem, *(each.name for each in path.parents)) if name not in _PLAIN_NAMES), path.stem
    )


def table_of_logs(logs: Sequence[EvaluationLog], how: Reading, place: str) -> ScoreTable:
    """Build a table from logs: items by task and id; several logs of a model and task are averaged.

    Args:
        logs: the logs, of one or more models and tasks.
        how: the score to read, and how to interpret it.
        place: name of the table in error messages.

    Raises: InvalidInput if logs share no item-level score, or if an item's content differs between models.
    """
    shared = [name for name in logs[0].metrics if all(name in log.metrics for log in logs)]
    metric = how.metric if how.metric is not None else shared[0] if shared else None
    if metric is None or any(metric not in log.metrics for log in logs):
        found = "; ".join(sorted({", ".join(log.metrics) or "none" for log in logs}))
        raise InvalidInput(
            Problem("the logs have no such per-item score in common", place, found, "choose one: --metric")
        )
    parts = [
        log.samples.select(
            model=pl.lit(log.model),
            task=pl.lit(log.task),
            item=pl.col("id"),
            content=pl.col("content_hash"),
            score=pl.col(SCORE + metric).fill_nan(None),
        )
        for log in logs
    ]
    rows = pl.concat(parts)
    contents = rows.group_by("task", "item").agg(pl.col("content").n_unique())
    if changed := contents.filter(pl.col("content") > 1).height:
        found = plural(changed, "item")
        raise InvalidInput(
            Problem("items with the same id have different content", place, found, "use logs of one version")
        )
    means = rows.group_by("model", "task", "item", maintain_order=True).agg(
        pl.when(pl.col("score").null_count() == 0).then(pl.col("score").mean())
    )
    means = means.with_columns(unit=pl.concat_str("task", "item", separator=": "))
    pivoted = means.pivot(on="unit", index="model", values="score", maintain_order=True)
    facts = means.unique("unit", keep="first", maintain_order=True)
    units = facts["unit"].to_list()
    weights = facts.select(1 / pl.len().over("task")).to_series().to_numpy()
    notes = [f"Score: {metric}; each of {plural(facts['task'].n_unique(), 'task')} has the same weight"]
    runs: defaultdict[tuple[str, str], int] = defaultdict(int)
    for log in logs:
        runs[log.model, log.task] += 1
    if max(runs.values()) > 1:
        notes.append(
            "Several logs of one model and task are averaged by item; 'logs compare' reports their variance components"
        )
    lacking = pivoted.select(units).null_count().sum_horizontal().item()
    if lacking:
        notes.append(f"{plural(int(lacking), 'answer')} missing: the logs do not all contain the same items")
    table = ScoreTable(
        pivoted["model"].to_list(),
        units,
        pivoted.select(units).to_numpy().astype(np.float64),
        Unit.ITEMS,
        weights=weights if facts["task"].n_unique() > 1 else None,
        notes=tuple(notes),
    )
    if how.unit is Unit.TASKS:
        table = tasks_of_items(table, facts["task"].to_list())
    return finish(table, how, place)
