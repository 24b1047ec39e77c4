"""Writer of a task for Inspect: a task file with one task a domain, and the rows with our prompts as JSON lines.

Source: inspect_ai/dataset/_sources/json.py, _util.py (FieldSpec), scorer/_pattern.py. A model that writes reasoning
first is scored by what stands in it, too; our own reading of the answers, which ``shiftbench import`` does, leaves it
out.
"""

import json
from pathlib import Path

from shiftbench.scoring.interchange.lm_eval_task import label_pattern
from shiftbench.scoring.interchange.prompted_task import GOLD_ANSWER, PromptedTask
from shiftbench.validation.vocabulary import TaskKind

_FILE = '''"""Task '{task}' of '{benchmark}', one Inspect task a domain.

    inspect eval {file} --model openai/gpt-4o-mini
    shiftbench import inspect logs/*.eval --data DIR --out predictions.parquet
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
    """Write a task into a folder.

    Args:
        task: the task.
        out: the folder; other tasks may be in it.
    Returns: the task file, which ``inspect eval`` takes.
    """
    rows = out / "rows" / task.task
    rows.mkdir(parents=True, exist_ok=True)
    for domain, frame in task.rows.items():
        with (rows / f"{domain}.jsonl").open("w", encoding="utf-8") as file:
            for row in frame.iter_rows(named=True):
                content = {
                    "id": row["id"],
                    "input": [dict(turn) for turn in task.messages(row)],
                    "target": row[GOLD_ANSWER],
                    "domain": domain,
                }
                file.write(json.dumps(content, ensure_ascii=False) + "\n")
    path = out / f"{task.name}.py"
    is_labelled = task.kind is TaskKind.CLASSIFICATION
    name = "pattern" if is_labelled else {TaskKind.TAGGING: "exact"}.get(task.kind, "f1")
    scorer = f"pattern({label_pattern(task.labels)!r})" if is_labelled else f"{name}()"
    head = _FILE.format(
        task=task.task,
        benchmark=task.benchmark,
        file=path.name,
        scorer_name=name,
        scorer=scorer,
        max_tokens=task.max_tokens,
    )
    tasks = (_DOMAIN.format(name=task.domain_name(domain), domain=domain) for domain in task.rows)
    path.write_text(head + "".join(tasks), encoding="utf-8")
    return path
