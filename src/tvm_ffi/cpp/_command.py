# SPDX-License-Identifier: Apache-2.0
"""Compiler processes: running commands, stopping them on interrupts, and printing the build log."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from .._internal.platform import current_umask

__all__ = [
    "PRIVATE_UMASK",
    "READABLE_UMASK",
    "build_log",
    "command_error",
    "log",
    "run_command",
    "warn_of",
]

PRIVATE_UMASK = 0o077  # umask of compilers that write into the build cache
READABLE_UMASK = 0o022  # umask of compilers that write into a `build_directory`

_LOG = "tvm_ffi.cpp"

_TERMINATE_SECONDS = 5.0  # seconds between SIGTERM and SIGKILL


def run_command(
    command: Sequence[str],
    folder: Path,
    umask: int,
    while_running: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; stop it if an exception such as KeyboardInterrupt occurs.

    Parameters
    ----------
    command : sequence of str
        The command to run.  It gets its own process group, so an interrupt at the terminal (SIGINT)
        reaches this process only, which then stops all processes that the command has started.
    folder : path
        Working directory of the command.
    umask : int
        Mode bits that new files must not have, in addition to the umask of this process.  Changing
        modes after the command has ended would be too late: a user who has opened a file can write
        to it under any later mode.
    while_running : function, optional
        Function that is called while the command runs; its exception stops the command.
    """
    process = None
    try:
        with _interrupts_deferred():
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
                umask=current_umask() | umask,
            )
        if while_running is not None:
            while_running()
        stdout, stderr = process.communicate()
    except BaseException:
        if process is not None:
            _stop(process)
        raise
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


@contextlib.contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Deliver an interrupt (SIGINT) at the end of a block instead of inside it.

    An interrupt inside of `Popen` would lose the id of the new process, which would then never be
    stopped.
    """
    handler = signal.getsignal(signal.SIGINT)
    received: list[tuple[Any, ...]] = []
    try:
        if callable(handler):
            signal.signal(signal.SIGINT, lambda *details: received.append(details))
    except ValueError:  # only the main thread receives interrupts
        handler = None
    try:
        yield
    finally:
        if callable(handler):
            signal.signal(signal.SIGINT, handler)
            for details in received[:1]:
                handler(*details)


def _stop(process: subprocess.Popen[str]) -> None:
    """Stop all processes of a command: SIGTERM first, then SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_TERMINATE_SECONDS)
            break
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def command_error(program: str, status: int, stdout: str, stderr: str) -> RuntimeError:
    """Return the error for a command that failed, with its output."""
    text = f"{program} exited with status {status}\n"
    if stdout:
        text += f"stdout:\n{stdout.rstrip()}\n"
    if stderr:
        text += f"stderr:\n{stderr.rstrip()}\n"
    if "undefined reference to" in stdout + stderr or "undefined symbol: " in stdout + stderr:
        text += (
            "Each function must be defined in the sources or in a linked library; if the process "
            'that loads the library defines it, pass extra_ldflags=["-Wl,-z,undefs"].\n'
        )
    return RuntimeError(text.rstrip())


def warn_of(name: str, output: str) -> None:
    """Emit one Python warning if the output of a build's commands contains warnings.

    Parameters
    ----------
    name : str
        Name of the module that was built.
    output : str
        Output of all commands of the build, which have succeeded.
    """
    if "warning" not in output.lower() and "[-W" not in output:  # a warning in another language
        return
    package = str(Path(__file__).parents[1])
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    text = f"{name} was built with warnings:\n{output.strip()}"
    warnings.warn(text, UserWarning, stacklevel=level)


@contextlib.contextmanager
def build_log(is_verbose: bool = False) -> Iterator[None]:
    """Print the messages of the logger ``tvm_ffi.cpp`` during a block.

    ``TVM_FFI_CPP_EXTENSION_LOG_BUILD`` names the stream.  If it is not set, a verbose build prints
    to the standard error stream, and other builds print nothing.
    """
    streams = {"1": sys.stderr, "stderr": sys.stderr, "stdout": sys.stdout}
    name = os.environ.get("TVM_FFI_CPP_EXTENSION_LOG_BUILD", "")
    stream = streams.get(name, sys.stderr if is_verbose else None)
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
    """Log a message; do nothing if `logging` is not imported, because no handler can exist then."""
    logging = sys.modules.get("logging")
    if logging is not None:
        logging.getLogger(_LOG).info(text, *values)
