# SPDX-License-Identifier: Apache-2.0
"""Compilation of a Python function to self-contained LLVM IR with Numba.

Numba compiles without its run-time library (``_nrt=False``), so it rejects code that allocates
memory.  Numba's IR stores exceptions as pickles; this module replaces each pickle by the kind and
message of the exception, which need no Python.

Numba's read-only arrays do not prevent all writes: iterators such as ``x.flat`` write to them.
Arrays are therefore compiled as writable, and the optimized IR shows which arrays are written.  For
an array for which the IR shows neither reading nor writing, the types of the variables decide.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Callable, NamedTuple

from ..._binding.object import ERROR_NAME_TO_TYPE
from ...codegen.llvm._target import pointer_uses
from ...error import register_error
from ._types import numba

__all__ = ["Argument", "Compiled", "Options", "compile_kernel"]

# C library names of functions that Numba's IR calls under another name.
_LIBC_NAMES = {
    "numba_gamma": "tgamma",
    "numba_gammaf": "tgammaf",
    "numba_lgamma": "lgamma",
    "numba_lgammaf": "lgammaf",
}
_NEEDS_PYTHON = ("Py", "_Py", "NRT_", "numba_")
_DECLARED = re.compile(r"^declare [^@]*@(\"[^\"]+\"|[\w.$]+)\(", re.MULTILINE)
_ADDRESS = re.compile(r"inttoptr \(i64 \d+ to ptr\)")
# An exception in Numba's IR: a constant with its pickle, and a struct that refers to the constant.
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
    """Compilation options; see `tvm_ffi.interop.numba.kernel`."""

    boundscheck: bool
    fastmath: bool
    error_model: str

    def __post_init__(self) -> None:
        if self.error_model not in ("python", "numpy"):
            raise ValueError(f"error_model: expected 'python' or 'numpy', got {self.error_model!r}")


class Argument(NamedTuple):
    """An argument of a kernel."""

    name: str
    type: Any  # a numba.types.Type
    is_written: bool  # True if the kernel may write to the array


@dataclass(frozen=True)
class Compiled:
    """LLVM IR of one compiled function.

    Parameters
    ----------
    text : str
        Text of an LLVM module.
    symbol : str
        Symbol of the function in the module.
    """

    text: str
    symbol: str


def compile_kernel(
    function: Callable[..., Any], arguments: Sequence[Argument], result: Any, options: Options
) -> Compiled:
    """Compile a function for given argument types.

    Parameters
    ----------
    function : callable
        A Python function.
    arguments : sequence of Argument
        The arguments, in the order of the function's parameters.
    result : numba.types.Type
        Numba type of the result.
    options : Options
        Compilation options.

    Raises
    ------
    TypeError
        If Numba cannot compile the function, in which case the message contains Numba's message;
        if the code needs Python, or writes to an array that is an input.
    """
    where = f"kernel '{function.__name__}'"
    dispatcher = _dispatcher(function, options)
    try:
        dispatcher.compile(result(*(argument.type for argument in arguments)))
    except numba.core.errors.NumbaError as error:
        raise TypeError(f"{where} cannot be compiled: {_reason(str(error))}") from error
    (overload,) = dispatcher.overloads.values()
    text = overload.library.get_llvm_str()
    for name, libc_name in _LIBC_NAMES.items():
        text = re.sub(rf"@{name}\b", f"@{libc_name}", text)
    symbol = overload.fndesc.llvm_func_name
    _check_symbols(where, text)
    unproven = _check_inputs(where, text, symbol, arguments)
    if unproven and not _only_reads(_dispatcher(function, options), arguments, result):
        raise _written_input(where, unproven[0], "inout")
    return Compiled(_replace_pickles(text), symbol)


def _dispatcher(function: Callable[..., Any], options: Options) -> Any:
    return numba.njit(
        function,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        _nrt=False,
        boundscheck=options.boundscheck,
        fastmath=options.fastmath,
        error_model=options.error_model,
    )


def _reason(message: str) -> str:
    """Return Numba's error message; begin with an explanation if the error is a known one."""
    if "<dynamic> raise" in message:
        return (
            "the arguments of an exception must be constants, because formatting a message "
            f"allocates memory\n{message}"
        )
    if "NRT required" in message or "Only accept returning of array" in message:
        return (
            "the function allocates memory, which needs Numba's run-time library; write to an "
            f"argument, or to a result of the signature\n{message}"
        )
    return message


def _check_symbols(where: str, text: str) -> None:
    """Raise TypeError for IR that calls Python or contains an address of this process."""
    declared = [name.strip('"') for name in _DECLARED.findall(text)]
    unavailable = [name for name in declared if name.startswith(_NEEDS_PYTHON)]
    if unavailable:
        raise TypeError(
            f"{where} needs Python or Numba's run-time library, as printing, random numbers and "
            f"objects do: it calls {', '.join(sorted(unavailable))}"
        )
    if _ADDRESS.search(text):
        raise TypeError(
            f"{where} uses an address of this process, such as the address of a ctypes function; "
            "the compiled code would be invalid in other processes"
        )


# ---- inputs --------------------------------------------------------------------------------------


def _check_inputs(
    where: str, text: str, symbol: str, arguments: Sequence[Argument]
) -> list[Argument]:
    """Raise TypeError if a kernel writes to an input; return inputs for which nothing is proved.

    The function has two pointers for its results, then the fields of each argument.  An array has
    the fields: two owners, size, item size, address, shape and strides.
    """
    uses, unproven = pointer_uses(text, symbol), []
    first = 2
    for argument in arguments:
        if not isinstance(argument.type, numba.types.Array):
            first += 1
            continue
        use = uses[first + 4]
        first += 5 + 2 * argument.type.ndim
        if argument.is_written:
            continue
        if use == "written":
            raise _written_input(where, argument, "out")
        if use != "read":
            unproven.append(argument)
    return unproven


def _written_input(where: str, argument: Argument, direction: str) -> TypeError:
    return TypeError(
        f"{where} writes to '{argument.name}', which its signature declares as an input; "
        f"declare it `{direction}`"
    )


def _only_reads(dispatcher: Any, arguments: Sequence[Argument], result: Any) -> bool:
    """Return True if Numba compiles a function whose inputs are read-only arrays.

    Return False, too, if the function uses objects that can write to read-only arrays.
    """
    read_only = [
        argument.type.copy(readonly=True)
        if isinstance(argument.type, numba.types.Array) and not argument.is_written
        else argument.type
        for argument in arguments
    ]
    try:
        dispatcher.compile(result(*read_only))
    except Exception:
        return False
    return not _ignores_read_only(dispatcher, set())


def _ignores_read_only(dispatcher: Any, seen: set[Any]) -> bool:
    """Return True if a function, or a function that it calls, may write to read-only arrays.

    Functions from Numba's cache have no types of variables, so the answer for them is True.
    """
    types = numba.types
    unchecked = (types.NumpyFlatType, types.NumpyNdIterType, types.ArrayCTypes)
    seen.add(dispatcher)
    for overload in dispatcher.overloads.values():
        variables = getattr(overload.type_annotation, "typemap", None)
        if variables is None or any(isinstance(type_, unchecked) for type_ in variables.values()):
            return True
        callees = {
            type_.dispatcher for type_ in variables.values() if isinstance(type_, types.Dispatcher)
        }
        if any(_ignores_read_only(callee, seen) for callee in callees - seen):
            return True
    return False


# ---- exceptions in the IR ------------------------------------------------------------------------


def _replace_pickles(text: str) -> str:
    """Replace the pickle of each exception in Numba's IR by the exception's kind and message.

    The constant with the pickle becomes: kind, NUL, message, NUL.  The size field of the struct
    that refers to it becomes the offset of the message in bytes.
    """
    message_offsets: dict[str, int] = {}

    def replaced(match: re.Match[str]) -> str:
        kind, message = _kind_and_message(pickle.loads(_unescaped(match["text"])))
        message_offsets[match["name"]] = len(kind) + 1
        content = kind + b"\0" + message.replace(b"\0", b"") + b"\0"
        escaped = "".join(f"\\{byte:02X}" for byte in content)
        return f'@{match["name"]} = {match["kind"]} [{len(content)} x i8] c"{escaped}"'

    text = _PICKLE.sub(replaced, text)
    return _STRUCT.sub(
        lambda match: (
            f"{match[1]} {{ ptr @{match['pickle']}, i32 {message_offsets[match['pickle']]}, "
            "ptr null, ptr null, i32 0 }"
        ),
        text,
    )


def _unescaped(text: str) -> bytes:
    return _ESCAPED.sub(
        lambda match: b"\\" if match[1] == b"\\" else bytes([int(match[1], 16)]),
        text.encode("latin-1"),
    )


def _kind_and_message(exception: Any) -> tuple[bytes, bytes]:
    """Return the kind and message of an exception that Numba pickled as (class, args, location)."""
    cls, args, _ = exception
    kind = cls.__name__
    if kind not in ERROR_NAME_TO_TYPE:
        # Register the class, so that callers in this process get an exception of the class.
        register_error(kind, cls)
    args = tuple(args or ())
    message = str(args[0]) if len(args) == 1 else str(args) if args else ""
    return kind.encode(), message.encode("utf-8", "replace")
