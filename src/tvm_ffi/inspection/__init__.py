# SPDX-License-Identifier: Apache-2.0
"""Inspection of library files: functions, needed symbols, embedded modules, device code.

The functions read a library file without loading it, so the library may be untrusted and for any
machine.  The command `tvm-ffi inspect` prints their reports.

>>> from tvm_ffi import inspection, libinfo
>>> report = inspection.inspect_library(libinfo.find_libtvm_ffi())
>>> report.soname, report.functions, report.problems
('libtvm_ffi.so', (), ())
"""

from .._library.elf import LibraryFileError
from ._compare import Change, LibraryDifference, compare_libraries
from ._read import inspect_library, version_key
from ._report import (
    DeviceCodeReport,
    EraReport,
    FunctionReport,
    LibraryReport,
    ModuleReport,
    SymbolReport,
)

__all__ = [
    "Change",
    "DeviceCodeReport",
    "EraReport",
    "FunctionReport",
    "LibraryDifference",
    "LibraryFileError",
    "LibraryReport",
    "ModuleReport",
    "SymbolReport",
    "compare_libraries",
    "inspect_library",
    "version_key",
]
