# SPDX-License-Identifier: Apache-2.0
"""Functions of command-line tools: argument parser, output without control characters, status."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from typing import Any, Callable, NoReturn

__all__ = ["ArgumentParser", "is_output_error", "printable", "run_command"]


def printable(text: str) -> str:
    r"""Return `text` with control characters escaped, such as ``\x1b`` for ESC.

    Commands print file names and strings from libraries in this form, so that these cannot send
    escape sequences to the terminal or break a line.
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class ArgumentParser(argparse.ArgumentParser):
    """An argument parser that escapes control characters in its error messages."""

    def error(self, message: str) -> NoReturn:
        """Print an error message to standard error and exit with status 2."""
        super().error(printable(message))


class _WatchedOutput:
    """Standard output that remembers an error of writing, which `argparse` ignores."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.error: OSError | None = None

    def write(self, text: str) -> int:
        return int(self._run(self.stream.write, text))

    def flush(self) -> None:
        self._run(self.stream.flush)

    def _run(self, function: Callable[..., Any], *arguments: str) -> Any:
        try:
            return function(*arguments)
        except OSError as error:
            self.error = error
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def run_command(name: str, command: Callable[[], Any]) -> Any:
    """Return the exit status of a command-line tool, 1 if its output cannot be written.

    If the process that reads the output has exited, the rest of the output is discarded.

    Parameters
    ----------
    name : str
        Name of the tool in its error messages.
    command : callable
        The tool, which prints to standard output and returns the exit status.  It may raise the
        OSError of a failing `print`.
    """
    if sys.stdout is None:  # the process was started without standard output
        return command()
    output = _WatchedOutput(sys.stdout)
    sys.stdout = output
    status = 0
    try:
        status = command()
        output.flush()
    except (OSError, SystemExit) as error:  # argparse exits after it has printed the help
        with contextlib.suppress(OSError):
            output.flush()
        if output.error is None:
            raise
        status = getattr(error, "code", 0)
    finally:
        sys.stdout = output.stream
    if output.error is None:
        return status
    # Discard the buffered output, because flushing it at exit would raise the error again.
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(output.error, BrokenPipeError):
        return status
    print(f"{name}: error: cannot write the output: {output.error.strerror}", file=sys.stderr)
    return 1


def is_output_error(error: BaseException) -> bool:
    """Return True if a `print` to standard output has raised the error during `run_command`."""
    return error is getattr(sys.stdout, "error", None)
