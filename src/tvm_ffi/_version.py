# SPDX-License-Identifier: Apache-2.0
"""The version of the package, written here and nowhere else; the build reads it from this file.

The first three numbers are the level of the Python package contract that is implemented, because
other packages compare them; releases of this implementation count in the ``post`` part.  The level
of the C ABI is a different one: see ``TVM_FFI_VERSION_*`` in ``tvm/ffi/c_api.h``.
"""

from __future__ import annotations

__version__ = "0.1.15.post100"
__version_tuple__: tuple[int | str, ...] = tuple(
    int(part) if part.isdigit() else part for part in __version__.split(".")
)

# Other names of them, which packages also read.
version, version_tuple = __version__, __version_tuple__
