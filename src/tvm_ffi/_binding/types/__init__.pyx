# SPDX-License-Identifier: Apache-2.0
"""Reflected types: fields, methods, constructors, attributes and registration.

One extension module, compiled from the files below in this order: the statements of a file run
after those of the files before it.  Names of one file are visible in all of them.
"""

include "field.pxi"
include "type_metadata.pxi"
include "attribute.pxi"
include "reference_link.pxi"
include "constructor.pxi"
include "registration.pxi"
include "stored_value.pxi"
