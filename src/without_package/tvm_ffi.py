# SPDX-License-Identifier: Apache-2.0
"""Module that is installed as ``tvm_ffi.py`` beside the package ``tvm_ffi``.

Python prefers the package, and imports this module only if the package has no ``__init__.py``.
That is so if pytvmffi and apache-tvm-ffi were both installed and one of them was uninstalled: the
installer then deletes the files of one path that both have.
"""

import os

_FOLDER = os.path.splitext(__file__)[0]  # noqa: PTH122  (importing pathlib is slow)
_REMEDY = "pip uninstall -y apache-tvm-ffi pytvmffi && pip install pytvmffi"

raise ImportError(
    f"files of pytvmffi are missing ({os.path.join(_FOLDER, '__init__.py')}), "  # noqa: PTH118
    f"probably because apache-tvm-ffi, which has files of the same names, was uninstalled; repair "
    f"the environment by `{_REMEDY}`"
)
