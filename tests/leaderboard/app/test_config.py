"""``board.toml``: what is in force is printed with its default, and a file is refused with all its problems at once."""

import ast
import tomllib
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli.command import app
from shiftbench.cli.serve import _effective
from shiftbench.leaderboard.app import config as config_module
from shiftbench.leaderboard.app.config import BoardConfig, config_lines, configuration, read_config
from shiftbench.leaderboard.app.server import ServerSettings, create_app
from shiftbench.leaderboard.store import Store
from shiftbench.validation.report import InvalidInput
from tests.leaderboard.sending import Sender
from tests.refusals import refusal

ROOT = Path(__file__).parents[3]


def written(text: str, folder: Path) -> Path:
    (folder / "board.toml").write_text(text, encoding="utf-8")
    return folder / "board.toml"


def test_what_is_printed_is_a_file_with_every_default(tmp_path: Path) -> None:
    printed = CliRunner().invoke(app, ["board", "config"])
    assert printed.exit_code == 0
    assert read_config(written(printed.output, tmp_path)) == BoardConfig()
    flat = configuration(BoardConfig())
    content = tomllib.loads(printed.output)
    tables = {f"{name}.{key}" for name, value in content.items() if isinstance(value, dict) for key in value}
    assert tables | {name for name, value in content.items() if not isinstance(value, dict)} == {*flat, "hosts"}
    settable = [line for line in printed.output.splitlines() if " = " in line]
    assert all("default" in line for line in settable)


def test_what_differs_from_its_default_says_so(tmp_path: Path, wording: SnapshotAssertion) -> None:
    file = written('title = "Ours: \\u0007a"\n[submissions]\nquota = 10\n[limits]\nupload_mib = 8\n', tmp_path)
    with pytest.raises(InvalidInput, match="invisible"):
        read_config(file)
    file = written('title = "Ours: é \\"x\\""\n[submissions]\nquota = 10\n[limits]\nupload_mib = 8\n', tmp_path)
    lines = "\n".join(config_lines(read_config(file)))
    assert lines == wording
    assert read_config(written(lines, tmp_path)) == read_config(file) == read_config(file)


def test_a_file_is_refused_with_all_problems_at_once(tmp_path: Path, wording: SnapshotAssertion) -> None:
    text = """
    titel = "x"
    data = "build/dr"
    hosts = ["ann smith"]
    [server]
    port = 99999
    proxies = ["10.0.0.1/8", "*"]
    root_path = "/a b"
    [submissions]
    sign_in = "yes"
    quota = -1
    [limits]
    upload_mib = 4000
    [log]
    slow_seconds = 0
    [nothing]
    x = 1
    """
    result = CliRunner().invoke(app, ["board", "config", "--config", str(written(text, tmp_path))])
    assert result.exit_code != 0
    problems = result.exception.problems  # type: ignore[union-attr]
    keys = {problem.key for problem in problems}
    assert keys == {
        *("titel", "data", "hosts.0", "server.port", "server.proxies.0", "server.proxies.1", "server.root_path"),
        *("submissions.sign_in", "submissions.quota", "limits.upload_mib", "log.slow_seconds", "nothing"),
    }
    assert [str(problem) for problem in problems] == wording


def test_hosts_need_a_sign_in_and_a_file_has_to_be_there(tmp_path: Path, wording: SnapshotAssertion) -> None:
    assert read_config(written('hosts = ["ann"]\n[submissions]\nsign_in = true\n', tmp_path)).hosts == ["ann"]
    messages = [refusal(InvalidInput, read_config, tmp_path / "none.toml")]
    messages += [refusal(InvalidInput, read_config, written(text, tmp_path)) for text in ('hosts = ["ann"]\n', "a = ")]
    assert messages == wording


def test_what_is_typed_counts_before_the_file(tmp_path: Path) -> None:
    file = written('data = ["a"]\nstore = "s"\n[server]\nport = 8000\nhost = "0.0.0.0"\n', tmp_path)
    found = _effective(file, None, None, None, None)
    assert (found.data, found.store, found.server.port, found.server.host) == (["a"], "s", 8000, "0.0.0.0")
    found = _effective(file, [Path("b")], "t", None, 0)
    assert (found.data, found.store, found.server.port, found.server.host) == (["b"], "t", 0, "0.0.0.0")
    result = CliRunner().invoke(app, ["serve", "--store", "s"])
    assert "--data" in result.output
    result = CliRunner().invoke(app, ["serve", "--data", "a", "--store", "s", "--quota", "3"])
    assert "board.toml" in result.output


def test_the_file_that_deploys_a_server_is_sound() -> None:
    found = read_config(ROOT / "deploy/board.toml")
    assert (found.submissions.sign_in, found.submissions.quota, found.log.json_lines) == (True, 10, True)


def test_limits_and_words_of_a_configuration_are_those_of_its_server(synthetic: DatasetFolder, tmp_path: Path) -> None:
    config = BoardConfig.model_validate(
        {"title": "Ours <b>", "text": "For the group.", "limits": {"upload_mib": 1}, "submissions": {"quota": 3}}
    )
    application = create_app([synthetic], Store(tmp_path / "store"), ServerSettings.of(config))
    with TestClient(application, "http://127.0.0.1") as client:
        page = client.get("/").text
        assert "<h1>Ours &lt;b&gt;</h1>" in page
        assert config.text in page
        assert "3 entries " in client.get("/submit").text
        big = {"files": ("a.csv", b"x" * (3 * 2**20))}
        assert client.post("/gradio_api/upload", files=big).status_code == 413


def test_every_setting_is_read_by_the_server() -> None:
    """Check that no setting is only printed: each is read as an attribute where the server is made."""
    sources = [ROOT / "leaderboard/app/server.py", ROOT / "shiftbench/cli/serve.py", ROOT / "shiftbench/cli/board.py"]
    read = {
        node.attr
        for path in sources
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
    }
    models: list[Any] = [each for each in vars(config_module).values() if isinstance(each, type)]
    names = {name for model in models if issubclass(model, config_module._Table) for name in model.model_fields}
    assert names - read == set()


def test_a_configuration_is_in_the_stores_log_when_it_changes(sender: Sender, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    sender.send(store, "first", "ada")
    for title, hosts in (("a", ["hal"]), ("a", ["hal"]), ("b", ["hal"]), ("b", ["hal", "ann"]), ("b", ["hal", "ann"])):
        config = BoardConfig(title=title, hosts=hosts, submissions=config_module.Submissions(sign_in=True))
        opened = Store(store.root)
        opened.note_configuration(configuration(config), config.hosts)
        opened.flush_notes()
    events = [event for event in Store(store.root).log.events if event.act == "configured"]
    assert [event.words is not None for event in events] == [True, False, True, False, True, False, False]
    assert '"title": "a"' in (events[0].words or {})["configuration"]
    assert "hal" not in b"".join(path.read_bytes() for path in (store.root / "log").glob("*.jsonl")).decode()
