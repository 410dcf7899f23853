# SPDX-License-Identifier: Apache-2.0
"""Minimisation of recordings: fewer calls and smaller shapes while a replay still fails.

A candidate is a file with some of the calls.  It is accepted if a test of the file has the same
outcome as the test of the whole recording.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ._recorded_values import MAPS, RecordedContainer, RecordedTensor, is_compact, tensors_in
from ._recording import RecordedCall, Recording
from ._recording_writer import write_recording

__all__ = ["command_test", "minimise", "replay_test"]

Test = Callable[[Path], object]


def minimise(
    recording: Recording,
    output: str | os.PathLike[str],
    test: Callable[[Path], object] | None = None,
    *,
    modules: Sequence[str] = (),
) -> list[RecordedCall]:
    """Write the calls of a recording that a failure needs, with the smallest shapes that fail.

    Parameters
    ----------
    recording : Recording
        The calls; with contents, unless the failure does not depend on elements.
    output : path
        The file to write.
    test : callable, optional
        Called with the path of a recording; returns the failure as a value that can be compared, or
        None.  Default: a replay in another process, whose failures are a signal, a result that
        differs, and a call that fails; see `tvm-ffi recording minimise` for more tests.
    modules : sequence of str
        The modules that register functions of the recording.

    Returns
    -------
    calls : list of RecordedCall
        The calls in the file.

    Raises
    ------
    ValueError
        If the recording does not fail.

    Notes
    -----
    Calls with smaller shapes are recorded again, with the functions of the recorded libraries.
    """
    with tempfile.TemporaryDirectory() as folder:
        search = _Search(Path(folder), test or replay_test(modules=modules), modules)
        calls = search.run(recording)
        write_recording(calls, output)
    return Recording(output).calls


def replay_test(
    *, library: str | None = None, modules: Sequence[str] = (), tolerance: float = 0.0
) -> Test:
    """Return a test that replays a file in another process; see `replay` for the parameters."""
    words = ["--json", "--tolerance", str(tolerance), *_import_words(modules)]
    if library is not None:
        words += ["--library", library]

    def test(path: Path) -> object:
        process = _run(["replay", *words, str(path)])
        if process.returncode < 0:
            return "signal", process.returncode
        try:
            report = json.loads(process.stdout)
        except ValueError:
            return None
        for failure in ("differences", "failed"):
            if report[failure]:
                return failure, report[failure][-1]["function"]
        return None

    return test


def command_test(command: Sequence[str]) -> Test:
    """Return a test that runs a command with the file as last argument; it fails by its status."""

    def test(path: Path) -> object:
        process = subprocess.run([*command, str(path)], capture_output=True, check=False)
        return process.returncode or None

    return test


def _import_words(modules: Iterable[str]) -> list[str]:
    return [word for module in modules for word in ("--import", module)]


def _run(words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tvm_ffi", *words],
        capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip


class _Search:
    def __init__(self, folder: Path, test: Test, modules: Sequence[str]) -> None:
        self._candidate = folder / "candidate.tvmrec"
        self._again = folder / "again.tvmrec"
        self._test = test
        self._modules = modules
        self._failure: object = None

    def run(self, recording: Recording) -> list[RecordedCall]:
        calls = _outermost(recording.calls)
        write_recording(calls, self._candidate)
        self._failure = self._test(self._candidate)
        if self._failure is None:
            raise ValueError(f"{recording.path}: expected a recording that fails, but it does not")
        return self._smaller_shapes(self._fewer_calls(calls))

    def _fails(self, calls: list[RecordedCall]) -> bool:
        write_recording(calls, self._candidate)
        return self._test(self._candidate) == self._failure

    def _fewer_calls(self, calls: list[RecordedCall]) -> list[RecordedCall]:
        """Remove parts of the calls, half of them first and single calls last."""
        size = -(-len(calls) // 2)
        while size >= 1 and len(calls) > 1:
            end = len(calls)
            while end > 0:  # later calls first: an earlier call may be needed by a later one
                begin = max(end - size, 0)
                rest = calls[:begin] + calls[end:]
                if rest and self._fails(rest):
                    calls = rest
                end = begin
            size = size // 2 if size > 1 or len(calls) == 1 else 0
        return calls

    def _smaller_shapes(self, calls: list[RecordedCall]) -> list[RecordedCall]:
        """Replace each extent by a smaller one, found by bisection, in all tensors."""
        for old in sorted(_extents(calls), reverse=True):
            passed, failed = 0, old
            while failed - passed > 1:
                # Another extent of the calls is not used: the two would become one.
                taken = _extents(calls) - {1}
                middle = 1 if passed == 0 and failed == old else (passed + failed) // 2
                free = [new for new in range(middle, failed) if new not in taken]
                smaller = self._with_extent(calls, failed, free[0]) if free else None
                if smaller is None:
                    passed = free[0] if free else middle
                else:
                    calls, failed = smaller, free[0]
        return calls

    def _with_extent(
        self, calls: list[RecordedCall], old: int, new: int
    ) -> list[RecordedCall] | None:
        """Return the calls with another extent, recorded again; None if they do not fail."""
        for has_numbers in (True, False):  # integer arguments that are equal to the extent
            changed = [_resized_call(call, old, new, has_numbers) for call in calls]
            write_recording(changed, self._candidate)
            self._again.unlink(missing_ok=True)
            names = [word for call in calls for word in ("--name", call.name)]
            _run(
                ["record", "-o", str(self._again), "--contents", "all", "--max-bytes", str(2**40),
                 *names, "--", sys.executable, "-m", "tvm_ffi", "replay",
                 *_import_words(self._modules), str(self._candidate)]
            )  # fmt: skip
            try:
                again = Recording(self._again).calls
            except (OSError, ValueError):
                continue
            again = _outermost(again)
            if len(again) >= len(calls) and self._fails(again):
                return again
        return None


def _outermost(calls: list[RecordedCall]) -> list[RecordedCall]:
    """Return the calls that no other one of the calls made."""
    numbers = {call.number for call in calls}
    return [call for call in calls if call.caller not in numbers]


def _extents(calls: list[RecordedCall]) -> set[int]:
    values = (value for call in calls for value in call.arguments)
    return {extent for value in values for tensor in tensors_in(value) for extent in tensor.shape}


def _resized_call(call: RecordedCall, old: int, new: int, has_numbers: bool) -> RecordedCall:
    """Return a call with other extents and without results."""

    def resized(value: Any) -> Any:
        if isinstance(value, RecordedTensor):
            return _resized_tensor(value, old, new)
        if isinstance(value, RecordedContainer):
            elements = (
                tuple(map(resized, part)) if value.type_key in MAPS else resized(part)
                for part in value.elements
            )
            return value._replace(elements=tuple(elements))
        is_number = has_numbers and isinstance(value, int) and not isinstance(value, bool)
        return new if is_number and value == old else value

    arguments = tuple(map(resized, call.arguments))
    return call._replace(arguments=arguments, status=None, result=None, contents={})


def _resized_tensor(tensor: RecordedTensor, old: int, new: int) -> RecordedTensor:
    """Return the first elements of a tensor along each dimension with the extent `old`."""
    shape = tuple(new if extent == old else extent for extent in tensor.shape)
    content = tensor.content
    bits = tensor.dtype.bits * tensor.dtype.lanes
    if isinstance(content, bytes) and bits % 8 == 0:
        size = bits // 8
        for i, extent in reversed(list(enumerate(tensor.shape))):
            if extent != shape[i] and content:
                step, kept = extent * size, shape[i] * size
                content = b"".join(content[j : j + kept] for j in range(0, len(content), step))
            size *= shape[i]
    elif shape != tensor.shape:
        content = None
    strides = tensor.strides
    if strides is not None and is_compact(tensor):
        strides = _compact_strides(shape)
    return tensor._replace(shape=shape, strides=strides, content=content)


def _compact_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, stride = [], 1
    for extent in reversed(shape):
        strides.append(stride)
        stride *= extent
    return tuple(reversed(strides))
