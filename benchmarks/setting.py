# SPDX-License-Identifier: Apache-2.0
"""Setting of a benchmark run: date, command line, machine and versions."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any


def describe_setting(versions: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Return date, command, machine and versions, ready for JSON.

    Parameters
    ----------
    versions : mapping from implementation to mapping from component to version
        As reported by the workers.
    """
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "command": " ".join(["python", "benchmarks/run.py", *sys.argv[1:]]),
        "machine": f"{_processor()}, {os.cpu_count()} CPUs, {platform.system()} "
        f"{platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "versions": {name: dict(items) for name, items in versions.items()},
    }


def _processor() -> str:
    """Return the processor's model name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
