# SPDX-License-Identifier: Apache-2.0
# Declarations of the extension module tvm_ffi._binding.containers, one file per concept.
include "memory.pxd"
include "container.pxd"
