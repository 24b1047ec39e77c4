"""Export, the real tools, and import again: the same predictions as the programs that prompt make themselves.

Run by ``make test-interchange``, which puts the tools into an environment of their own. A tiny model with random
weights and a server on the loopback interface answer; what they say is of no interest, that it arrives is.
"""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shiftbench.builders.building.synthetic import build_synthetic
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.interchange.reader import read_log
from shiftbench.validation.cards import read_card
from shiftbench.validation.vocabulary import UNPARSED
from tests.baselines.prompting.chat_server import ChatServer, running_chat_server
from tests.baselines.tiny import save_llama, words_in
from tests.command_line import run

BIN = Path(__file__).parents[2] / ".venv-interchange" / "bin"
TASK = "sa"
KEPT = os.environ.get("SHIFTBENCH_KEEP_LOGS")
"""A folder that logs of the tools are copied to, to become fixtures of other tests; ``--basetemp`` decides which
paths stand in them."""
RESULTS_KEPT = ("versions", "n-shot", "config", "date", "lm_eval_version", "model_name", "task_hashes")

pytestmark = [
    pytest.mark.interchange,
    pytest.mark.skipif(not (BIN / "lm_eval").exists(), reason="no .venv-interchange: make test-interchange makes it"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    """20 test rows a domain."""
    out = tmp_path_factory.mktemp("data") / "synthetic"
    build_synthetic(out, n_train=60, n_test=20)
    return DatasetFolder.open(out)


@pytest.fixture(scope="module")
def exported(folder: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exported")
    for tool in ("lm-eval", "inspect"):
        run("data", "export", folder.path, "--to", tool, "--task", TASK, "--out", out / tool)
    return out


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with running_chat_server() as server:
        server.reply = reply
        yield server


def reply(body: dict[str, Any]) -> str:
    """Answer by the letters of the text alone, in all the ways that models have."""
    text = body["messages"][-1]["content"].removesuffix("\nAnswer:")
    answers = ("positive", "Negative.", "It is not negative: **Positive**", "no idea", "unpositively NEGATIVE")
    return answers[hashlib.sha256(text.encode()).digest()[0] % len(answers)]


def run_tool(tmp_path: Path, *command: object, **environment: str) -> str:
    """Run a tool in a folder of its own, without the network."""
    offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf"), "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    words = [str(BIN / str(command[0])), *map(str, command[1:])]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, check=False, env=os.environ | offline | environment
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout + done.stderr


def kept(files: list[Path], name: str) -> list[Path]:
    """Copy the logs of one domain where the one who asked for it keeps them, without what they say of the machine."""
    for file in files if KEPT else ():
        place = Path(KEPT or "") / name / file.name
        place.parent.mkdir(parents=True, exist_ok=True)
        if file.name.startswith("results_"):
            results = json.loads(file.read_text())
            place.write_text(json.dumps({key: results[key] for key in RESULTS_KEPT if key in results}, indent=2) + "\n")
        elif "lamps" in file.name:
            shutil.copy(file, place)
    return sorted(files)


def imported(tool: str, logs: list[Path], folder: DatasetFolder, out: Path, *more: object) -> pl.DataFrame:
    run("logs", "import", tool, *logs, "--data", folder.path, "--out", out, *more)
    run("score", out, "--data", folder.path)
    return pl.read_parquet(out).sort("id", "seed")


def prompted(folder: DatasetFolder, out: Path, *options: object) -> pl.DataFrame:
    """What our own program makes of the same rows."""
    run("train", "prompt-llm", TASK, "--data", folder.path, "--shots", 0, "--out", out, *options)
    return pl.read_parquet(out).sort("id", "seed")


def test_lm_eval_compares_likelihoods(folder: DatasetFolder, exported: Path, tmp_path: Path) -> None:
    model = save_llama(tmp_path / "llama", [*words_in(folder, TASK), *folder.task(TASK).labels])
    told = run_tool(
        tmp_path, "lm_eval", "run", "--model", "hf", "--model_args", f"pretrained={model},dtype=float32", "--device",
        "cpu", "--tasks", "shiftbench_synthetic_sa", "--include_path", exported / "lm-eval", "--batch_size", 4,
        "--log_samples", "--output_path", "logs",
    )  # fmt: skip
    logs = kept(list(tmp_path.glob("logs/*/samples_*.jsonl")), "lm_eval")
    kept(list(tmp_path.glob("logs/*/results_*.json")), "lm_eval")
    theirs = imported("lm-eval", logs, folder, tmp_path / "theirs.parquet")
    ours = prompted(folder, tmp_path / "ours.parquet", "--local", "--model", model, "--score-labels", "--probabilities")

    assert theirs.drop("confidence", "probabilities").equals(ours.drop("confidence", "probabilities"))
    differences = (theirs["probabilities"].explode() - ours["probabilities"].explode()).abs()
    print(
        f"lm-eval, {len(theirs)} rows: all predictions equal; probabilities differ by {differences.max():.1e} at most"
    )
    assert float(differences.max()) < 1e-5  # type: ignore[arg-type]
    # The mean over domains that lm-eval prints is the one that is scored here.
    accuracy = [_accuracy(folder, theirs, domain) for domain in folder.task(TASK).domains]
    assert f"{sum(accuracy) / len(accuracy):.4f}" in told.split("Groups")[1]
    card = read_card(tmp_path / "theirs.card.yaml")
    assert (card.shots, card.paradigm, card.versions["lm-eval"]) == (0, "zero-shot", "0.4.13")
    assert card.run.items() >= {"engine": "hf", "dtype": "float32", "batch size": "4"}.items()


def test_lm_eval_lets_a_chat_write(folder: DatasetFolder, exported: Path, tmp_path: Path, server: ChatServer) -> None:
    arguments = f"model=stub,base_url={server.url}/chat/completions,num_concurrent=4"
    run_tool(
        tmp_path, "lm_eval", "run", "--model", "local-chat-completions", "--model_args", arguments, "--tasks",
        "shiftbench_synthetic_sa_generate", "--include_path", exported / "lm-eval", "--apply_chat_template",
        "--log_samples", "--output_path", "logs", OPENAI_API_KEY="none",
    )  # fmt: skip
    logs = kept(list(tmp_path.glob("logs/*/samples_*.jsonl")), "lm_eval_chat")
    kept(list(tmp_path.glob("logs/*/results_*.json")), "lm_eval_chat")
    theirs = imported("lm-eval", logs, folder, tmp_path / "theirs.parquet")
    ours = prompted(folder, tmp_path / "ours.parquet", "--model", "stub", "--base-url", server.url)

    assert theirs.equals(ours)
    _check_every_answer(theirs)


def test_inspect(folder: DatasetFolder, exported: Path, tmp_path: Path, server: ChatServer) -> None:
    shutil.copytree(exported / "inspect", tmp_path / "tasks")  # Inspect takes paths from where it runs
    run_tool(
        tmp_path, "inspect", "eval", "tasks/shiftbench_synthetic_sa.py", "--model", "openai-api/stub/m",
        "--log-dir", "logs", "--display", "plain", "--epochs", 2,
        STUB_API_KEY="none", STUB_BASE_URL=server.url,
    )  # fmt: skip
    logs = kept(list(tmp_path.glob("logs/*.eval")), "inspect")
    theirs = imported("inspect", logs, folder, tmp_path / "theirs.parquet")
    ours = prompted(
        folder, tmp_path / "ours.parquet", "--model", "m", "--base-url", server.url, "--seed", 0, "--seed", 1
    )

    assert theirs.equals(ours)
    _check_every_answer(theirs)
    # The tool's own scorer takes the same answers for right, for it looks probabilities, same labels.
    gold = folder.test(TASK).select("id", gold=pl.col("label"))
    scored = pl.concat([read_log(log).samples for log in logs]).join(gold, on="id").sort("id", "epoch")
    labels = pl.Series(folder.task(TASK).labels)
    assert scored["score.pattern"].to_list() == (theirs["prediction"] == labels.gather(scored["gold"])).to_list()
    card = read_card(tmp_path / "theirs.card.yaml")
    assert (card.base_model, card.run["engine"], card.tokens) == ("openai-api/stub/m", "openai-api", 160 * 12)


def test_the_json_log_of_inspect_is_read_as_the_archive_is(exported: Path, tmp_path: Path, server: ChatServer) -> None:
    shutil.copytree(exported / "inspect", tmp_path / "tasks")
    run_tool(
        tmp_path, "inspect", "eval", "tasks/shiftbench_synthetic_sa.py@shiftbench_synthetic_sa_lamps",
        "--model", "openai-api/stub/m", "--log-dir", "logs", "--display", "plain", "--limit", 3,
        STUB_API_KEY="none", STUB_BASE_URL=server.url,
    )  # fmt: skip
    run_tool(tmp_path, "inspect", "log", "convert", "logs", "--to", "json", "--output-dir", "converted")
    kept(list(tmp_path.glob("converted/*.json")), "inspect")
    archive, text = read_log(next(tmp_path.glob("logs/*.eval"))), read_log(next(tmp_path.glob("converted/*.json")))
    assert archive.samples.equals(text.samples)
    assert (archive.facts, archive.model, archive.task) == (text.facts, text.model, text.task)


def _check_every_answer(predictions: pl.DataFrame) -> None:
    """Check that each way of answering came about."""
    counts = dict(predictions["prediction"].value_counts().iter_rows())
    print(f"{len(predictions)} rows, all equal: {counts}")
    assert set(counts) == {"positive", "negative", UNPARSED}


def _accuracy(folder: DatasetFolder, predictions: pl.DataFrame, domain: str) -> float:
    rows = folder.split(TASK, domain, "test").join(predictions, on="id")
    labels = pl.Series(folder.task(TASK).labels)
    return float((labels.gather(rows["label"]) == rows["prediction"]).mean())  # type: ignore[arg-type]
