# SPDX-License-Identifier: Apache-2.0
"""The compiled half of the package: one extension module per concept, over the C ABI alone.

``abi.pxd`` declares the C ABI; ``interpreter.pxd`` and ``vectorcall.pxd`` what CPython has beyond
Cython's own declarations.  The folders, each built on the ones before:

``object``      handles, errors both ways, entering Python, what native libraries are owed
``convert``     which conversion a value takes: tables, order of the rules, loans
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
