# SPDX-License-Identifier: Apache-2.0
"""Creation of a Python package from one C or C++ file (`tvm-ffi new`).

The module `source` reads the exported functions of the file, `names` checks the name of the
package, and `package` fills in the template files in the folder ``template``.
"""

from .package import create_package

__all__ = ["create_package"]
