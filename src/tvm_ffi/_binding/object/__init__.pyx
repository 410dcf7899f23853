# SPDX-License-Identifier: Apache-2.0
"""Native objects in Python: wrapper classes, error conversion, and calls from native threads.

All files of this folder form one extension module and share one namespace.  They are compiled in
the order below, so the module-level statements of a file run after those of earlier files.
"""

include "borrowing.pxi"
include "compiled_class.pxi"
include "interpreter_gate.pxi"
include "public_name.pxi"
include "utf8.pxi"
include "release.pxi"
include "hooks.pxi"
include "class_table.pxi"
include "identity.pxi"
include "object.pxi"
include "object_metadata.pxi"
include "state_owner.pxi"
include "traceback.pxi"
include "error.pxi"
include "library.pxi"
