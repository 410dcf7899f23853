# SPDX-License-Identifier: Apache-2.0
"""Calls in both directions: functions, callbacks, argument binding and bound calls.

One extension module, compiled from the files below.  Their statements run in this order.  The
names of a file are visible in all other files.
"""

include "argument_error.pxi"
include "callback.pxi"
include "constructed.pxi"
include "extern_function.pxi"
include "guarded_call.pxi"
include "runtime_functions.pxi"
include "read_only_argument.pxi"
include "fallback_call.pxi"
include "function.pxi"
include "gc_traverse.pxi"
include "signature_call.pxi"
include "bound_call.pxi"
include "global_functions.pxi"
include "origin.pxi"
