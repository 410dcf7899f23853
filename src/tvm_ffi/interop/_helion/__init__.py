# SPDX-License-Identifier: Apache-2.0
"""Execution of a Helion kernel's host code without a GPU, for `tvm_ffi.interop.helion`."""
