# SPDX-License-Identifier: Apache-2.0
"""Children of a process in which JAX had started: without XLA's threads, calls wait forever.

JAX warns of it when the process is forked; a call of ours says it instead of waiting.
"""

from __future__ import annotations

import os
from typing import Any

__all__ = ["refuse_without_threads", "watch"]


class _Fork:
    """What the last fork found."""

    had_started = False  # in the parent
    is_cut_off = False  # in this process


def watch(jax: Any) -> None:
    """Look at each fork whether JAX has started, as far as its version tells."""
    # Nothing that JAX documents says it without starting JAX.
    bridge = getattr(getattr(jax, "_src", None), "xla_bridge", None)
    has_started = getattr(bridge, "backends_are_initialized", None)
    if has_started is None or not hasattr(os, "register_at_fork"):
        return

    def before() -> None:
        _Fork.had_started = has_started()

    def in_child() -> None:
        _Fork.is_cut_off |= _Fork.had_started

    os.register_at_fork(before=before, after_in_child=in_child)


def refuse_without_threads(where: str) -> None:
    """Raise RuntimeError in a process that XLA's threads did not follow into."""
    if _Fork.is_cut_off:
        raise RuntimeError(
            f"{where}: JAX had started when this process was forked, and its threads are not here; "
            "fork before JAX's first computation, or start workers with the method 'spawn'"
        )
