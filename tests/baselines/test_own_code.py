"""Methods and programs of the user's own: the page's examples, what is recorded of them, and what is refused."""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import typer
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines import finetune_classifier
from shiftbench.baselines.own_code import METHODS_GROUP, own_files
from shiftbench.baselines.robust.method import HOOKS, Robustness, TrainingMethod, method_class
from shiftbench.baselines.training.options import TrainingOptions
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli.command import app
from shiftbench.cli.help import imported_command
from shiftbench.scoring.scores.score import score_file
from shiftbench.validation.cards import read_card
from shiftbench.validation.report import InvalidInput
from tests.baselines.tiny import save_bert, words_in
from tests.refusals import refusal

PAGE = Path(__file__).parents[2] / "docs/methods/your-own-method.md"
HEAD = "from shiftbench.baselines.robust.method import TrainingMethod\n\n\n"


def examples() -> dict[str, str]:
    """Read the page's files by the name that the text before each gives it."""
    page = PAGE.read_text(encoding="utf-8")
    found = re.findall(r"`(\w+\.py)`[^`]*?(?:`\w+`[^`]*?)*\n\n```python\n(.*?)^```", page, flags=re.M | re.S)
    return dict(found)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, code in examples().items():
        (tmp_path / name).write_text(code, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def encoder(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_bert(tmp_path_factory.mktemp("model"), words_in(synthetic, "nli")))


def trained(folder: DatasetFolder, out: Path, model: str, method: list[str], *settings: str) -> pl.DataFrame:
    finetune_classifier.main(
        "nli", folder.path, out, source=["harbour"], target=["harbour", "kitchen"], method=method, model=model,
        epochs=1, learning_rate=3e-3, max_length=64, train_size=64, settings=list(settings), probabilities=True,
    )  # fmt: skip
    return pl.read_parquet(out)


def test_the_pages_examples_are_short() -> None:
    assert set(examples()) == {"my_losses.py", "my_priors.py", "longest.py"}
    for name, code in examples().items():
        assert len([line for line in code.splitlines() if line.strip()]) < 30, name


def test_the_pages_table_lists_every_function_that_a_method_may_override() -> None:
    assert tuple(re.findall(r"^\| `(\w+)\(", PAGE.read_text(encoding="utf-8"), flags=re.M)) == HOOKS


def test_the_pages_loss_trains_and_its_strength_counts(files: Path, encoder: str, synthetic: DatasetFolder) -> None:
    method = f"{files / 'my_losses.py'}:Penalty"
    plain = trained(synthetic, files / "plain.parquet", encoder, [])
    none = trained(synthetic, files / "none.parquet", encoder, [method], "Penalty.weight=0")
    much = trained(synthetic, files / "much.parquet", encoder, [method], "Penalty.weight=5")
    confidences = [each["probabilities"].list.max().mean() for each in (plain, none, much)]
    assert confidences[1] == pytest.approx(confidences[0])  # the same loss, in another order of sums
    assert confidences[2] != pytest.approx(confidences[0], rel=1e-4)
    card = read_card(files / "much.card.yaml")
    assert card.name.endswith(", Penalty (weight 5)")
    own = hashlib.sha256((files / "my_losses.py").read_bytes()).hexdigest()
    assert card.run == {"code my_losses.py": f"sha256 {own}"}
    (record,) = json.loads((files / "much.training.json").read_text(encoding="utf-8"))
    assert record["strengths"] == {"Penalty": {"weight": 5.0}}


def test_the_pages_method_at_test_time_finds_the_domains_labels(
    files: Path, encoder: str, synthetic: DatasetFolder
) -> None:
    trained(synthetic, files / "p.parquet", encoder, [f"{files / 'my_priors.py'}:Priors"])
    assert read_card(files / "p.card.yaml").extra_data
    method = method_class(f"{files / 'my_priors.py'}:Priors")()
    rng = np.random.default_rng(0)
    labels = np.concatenate([rng.choice(2, 2000, p=[0.5, 0.5]), rng.choice(2, 2000, p=[0.9, 0.1])])
    logits = np.stack([np.zeros(4000), 2 * rng.normal(2 * labels - 1.0)], axis=1)  # right for even labels
    rows = pl.DataFrame({"domain": ["even"] * 2000 + ["skewed"] * 2000})
    training: Any = type("Training", (), {"rows": {"label": np.array([0, 1])}, "n_classes": 2})
    adjusted = method.adjust(training, None, logits, rows)
    right = [(each.argmax(axis=1) == labels)[2000:].mean() for each in (logits, adjusted)]
    assert right[1] > right[0] + 0.03


def test_the_pages_program_is_a_program_of_train(files: Path, synthetic: DatasetFolder) -> None:
    out = files / "p.parquet"
    app(["train", str(files / "longest.py"), "nli", f"--data={synthetic.path}", f"--out={out}"], standalone_mode=False)
    (task,) = score_file(out, synthetic).tasks
    assert len(task.shifts) == 12
    assert pl.read_parquet(out)["prediction"].n_unique() > 1
    assert set(read_card(files / "p.card.yaml").run) == {"code longest.py"}


def test_code_that_is_no_method_is_refused(tmp_path: Path, wording: SnapshotAssertion) -> None:
    method = f"{HEAD}class Own(TrainingMethod):\n"
    wrong: tuple[tuple[str, str | None], ...] = (
        ("my.py:Own", None),
        ("my.py", ""),
        ("my.py:", ""),
        ("my.py:Own", "x = ("),
        ("my.py:Own", "y = 1\n1 / 0\n"),
        ("my.py:Own", "import no_such\n"),
        ("my.py:Owm", f"{method}    pass\n"),
        ("my.py:Own", "class Own:\n    pass\n"),
        ("my.py:Own", "Own = 3\n"),
        ("my.py:Own", f"{method}    def losses(self):\n        pass\n"),
        ("my.py:Own", f"{method}    def loss(self, model):\n        pass\n"),
        (
            "my.py:Own",
            f"from dataclasses import dataclass\n{HEAD}@dataclass(frozen=True)\nclass Own(TrainingMethod):\n"
            "    kind: str = 'a'\n    def step(self):\n        pass\n",
        ),
    )
    messages = []
    for place, (name, code) in enumerate(wrong):
        folder = tmp_path / f"{place}"
        folder.mkdir()
        if code is not None:
            (folder / "my.py").write_text(code, encoding="utf-8")
        messages.append(refusal(InvalidInput, Robustness.of, [f"{folder}/{name}"], training=TrainingOptions()))
    assert messages == wording


def test_a_word_that_is_no_method_says_what_an_own_one_looks_like(wording: SnapshotAssertion) -> None:
    assert refusal(InvalidInput, method_class, "grup-dro") == wording


def test_code_that_is_no_program_is_refused(tmp_path: Path, wording: SnapshotAssertion) -> None:
    train = imported_command("train", "shiftbench.cli.train")
    messages = []
    for place, code in enumerate(("main = 3", "def train():\n    pass", "def main(x: int) -> None:\n    pass")):
        file = tmp_path / f"{place}" / "my.py"
        file.parent.mkdir()
        file.write_text(f"{code}\n", encoding="utf-8")
        messages.append(refusal(InvalidInput, train.get_command, typer.Context(train), str(file)))
    assert messages == wording
    (tmp_path / "my.py").write_text("def main(x: int | str) -> None:\n    pass\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="command"):
        train.get_command(typer.Context(train), f"{tmp_path}/my.py")


def test_the_hash_covers_files_beside_it_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("X = 1\n", encoding="utf-8")
    (tmp_path / "unread.py").write_text("X = 1\n", encoding="utf-8")
    own = f"import helper\nimport json\n{HEAD}class Own(TrainingMethod):\n    def step(self):\n        pass\n"
    (tmp_path / "my.py").write_text(own, encoding="utf-8")
    code = "from shiftbench.baselines.own_code import *; print(own_files('my.py:Own', METHODS_GROUP, '--method'))"
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    expected = {each: hashlib.sha256((tmp_path / each).read_bytes()).hexdigest() for each in ("helper.py", "my.py")}
    assert run.stdout.strip() == str(expected)


def test_a_module_that_is_installed_is_hashed_by_its_name() -> None:
    name = f"{TrainingMethod.__module__}:Robustness"
    found = own_files(name, METHODS_GROUP, "--method")
    file = Path(str(sys.modules[TrainingMethod.__module__].__file__))
    assert found[TrainingMethod.__module__] == hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_file_named_as_a_package_does_not_hide_it(tmp_path: Path) -> None:
    own = f"{HEAD}class Own(TrainingMethod):\n    def step(self):\n        pass\n"
    (tmp_path / "numpy.py").write_text(own, encoding="utf-8")
    assert method_class(f"{tmp_path}/numpy.py:Own").__name__ == "Own"
    code = f"from shiftbench.baselines.robust.method import *; method_class('{tmp_path}/numpy.py:Own')"
    code += "; import numpy; numpy.zeros(1)"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path.parent, check=True)
