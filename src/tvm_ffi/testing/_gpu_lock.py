# SPDX-License-Identifier: Apache-2.0
"""Lock between processes, so that only one of them runs a test on the GPU at a time."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, Callable, TypeVar

from ..utils.lockfile import FileLock

_R = TypeVar("_R")


def run_with_gpu_lock(func: Callable[..., _R], /, *args: Any, **kwargs: Any) -> _R:
    """Call ``func(*args, **kwargs)`` while holding the GPU lock, and return the result.

    The lock is the file ``gpu.lock`` in the folder that the environment variable
    ``TVM_FFI_TEST_LOCK_DIR`` names, by default the temporary folder.  The lock is not reentrant: a
    nested call deadlocks.

    Parameters
    ----------
    func : callable
        The function to call.
    *args, **kwargs
        Arguments of `func`.
    """
    folder = Path(os.environ.get("TVM_FFI_TEST_LOCK_DIR") or tempfile.gettempdir())
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "gpu.lock"):
        return func(*args, **kwargs)
