# SPDX-License-Identifier: Apache-2.0
"""File lock between processes; the operating system releases it when the process ends.

The lock belongs to an open file.  The lock file is never removed: otherwise one process could lock
the removed file while another process locks a new file of the same name.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any

from .._internal.platform import lock_file, unlock_file

if TYPE_CHECKING:
    from typing import Literal

__all__ = ["FileLock"]


class FileLock:
    """A lock that at most one `FileLock` in all processes holds at a time.

    Parameters
    ----------
    lock_file_path : str or path
        File to lock; created if it is missing, and never removed.

    Notes
    -----
    Threads of one process exclude each other if each thread uses its own instance.  A process that
    is forked while the lock is held does not hold the lock and cannot release it.

    Examples
    --------
    >>> from tvm_ffi.utils import FileLock
    >>> lock = FileLock(folder / "build.lock")  # doctest: +SKIP
    >>> with lock:  # doctest: +SKIP
    ...     build()
    """

    def __init__(self, lock_file_path: str | os.PathLike[str]) -> None:
        self.lock_file_path = lock_file_path
        self._file_descriptor: int | None = None
        self._holder_pid = 0
        self._guard = threading.Lock()

    def acquire(self) -> bool:
        """Acquire the lock without waiting.

        Returns
        -------
        bool
            True on success; False if this or another instance holds the lock, or if the file cannot
            be locked.
        """
        return self._try_to_acquire() is None

    def blocking_acquire(self, timeout: float | None = None, poll_interval: float = 0.1) -> bool:
        """Acquire the lock, waiting until it is free.

        Parameters
        ----------
        timeout : float, optional
            Maximum time to wait, in seconds; at least one attempt is made.  None means no limit.
        poll_interval : float
            Time between two attempts, in seconds.

        Returns
        -------
        bool
            Always True.

        Raises
        ------
        RuntimeError
            If this instance already holds the lock.
        TimeoutError
            If the lock was not acquired in time.
        OSError
            If `timeout` is None and the file cannot be locked at all.
        """
        if self._file_descriptor is not None:
            raise RuntimeError("Lock is already held by this instance.")
        start = time.monotonic()
        while True:
            error = self._try_to_acquire()
            if error is None:
                return True
            if timeout is None:
                if not isinstance(error, BlockingIOError):
                    raise error
                time.sleep(poll_interval)
                continue
            remaining_s = timeout - (time.monotonic() - start)
            if remaining_s <= 0:
                raise TimeoutError(
                    f"Failed to acquire lock on '{self.lock_file_path}' after {timeout} seconds."
                ) from error
            time.sleep(min(poll_interval, remaining_s))

    def release(self) -> None:
        """Release the lock; do nothing if this instance does not hold it."""
        with self._guard:
            file, self._file_descriptor = self._file_descriptor, None
            if file is None:
                return
            try:
                # A forked child process shares the open file: unlocking the file would release the
                # parent's lock.
                if self._holder_pid == os.getpid():
                    unlock_file(file)
            finally:
                os.close(file)

    def _try_to_acquire(self) -> OSError | None:
        """Try once to acquire the lock; return None on success, otherwise the OSError."""
        with self._guard:
            if self._file_descriptor is not None:
                return BlockingIOError("held by this instance")
            try:
                file = os.open(self.lock_file_path, os.O_RDWR | os.O_CREAT, 0o666)
            except OSError as error:
                return error
            try:
                lock_file(file)
            except OSError as error:
                os.close(file)
                error.filename = os.fspath(self.lock_file_path)
                return error
            self._file_descriptor, self._holder_pid = file, os.getpid()
            return None

    def __enter__(self) -> FileLock:
        self.blocking_acquire()
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> Literal[False]:
        self.release()
        return False
