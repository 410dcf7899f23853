# SPDX-License-Identifier: Apache-2.0
"""Calls in both directions: functions, callbacks, argument binding and prepared calls.

One extension module, compiled from the files below.  The import of the module runs the statements
of the files in this order.  Each file can use the names of all the other files.
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
include "slow_call.pxi"
include "gc_traverse.pxi"
include "signature_call.pxi"
include "prepared_call.pxi"
include "changed_call.pxi"
include "call_sequence.pxi"
include "global_functions.pxi"
include "origin.pxi"
