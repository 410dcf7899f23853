# SPDX-License-Identifier: Apache-2.0
"""Fuzz target of device images in Python: arbitrary bytes have attributes, or raise ValueError."""

from __future__ import annotations

import coverage_guided

with coverage_guided.instrumented(__name__):
    from tvm_ffi.codegen import DeviceImage


@coverage_guided.watched(__name__)
def check(data: bytes) -> None:
    """Read the attributes of a device image."""
    try:
        image = DeviceImage(data)
    except ValueError:
        return
    number, suffix = image.generation
    assert (image.architecture is None) or image.architecture.startswith("sm_")
    assert number >= 0
    assert suffix in ("", "a", "f")
    assert str(image)
    for name, sizes in (image.kernels or {}).items():
        assert isinstance(name, str)
        assert sizes is None or all(size >= 0 for size in sizes)


if __name__ == "__main__":
    coverage_guided.run(check)
