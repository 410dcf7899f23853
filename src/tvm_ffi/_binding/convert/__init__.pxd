# SPDX-License-Identifier: Apache-2.0
# Declarations of the extension module tvm_ffi._binding.convert, one file per concept.
include "argument_view.pxd"
include "precedence.pxd"
include "table.pxd"
