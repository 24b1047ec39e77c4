"""Walks through a page: its commands and Python blocks, in order, in an empty folder, as a reader types them.

``readme_walks.toml`` says for each page what its reader has before, or which page was already read, which blocks are
files, and which commands are not run and why. Lines shown as output must be printed in that order, except ``...``, ids
of entries and ports.
"""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.baselines.prompting.chat_server import running_chat_server
from tests.hub.server import running_hub

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared/data"
"""Upstream files: whole ones, and slices of others."""
WALKS: dict[str, Any] = tomllib.loads((ROOT / "tests/readme_walks.toml").read_text(encoding="utf-8"))
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```\n?", flags=re.M | re.S)
_COMMAND = re.compile(
    r"(\$ )?(shiftbench|python|make|pip|git|cat|echo|head|lm_eval|inspect|\.venv/bin/\w+|[A-Z]+=)\b|[A-Z]+="
)
_INLINE = re.compile(r"`((?:shiftbench|make|pytest|python|lm_eval|inspect) [^`]+)`")
_SHELL, _FILES = ("", "sh", "bash", "console"), ("csv", "json", "py", "toml", "yaml")
_ID, _PORT = re.compile(r"\b[0-9a-f]{16}\b"), "7860"
_CHAT = "http://localhost:8000/v1"
_PYTHON = """
import sys
names = {"__name__": "__main__"}
for block in iter(lambda: sys.stdin.buffer.readline(), b""):
    exec(compile(eval(block), "README", "exec"), names)
    print("\\0", flush=True)
"""
"""Runs blocks one after the other with the same variables; a mark ends what each one prints."""


@dataclass
class Step:
    """One thing that a reader does, and the lines that the page shows for it."""

    kind: str
    """``shell``, ``python`` or ``file``."""
    text: str
    shown: list[str] = field(default_factory=list)


def steps(page: str) -> list[Step]:
    """Read a page's steps in order; a file's text begins with its name and a line end.

    A block of output belongs to the command that the paragraph above it names, or to the last one before it.
    """
    text, place = (ROOT / page).read_text(encoding="utf-8"), 0
    files: dict[str, str] = WALKS.get(page, {}).get("files", {})
    found: list[Step] = []
    for fence in _FENCE.finditer(text):
        kind, block = fence.groups()
        paragraph = text[place : fence.start()].rstrip().split("\n\n")[-1]
        inline = _INLINE.findall(paragraph.replace("\n", " "))
        place = fence.end()
        named = [name for name, words in files.items() if words in block]
        if named or kind in _FILES:
            found.append(Step("file", f"{named[0] if named else ''}\n{block}"))
        elif kind == "python":
            found.append(Step("python", block))
        elif kind in _SHELL and _COMMAND.match(block):
            found += _commands(block)
        elif kind == "":
            if inline:
                found.append(Step("shell", inline[-1]))
            if found:
                found[-1].shown += _shown(block.splitlines())
    return found


def _commands(block: str) -> Iterator[Step]:
    lines = iter(block.replace("\\\n", " ").splitlines())
    step: Step | None = None
    for line in lines:
        if _COMMAND.match(line):
            if step:
                yield step
            command = line.removeprefix("$ ")
            while command.count('"') % 2:
                command += "\n" + next(lines)
            step = Step("shell", command)
        elif step:
            step.shown += _shown([line])
    if step:
        yield step


def _shown(lines: list[str]) -> list[str]:
    return [line.rstrip() for line in lines if line.strip() not in ("", "...", "…")]


def reason_not_to_run(page: str, step: Step) -> str | None:
    """Return why the page's walk leaves a step out, or nothing if the step is run."""
    skips: dict[str, str] = WALKS.get(page, {}).get("not_run", {})
    reasons = [reason for words, reason in skips.items() if words in step.text]
    reasons += [reason for words, reason in WALKS["every page"]["not_run"].items() if step.text.startswith(words)]
    return next(iter(reasons), None)


def pages_before(page: str) -> list[str]:
    """List the pages that a page follows on, the first one first."""
    before = WALKS.get(page, {}).get("after")
    return [*pages_before(before), before] if before else []


def walk(pages: list[str], folder: Path) -> None:
    """Run the steps of pages, one after the other, in a folder.

    Raises: AssertionError with what was printed: at the step that fails, or at the end for all steps that do not print
        what their page shows.
    """
    wanted = {key for page in pages for key in WALKS.get(page, {})}
    _link_upstream_files(folder / "RAW")
    with ExitStack() as stack:
        reader = _Reader(folder, stack)
        if "hub" in wanted:
            reader.env |= stack.enter_context(running_hub(folder / "hub")).environment(folder / "hub-cache")
        if "chat" in wanted:
            chat = stack.enter_context(running_chat_server())
            chat.reply = lambda _: "entailment"
            reader.chat = chat.url
            reader.env["SHIFTBENCH_CACHE"] = str(folder / "cache")
        for page in pages:
            if WALKS.get(page, {}).get("has"):
                reader.run("set -e\n" + WALKS[page]["has"], expected=0)
            for step in steps(page):
                if reason_not_to_run(page, step) is None:
                    _do_step(page, step, reader)
        assert reader.differences == [], "\n\n".join(reader.differences)


def _do_step(page: str, step: Step, reader: "_Reader") -> None:
    exits: dict[str, int] = WALKS.get(page, {}).get("exits", {})
    expected = next((code for words, code in exits.items() if words in step.text), 0)
    printed = reader.do(step, expected)
    compared = _without_figures if WALKS.get(page, {}).get("varies") else _without_ids
    left = iter(compared(line.rstrip()) for line in printed.splitlines())
    for line in step.shown:
        wanted = compared(line.replace(_PORT, reader.port))
        if wanted not in left:
            reader.differences.append(f"{page}: {step.text}\nshows: {line}\nand printed:\n{printed}")
            break


def _without_ids(line: str) -> str:
    return _ID.sub("ID", line)


def _without_figures(line: str) -> str:
    return re.sub(r"\d[\d,.:T+-]*", "N", line)


def _link_upstream_files(raw: Path) -> None:
    """Link upstream's folders into one: whole files where they are there, else slices."""
    raw.mkdir()
    for kind in ("whole", "raw"):
        for each in sorted((DATA / kind).iterdir()) if DATA.is_dir() else []:
            if not (raw / each.name).exists():
                (raw / each.name).symlink_to(each)


class _Reader:
    """Somebody at a terminal: a folder, variables of the shell, a notebook, and servers that run meanwhile."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.stack = folder, stack
        self.variables: list[str] = []
        self.entry = ""
        self.differences: list[str] = []
        self.notebook: subprocess.Popen[bytes] | None = None
        self.server = stack.enter_context(ExitStack())
        self.port = ""
        self.chat = _CHAT
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        quiet = {"COLUMNS": "120", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
        places = {"PATH": path, "ROOT": str(ROOT)}
        self.env = {**os.environ, **places, **quiet}

    def do(self, step: Step, expected: int) -> str:
        if step.kind == "file":
            name, content = step.text.split("\n", 1)
            (self.folder / name).write_text(content, encoding="utf-8")
            return ""
        if step.kind == "python":
            return self._run_python(step.text)
        if re.match(r"[A-Z]+=", step.text):
            self.variables.append(step.text)
            return ""
        command = step.text.replace(_PORT, self.port).replace("ENTRY", self.entry).replace(_CHAT, self.chat)
        if command.startswith("shiftbench serve "):
            self.server.close()
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.port = str(free.getsockname()[1])
            return self.server.enter_context(_serve(command, self.port, self.folder, self.env))
        return self.run(command, expected)

    def run(self, command: str, expected: int) -> str:
        lines = "\n".join([*self.variables, command])
        streams: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = subprocess.run(["bash", "-c", lines], check=False, cwd=self.folder, env=self.env, **streams)
        printed = done.stdout.decode()
        before = "\n\n".join([*self.differences, command])
        assert done.returncode == expected, f"{before}\nexit code {done.returncode}\n{printed}"
        entries = re.findall(r"entry ([0-9a-f]{16})", printed)
        self.entry = entries[-1] if entries else self.entry
        return printed

    def _run_python(self, block: str) -> str:
        if self.notebook is None:
            command = [sys.executable, "-c", _PYTHON]
            streams: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
            self.notebook = self.stack.enter_context(
                subprocess.Popen(command, cwd=self.folder, env=self.env, **streams)
            )
        block = block.replace(_PORT, self.port).replace("ENTRY", self.entry)
        assert self.notebook.stdin is not None
        assert self.notebook.stdout is not None
        self.notebook.stdin.write(repr(block).encode() + b"\n")
        self.notebook.stdin.flush()
        printed = b""
        while not printed.endswith(b"\0\n"):
            line = self.notebook.stdout.readline()
            assert line, f"{block}\n{printed.decode()}"
            printed += line
        return printed.decode().removesuffix("\0\n")


@contextmanager
def _serve(command: str, port: str, folder: Path, env: dict[str, str]) -> Iterator[str]:
    """Run a leaderboard until the walk or the next one; yields what it prints first."""
    log = folder / "serve.log"
    words = [*shlex.split(command, comments=True), "--port", port]
    with log.open("wb") as stream:
        server = subprocess.Popen(words, cwd=folder, env=env, stderr=stream, stdout=stream)
    try:
        until = time.monotonic() + 120
        while "http://" not in log.read_text() and server.poll() is None and time.monotonic() < until:
            time.sleep(0.2)
        assert "http://" in log.read_text(), log.read_text()
        yield log.read_text()
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(timeout=60)
