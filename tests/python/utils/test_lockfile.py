# SPDX-License-Identifier: Apache-2.0
"""`FileLock`, a lock that excludes other processes."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from tvm_ffi.utils import FileLock

HOLD = """
import sys, time
from tvm_ffi.utils import FileLock
lock = FileLock(sys.argv[1])
print(lock.acquire(), flush=True)
sys.stdin.readline()
{then}
"""


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "x.lock")


class Holder:
    """Another process that acquires the lock and holds it until `go_on` is called."""

    def __init__(self, path, then=""):
        self._process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(HOLD).format(then=then), path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.has_lock = self._process.stdout.readline() == "True\n"

    def kill(self):
        self._process.kill()
        self._end()

    def go_on(self):
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def _end(self):
        self._process.wait(timeout=60)
        self._process.stdin.close()
        self._process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


def test_one_instance_holds_the_lock(path):
    first, second = FileLock(path), FileLock(path)
    assert first.acquire() is True
    assert first.acquire() is False
    assert second.acquire() is False
    first.release()
    first.release()
    assert second.acquire() is True
    second.release()
    assert os.path.exists(path)  # noqa: PTH110


def test_the_file_keeps_its_content(tmp_path):
    file = tmp_path / "x.lock"
    file.write_text("content", encoding="utf-8")
    with FileLock(file):
        assert file.read_text(encoding="utf-8") == "content"
    assert file.read_text(encoding="utf-8") == "content"


def test_context_manager(path):
    lock, other = FileLock(path), FileLock(path)
    with lock as entered:
        assert entered is lock
        assert not other.acquire()
    assert other.acquire()
    other.release()
    with pytest.raises(ZeroDivisionError), lock:
        raise ZeroDivisionError
    assert other.acquire()
    other.release()


def test_a_holder_cannot_wait_for_itself(path):
    lock = FileLock(path)
    with lock:
        with pytest.raises(RuntimeError, match=r"^Lock is already held by this instance\.$"):
            lock.blocking_acquire()
        with pytest.raises(RuntimeError, match="already held"):
            lock.__enter__()
    assert lock.blocking_acquire(timeout=0) is True
    lock.release()


@pytest.mark.parametrize("timeout", [0, -1, 0.2, 1])
def test_timeouts(path, timeout):
    lock = FileLock(path)
    with FileLock(path):
        start = time.monotonic()
        with pytest.raises(TimeoutError) as caught:
            lock.blocking_acquire(timeout=timeout, poll_interval=10)
        assert max(timeout, 0) <= time.monotonic() - start < max(timeout, 0) + 5
    assert str(caught.value) == f"Failed to acquire lock on '{path}' after {timeout} seconds."
    assert lock.blocking_acquire(timeout=timeout)
    lock.release()


def test_files_that_cannot_be_locked(tmp_path):
    for path in (tmp_path / "missing" / "x.lock", tmp_path):
        lock = FileLock(path)
        assert lock.acquire() is False
        with pytest.raises(TimeoutError, match="Failed to acquire lock"):
            lock.blocking_acquire(timeout=0)
        with pytest.raises((FileNotFoundError, IsADirectoryError, PermissionError)):
            lock.blocking_acquire()  # this call would wait forever
        lock.release()


def test_another_process_holds_the_lock(path):
    lock = FileLock(path)
    with Holder(path) as holder:
        assert holder.has_lock
        assert not lock.acquire()
        with pytest.raises(TimeoutError):
            lock.blocking_acquire(timeout=0.1, poll_interval=0.01)
        with Holder(path) as third:
            assert not third.has_lock
    assert lock.acquire()  # the process that held the lock was killed
    with Holder(path) as holder:
        assert not holder.has_lock
    lock.release()
    with Holder(path) as holder:
        assert holder.has_lock


@pytest.mark.parametrize("then", ["lock.release(); time.sleep(60)", "", "raise SystemExit(3)"])
def test_waiting_ends_when_the_holder_releases_or_ends(path, then):
    lock = FileLock(path)
    with Holder(path, then) as holder:
        assert holder.has_lock
        threading.Timer(0.2, holder.go_on).start()
        assert lock.blocking_acquire(timeout=60, poll_interval=0.01) is True
    lock.release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_neither_holds_nor_releases_the_lock_of_its_parent(path):
    lock = FileLock(path)
    assert lock.acquire()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            took = lock.acquire() or FileLock(path).acquire()
            lock.release()
            status = 2 if took else 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not FileLock(path).acquire()
    lock.release()
    assert lock.acquire()
    lock.release()


def test_threads_with_separate_instances_exclude_each_other(path):
    inside, most, total = 0, 0, 0

    def work():
        nonlocal inside, most, total
        lock = FileLock(path)
        for _ in range(20):
            lock.blocking_acquire(timeout=60, poll_interval=0.001)
            inside += 1
            most = max(most, inside)
            total += 1
            inside -= 1
            lock.release()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, total, inside) == (1, 80, 0)


def test_threads_that_share_an_instance(path):
    lock = FileLock(path)
    barrier, taken = threading.Barrier(8), []

    def work():
        barrier.wait()
        taken.append(lock.acquire())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == [False] * 7 + [True]
    lock.release()
    assert FileLock(path).acquire()
