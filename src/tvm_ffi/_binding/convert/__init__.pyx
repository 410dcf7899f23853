# SPDX-License-Identifier: Apache-2.0
"""Conversion tables: packers per Python type, unpackers per native type, and argument views.

One extension module, compiled from the files below.  Their statements run in this order.  The
names of a file are visible in all other files.
"""

include "argument_view.pxi"
include "table.pxi"
