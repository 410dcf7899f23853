# SPDX-License-Identifier: Apache-2.0
"""Running compilers: what they print, and an end with the caller when that is interrupted."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

__all__ = [
    "ALL_OF_OTHERS",
    "WRITING_OF_OTHERS",
    "failure",
    "log",
    "log_as_wished",
    "run_command",
]

# What a umask denies: in the cache, and in folders that callers name.
ALL_OF_OTHERS = 0o077
WRITING_OF_OTHERS = 0o022

_LOG = "tvm_ffi.cpp"

_SECONDS_TO_END = 5.0  # between asking a compiler to stop and stopping it


def run_command(
    command: Sequence[str],
    folder: Path,
    denied: int,
    meanwhile: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, or until an exception such as KeyboardInterrupt.

    The command gets a process group of its own, so that an interrupt at the terminal reaches this
    process alone, which then stops all that the command has started.

    Its umask has the bits `denied` besides ours.  What it makes is closed from the beginning: who
    has opened a file keeps the right to write, whatever becomes of the mode.

    `meanwhile` is called while it runs, and may end it with an exception.
    """
    process = None
    try:
        with _interrupts_put_off():
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
                umask=_umask() | denied,
            )
        if meanwhile is not None:
            meanwhile()
        stdout, stderr = process.communicate()
    except BaseException:
        if process is not None:
            _stop(process)
        raise
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


@contextlib.contextmanager
def _interrupts_put_off() -> Iterator[None]:
    """Let an interrupt come at the end of a block.

    In the middle of starting a process, nobody would know it, and it would go on.
    """
    handler = signal.getsignal(signal.SIGINT)
    came: list[tuple[Any, ...]] = []
    try:
        if callable(handler):
            signal.signal(signal.SIGINT, lambda *details: came.append(details))
    except ValueError:  # interrupts are for the main thread
        handler = None
    try:
        yield
    finally:
        if callable(handler):
            signal.signal(signal.SIGINT, handler)
            for details in came[:1]:
                handler(*details)


def _umask() -> int:
    """Return the umask of this process; to ask the system call is to change it, for all threads."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as lines:  # noqa: PTH123
            return next(int(line.split()[1], 8) for line in lines if line.startswith("Umask:"))
    except (OSError, StopIteration):
        return 0o077


def _stop(process: subprocess.Popen[str]) -> None:
    """End a command and what it has started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_SECONDS_TO_END)
            break
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def failure(program: str, status: int, stdout: str, stderr: str) -> RuntimeError:
    """Return the error for a build that failed: what ran, and what it said."""
    text = f"{program} exited with status {status}\n"
    if stdout:
        text += f"stdout:\n{stdout.rstrip()}\n"
    if stderr:
        text += f"stderr:\n{stderr.rstrip()}\n"
    return RuntimeError(text.rstrip())


@contextlib.contextmanager
def log_as_wished(is_verbose: bool = False) -> Iterator[None]:
    """Let the log of builds be seen where ``TVM_FFI_CPP_EXTENSION_LOG_BUILD`` wants it.

    Without that, the log of a verbose build is seen on the standard error stream.
    """
    streams = {"1": sys.stderr, "stderr": sys.stderr, "stdout": sys.stdout}
    wish = os.environ.get("TVM_FFI_CPP_EXTENSION_LOG_BUILD", "")
    stream = streams.get(wish, sys.stderr if is_verbose else None)
    if stream is None:
        yield
        return
    import logging

    logger = logging.getLogger(_LOG)
    handler = logging.StreamHandler(stream)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


def log(text: str, *values: object) -> None:
    """Log what was done, where `logging` is loaded: elsewhere nobody can listen."""
    logging = sys.modules.get("logging")
    if logging is not None:
        logging.getLogger(_LOG).info(text, *values)
