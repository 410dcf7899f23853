# SPDX-License-Identifier: Apache-2.0
"""A Python package from one file in C or C++: names checked, nothing overwritten.

`source` reads which functions the file exports, `names` says what the package may be called, and
`package` fills the files in ``template`` in.
"""

from .package import create_package

__all__ = ["create_package"]
