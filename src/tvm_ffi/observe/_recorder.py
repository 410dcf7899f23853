# SPDX-License-Identifier: Apache-2.0
"""Flight recorder: calls with their arguments, results and errors, in a file.

`runtime/extra/observe/recorder.cc` writes the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from ..core import Function
from ..registry import get_global_func
from ._observer import Observer
from ._recording import CONTENTS

__all__ = ["Recorder"]

# Recorders record until `stop`, also without another reference.
_running: set[Recorder] = set()


class Recorder(Observer):
    """A recorder of the calls of functions, from every language and thread.

    Parameters
    ----------
    path : path
        The file, which `start` creates or empties.
    names : iterable of str, optional
        Names of the functions to record; a name that ends with ``*`` is a prefix.  Default: all.
    contents : str
        The contents of CPU tensors in the file: ``"none"``; ``"digest"``; ``"all"``: digests of
        tensors larger than `max_bytes`; ``"error"``: only of calls that fail, as the call left
        them.  Arguments are recorded before the call, and the contents that it changed after it.
    max_bytes : int
        The largest content of a tensor, string or bytes that is recorded.
    last : int, optional
        Keep at least the last calls of each thread, of this number; the file has a bounded size.
        Default: keep all calls.

    Notes
    -----
    The file is whole at each moment, also when a signal kills the process.  A forked child does not
    record.  When the disk is full, further calls are dropped; see `num_dropped`.

    Examples
    --------
    >>> import tempfile
    >>> with tvm_ffi.record(tempfile.mkdtemp() + "/run.tvmrec") as recorder:
    ...     _ = tvm_ffi.get_global_func("ffi.Shape")(2, 3)
    >>> recorder.num_calls
    1
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        names: Iterable[str] | str = (),
        *,
        contents: str = "none",
        max_bytes: int = 1 << 20,
        last: int | None = None,
    ) -> None:
        super().__init__(names)
        if contents not in CONTENTS:
            raise ValueError(
                f"record: expected contents to be one of {', '.join(map(repr, CONTENTS))}, got "
                f"{contents!r}"
            )
        if max_bytes < 0:
            raise ValueError(f"record: expected max_bytes of at least 0, got {max_bytes}")
        if last is not None and last < 1:
            raise ValueError(f"record: expected last to be at least 1, got {last}")
        self._path = os.fspath(path)
        self._settings = CONTENTS.index(contents), max_bytes, last or 0

    def _add(self) -> tuple[Function, int]:
        add = get_global_func("pytvmffi.ObserverAddRecorder")
        read, number = add(self._path, self._names, *self._settings)
        return read, number

    def start(self) -> None:
        """Begin to record calls.

        Raises
        ------
        OSError
            If the file cannot be created.
        RuntimeError
            If the recorder is running, or eight observers exist.
        """
        super().start()
        _running.add(self)

    def stop(self) -> None:
        """Stop to record calls; does nothing if the recorder is not running."""
        super().stop()
        _running.discard(self)

    @property
    def num_calls(self) -> int:
        """Number of recorded calls, including those that `last` has removed from the file."""
        content = self._content()
        return 0 if content is None else content[0]

    @property
    def num_dropped(self) -> int:
        """Number of calls that were not recorded, because the disk was full."""
        content = self._content()
        return 0 if content is None else content[1]

    @property
    def error(self) -> str:
        """The system's message about the failure that ended the recording, or ""."""
        content = self._content()
        return "" if content is None else content[2]
