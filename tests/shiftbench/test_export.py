"""Tasks for other tools: their prompts are ours, letter by letter, and their scores are counted as ours are."""

import json
import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from jinja2 import Environment, StrictUndefined
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.prompting.parsing import first_label
from shiftbench.baselines.prompting.task_prompt import TaskPrompt
from shiftbench.baselines.prompting.wire import plain_text
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.classification import confusion_counts, macro_f1
from shiftbench.scoring.interchange.task_files import GOLD_ANSWER, label_pattern
from shiftbench.validation.vocabulary import TaskKind
from tests.baselines.prompting.conftest import boss, grid
from tests.command_line import run
from tests.scoring.interchange.logs import lm_eval_text, write_lm_eval

__all__ = ["boss", "grid"]  # every kind of task, in the prompts of both papers


class _Loader(yaml.SafeLoader):
    """Reads a function of lm-eval as its name."""


_Loader.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))

JINJA = Environment(undefined=StrictUndefined, keep_trailing_newline=True)
"""As lm_eval/utils.py sets it."""


def load(path: Path) -> dict[str, Any]:
    return dict(yaml.load(path.read_text(encoding="utf-8"), _Loader))


@pytest.fixture(params=["grid", "boss", "synthetic"])
def folder(request: pytest.FixtureRequest) -> DatasetFolder:
    found: DatasetFolder = request.getfixturevalue(request.param)
    return found


def test_prompts_of_lm_eval_are_ours(folder: DatasetFolder, tmp_path: Path) -> None:
    done = run("data", "export", folder.path, "--to", "lm-eval", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    for name, info in folder.manifest.tasks.items():
        prompt = TaskPrompt.of(folder, name)
        for domain, rows in folder.test(name).partition_by("domain", as_dict=True).items():
            (path,) = (tmp_path / "out").glob(f"shiftbench_*_{name}_{domain[0]}.yaml")
            task = load(path)
            written = pl.read_parquet(task["dataset_kwargs"]["data_files"]["test"])
            assert written["id"].to_list() == rows["id"].to_list()
            for row, ours in zip(written.iter_rows(named=True), rows.iter_rows(named=True), strict=True):
                request = prompt.request(ours, ())
                text = JINJA.from_string(task["description"] + task["doc_to_text"]).render(**row)
                assert text == plain_text(request.messages, ends_open=request.ends_open)
                assert row[GOLD_ANSWER] == prompt.answer(ours)
            if info.kind is TaskKind.CLASSIFICATION:
                assert (task["output_type"], tuple(task["doc_to_choice"])) == ("multiple_choice", info.labels)
            else:
                assert task["output_type"] == "generate_until"
                assert task["generation_kwargs"]["max_gen_toks"] >= 64


def test_gold_answers_come_back_as_predictions(folder: DatasetFolder, tmp_path: Path) -> None:
    for name in folder.manifest.tasks:
        prompt, rows = TaskPrompt.of(folder, name), list(folder.test(name).iter_rows(named=True))
        lines = [lm_eval_text(place, prompt.answer(row), doc={"id": row["id"]}) for place, row in enumerate(rows)]
        out = tmp_path / f"{name}.parquet"
        log = write_lm_eval(tmp_path / name, lines)
        done = run("logs", "import", "lm-eval", log, "--data", folder.path, "--out", out)
        assert done.returncode == 0, done.stderr
        assert pl.read_parquet(out)["prediction"].to_list() == [
            prompt.prediction(prompt.answer(row), row) for row in rows
        ]
        checked = run("validate", out, "--data", folder.path)
        assert checked.returncode == 0, checked.stderr


def test_groups_count_each_domain_once(synthetic: DatasetFolder, tmp_path: Path) -> None:
    run("data", "export", synthetic.path, "--to", "lm-eval", "--task", "sa", "--out", tmp_path / "out")
    group = load(tmp_path / "out" / "shiftbench_synthetic_sa_group.yaml")
    assert group["task"] == [f"shiftbench_synthetic_sa_{domain}" for domain in synthetic.task("sa").domains]
    assert [(each["metric"], each["weight_by_size"]) for each in group["aggregate_metric_list"]] == [
        ("acc", False),
        ("f1", False),
    ]
    written = load(tmp_path / "out" / "shiftbench_synthetic_sa_generate_group.yaml")["aggregate_metric_list"]
    assert [(each["metric"], each["filter_list"]) for each in written] == [("exact_match", ["first_label"])]


def test_macro_f1_of_lm_eval_is_ours(synthetic: DatasetFolder, tmp_path: Path) -> None:
    run("data", "export", synthetic.path, "--to", "lm-eval", "--task", "nli", "--out", tmp_path / "out")
    theirs = runpy.run_path(str(tmp_path / "out" / "shiftbench_synthetic_nli_metrics.py"))["macro_f1"]
    rng = np.random.default_rng(0)
    for n in (2, 7, 50):
        gold, predicted = rng.integers(3, size=n), rng.integers(2, size=n)
        ours = float(macro_f1(confusion_counts(gold, predicted, 3)))
        assert theirs(list(zip(gold, predicted, strict=True))) == pytest.approx(ours)


def test_messages_of_inspect_are_ours(folder: DatasetFolder, tmp_path: Path) -> None:
    done = run("data", "export", folder.path, "--to", "inspect", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    for name in folder.manifest.tasks:
        prompt, rows = TaskPrompt.of(folder, name), {row["id"]: row for row in folder.test(name).iter_rows(named=True)}
        files = sorted((tmp_path / "out" / "rows" / name).glob("*.jsonl"))
        lines = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
        assert {line["id"] for line in lines} == set(rows)
        for line in lines:
            row = rows[line["id"]]
            assert line["input"] == list(prompt.request(row, ()).messages)
            assert (line["target"], line["domain"]) == (prompt.answer(row), row["domain"])
        (task_file,) = (tmp_path / "out").glob(f"shiftbench_*_{name}.py")
        compile(task_file.read_text(encoding="utf-8"), str(task_file), "exec")


@pytest.mark.parametrize(
    "answer",
    ["No.", "no answer", "NO_ANSWER is it", "unanswered", "yes, no", "an answer: yes_no", "Yes", "", "it is (yes)"],
)
def test_the_pattern_finds_the_label_that_we_find(answer: str) -> None:
    labels = ("yes", "no", "no_answer", "yes_no")
    found = re.findall(label_pattern(labels), answer)
    ours = first_label(answer, labels)
    assert (found[0].casefold().replace(" ", "_") if found else None) == ours


def test_nothing_is_written_over_what_is_there(
    synthetic: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    done = run("data", "export", synthetic.path, "--to", "inspect", "--out", tmp_path)
    assert (done.returncode, [path.name for path in tmp_path.iterdir()]) == (1, ["mine.txt"])
    said = [done.stderr]
    done = run("data", "export", synthetic.path, "--to", "inspect", "--task", "snli", "--out", tmp_path / "new")
    assert [*said, done.stderr] == wording
    assert not (tmp_path / "new").exists()
