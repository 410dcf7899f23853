# SPDX-License-Identifier: Apache-2.0
"""The compiled half of the package: one extension module per folder, over the C ABI alone.

``abi.pxd`` declares the C ABI; ``cpython.pxd``, ``interpreter.pxd`` and ``vectorcall.pxd`` declare
the parts of CPython that Cython does not; ``hooks.pxd`` is the table of calls from lower to higher
layers.  The ``__init__.pyx`` of a folder includes its files.  Each folder uses the ones before:

``object``      handles, errors both ways, entering Python, the runtime's access to the interpreter
``convert``     conversion tables, the order of their rules, argument views
``values``      scalars, text, dtype, device
``tensor``      tensors and DLPack, NumPy and torch
``call``        native calls Python, Python calls native
``containers``  sequences and mappings
``types``       fields, methods and constructors of native types
"""

import os as _os

from .._internal.conflict import refuse_files_of_the_incumbent
from .main_interpreter import refuse_other_interpreters

# Here, because whatever of this package is loaded loads the binding.
refuse_other_interpreters()
refuse_files_of_the_incumbent(_os.path.dirname(_os.path.dirname(__file__)))  # noqa: PTH120
