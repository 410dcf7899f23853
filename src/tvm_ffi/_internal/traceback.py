# SPDX-License-Identifier: Apache-2.0
"""Traceback entries for native and generated code, made from file, line and function name."""

from __future__ import annotations

from functools import lru_cache
from types import TracebackType

from .._binding.object import frame_of_line, frames_of_text, set_public_module

__all__ = ["TracebackManager", "with_append_backtrace"]


class TracebackManager:
    """Factory of traceback entries for code outside Python, such as generated code.

    Examples
    --------
    >>> entry = tvm_ffi.error.TracebackManager().append_traceback(None, "kernel.cu", 12, "launch")
    >>> entry.tb_frame.f_code.co_name, entry.tb_lineno
    ('launch', 12)
    """

    def __init__(self) -> None:
        # Cache the frames of recent lines, because the same line may raise many times.
        self._frame_of = lru_cache(maxsize=1024)(frame_of_line)

    def append_traceback(
        self, tb: TracebackType | None, filename: str, lineno: int, func: str
    ) -> TracebackType:
        """Return a traceback: an entry for a line of `func`, followed by the entries of `tb`.

        Parameters
        ----------
        tb : traceback or None
            The traceback to extend.
        filename, lineno, func : str, int, str
            File, line and function name of the new entry.
        """
        frame = self._frame_of(filename, lineno, func)
        return TracebackType(tb, frame, frame.f_lasti, lineno)


def with_append_backtrace(py_error: BaseException, backtrace: str) -> BaseException:
    """Add an entry to the traceback of `py_error` for each line of a native backtrace."""
    tb = py_error.__traceback__
    for frame in frames_of_text(backtrace):
        tb = TracebackType(tb, frame, frame.f_lasti, frame.f_code.co_firstlineno)
    return py_error.with_traceback(tb)


set_public_module("tvm_ffi.error", TracebackManager)
