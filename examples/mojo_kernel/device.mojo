# SPDX-License-Identifier: Apache-2.0
"""GPU kernel in Mojo.  The program is not run: compiling it writes the PTX of the kernel."""

from max.gpu import global_idx
from max.gpu.host import DeviceContext

comptime Address = Pointer[Float32, MutUntrackedOrigin]


def scale(x: Address, y: Address, n: Int64, factor: Float32):
    var i = Int(global_idx.x)
    if i < Int(n):
        y[unsafe_offset=i] = factor * x[unsafe_offset=i]


def main() raises:
    var kernel = DeviceContext().compile_function[scale]()
