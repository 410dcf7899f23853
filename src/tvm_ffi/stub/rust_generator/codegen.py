# SPDX-License-Identifier: Apache-2.0
"""Text of Rust blocks, and of the Rust files that ``--init-*`` creates."""

from .._stubgen.rust.block_text import generate_rust_import_section, generate_rust_object
from .._stubgen.rust.module_tree import finalize_rust_module_tree, generate_rust_api_file

__all__ = [
    "finalize_rust_module_tree",
    "generate_rust_api_file",
    "generate_rust_import_section",
    "generate_rust_object",
]
