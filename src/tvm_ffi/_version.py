# SPDX-License-Identifier: Apache-2.0
"""The version of the package; the build reads it from this file.

The first three numbers are the release of ``apache-tvm-ffi`` whose Python interface this package
implements, because third-party packages compare them with the release that they need.  The ``post``
part counts the releases of this package.  The level of the
C ABI is separate: see ``TVM_FFI_VERSION_*`` in ``tvm/ffi/c_api.h``.
"""

from __future__ import annotations

__version__ = "0.1.15.post100"
__version_tuple__: tuple[int | str, ...] = tuple(
    int(part) if part.isdigit() else part for part in __version__.split(".")
)

# Aliases that third-party packages import.
version, version_tuple = __version__, __version_tuple__
