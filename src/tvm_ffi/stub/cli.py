# SPDX-License-Identifier: Apache-2.0
"""Command line ``tvm-ffi-stubgen``, also ``python -m tvm_ffi.stub.cli``.

tvm-ffi-stubgen python/my_package --dlls build/libmy_package.so
tvm-ffi-stubgen --library build/libkernels.so --output python/my_package/kernels.pyi
"""

from ._stubgen.command_line import main as __main__

if __name__ == "__main__":
    raise SystemExit(__main__())
