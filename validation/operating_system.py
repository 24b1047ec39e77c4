"""Platform-specific functions: limits, process groups, signals, peak memory, free inodes.

All calls that Windows does not support are made here, except for the confinement of models
(``baselines.models.confinement``). Each docstring states what the function does on systems without the call.
"""

import mmap
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

HAS_LIMITS = resource is not None
"""Whether a process can limit its own resources; if not, only its parent can limit its time."""
HAS_LIFELINES = hasattr(os, "O_ASYNC")
"""Whether a process can be terminated when the other end of a pipe closes (``end_with_pipe``)."""
_HAS_GROUPS = hasattr(os, "killpg") and hasattr(os, "setsid")
_STATM = Path("/proc/self/statm")


def peak_memory() -> int | None:
    """Return the peak resident memory of this process in bytes; None if the system does not report it."""
    status = Path("/proc/self/status")
    if status.is_file():  # on Linux, rusage would include the peak of the parent process before exec
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    return _peak(resource.RUSAGE_SELF) if HAS_LIMITS else None


def peak_memory_of_children() -> int | None:
    """Return the highest peak memory of any terminated child process in bytes; None if not reported."""
    return _peak(resource.RUSAGE_CHILDREN) if HAS_LIMITS else None


def _peak(whose: int) -> int:
    peak = resource.getrusage(whose).ru_maxrss  # bytes on macOS, KiB elsewhere
    return peak if sys.platform == "darwin" else peak * 1024


def reserved_memory() -> int:
    """Return the address space of this process in bytes (what ``limit_memory`` limits); 0 except on Linux."""
    return int(_STATM.read_text().split()[0]) * mmap.PAGESIZE if _STATM.exists() else 0


def limit_memory(most: int | None) -> None:
    """Limit the address space of this process; no effect except on Linux.

    Args:
        most: maximum number of bytes, at most the hard limit; None: the hard limit.
    """
    if HAS_LIMITS and _STATM.exists():
        _limit(resource.RLIMIT_AS, most)


def limit_processor_time(seconds: float | None) -> None:
    """Limit the further processor time of this process; no effect on systems without limits.

    Args:
        seconds: total over all threads; None removes the limit.
    """
    if HAS_LIMITS:
        _limit(resource.RLIMIT_CPU, None if seconds is None else int(time.process_time() + seconds) + 1)


def refuse_file_content() -> None:
    """Forbid this process to write file content or core dumps; no effect on systems without limits."""
    if HAS_LIMITS:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def raise_open_files(wanted: int) -> int:
    """Raise this process's limit of open files, as far as the hard limit allows.

    Args:
        wanted: the desired limit; a higher limit is unchanged.
    Returns: the resulting limit; ``wanted`` if the system has no limit.
    """
    if not HAS_LIMITS:
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return wanted if soft == resource.RLIM_INFINITY else soft


def _limit(what: int, most: int | None) -> None:
    hard = resource.getrlimit(what)[1]
    allowed = [limit for limit in (most, hard) if limit not in (None, resource.RLIM_INFINITY)]
    resource.setrlimit(what, (min(allowed, default=resource.RLIM_INFINITY), hard))


def end_group(child: "subprocess.Popen[bytes]", *, kill: bool) -> None:
    """End a child process and its process group; on systems without groups, only the process.

    Args:
        child: a process started as a session leader (``start_new_session=True``).
        kill: whether to kill the processes (SIGKILL), instead of asking them to terminate (SIGTERM).
    """
    if _HAS_GROUPS:
        os.killpg(child.pid, signal.SIGKILL if kill else signal.SIGTERM)
    elif kill:
        child.kill()
    else:
        child.terminate()


def kill_own_group() -> None:
    """Kill this process and its process group; without groups, exit only this process."""
    if _HAS_GROUPS:
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def ending_signal(code: int) -> str | None:
    """Return the name of the signal that terminated a process, such as 'SIGKILL'.

    Args:
        code: exit status of the process as ``subprocess`` reports it: negative after a signal.
    Returns: the name; None if the process exited by itself.
    """
    return signal.Signals(-code).name if code < 0 else None


def end_with_pipe(lifeline: int) -> None:
    """Make the system terminate this process when the other end of a pipe closes.

    No effect on systems without SIGIO, where the process exits when it next reads its standard input.

    Args:
        lifeline: file descriptor of the reading end; the parent process has the writing end.
    """
    if not HAS_LIFELINES:
        return
    import fcntl

    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)  # sends SIGIO, which terminates by default
    os.set_blocking(lifeline, False)
    try:
        if os.read(lifeline, 1) == b"":
            os._exit(1)  # already closed
    except BlockingIOError:
        return


def free_file_entries(folder: Path) -> int | None:
    """Return the number of free inodes of a folder's file system; None if it allocates them dynamically."""
    if not hasattr(os, "statvfs"):
        return None
    files = os.statvfs(folder)
    return files.f_favail if files.f_files else None
