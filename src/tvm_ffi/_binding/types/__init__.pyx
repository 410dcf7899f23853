# SPDX-License-Identifier: Apache-2.0
"""Reflected native types in Python: fields, methods, constructors, attributes and registration.

All files of this folder form one extension module and share one namespace.  They are compiled in
the order below, so the module-level statements of a file run after those of earlier files.
"""

include "field.pxi"
include "type_metadata.pxi"
include "attribute.pxi"
include "reference_link.pxi"
include "constructor.pxi"
include "registration.pxi"
include "stored_value.pxi"
