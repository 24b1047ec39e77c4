"""The shiftbench command as a user types it: exit codes, messages, and what only a process of its own shows."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from tests.command_line import COMMAND, run, run_process
from tests.listed_options import listed_commands
from tests.shiftbench.checked import stable

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def predicted(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("predictions") / "preds.parquet"
    result = run("train", "majority", "nli", "--data", synthetic.path, "--out", out)
    assert result.returncode == 0, result.stderr
    return out


@pytest.mark.parametrize("arguments", [("build", "--help"), ("score", "missing.csv", "--data", "."), ("frobnicate",)])
def test_a_process_answers_as_this_one_does(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """Help, refused input and wrong usage: what is asked in this process stands for the installed command."""
    of_process, here = run_process(*arguments, cwd=tmp_path), run(*arguments, cwd=tmp_path)
    assert (of_process.returncode, of_process.stdout, of_process.stderr) == (here.returncode, here.stdout, here.stderr)


def test_list_prints_one_domain_a_line() -> None:
    lines = run("build", "list").stdout.splitlines()
    assert "dr/nli.fiction" in lines
    assert all(line.count("/") == 1 and line.count(".") == 1 for line in lines)
    of_dr = run("build", "list", "dr").stdout
    assert of_dr.splitlines() == [line for line in lines if line.startswith("dr/")]
    former = run("build", "dr", "--list")
    assert former.stdout == of_dr
    assert "'shiftbench build list dr'" in former.stderr


def test_score_as_json(synthetic: DatasetFolder, predicted: Path) -> None:
    result = run_process("score", predicted, "--data", synthetic.path, "--json", "-")
    assert result.returncode == 0, result.stderr
    scores = json.loads(result.stdout)
    assert scores["data"] == synthetic.content_hash
    task = scores["tasks"][0]
    assert len(task["shifts"]) == 12
    assert set(task["shifts"][0]["sd"]) == {"value", "low", "high", "no_interval"}
    assert set(task["shifts"][0]["depth_f1"]) == {"0", "25", "50", "75", "90"}
    assert {"source", "target", "n", "st", "ss", "tt", "sd", "td", "idd", "scenario", "effective_n"} <= set(
        task["shifts"][0]
    )


def test_score_for_people(synthetic: DatasetFolder, predicted: Path, wording: SnapshotAssertion) -> None:
    result = run("score", predicted, "--data", synthetic.path)
    assert stable(result.stdout) == wording


def test_no_progress_bar_where_output_is_piped(synthetic: DatasetFolder, tmp_path: Path) -> None:
    result = run_process("train", "tfidf-lr", "nli", "--data", synthetic.path, "--out", tmp_path / "p.csv")
    assert result.returncode == 0
    assert result.stderr.count("\n") == 1
    assert (tmp_path / "p.card.yaml").is_file()


def test_submit_to_a_store(
    synthetic: DatasetFolder, predicted: Path, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    arguments = ("submit", predicted, "--to", tmp_path / "store")
    without = run(*arguments, "--data", synthetic.path, "--json", "-")
    assert without.returncode == 0, without.stderr
    assert json.loads(without.stdout)["new"] is True
    again = run(*arguments, "--data", synthetic.path)
    # What is printed leads to the entry, and says where it stands.
    assert [stable(done.stderr.replace(str(tmp_path), "TMP")) for done in (without, again)] == wording
    # The card alone leads to a dataset that was built on this machine.
    assert run(*arguments).returncode == 0


def test_submit_names_the_card_that_it_looked_for(predicted: Path, tmp_path: Path) -> None:
    alone = shutil.copy(predicted, tmp_path / "alone.parquet")
    refused = run("submit", alone, "--to", tmp_path / "store")
    assert_refused(refused, f"{alone}: this prediction file has no card", "alone.card.yaml", "'shiftbench board card'")
    card = predicted.with_name("preds.card.yaml")
    assert run("submit", alone, "--card", card, "--to", tmp_path / "store").returncode == 0


def test_validate(synthetic: DatasetFolder, predicted: Path) -> None:
    card = predicted.with_name("preds.card.yaml")
    assert run("validate", predicted, "--data", synthetic.path, "--card", card).returncode == 0
    assert run("validate", synthetic.path).returncode == 0
    assert run("validate", predicted).returncode == 2


BAD: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "missing": lambda frame: frame.head(100),
    "repeated": lambda frame: pl.concat([frame, frame.head(1)]),
    "unknown id": lambda frame: frame.with_columns(id="id" + pl.col("id")),
    "unknown label": lambda frame: frame.with_columns(prediction=pl.lit("Entailmnt")),
    "unknown source": lambda frame: frame.with_columns(source=pl.lit("harbor")),
    "column": lambda frame: frame.rename({"prediction": "predicton"}),
    "empty": lambda frame: frame.head(0),
    "null": lambda frame: frame.with_columns(prediction=pl.lit(None, pl.String)),
}


def test_bad_input_is_refused(
    synthetic: DatasetFolder, predicted: Path, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    said = {}
    bad, card = tmp_path / "bad.parquet", predicted.with_name("preds.card.yaml")
    options = ("--card", card, "--to", tmp_path / "store", "--data", synthetic.path, "--json", tmp_path / "answer.json")
    for name, change in BAD.items():
        change(pl.read_parquet(predicted)).write_parquet(bad)
        result = run("submit", bad, *options)
        assert result.returncode == 1, name
        said[name] = result.stderr
        assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.parquet"]
    (tmp_path / "p.parquet").write_bytes(b"PK\x03\x04")
    said["no known kind"] = run("score", tmp_path / "p.parquet", "--data", synthetic.path).stderr
    assert said == wording


def assert_refused(result: subprocess.CompletedProcess[str], *words: str, code: int = 1) -> None:
    """One clear line and exit code 1, or 2 for a word that is none of the choices."""
    assert result.returncode == code, result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield int(taken.getsockname()[1])


@pytest.mark.parametrize("to", ["127.0.0.1:7902", "localhost:7902", "localhost:7902/"])
def test_an_address_without_a_scheme_is_no_store(to: str, predicted: Path, tmp_path: Path) -> None:
    result = run("submit", predicted, "--card", predicted.with_name("preds.card.yaml"), "--to", to, cwd=tmp_path)
    assert_refused(result, f"write http://{to}")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_store(predicted: Path) -> None:
    card = predicted.with_name("preds.card.yaml")
    assert_refused(run("submit", predicted, "--card", card, "--to", predicted), str(predicted), "give a folder")


def test_json_is_refused_before_the_work(synthetic: DatasetFolder, predicted: Path, tmp_path: Path) -> None:
    for where, words in ((tmp_path / "nodir" / "x.json", "no such folder"), (tmp_path, "give the path of a file")):
        result = run("score", predicted, "--data", synthetic.path, "--json", where)
        assert_refused(result, words, "--json")
        assert result.stdout == ""


def test_a_file_in_the_way_of_a_folder_is_one_line(synthetic: DatasetFolder, predicted: Path) -> None:
    out = predicted / "x.parquet"
    assert_refused(run("train", "majority", "nli", "--data", synthetic.path, "--out", out), str(predicted))


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SHIFTBENCH_CACHE", str(tmp_path / "file" / "cache"))
    result = run("build", "synthetic", "--out", tmp_path / "out", "--encoder", "none")
    assert_refused(result, str(tmp_path / "file" / "cache"), "SHIFTBENCH_CACHE")
    assert not (tmp_path / "out").exists()


def test_a_taken_port_is_refused_before_training(synthetic: DatasetFolder, tmp_path: Path, taken_port: int) -> None:
    out = tmp_path / "out"
    assert_refused(run("demo", "--port", taken_port, "--out", out), f"127.0.0.1:{taken_port}", "another --port")
    assert not out.exists()
    serve = run("serve", "--data", synthetic.path, "--store", tmp_path / "store", "--port", taken_port)
    assert_refused(serve, f"127.0.0.1:{taken_port}")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_serve_says_where_and_stops_with_130(synthetic: DatasetFolder, tmp_path: Path, how: signal.Signals) -> None:
    command = [str(COMMAND), "serve", "--data", str(synthetic.path), "--store", str(tmp_path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            assert process.stderr.readline().count("http://127.0.0.1:") == 1
            process.send_signal(how)
            assert process.wait(timeout=60) == 130
        finally:
            process.kill()
        assert process.stdout.read() == ""
        last = process.stderr.read().strip()
    assert last.startswith("stopped")
    assert "continue" not in last  # there is no saved work to continue from


def test_rescoring_needs_a_store(synthetic: DatasetFolder, tmp_path: Path) -> None:
    result = run("board", "rescore", "--store", tmp_path / "nowhere", "--data", synthetic.path)
    assert_refused(result, "there is no such store")


@pytest.mark.parametrize(
    "arguments",
    [
        ("frobnicate",),
        ("score",),
        ("build", "dr", "--raw", "x"),
        ("build", "dr", "--out", "x"),
        ("train", "magic", "nli"),
    ],
    ids="-".join,
)
def test_wrong_usage(arguments: tuple[str, ...], tmp_path: Path) -> None:
    result = run(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert "Usage:" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [each.words for each in listed_commands() if "train" not in each.words])
def test_help_says_what_to_put(words: str) -> None:
    text = run(*words.split(), "--help").stdout
    assert not re.findall(r"^ +--.*(<.*>|list\[)|\{[a-z][^}]*\||range", text, flags=re.M)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("synthetic", "nli"), "unexpected extra argument(s) (nli)"),
        (("synthetic", "--partial"), "No such option: --partial"),
        (("own", "tickets", "--raw", "x.csv", "--partial"), "these options do not apply without --spec: --partial"),
        (("df1", "--raw", "x", "--withhold-labels"), "No such option: --withhold-labels"),
        (("own", "tickets", "--raw", "x.csv", "--columns", "topic=site"), "found 'topic'"),
    ],
)
def test_build_refuses_what_does_not_apply(arguments: tuple[str, ...], words: str, tmp_path: Path) -> None:
    result = run("build", *arguments, "--out", "out", cwd=tmp_path)
    assert result.returncode == 2
    assert words in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_build_names_the_benchmarks_there_are() -> None:
    assert "'synthetic'" in run("build", "synthetik", "--out", "y").stderr
    for other in ("wilds", "own"):
        assert_refused(run("build", "list", other), f"found '{other}'; use one of 'dr', 'boss', 'df1'", code=2)


def test_former_options_of_build_work_and_say_those_of_today(tmp_path: Path) -> None:
    rows = [f"text {number} of {site},{site},{number % 2}" for site in ("a", "b") for number in range(40)]
    (tmp_path / "mine.csv").write_text("\n".join(["body,site,mark", *rows]), encoding="utf-8")
    of_file = ("own", "mine", "--raw", "mine.csv")
    named = ("--text-column", "body", "--domain-column", "site", "--label-column", "mark", "--kind", "labels")
    former = run("build", *of_file, "--out", "former", *named, "--no-depth", cwd=tmp_path)
    assert former.returncode == 0, former.stderr
    assert "'--columns text=body,domain=site,labels=mark --encoder none'" in former.stderr
    columns = ("--columns", "text=body,domain=site,labels=mark", "--encoder", "none")
    assert run("build", *of_file, "--out", "today", *columns, cwd=tmp_path).returncode == 0
    then, now = (DatasetFolder.open(tmp_path / name) for name in ("former", "today"))
    assert then.content_hash == now.content_hash


def test_check_of_all_benchmarks_is_that_of_each(tmp_path: Path) -> None:
    checked = run("build", "--check", "--raw", tmp_path, "--json", "-")
    each = [run("build", name, "--check", "--raw", tmp_path, "--json", "-") for name in ("dr", "boss", "df1")]
    assert "build dr --check --raw" in checked.stderr
    paths = {row["path"] for done in each for row in json.loads(done.stdout)}
    assert {row["path"] for row in json.loads(checked.stdout)} == paths


def test_metrics_are_light() -> None:
    script = (
        "import sys\nfrom shiftbench.metrics import classification, depth, robustness\n"
        "heavy = {'torch', 'datasets', 'gradio', 'pandas', 'polars', 'sklearn'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_ctrl_c_while_libraries_are_loaded_prints_one_line(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("import time\nprint('loading', flush=True)\ntime.sleep(60)\n")
    command = [sys.executable, "-m", "shiftbench", "build", "list"]
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "loading\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err.count("\n")) == (130, 1)
    assert err.startswith("stopped")


@pytest.mark.parametrize(
    "arguments",
    [
        ("score", "p.csv", "--data", "mine.csv", "--columns", "label"),
        ("score", "p.csv", "--data", "mine.csv", "--format", "word"),
        ("forecast", "p.csv", "--data", "mine.csv", "--method", "guess"),
        ("import", "lm_eval", "log.jsonl", "--data", "data", "--out", "p.csv"),
        ("build", "list", "rd"),
        ("analyse", "p.csv", "--data", "data", "--figure", "scenario"),
    ],
)
def test_a_choice_that_an_option_does_not_have_is_wrong_usage(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("id,domain,text,label\n1,a,good,pos\n2,b,bad,neg\n", encoding="utf-8")
    (tmp_path / "p.csv").write_text("source,id,prediction\na,1,pos\n", encoding="utf-8")
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert any(repr(word) in done.stderr for word in arguments), done.stderr


@pytest.mark.parametrize(
    ("typed", "instead"),
    [
        (("bench",), "python -m benchmarks scores"),
        (("bench", "app", "--scale", "0.1"), "python -m benchmarks app --scale 0.1"),
        (("coverage", "edges"), "python -m benchmarks coverage edges"),
    ],
)
def test_the_former_names_of_benchmarks_say_the_new_ones(typed: tuple[str, ...], instead: str, tmp_path: Path) -> None:
    result = run(*typed, cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.rstrip().endswith(f"run {instead}")


def test_benchmarks_are_a_program_of_their_own() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert re.findall(r"^  (\w+)  ", done.stdout, flags=re.M) == [
        "scores", "build", "app", "train", "check", "prompt", "coverage", "comparisons", "install", "advice", "load",
        "time", "forecasts", "ranks", "slices", "labels",
    ]  # fmt: skip
