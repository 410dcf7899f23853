# SPDX-License-Identifier: Apache-2.0
"""Client side of worker processes: requests with a timeout, and restart after a crash."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, cast

# A long limit, because importing an array framework from a cold disk is slow.
START_TIMEOUT_S = 120.0
ANSWER_TIMEOUT_S = 60.0


class WorkerProcess:
    """A worker process of one implementation; started by the first request, restarted if it died.

    `command` starts a program that implements the protocol of ``worker.py``.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], cwd: Path) -> None:
        self._command = list(command)
        self._environment = dict(environment)
        self._cwd = cwd
        self._process: subprocess.Popen[bytes] | None = None
        self._greeting: dict[str, Any] = {}
        self._received = b""

    def __enter__(self) -> WorkerProcess:
        """Return `self`; leaving the ``with`` block ends the process."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the process."""
        self._stop()

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the worker's answer, or ``{"unavailable": REASON}`` if it has none."""
        if "unavailable" in self._greeting:
            return self._greeting
        if self._process is None:
            self._process = self._start()
            self._greeting = self._exchange(self._process, b"", START_TIMEOUT_S)
            return self.ask(request)
        line = json.dumps(request).encode() + b"\n"
        return self._exchange(self._process, line, ANSWER_TIMEOUT_S)

    def _start(self) -> subprocess.Popen[bytes]:
        self._received = b""
        return subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self._environment,
            cwd=self._cwd,
        )

    def _exchange(
        self, process: subprocess.Popen[bytes], line: bytes, timeout_s: float
    ) -> dict[str, Any]:
        """Send a line, which may be empty, and return the next answer."""
        requests, answers = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        try:
            requests.write(line)
            requests.flush()
            text = self._read_line(answers.fileno(), time.monotonic() + timeout_s)
        except TimeoutError:
            self._stop()
            return {"unavailable": f"no answer from the worker within {timeout_s:g} s"}
        except (BrokenPipeError, EOFError):
            return {"unavailable": f"the worker ended with {self._stop()}"}
        answer: dict[str, Any] = json.loads(text)
        return answer

    def _read_line(self, pipe: int, deadline: float) -> bytes:
        while b"\n" not in self._received:
            remaining = max(0.0, deadline - time.monotonic())
            if not select.select([pipe], [], [], remaining)[0]:
                raise TimeoutError
            chunk = os.read(pipe, 1 << 16)
            if not chunk:
                raise EOFError
            self._received += chunk
        line, _, self._received = self._received.partition(b"\n")
        return line

    def _stop(self) -> str:
        """End the process; return its exit status or signal name."""
        process, self._process = self._process, None
        if process is None:
            return "nothing"
        if process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()  # the worker exits at end of file
        try:
            code = process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        if process.stdout is not None:
            process.stdout.close()
        return signal.Signals(-code).name if code < 0 else f"status {code}"
