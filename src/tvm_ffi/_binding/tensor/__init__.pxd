# SPDX-License-Identifier: Apache-2.0
# Declarations of the extension module tvm_ffi._binding.tensor, one file per concept.
include "stream_choice.pxd"
include "exchange_api.pxd"
include "dlpack_export.pxd"
include "dlpack_protocol.pxd"
include "scoped_tensor.pxd"
include "tensor.pxd"
include "tensor_content.pxd"
include "torch_views.pxd"
