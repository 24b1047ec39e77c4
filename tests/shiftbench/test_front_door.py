"""What a notebook imports: the names, their page, their weight and their help."""

import importlib
import pydoc
import subprocess
import sys
from importlib.metadata import version
from inspect import isfunction
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

import pytest

import shiftbench as sb
import shiftbench.metrics

HOME = Path(sb.__file__).parent
HEAVY = "{'torch', 'datasets', 'gradio', 'pandas', 'polars', 'numpy', 'pydantic', 'sklearn', 'scipy', 'matplotlib'}"


def run_python(script: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, **options)


def test_every_public_name_is_there() -> None:
    assert set(sb.__all__) <= set(dir(sb))
    for name in sb.__all__:
        assert getattr(sb, name) is not None
    with pytest.raises(AttributeError, match="scores"):
        _ = sb.scores


def test_no_module_has_the_name_of_something_else() -> None:
    modules = {path.stem for path in HOME.glob("*.py")} & set(sb.__all__)
    for name in modules:
        assert importlib.import_module(f"shiftbench.{name}") is getattr(sb, name)
    # Neither order of imports may put a module or a command in the place of a function.
    script = "import shiftbench.cli.command, shiftbench.notebook.api\n"
    script += "from shiftbench import score, validate\nprint(score.__module__)"
    assert run_python(script).stdout == "shiftbench.notebook.api\n"


def public_functions(module: ModuleType) -> set[str]:
    return {name for name, value in vars(module).items() if isfunction(value) and not name.startswith("_")}


def test_metrics_are_all_the_pure_functions() -> None:
    found: set[str] = set()
    for info in walk_packages(shiftbench.metrics.__path__, "shiftbench.metrics."):
        if info.name.rpartition(".")[2].startswith("_"):
            continue
        module = importlib.import_module(info.name)
        found |= {name for name in public_functions(module) if getattr(module, name).__module__ == info.name}
    assert (
        set(sb.metrics.__all__)
        == found
        == {name for name in sb.metrics.__all__ if isfunction(getattr(sb.metrics, name))}
    )


@pytest.mark.parametrize(
    "script",
    [
        "import shiftbench",
        "import sys; sys.argv = ['shiftbench', '--help']\nfrom shiftbench.cli.command import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass",
    ],
    ids=["import", "help"],
)
def test_the_door_is_light(script: str) -> None:
    result = run_python(f"{script}\nimport sys\nprint({HEAVY} & set(sys.modules))")
    assert result.stdout.splitlines()[-1] == "set()", result.stderr


def test_the_version_is_that_of_the_package() -> None:
    assert sb.__version__ == version("shiftbench")
    command = [sys.executable, "-m", "shiftbench", "--version"]
    assert (
        subprocess.run(command, capture_output=True, text=True, check=True).stdout == f"shiftbench {sb.__version__}\n"
    )


@pytest.mark.parametrize("name", ["open_dataset", "score", "compare", "validate", "submit", "build_own"])
def test_help_says_types_returns_and_errors(name: str) -> None:
    text = pydoc.render_doc(getattr(sb, name))
    for words in ("Args:", "Returns:", "Raises: InvalidInput", "TypeError"):
        assert words in text
    if name == "score":
        for words in ("pandas DataFrame", "[0, 1]", "[-1, 1]", ">>>"):
            assert words in text
