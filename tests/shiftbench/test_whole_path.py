"""A user's whole path against the loopback Hub: both benchmarks published, loaded with plain ``datasets``, a baseline
trained on them, its predictions sent to the Space, scored there, and compared with another entry.

What is expected of the Space's scores is computed beside the training, with scikit-learn and from the published depths.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from gradio_client import Client

from shiftbench.builders.folder.reader import DatasetFolder
from tests.hub.clients import finish, start
from tests.hub.published import publish
from tests.hub.server import READ, LoopbackHub, running_hub
from tests.leaderboard.app.test_space import ENTRIES, SPACE, running_space, send

DR, BOSS = "acme/domain-robustness", "acme/boss"
TRAIN = """
import csv, json, sys
from datasets import load_dataset
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.pipeline import make_pipeline

MODELS = {"tfidf": lambda: LogisticRegression(C=10), "majority": DummyClassifier}


def of_domain(rows, domain):
    return [row for row in rows if row["domain"] == domain]


def score(benchmark, gold, predicted):
    return accuracy_score(gold, predicted) if benchmark == "boss" else f1_score(gold, predicted, average="macro")


def run(benchmark, repo, sources):
    loaded = load_dataset(repo, "sa")
    names = loaded["train"].features["label"].names
    train, test = list(loaded["train"]), list(loaded["test"])
    domains = sorted({row["domain"] for row in test})
    for model, make in MODELS.items():
        scores, right = {}, {}
        with open(f"{benchmark}-{model}.csv", "w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["source", "id", "prediction"])
            for source in sources:
                home = of_domain(train, source)
                fitted = make_pipeline(TfidfVectorizer(), make())
                fitted.fit([row["text"] for row in home], [row["label"] for row in home])
                for target in domains:
                    rows = of_domain(test, target)
                    predicted = fitted.predict([row["text"] for row in rows])
                    scores[source, target] = score(benchmark, [row["label"] for row in rows], predicted)
                    for row, code in zip(rows, predicted):
                        out.writerow([source, row["id"], names[code]])
                        right[source, row["id"]] = bool(code == row["label"])
        yield f"{benchmark}-{model}", [[*pair, value] for pair, value in scores.items()], right


def depth_f1(repo, right):
    parts = {}
    for row in load_dataset(repo, "sa.depth", split="test"):
        if (row["source"], row["id"]) in right:
            parts.setdefault((row["source"], row["id"].split("/")[2]), []).append((row["weight"], row["id"]))
    return [
        [*pair, sum(weight for weight, id in rows if right[pair[0], id]) / sum(weight for weight, _ in rows)]
        for pair, rows in parts.items()
        if pair[0] != pair[1]
    ]


dr, boss, sources = sys.argv[1], sys.argv[2], sys.argv[3].split(",")
expected = {}
for benchmark, repo, homes in (("dr", dr, sources), ("boss", boss, ["amazon"])):
    for name, scores, right in run(benchmark, repo, homes):
        expected[name] = {"scores": scores, "depth_f1": depth_f1(repo, right)}
assert not {"shiftbench", "builders", "leaderboard"} & set(sys.modules)
print(json.dumps(expected))
"""


def by_shift(rows: list[list[Any]]) -> dict[tuple[str, str], float]:
    return {(source, target): value for source, target, value in rows}


@pytest.fixture(scope="module")
def trained(
    synthetic: DatasetFolder, id_folder: DatasetFolder, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Client, Path, dict[str, Any]]]:
    """The Space of both benchmarks, the folder of the prediction files, and the scores to expect."""
    home = tmp_path_factory.mktemp("path")
    with running_hub(home / "hub") as hub:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
            for folder, repo in ((synthetic, DR), (id_folder, BOSS)):
                publish(hub, folder, repo_id=repo)
        publish_the_space(hub, home)
        training = start(hub, home, "-c", TRAIN, DR, BOSS, ",".join(synthetic.task("sa").domains), token=None)
        with running_space(hub, home) as url:
            code, out, err = finish(training)
            assert code == 0, err
            yield Client(url, verbose=False), home, json.loads(out.splitlines()[-1])


def publish_the_space(hub: LoopbackHub, home: Path) -> None:
    words = ["-m", "shiftbench", "publish-space", SPACE, "--data", DR, "--data", BOSS, "--store", ENTRIES]
    code, _, err = finish(start(hub, home, *words))
    assert code == 0, err
    hub.stored.create(ENTRIES, private=False)


@pytest.fixture(scope="module")
def sent(
    trained: tuple[Client, Path, dict[str, Any]], synthetic: DatasetFolder, id_folder: DatasetFolder
) -> dict[str, str]:
    """The ids of the entries that were sent, by the names of their files."""
    client, home, expected = trained
    entries = {}
    for name in expected:
        folder = synthetic if name.startswith("dr") else id_folder
        answer = send(client.src, folder, home / f"{name}.csv", name, token=READ)
        assert answer["ok"], answer["problems"]
        entries[name] = answer["entry"]
    return entries


@pytest.mark.parametrize("name", ["dr-tfidf", "boss-tfidf", "boss-majority"])
def test_scores_are_those_that_a_user_computes(
    name: str, trained: tuple[Client, Path, dict[str, Any]], sent: dict[str, str]
) -> None:
    client, _, expected = trained
    scores = by_shift(expected[name]["scores"])
    depth_f1 = by_shift(expected[name]["depth_f1"])
    (task,) = client.predict(sent[name], api_name="/scores")["tasks"]
    shifts = {(shift["source"], shift["target"]): shift for shift in task["shifts"]}
    assert shifts.keys() == {pair for pair in scores if pair[0] != pair[1]} == depth_f1.keys()
    for (source, target), shift in shifts.items():
        st, ss, tt = scores[source, target], scores[source, source], scores.get((target, target))
        assert shift["st"]["value"] == pytest.approx(st)
        assert shift["sd"]["value"] == pytest.approx(ss - st)
        assert shift["td"]["value"] == (None if tt is None else pytest.approx(tt - st))
        assert shift["scenario"] == scenario(ss - st, None if tt is None else tt - st)
        assert shift["depth_f1"]["0"]["value"] == pytest.approx(depth_f1[source, target])


def scenario(sd: float, td: float | None) -> str:
    if td is None:
        return "Unknown"
    if min(abs(sd), abs(td)) < 1e-12:
        return "Tie"
    return {(True, True): "Classic", (True, False): "Observed", (False, True): "Unobserved"}.get(
        (sd > 0, td > 0), "No Challenge"
    )


def test_entries_stand_on_their_board_and_are_compared(
    trained: tuple[Client, Path, dict[str, Any]], sent: dict[str, str]
) -> None:
    client, _, expected = trained
    assert set(client.predict(api_name="/boards")) >= {"synthetic/sa", "boss/sa"}
    board = client.predict("synthetic/sa", api_name="/board")
    assert [row["name"] for row in board] == ["dr-tfidf", "dr-majority"], "best first"
    (pair,) = client.predict([sent["dr-tfidf"], sent["dr-majority"]], "sa", api_name="/compare")
    better, worse = (by_shift(expected[name]["scores"]) for name in ("dr-tfidf", "dr-majority"))
    for shift in pair["shifts"]:
        (st,) = (each for each in shift["differences"] if each["figure"] == "ST")
        where = shift["source"], shift["target"]
        assert st["value"] == pytest.approx(better[where] - worse[where])
        assert st["p"] <= st["p_corrected"]
