# SPDX-License-Identifier: Apache-2.0
"""Stub generator ``tvm-ffi-stubgen``: Python stubs and Rust structs of registered types.

The tool fills the blocks between marker lines of source files.  The private package `_stubgen` is
its implementation; the other modules of this package re-export names from there.
``import tvm_ffi`` does not import this package.
"""
