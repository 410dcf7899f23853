# SPDX-License-Identifier: Apache-2.0
"""Generated source files of inline builds: includes, then the user's text, then exports.

``#line`` directives make compiler errors refer to the user's text as ``NAME.cpp``.  A file with
that name and exactly the user's text is written beside the generated file, because compilers read
the file to show the line of an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ._exports import Export

__all__ = ["CPP_HEADERS", "CPP_INCLUDES", "CPP_MAIN", "Unit", "inline_units"]

CPP_HEADERS = (
    "tvm/ffi/container/tensor.h",
    "tvm/ffi/dtype.h",
    "tvm/ffi/error.h",
    "tvm/ffi/extra/c_env_api.h",
    "tvm/ffi/function.h",
)
_C_HEADERS = ("tvm/ffi/c_api.h", "tvm/ffi/extra/c_env_api.h")
# Generated C files include this header after the user's text.
_C_SIGNATURE_HEADER = "tvm/ffi/extra/c_signature.h"


def _includes(headers: Sequence[str]) -> str:
    return "".join(f"#include <{header}>\n" for header in headers)


# The beginning of each generated C++ and CUDA file.
CPP_INCLUDES = _includes(CPP_HEADERS)
# Sources written for the incumbent's inline builds use string streams without an include.  Other
# sources need not compile <sstream>, which takes longer than the headers above.
_USES_STREAMS = re.compile(r"\b[io]?stringstream\b|\bstd::ostream\b")

# Names of generated files by language.  Users rely on them in a `build_directory`.
CPP_MAIN = "main.cpp"
_FILES = {"c": "main.c", "cpp": CPP_MAIN, "cuda": "cuda.cu"}
_SUFFIXES = {"c": ".c", "cpp": ".cpp", "cuda": ".cu"}


class Unit(NamedTuple):
    """A source file to compile, or an object file to link."""

    language: str
    """``c``, ``cpp``, ``cuda`` or ``object``."""
    path: str
    """An absolute path, or the name of a generated file in the build folder."""


def inline_units(
    name: str, sources: Mapping[str, Sequence[str]], functions: Mapping[str, Export]
) -> tuple[list[Unit], dict[str, str]]:
    """Return the translation units of inline sources, and the content of each file by name.

    Parameters
    ----------
    name : str
        Name of the module; compiler errors show it.
    sources : mapping of str to sequence of str
        The user's source texts by language.
    functions : mapping of str to Export
        Documentation and signature of each function to export.
    """
    units: list[Unit] = []
    files: dict[str, str] = {}
    # One generated file exports all functions: C++ is preferred to CUDA, and CUDA to C.
    exporting = next(language for language in ("cpp", "cuda", "c") if language in sources)
    for language, texts in sources.items():
        exports = functions if language == exporting else {}
        head, tail = _c_head_and_tail(exports) if language == "c" else _cpp_head_and_tail(exports)
        if language != "c" and any(map(_USES_STREAMS.search, texts)):
            head += _includes(["sstream"])
        main = _FILES[language]
        suffix = _SUFFIXES[language]
        stem = f"{name}.inline" if f"{name}{suffix}" in _FILES.values() else name
        stems = [stem] if len(texts) == 1 else [f"{stem}.{index}" for index in range(len(texts))]
        user_files = {f"{stem}{suffix}": text for stem, text in zip(stems, texts)}
        files[main] = _joined(main, head, user_files, tail)
        files.update(user_files)
        units.append(Unit(language, main))
    return units, files


def _joined(main: str, head: str, user_files: Mapping[str, str], tail: str) -> str:
    """Return the content of a generated file, with ``#line`` directives before the user's texts."""
    text = head
    for file, user_text in user_files.items():
        text += f"#line 1 {_c_literal(file)}\n{user_text}\n"
    if tail:  # compiler errors in the tail then name the generated file
        text += f"#line {text.count(chr(10)) + 2} {_c_literal(main)}\n{tail}"
    return text


def _cpp_head_and_tail(functions: Mapping[str, Export]) -> tuple[str, str]:
    """Return the lines before and after the user's C++ or CUDA text."""
    tail = ""
    for function, export in functions.items():
        if export.signature is not None:
            text = _c_literal(str(export.signature))
            macro = "TVM_FFI_DLL_EXPORT_TYPED_FUNC_WITH_SIGNATURE"
            line = f"{macro}({function}, {function}, {text});\n"
            tail += _renamed(function) + line + _exported(function) if export.is_checked else line
        else:
            tail += f"TVM_FFI_DLL_EXPORT_TYPED_FUNC({function}, {function});\n"
        if export.doc:
            doc = _c_literal(export.doc)
            tail += f"TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC({function}, {doc});\n"
    return CPP_INCLUDES, tail + _checks(functions, converts=True)


def _renamed(function: str) -> str:
    """Return the line after which the packed function has the name of a function without checks.

    The macros for signatures set the mark ``checked`` for a function with this name.
    """
    return f"#define __tvm_ffi_{function} tvm_ffi_unchecked_{function}\n"


def _exported(function: str) -> str:
    return f"#undef __tvm_ffi_{function}\n"


def _checks(functions: Mapping[str, Export], *, converts: bool) -> str:
    """Return the exported functions that check their arguments, then call the renamed functions.

    `converts` is True for functions of the C++ API, see `codegen.c._checked_exports`.
    """
    checked = {
        name: export.signature
        for name, export in functions.items()
        if export.signature is not None and export.is_checked
    }
    if not checked:
        return ""
    from ..codegen.c import _checked_exports  # lazy import, because most builds have no signature

    return _checked_exports(checked, converts=converts)


_C_PARAMETERS = "(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result)"


def _c_head_and_tail(functions: Mapping[str, Export]) -> tuple[str, str]:
    """Return the lines before and after the user's C text.

    The user defines an exported function NAME as ``__tvm_ffi_NAME``.  A declaration before the
    text makes the symbol visible and lets the compiler check its type.  An array of function
    pointers after the text makes linking fail, with the name of the symbol, if the function is not
    defined.
    """
    head, tail = _includes(_C_HEADERS), ""
    if any(export.doc or export.signature for export in functions.values()):
        tail += _includes([_C_SIGNATURE_HEADER])
    for function, export in functions.items():
        head += _renamed(function) if export.is_checked else ""
        head += f"TVM_FFI_DLL_EXPORT int __tvm_ffi_{function}{_C_PARAMETERS};\n"
        if export.signature is not None:
            text = _c_literal(str(export.signature))
            tail += f"TVM_FFI_DLL_EXPORT_SIGNATURE({function}, {text})\n"
        if export.doc:
            tail += f"TVM_FFI_DLL_EXPORT_DOC({function}, {_c_literal(export.doc)})\n"
        tail += _exported(function) if export.is_checked else ""
    tail += _checks(functions, converts=False)
    if functions:
        symbols = ", ".join(f"__tvm_ffi_{function}" for function in functions)
        tail += "__attribute__((used)) static TVMFFISafeCallType const tvm_ffi_listed[] = "
        tail += f"{{{symbols}}};\n"
    return head, tail


def _c_literal(text: str) -> str:
    """Return a string literal that is valid in C and C++.

    Escapes are octal, because they have three digits at most: a following digit does not extend
    them.
    """
    return '"' + "".join(map(_escaped, text.encode("utf-8"))) + '"'


def _escaped(byte: int) -> str:
    character = chr(byte)
    if character in '"\\?' or not 32 <= byte < 127:
        return f"\\{byte:03o}"
    return character
