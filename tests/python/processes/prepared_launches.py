# SPDX-License-Identifier: Apache-2.0
"""Prepared calls of launch plans on the fake CUDA driver.

The last printed line is ``done``.
"""

from __future__ import annotations

import copy
import ctypes
import functools
import random
import sys
import threading
from ctypes import c_float, c_int32, c_int64, c_void_p

import pytest
from fake_device import Allocator, calls, driver, run_at_launch, vector
from forged import Source, Tensor
from launch_plans import PLANS, at, ptx

import tvm_ffi
from tvm_ffi import codegen
from tvm_ffi.libinfo import load_lib_ctypes

SCALE_VALUES = c_void_p, c_float, c_void_p, c_int32
ADD = codegen.make_launch_plan(
    "add(x: float32[n, m] strided, y: out float32[n, m], k: int)",
    ptx({"add": "lllll"}),
    arguments=["x", "y", "x.strides[0]", "x.strides[1]", "k"],
    grid="cdiv(n*m, k)",
)
module = codegen.launch_module([*PLANS.values(), ADD])


def launched(run) -> tuple[list[str], list[object]]:
    """Return the driver calls during a run, and the addresses of the kernel argument arrays."""
    arrays: list[object] = []
    calls()
    with run_at_launch(lambda launch: arrays.append(ctypes.cast(launch.params, c_void_p).value)):
        run()
    return calls(), arrays


def values(run, types=SCALE_VALUES) -> tuple[object, ...]:
    """Return the kernel arguments of the launch during a run."""
    seen: list[tuple[object, ...]] = []
    with run_at_launch(lambda launch: seen.append(launch.values(*types))):
        run()
    (found,) = seen
    return found


def check_repetition() -> None:
    x, y, other = vector(), vector(), vector()
    h = module.scale.prepare(x, y, a=1.5)
    h()
    expected = ["cuLaunchKernel(scale_kernel on 0, grid 3 2 1, block 128 1 1, 0 bytes, stream 0)"]
    (lines, arrays), (again, same) = launched(h), launched(h)
    assert lines == again == expected
    assert arrays == same
    assert values(h) == (x.address, 1.5, y.address, 12)
    # Another address, in one run and in all later runs.
    assert values(lambda: h(x=other)) == (other.address, 1.5, y.address, 12)
    lines, arrays = launched(lambda: h(x=other))
    assert (lines, arrays) == (expected, same)
    assert values(h) == (x.address, 1.5, y.address, 12)
    h.x = other
    assert launched(h) == (expected, same)
    assert values(h) == (other.address, 1.5, y.address, 12)
    h.update(x=x.address, a=3)
    assert values(h) == (x.address, 3.0, y.address, 12)


def check_sizes() -> None:
    """Test that the grid follows its numbers, and a refused number changes nothing."""
    x = vector()
    h = module.zero.prepare(x, 4)
    for k, grid in ((4, 3), (3, 4), (3, 4), (12, 1), (4, 3)):
        h.k = k
        assert f"grid {grid} 1 1" in launched(h)[0][-1]
    for k, text in ((0, "divides by zero"), (-1, "got -12")):
        with pytest.raises(ValueError, match=text):
            h(k=k)
        assert "grid 3 1 1" in launched(h)[0][-1]


def check_addresses() -> None:
    """Test that the checks of addresses hold in repetitions."""
    h = module.aligned.prepare(at(64), at(16))
    h()
    for changes, text in (({"x": at(16)}, "aligned to 64 bytes"), ({"y": at(8)}, "to 16 bytes")):
        with pytest.raises(ValueError, match=text):
            h(**changes)
        with pytest.raises(ValueError, match=text):
            h.update(**changes)
        h()
    x, y = vector(), vector()
    h = module.scale.prepare(x, y)
    h()
    with pytest.raises(ValueError, match="overlap"):
        h(x=y)
    with pytest.raises(ValueError, match="overlap"):
        h(y=x)
    assert values(h) == (x.address, 2.0, y.address, 12)


def context(device: int | None) -> None:
    """Make a context current on this thread: of a device, or the one that no kernel has."""
    if device is None:
        driver.fake_driver_use_another_context()
        return
    found = c_void_p()
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(found), device) == 0
    assert driver.cuCtxSetCurrent(found) == 0
    assert driver.cuDevicePrimaryCtxRelease_v2(device) == 0


def check_contexts() -> None:
    """Test launches under each current context, which they do not change."""
    h = module.scale.prepare(vector(device=(2, 1)), vector(device=(2, 1)))
    for device, number in ((1, 1), (0, 0), (None, 100), (1, 1)):
        context(device)
        for _ in range(2):
            assert values(h)[3] == 12
            assert driver.fake_driver_current_context() == number
    context(0)
    for wanted in (2, 1):  # the first launch is refused
        assert len([line for line in launched(h)[0] if "cuLaunch" in line]) == wanted
    context(1)
    assert len(launched(h)[0]) == 2  # asks for the context once more
    assert len(launched(h)[0]) == 1
    found: list[object] = []

    def run() -> None:
        found.extend((values(h)[3], values(h)[3], driver.fake_driver_current_context()))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [12, 12, -1]
    # Without tensors, the kernel runs on the current device.
    h = module.product.prepare(2)
    for device in (0, 1, 1, 0):
        context(device)
        assert f"product on {device}, grid 4" in launched(h)[0][-1]
    context(0)


def check_memory() -> None:
    types = (c_void_p,) * 4
    with Allocator() as allocator:
        x = vector(5)
        h = module.workspace.prepare(x, 25)
        result = h()
        allocator.requests.clear()
        first, again = values(h, types), values(h, types)
        assert first[1:3] == again[1:3]  # the workspaces; first[3] is a result
        assert allocator.requests == [(5,), (5,)]
        kept = [h(), h(x=vector(5))]
        assert len({id(t) for t in kept}) == len({t.data_ptr() for t in (*kept, result)}) - 1 == 2
        changed = functools.partial(h, k=26)
        assert values(changed, types)[0] == x.address
        assert allocator.requests[-3:] == [(5,), (26 * 4 + 255,), (5 + 255,)]
        # A failure frees the workspaces.
        num_alive = len(allocator.alive)
        driver.fake_driver_fail(b"cuLaunchKernel", 719, 0)
        with pytest.raises(RuntimeError, match="kernel `workspace` on cuda:0"):
            h(k=27)
        assert len(allocator.alive) == num_alive - 2
        assert h().shape == (5,)
        y, z = module.whole.prepare(None, Source((2, 3), (3, 1), device=(2, 0)))()
        assert (y.shape, z.shape) == ((2, 3, 2), (3, 2, 3))
        del kept, result, y, z, h, changed
        assert not allocator.alive
    with Allocator() as allocator:
        # Results in repetitions, also after a change of an address.
        h = module.one_result.prepare(vector(3))
        found: list[object] = []
        with run_at_launch(lambda launch: found.append(launch.values(*types[:2])[1])):
            results = [h(), h(x=vector(3)), h(), h(x=vector(3))]
        assert found == [result.data_ptr() for result in results]
        del results, h
        assert not allocator.alive


def check_capture() -> None:
    """Test that the driver sees only launches while a stream is captured."""
    x, y, stream = vector(), vector(), c_void_p(0x77)
    h = module.attributes.prepare(x)
    with Allocator() as allocator, tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 0), 0x77):
        for h in (module.scale.prepare(x, y), module.attributes.prepare(x)):
            h()
            assert driver.cuStreamBeginCapture_v2(stream, 0) == 0
            (line,), _ = launched(h)
            assert driver.cuStreamEndCapture(stream, ctypes.byref(c_void_p())) == 0
            assert "stream 0x77" in line
        assert not allocator.requests


def check_failures() -> None:
    h = module.scale.prepare(vector(), vector())
    h()
    # The driver refuses a launch without the context of the kernel with status 400 or 201.
    for failures in ([719], [400, 400], [201, 719]):
        h()
        for skip, status in enumerate(failures):
            driver.fake_driver_fail(b"cuLaunchKernel", status, skip)
        with pytest.raises(RuntimeError, match=r"kernel `scale_kernel` on cuda:0 with grid \(3,"):
            h()
        driver.fake_driver_reset()
        context(0)
        assert values(h)[3] == 12


def check_observers() -> None:
    h = module.scale.prepare(vector(), vector())
    h()
    with tvm_ffi.stats(["scale"]) as stats:
        h()
        tvm_ffi.run([h, h])
    h()
    assert stats["scale"].calls == 3
    with tvm_ffi.stats(["scale"]) as stats:
        module.scale.prepare(vector(), vector())()
    assert stats["scale"].calls == 1


def check_copies() -> None:
    """Test that copies have kernel arguments of their own."""
    x, y, other = vector(), vector(), vector()
    h = module.scale.prepare(x, y)
    h()
    second = copy.copy(h)
    second.x = other
    found: list[object] = []

    def nested(launch) -> None:
        found.append(launch.values(*SCALE_VALUES)[0])
        if len(found) == 1:
            second()
            found.append(launch.values(*SCALE_VALUES)[0])

    with run_at_launch(nested):
        h()
    assert found == [x.address, other.address, x.address]
    with pytest.raises(RuntimeError, match="is running"), run_at_launch(lambda launch: h()):
        h()


def check_dispatch() -> None:
    d = tvm_ffi.dispatch("scale(x: float32[n], y: out float32[n], a: float = 2.0)")
    d.add(lambda x, y, a: None, device="cpu")
    plan = codegen.make_launch_plan(
        "scale(x: float32[n], y: out float32[n], a: float)",
        ptx({"chosen": "llf"}),
        "chosen",
        arguments=["x", "y", "float32 a"],
        grid="n",
    )
    d.add(codegen.launch_module(plan).scale, device="cuda")
    h = d.prepare(vector(), vector())
    h()
    (line,), arrays = launched(h)
    assert (line.startswith("cuLaunchKernel(chosen on 0, grid 12"), len(arrays)) == (True, 1)
    assert launched(copy.copy(h))[1] != arrays
    d.add(lambda x, y, a: None, device="cuda", priority=1)
    assert launched(h)[0] == []


# ---- the C API -----------------------------------------------------------------------------------


class Any(ctypes.Structure):
    """``TVMFFIAny``."""

    _fields_ = (("type_index", c_int32), ("zero_padding", c_int32), ("payload", c_int64))


def check_c_api() -> None:
    """Change a `DLTensor` of the caller between runs."""
    library = load_lib_ctypes("pytvmffi", "tvm_ffi", "RTLD_GLOBAL")
    extents, strides = (c_int64 * 2)(3, 4), (c_int64 * 2)(4, 1)
    x = Tensor(data=0x1000, ndim=2, shape=extents, strides=strides)
    x.device.type, x.dtype.code, x.dtype.bits, x.dtype.lanes = 2, 2, 32, 1
    y = Tensor(data=0x9000, ndim=2, shape=extents, device=x.device, dtype=x.dtype)
    args = (Any * 3)(Any(7, 0, ctypes.addressof(x)), Any(7, 0, ctypes.addressof(y)), Any(1, 0, 3))
    handle = c_void_p()
    function = c_void_p(module.add.__chandle__())
    create = library.TVMFFIPreparedCreate
    assert create(function, None, args, 3, ctypes.byref(handle)) == 0

    def run() -> None:
        assert library.TVMFFIPreparedRun(ctypes.byref(handle), 1, None, None) == 0

    def seen() -> tuple[object, ...]:
        found = values(run, (c_void_p, c_void_p, *[c_int64] * 3))
        return (*found, calls("cuLaunch")[-1].split(", ")[1])

    assert seen() == (0x1000, 0x9000, 4, 1, 3, "grid 4 1 1")
    assert seen() == (0x1000, 0x9000, 4, 1, 3, "grid 4 1 1")
    x.byte_offset = 16
    assert seen() == (0x1010, 0x9000, 4, 1, 3, "grid 4 1 1")
    extents[0] = 6  # of both tensors
    assert seen() == (0x1010, 0x9000, 4, 1, 3, "grid 8 1 1")
    strides[1] = 2
    assert seen() == (0x1010, 0x9000, 4, 2, 3, "grid 8 1 1")
    x.strides = None
    assert seen() == (0x1010, 0x9000, 4, 1, 3, "grid 8 1 1")
    x.device.id = y.device.id = 1
    assert seen()[0] == 0x1010
    calls()
    run()
    assert calls("cuLaunch")[-1].startswith("cuLaunchKernel(add on 1")
    x.dtype.bits = 64
    assert library.TVMFFIPreparedRun(ctypes.byref(handle), 1, None, None) != 0
    error = c_void_p()
    library.TVMFFIErrorMoveFromRaised(ctypes.byref(error))
    library.TVMFFIObjectDecRef(error)
    x.dtype.bits = 32
    slot, value = c_int32(2), Any(1, 0, 6)
    assert library.TVMFFIPreparedUpdate(handle, ctypes.byref(slot), ctypes.byref(value), 1) == 0
    assert seen() == (0x1010, 0x9000, 4, 1, 6, "grid 4 1 1")
    library.TVMFFIObjectDecRef(handle)


# ---- agreement with direct calls -----------------------------------------------------------------


def random_arguments(chosen: random.Random, name: str) -> dict[str, object]:
    """Return arguments of a plan; tensors keep their facts, so that a slot accepts each of them."""
    if name == "scale":
        return {
            "x": vector(7),
            "y": vector(7),
            "a": chosen.choice([0.5, 2.0]),
            "flag": chosen.choice([True, False]),
        }
    if name == "zero":
        return {"x": vector(12), "k": chosen.randrange(-1, 5)}
    if name == "shared":
        return {"x": vector(2), "bytes": chosen.choice([0, 100, 60000, 300000])}
    if name == "aligned":
        return {"x": at(chosen.choice([0, 64, 4])), "y": at(chosen.choice([0, 16, 8]))}
    return {"k": chosen.choice([1, 2, 1000000])}


def result_of(run) -> object:
    """Return what the driver and the caller see of a run."""
    seen: list[object] = []
    calls()
    try:
        with run_at_launch(lambda launch: seen.append(launch.values(*[c_void_p]))):
            run()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return seen, calls("cuLaunch")


def check_agreement() -> None:
    """Compare random changes of prepared calls with direct calls."""
    chosen = random.Random(7)
    for name in ("scale", "zero", "shared", "aligned", "product"):
        function = getattr(module, name)
        current = random_arguments(chosen, name)
        while isinstance(result_of(lambda: function(**current)), str):  # noqa: B023
            current = random_arguments(chosen, name)
        h = function.prepare(**current)
        for _ in range(200):
            drawn = random_arguments(chosen, name)
            changes = {key: drawn[key] for key in drawn if chosen.random() < 0.4}
            expected = result_of(lambda: function(**{**current, **changes}))  # noqa: B023
            assert result_of(lambda: h(**changes)) == expected, name  # noqa: B023
            if not isinstance(expected, str) and chosen.random() < 0.5:
                h.update(changes)
                current.update(changes)
            assert result_of(h) == result_of(lambda: function(**current)), name  # noqa: B023


def main() -> None:
    for check in (
        check_repetition,
        check_sizes,
        check_addresses,
        check_contexts,
        check_memory,
        check_capture,
        check_failures,
        check_observers,
        check_copies,
        check_dispatch,
        check_c_api,
        check_agreement,
    ):
        context(0)
        check()
    print("done")


if __name__ == "__main__":
    sys.exit(main())
