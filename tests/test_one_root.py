"""One import root: nothing beside a user's program is taken for ours, nothing of ours for theirs; each module once."""

import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import grimp
import pytest
import setuptools

import shiftbench as sb

ROOT = Path(__file__).parents[1]
ROOMS = ("validation", "metrics", "builders", "scoring", "baselines", "leaderboard")
"""Folders at the repository's top that are packages of shiftbench."""
THEIRS = (
    "validation.py", "metrics.py", "benchmarks.py", "builders.py",
    "baselines/__init__.py", "scoring/__init__.py", "leaderboard/__init__.py",
)  # fmt: skip
"""Modules of a user's project."""
NAMES = [file.split("/")[0].removesuffix(".py") for file in THEIRS]


def run_python(*words: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, *words], cwd=cwd, capture_output=True, text=True, check=False, timeout=120)


def succeed(*words: str, cwd: Path) -> str:
    done = run_python(*words, cwd=cwd)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's folder with modules that are called as our rooms are."""
    folder = tmp_path_factory.mktemp("project")
    for file in THEIRS:
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text("MINE = True\n\n\ndef clean(text):\n    return text.strip()\n", encoding="utf-8")
    own = "".join(f"import {name}\n" for name in NAMES)
    model = (
        "def classify(texts):\n    return ['good' if validation.clean(text) == 'fine' else 'bad' for text in texts]\n"
    )
    (folder / "mymodel.py").write_text(f"{own}\n\n{model}", encoding="utf-8")
    checks = f"for module in ({', '.join(NAMES)}):\n    assert module.MINE\n"
    (folder / "test_mine.py").write_text(f"{own}\n\ndef test_mine():\n    {checks.replace(chr(10), chr(10) + 4 * ' ')}")
    (folder / "spawned.py").write_text(SPAWNED.replace("OWN", own), encoding="utf-8")
    return folder


SPAWNED = """
import multiprocessing

OWN

def work(number):
    import shiftbench as sb

    assert validation.MINE and metrics.MINE and baselines.MINE
    return sb.metrics.wilson_limits.__module__, sb.Card.__module__, validation.clean(f" {number} ")


if __name__ == "__main__":
    import joblib

    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(work, [1]))
    print(joblib.Parallel(n_jobs=2)(joblib.delayed(work)(number) for number in (1, 2))[:1])
"""


EVERY_NAME = """
import collections, importlib, os, sys
import shiftbench as sb
from shiftbench.cli import command

for name in sb.__all__:
    assert getattr(sb, name) is not None
for name in ("shiftbench.leaderboard.store", "shiftbench.baselines.majority", "shiftbench.builders.dr"):
    importlib.import_module(name)
for name in NAMES:
    assert importlib.import_module(name).MINE
names = collections.defaultdict(list)
for name, module in list(sys.modules.items()):
    if name.partition(".")[0] in ("shiftbench", *NAMES):
        names[os.path.realpath(module.__file__)].append(name)
print(len(names) > 100, [each for each in names.values() if len(each) > 1])
"""


def test_every_name_is_there_beside_modules_of_the_same_names(project: Path) -> None:
    """And no file is loaded under two names."""
    assert succeed("-c", EVERY_NAME.replace("NAMES", repr(NAMES)), cwd=project) == "True []\n"
    assert sb.__version__ in succeed("-m", "shiftbench", "--version", cwd=project)


WITH_MODEL = """
import pickle
from shiftbench.baselines.models.loading import load_model
from shiftbench.validation import cards
from shiftbench.validation.vocabulary import TaskKind

model = load_model("mymodel:classify", kind=TaskKind.CLASSIFICATION, inputs=("text",), labels=("good", "bad"))
assert model.function([" fine ", "dull"]) == ["good", "bad"]
import mymodel, validation

card = cards.Card(name="a", paradigm="other", data="0" * 64)
for value in (validation.clean, mymodel.classify, cards.Card, card):
    assert pickle.loads(pickle.dumps(value)) == value
assert b"cvalidation" in pickle.dumps(validation.clean, protocol=0)
assert b"cshiftbench.validation.cards" in pickle.dumps(cards.Card, protocol=0)
"""


def test_a_model_imports_its_own_modules(project: Path) -> None:
    """After ours were loaded: a module that is loaded is not looked for again."""
    succeed("-c", WITH_MODEL, cwd=project)


def test_spawned_processes_find_both(project: Path) -> None:
    lines = succeed("spawned.py", cwd=project).splitlines()
    assert lines == ["[('shiftbench.metrics.precision', 'shiftbench.validation.cards', '1')]"] * 2


def test_the_pytest_plugin_leaves_a_users_tests_alone(project: Path) -> None:
    done = run_python("-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=project)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_a_room_is_refused_under_its_bare_name() -> None:
    code = f"""
import importlib
for room in {ROOMS}:
    try:
        importlib.import_module(room)
    except ImportError as error:
        print(error.name, error)
"""
    said = succeed("-c", code, cwd=ROOT).splitlines()
    told = "this folder is the package shiftbench.{0}; import it under that name"
    assert said == [f"{room} {told.format(room)}" for room in ROOMS]


def test_old_imports_say_which_package_is_not_there(tmp_path: Path) -> None:
    """No room can be found from elsewhere, from an editable installation either."""
    for room in ROOMS:
        assert (tmp_path / room).exists() is False
    code = (
        f"import importlib.util\nprint([r for r in {ROOMS} if importlib.util.find_spec(r)])\nfrom builders import specs"
    )
    done = run_python("-c", code, cwd=tmp_path)
    assert done.stdout == "[]\n"
    assert done.stderr.splitlines()[-1] == "ModuleNotFoundError: No module named 'builders'"


def source_modules() -> dict[str, Path]:
    """Name every source file by where it stands: rooms inside shiftbench, whatever leads to them."""
    found = {}
    for home in (*ROOMS, "shiftbench", "benchmarks"):
        for path in (ROOT / home).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if home == "shiftbench" and parts[1] in ROOMS:
                continue
            name = ".".join(("shiftbench", *parts) if home in ROOMS else parts).removesuffix(".__init__")
            found[name] = path
    return found


def test_the_import_graph_has_every_module_once() -> None:
    modules = source_modules()
    graph = grimp.build_graph("shiftbench", "benchmarks", cache_dir=None)
    assert graph.modules == set(modules)
    assert len({path.resolve() for path in modules.values()}) == len(modules)


@pytest.mark.parametrize(
    "line", ["from builders.specs import spec", "import metrics", "from shiftbench.cli import x, y"]
)
def test_ruff_refuses_an_import_under_a_bare_name(line: str) -> None:
    words = [
        Path(sys.executable).with_name("ruff"),
        "check",
        "--select",
        "TID251",
        "--no-cache",
        "--output-format",
        "concise",
    ]
    for place in ("scoring/planted.py", "tests/scoring/planted.py", "benchmarks/planted.py"):
        done = subprocess.run(
            [*words, "--stdin-filename", place, "-"],
            input=f"{line}\n",
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        banned = line.split()[1].partition(".")[0]
        assert (f"TID251 `{banned}" in done.stdout and f"import shiftbench.{banned}" in done.stdout) == (
            banned != "shiftbench"
        ), done.stdout


IN_ANY_ORDER = """
import importlib, inspect, pkgutil, random, sys
import shiftbench.metrics as metrics

order = sys.argv[1]
modules = [each.name for each in pkgutil.walk_packages(metrics.__path__, "shiftbench.metrics.")]
steps = [(importlib.import_module, name) for name in modules]
steps += [(metrics.__getattr__, name) for name in metrics.__all__]
if order == "names first":
    steps.reverse()
elif order != "modules first":
    random.Random(int(order)).shuffle(steps)
for step, name in steps:
    step(name)
import shiftbench as sb
from shiftbench import metrics as again
assert sb.metrics is again is metrics
for name in metrics.__all__:
    assert inspect.isfunction(getattr(metrics, name)), name
namespace = {}
exec("from shiftbench.metrics import *", namespace)
assert set(metrics.__all__) <= set(namespace)
assert {name.split(".")[2] for name in modules} & set(metrics.__all__) == set()
print(len(modules), len(metrics.__all__))
"""


@pytest.mark.parametrize("order", ["names first", "modules first", "1"])
def test_metrics_are_functions_in_any_order_of_imports(order: str, tmp_path: Path) -> None:
    modules = [
        path for path in (ROOT / "metrics").rglob("*.py") if path.parent != ROOT / "metrics" or path.stem != "__init__"
    ]
    assert succeed("-c", IN_ANY_ORDER, order, cwd=tmp_path) == f"{len(modules)} {len(sb.metrics.__all__)}\n"


def packages_of(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what ``setup.py`` hands to setuptools."""
    handed: dict[str, Any] = {}
    monkeypatch.setattr(setuptools, "setup", handed.update)
    monkeypatch.chdir(folder)
    runpy.run_path(str(folder / "setup.py"))
    return {key: handed[key] for key in ("packages", "package_dir")}


def test_packages_are_the_same_where_links_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git writes a link as a small text file on a system without them; a source distribution has none."""
    shutil.copy(ROOT / "setup.py", tmp_path)
    for home in (*ROOMS, "shiftbench"):
        shutil.copytree(ROOT / home, tmp_path / home, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    with_links = packages_of(tmp_path, monkeypatch)
    for link in [path for path in (tmp_path / "shiftbench").iterdir() if path.is_symlink()]:
        target = str(link.readlink())
        link.unlink()
        link.write_text(target, encoding="utf-8")
        assert target == f"../{link.name}"
    as_text = packages_of(tmp_path, monkeypatch)
    for room in ROOMS:
        (tmp_path / "shiftbench" / room).unlink()
    assert packages_of(tmp_path, monkeypatch) == as_text == with_links
    assert len(with_links["packages"]) == len(set(with_links["packages"]))
    with_modules = {
        name.rpartition(".")[0] if path.stem != "__init__" else name for name, path in source_modules().items()
    }
    assert {name for name in with_modules if name.startswith("shiftbench")} <= set(with_links["packages"])
    for name in with_links["packages"]:
        assert name.partition(".")[0] == "shiftbench"
