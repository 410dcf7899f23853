# SPDX-License-Identifier: Apache-2.0
"""Names of staging folders, which tell if the process that builds in a folder has ended.

A name is ``NAME_<16 hex>.<host>.<pid>.<start time>.<random>``.  File locks have no effect on some
file systems that several hosts share, so a process may see the folders of running builds.  It may
remove only those whose process has certainly ended.
"""

from __future__ import annotations

import hashlib
import os
import platform
import time
from pathlib import Path

from .._internal.platform import boot_identity, process_start

__all__ = ["has_ended", "is_old", "staging_name"]

# No build takes as long.
_OLD_SECONDS = 24 * 3600


def staging_name(stem: str) -> str:
    """Return an unused name of a staging folder for a recipe, with the identity of this process."""
    pid = os.getpid()
    return f"{stem}.{_host()}.{pid}.{_start_time(pid)}.{os.urandom(4).hex()}"


def has_ended(name: str) -> bool:
    """Return True if the process in the name of a staging folder has certainly ended."""
    parts = name.rsplit(".", 4)[1:]
    if len(parts) != 4 or parts[0] != _host() or not parts[1].isdecimal():
        return False
    # Another process with the same number has started at another time.
    return _start_time(int(parts[1])) != parts[2]


def is_old(folder: Path) -> bool:
    """Return True if a staging folder was last changed a day ago or does not exist."""
    try:
        return abs(time.time() - folder.stat().st_mtime) > _OLD_SECONDS
    except OSError:
        return True


def _host() -> str:
    """Return an identity of the machine since its start, and of the namespace of process numbers.

    Containers on one machine have process numbers of their own.
    """
    parts = [platform.node(), *boot_identity()]
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def _start_time(pid: int) -> str:
    """Return the start time of a process, in ticks since the start of the machine.

    Returns "ended" if there is no such process, and "unknown" on systems that do not tell.
    """
    start = process_start(pid)
    return _state_by_signal(pid) if start is None else start


def _state_by_signal(pid: int) -> str:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return "ended"
    except OSError:
        pass
    return "unknown"
