"""Comparison of logs of one benchmark: joined by item, tested, and summarised.

Logs of different tasks, items or scorers are refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.scoring.comparing.item_scores import ItemScores, compare_items
from shiftbench.scoring.comparing.runs import RunScores, compare_runs
from shiftbench.scoring.interchange.log import SCORE, EvaluationLog
from shiftbench.scoring.interchange.reader import read_log
from shiftbench.scoring.reports.item_tables import ItemReport
from shiftbench.validation.outside import check_text
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean, plural

MAX_COMPARED = 10
"""With more models there are so many pairs that hardly any difference would be significant."""
MAX_DOMAINS = 100
"""Maximum number of values of a field that defines domains."""
_ITEM = ["id", "content_hash"]
"""Join keys of items: their id, and the hash of their content."""


@dataclass(frozen=True)
class Joining:
    """How logs are joined.

    Attributes:
        metric: the score's name in the tool; None for the first that all logs have.
        by: field of the items that defines their domains; None without domains.
        cluster: field of the items that defines clusters; None if each item is its own cluster.
        shared_items: compare only the items that all logs have scored, if items differ.
        any_prompts: compare models that were given different prompts for the same items.
        lower_is_better: True for errors and perplexities.
    """

    metric: str | None = None
    by: str | None = None
    cluster: str | None = None
    shared_items: bool = False
    any_prompts: bool = False
    lower_is_better: bool = False


@dataclass(frozen=True)
class JoinedLogs:
    """Logs joined as scores on the same items; ``notes`` are caveats of the join.

    ``runs`` has the individual answers if a model has several prompts or runs; otherwise it is empty.
    """

    items: ItemScores
    metric: str
    task: str
    notes: tuple[str, ...]
    runs: tuple[RunScores, ...] = ()


@dataclass(frozen=True)
class ComparedLogs:
    """A comparison of logs, with the logs and their models' names."""

    report: ItemReport
    logs: Sequence[tuple[str, EvaluationLog]]

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON data: the logs, how they were joined, and all results as fractions."""
        report = self.report
        return {
            "package": f"shiftbench {version('shiftbench')}",
            "task": report.task,
            "metric": report.metric,
            "by": report.by,
            "cluster": report.cluster,
            "logs": [
                {
                    "name": name,
                    "model": log.model,
                    "path": str(log.path),
                    "tool": log.tool,
                    "tool_version": log.version,
                    "task": log.task,
                    "task_version": log.facts.task_version,
                    "items": log.samples["id"].n_unique(),
                    "epochs": log.epochs,
                    "prompts_hash": log.prompts_hash,
                    "revision": log.facts.revision,
                    "shots": log.facts.shots,
                    "scorer": log.facts.scorer,
                    "filter": log.facts.filter,
                }
                for name, log in self.logs
            ],
            "notes": list(report.notes),
            "runs": report.runs.model_dump(mode="json") if report.runs else None,
            **report.comparison.model_dump(mode="json"),
        }


def read_logs(paths: Sequence[Path], how: Joining, filter_name: str | None = None) -> list[EvaluationLog]:
    """Read logs with the fields that their comparison needs.

    Args:
        paths: the logs.
        how: the fields that define domains and clusters.
        filter_name: the lm-eval filter to read; None for the first.

    Raises: InvalidInput with the problems of every log that cannot be read.
    """
    fields = tuple(dict.fromkeys(field for field in (how.by, how.cluster) if field is not None))
    logs: list[EvaluationLog] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            logs.append(read_log(path, filter_name=filter_name, fields=fields))
        except InvalidInput as error:
            problems += error.problems
    if problems:
        raise InvalidInput(problems)
    return logs


def compare_logs(logs: Sequence[EvaluationLog], how: Joining, *, names: Sequence[str] | None = None) -> ComparedLogs:
    """Compare the models of logs on the same items.

    If there are several models, several logs of one model are its runs: their scores are averaged by item, and their
    variance is decomposed. Logs of a single model, or logs with given names, are compared with each other.

    Args:
        logs: at least two, of one benchmark.
        how: how they are joined.
        names: display names of the models; by default as in the logs.

    Raises: InvalidInput as ``join_logs`` and ``item_scores.compare_items``, and for more than ``MAX_COMPARED`` models.
    """
    called = model_names(logs) if names is None else list(names)
    of_model = None if names is not None else _logs_of_models(logs)
    n_compared = len(of_model) if of_model else len(logs)
    if n_compared > MAX_COMPARED:
        what, cure = "too many models for pairwise comparisons", "rank them: shiftbench logs ranks"
        raise InvalidInput(Problem(what, str(logs[0].path), f"{n_compared} models", cure))
    joined = join_logs(logs, called, how, of_model)
    comparison = compare_items(joined.items)
    runs = compare_runs(joined.runs) if joined.runs else None
    report = ItemReport(comparison, joined.task, joined.metric, how.by, how.cluster, joined.notes, runs)
    return ComparedLogs(report, list(zip(called, logs, strict=True)))


def _logs_of_models(logs: Sequence[EvaluationLog]) -> dict[str, list[int]] | None:
    """Group the logs by model; None if no model has several, or there is a single model."""
    found: dict[str, list[int]] = {}
    for number, log in enumerate(logs):
        found.setdefault(log.model, []).append(number)
    return found if 1 < len(found) < len(logs) else None


def join_logs(
    logs: Sequence[EvaluationLog],
    names: Sequence[str],
    how: Joining,
    of_model: Mapping[str, Sequence[int]] | None = None,
) -> JoinedLogs:
    """Join logs by the id and content of their items.

    An item's score is its mean over epochs, and missing if an epoch has none.

    Args:
        logs: at least two, each read with the fields that ``how`` names.
        names: display names of their models.
        how: the score, and permitted differences.
        of_model: indices of each model's logs if some have several, which may then differ in their prompts; None: each
            log is a model of its own.

    Returns: scores in the order of the logs, or of the models.

    Raises: InvalidInput with all differences between the logs: tool, items, prompts, scorers; or if a log is given
        twice, an item has no score, or a field cannot be used for domains.
    """
    _refuse_twice_or_other_tools(logs, names)
    metric = _metric(logs, names, how.metric)
    tables = [_item_frame(log, metric) for log in logs]
    problems = [*_other_scorers(logs, names), *_other_items(tables, names, how)]
    problems += _without_scores(tables, names, how, metric)
    shared = _shared_items(tables)
    if shared.height:
        problems += _other_fields(shared, names, how)
        problems += [] if of_model else _other_prompts(shared, logs, names, how)
    if not (problems or shared.height):
        problems.append(Problem("no item has a score in all logs", " and ".join(names), cure="finish the runs"))
    if problems:
        raise InvalidInput(problems)
    notes = [*_item_notes(tables, shared, names, how), *_log_notes(logs, names)]
    runs = [] if of_model is None else [_runs_of(name, which, logs, shared, metric) for name, which in of_model.items()]
    notes += _run_notes(runs)
    values, domain_of = _value_codes(shared, how.by) if how.by else ([], np.zeros(shared.height, dtype=np.int64))
    clusters = _value_codes(shared, how.cluster)[1] if how.cluster else np.arange(shared.height)
    domains = _checked_domains(values, shared.height, how.by) if how.by else ()
    if runs:
        names, scores = [run.name for run in runs], np.stack([run.scores.mean(axis=(1, 2)) for run in runs])
    else:
        scores = np.stack([shared[f"score{number}"].to_numpy() for number in range(len(logs))])
    items = ItemScores(names, scores, clusters, domains, domain_of, how.lower_is_better)
    return JoinedLogs(items, metric, logs[0].task, tuple(notes), tuple(runs))


def _runs_of(
    name: str, which: Sequence[int], logs: Sequence[EvaluationLog], shared: pl.DataFrame, metric: str
) -> RunScores:
    """Collect a model's scores by prompt and run: each epoch of each log with a prompt is one of its runs.

    Surplus runs of a prompt are dropped, so that all prompts have the same number.
    """
    by_prompt: dict[str, list[NDArray[np.float64]]] = {}
    for number in which:
        prompts = shared[f"prompt_hash{number}"]
        unknown = prompts.null_count() > 0
        sent = str(logs[number].path) if unknown else sha256("".join(prompts).encode()).hexdigest()
        answers = logs[number].samples.sort("epoch").group_by(_ITEM).agg(pl.col(SCORE + metric))
        each = shared.select(_ITEM).join(answers, on=_ITEM, how="left", maintain_order="left")[SCORE + metric]
        by_prompt.setdefault(sent, []).append(np.array(each.to_list(), dtype=np.float64))
    runs = {prompt: np.concatenate(each, axis=1) for prompt, each in by_prompt.items()}
    fewest = min(each.shape[1] for each in runs.values())
    return RunScores(name, tuple(runs), np.stack([each[:, :fewest] for each in runs.values()], axis=1))


def _run_notes(runs: Sequence[RunScores]) -> Iterator[str]:
    if not runs:
        return
    each = ", ".join(
        f"{plural(len(run.prompts), 'prompt')} with {plural(run.scores.shape[2], 'run')} each of {run.name}"
        for run in runs
    )
    yield f"Scores are means over prompts and runs: {each}"
    if len({frozenset(run.prompts) for run in runs}) > 1:
        yield "The models were given different prompts; each one's scores are with its own prompts"


def model_names(logs: Sequence[EvaluationLog]) -> list[str]:
    """Return the models' names, with the file's name added if two logs have the same model."""
    models = [log.model for log in logs]
    names = [f"{log.model} ({log.path.name})" if models.count(log.model) > 1 else log.model for log in logs]
    return names if len(set(names)) == len(names) else [str(log.path) for log in logs]


def _refuse_twice_or_other_tools(logs: Sequence[EvaluationLog], names: Sequence[str]) -> None:
    for number, log in enumerate(logs):
        for other, name in zip(logs[:number], names, strict=False):
            same_file = log.path.resolve() == other.path.resolve()
            if same_file or (log.model == other.model and log.samples.equals(other.samples)):
                what = f"a log is given twice: it has the same model and responses as the log of '{name}'"
                raise InvalidInput(Problem(what, str(log.path), cure="give the logs of different runs"))

    if len({log.tool for log in logs}) > 1:
        what = "logs of different tools cannot be compared, because each tool hashes items differently"
        found = "; ".join(f"{name}: {log.tool}" for name, log in zip(names, logs, strict=True))
        raise InvalidInput(Problem(what, str(logs[0].path), found, "use logs of one tool for all models"))


def _metric(logs: Sequence[EvaluationLog], names: Sequence[str], wanted: str | None) -> str:
    """Choose the score: the requested one, or the first that all logs have."""
    shared = [name for name in logs[0].metrics if all(name in log.metrics for log in logs)]
    where = " and ".join(str(log.path) for log in logs)
    if wanted is None:
        if not shared:
            each = zip(names, logs, strict=True)
            found = "; ".join(f"{name}: {', '.join(log.metrics) or 'none'}" for name, log in each)
            cure = "score both models in the same way, with per-item scores"
            raise InvalidInput(Problem("the logs have no per-item score in common", where, found, cure))
        return shared[0]
    for log in logs:
        if wanted not in log.metrics:
            cure = did_you_mean(wanted, list(log.metrics)) if log.metrics else ""
            raise InvalidInput(Problem("the log has no such per-item score", str(log.path), f"'{wanted}'", cure))
    return wanted


def _item_frame(log: EvaluationLog, metric: str) -> pl.DataFrame:
    """Return one row per item: its join keys, prompt hash, fields, and mean score (null if an epoch has no score)."""
    score = pl.col(SCORE + metric).fill_nan(None)
    is_whole = (pl.len() == log.epochs) & (score.null_count() == 0) & score.is_finite().all()
    return (
        log.samples.sort("epoch")
        .group_by(_ITEM, maintain_order=True)
        .agg(pl.col("prompt_hash", "document").first(), score=pl.when(is_whole).then(score.mean()))
    )


def _shared_items(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Join the items that all logs have scored: ``prompt_hash<n>``, ``document<n>``, ``score<n>`` per log, by id."""
    names = ("prompt_hash", "document", "score")
    numbered = [
        table.filter(pl.col("score").is_not_null()).select(
            *_ITEM, *(pl.col(name).alias(f"{name}{n}") for name in names)
        )
        for n, table in enumerate(tables)
    ]
    return reduce(lambda left, right: left.join(right, on=_ITEM), numbered).sort(_ITEM)


def _stated_facts(logs: Sequence[EvaluationLog]) -> dict[str, list[str | None]]:
    """Return, by name, the facts that must match between logs: one value per log, None if it is not stated."""
    return {
        "scorers": [log.facts.scorer for log in logs],
        "filters of answers": [log.facts.filter for log in logs],
        "versions of the task": [log.facts.task_version for log in logs],
    }


def _other_scorers(logs: Sequence[EvaluationLog], names: Sequence[str]) -> Iterator[Problem]:
    for word, values in _stated_facts(logs).items():
        stating = [each for each in zip(values, names, logs, strict=True) if each[0] is not None]
        for value, name, log in stating[1:]:
            first, first_name, _ = stating[0]
            if value != first:
                found = f"{first_name}: {first}; {name}: {value}"
                yield Problem(
                    f"the logs have different {word}", str(log.path), found, "score both models in the same way"
                )


def _other_items(tables: Sequence[pl.DataFrame], names: Sequence[str], how: Joining) -> Iterator[Problem]:
    """Describe how the items of each log differ from the first log's."""
    n_shared = reduce(lambda left, right: left.join(right, on=_ITEM, how="semi"), tables).height
    if n_shared and how.shared_items:
        return
    cure = f"--allow items compares on the {plural(n_shared, 'item')} that all have" if n_shared else ""
    for table, name in zip(tables[1:], names[1:], strict=True):
        differ = _item_differences(tables[0], table, names[0], name)
        if differ:
            where = f"{names[0]} and {name}"
            yield Problem(
                "the logs are not over the same items", where, "; ".join(differ), cure or "use logs of the same task"
            )


def _item_differences(first: pl.DataFrame, other: pl.DataFrame, name: str, other_name: str) -> list[str]:
    """Describe how two logs' items differ: different content under the same id, and items missing in one of them."""
    changed = first.join(other, on="id", how="inner").filter(pl.col("content_hash") != pl.col("content_hash_right"))
    kinds = {
        "with the same id but other content": changed,
        f"only in {name}": first.join(other, on="id", how="anti"),
        f"only in {other_name}": other.join(first, on="id", how="anti"),
    }
    return [
        f"{plural(len(rows), 'item')} {kind}, such as '{rows['id'][0]}'" for kind, rows in kinds.items() if len(rows)
    ]


def _without_scores(
    tables: Sequence[pl.DataFrame], names: Sequence[str], how: Joining, metric: str
) -> Iterator[Problem]:
    for table, name in zip(tables, names, strict=True):
        missing = table.filter(pl.col("score").is_null())
        if missing.height and not how.shared_items:
            found = f"{missing.height:,} of {table.height:,}, such as '{missing['id'][0]}'"
            cure = "finish the run, or exclude these items for all models (--allow items)"
            yield Problem(f"items have no score '{metric}'", name, found, cure)


def _other_prompts(
    shared: pl.DataFrame, logs: Sequence[EvaluationLog], names: Sequence[str], how: Joining
) -> Iterator[Problem]:
    if how.any_prompts:
        return
    for number, name in enumerate(names[1:], start=1):
        n = _n_others(shared, "prompt_hash", number)
        shots = {logs[each].facts.shots for each in (0, number)} - {None}
        if n or len(shots) > 1:
            words = f"; shots: {logs[0].facts.shots} and {logs[number].facts.shots}" if len(shots) > 1 else ""
            found = f"{n:,} of {plural(shared.height, 'item')}{words}"
            cure = "use the same prompts for both models, or allow different prompts (--allow prompts)"
            yield Problem("the prompts differ", f"{names[0]} and {name}", found, cure)


def _n_others(shared: pl.DataFrame, column: str, number: int) -> int:
    """Count the items for which a log's value differs from the first log's; missing values are not counted."""
    return int(shared.select((pl.col(f"{column}0") != pl.col(f"{column}{number}")).sum()).item())


def _other_fields(shared: pl.DataFrame, names: Sequence[str], how: Joining) -> Iterator[Problem]:
    fields = " and ".join(f"'{field}'" for field in (how.by, how.cluster) if field is not None)
    for number, name in enumerate(names[1:], start=1):
        if n := _n_others(shared, "document", number):
            what = f"the logs contain different values of {fields} for the same items"
            found = f"{n:,} of {plural(shared.height, 'item')}"
            yield Problem(
                what, f"{names[0]} and {name}", found, "use logs of the same version of the data for both models"
            )


def _item_notes(
    tables: Sequence[pl.DataFrame], shared: pl.DataFrame, names: Sequence[str], how: Joining
) -> Iterator[str]:
    if any(table.height > shared.height for table in tables):
        sizes = ", ".join(f"{table.height:,} of {name}" for table, name in zip(tables, names, strict=True))
        yield (
            f"Compared on the {plural(shared.height, 'item')} scored in all logs, out of {sizes}; which items are "
            "missing may depend on the model, so the results apply only to these items"
        )
    unknown = [name for number, name in enumerate(names) if shared[f"prompt_hash{number}"].null_count()]
    if unknown:
        yield (
            f"The logs of {', '.join(unknown)} do not contain all prompts, so it is unknown whether they were the same"
        )
    n = max(_n_others(shared, "prompt_hash", number) for number in range(1, len(names)))
    if how.any_prompts and n:
        yield (
            f"The prompts of {n:,} of {plural(shared.height, 'item')} differ: each model is compared with its own "
            "prompts"
        )


def _log_notes(logs: Sequence[EvaluationLog], names: Sequence[str]) -> Iterator[str]:
    if len({log.task for log in logs}) > 1:
        yield f"The logs name the task differently: {', '.join(log.task for log in logs)}"
    for word, values in _stated_facts(logs).items():
        silent = [name for name, value in zip(names, values, strict=True) if value is None]
        if 0 < len(silent) < len(logs):
            yield (
                f"The logs of {', '.join(silent)} do not state their {word}, so it is unknown whether they are the same"
            )
    epochs = [log.epochs for log in logs]
    if max(epochs) > 1:
        each = ", ".join(f"{n} of {name}" for n, name in zip(epochs, names, strict=True))
        yield f"Scores are means over the responses to an item: {each}"


def _value_codes(shared: pl.DataFrame, field: str) -> tuple[list[str], NDArray[np.int64]]:
    """Return the values of a field in item order, and the position of each item's value."""
    values = [msgspec.json.decode(document)[field] for document in shared["document0"]]
    texts = [value if isinstance(value, str) else msgspec.json.encode(value).decode() for value in values]
    names, codes = np.unique(texts, return_inverse=True)
    return names.tolist(), codes.astype(np.int64)


def _checked_domains(values: Sequence[str], n_items: int, field: str) -> Sequence[str]:
    if not 2 <= len(values) <= min(MAX_DOMAINS, n_items // 2):
        cure = f"choose a field with 2 to {MAX_DOMAINS} values, several items each"
        found = f"{plural(len(values), 'value')} for {plural(n_items, 'item')}"
        raise InvalidInput(Problem("this field cannot be used for domains", f"--by {field}", found, cure))
    for value in values:
        check_text(value, f"--by {field}", cure="choose a field whose values are names")
    return values
