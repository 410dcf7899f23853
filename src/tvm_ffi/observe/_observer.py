# SPDX-License-Identifier: Apache-2.0
"""Base class of observers: start, stop, and the functions that Python code holds."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable
from typing import Any

from ..core import Function
from ..registry import get_global_func

__all__ = ["UNNAMED", "Observer"]

# The name in reports of functions for which the runtime knows no name.
UNNAMED = "(unnamed)"

# The functions that read an observer; they are not observed.
_readers: weakref.WeakSet[Function] = weakref.WeakSet()


class Observer:
    """An observer that can be started and stopped, also as a context manager."""

    def __init__(self, names: Iterable[str] | str) -> None:
        self._names = [names] if isinstance(names, str) else list(names)
        for name in self._names:
            if not isinstance(name, str):
                raise TypeError(
                    f"{type(self).__name__}: expected names of functions as str, got {name!r}"
                )
        self._read: Function | None = None
        self._remove: weakref.finalize[..., Observer] | None = None

    @property
    def is_running(self) -> bool:
        """True if calls are observed."""
        return self._remove is not None and self._remove.alive

    def start(self) -> None:
        """Begin to observe calls; results of an earlier run are discarded.

        Raises
        ------
        RuntimeError
            If the observer is running, or eight observers exist.
        """
        if self.is_running:
            raise RuntimeError(f"{type(self).__name__}.start: the observer is running already")
        read, number = self._add()
        _readers.add(read)
        self._read = read
        self._remove = weakref.finalize(self, get_global_func("pytvmffi.ObserverRemove"), number)
        _show_functions()

    def stop(self) -> None:
        """Stop to observe calls; does nothing if the observer is not running."""
        if self._remove is not None:
            self._remove()

    def _add(self) -> tuple[Function, int]:
        """Add the native observer; return the function that reads it, and its number."""
        raise NotImplementedError

    def _content(self) -> Any:
        """Return the result of the native observer; None if it was never started."""
        return None if self._read is None else self._read()

    def __enter__(self) -> Any:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def _show_functions() -> None:
    """Show the functions that Python code holds; the runtime has no list of callbacks."""
    show = get_global_func("pytvmffi.ObserverShow")
    for candidate in gc.get_objects():
        if not issubclass(type(candidate), Function) or candidate in _readers:
            continue
        try:
            name = candidate.__name__
        except AttributeError:
            name = None
        try:
            show(candidate, name)
        except ValueError:  # the function is empty
            continue
