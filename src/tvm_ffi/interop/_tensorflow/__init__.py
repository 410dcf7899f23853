# SPDX-License-Identifier: Apache-2.0
"""TensorFlow operators that call TVM FFI functions, for `tvm_ffi.interop.tensorflow`."""
