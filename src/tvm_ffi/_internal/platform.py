# SPDX-License-Identifier: Apache-2.0
"""Interface to the operating system: everything in the package that depends on it.

A function returns None, or another documented value, where a system lacks the facility.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = [
    "COMPLETE_LIBRARY",
    "CUDA_DRIVER",
    "IS_WINDOWS",
    "LIBRARY_PREFIX",
    "LIBRARY_SUFFIXES",
    "LOADER_VARIABLES",
    "SYSTEM",
    "boot_identity",
    "current_umask",
    "has_unmapped_owners",
    "lock_file",
    "machine",
    "memory_map",
    "process_start",
    "processor",
    "unlock_file",
]

SYSTEM = sys.platform
IS_WINDOWS = sys.platform == "win32"

# The file name of a library is LIBRARY_PREFIX + name + a suffix; the usual suffix is first.
LIBRARY_PREFIX = "" if IS_WINDOWS else "lib"
LIBRARY_SUFFIXES: tuple[str, ...] = {"win32": (".dll",), "darwin": (".dylib", ".so")}.get(
    sys.platform, (".so",)
)
# The environment variables with the folders that the loader searches before its own ones.
LOADER_VARIABLES: tuple[str, ...] = {"win32": (), "darwin": ("DYLD_LIBRARY_PATH",)}.get(
    sys.platform, ("LD_LIBRARY_PATH",)
)
CUDA_DRIVER = "nvcuda.dll" if IS_WINDOWS else "libcuda.so.1"
# Options with which the linker rejects undefined symbols in a library.  The linkers of macOS and
# Windows reject them without an option.
COMPLETE_LIBRARY: tuple[str, ...] = ("-Wl,-z,defs",) if sys.platform == "linux" else ()


def machine() -> str:
    """Return the processor of this machine by the name that Linux has for it."""
    import platform

    name = platform.machine()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name.lower(), name)


def processor() -> str:
    """Return the model and the features of this machine's processor, for options like native."""
    import platform

    wanted = ("model name", "flags", "Features", "CPU part", "isa")
    found: dict[str, str] = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:  # noqa: PTH123
            for line in lines:
                name, _, value = line.partition(":")
                if name.strip() in wanted:
                    found.setdefault(name.strip(), " ".join(sorted(value.split())))
    except OSError:
        found["processor"] = platform.processor()
    return "; ".join(found[name] for name in sorted(found))


# ---- Locks of files ------------------------------------------------------------------------------

if sys.platform == "win32":
    import errno
    import msvcrt

    def lock_file(file: int) -> None:
        """Lock an open file; raise BlockingIOError if another process holds the lock."""
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno not in (errno.EACCES, 0):  # wine sets no number
                raise
            raise BlockingIOError(errno.EAGAIN, "another process holds the lock") from error

    def unlock_file(file: int) -> None:
        """Release the lock of `lock_file`."""
        os.lseek(file, 0, os.SEEK_SET)  # Windows locks a range of bytes at the current position
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def lock_file(file: int) -> None:
        """Lock an open file; raise BlockingIOError if another process holds the lock."""
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def unlock_file(file: int) -> None:
        """Release the lock of `lock_file`."""
        fcntl.flock(file, fcntl.LOCK_UN)


# ---- Processes, from /proc of Linux --------------------------------------------------------------


def boot_identity() -> list[str]:
    """Return texts that identify the start of the machine and the namespace of process numbers.

    Containers on one machine have process numbers of their own.  The list is empty on systems that
    do not tell.
    """
    parts: list[str] = []
    try:
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"))
        parts.append(str(Path("/proc/self/ns/pid").stat().st_ino))
    except OSError:
        pass
    return parts


def process_start(pid: int) -> str | None:
    """Return the start of a process, in ticks since the start of the machine, or None."""
    try:
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The name of the program, in parentheses, may contain spaces; the start time is field 22.
    return status.rpartition(b")")[2].split()[19].decode("ascii")


def memory_map() -> bytes | None:
    """Return the lines of Linux that describe the memory of this process; None on other systems."""
    try:
        return Path("/proc/self/maps").read_bytes()
    except OSError:
        return None


def current_umask() -> int:
    """Return the umask of this process, or the strictest one on systems that do not tell.

    The system call that returns the umask also changes it for all threads, so it is not used.
    """
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as lines:  # noqa: PTH123
            return next(int(line.split()[1], 8) for line in lines if line.startswith("Umask:"))
    except (OSError, StopIteration):
        return 0o077


def has_unmapped_owners() -> bool:
    """Return True if this process may see unmapped owners of files, as in rootless containers."""
    if sys.platform != "linux":
        return False
    try:
        return Path("/proc/self/uid_map").read_text().split() != ["0", "0", "4294967295"]
    except OSError:
        return False
