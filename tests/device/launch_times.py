# SPDX-License-Identifier: Apache-2.0
"""Time of a launch of an empty kernel, from Python and from C.

The first argument is ``ours`` or ``incumbent``, the implementation that the process imports; the
second one is ``gpu`` or ``fake``.  The program prints the nanoseconds per launch of each burst as
JSON: ``{"launch_3": {"ours, C++": [...]}}``.  The incumbent has no launch plans.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns

import tvm_ffi
from tvm_ffi import cpp

BURSTS, LAUNCHES = 30, 500  # fewer launches than the driver's queue holds
NUM_TENSORS = {3: 2, 19: 16}  # by number of arguments; the others are integers
LOOP = """
void loop(int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        void*, void**, void**),
          void* kernel, void** params, int launches) {
  for (int i = 0; i < launches; ++i) launch(kernel, 1, 1, 1, 1, 1, 1, 0, 0, params, 0);
}
"""


def ptx(count: int) -> str:
    listed = ", ".join(f".param .u64 p{i}" for i in range(count))
    return (
        f".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry launch_{count}({listed}) "
        "{ ret; }"
    )


def planned(count: int) -> Callable[..., object]:
    from tvm_ffi import codegen

    tensors = [f"x{i}: float32[n]" for i in range(NUM_TENSORS[count])]
    integers = [f"k{i}: int" for i in range(count - NUM_TENSORS[count])]
    signature = f"launch_{count}({', '.join(tensors + integers)})"
    plan = codegen.make_launch_plan(signature, ptx(count))
    return codegen.launch_module(plan)[f"launch_{count}"]


def inline_source(count: int) -> str:
    tensors = [f"x{i}" for i in range(NUM_TENSORS[count])]
    integers = [f"k{i}" for i in range(count - NUM_TENSORS[count])]
    device = ", ".join([f"float* {x}" for x in tensors] + [f"int64_t {k}" for k in integers])
    host = [f"tvm::ffi::TensorView {x}" for x in tensors] + [f"int64_t {k}" for k in integers]
    passed = [f"static_cast<float*>({x}.data_ptr())" for x in tensors] + integers
    return f"""
    __global__ void empty_{count}({device}) {{}}
    void launch_{count}({", ".join(host)}) {{
      DLDevice device = x0.device();
      auto stream = static_cast<cudaStream_t>(
          TVMFFIEnvGetStream(device.device_type, device.device_id));
      empty_{count}<<<1, 1, 0, stream>>>({", ".join(passed)});
    }}"""


def from_c(driver: ctypes.CDLL, count: int) -> Callable[[], object]:
    """Return a function that launches the kernel `LAUNCHES` times."""
    context, module, kernel = (ctypes.c_void_p() for _ in range(3))
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert driver.cuCtxSetCurrent(context) == 0
    assert driver.cuModuleLoadDataEx(ctypes.byref(module), ptx(count).encode(), 0, None, None) == 0
    name = f"launch_{count}".encode()
    assert driver.cuModuleGetFunction(ctypes.byref(kernel), module, name) == 0
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "loop.c"), Path(folder, "loop.so")
        source.write_text(LOOP, encoding="utf-8")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
        loop = ctypes.CDLL(str(library)).loop
    value = ctypes.c_int64(0)
    params = (ctypes.c_void_p * count)(*[ctypes.addressof(value)] * count)
    launch = ctypes.cast(driver.cuLaunchKernel, ctypes.c_void_p)

    def burst() -> ctypes.c_int64:
        loop(launch, kernel, params, LAUNCHES)
        return value  # whose address is in `params`

    return burst


def times(burst: Callable[[], object], wait: Callable[[], object]) -> list[float]:
    """Return the nanoseconds per launch of each burst, without the wait for its end."""
    burst()
    found = []
    for _ in range(BURSTS):
        wait()
        start = perf_counter_ns()
        burst()
        found.append((perf_counter_ns() - start) / LAUNCHES)
    wait()
    return found


def calls_of(function: Callable[..., object], arguments: list[object]) -> Callable[[], None]:
    def burst() -> None:
        for _ in range(LAUNCHES):
            function(*arguments)

    return burst


def main(implementation: str, device: str) -> None:
    """Measure the rows that the implementation and the device have."""
    driver = ctypes.CDLL("libcuda.so.1")
    assert driver.cuInit(0) == 0
    if device == "gpu":
        import torch

        vectors = [torch.zeros(4, device="cuda") for _ in range(16)]
        wait: Callable[[], object] = torch.cuda.synchronize
        source = "".join(map(inline_source, NUM_TENSORS))
        names = [f"launch_{count}" for count in NUM_TENSORS]
        inline = cpp.load_inline("launch_times", cuda_sources=source, functions=names)
    else:
        import fake_device

        vectors, inline = [fake_device.vector(4) for _ in range(16)], None
        wait = fake_device.calls  # the fake driver deletes its recorded calls
    rows: dict[str, dict[str, list[float]]] = {}
    for count, num_tensors in NUM_TENSORS.items():
        row = rows[f"launch_{count}"] = {}
        arguments = [*vectors[:num_tensors], *range(count - num_tensors)]
        if implementation == "ours":
            row["launch plan"] = times(calls_of(planned(count), arguments), wait)
            row["C"] = times(from_c(driver, count), wait)
        if inline is not None:
            function = getattr(inline, f"launch_{count}")
            row[f"C++ ({implementation})"] = times(calls_of(function, arguments), wait)
    print(json.dumps({"version": tvm_ffi.__version__, "rows": rows}))


if __name__ == "__main__":
    main(*sys.argv[1:])
