# SPDX-License-Identifier: Apache-2.0
# Declarations of the extension module tvm_ffi._binding.types, one file per concept.
include "type_metadata.pxd"
include "field.pxd"
include "reference_link.pxd"
