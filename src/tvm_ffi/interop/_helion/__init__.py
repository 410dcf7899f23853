# SPDX-License-Identifier: Apache-2.0
"""What the host code of a kernel does, without a GPU, for `tvm_ffi.interop.helion`."""
