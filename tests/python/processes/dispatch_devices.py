# SPDX-License-Identifier: Apache-2.0
"""A program that calls dispatches on two fake GPUs, whose compute capabilities are the arguments.

The dynamic loader must find the fake CUDA driver first.  The last printed line is ``done``.
"""

from __future__ import annotations

import random
import sys

import pytest
from fake_device import calls, driver, vector

import tvm_ffi
from tvm_ffi import codegen

# Name, architecture, condition on n, priority.
CANDIDATES = [
    ("any", None, 1, 0),
    ("sm_80", "sm_80", 1, 1),
    ("sm_80 of 4", "sm_80", 4, 2),
    ("sm_86", "sm_86", 2, 3),
    ("sm_89", "sm_89", 3, 3),
    ("sm_90", "sm_90", 1, 4),
    ("sm_90a", "sm_90a", 2, 9),
    ("sm_100", "sm_100", 1, 5),
    ("sm_100f", "sm_100f", 2, 8),
    ("sm_103a", "sm_103a", 3, 9),
    ("sm_120", "sm_120", 2, 6),
    ("sm_121a", "sm_121a", 1, 7),
]


def fits(arch, capability):
    """Return True if a GPU runs code for an architecture."""
    if arch is None:
        return True
    number = int(arch[3:].rstrip("af"))
    if arch.endswith("a"):
        return number == capability
    if arch.endswith("f"):
        return number // 10 == capability // 10 and number <= capability
    return number <= capability


def oracle(capability, n):
    """Return the name of the candidate that a call must use."""
    best = None
    for name, arch, multiple, priority in CANDIDATES:
        if fits(arch, capability) and n % multiple == 0 and (best is None or priority > best[0]):
            best = priority, name
    return best[1]


def main(capabilities):
    for device, capability in enumerate(capabilities):
        driver.fake_driver_set_capability(device, capability)
    d = tvm_ffi.dispatch("f(x: float32[n]) -> str")
    for name, arch, multiple, priority in CANDIDATES:
        when = f"n % {multiple} == 0" if multiple != 1 else None
        d.add(lambda x, name=name: name, name=name, arch=arch, when=when, priority=priority)
    rng = random.Random(35)
    vectors = {(n, i): vector(n, (2, i)) for n in range(1, 13) for i in (0, 1)}
    for _ in range(2000):
        n, device = rng.randrange(1, 13), rng.randrange(2)
        expected = oracle(capabilities[device], n)
        assert d(vectors[n, device]) == expected, (n, device, expected)
    check_reasons(capabilities)
    check_launch_plans()
    print("done")


def check_reasons(capabilities):
    d = tvm_ffi.dispatch("f(x: float32[n])")
    d.add(lambda x: None, name="newest", arch="sm_130")
    d.add(lambda x: None, name="host", device="cpu")
    with pytest.raises(ValueError, match="no candidate fits") as caught:
        d(vector(3, (2, 1)))
    assert str(caught.value) == (
        "f(): no candidate fits the arguments:\n"
        f"  newest: needs sm_130, cuda:1 has sm_{capabilities[1]}\n"
        "  host: runs on cpu, the arguments are on cuda:1"
    )


def check_launch_plans():
    ptx = b".version 7.0\n.target sm_50\n.visible .entry k(.param .u64 x) { ret; }"
    plan = codegen.make_launch_plan("k(x: float32[n])", ptx, arguments=["x"], block=32)
    d = tvm_ffi.dispatch("f(x: float32[n])")
    d.add(plan, device="cuda", when="n > 4")
    d.add(lambda x: None, name="host")
    calls()
    d(vector(8))
    d(vector(3))
    assert len(calls("cuLaunchKernel(k on 0")) == 1
    h = d.prepare(vector(8))
    h()
    h()
    assert len(calls("cuLaunchKernel(k on 0")) == 2


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]])
