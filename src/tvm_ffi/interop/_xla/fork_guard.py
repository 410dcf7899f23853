# SPDX-License-Identifier: Apache-2.0
"""Detection of processes that were forked after JAX had started.

XLA's threads do not exist in the forked process, so a computation there would never finish.  JAX
only warns at the fork, so `call_tvm_ffi` raises an error in the forked process.
"""

from __future__ import annotations

import os
from typing import Any

__all__ = ["check_not_forked", "register_fork_hooks"]


class _ForkState:
    """State of this process: whether JAX had started before a fork."""

    parent_had_started = False  # JAX had started when this process last forked
    is_forked = False  # this process was forked after JAX had started


def register_fork_hooks(jax: Any) -> None:
    """Record at each fork whether JAX has started; do nothing if JAX lacks the query for it."""
    # Use a private function of JAX for the query, because JAX's public functions start JAX.
    bridge = getattr(getattr(jax, "_src", None), "xla_bridge", None)
    has_started = getattr(bridge, "backends_are_initialized", None)
    if has_started is None or not hasattr(os, "register_at_fork"):
        return

    def before() -> None:
        _ForkState.parent_had_started = has_started()

    def in_child() -> None:
        _ForkState.is_forked |= _ForkState.parent_had_started

    os.register_at_fork(before=before, after_in_child=in_child)


def check_not_forked(where: str) -> None:
    """Raise RuntimeError in a process that was forked after JAX had started."""
    if _ForkState.is_forked:
        raise RuntimeError(
            f"{where}: this process was forked after JAX had started, so it lacks JAX's threads; "
            "fork before JAX's first computation, or start workers with the method 'spawn'"
        )
