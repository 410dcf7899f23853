# SPDX-License-Identifier: Apache-2.0
"""Which exception class stands for which native error kind, and tracebacks made from text."""

from __future__ import annotations

from functools import lru_cache
from types import TracebackType
from typing import Any

from ._binding.object.error import (
    ERROR_NAME_TO_TYPE,
    ERROR_TYPE_TO_NAME,
    frame_of_line,
    frames_of_text,
)

__all__ = ["TracebackManager", "register_error"]


def register_error(name_or_cls: str | type | None = None, cls: type | None = None) -> Any:
    """Let an exception class stand for a native error kind, in both directions.

    Parameters
    ----------
    name_or_cls : str or type, optional
        The kind, or the class itself when the kind is its name.
    cls : type, optional
        The class; without it a decorator is returned.

    Returns
    -------
    type or callable
        The class, or a decorator that registers and returns one.

    Notes
    -----
    Subclasses of a registered class that are not registered themselves travel as the kind of their
    nearest registered base.

    Examples
    --------
    >>> @register_error("ShapeMismatch")
    ... class ShapeMismatchError(ValueError):
    ...     pass
    """
    if isinstance(name_or_cls, type):
        return _register(name_or_cls.__name__, name_or_cls)
    if cls is not None:
        return _register(name_or_cls or cls.__name__, cls)
    return lambda decorated: _register(name_or_cls or decorated.__name__, decorated)


def _register(kind: str, cls: type) -> type:
    if not (isinstance(cls, type) and issubclass(cls, BaseException)):
        name = getattr(cls, "__name__", repr(cls))
        raise TypeError(f"{name} must be an exception class to stand for kind {kind!r}")
    ERROR_NAME_TO_TYPE[kind] = cls
    ERROR_TYPE_TO_NAME[cls] = kind
    return cls


class TracebackManager:
    """Makes traceback entries for code that is not Python's, such as generated code.

    Examples
    --------
    >>> entry = tvm_ffi.error.TracebackManager().append_traceback(None, "kernel.cu", 12, "launch")
    >>> entry.tb_frame.f_code.co_name, entry.tb_lineno
    ('launch', 12)
    """

    def __init__(self) -> None:
        # A place is asked for each time it raises; the frames of the latest are kept.
        self._frame_of = lru_cache(maxsize=1024)(frame_of_line)

    def append_traceback(
        self, tb: TracebackType | None, filename: str, lineno: int, func: str
    ) -> TracebackType:
        """Return a traceback that enters `func` first and goes on with `tb`.

        Parameters
        ----------
        tb : traceback or None
            What is extended.
        filename, lineno, func : str, int, str
            Where the entry points.
        """
        frame = self._frame_of(filename, lineno, func)
        return TracebackType(tb, frame, frame.f_lasti, lineno)


def _with_append_backtrace(py_error: BaseException, backtrace: str) -> BaseException:
    """Return the exception with an entry for each line of a native backtrace."""
    tb = py_error.__traceback__
    for frame in frames_of_text(backtrace):
        tb = TracebackType(tb, frame, frame.f_lasti, frame.f_code.co_firstlineno)
    return py_error.with_traceback(tb)
