# SPDX-License-Identifier: Apache-2.0
"""Scalars, text, dtypes, devices, pointers and value protocols.

One extension module, compiled from the files below.  The import of the module runs the statements
of the files in this order.  Each file can use the names of all the other files.
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
