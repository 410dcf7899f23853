# SPDX-License-Identifier: Apache-2.0
"""Worker process: loads the runtime once and runs each case in a forked child.

The worker reads one case identifier a line from its standard input, and writes one JSON object a
line to the file descriptor given on its command line. Only children call the runtime, so a crash
or an endless loop costs one case. `ALONE` runs the case in the worker itself, for systems without
`fork`.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from .case import REGISTRY, Absent, Mismatch, load_cases
from .subject import RaisedError, Runtime

ALONE = "--alone"
_MOST_TEXT = 2000  # characters of a detail and of standard error that a result keeps


def main(arguments: list[str], load: Callable[..., Runtime] | None = None) -> int:
    """Serve case identifiers from standard input.

    Parameters
    ----------
    arguments : list of str
        Path, file descriptor, time limit or `ALONE`, and further arguments of `load`.
    load : callable, optional
        Function of the path that registers the cases and returns the subject.
    """
    path, descriptor, mode, *rest = arguments
    output = os.fdopen(int(descriptor), "w", buffering=1)
    _quiet()
    try:
        runtime = (load or _load)(path, *rest)
    except OSError as error:
        print(json.dumps({"load_error": str(error)}), file=output)
        return 1
    print(json.dumps({"ready": True}), file=output)
    for line in sys.stdin:
        identifier = line.strip()
        print(json.dumps({"started": identifier}), file=output)
        if mode == ALONE:
            result = _run_case(runtime, identifier)
        else:
            result = _run_forked(runtime, identifier, float(mode))
        print(json.dumps({"id": identifier, **result}), file=output)
    return 0


def _load(path: str) -> Runtime:
    """Return the runtime at `path`; register its cases."""
    load_cases()
    return Runtime(path)


def _quiet() -> None:
    """Send standard output to the null device: libraries may print."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


def _run_case(runtime: Runtime, identifier: str) -> dict:
    """Run a case in this process and return its verdict."""
    case = REGISTRY[identifier]
    try:
        case.run(runtime)
    except Absent as error:
        return {"verdict": "absent", "detail": str(error)}
    except Mismatch as error:
        return {"verdict": "fail", "detail": str(error)[:_MOST_TEXT]}
    except RaisedError as error:
        return {"verdict": "fail", "detail": f"unexpected error {error}"[:_MOST_TEXT]}
    except Exception as error:  # the fault is of the kit or of memory it read
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} (in {Path(where.filename).name}:{where.lineno})"
        return {"verdict": "fail", "detail": f"the case stopped with {text}"[:_MOST_TEXT]}
    if case.ends is not None:
        return {"verdict": "fail", "detail": "expected the call to end the process; it returned"}
    return {"verdict": "pass", "detail": ""}


def _run_forked(runtime: Runtime, identifier: str, limit: float) -> dict:
    """Run a case in a child of at most `limit` seconds."""
    reader, writer = os.pipe()
    errors = (
        os.memfd_create("stderr") if hasattr(os, "memfd_create") else os.open(os.devnull, os.O_RDWR)
    )
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.dup2(errors, 2)
        text = json.dumps(_run_case(runtime, identifier))
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    content, hung = _read_until(reader, started + limit)
    os.close(reader)
    if hung:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.lseek(errors, 0, os.SEEK_SET)
    printed = os.read(errors, _MOST_TEXT).decode("utf-8", "replace").strip()
    os.close(errors)
    result = {"verdict": "hang", "detail": f"no end within {limit:g} s"}
    if not hung:
        result = json.loads(content) if content else _ended(identifier, status, printed)
    result["seconds"] = round(time.monotonic() - started, 4)
    return result


def _read_until(reader: int, deadline: float) -> tuple[bytes, bool]:
    """Read a pipe to its end; return the content and True if `deadline` passed before."""
    content = b""
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([reader], [], [], left)[0]:
            return content, True
        part = os.read(reader, 65536)
        if not part:
            return content, False
        content += part


def _ended(identifier: str, status: int, printed: str) -> dict:
    """Return the verdict on a child that ended without a result."""
    expected = REGISTRY[identifier].ends
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return {"verdict": "crash", "detail": f"died of {name}" + (printed and f": {printed}")}
    code = os.WEXITSTATUS(status)
    if expected is not None and code == expected and printed:
        return {"verdict": "pass", "detail": ""}
    if expected is not None and code == expected:
        return {"verdict": "fail", "detail": "the process ended without a message on stderr"}
    return {"verdict": "exit", "detail": f"exit status {code}" + (printed and f": {printed}")}


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
