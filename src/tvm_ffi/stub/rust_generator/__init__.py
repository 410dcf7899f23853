# SPDX-License-Identifier: Apache-2.0
"""The Rust target of the stub generator: structs for crates that use the ``tvm-ffi`` crate."""

from .generator import RustGenerator

__all__ = ["RustGenerator"]
