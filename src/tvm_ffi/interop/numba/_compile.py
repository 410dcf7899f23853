# SPDX-License-Identifier: Apache-2.0
"""From a Python function to LLVM IR that stands for itself, by Numba.

Numba compiles without its run-time library (``_nrt=False``), so it refuses what needs memory.  What
it says in IR of an exception is a pickle for Python; kind and text stand in its place here.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Callable

from ..._binding.object import ERROR_NAME_TO_TYPE
from ...error import register_error
from ._types import numba

__all__ = ["Compiled", "Options", "compile_kernel"]

# What Numba has under names of its own and the library of C has, too.
_IN_C = {
    "numba_gamma": "tgamma",
    "numba_gammaf": "tgammaf",
    "numba_lgamma": "lgamma",
    "numba_lgammaf": "lgammaf",
}
_NEEDS_PYTHON = ("Py", "_Py", "NRT_", "numba_")
_DECLARED = re.compile(r"^declare [^@]*@(\"[^\"]+\"|[\w.$]+)\(", re.MULTILINE)
_ADDRESS = re.compile(r"inttoptr \(i64 \d+ to ptr\)")
# An exception in IR: its pickle, and the struct that is stored where callers look.
_PICKLE = re.compile(
    r'^@(?P<name>\.const\.pickledata\.\w+) = (?P<kind>.*?constant) \[\d+ x i8\] c"(?P<text>[^"]*)"',
    re.MULTILINE,
)
_STRUCT = re.compile(
    r"^(@\.const\.picklebuf\.\w+ = .*?constant \{ ptr, i32, ptr, ptr, i32 \}) "
    r"\{ ptr @(?P<pickle>[\w.]+), i32 \d+, ptr @[\w.]+, ptr null, i32 0 \}",
    re.MULTILINE,
)
_ESCAPED = re.compile(rb"\\([0-9A-Fa-f]{2}|\\)")


@dataclass(frozen=True)
class Options:
    """How kernels are compiled; see `tvm_ffi.interop.numba.kernel`."""

    boundscheck: bool
    fastmath: bool
    error_model: str

    def __post_init__(self) -> None:
        if self.error_model not in ("python", "numpy"):
            raise ValueError(f"error_model is 'python' or 'numpy', got {self.error_model!r}")


@dataclass(frozen=True)
class Compiled:
    """IR of one function.

    Parameters
    ----------
    text : str
        A module of LLVM.
    symbol : str
        Name of the function in it.
    """

    text: str
    symbol: str


def compile_kernel(
    function: Callable[..., Any], arguments: Sequence[Any], result: Any, options: Options
) -> Compiled:
    """Compile a function for arguments of some types.

    Parameters
    ----------
    function : callable
        A Python function.
    arguments : sequence of numba.types.Type
        What it is given.
    result : numba.types.Type
        What it returns.
    options : Options
        How.

    Raises
    ------
    TypeError
        If Numba cannot compile it, or what it does needs Python; the message has Numba's.
    """
    where = f"kernel '{function.__name__}'"
    dispatcher = numba.njit(
        function,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        _nrt=False,
        boundscheck=options.boundscheck,
        fastmath=options.fastmath,
        error_model=options.error_model,
    )
    try:
        dispatcher.compile(result(*arguments))
    except numba.core.errors.NumbaError as error:
        raise TypeError(f"{where} cannot be compiled: {_reason(str(error))}") from error
    (made,) = dispatcher.overloads.values()
    text = made.library.get_llvm_str()
    for name, in_c in _IN_C.items():
        text = re.sub(rf"@{name}\b", f"@{in_c}", text)
    _check_needs(where, text)
    return Compiled(_with_texts(text), made.fndesc.llvm_func_name)


def _reason(said: str) -> str:
    """Return what Numba says, behind what it means where that is not in it."""
    if "<dynamic> raise" in said:
        return f"the arguments of an exception must be constants, since text needs memory\n{said}"
    if "NRT required" in said or "Only accept returning of array" in said:
        return (
            "it allocates memory, which needs Numba's run-time library; write into an argument, or "
            f"into a result of the signature\n{said}"
        )
    return said


def _check_needs(where: str, text: str) -> None:
    """Raise TypeError for IR that works in this process alone."""
    declared = [name.strip('"') for name in _DECLARED.findall(text)]
    needed = [name for name in declared if name.startswith(_NEEDS_PYTHON)]
    if needed:
        raise TypeError(
            f"{where} needs Python or Numba's run-time library, as printing, random numbers and "
            f"objects do: it calls {', '.join(sorted(needed))}"
        )
    if _ADDRESS.search(text):
        raise TypeError(
            f"{where} uses an address of this process, such as that of a function of ctypes"
        )


# ---- exceptions ----------------------------------------------------------------------------------


def _with_texts(text: str) -> str:
    """Put kind and text of exceptions in place of their pickles.

    The bytes become kind, NUL, text, NUL; the number of bytes in the struct becomes the place of
    the text.
    """
    places: dict[str, int] = {}

    def replaced(match: re.Match[str]) -> str:
        kind, message = _said(pickle.loads(_unescaped(match["text"])))
        places[match["name"]] = len(kind) + 1
        content = kind + b"\0" + message.replace(b"\0", b"") + b"\0"
        escaped = "".join(f"\\{byte:02X}" for byte in content)
        return f'@{match["name"]} = {match["kind"]} [{len(content)} x i8] c"{escaped}"'

    text = _PICKLE.sub(replaced, text)
    return _STRUCT.sub(
        lambda match: (
            f"{match[1]} {{ ptr @{match['pickle']}, i32 {places[match['pickle']]}, "
            "ptr null, ptr null, i32 0 }"
        ),
        text,
    )


def _unescaped(text: str) -> bytes:
    return _ESCAPED.sub(
        lambda match: b"\\" if match[1] == b"\\" else bytes([int(match[1], 16)]),
        text.encode("latin-1"),
    )


def _said(exception: Any) -> tuple[bytes, bytes]:
    """Return kind and text of an exception, as Numba describes it: class, arguments and place."""
    cls, args, _ = exception
    kind = cls.__name__
    if kind not in ERROR_NAME_TO_TYPE:
        register_error(kind, cls)  # arrives as itself, in this process
    args = tuple(args or ())
    message = str(args[0]) if len(args) == 1 else str(args) if args else ""
    return kind.encode(), message.encode("utf-8", "replace")
