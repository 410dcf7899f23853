# SPDX-License-Identifier: Apache-2.0
"""Call traces: each call with its thread, arguments and stream, as a Chrome trace or a flame view.

The file is in the trace event format, which https://ui.perfetto.dev and chrome://tracing read.
"""

from __future__ import annotations

import atexit
import json
import os
import struct
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from .._internal.builds import build_listeners
from ..core import Function
from ..registry import get_global_func
from ._flame import Call, print_flame
from ._observer import UNNAMED, Observer

__all__ = ["Call", "Trace"]

_EVENT = struct.Struct("=6q")  # `Log::Read` in runtime/extra/observe/trace.cc
_BUILD_THREAD = 0  # the threads of calls have numbers from 1


class Trace(Observer):
    """A trace of the calls of functions, from every language and thread.

    Parameters
    ----------
    path : path, optional
        The file that `stop` writes.
    names : iterable of str, optional
        Names of the functions to observe; a name that ends with ``*`` is a prefix.  Default: all.
    max_calls : int
        Number of calls after which further calls are dropped; a call takes about 50 bytes.

    Notes
    -----
    The trace also has the builds of `tvm_ffi.cpp`.  A trace that is running when the interpreter
    exits is stopped, which writes its file; in a forked child, `stop` writes no file.

    Examples
    --------
    >>> with tvm_ffi.trace() as trace:
    ...     _ = tvm_ffi.get_global_func("ffi.Shape")(2, 3)
    >>> [(call.name, call.arguments) for call in trace.calls()]
    [('ffi.Shape', '2, 3')]
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        names: Iterable[str] | str = (),
        *,
        max_calls: int = 4_000_000,
    ) -> None:
        super().__init__(names)
        self._path = None if path is None else Path(path)
        self._max_calls = max_calls
        self._builds: list[tuple[str, int, int]] = []
        self._process = 0

    def _add(self) -> tuple[Function, int]:
        read, number = get_global_func("pytvmffi.ObserverAddTrace")(self._names, self._max_calls)
        return read, number

    def start(self) -> None:
        """Begin to record calls; calls of an earlier run are discarded.

        Raises
        ------
        OSError
            If the file cannot be written.
        RuntimeError
            If the trace is running, or eight observers exist.
        """
        if self._path is not None and not self.is_running:
            with self._path.open("w", encoding="utf-8"):
                pass  # fail before the calls rather than after them
        super().start()
        self._process = os.getpid()
        self._builds = []
        build_listeners.append(self._add_build)
        atexit.register(self.stop)

    def stop(self) -> None:
        """Stop to record calls and write the file; does nothing if the trace is not running."""
        if not self.is_running:
            return
        super().stop()
        build_listeners.remove(self._add_build)
        atexit.unregister(self.stop)
        if self._path is not None and os.getpid() == self._process:
            with self._path.open("w", encoding="utf-8") as file:
                self.write(file)

    def _add_build(self, *build: str | int) -> None:
        self._builds.append(build)  # type: ignore[arg-type]

    def calls(self) -> Iterator[Call]:
        """Yield the recorded calls, thread by thread, in the order in which they began."""
        names, _, *logs = self._content() or ((), 0)
        texts = [name or UNNAMED for name in names]
        for thread, packed, descriptions in logs:
            arguments = list(descriptions)
            for begin, end, stream, name, text, status in _EVENT.iter_unpack(packed):
                yield Call(thread, texts[name], begin, end, arguments[text], stream, status)

    @property
    def num_dropped(self) -> int:
        """Number of calls that were not recorded, because `max_calls` were."""
        content = self._content()
        return 0 if content is None else content[1]

    def write(self, file: IO[str]) -> None:
        """Write the recorded calls as a Chrome trace.

        Parameters
        ----------
        file : text file
            The file to write.
        """
        now, process, quoted = time.perf_counter_ns(), os.getpid(), json.JSONEncoder().encode
        dropped = self.num_dropped
        file.write(f'{{"displayTimeUnit":"ns","otherData":{{"dropped_calls":{dropped}}},')
        file.write('"traceEvents":[\n')
        for title, begin, end in self._builds:
            file.write(
                f'{{"ph":"X","cat":"build","name":{quoted(title)},"pid":{process},'
                f'"tid":{_BUILD_THREAD},"ts":{begin / 1e3:.3f},"dur":{(end - begin) / 1e3:.3f}}},\n'
            )
        for call in self.calls():
            details = {"arguments": call.arguments}
            if call.stream:
                details["stream"] = hex(call.stream)
            if call.status or not call.end_ns:
                details["ended"] = "with an error" if call.status else "after the trace"
            duration = (call.end_ns or now) - call.begin_ns
            file.write(
                f'{{"ph":"X","cat":"call","name":{quoted(call.name)},"pid":{process},'
                f'"tid":{call.thread},"ts":{call.begin_ns / 1e3:.3f},"dur":{duration / 1e3:.3f},'
                f'"args":{quoted(details)}}},\n'
            )
        file.write(
            f'{{"ph":"M","name":"thread_name","pid":{process},"tid":{_BUILD_THREAD},'
            '"args":{"name":"builds"}}\n]}\n'
        )

    def print_flame(self, file: IO[str] | None = None) -> None:
        """Print the functions as a tree of callers and callees, with shares of the total time.

        Parameters
        ----------
        file : text file, optional
            Default: the standard output.

        Raises
        ------
        ImportError
            If the package `rich` is not installed.
        """
        print_flame(self.calls(), file)
