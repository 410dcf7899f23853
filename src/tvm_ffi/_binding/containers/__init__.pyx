# SPDX-License-Identifier: Apache-2.0
"""Native containers in Python: Array, List, Map, Dict and Shape.

All files of this folder form one extension module and share one namespace.  They are compiled in
the order below, so the module-level statements of a file run after those of earlier files.
"""

include "container.pxi"
include "mapping.pxi"
include "sequence.pxi"
include "shape.pxi"
