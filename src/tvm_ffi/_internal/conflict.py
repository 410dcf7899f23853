# SPDX-License-Identifier: Apache-2.0
"""Two distributions in one folder: the incumbent and this one are both imported as ``tvm_ffi``.

Installers let them overwrite each other.  Whatever came out of that, the incumbent's compiled
module ``core`` lies here as long as it is installed, and Python would prefer that to ours.
"""

from __future__ import annotations

import os
from _imp import extension_suffixes

__all__ = ["INCUMBENT", "REMEDY", "refuse_files_of_the_incumbent"]

INCUMBENT = "apache-tvm-ffi"
REMEDY = "pip uninstall -y apache-tvm-ffi pytvmffi && pip install pytvmffi"


def refuse_files_of_the_incumbent(folder: str) -> None:
    """Raise ImportError if the incumbent's compiled module lies in the package's folder."""
    for suffix in extension_suffixes():
        path = os.path.join(folder, f"core{suffix}")  # noqa: PTH118  (pathlib takes long to load)
        if os.path.exists(path):  # noqa: PTH110
            raise ImportError(
                f"{INCUMBENT} and pytvmffi are both installed and have overwritten each other's "
                f"files ({path} is not pytvmffi's); keep one of them, for example by `{REMEDY}`"
            )
