# SPDX-License-Identifier: Apache-2.0
"""XLA custom calls of functions, for `tvm_ffi.interop.jax`."""
