# SPDX-License-Identifier: Apache-2.0
"""The binding: the compiled part of the package, one extension module per folder.

It uses the runtime through the C ABI only.

``abi.pxd`` declares the C ABI; ``cpython.pxd``, ``interpreter.pxd`` and ``vectorcall.pxd`` declare
the parts of CPython that Cython does not; ``hooks.pxd`` is the table of calls from lower to higher
layers.  The ``__init__.pyx`` of a folder includes its files.  Each folder uses the ones listed
before it:

``object``      handles, conversion of errors, entry into Python, the runtime's access to Python
``convert``     conversion tables, precedence of their rules, argument views
``values``      scalars, strings, dtype, device
``tensor``      tensors and DLPack, NumPy and torch
``call``        calls from Python to native code and back
``containers``  sequences and mappings
``types``       fields, methods and constructors of native types
"""

import os as _os

from .._internal.conflict import refuse_files_of_the_incumbent
from .main_interpreter import refuse_other_interpreters

# These checks are here because every import of the package imports the binding.
refuse_other_interpreters()
refuse_files_of_the_incumbent(_os.path.dirname(_os.path.dirname(__file__)))  # noqa: PTH120
