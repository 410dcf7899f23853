# SPDX-License-Identifier: Apache-2.0
"""Compile Helion kernels, launch them on the stand-in driver, ship them without Helion."""

from pathlib import Path

from over_stand_in import run_over_stand_in

run_over_stand_in(
    "helion_kernels.py",
    TRITON_CACHE_DIR=str(Path.cwd() / "triton"),
    TORCHINDUCTOR_CACHE_DIR=str(Path.cwd() / "inductor"),
    TRITON_DEFAULT_FP_FUSION="1",  # the default, set explicitly because Helion warns otherwise
)
