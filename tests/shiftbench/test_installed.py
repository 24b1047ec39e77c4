"""The wheel, installed elsewhere: everything in it, commands from an empty folder, and what works without Gradio.

The Space's files of the wheel are those of the source tree, which ``tests/leaderboard/app/test_space.py`` starts where
nothing of the project is installed.
"""

import json
import signal
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from shiftbench.leaderboard.app.space import SpaceConfig, new_board, space_files
from tests.shiftbench.elsewhere import PACKAGES, ROOT, build_sdist, build_wheel, install, make_environment, run


@dataclass(frozen=True)
class Installed:
    """The wheel, and environments with it: one of all extras, and one without Gradio.

    Before it a distribution was installed there that has a package ``validation``, as one on PyPI has.
    """

    wheel: Path
    other: Path
    site: Path
    python: Path
    without_gradio: Path


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    place = tmp_path_factory.mktemp("installed")
    wheel = build_wheel(place)
    python = make_environment(place / "all")
    other = make_other(place)
    install(python, other)
    site = install(python, wheel)
    bare = make_environment(place / "bare", without=("gradio",))
    (next(bare.parents[1].glob("lib/python*/site-packages")) / "wheel.pth").write_text(f"{site}\n")
    return Installed(wheel, other, site, python, bare)


def make_other(place: Path) -> Path:
    """Make the wheel of somebody else's package ``validation``."""
    wheel, info = place / "validation-1.0-py3-none-any.whl", "validation-1.0.dist-info"
    files = {
        "validation/__init__.py": "MINE = True\n",
        "validation/report.py": "MINE = True\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: validation\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD")))
    return wheel


WORK = """
import shiftbench
from shiftbench.cli.command import app

print(shiftbench.__file__)
for words in (
    "build synthetic --out data --encoder none",
    "train majority nli --data data --out preds.parquet",
    "score preds.parquet --data data --report report.html",
):
    app(words.split(), standalone_mode=False)
"""


@pytest.fixture(scope="module")
def worked(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the installed commands built, trained and scored."""
    place = tmp_path_factory.mktemp("empty")
    where = run(installed.python, "-c", WORK, cwd=place).stdout.split("\n")[0]
    assert where == str(installed.site / "shiftbench" / "__init__.py")
    return place


@pytest.fixture(scope="module")
def url(installed: Installed, worked: Path) -> Iterator[str]:
    """``shiftbench serve``, as installed."""
    shiftbench, options = installed.python.with_name("shiftbench"), ["--data", "data", "--store", "store"]
    command = [shiftbench, "serve", *options, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=worked) as process:
        assert process.stderr is not None
        try:
            said = process.stderr.readline()
            assert said.startswith("the leaderboard is at http://127.0.0.1:"), said + process.stderr.read()
            yield said.split(" at ")[1].split()[0].rstrip("/;,.")
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)


def files_of(package: str) -> set[str]:
    """List a room's files as they are named in the wheel: all rooms stand inside the one import root."""
    inside = Path() if package == "shiftbench" else Path("shiftbench")
    paths = (inside / path.relative_to(ROOT) for path in (ROOT / package).rglob("*") if path.is_file())
    return {path.as_posix() for path in paths if "__pycache__" not in path.parts and not path.name.startswith(".")}


def test_the_wheel_has_every_file_of_the_packages(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as archive:
        held = set(archive.namelist())
    for package in PACKAGES:
        # What documents refer to and no program reads.
        read = {name for name in files_of(package) if not name.startswith("shiftbench/baselines/results/")}
        assert {name for name in read if not name.endswith((".png", ".ipynb"))} <= held
        assert next(name for name in read if name.endswith(f"{package}/py.typed")) in held
        assert not any(name.startswith(f"{package}/") for name in held) or package == "shiftbench"


def test_the_source_distribution_has_every_file_of_the_wheel(installed: Installed, tmp_path: Path) -> None:
    """Rooms are there once, at the top, and no link: ``setup.py`` maps them."""
    with tarfile.open(build_sdist(installed.wheel.parents[1] / "source", tmp_path)) as archive:
        members = {member.name.partition("/")[2]: member for member in archive.getmembers()}
    assert not [name for name, member in members.items() if member.issym() or member.islnk()]
    with zipfile.ZipFile(installed.wheel) as wheel:
        needed = {name for name in wheel.namelist() if name.startswith("shiftbench/")}
    rooms = {f"shiftbench/{room}/" for room in PACKAGES}
    sources = {name.partition("/")[2] if name.startswith(tuple(rooms)) else name for name in needed}
    assert {*sources, "setup.py", "pyproject.toml", "README.md", "LICENSE"} <= set(members)
    assert not [name for name in members if name.startswith(tuple(rooms))]


def test_a_package_validation_of_somebody_else_stays_whole(installed: Installed, tmp_path: Path) -> None:
    """Installed before the wheel, and again after it; neither overwrites a file of the other or hides it."""
    code = "import {}\nassert validation.MINE and validation.report.MINE and not hasattr(shiftbench.Card, 'MINE')"
    orders = ("validation.report, shiftbench", "shiftbench, shiftbench.validation.report, validation.report")
    for again in (False, True):
        if again:
            flags = ("--no-deps", "--no-index", "--quiet", "--disable-pip-version-check", "--force-reinstall")
            run(
                sys.executable,
                "-m",
                "pip",
                "--python",
                installed.python,
                "install",
                *flags,
                installed.other,
                cwd=tmp_path,
            )
        for wheel in (installed.wheel, installed.other):
            with zipfile.ZipFile(wheel) as archive:
                for name in archive.namelist():
                    if not name.endswith("/RECORD"):
                        assert (installed.site / name).read_bytes() == archive.read(name), name
        for order in orders:
            run(installed.python, "-c", code.format(order), cwd=tmp_path)


def test_it_works_from_an_empty_folder(worked: Path, url: str) -> None:
    assert "Every shift" in (worked / "report.html").read_text(encoding="utf-8")
    for path in ("/", "/about", "/data", "/submit"):
        assert httpx.get(f"{url}{path}", follow_redirects=True).status_code == 200


WITHOUT_GRADIO = """
import importlib.util, json, pathlib, sys
assert importlib.util.find_spec("gradio") is None
assert importlib.util.find_spec("gradio_client") is not None

import shiftbench as sb
from shiftbench.leaderboard.app.space import SpaceConfig, new_board, space_files
from shiftbench.cli.command import app

url, out = sys.argv[1:]
app(f"submit preds.parquet --card preds.card.yaml --to {url}".split(), standalone_mode=False)
assert sb.submit("preds.parquet", "preds.card.yaml", url)["new"] is False
names = "acme/board --data acme/data --store acme/entries --dry-run --json listed.json"
app(["publish-space", *names.split()], standalone_mode=False)
for path, content in space_files(SpaceConfig(new_board(["acme/data"], "acme/entries"))).items():
    file = pathlib.Path(out, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
assert "gradio" not in sys.modules
"""


def test_without_gradio_one_submits_and_makes_the_space(
    installed: Installed, worked: Path, url: str, tmp_path: Path
) -> None:
    run(installed.without_gradio, "-c", WITHOUT_GRADIO, url, tmp_path, cwd=worked)
    assert "1 ranked" in httpx.get(f"{url}/rows", params={"board": "synthetic/nli"}).text
    expected = space_files(SpaceConfig(new_board(["acme/data"], "acme/entries")))
    assert json.loads((worked / "listed.json").read_text())["files"] == sorted(expected)
    made = {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    # Where Gradio is not installed there is no version of it to pin.
    assert "gradio[mcp,oauth]<7,>=6.31\n" in made.pop("requirements.txt").decode()
    assert "sdk_version: '6.31'" in made.pop("README.md").decode()
    assert made == {path: content for path, content in expected.items() if path in made}
    assert set(expected) - set(made) == {"requirements.txt", "README.md"}


def test_the_space_has_every_file_of_its_rooms() -> None:
    held = set(space_files(SpaceConfig(new_board(["acme/data"], "acme/entries"))))
    for package in ("validation", "metrics", "builders", "scoring", "leaderboard"):
        read = {name for name in files_of(package) if not name.endswith((".md", ".png", "py.typed"))}
        assert read <= held
