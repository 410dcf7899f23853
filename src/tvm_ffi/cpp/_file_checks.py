# SPDX-License-Identifier: Apache-2.0
"""Checks of functions in source files: a generated file, and options for the user's files.

The generated file defines ``__tvm_ffi_NAME``, which checks its arguments and then calls the user's
function.  Options rename the user's function, so the source files need no change.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .._internal.regular_file import open_regular

__all__ = ["UNCHECKED_OPTION", "FileChecks", "file_checks"]

# Marks all functions with signatures in the compiled files as unchecked.
UNCHECKED_OPTION = "-DTVM_FFI_SIGNATURE_UNCHECKED=1"
_MACROS = (b"TVM_FFI_DLL_EXPORT_SIGNATURE", b"TVM_FFI_DLL_EXPORT_TYPED_FUNC_WITH_SIGNATURE")


class FileChecks(NamedTuple):
    """The checks of the functions in some source files."""

    options: tuple[str, ...]
    """Compiler options for the source files; the generated file may be compiled with them, too."""
    text: str
    """Content of the generated file, which is valid in C11 and C++17."""


def file_checks(paths: Iterable[str]) -> FileChecks | None:
    """Return the checks of the functions that source files export; None if there are none.

    Parameters
    ----------
    paths : iterable of str
        The C, C++ and CUDA files of a library.

    Raises
    ------
    OSError
        If a file cannot be read or is not a regular file.
    """
    contents = []
    for path in paths:
        with open_regular(path) as file:
            contents.append(file.readall())
    if not any(macro in content for content in contents for macro in _MACROS):
        return None
    # Imported here, because most builds have no signature.
    from ..codegen.c import _checks_file
    from ..signature._source_text import checkable_exports

    signatures = checkable_exports(content.decode("utf-8", "replace") for content in contents)
    if not signatures:
        return None
    options = tuple(f"-D__tvm_ffi_{name}=tvm_ffi_unchecked_{name}" for name in signatures)
    return FileChecks(options, _checks_file(signatures))
