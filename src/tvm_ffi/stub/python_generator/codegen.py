# SPDX-License-Identifier: Apache-2.0
"""Text of Python blocks, and of the Python files that ``--init-*`` creates."""

from .._stubgen.python.block_text import (
    generate_python_all,
    generate_python_export,
    generate_python_global_funcs,
    generate_python_import_section,
    generate_python_object,
)
from .._stubgen.python.package_files import generate_python_ffi_api, generate_python_init

__all__ = [
    "generate_python_all",
    "generate_python_export",
    "generate_python_ffi_api",
    "generate_python_global_funcs",
    "generate_python_import_section",
    "generate_python_init",
    "generate_python_object",
]
