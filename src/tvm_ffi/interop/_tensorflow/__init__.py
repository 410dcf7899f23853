# SPDX-License-Identifier: Apache-2.0
"""TensorFlow graph operators that call functions, for `tvm_ffi.interop.tensorflow`."""
