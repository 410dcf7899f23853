# SPDX-License-Identifier: Apache-2.0
"""Scalars, text, dtypes, devices, pointers and value protocols.

One extension module, compiled from the files below in this order: the statements of a file run
after those of the files before it.  Names of one file are visible in all of them.
"""

include "any.pxi"
include "handle.pxi"
include "pointer.pxi"
include "scalar.pxi"
include "value_protocols.pxi"
include "text.pxi"
include "device.pxi"
include "dtype.pxi"
include "native_value.pxi"
