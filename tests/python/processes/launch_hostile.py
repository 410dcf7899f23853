# SPDX-License-Identifier: Apache-2.0
"""Launch programs with one changed byte are refused when read, or raise an error when run."""

from __future__ import annotations

import contextlib
import random

from fake_device import Allocator, vector
from launch_plans import PLANS

import tvm_ffi
from tvm_ffi.codegen._launch_module import image_parts, images_of
from tvm_ffi.codegen._launch_program import launch_program

ARGUMENTS = {
    "sizes": [(vector(),), (vector(), 1, vector())],
    "results": [(vector(),), (), (None,)],
    "whole": [(None, vector()), (vector(), None), (None, None)],
    "attributes": [(vector(),), (vector(), 4)],
    "choice": [(vector(8),), (None,)],
    "aligned": [(vector(),), (vector(), vector(byte_offset=4))],
}


def main() -> None:
    create = tvm_ffi.get_global_func("pytvmffi.CUDAModuleCreateWithPlans")
    random.seed(7)
    num_read = num_refused = 0
    for name, calls in ARGUMENTS.items():
        images = images_of([PLANS[name]])
        program = launch_program(PLANS[name], images)
        parts = [image_parts(image) for image in images]
        for offset in range(len(program)):
            changed = bytearray(program)
            changed[offset] ^= 1 << random.randrange(8)
            try:
                module = create(parts, [], [[name, "", "", bytes(changed)]])
            except (ValueError, MemoryError):
                num_refused += 1
                continue
            num_read += 1
            for args in calls:
                with contextlib.suppress(TypeError, ValueError, RuntimeError, MemoryError):
                    module[name](*args)
    assert num_read > 1000
    assert num_refused > 1000
    print("done")


if __name__ == "__main__":
    with Allocator():
        main()
