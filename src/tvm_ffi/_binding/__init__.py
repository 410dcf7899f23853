# SPDX-License-Identifier: Apache-2.0
"""The binding: the compiled part of the package, one extension module per folder.

The binding uses the runtime through the C ABI only.

``abi.pxd`` declares the C ABI; ``cpython.pxd``, ``interpreter.pxd`` and ``vectorcall.pxd`` declare
the parts of CPython that Cython does not; ``hooks.pxd`` declares the functions of higher layers
that lower layers call.  The ``__init__.pyx`` of a folder includes the folder's files.  Each folder
uses only the folders listed before it:

``object``      wrappers of native objects, conversion of errors, calls from native threads
``convert``     choice of the conversion for each Python type, argument views
``values``      scalars, strings, dtype, device
``tensor``      tensors and DLPack, NumPy and torch
``call``        calls from Python to native code and back
``containers``  sequences and mappings
``types``       fields, methods and constructors of native types
"""

import os as _os

from .._internal.conflict import refuse_binaries_of_another_python, refuse_files_of_the_incumbent
from .main_interpreter import refuse_other_interpreters

# The functions are called here, because every import of the package imports this module first.
refuse_other_interpreters()
refuse_files_of_the_incumbent(_os.path.dirname(_os.path.dirname(__file__)))  # noqa: PTH120
refuse_binaries_of_another_python(_os.path.join(_os.path.dirname(__file__), "object"))  # noqa: PTH118, PTH120
if hasattr(_os, "add_dll_directory"):  # Windows, whose modules have no run path
    _os.add_dll_directory(_os.path.join(_os.path.dirname(_os.path.dirname(__file__)), "lib"))  # noqa: PTH118, PTH120
