# SPDX-License-Identifier: Apache-2.0
# Declarations of the extension module tvm_ffi._binding.call, one file per concept.
include "argument_error.pxd"
include "argument_binder.pxd"
include "callback.pxd"
include "constructed.pxd"
include "gc_traverse.pxd"
include "extern_function.pxd"
include "function.pxd"
include "guarded_call.pxd"
include "runtime_functions.pxd"
include "signature_call.pxd"
include "read_only_argument.pxd"
include "fallback_call.pxd"
