# SPDX-License-Identifier: Apache-2.0
"""The Rust implementation of `tvm_ffi.stub.generator.Generator`."""

from .._stubgen.rust.generator import RustGenerator

__all__ = ["RustGenerator"]

RustGenerator.__module__ = __name__
