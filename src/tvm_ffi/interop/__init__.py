# SPDX-License-Identifier: Apache-2.0
"""Adapters for frameworks, compilers and kernel languages: one module for each of them.

Import the adapter that you need, as in ``from tvm_ffi.interop import numba``.  No other module of
this package imports an adapter, and each adapter imports the framework that it is named after.
"""
