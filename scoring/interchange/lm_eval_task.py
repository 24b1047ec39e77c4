"""Writer of a task for lm-evaluation-harness: a YAML a domain, a group that averages them, the rows as parquet.

Source: lm_eval/config/task.py, config/group.py, docs/new_task_guide.md. Of classification there are two groups: one
compares the labels' log-likelihoods, the other lets the model write, as servers of chats have no log-likelihoods. The
group's mean counts each domain once, whatever its size, as ours does; macro-F1 is computed within each domain.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from shiftbench.scoring.interchange.prompted_task import GOLD_ANSWER, PromptedTask
from shiftbench.validation.vocabulary import TOKENS, TaskKind

GENERATE = "_generate"
"""Ends the names of those tasks of a classification in which the model writes its answer."""
FIRST_LABEL = "first_label"
"""The filter that finds the label in a written answer."""

_MARK = "\x00"
_MACRO_F1 = '''"""Macro-F1 over the labels of one domain, as the mean of a group counts it."""

from sklearn.metrics import f1_score


def macro_f1(items):
    """Compute macro-F1 of pairs of gold and predicted label."""
    gold, predicted = zip(*items)
    return f1_score(gold, predicted, average="macro", labels=range({n}), zero_division=0)
'''


class _Function(str):
    """A function that lm-eval takes from a Python file beside the YAML."""


class _Dumper(yaml.SafeDumper):
    pass


_Dumper.add_representer(_Function, lambda dumper, name: dumper.represent_scalar("!function", str(name)))


def write_lm_eval(task: PromptedTask, out: Path) -> list[str]:
    """Write a task into a folder that ``lm_eval --include_path`` takes.

    The YAML names the rows by their whole path, because lm-eval takes any other from where it runs.

    Args:
        task: the task.
        out: the folder; other tasks may be in it.
    Returns: the names of the groups, the one with log-likelihoods first.
    """
    rows = out / "rows" / task.task
    rows.mkdir(parents=True, exist_ok=True)
    for domain, frame in task.rows.items():
        frame.write_parquet(rows / f"{domain}.parquet")
    if _has_macro_f1(task):
        (out / _metrics_file(task)).write_text(_MACRO_F1.format(n=len(task.labels)), encoding="utf-8")
    forms = {"": _choice(task), GENERATE: _generation(task)} if task.kind is TaskKind.CLASSIFICATION else {}
    groups = []
    for ending, form in (forms or {"": _generation(task)}).items():
        for domain in task.rows:
            files = {"data_files": {"test": str((rows / f"{domain}.parquet").absolute())}}
            own = {"task": task.domain_name(domain) + ending, "dataset_path": "parquet", "dataset_kwargs": files}
            _write(out / f"{own['task']}.yaml", {**own, **_prompt(task), **form, "metadata": {"version": 1.0}})
        metrics = [{"metric": each["metric"], "aggregation": "mean", "weight_by_size": False, "filter_list": [name]}
                   for each in form["metric_list"] for name in _filters(form)]  # fmt: skip
        group = {
            "group": task.name + ending,
            "task": [task.domain_name(domain) + ending for domain in task.rows],
            "aggregate_metric_list": metrics,
            "metadata": {"version": 1.0},
        }
        _write(out / f"{task.name}{ending}_group.yaml", group)
        groups.append(task.name + ending)
    return groups


def prompt_template(task: PromptedTask) -> tuple[str, str]:
    """Build the system turn and the user turn with the input columns as Jinja has them: ``{{text}}``.

    They are our own turns for a row whose values are marks; what looks like Jinja in our words is kept as it is.
    """
    marked = {name: f"{_MARK}{name}{_MARK}" for name in task.inputs}
    row: dict[str, Any] = {name: [mark] if name == TOKENS else mark for name, mark in marked.items()}
    turns = {turn["role"]: turn["content"] for turn in task.messages(row)}
    texts = [re.sub(r"\{(?=[{%#])", "{{ '{' }}", turns.get(role, "")) for role in ("system", "user")]
    for name, mark in marked.items():
        value = f"{{{{{name} | join(' ')}}}}" if name == TOKENS else f"{{{{{name}}}}}"
        texts = [text.replace(mark, value) for text in texts]
    return texts[0], texts[1]


def _prompt(task: PromptedTask) -> Mapping[str, Any]:
    """Join our turns into one text, as for models that only continue a text."""
    system, user = prompt_template(task)
    return {
        "test_split": "test",
        "description": f"{system}\n\n" if system else "",
        "doc_to_text": user if task.ends_open else f"{user}\nAnswer:",
        "target_delimiter": " ",
        "num_fewshot": 0,
    }


def _choice(task: PromptedTask) -> dict[str, Any]:
    metrics: list[dict[str, Any]] = [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}]
    if _has_macro_f1(task):
        function = _Function(f"{Path(_metrics_file(task)).stem}.macro_f1")
        metrics.append({"metric": "f1", "aggregation": function, "higher_is_better": True})
    return {
        "output_type": "multiple_choice",
        "doc_to_choice": list(task.labels),
        "doc_to_target": "label",
        "metric_list": metrics,
    }


def _generation(task: PromptedTask) -> dict[str, Any]:
    settings: dict[str, Any] = {"until": ["\n\n"], "do_sample": False, "max_gen_toks": task.max_tokens}
    exact = {"metric": "exact_match", "aggregation": "mean", "higher_is_better": True, "ignore_case": True}
    form = {"output_type": "generate_until", "doc_to_target": f"{{{{{GOLD_ANSWER}}}}}", "generation_kwargs": settings,
            "metric_list": [exact]}  # fmt: skip
    if task.kind is TaskKind.CLASSIFICATION:
        steps = [{"function": "regex", "regex_pattern": label_pattern(task.labels)}, {"function": "take_first"}]
        form["filter_list"] = [{"name": FIRST_LABEL, "filter": steps}]
    return form


def label_pattern(labels: tuple[str, ...]) -> str:
    """Write the rule that finds a label in an answer as a regular expression with one group.

    The first label that is mentioned as a word of its own, in any case; of those that begin at one place the longest.

    >>> label_pattern(("no", "no_answer"))
    '(?i)(?<!\\\\w)(no[_ ]answer|no)(?!\\\\w)'
    """
    words = [r"[_ ]".join(re.escape(part) for part in label.split("_")) for label in labels]
    return rf"(?i)(?<!\w)({'|'.join(sorted(words, key=len, reverse=True))})(?!\w)"


def _filters(form: Mapping[str, Any]) -> list[str]:
    return [each["name"] for each in form.get("filter_list", [{"name": "none"}])]


def _has_macro_f1(task: PromptedTask) -> bool:
    return task.kind is TaskKind.CLASSIFICATION and task.metric == "macro_f1"


def _metrics_file(task: PromptedTask) -> str:
    return f"{task.name}_metrics.py"


def _write(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120), "utf-8")
