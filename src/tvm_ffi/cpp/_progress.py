# SPDX-License-Identifier: Apache-2.0
"""A line on the terminal while a build takes its time."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

__all__ = ["shown_when_long"]

_SECONDS_UNTIL_SHOWN = 1.0


@contextlib.contextmanager
def shown_when_long(text: str) -> Iterator[None]:
    """Show a text and the time that passes, if the block takes more than a second.

    Only on a terminal, and only where `rich` is installed; the line is gone afterwards.
    """
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
    """The line; it may be stopped before or while it is started by the timer's thread."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lock = threading.Lock()
        self._is_over = False
        self._progress: Any = None

    def start(self) -> None:
        with self._lock:
            if self._is_over:
                return
            with contextlib.suppress(ImportError):
                self._progress = _new_progress(self._text)
                self._progress.start()

    def stop(self) -> None:
        with self._lock:
            self._is_over = True
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
