# SPDX-License-Identifier: Apache-2.0
"""What is in a shared library, read from its file: functions, needs, embedded modules.

Nothing is loaded and nothing run, so a library may come from anywhere and be for any machine.  The
command `tvm-ffi inspect` prints what these functions return.

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
