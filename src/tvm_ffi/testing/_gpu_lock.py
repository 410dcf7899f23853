# SPDX-License-Identifier: Apache-2.0
"""One test at a time on the GPU, across all processes of the machine."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, Callable, TypeVar

from ..utils.lockfile import FileLock

_R = TypeVar("_R")


def run_with_gpu_lock(func: Callable[..., _R], /, *args: Any, **kwargs: Any) -> _R:
    """Return ``func(*args, **kwargs)``, run while no other process runs something this way.

    The lock is the file ``gpu.lock`` in the folder that the environment variable
    ``TVM_FFI_TEST_LOCK_DIR`` names, else in the temporary folder.  It is not reentrant: a call
    from within `func` waits for ever.

    Parameters
    ----------
    func : callable
        What to run.
    *args, **kwargs
        Its arguments.
    """
    folder = Path(os.environ.get("TVM_FFI_TEST_LOCK_DIR") or tempfile.gettempdir())
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "gpu.lock"):
        return func(*args, **kwargs)
