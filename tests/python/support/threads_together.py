# SPDX-License-Identifier: Apache-2.0
"""Threads that start at a barrier."""

from __future__ import annotations

import threading
from typing import Any, Callable


def run_together(
    work: Callable[[int], Any], count: int, timeout_s: float | None = None
) -> list[Any]:
    """Call ``work(i)`` on `count` threads and return the results; raise the first failure.

    Parameters
    ----------
    work : callable
        Called with the number of the thread.
    count : int
        Number of threads.
    timeout_s : float, optional
        Time limit for joining each thread.
    """
    barrier = threading.Barrier(count)
    results: list[Any] = [None] * count
    failures: list[BaseException] = []

    def body(i: int) -> None:
        try:
            barrier.wait(30)
            results[i] = work(i)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=body, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout_s)
    if failures:
        raise failures[0]
    return results
