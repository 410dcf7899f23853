# SPDX-License-Identifier: Apache-2.0
"""Replay of recorded calls in this process, and comparison with the recorded results."""

from __future__ import annotations

import ctypes
import os
from typing import Any, NamedTuple

from .._binding.object import type_key_to_index
from .._binding.types import type_index_of, type_metadata
from ..core import Function, Object, Tensor
from ..registry import get_global_func
from ._compare import CallDifference, content_difference, contents_after, value_difference
from ._recorded_values import (
    MAPS,
    Content,
    RecordedContainer,
    RecordedError,
    RecordedObject,
    RecordedTensor,
    RecordedText,
    tensors_in,
)
from ._recording import RecordedCall, Recording
from ._replay_memory import ReplayMemory, has_memory

__all__ = ["MODULE_GET_FUNCTION", "ReplayReport", "SkippedCall", "replay"]

MODULE_GET_FUNCTION = "ffi.ModuleGetFunction"  # its arguments are a module and a name


class SkippedCall(NamedTuple):
    """A call that was not replayed, and the reason."""

    call: RecordedCall
    reason: str


class ReplayReport(NamedTuple):
    """The outcome of a replay.

    Attributes
    ----------
    num_replayed : int
        The number of calls that were replayed.
    differences : list of CallDifference
        The calls whose results differ from the recorded ones; `second` is None.
    skipped : list of SkippedCall
        The calls that were not replayed.
    changed_libraries : list of str
        The libraries whose files differ from the recorded ones.
    failed : list of RecordedCall
        The calls that ended with an error in the replay, also if the recorded ones did.
    """

    num_replayed: int
    differences: list[CallDifference]
    skipped: list[SkippedCall]
    changed_libraries: list[str]
    failed: list[RecordedCall]


class _CannotReplayError(Exception):
    """The reason why a call is skipped."""


def replay(
    recording: Recording,
    *,
    library: str | os.PathLike[str] | None = None,
    first: int = 1,
    last: int | None = None,
    tolerance: float = 0.0,
) -> ReplayReport:
    """Replay the calls of a recording, in the order in which they began, in this thread.

    Tensors have the recorded shapes, strides, offsets and alignment, and overlap as they did; their
    elements are the recorded ones or, without recorded contents, zero or the results of earlier
    calls.  An object that an earlier call returned is passed to later calls.  A call during another
    replayed call is not replayed itself.

    Parameters
    ----------
    recording : Recording
        The calls.
    library : path, optional
        A library whose functions replace recorded functions with the same names.
    first, last : int
        The numbers of the first and the last call to replay.
    tolerance : float
        As in `compare`.
    """
    calls = [
        call
        for call in recording.calls
        if call.number >= first and (last is None or call.number <= last)
    ]
    return _Replay(calls, library, tolerance).run()


class _Replay:
    def __init__(
        self,
        calls: list[RecordedCall],
        library: str | os.PathLike[str] | None,
        tolerance: float,
    ) -> None:
        self._calls = calls
        self._tolerance = tolerance
        self._modules: dict[str, Any] = {}
        self._other = None if library is None else self._load(os.fspath(library))
        self._functions: dict[tuple[str, str], Function] = {}
        self._failed: list[RecordedCall] = []
        self._of_modules: dict[str, Function] = {}  # functions that replayed calls looked up
        self._objects: dict[int, Any] = {}  # by the address in the recorded process
        self._memory = ReplayMemory(
            tensor
            for call in calls
            for value in (*call.arguments, call.result)
            for tensor in tensors_in(value)
        )

    def run(self) -> ReplayReport:
        report = ReplayReport(0, [], [], self._changed_libraries(), self._failed)
        covered: set[int] = set()  # replayed calls, and the calls during them
        num_replayed = 0
        for call in self._calls:
            if call.caller in covered:
                covered.add(call.number)
                continue
            try:
                text = self._replay(call)
            except _CannotReplayError as error:
                report.skipped.append(SkippedCall(call, str(error)))
                continue
            covered.add(call.number)
            num_replayed += 1
            if text:
                report.differences.append(CallDifference(call, None, text))
        return report._replace(num_replayed=num_replayed)

    def _changed_libraries(self) -> list[str]:
        recorded = {call.library: call.library_digest for call in self._calls if call.library}
        digest = get_global_func("pytvmffi.FileDigest")
        return [path for path, old in recorded.items() if digest(path) % 2**64 != old]

    def _replay(self, call: RecordedCall) -> str:
        """Replay a call; return the difference from the recorded call, or ""."""
        function = self._function(call)
        arguments = [self._argument(value) for value in call.arguments]
        result: Any
        try:
            result = function(*arguments)
            actual = _recorded_form(result, call.result)
        except Exception as error:
            result = None
            self._failed.append(call)
            native = getattr(error, "__tvm_ffi_error__", None)
            actual = (
                RecordedError(type(error).__name__, str(error))
                if native is None
                else RecordedError(native.kind, native.message)
            )
        if call.status is None:
            return ""
        self._keep(call, result)
        text = value_difference("the result", call.result, actual, self._tolerance)
        return text or self._argument_difference(call)

    def _argument_difference(self, call: RecordedCall) -> str:
        for (argument, _), (tensor, content) in contents_after(call).items():
            if content is None or not has_memory(tensor):
                continue
            actual = _content(self._memory.tensor(tensor), content)
            text = content_difference(
                f"argument {argument}", tensor.dtype, content, actual, self._tolerance
            )
            if text:
                return text
        return ""

    def _keep(self, call: RecordedCall, result: Any) -> None:
        """Keep a result for later calls that pass it, or call it by its name."""
        recorded = call.result
        if call.name == MODULE_GET_FUNCTION and isinstance(result, Function):
            self._functions = {
                k: f for k, f in self._functions.items() if k[0] != call.arguments[1]
            }
            self._of_modules[call.arguments[1]] = result
        if isinstance(recorded, RecordedTensor) and isinstance(result, Tensor):
            if has_memory(recorded) and tuple(result.shape) == recorded.shape:
                content = get_global_func("pytvmffi.ElementsRead")(result)
                get_global_func("pytvmffi.ElementsWrite")(self._memory.tensor(recorded), content)
        elif isinstance(recorded, RecordedObject) and result is not None:
            self._objects[recorded.address] = result

    def _load(self, path: str) -> Any:
        if path not in self._modules:
            self._modules[path] = get_global_func("ffi.ModuleLoadFromFile")(path)
        return self._modules[path]

    def _function(self, call: RecordedCall) -> Function:
        key = call.name, call.library
        if key not in self._functions:
            self._functions[key] = self._find_function(call)
        return self._functions[key]

    def _find_function(self, call: RecordedCall) -> Function:
        if call.name.startswith("ffi._"):
            raise _CannotReplayError("the function changes the types of the process")
        in_module = get_global_func("ffi.ModuleGetFunction")
        found = None if self._other is None else in_module(self._other, call.name, False)
        found = found or self._of_modules.get(call.name)
        reason = "import the module that registers it"
        if found is None and call.library:
            try:
                found = in_module(self._load(call.library), call.name, False)
            except Exception as error:  # a program, or a library that is missing
                reason = f"{call.library} cannot be loaded: {error}"
        if found is None:
            found = get_global_func(call.name, allow_missing=True) or _find_method(call.name)
        if found is None:
            raise _CannotReplayError(f"no function has the name {call.name!r}; {reason}")
        function: Function = found
        return function

    def _argument(self, value: Any) -> Any:
        if isinstance(value, RecordedTensor):
            if not has_memory(value):
                raise _CannotReplayError(f"the elements of a tensor on {value.device} are unknown")
            return self._memory.filled(value)
        if isinstance(value, RecordedContainer):
            if value.address in self._objects:
                return self._objects[value.address]
            parts = (
                [part for pair in value.elements for part in pair]
                if value.type_key in MAPS
                else value.elements
            )
            return get_global_func(value.type_key)(*map(self._argument, parts))
        if isinstance(value, RecordedObject):
            if value.address not in self._objects:
                raise _CannotReplayError(
                    f"no replayed call returned the {value.type_key} of an argument"
                )
            return self._objects[value.address]
        if isinstance(value, RecordedText):
            raise _CannotReplayError("an argument was longer than max_bytes of the recorder")
        if isinstance(value, RecordedError):
            raise _CannotReplayError("an argument is an error")
        return value


def _find_method(name: str) -> Function | None:
    """Return the method with the name ``type_key.method``, or None."""
    key, _, method = name.rpartition(".")
    index = type_key_to_index(key)
    if index is None:
        return None
    methods = type_metadata(index)["methods"]
    found: Function | None = next((m["func"] for m in methods if m["name"] == method), None)
    return found


def _content(tensor: Any, like: Content) -> Content:
    """Return the elements of a tensor, or their digest if `like` is one."""
    if isinstance(like, int):
        digest: int = get_global_func("pytvmffi.ElementsDigest")(tensor)
        return digest % 2**64
    content: bytes = get_global_func("pytvmffi.ElementsRead")(tensor)
    return content


def _recorded_form(value: Any, like: Any) -> Any:
    """Return a result in the form of a recorded result, for comparison with `like`."""
    if isinstance(value, Tensor):
        content = None
        if isinstance(like, RecordedTensor) and like.content is not None:
            content = _content(value, like.content)
        return RecordedTensor(
            0, 0, tuple(value.shape), None, value.dtype, value.device, True, content
        )
    if isinstance(like, RecordedContainer):
        try:
            elements = list(value.items() if hasattr(value, "items") else value)
        except TypeError:
            return value
        likes = (*like.elements, *[None] * len(elements))
        forms = (
            tuple(map(_recorded_form, element, pair or (None, None)))
            if hasattr(value, "items")
            else _recorded_form(element, pair)
            for element, pair in zip(elements, likes)
        )
        return RecordedContainer(like.type_key, 0, tuple(forms))
    if isinstance(value, Function):
        return RecordedObject("ffi.Function", 0)
    if isinstance(value, ctypes.c_void_p):
        return RecordedObject("void*", value.value) if value.value else None
    if isinstance(value, Object) and isinstance(like, RecordedObject):
        return RecordedObject(type_metadata(type_index_of(value))["type_key"], 0)
    return value
