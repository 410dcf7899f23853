# SPDX-License-Identifier: Apache-2.0
"""Concurrent, killed and interrupted builds."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tvm_ffi import cpp
from tvm_ffi.cpp import cache as build_cache
from tvm_ffi.utils import FileLock

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")

TEXT = "int one(void) { return 1; }"
BUILD = f"from tvm_ffi import cpp; print(cpp.build_inline('shared', c_sources={TEXT!r}))"


# A background process inherits the setting that SIGINT is ignored.
ACCEPT_SIGINT = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"


def start(code: str = BUILD) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", ACCEPT_SIGINT + code]
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)


def wait_for(path: Path, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, f"{path} was not created"
        time.sleep(0.01)


def has_ended(process_id: int, seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.kill(process_id, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def test_eight_processes_compile_once(wrapped_cc, cache):
    log = wrapped_cc("sleep 0.5")
    processes = [start() for _ in range(8)]
    outputs = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0] * 8, outputs
    assert len({stdout for stdout, _ in outputs}) == 1
    assert len(log.read_text().splitlines()) == 2  # the commands compile and link
    assert list((cache / ".staging").iterdir()) == []


def test_the_next_build_removes_the_folder_of_a_killed_build(wrapped_cc, cache, tmp_path):
    started_file = tmp_path / "started"
    wrapped_cc(f'touch "{started_file}"; sleep 1')
    process = start()
    wait_for(started_file)
    process.kill()
    process.communicate(timeout=60)
    assert len(list((cache / ".staging").iterdir())) == 1  # the folder that the killed build left
    assert build_cache.find() == []
    wrapped_cc()
    assert Path(cpp.build_inline("shared", c_sources=TEXT)).exists()
    assert list((cache / ".staging").iterdir()) == []


def test_pruning_removes_folders_of_killed_builds_and_keeps_running_builds(
    wrapped_cc, cache, tmp_path
):
    started_file = tmp_path / "started"
    wrapped_cc(f'touch "{started_file}"; sleep 1')
    process = start()
    wait_for(started_file)
    build_cache.prune()
    assert len(list((cache / ".staging").iterdir())) == 1
    assert process.communicate(timeout=60)[0].strip() == str(build_cache.find()[0].path)
    of_another_host, old = (
        cache / ".staging" / f"gone_0123456789abcdef.{host}.1.1.abcd"
        for host in ("a" * 16, "b" * 16)
    )
    for left in (of_another_host, old):
        left.mkdir()
        (left / "main.c").touch()
    os.utime(old, (0, 0))
    build_cache.prune(dry_run=True)
    assert old.exists()
    build_cache.prune()
    assert not old.exists()
    assert of_another_host.exists()


WITHOUT_LOCKS = """
import fcntl
fcntl.flock = fcntl.lockf = lambda *arguments, **options: None
"""


def test_processes_build_the_same_library_where_locks_have_no_effect(wrapped_cc, cache):
    """Regression: each process removed the staging folders of the others as abandoned ones."""
    wrapped_cc("sleep 0.5")
    processes = [start(WITHOUT_LOCKS + BUILD) for _ in range(4)]
    outputs = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, outputs
    assert len({stdout for stdout, _ in outputs}) == 1
    assert list((cache / ".staging").iterdir()) == []


# Numbers of the libraries that each of 50 processes builds, in an order of its own.
MANY = """
import random, sys
from tvm_ffi import cpp
numbers = [*range(4)]
random.Random(int(sys.argv[1])).shuffle(numbers)
paths = [cpp.build_inline(f"k{n}", c_sources=f"int k{n};") for n in numbers]
print(sorted(paths))
"""


@pytest.mark.parametrize("has_locks", [True, False])
def test_fifty_processes_share_one_folder_and_leave_nothing_when_killed(
    wrapped_cc, cache, has_locks
):
    """Each product is published once and whole, although every fifth process is killed."""
    log = wrapped_cc("sleep 0.1")
    code = (MANY if has_locks else WITHOUT_LOCKS + MANY).replace("sys.argv[1]", "{}")
    processes = [start(code.replace("{}", str(number))) for number in range(50)]
    time.sleep(1.5)
    killed = processes[::5]
    for process in killed:
        process.kill()
    outputs = [process.communicate(timeout=240) for process in processes]
    kept = [pair for pair in zip(processes, outputs) if pair[0] not in killed]
    assert [process.returncode for process, _ in kept] == [0] * 40, outputs
    assert len({stdout for _, (stdout, _) in kept}) == 1
    assert [build.name for build in sorted(build_cache.find(), key=lambda b: b.name)] == [
        f"k{number}" for number in range(4)
    ]
    assert not any(build_cache.verify().values())
    if has_locks:
        # A killed process may have compiled, linked, or neither.
        assert 2 * 4 <= len(log.read_text().splitlines()) <= 2 * (4 + len(killed))
    build_cache.prune()
    assert list((cache / ".staging").iterdir()) == []


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK])
def test_a_build_needs_no_locks(cache, monkeypatch, number):
    """Builds failed with a bare OSError on file systems that refuse locks."""

    def refuse(*arguments: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", refuse)
    assert Path(cpp.build_inline("shared", c_sources=TEXT)).exists()
    (lock,) = (cache / ".locks").glob("shared_*.lock")
    with pytest.raises(OSError, match=re.escape(os.strerror(number))) as caught:
        FileLock(lock).blocking_acquire()
    assert (caught.value.errno, caught.value.filename) == (number, str(lock))


def test_another_error_of_the_lock_ends_the_build(cache, monkeypatch):
    def refuse(*arguments: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(OSError, match="Input/output error: .*\\.lock'"):
        cpp.build_inline("shared", c_sources=TEXT)


def test_a_build_whose_folder_is_removed_starts_again(wrapped_cc, cache, tmp_path):
    started_file = tmp_path / "started"
    wrapped_cc(f'test -e "{started_file}" || {{ touch "{started_file}"; sleep 1; }}')
    process = start()
    wait_for(started_file)
    shutil.rmtree(next((cache / ".staging").iterdir()))
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert Path(output.strip()).exists()


def test_an_interrupt_stops_the_compiler(wrapped_cc, cache, tmp_path):
    started_file = tmp_path / "started"
    wrapped_cc(
        f'echo $$ > "{started_file}.new"; mv "{started_file}.new" "{started_file}"; sleep 20'
    )
    process = start()
    wait_for(started_file)
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in stderr
    assert time.monotonic() - started < 15
    assert list((cache / ".staging").iterdir()) == []
    assert has_ended(int(started_file.read_text()))


def test_an_interrupt_while_the_compiler_starts_stops_the_compiler(wrapped_cc, monkeypatch):
    """Regression: after an interrupt inside of `Popen`, the compiler process kept running."""
    wrapped_cc("sleep 20")
    started = []

    class Interrupted(subprocess.Popen):
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, **options)
            if "-c" in arguments[0]:
                started.append(self.pid)
                signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            cpp.build_inline("shared", c_sources=TEXT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert has_ended(*started)


def test_an_interrupt_stops_ninja_and_its_compilers(wrapped_cc, cache, tmp_path):
    started_file = tmp_path / "started"
    wrapped_cc(
        f'echo $$ > "{started_file}.new"; mv "{started_file}.new" "{started_file}"; sleep 20'
    )
    files = [tmp_path / name for name in ("a.c", "b.c")]
    for file in files:
        file.touch()
    process = start(f"from tvm_ffi import cpp; cpp.build('two', sources={list(map(str, files))})")
    wait_for(started_file)
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in stderr
    assert time.monotonic() - started < 15
    assert has_ended(int(started_file.read_text()))
    assert list((cache / ".staging").iterdir()) == []


def test_eight_threads_compile_once(wrapped_cc):
    log = wrapped_cc("sleep 0.2")
    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(lambda _: cpp.build_inline("t", c_sources=TEXT), range(8)))
    assert len(set(paths)) == 1
    assert len(log.read_text().splitlines()) == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_cache_can_be_used(cache):
    path = cpp.build_inline("kernel", c_sources=TEXT)
    folders = [cache, *(folder for folder in cache.rglob("*") if folder.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        assert cpp.build_inline("kernel", c_sources=TEXT) == path
        with pytest.raises(PermissionError):
            cpp.build_inline("another", c_sources=TEXT)
    finally:
        for folder in folders:
            folder.chmod(0o755)


def test_one_source_is_built_without_optional_packages(monkeypatch):
    for package in ("filelock", "ninja", "rich"):
        monkeypatch.setitem(sys.modules, package, None)
    assert Path(cpp.build_inline("kernel", c_sources=TEXT)).is_file()


@pytest.mark.undebugged("the debug context imports inspect")
def test_building_does_not_import_logging():
    code = """
        import sys
        from tvm_ffi import cpp
        cpp.build_inline("kernel", c_sources="int one;")
        assert not {"logging", "inspect", "filelock"} & set(sys.modules)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)
