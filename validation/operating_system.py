"""What only some operating systems offer: limits, process groups, signals, peak memory, free entries of a disk.

All that Windows lacks is called from here, except what confines a model (``baselines.models.confinement``), and each
function's docstring says what it does there.
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
"""Whether a process can limit itself; elsewhere only the process that waits for it bounds its time."""
HAS_LIFELINES = hasattr(os, "O_ASYNC")
"""Whether the end of a pipe can be handed to a process, to end it when the other end closes (``end_with_pipe``)."""
_HAS_GROUPS = hasattr(os, "killpg") and hasattr(os, "setsid")
_STATM = Path("/proc/self/statm")


def peak_memory() -> int | None:
    """Return the peak resident memory of this process so far, in bytes; None where the system does not count it."""
    status = Path("/proc/self/status")
    if status.is_file():  # Linux's rusage would count the process that started this one, too
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    return _peak(resource.RUSAGE_SELF) if HAS_LIMITS else None


def peak_memory_of_children() -> int | None:
    """Return the peak resident memory of the largest child process that ended, in bytes; None as ``peak_memory``."""
    return _peak(resource.RUSAGE_CHILDREN) if HAS_LIMITS else None


def _peak(whose: int) -> int:
    peak = resource.getrusage(whose).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def reserved_memory() -> int:
    """Return the bytes of addresses of this process, which are what ``limit_memory`` bounds; 0 except on Linux."""
    return int(_STATM.read_text().split()[0]) * mmap.PAGESIZE if _STATM.exists() else 0


def limit_memory(most: int | None) -> None:
    """Limit this process to as many bytes of addresses from now on, or to what the system allows; only on Linux."""
    if HAS_LIMITS and _STATM.exists():
        _limit(resource.RLIMIT_AS, most)


def limit_processor_time(seconds: float | None) -> None:
    """Limit the processor time of this process, beyond what it has used, or lift the limit; nothing without limits.

    Args:
        seconds: of all threads together; None lifts the limit.
    """
    if HAS_LIMITS:
        _limit(resource.RLIMIT_CPU, None if seconds is None else int(time.process_time() + seconds) + 1)


def refuse_file_content() -> None:
    """Allow this process no byte in any file that it writes, and no core dump; nothing without limits."""
    if HAS_LIMITS:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def raise_open_files(wanted: int) -> int:
    """Raise the number of files that this process may open towards a number, and return how many it may open then.

    Returns: ``wanted`` where the system has no limit.
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
    """End or kill a process that leads a session, and all of its group; without groups, it alone."""
    if _HAS_GROUPS:
        os.killpg(child.pid, signal.SIGKILL if kill else signal.SIGTERM)
    elif kill:
        child.kill()
    else:
        child.terminate()


def kill_own_group() -> None:
    """Kill this process and all of its group; without groups, end this process alone."""
    if _HAS_GROUPS:
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def ending_signal(code: int) -> str | None:
    """Return the name of the signal that ended a process with this exit status, such as 'SIGKILL', or None."""
    return signal.Signals(-code).name if code < 0 else None


def end_with_pipe(lifeline: int) -> None:
    """Arrange that the system kills this process when the other end of a pipe closes, whatever it is doing then.

    Nothing happens without SIGIO: the process ends where it next reads its standard input.
    """
    if not HAS_LIFELINES:
        return
    import fcntl

    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)  # SIGIO, whose default is to end the process
    os.set_blocking(lifeline, False)
    try:
        if os.read(lifeline, 1) == b"":
            os._exit(1)  # it closed before
    except BlockingIOError:
        return


def free_file_entries(folder: Path) -> int | None:
    """Return how many more files a folder's file system has entries for; None where it makes them as files come."""
    if not hasattr(os, "statvfs"):
        return None
    files = os.statvfs(folder)
    return files.f_favail if files.f_files else None
