# SPDX-License-Identifier: Apache-2.0
"""Conversion tables: packers per Python type, unpackers per native type, and argument views.

One extension module, compiled from the files below in this order: the statements of a file run
after those of the files before it.  Names of one file are visible in all of them.
"""

include "argument_view.pxi"
include "table.pxi"
