# SPDX-License-Identifier: Apache-2.0
"""Generated source files: the user's text between includes and exports.

``#line`` lets compilers speak of the user's text: errors name ``NAME.cpp``.  A file with exactly
that text lies beside the generated one, so that the compiler finds the line to show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ._exports import Export

__all__ = ["CPP_HEAD", "CPP_HEADERS", "CPP_MAIN", "Unit", "inline_units"]

CPP_HEADERS = (
    "tvm/ffi/container/tensor.h",
    "tvm/ffi/dtype.h",
    "tvm/ffi/error.h",
    "tvm/ffi/extra/c_env_api.h",
    "tvm/ffi/function.h",
)
_C_HEADERS = ("tvm/ffi/c_api.h", "tvm/ffi/extra/c_env_api.h")
_C_SIGNATURE_HEADER = "tvm/ffi/extra/c_signature.h"  # behind the user's text, which it changes not


def _includes(headers: Sequence[str]) -> str:
    return "".join(f"#include <{header}>\n" for header in headers)


# What C++ text has in front.
CPP_HEAD = _includes(CPP_HEADERS)

# Generated file by kind; the names are part of the contract of build folders.
CPP_MAIN = "main.cpp"
_FILES = {"c": "main.c", "cpp": CPP_MAIN, "cuda": "cuda.cu"}
_SUFFIXES = {"c": ".c", "cpp": ".cpp", "cuda": ".cu"}


class Unit(NamedTuple):
    """One translation unit, or an object file that is linked as it is."""

    kind: str
    """``c``, ``cpp``, ``cuda`` or ``object``."""
    path: str
    """Absolute, or the name of a generated file in the build folder."""


def inline_units(
    name: str, sources: Mapping[str, Sequence[str]], functions: Mapping[str, Export]
) -> tuple[list[Unit], dict[str, str]]:
    """Return the units of inline sources, and the text of each file to write for them.

    Parameters
    ----------
    name : str
        Name of the module; errors show it.
    sources : mapping of str to sequence of str
        The user's texts by kind.
    functions : mapping of str to Export
        What the library says about each function to export.
    """
    units: list[Unit] = []
    files: dict[str, str] = {}
    # Exported from C++ where there is some, else from the device code, else from C.
    exporting = next(kind for kind in ("cpp", "cuda", "c") if kind in sources)
    for kind, texts in sources.items():
        exports = functions if kind == exporting else {}
        head, tail = _c_frame(exports) if kind == "c" else _cpp_frame(exports)
        main = _FILES[kind]
        shown = _shown_files(name, kind, texts)
        files[main] = _framed(main, head, shown, tail)
        files.update(shown)
        units.append(Unit(kind, main))
    return units, files


def _shown_files(name: str, kind: str, texts: Sequence[str]) -> dict[str, str]:
    """Return the files that errors name, with the user's texts."""
    suffix = _SUFFIXES[kind]
    stem = f"{name}.inline" if f"{name}{suffix}" in _FILES.values() else name
    if len(texts) == 1:
        return {f"{stem}{suffix}": texts[0]}
    return {f"{stem}.{index}{suffix}": text for index, text in enumerate(texts)}


def _framed(main: str, head: str, shown: Mapping[str, str], tail: str) -> str:
    """Return the text of a generated file; behind the user's texts it speaks of itself again."""
    text = head
    for file, user_text in shown.items():
        text += f"#line 1 {_c_literal(file)}\n{user_text}\n"
    if tail:
        text += f"#line {text.count(chr(10)) + 2} {_c_literal(main)}\n{tail}"
    return text


def _cpp_frame(functions: Mapping[str, Export]) -> tuple[str, str]:
    """Return what stands before and behind C++ and CUDA text."""
    tail = ""
    for function, export in functions.items():
        if export.signature:
            text = _c_literal(export.signature)
            macro = "TVM_FFI_DLL_EXPORT_TYPED_FUNC_WITH_SIGNATURE"
            tail += f"{macro}({function}, {function}, {text});\n"
        else:
            tail += f"TVM_FFI_DLL_EXPORT_TYPED_FUNC({function}, {function});\n"
        if export.doc:
            doc = _c_literal(export.doc)
            tail += f"TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC({function}, {doc});\n"
    return CPP_HEAD, tail


_C_PARAMETERS = "(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result)"


def _c_frame(functions: Mapping[str, Export]) -> tuple[str, str]:
    """Return what stands before and behind C text.

    A function that is exported from C is defined as ``__tvm_ffi_NAME`` by the user.  The
    declaration in front of it makes the symbol visible and its type checked, and the pointer behind
    it makes loading fail, naming the symbol, when it is not defined.
    """
    head, tail = _includes(_C_HEADERS), ""
    if any(export.doc or export.signature for export in functions.values()):
        tail += _includes([_C_SIGNATURE_HEADER])
    for function, export in functions.items():
        head += f"TVM_FFI_DLL_EXPORT int __tvm_ffi_{function}{_C_PARAMETERS};\n"
        if export.signature:
            text = _c_literal(export.signature)
            tail += f"TVM_FFI_DLL_EXPORT_SIGNATURE({function}, {text})\n"
        if export.doc:
            tail += f"TVM_FFI_DLL_EXPORT_DOC({function}, {_c_literal(export.doc)})\n"
    if functions:
        symbols = ", ".join(f"__tvm_ffi_{function}" for function in functions)
        tail += "__attribute__((used)) static TVMFFISafeCallType const tvm_ffi_listed[] = "
        tail += f"{{{symbols}}};\n"
    return head, tail


def _c_literal(text: str) -> str:
    """Return a string literal in C and C++; octal escapes end by themselves, unlike hexadecimal."""
    return '"' + "".join(map(_escaped, text.encode("utf-8"))) + '"'


def _escaped(byte: int) -> str:
    character = chr(byte)
    if character in '"\\?' or not 32 <= byte < 127:
        return f"\\{byte:03o}"
    return character
