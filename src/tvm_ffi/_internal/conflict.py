# SPDX-License-Identifier: Apache-2.0
"""Detection of files of apache-tvm-ffi, or for another Python, in the folder of this package.

Both distributions, apache-tvm-ffi (the incumbent) and pytvmffi, install a package ``tvm_ffi``, and
installers let one overwrite files of the other.  The incumbent is detected by its compiled module
``core``, which Python would import in preference to pytvmffi's ``core.py``.
"""

from __future__ import annotations

import os
from _imp import extension_suffixes

__all__ = [
    "INCUMBENT",
    "REMEDY",
    "refuse_binaries_of_another_python",
    "refuse_files_of_the_incumbent",
]

INCUMBENT = "apache-tvm-ffi"
REMEDY = "pip uninstall -y apache-tvm-ffi pytvmffi && pip install pytvmffi"


def refuse_files_of_the_incumbent(folder: str) -> None:
    """Raise ImportError if `folder` contains the compiled module ``core`` of apache-tvm-ffi."""
    for suffix in extension_suffixes():
        path = os.path.join(folder, f"core{suffix}")  # noqa: PTH118  (importing pathlib is slow)
        if os.path.exists(path):  # noqa: PTH110
            raise ImportError(
                f"{INCUMBENT} and pytvmffi are both installed and have overwritten each other's "
                f"files ({path} is not pytvmffi's); keep one of them, for example by `{REMEDY}`"
            )


def refuse_binaries_of_another_python(folder: str) -> None:
    """Raise ImportError if the extension module in `folder` was built for another Python only."""
    suffixes = extension_suffixes()
    modules = [name for name in os.listdir(folder) if name.startswith("__init__.c")]  # noqa: PTH208
    if modules and not any(f"__init__{suffix}" in modules for suffix in suffixes):
        built = ", ".join(sorted(name[len("__init__") :] for name in modules))
        raise ImportError(
            f"pytvmffi in {folder} was built for another Python: its extension modules end with "
            f"{built}, and this Python imports {suffixes[0]}; install pytvmffi with this Python"
        )
