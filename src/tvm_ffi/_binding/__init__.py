# SPDX-License-Identifier: Apache-2.0
"""The compiled half of the package: one extension module per concept, over the C ABI alone.

``abi.pxd`` declares the C ABI; ``interpreter.pxd`` and ``vectorcall.pxd`` what CPython has beyond
Cython's own declarations.  The folders, each built on the ones before:

``object``      handles, errors both ways, what the process owes to native libraries
``convert``     which conversion a value takes: tables, order of the rules, loans
``values``      scalars, text, dtype, device
``tensor``      tensors and DLPack, NumPy and torch
``call``        native calls Python, Python calls native
``containers``  sequences and mappings
``types``       fields, methods and constructors of native types
"""
