# SPDX-License-Identifier: Apache-2.0
"""Imports of a Python file, and stubs of functions and classes without signatures."""

from .._stubgen.python.class_stubs import (
    render_func_signature,
    render_object_ffi_init,
    render_object_fields,
    render_object_init,
    render_object_methods,
)
from .._stubgen.python.imports import ImportItem, PythonImports

__all__ = [
    "ImportItem",
    "PythonImports",
    "render_func_signature",
    "render_object_ffi_init",
    "render_object_fields",
    "render_object_init",
    "render_object_methods",
]

ImportItem.__module__ = PythonImports.__module__ = __name__
