# SPDX-License-Identifier: Apache-2.0
"""Adapters: one module for each framework, compiler and kernel language that we meet.

Import the one that you need, as in ``from tvm_ffi.interop import numba``.  Nothing else of this
package imports them, and each imports the software that it is named after.
"""
