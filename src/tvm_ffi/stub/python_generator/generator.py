# SPDX-License-Identifier: Apache-2.0
"""The Python implementation of `tvm_ffi.stub.generator.Generator`."""

from .._stubgen.python.generator import PythonGenerator

__all__ = ["PythonGenerator"]

PythonGenerator.__module__ = __name__
