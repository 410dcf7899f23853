# SPDX-License-Identifier: Apache-2.0
"""Selection of a device image for the compute capability in the first argument.

The second argument is the index of the expected image, or the expected error message.
"""

from __future__ import annotations

import ctypes
import sys

import pytest
from fake_device import calls, driver, vector

from tvm_ffi import codegen, cpp


def image(architecture: str, form: str) -> codegen.DeviceImage:
    """Return a device image with one kernel."""
    number, suffix = int(architecture[3:].rstrip("af")), architecture.lstrip("sm_0123456789")
    if form == "ptx":
        text = f".version 8.0\n.target {architecture}\n.visible .entry k(.param .u64 x) {{ ret; }}"
        return codegen.DeviceImage(text.encode())
    header = bytearray(b"\x7fELF\x02\x01\x01" + bytes(57) + b"FAKE k ")
    header[18:20] = (190).to_bytes(2, "little")
    header[8] = 8  # the version of the image's ABI
    header[48:52] = (number << 8 | (8 if suffix == "a" else 0)).to_bytes(4, "little")
    return codegen.DeviceImage(bytes(header))


IMAGES = [
    image("sm_80", "cubin"),
    image("sm_89", "cubin"),
    image("sm_90a", "cubin"),
    image("sm_75", "ptx"),
    image("sm_100a", "ptx"),
    image("sm_86", "ptx"),
]
LAUNCH = "cuLaunchKernel(k on 0, grid 1 1 1, block 1 1 1, 0 bytes, stream 0)"

last_image = driver.fake_driver_last_image
last_image.restype = ctypes.c_void_p


def main(capability: int, expected: str) -> None:
    for device in (0, 1):
        driver.fake_driver_set_capability(device, capability)
    for formats in (IMAGES, IMAGES[::-1]):
        plan = codegen.make_launch_plan("k(x: float32[n])", formats, arguments=["x"])
        source = codegen.c.source_of([plan])
        for module in (codegen.launch_module(plan), cpp.load_inline("k", c_sources=[source])):
            calls()
            if expected.isdigit():
                module.k(vector())
                assert calls("cuLaunch") == [LAUNCH]
                content = IMAGES[int(expected)].content
                assert ctypes.string_at(last_image(), len(content)) == content
            else:
                with pytest.raises(RuntimeError) as caught:
                    module.k(vector())
                message = str(caught.value)
                assert message == expected + ", ".join(map(str, formats))
    print("done")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
