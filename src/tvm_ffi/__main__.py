# SPDX-License-Identifier: Apache-2.0
"""``python -m tvm_ffi``: the command ``tvm-ffi``."""

from .cli import main

if __name__ == "__main__":
    raise SystemExit(main())
