# SPDX-License-Identifier: Apache-2.0
"""Functions as custom calls of XLA, which `tvm_ffi.interop.jax` makes."""
