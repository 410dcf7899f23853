# SPDX-License-Identifier: Apache-2.0
"""Build listeners: functions that are called after each build of a library."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["build_listeners"]

# Called with the title of the build and its begin and end (`time.perf_counter_ns`).
build_listeners: list[Callable[[str, int, int], None]] = []
