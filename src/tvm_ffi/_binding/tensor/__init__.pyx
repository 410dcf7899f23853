# SPDX-License-Identifier: Apache-2.0
"""Tensors: DLPack import and export, and NumPy, CUDA and torch arrays as arguments.

One extension module, compiled from the files below.  The import of the module runs the statements
of the files in this order.  Each file can use the names of all the other files.
"""

include "cuda_array.pxi"
include "dlpack_export.pxi"
include "numpy_array.pxi"
include "read_only.pxi"
include "scoped_tensor.pxi"
include "tensor_content.pxi"
include "tensor.pxi"
include "dltensor_wrapper.pxi"
include "torch_views.pxi"
include "exchange_api.pxi"
include "dlpack_protocol.pxi"
include "torch_legacy.pxi"
include "buffer.pxi"
include "tensor_result.pxi"
