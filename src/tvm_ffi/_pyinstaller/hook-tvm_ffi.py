# SPDX-License-Identifier: Apache-2.0
"""PyInstaller hook: the files of the package that an analysis of its Python code does not find.

These are the modules that the compiled binding imports, the modules that are loaded late by name,
and the libraries that adapters open.
"""

from __future__ import annotations

from PyInstaller.utils.hooks import (  # type: ignore[import-untyped,unused-ignore]
    collect_data_files,
    collect_submodules,
)

# Parts that a frozen program does not need, or whose third-party packages may not be installed.  A
# program that imports one of them gets it all the same.
_OMITTED = ("_new_package", "_pyinstaller", "cli", "codegen.llvm", "interop", "stub", "testing")


def _is_collected(name: str) -> bool:
    part = name.removeprefix("tvm_ffi.")
    return not any(part == omitted or part.startswith(f"{omitted}.") for omitted in _OMITTED)


hiddenimports = collect_submodules("tvm_ffi", filter=_is_collected)
datas = collect_data_files("tvm_ffi", includes=["codegen/*.h", "lib/libtvm_ffi_xla.so"])
# Imported by functions for values of these packages; programs that use them import them.
excludedimports = ["jax", "llvmlite", "ml_dtypes", "numba", "pytest", "tensorflow", "torch"]
