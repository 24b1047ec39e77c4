"""What only some operating systems offer, and what happens on those without it."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("validation", "metrics", "builders", "scoring", "baselines", "leaderboard")
TREES = {
    f"shiftbench.{'.'.join(file.relative_to(ROOT).with_suffix('').parts)}".removesuffix(".__init__"): ast.parse(
        file.read_text(encoding="utf-8")
    )
    for room in ROOMS
    for file in (ROOT / room).rglob("*.py")
}
POSIX_ALONE = {
    *("resource", "fcntl", "pwd", "grp", "termios", "tty", "pty", "syslog"),
    *("os.killpg", "os.setsid", "os.setpgid", "os.getpgid", "os.statvfs", "os.fork", "os.getuid", "os.geteuid"),
    *("os.O_ASYNC", "os.O_NOFOLLOW", "os.O_DIRECTORY", "os.set_blocking", "os.sched_getaffinity", "os.nice"),
    *(f"signal.{name}" for name in ("SIGKILL", "SIGXCPU", "SIGIO", "SIGALRM", "SIGHUP", "SIGUSR1", "pause", "alarm")),
    "preexec_fn",
}

AS_ON_WINDOWS = """
import os, shutil, signal, sys
for name in ("resource", "fcntl"):
    sys.modules[name] = None
for place, names in (
    (os, ("killpg", "setsid", "getpgid", "statvfs", "O_ASYNC", "fork", "getuid", "geteuid", "sched_getaffinity")),
    (signal, ("SIGXCPU", "SIGIO", "SIGALRM", "SIGHUP", "pthread_kill", "setitimer")),
):
    for name in names:
        delattr(place, name)
"""
"""Takes from a Python of Linux what that of Windows lacks, so far as Python's own modules can do without."""


def run_as_on_windows(code: str, status: int = 0) -> str:
    program = [sys.executable, "-c", AS_ON_WINDOWS + code]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout


def test_modules_are_imported_where_the_system_lacks_limits_groups_and_signals() -> None:
    importers = [name for name, tree in TREES.items() if "operating_system" in ast.dump(tree)]
    assert len(importers) >= 8
    names = [*importers, "shiftbench.cli.command", "shiftbench.leaderboard.app.server"]
    code = f"import importlib\nfor name in {names!r}: importlib.import_module(name)\nprint('all')"
    assert run_as_on_windows(code) == "all\n"


def test_nothing_else_uses_what_some_systems_lack() -> None:
    """Not even inside a function: elsewhere no fallback would be beside it."""
    used = {
        f"{name}: {word}"
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        for word in words_of(node) & POSIX_ALONE
    }
    assert used == {
        f"shiftbench.validation.operating_system: {word}"
        for word in (
            "resource", "fcntl", "os.killpg", "os.statvfs", "os.O_ASYNC", "os.set_blocking", "signal.SIGKILL",
        )
    }  # fmt: skip


def words_of(node: ast.AST) -> set[str]:
    """Return the modules that a node imports, or the attribute of a module that it reads."""
    if isinstance(node, ast.Import):
        return {name.name for name in node.names}
    if isinstance(node, ast.ImportFrom):
        return {str(node.module), *(f"{node.module}.{name.name}" for name in node.names)}
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return {f"{node.value.id}.{node.attr}"}
    return {word.arg for word in node.keywords if word.arg} if isinstance(node, ast.Call) else set()


def test_without_limits_nothing_is_limited_and_processes_end_alone() -> None:
    code = """
import subprocess
from pathlib import Path
from shiftbench.validation import operating_system as system
assert not system.HAS_LIMITS and not system.HAS_LIFELINES
system.limit_processor_time(0)
system.limit_memory(1)
system.refuse_file_content()
assert system.raise_open_files(4096) == 4096
assert system.peak_memory_of_children() is None
assert system.free_file_entries(Path.cwd()) is None
assert system.end_with_pipe(0) is None
for kill in (False, True):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    system.end_group(child, kill=kill)
    assert child.wait(timeout=20) != 0
print("still here", flush=True)
system.kill_own_group()
"""
    assert run_as_on_windows(code, status=1) == "still here\n"


def test_peak_memory_is_of_this_process_and_not_of_the_one_that_started_it() -> None:
    held = bytearray(200 * 2**20)  # by the process that starts the other
    code = "from shiftbench.validation.operating_system import peak_memory; bytearray(80 * 2**20); print(peak_memory())"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=Path.cwd()).stdout
    assert 80 * 2**20 < int(printed) < len(held)
