"""Writers of a dataset folder's task for lm-evaluation-harness and for Inspect, with this project's prompts and ids.

lm-eval: a YAML per domain, a group that averages them, the rows as parquet (lm_eval/config/task.py, config/group.py,
docs/new_task_guide.md). Classification tasks have two groups: one compares the labels' log-likelihoods, the other
generates, because chat APIs have no log-likelihoods. The group's mean weights domains equally, as shiftbench does, and
macro-F1 is computed within each domain.

Inspect: a task file with one task per domain, the rows with prompts as JSON lines
(inspect_ai/dataset/_sources/json.py, _util.py (FieldSpec), scorer/_pattern.py). If a model writes reasoning first, its
scorer also searches the reasoning; ``shiftbench logs import`` ignores it.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.validation.vocabulary import TOKENS, TaskKind

Message = Mapping[str, str]
"""One chat message: ``role`` and ``content``."""

GOLD_ANSWER = "gold_answer"
"""The column with the gold answer in the format requested from the model; inputs may be named ``answer``."""


@dataclass(frozen=True)
class PromptedTask:
    """One task: its test rows by domain, and the prompts for a model.

    Attributes:
        benchmark: the dataset's benchmark.
        task: its name in the folder.
        info: its facts in the folder's manifest.
        rows: by domain, the test rows of the folder: ``id``, ``domain``, their input columns, gold, and
            ``GOLD_ANSWER``.
        messages: builds the messages for one row, without demonstrations: an optional system and a user message.
        ends_open: whether the user message ends with the start of the answer, as in "Sentiment:".
        max_tokens: maximum number of tokens of an answer.
    """

    benchmark: str
    task: str
    info: TaskInfo
    rows: Mapping[str, pl.DataFrame]
    messages: Callable[[Mapping[str, Any]], Sequence[Message]]
    ends_open: bool
    max_tokens: int

    @property
    def name(self) -> str:
        """Return the name of the task in other tools: ``shiftbench_dr_nli``."""
        return f"shiftbench_{self.benchmark}_{self.task}".replace("-", "_").replace(".", "_")

    @property
    def has_macro_f1(self) -> bool:
        """Return whether its labels are scored by macro-F1, which lm-eval lacks."""
        return self.info.kind is TaskKind.CLASSIFICATION and self.info.metric == "macro_f1"

    def domain_name(self, domain: str) -> str:
        """Return the name of a domain in other tools: ``shiftbench_dr_nli_fiction``."""
        return f"{self.name}_{domain.replace('-', '_')}"


# Placeholder of a column in prompts that become templates: NUL cannot occur in a prompt's own text.
_MARK = "\x00"
_MACRO_F1 = '''"""Macro-F1 over the labels of one domain; the group averages it over domains."""

from sklearn.metrics import f1_score


def macro_f1(items):
    """Compute macro-F1 of pairs of gold and predicted label."""
    gold, predicted = zip(*items)
    return f1_score(gold, predicted, average="macro", labels=range({n}), zero_division=0)
'''


class _Function(str):
    """A function that lm-eval imports from a Python file next to the YAML."""


class _Dumper(yaml.SafeDumper):
    pass


_Dumper.add_representer(_Function, lambda dumper, name: dumper.represent_scalar("!function", str(name)))


def write_lm_eval(task: PromptedTask, out: Path) -> list[str]:
    """Write a task into a folder for ``lm_eval --include_path``.

    The YAML has absolute paths of the rows, because lm-eval resolves relative ones from its working directory.

    Args:
        task: the task.
        out: the folder; other tasks may be in it.

    Returns: the names of the groups, the one with log-likelihoods first.
    """
    rows = out / "rows" / task.task
    rows.mkdir(parents=True, exist_ok=True)
    for domain, frame in task.rows.items():
        frame.write_parquet(rows / f"{domain}.parquet")
    if task.has_macro_f1:
        (out / f"{task.name}_metrics.py").write_text(_MACRO_F1.format(n=len(task.info.labels)), encoding="utf-8")
    forms = {"": _choice(task), "_generate": _generation(task)} if task.info.kind is TaskKind.CLASSIFICATION else {}
    system, user = prompt_template(task)
    prompt = {  # the messages as one text, as for base models
        "test_split": "test",
        "description": f"{system}\n\n" if system else "",
        "doc_to_text": user if task.ends_open else f"{user}\nAnswer:",
        "target_delimiter": " ",
        "num_fewshot": 0,
    }
    groups = []
    for ending, form in (forms or {"": _generation(task)}).items():
        for domain in task.rows:
            files = {"data_files": {"test": str((rows / f"{domain}.parquet").absolute())}}
            own = {"task": task.domain_name(domain) + ending, "dataset_path": "parquet", "dataset_kwargs": files}
            _write(out / f"{own['task']}.yaml", {**own, **prompt, **form, "metadata": {"version": 1.0}})
        filters = [each["name"] for each in form.get("filter_list", [{"name": "none"}])]
        metrics = [{"metric": each["metric"], "aggregation": "mean", "weight_by_size": False, "filter_list": [name]}
                   for each in form["metric_list"] for name in filters]  # fmt: skip
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
    """Build the system and the user message as Jinja templates over the input columns: ``{{text}}``.

    They are built from a row of placeholder values; Jinja-like text in the prompt itself is escaped.
    """
    marked = {name: f"{_MARK}{name}{_MARK}" for name in task.info.inputs}
    row: dict[str, Any] = {name: [mark] if name == TOKENS else mark for name, mark in marked.items()}
    turns = {turn["role"]: turn["content"] for turn in task.messages(row)}
    texts = [re.sub(r"\{(?=[{%#])", "{{ '{' }}", turns.get(role, "")) for role in ("system", "user")]
    for name, mark in marked.items():
        value = f"{{{{{name} | join(' ')}}}}" if name == TOKENS else f"{{{{{name}}}}}"
        texts = [text.replace(mark, value) for text in texts]
    return texts[0], texts[1]


def _choice(task: PromptedTask) -> dict[str, Any]:
    metrics: list[dict[str, Any]] = [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}]
    if task.has_macro_f1:
        function = _Function(f"{task.name}_metrics.macro_f1")
        metrics.append({"metric": "f1", "aggregation": function, "higher_is_better": True})
    return {
        "output_type": "multiple_choice",
        "doc_to_choice": list(task.info.labels),
        "doc_to_target": "label",
        "metric_list": metrics,
    }


def _generation(task: PromptedTask) -> dict[str, Any]:
    settings: dict[str, Any] = {"until": ["\n\n"], "do_sample": False, "max_gen_toks": task.max_tokens}
    exact = {"metric": "exact_match", "aggregation": "mean", "higher_is_better": True, "ignore_case": True}
    form = {"output_type": "generate_until", "doc_to_target": f"{{{{{GOLD_ANSWER}}}}}", "generation_kwargs": settings,
            "metric_list": [exact]}  # fmt: skip
    if task.info.kind is TaskKind.CLASSIFICATION:
        steps = [{"function": "regex", "regex_pattern": label_pattern(task.info.labels)}, {"function": "take_first"}]
        form["filter_list"] = [{"name": "first_label", "filter": steps}]
    return form


def label_pattern(labels: tuple[str, ...]) -> str:
    """Return a regular expression with one group that finds a label in an answer.

    It matches the first label that occurs as a whole word, in any case; the longest of those at the same position.

    >>> label_pattern(("no", "no_answer"))
    '(?i)(?<!\\\\w)(no[_ ]answer|no)(?!\\\\w)'
    """
    words = [r"[_ ]".join(re.escape(part) for part in label.split("_")) for label in labels]
    return rf"(?i)(?<!\w)({'|'.join(sorted(words, key=len, reverse=True))})(?!\w)"


def _write(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120), "utf-8")


_FILE = '''"""Task '{task}' of '{benchmark}', one Inspect task per domain.

    inspect eval {file} --model openai/gpt-4o-mini
    shiftbench logs import inspect logs/*.eval --data DIR --out predictions.parquet
"""

from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import FieldSpec, json_dataset
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import {scorer_name}
from inspect_ai.solver import generate

ROWS = Path(__file__).parent / "rows" / {task!r}
FIELDS = FieldSpec(input="input", target="target", id="id", metadata=["domain"])


def domain_task(domain: str) -> Task:
    return Task(
        dataset=json_dataset(str(ROWS / f"{{domain}}.jsonl"), FIELDS),
        solver=generate(),
        scorer={scorer},
        config=GenerateConfig(temperature=0.0, max_tokens={max_tokens}),
    )
'''
_DOMAIN = """

@task
def {name}() -> Task:
    return domain_task({domain!r})
"""


def write_inspect(task: PromptedTask, out: Path) -> Path:
    """Write a task into a folder for Inspect.

    Args:
        task: the task.
        out: the folder; other tasks may be in it.

    Returns: the task file, for ``inspect eval``.
    """
    rows = out / "rows" / task.task
    rows.mkdir(parents=True, exist_ok=True)
    for domain, frame in task.rows.items():
        with (rows / f"{domain}.jsonl").open("w", encoding="utf-8") as file:
            for row in frame.iter_rows(named=True):
                turns = [dict(turn) for turn in task.messages(row)]
                content = {"id": row["id"], "input": turns, "target": row[GOLD_ANSWER], "domain": domain}
                file.write(json.dumps(content, ensure_ascii=False) + "\n")
    path = out / f"{task.name}.py"
    is_labelled = task.info.kind is TaskKind.CLASSIFICATION
    name = "pattern" if is_labelled else {TaskKind.TAGGING: "exact"}.get(task.info.kind, "f1")
    scorer = f"pattern({label_pattern(task.info.labels)!r})" if is_labelled else f"{name}()"
    names = {"task": task.task, "benchmark": task.benchmark, "file": path.name, "scorer_name": name}
    head = _FILE.format(**names, scorer=scorer, max_tokens=task.max_tokens)
    tasks = (_DOMAIN.format(name=task.domain_name(domain), domain=domain) for domain in task.rows)
    path.write_text(head + "".join(tasks), encoding="utf-8")
    return path
