# SPDX-License-Identifier: Apache-2.0
"""XLA custom calls that call TVM FFI functions, for `tvm_ffi.interop.jax`."""
