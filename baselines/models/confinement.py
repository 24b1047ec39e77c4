"""Restrictions of a process that runs an untrusted model: it may only compute, as far as the system can enforce it.

On Linux it has no network (its own empty network namespace) and cannot write files or start programs (Landlock). On
systems with resource limits, memory and time are limited, and files can only be created empty. On every system, a
Python audit hook refuses writing, starting programs, opening connections, and reading files other than those of its
libraries. Not used: system call filters (seccomp).
"""

import ctypes
import os
import sys
import sysconfig
from typing import Any

from shiftbench.validation import operating_system

MIB = 2**20
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000  # the first, so that the second needs no root privileges
_NO_NEW_PRIVILEGES = 38  # Landlock requires it
_CREATE_RULESET, _RESTRICT_SELF = 444, 446
"""System call numbers of Landlock, the same on all processors."""
_VERSION_ONLY = 1
_WITH_NETWORK = 4
_READ = (1 << 2) | (1 << 3)
"""Reading files and folders stays allowed, because libraries are loaded lazily."""
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""Number of file access rights in each version of Landlock."""

_REFUSED = (
    "os.", "shutil.", "socket.", "subprocess.", "ctypes.", "urllib.", "ftplib.", "http.", "smtplib.", "poplib.",
    "imaplib.", "telnetlib.", "nntplib.", "webbrowser.", "tempfile.", "pty.", "fcntl.", "winreg.", "sqlite3.",
    "pickle.find_class", "code.__new__", "syslog.", "signal.pthread_kill", "setopencodehook",
)  # fmt: skip
"""Prefixes of the audit events that are refused."""
_ALLOWED = {"os.listdir", "os.scandir", "os.putenv", "os.unsetenv", "ctypes.dlopen", "ctypes.dlsym"}
"""Exceptions that importing a library needs."""


def leave_network() -> bool:
    """Move this process to an empty network namespace, before any thread starts; return whether that worked."""
    if not sys.platform.startswith("linux"):
        return False
    return bool(ctypes.CDLL(None).unshare(_NEW_USER | _NEW_NETWORK) == 0)


def refuse_writing(*, has_left_network: bool) -> list[str]:
    """Forbid this process to write files and to start programs; imports must be done before.

    Returns: protections that the system does not provide, one sentence each.
    """
    operating_system.refuse_file_content()
    version = _restrict_files() if sys.platform.startswith("linux") else 0
    notes = []
    if not operating_system.HAS_LIMITS:
        notes.append("this system cannot limit the model's process; it is terminated if it takes too long")
    if not has_left_network and version < _WITH_NETWORK:
        notes.append("this system cannot block network access of the model; Python blocks connections instead")
    if version == 0:
        notes.append("this system cannot block file writes and new processes of the model; Python blocks them instead")
    return notes


def refuse_in_python() -> None:
    """Install an audit hook that refuses everything except computing and reading the files of libraries."""
    roots = tuple(
        os.path.realpath(path) + os.sep
        for path in {*sys.path, sys.prefix, sys.base_prefix, *sysconfig.get_paths().values()}
        if path and os.path.isdir(path) and os.path.realpath(path) != os.sep
    )
    readable = (*roots, f"/proc/{os.getpid()}/stat", "/proc/meminfo", "/proc/cpuinfo", "/sys/")
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, int):
                return
            if flags & writing or not os.path.realpath(os.fsdecode(path)).startswith(readable):
                raise PermissionError(f"a model from a file may not open {os.fsdecode(path)!r}")
        elif event.startswith(_REFUSED) and event not in _ALLOWED:
            raise PermissionError(f"a model from a file may not do '{event}'")

    sys.addaudithook(refuse)


def limit(memory_mib: int, seconds: float) -> None:
    """Limit memory and processor time from now on.

    Args:
        memory_mib: memory in addition to what this process already has.
        seconds: processor time, summed over all threads.
    """
    operating_system.limit_processor_time(seconds)
    operating_system.limit_memory(operating_system.reserved_memory() + memory_mib * MIB)


def _restrict_files() -> int:
    """Forbid writing, running programs and (if Landlock supports it) connections; return Landlock's version, or 0."""
    system = ctypes.CDLL(None)
    version = int(system.syscall(_CREATE_RULESET, None, 0, _VERSION_ONLY))
    if version < 1:
        return 0
    files = ((1 << _RIGHTS[min(version, 5)]) - 1) & ~_READ
    network = 3 if version >= _WITH_NETWORK else 0  # binding and connecting
    ruleset = (ctypes.c_uint64 * 2)(files, network)
    number = system.syscall(_CREATE_RULESET, ctypes.byref(ruleset), 16 if network else 8, 0)
    if number < 0 or system.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return 0
    is_bound = system.syscall(_RESTRICT_SELF, number, 0) == 0
    os.close(number)
    return version if is_bound else 0
