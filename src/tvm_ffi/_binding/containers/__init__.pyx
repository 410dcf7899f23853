# SPDX-License-Identifier: Apache-2.0
"""Arrays, lists, maps, dicts and shapes.

One extension module, compiled from the files below in this order: the statements of a file run
after those of the files before it.  Names of one file are visible in all of them.
"""

include "container.pxi"
include "mapping.pxi"
include "sequence.pxi"
include "shape.pxi"
