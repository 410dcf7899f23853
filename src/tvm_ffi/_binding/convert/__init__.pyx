# SPDX-License-Identifier: Apache-2.0
"""Conversion tables: packers per Python type, unpackers per native type, and argument views.

One extension module, compiled from the files below.  The import of the module runs the statements
of the files in this order.  Each file can use the names of all the other files.
"""

include "argument_view.pxi"
include "table.pxi"
