# SPDX-License-Identifier: Apache-2.0
"""Run rows of exchanges in this process and print one line of JSON for each.

    python worker.py LEFT RIGHT < rows.json

LEFT and RIGHT are exchange libraries.  The runtime is that of the ``tvm_ffi`` package in this
interpreter's environment; steps are called through the C ABI, so that the package does not convert
values between the libraries.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
from pathlib import Path
from typing import Any

import tvm_ffi  # noqa: F401  (loads the runtime; its symbols are global from here on)

NONE, INT, BOOL, RAW_STR, RVALUE_REF, FIRST_OBJECT = 0, 1, 2, 8, 10, 64
REPETITIONS = 12  # runs of a row while its memory grows; Python's own growth ends before
SMALL = 200  # largest number in a repeated case
RUNTIME = ctypes.CDLL(None)


class StepError(Exception):
    """A step returned an unexpected result."""


class Cell(ctypes.Structure):
    """``TVMFFIAny``."""

    _fields_ = (
        ("type_index", ctypes.c_int32),
        ("padding", ctypes.c_uint32),
        ("payload", ctypes.c_uint64),
    )

    @classmethod
    def of(cls, value: Any) -> Cell:
        """Return the view of a Python value; the caller must keep a string alive."""
        if value is None:
            return cls(NONE, 0, 0)
        if isinstance(value, bool):
            return cls(BOOL, 0, value)
        if isinstance(value, int):
            return cls(INT, 0, value & 0xFFFF_FFFF_FFFF_FFFF)
        return cls(RAW_STR, 0, ctypes.cast(ctypes.c_char_p(value), ctypes.c_void_p).value or 0)

    def release(self) -> None:
        """Release the reference of an owned value."""
        if self.type_index >= FIRST_OBJECT:
            RUNTIME.TVMFFIObjectDecRef(ctypes.c_void_p(self.payload))
        self.type_index, self.padding, self.payload = NONE, 0, 0


class ByteArray(ctypes.Structure):
    """``TVMFFIByteArray``."""

    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t))

    def text(self) -> str:
        return ctypes.string_at(self.data, self.size).decode(errors="replace")


def take_error() -> Cell:
    """Return the pending error, owned."""
    handle = ctypes.c_void_p()
    RUNTIME.TVMFFIErrorMoveFromRaised(ctypes.byref(handle))
    if not handle.value:
        raise StepError("the exported function failed without a pending error")
    return Cell(67, 0, handle.value)


def describe_error(error: Cell) -> str:
    kind, message = (ByteArray.from_address(error.payload + 24 + 16 * i) for i in range(2))
    return f"{kind.text()}: {message.text()}"


def find_step(library: ctypes.CDLL, name: str) -> Any:
    """Return an exported function with the C calling convention."""
    try:
        return library[f"__tvm_ffi_{name}"]
    except AttributeError as error:
        raise StepError(str(error)) from None


def call(function: Any, value: Cell, args: list[Any], moves: bool) -> tuple[int, Cell]:
    """Call a function with a value, release the value; return status and result."""
    slot = ctypes.c_uint64(value.payload)
    first = Cell(RVALUE_REF, 0, ctypes.addressof(slot)) if moves else value
    encoded = [argument.encode() if isinstance(argument, str) else argument for argument in args]
    cells = (Cell * (1 + len(encoded)))(first, *(Cell.of(argument) for argument in encoded))
    result = Cell()
    status = function(None, cells, len(cells), ctypes.byref(result))
    if slot.value != 0 or not moves:  # without a move, the callee owns the value
        value.release()
    return status, result


def run_step(library: ctypes.CDLL, step: dict[str, Any], value: Cell, case: list[Any]) -> Cell:
    """Run a step and return its result; if the step must fail, return its error."""
    args = [x for argument in step["args"] for x in (case if argument == "..." else [argument])]
    status, result = call(find_step(library, step["function"]), value, args, step["moves"])
    if status == 0 and not step["raises"]:
        return result
    if status == 0:
        result.release()
        raise StepError("succeeded, but has to raise an error")
    error = take_error()
    if step["raises"]:
        return error
    text = describe_error(error)
    error.release()
    raise StepError(text)


def run_case(libraries: list[ctypes.CDLL], row: dict[str, Any], case: list[Any]) -> None:
    value = Cell()
    for number, step in enumerate(row["steps"]):
        try:
            value = run_step(libraries[step["side"]], step, value, case)
        except StepError as error:
            side = ("left", "right")[step["side"]]
            location = f"step {number}, {step['function']} on the {side}, case {case}"
            raise StepError(f"{location}: {error}") from None
    value.release()


class MallInfo(ctypes.Structure):
    """``struct mallinfo2``."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
            "fordblks", "keepcost",
        )
    )  # fmt: skip


def allocated_bytes() -> int:
    """Return the bytes in use on the heap; 0 if the C library cannot report them."""
    try:
        function = RUNTIME.mallinfo2
    except AttributeError:
        return 0
    function.restype = MallInfo
    gc.collect()
    info = function()
    return int(info.uordblks) + int(info.hblkhd)


def is_small(case: list[Any]) -> bool:
    return all(isinstance(argument, str) or argument < SMALL for argument in case)


def find_leak(libraries: list[ctypes.CDLL], row: dict[str, Any]) -> str | None:
    """Repeat the small cases of a row; return a message if memory grows in every repetition."""
    growth: list[int] = []
    while len(growth) < REPETITIONS and (not growth or growth[-1] > 0):
        before = allocated_bytes()
        for case in filter(is_small, row["cases"]):
            run_case(libraries, row, case)
        growth.append(allocated_bytes() - before)
    return f"memory grows by {growth} bytes in repeated runs" if growth[-1] > 0 else None


def run_row(libraries: list[ctypes.CDLL], row: dict[str, Any]) -> str | None:
    """Run a row; return a message about its failure, or None."""
    try:
        for case in row["cases"]:
            run_case(libraries, row, case)
        return find_leak(libraries, row)
    except StepError as error:
        return str(error)


def main() -> None:
    libraries = [ctypes.CDLL(path) for path in sys.argv[1:3]]
    print(json.dumps({"runtimes": loaded_runtimes()}), flush=True)
    for row in json.load(sys.stdin):
        print(json.dumps({"row": row["name"], "error": run_row(libraries, row)}), flush=True)


def loaded_runtimes() -> list[str]:
    """Return the file names of all TVM FFI runtimes in this process."""
    lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    return sorted({line.split()[-1] for line in lines if "libtvm_ffi" in line})


if __name__ == "__main__":
    main()
