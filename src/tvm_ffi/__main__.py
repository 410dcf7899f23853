# SPDX-License-Identifier: Apache-2.0
"""Entry point of ``python -m tvm_ffi``, which is the command ``tvm-ffi``."""

from .cli import main

if __name__ == "__main__":
    raise SystemExit(main())
