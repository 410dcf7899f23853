# SPDX-License-Identifier: Apache-2.0
"""Native objects in Python: handles, references, errors both ways, and entering the interpreter.

One extension module, compiled from the files below in this order: the statements of a file run
after those of the files before it.  Names of one file are visible in all of them.
"""

include "borrowing.pxi"
include "compiled_class.pxi"
include "interpreter_gate.pxi"
include "public_name.pxi"
include "release.pxi"
include "hooks.pxi"
include "object.pxi"
include "object_metadata.pxi"
include "state_owner.pxi"
include "traceback.pxi"
include "error.pxi"
include "library.pxi"
