# SPDX-License-Identifier: Apache-2.0
"""Stub generator ``tvm-ffi-stubgen``: Python stubs and Rust structs of registered types.

The tool fills the blocks between marker lines of source files.  The implementation is the private
package `_stubgen`; the other modules here re-export its names.  ``import tvm_ffi`` does not import
this package.
"""
