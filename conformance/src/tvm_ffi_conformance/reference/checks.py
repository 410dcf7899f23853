# SPDX-License-Identifier: Apache-2.0
"""Checks of calls: the callee's result, return code, error and arguments, and the caller's slot.

`Checks.call` makes every call between two libraries, and between Python and a library. A violation
is recorded with the name of the function that broke the rule; the call goes on if it safely can.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tvm_ffi_conformance import abi

from .chapter import Chapter
from .maps import MAPS
from .memory import cell, read_byte_array
from .rules import RULES, Violation
from .sequences import SEQUENCES
from .values import ANY_SIZE, any_at, write_any

SafeCall = Callable[[int, int, int, int], int]

# Content of the padding and the payload of a result slot before the call: the bytes that the callee
# does not write are noticed.
_UNSET_PADDING, _UNSET_PAYLOAD = 0x5A5A5A5A, 0x5A5A5A5A_5A5A5A5A
_MAX_DEPTH = 16  # of containers in containers that are checked
# c-abi.md, "7.1 Object and kinds": the host language has an exception pending, passed through.
ALREADY_SET = "EnvErrorAlreadySet"


class Checks(Chapter):
    """Records violations, and makes checked calls."""

    def set_up(self) -> None:
        self.violations: list[Violation] = []
        self._frames: dict[int, list[str]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def frame(self, name: str) -> Iterator[None]:
        """Name the function that the calling thread executes."""
        frames = self._frames.setdefault(self.runtime.trampoline.thread(), [])
        frames.append(name)
        try:
            yield
        finally:
            frames.pop()

    def frames(self) -> list[str]:
        """Return the functions that the calling thread executes, outermost first."""
        return self._frames.get(self.runtime.trampoline.thread(), [])

    def where(self) -> str:
        """Return the function that the calling thread executes, and its caller."""
        return " called by ".join(reversed(self.frames()[-2:])) or "outside a call"

    def forget_thread(self, number: int) -> None:
        """Forget a thread that has ended."""
        self._frames.pop(number, None)

    def report(
        self, rule_id: str, argument: str, detail: str, *, function: str | None = None
    ) -> None:
        """Record that a rule is broken, by the function that runs unless `function` names one."""
        violation = Violation(RULES[rule_id], function or self.where(), argument, detail)
        with self._lock:
            self.violations.append(violation)

    def call_from_python(
        self, name: str, function: SafeCall, handle: int, args: int, n: int, out: int
    ) -> int:
        """Call `function` with a result slot that shows whether the callee wrote all of it."""
        # abi-overview-2025.txt, "Function Calling Convention": before the call, the caller sets
        # the type index of the result to None, or to another index that is not of an object.
        write_any(out, abi.kTVMFFINone, _UNSET_PAYLOAD, _UNSET_PADDING)
        return self._call(name, function, handle, args, n, out)

    def call_from_native(self, function: SafeCall, func: int, args: int, n: int, out: int) -> int:
        """Call `function` for a native caller, whose result slot and arguments are checked."""
        before = bytes(any_at(out))
        if before != bytes(ANY_SIZE):
            # abi-overview.rst, "Function": the caller must zero-initialize result before the call.
            detail = f"slot with type index {any_at(out).type_index}, not zeros"
            self.report("call.result-cleared", "result", detail)
        for position in range(n):
            self.check_argument(args, position)
        # c-abi.md, "13.1 The packed convention": a typed callee refuses a slot with an object.
        held = any_at(out).type_index >= abi.kTVMFFIStaticObjectBegin
        index = any_at(out).type_index if held else abi.kTVMFFINone
        write_any(out, index, _UNSET_PAYLOAD, _UNSET_PADDING)
        code = self._call(self.runtime.functions.name_of(func), function, func, args, n, out)
        if code:
            ctypes.memmove(out, before, ANY_SIZE)
        return code

    def check_argument(self, args: int, position: int) -> None:
        """Check one argument of a native caller."""
        self.runtime.values.check(args + position * ANY_SIZE, f"args[{position}]")

    def _call(self, name: str, function: SafeCall, handle: int, args: int, n: int, out: int) -> int:
        errors, index = self.runtime.errors, any_at(out).type_index
        before = ctypes.string_at(args, n * ANY_SIZE) if n else b""
        # An error that is pending already belongs to the caller; it is not counted for the callee.
        pending_before = errors.pending_handle()
        with self.frame(name):
            code = function(handle or None, args or None, n, out)
            self._check_arguments(args, n, before)
            pending = errors.pending_handle()
            if code == 0:
                self._check_success(out, index, pending, pending_before)
            else:
                self._check_failure(code, out, pending)
        return code

    def _check_arguments(self, args: int, n: int, before: bytes) -> None:
        """Check that the callee did not change its arguments."""
        # stable-c-abi.rst, "Key Idea: A Single C ABI for all Functions": const TVMFFIAny* args.
        if n and ctypes.string_at(args, n * ANY_SIZE) != before:
            for position in range(n):
                start = position * ANY_SIZE
                if bytes(any_at(args, position)) != before[start : start + ANY_SIZE]:
                    argument = f"args[{position}]"
                    self.report("call.arguments-constant", argument, "the callee changed it")

    def _check_success(self, out: int, index: int, pending: int, pending_before: int) -> None:
        """Check the result of a call that returned 0."""
        if pending and pending != pending_before:
            # stable-c-abi.rst, "Callee: add_one_cpu Kernel": 0 on success, non-zero on failure.
            text = self.runtime.errors.summary(pending)
            self.report("error.unreported", "return value", f"0 with the raised error {text}")
            self.runtime.errors.clear()
        self._check_written(any_at(out), index)
        if not self.runtime.values.check(out, "result", owned=True):
            write_any(out, abi.kTVMFFINone)
        else:
            self._check_elements(out, "result", 0)

    def _check_written(self, result: abi.TVMFFIAny, index: int) -> None:
        """Check that the callee wrote all of the result slot, or left all of it."""
        unset = (result.zero_padding, result.v_uint64) == (_UNSET_PADDING, _UNSET_PAYLOAD)
        if unset and result.type_index == index:
            # compiler-integration.md, "Kernel Language Compilers": the example of a callee leaves
            # the slot, which its caller has set to None.
            write_any(ctypes.addressof(result), abi.kTVMFFINone)
            return
        if result.zero_padding == _UNSET_PADDING:
            # c-abi.md, "3. TVMFFIAny": a result slot must be written completely; callers do not
            # clear the padding.
            self.report("any.padding", "result", "zero_padding was not written")
            result.zero_padding = 0
        if result.v_uint64 == _UNSET_PAYLOAD:
            # stable-c-abi.rst, "Function Calling Convention": result receives the function result.
            detail = f"the callee wrote type index {result.type_index} without a payload"
            self.report("call.result-unset", "result", detail)
            result.type_index, result.v_uint64 = abi.kTVMFFINone, 0

    def _check_elements(self, address: int, argument: str, depth: int) -> None:
        """Check the elements of a container, which are owned values, too."""
        value, values = any_at(address), self.runtime.values
        if depth == _MAX_DEPTH:
            return
        if value.type_index in SEQUENCES:
            elements = self.runtime.sequences.elements(value.v_obj)
        elif value.type_index in MAPS:
            pairs = self.runtime.maps.pairs(value.v_obj)
            elements = [part for pair in pairs for part in (pair, pair + ANY_SIZE)]
        else:
            return
        for position, element in enumerate(elements):
            name = f"{argument}[{position}]"
            if values.check(element, name, owned=True):
                self._check_elements(element, name, depth + 1)

    def _check_failure(self, code: int, out: int, pending: int) -> None:
        """Check the error of a call that returned another code than 0."""
        # abi-overview.rst, "Function": the return value is 0 for success and -1 for errors.
        # c-abi.md, "6.1 Conventions": -2 means that a Python exception is set already.
        if code not in {-1, -2}:
            self.report("call.return-code", "return value", f"{code}")
        result = any_at(out)
        is_object = result.type_index >= abi.kTVMFFIStaticObjectBegin
        if is_object and result.v_uint64 != _UNSET_PAYLOAD:
            # c-abi.md, "13.1 The packed convention": the callee leaves the result on error.
            self.report("call.result-on-error", "result", "an object remains in the slot")
        write_any(out, abi.kTVMFFINone)
        if not pending:
            # stable-c-abi.rst, "Callee: add_one_cpu Kernel": when an error occurs, set it.
            if code != -2:
                self.report("error.missing", "return value", f"{code} without a raised error")
            return
        self.check_error(pending)

    def check_error(self, error: int) -> None:
        """Check the kind and the message of an error."""
        content = cell(abi.TVMFFIErrorCell, error)
        kind = read_byte_array(content.kind).decode("utf-8", "replace")
        if not kind:
            self.report("error.kind", "kind", "the error has no kind")
        if not read_byte_array(content.message) and kind != ALREADY_SET:
            # stable-c-abi.rst, "Callee: add_one_cpu Kernel": set an error message.
            self.report("error.text", "message", f"{kind} without a message")
