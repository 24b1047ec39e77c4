"""The container: its steps, and what it runs, in a plain chroot with a read-only root."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import yaml
from packaging.requirements import Requirement

from shiftbench.builders.folder.reader import DatasetFolder
from tests.leaderboard.app.test_server import free_port

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
PINNED = re.compile(
    r"^([A-Za-z0-9._-]+)==(\S+)(?: ; [^\\]*)? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.M
)


def steps() -> list[tuple[str, str]]:
    """Read the container file: pairs of an instruction and what follows it."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Containerfile").read_text(), flags=re.M).replace("\\\n", " ")
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in text.splitlines() if line.strip()]


def only(name: str) -> str:
    (content,) = [content for instruction, content in steps() if instruction == name]
    return content


def name_of(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", requirement).lower()


def test_every_requirement_is_pinned_as_tested_and_has_digests() -> None:
    text = (DEPLOY / "requirements.txt").read_text()
    pinned = {name_of(name): version for name, version, _ in PINNED.findall(text)}
    assert len(pinned) == text.count("=="), "each has a digest"
    tested = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if "==" in line and not line.startswith("#"):
            name, version = line.split(";")[0].split("==")
            tested[name_of(name.strip())] = version.strip()
    assert {name: version for name, version in pinned.items() if tested.get(name, version) != version} == {}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for need in map(Requirement, [*project["dependencies"], *project["optional-dependencies"]["app"]]):
        assert need.specifier.contains(pinned[name_of(need.name)]), need


def test_compose_and_the_service_start_what_there_is() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["leaderboard"]
    (service,) = re.findall(r"^ExecStart=\S+ (.*)$", (DEPLOY / "shiftbench.service").read_text(), re.M)
    entry = json.loads(only("ENTRYPOINT"))
    for words in ([*entry[1:], *compose["command"]], shlex.split(service)):
        listed = subprocess.run(
            [sys.executable, "-m", "shiftbench", *words, "--help"], capture_output=True, text=True, check=True
        ).stdout
        assert {word for word in words if word.startswith("--")} <= set(re.findall(r"--[a-z-]+", listed))
    assert compose["read_only"]
    assert compose["cap_drop"] == ["ALL"]


def test_systemd_knows_every_line_of_the_service() -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed")
    told = subprocess.run(
        ["systemd-analyze", "verify", DEPLOY / "shiftbench.service"], capture_output=True, text=True, check=False
    ).stderr
    assert [line for line in told.splitlines() if "is not executable" not in line] == []


def allowed() -> bool:
    if os.name != "posix" or shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


@contextmanager
def serving(command: list[str], port: int, log: Path, seconds: float = 120) -> Iterator["subprocess.Popen[bytes]"]:
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, start_new_session=True)
    try:
        deadline = time.monotonic() + seconds
        while True:
            try:
                httpx.get(f"http://127.0.0.1:{port}/healthz").raise_for_status()
                break
            except httpx.ConnectError:
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.1)
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def healthy(port: int) -> bool:
    """Run the container's own health check, with another port."""
    command = json.loads(only("HEALTHCHECK").split("CMD", 1)[1])
    code = command[2].replace("7860", str(port))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not allowed(), reason="this machine lets nobody mount")
def test_it_serves_from_a_read_only_root(synthetic: DatasetFolder, tmp_path: Path) -> None:
    """Its volume and a temporary folder alone can be written; SIGTERM, which ends containers, ends it in time."""
    store, root, port = tmp_path / "store", tmp_path / "root", free_port()
    for folder in (store, root):
        folder.mkdir()
    command = [sys.executable, "-m", "shiftbench", "serve", "--store", "/mnt/store", "--port", str(port)]
    command += ["--data", "/mnt/data"]
    shell = f"""
        mount --rbind / {root} && mount -o remount,ro,bind {root}
        mount -t tmpfs tmpfs {root}/mnt && mkdir {root}/mnt/store {root}/mnt/data {root}/mnt/tmp
        mount --bind {store} {root}/mnt/store && mount --bind -o ro {synthetic.path} {root}/mnt/data
        touch {root}/etc/written 2>/dev/null && exit 9
        export HOME=/mnt/tmp TMPDIR=/mnt/tmp PYTHONPATH={ROOT} PYTHONDONTWRITEBYTECODE=1
        exec chroot {root} {shlex.join(command)}
    """
    with serving(["unshare", "-m", "sh", "-c", shell], port, tmp_path / "log") as process:
        assert healthy(port)
        assert "shiftbench" in httpx.get(f"http://127.0.0.1:{port}/").text
        begun = time.monotonic()
        process.terminate()
        process.wait(timeout=30)
        assert time.monotonic() - begun < 30
    assert not healthy(port)


@pytest.mark.long
@pytest.mark.skipif(not allowed() or os.geteuid() != 0, reason="only root may make a chroot here")
def test_the_steps_of_the_container_file_make_one_that_serves(synthetic: DatasetFolder, tmp_path: Path) -> None:
    """RUN and COPY in a chroot on top of this machine's system, then the entry point as the container's user."""
    port = free_port()
    layers = tmp_path / "layers"
    layers.mkdir()
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    (tmp_path / "tracked").write_bytes(tracked)
    user = only("USER")
    root = f"{layers}/root"
    lines = [
        f"mount -t tmpfs -o size=4g tmpfs {layers} && cd {layers} && mkdir upper work root",
        f"mount -t overlay overlay -o lowerdir=/,upperdir={layers}/upper,workdir={layers}/work {root}",
        f"mount --bind /dev {root}/dev && mount -t proc proc {root}/proc",
        f"chmod a+rx {root}/root && rm -rf {root}/opt/shiftbench",
    ]
    for instruction, content in steps():
        if instruction == "RUN":
            lines.append(f"chroot {root} sh -ec {shlex.quote(content)}")
        elif content == ". /src":
            lines.append(
                f"mkdir -p {root}/src && cd {ROOT} && xargs -0 cp -d --parents -t {root}/src < {tmp_path}/tracked"
            )
        elif instruction == "COPY" and not content.startswith("--from"):
            source, target = content.split()
            lines.append(f"cp {ROOT / source} {root}{target}")
    entry = " ".join(json.loads(only("ENTRYPOINT"))).replace("0.0.0.0", "127.0.0.1").replace("7860", str(port))
    variables = only("ENV").replace("$PATH", os.environ["PATH"])
    identity = user.split(":")
    lines += [
        f"cp -r {synthetic.path} {root}/data/set && rm -rf {root}/src && mount -t tmpfs tmpfs {root}/tmp",
        f"mkdir {layers}/store && chown {user} {layers}/store && mount --bind {layers}/store {root}/store",
        f"mount -o remount,ro {root}",
        f"exec env -i {variables} chroot {root} setpriv --reuid {identity[0]} --regid {identity[1]} --clear-groups "
        f"--no-new-privs --inh-caps=-all --bounding-set=-all {entry} --data /data/set",
    ]
    shell = ["unshare", "-m", "bash", "-ec", "\n".join(lines)]
    with serving(shell, port, tmp_path / "log", seconds=900):
        assert healthy(port)
        assert "shiftbench" in httpx.get(f"http://127.0.0.1:{port}/").text
