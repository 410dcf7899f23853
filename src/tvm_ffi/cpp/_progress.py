# SPDX-License-Identifier: Apache-2.0
"""Progress line on the terminal during a long build."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from .._internal.builds import build_listeners
from ..registry import get_global_func

__all__ = ["progress_line"]

_SECONDS_UNTIL_SHOWN = 1.0


@contextlib.contextmanager
def progress_line(text: str) -> Iterator[None]:
    """Show a text and the elapsed time on the terminal while a block runs for over a second.

    Other streams than terminals stay empty.  With the package `rich`, the line has a spinner and is
    removed at the end of the block; without it, the text is printed once.
    The block is also reported to the build listeners.
    """
    begin = time.perf_counter_ns()
    try:
        with _shown_line(text):
            yield
    finally:
        end = time.perf_counter_ns()
        get_global_func("pytvmffi.ProbeBuild")(text, end - begin)
        for listener in list(build_listeners):
            listener(text, begin, end)


@contextlib.contextmanager
def _shown_line(text: str) -> Iterator[None]:
    if not sys.stderr.isatty():
        yield
        return
    line = _Line(text)
    timer = threading.Timer(_SECONDS_UNTIL_SHOWN, line.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        line.stop()


class _Line:
    """The progress line on the terminal.

    A timer thread calls `start`, and the building thread calls `stop`.  The lock ensures that
    `start` has no effect after `stop`.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._lock = threading.Lock()
        self._is_stopped = False
        self._progress: Any = None

    def start(self) -> None:
        with self._lock:
            if self._is_stopped:
                return
            try:
                self._progress = _new_progress(self._text)
            except ImportError:
                with contextlib.suppress(OSError, ValueError):  # the terminal may be closed
                    print(f"tvm_ffi: {self._text} ...", file=sys.stderr, flush=True)
                return
            self._progress.start()

    def stop(self) -> None:
        with self._lock:
            self._is_stopped = True
            if self._progress is not None:
                self._progress.stop()


def _new_progress(text: str) -> Any:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    progress.add_task(escape(text), total=None)
    return progress
