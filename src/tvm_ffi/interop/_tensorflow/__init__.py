# SPDX-License-Identifier: Apache-2.0
"""Functions as operators of TensorFlow's graphs, which `tvm_ffi.interop.tensorflow` makes."""
