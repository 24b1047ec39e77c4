"""A published dataset is a benchmark that Inspect runs from the Hub, by the eval.yaml that publishing sends with it.

Run by ``make test-interchange``. The Hub and the model's server are on the loopback interface.
"""

from pathlib import Path
from typing import Any

import pytest

from shiftbench.builders.building.synthetic import build_synthetic
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.interchange.reader import read_log
from tests.baselines.prompting.chat_server import running_chat_server
from tests.hub.published import REPO, publish
from tests.hub.server import running_hub
from tests.interchange.test_round_trips import BIN, run_tool

DOMAIN = "harbour"

pytestmark = [
    pytest.mark.interchange,
    pytest.mark.skipif(not (BIN / "inspect").exists(), reason="no .venv-interchange: make test-interchange makes it"),
]


def test_inspect_runs_a_task_of_the_hub_and_finds_the_right_labels(tmp_path: Path, basic_uploads: None) -> None:
    build_synthetic(tmp_path / "data", n_train=30, n_test=20, encoder=None)
    folder = DatasetFolder.open(tmp_path / "data")
    said: list[str] = []

    def reply(body: dict[str, Any]) -> str:
        said.append(body["messages"][-1]["content"])
        return "ANSWER: 1"

    with running_hub(tmp_path / "hub") as hub, running_chat_server() as server:
        publish(hub, folder)
        server.reply = reply
        run_tool(
            tmp_path, "inspect", "eval", f"hf/{REPO}/nli.{DOMAIN}", "--model", "openai-api/stub/m",
            "--display", "plain",
            HF_ENDPOINT=hub.url, HF_HUB_OFFLINE="0", HF_HUB_DISABLE_XET="1", STUB_BASE_URL=server.url,
            STUB_API_KEY="none",
        )  # fmt: skip
    log = read_log(next(tmp_path.glob("logs/*.eval")))
    rows = folder.split("nli", DOMAIN, "test")
    assert len(log.samples) == len(rows) == len(said)
    for text in rows["hypothesis"]:
        assert any(text in prompt for prompt in said)
    (score,) = [name for name in log.samples.columns if name.startswith("score.")]
    right = float((rows["label"] == 1).mean())  # type: ignore[arg-type]
    assert log.samples[score].mean() == pytest.approx(right)
    assert 0 < right < 1
    print(f"Inspect put {len(said)} texts to a model that always says 1: {right:.3f} of the labels, as in the rows")
