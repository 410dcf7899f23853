# SPDX-License-Identifier: Apache-2.0
# Declarations of the extension module tvm_ffi._binding.object, one file per concept.
include "borrowing.pxd"
include "compiled_class.pxd"
include "interpreter_gate.pxd"
include "object.pxd"
include "identity.pxd"
include "../hooks.pxd"
include "error.pxd"
include "object_metadata.pxd"
include "release.pxd"
include "traceback.pxd"
include "utf8.pxd"
