# SPDX-License-Identifier: Apache-2.0
"""Compile Triton kernels, launch them on the stand-in driver, ship them without Triton."""

import os
from pathlib import Path

from copied_example import copied, output, readme_blocks
from over_stand_in import HERE, run_over_stand_in, stand_in

SETTINGS = {
    "TRITON_CACHE_DIR": str(Path.cwd() / "triton"),
    "TRITON_DEFAULT_FP_FUSION": "1",  # the default, set explicitly because Triton warns otherwise
}

# The example's program with a C kernel and a Triton kernel: without a GPU, and on the stand-in,
# which computes the kernel on the host.
languages = copied("aot_program") / "languages"
environment = {**os.environ, **SETTINGS}
output("python", "build.py", "build", "c", "triton", cwd=languages, env=environment)
lines = readme_blocks(languages, "")[0].splitlines()
expected = lines[:2] + lines[-2:]  # the results of C and Triton
printed = output("build/axpy", cwd=languages, env=environment).splitlines()
assert printed.pop(2) in ("triton   no GPU", expected[2])
assert printed == expected[:2] + expected[3:]
environment |= stand_in(HERE / "axpy_on_stand_in.c")
assert output("build/axpy", cwd=languages, env=environment).splitlines() == expected
symbols = output("nm", "--dynamic", "--undefined-only", "build/axpy", cwd=languages)
assert "Py" not in symbols
assert "TVMFFI" not in symbols  # the runtime is linked into the program

run_over_stand_in("triton_kernels.py", **SETTINGS)
