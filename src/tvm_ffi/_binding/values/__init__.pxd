# SPDX-License-Identifier: Apache-2.0
# Declarations of the extension module tvm_ffi._binding.values, one file per concept.
include "any.pxd"
include "device.pxd"
include "dtype.pxd"
include "handle.pxd"
include "pointer.pxd"
include "scalar.pxd"
include "value_protocols.pxd"
include "text.pxd"
