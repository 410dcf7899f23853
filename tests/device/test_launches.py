# SPDX-License-Identifier: Apache-2.0
"""Launches of one kernel: from each kind of image, in each form of function, and their errors."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tvm_ffi import codegen, cpp, cuda

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
PTX = EXAMPLES / "driver_module" / "scale.ptx"
SOURCE = EXAMPLES / "cubin_launcher" / "scale_kernel.cu"
BLOCK = 4
PARAMETERS = ["x: float32[]", "factor: float32", "y: float32[]", "n: int64"]
KERNEL = cuda.Kernel(PARAMETERS, symbol="scale_f32")
PLAN = {
    "kernel": "scale_f32",
    "arguments": ["x", "float32 a", "y", "n"],
    "grid": f"cdiv(n, {BLOCK})",
    "block": BLOCK,
}
SCALE = "scale(x: float32[n], y: out float32[n], a: float = 2.0)"
SCALED = "scaled(x: float32[n], a: float = 2.0) -> (y: float32[n])"
# More values at once than the registers of a multiprocessor hold for 1024 threads of a block.
VALUES = range(120)
HUNGRY = f"""
.version 7.0
.target sm_50
.address_size 64
.visible .entry hungry(.param .u64 x) {{
  .reg .f32 %f<{len(VALUES)}>;
  .reg .b64 %x;
  ld.param.u64 %x, [x];
  {" ".join(f"ld.volatile.f32 %f{i}, [%x+{4 * i}];" for i in VALUES)}
  {" ".join(f"st.volatile.f32 [%x+{4 * i}], %f{i};" for i in VALUES)}
  ret;
}}
"""


def nvcc(gpu, folder: Path, option: str) -> bytes:
    if shutil.which("nvcc") is None:
        pytest.skip("no nvcc")
    image = folder / "image"
    command = ["nvcc", option, "-arch", gpu.architecture, str(SOURCE), "-o", str(image)]
    subprocess.run(command, check=True)
    return image.read_bytes()


def nvrtc(gpu, folder: Path) -> bytes:
    """Compile in another process: the bindings of NVRTC crash beside the fake driver."""
    if importlib.util.find_spec("cuda") is None:
        pytest.skip("no cuda-bindings")
    source, image = folder / "scale.cu", folder / "image"
    text = SOURCE.read_text("utf-8").replace("#include <cstdint>", "using int64_t = long long;")
    source.write_text(text, encoding="utf-8")
    code = (
        "import pathlib, sys; from tvm_ffi.cpp.nvrtc import nvrtc_compile\n"
        "source, image = map(pathlib.Path, sys.argv[1:3])\n"
        "image.write_bytes(nvrtc_compile(source.read_text('utf-8'), arch=sys.argv[3]))"
    )
    variables = dict(os.environ)
    if gpu.is_fake:
        del variables["LD_LIBRARY_PATH"]
    command = [sys.executable, "-c", code, str(source), str(image), gpu.architecture]
    subprocess.run(command, env=variables, check=True, timeout=120)
    return image.read_bytes()


IMAGES = {
    "ptx": lambda gpu, folder: PTX.read_bytes(),
    "cubin": lambda gpu, folder: nvcc(gpu, folder, "-cubin"),
    "fatbin": lambda gpu, folder: nvcc(gpu, folder, "-fatbin"),
    "nvrtc": nvrtc,
}


@pytest.fixture(scope="module", params=IMAGES)
def image(request, _device, tmp_path_factory):
    return IMAGES[request.param](_device, tmp_path_factory.mktemp("image"))


def explicit(image):
    """Return a function that passes the launch configuration with each call."""
    module = cuda.create_module(image, {"scale": KERNEL})

    def scale(x, y, a):
        n = x.shape[0] if hasattr(x, "shape") else x.extents[0]
        module.scale(x, a, y, n, -(-n // BLOCK), BLOCK)

    return scale


def planned(image):
    return codegen.launch_module(codegen.make_launch_plan(SCALE, image, **PLAN)).scale


def compiled(image):
    plan = codegen.make_launch_plan(SCALE, image, **PLAN)
    return cpp.load_inline("compiled_plan", c_sources=[codegen.c.source_of([plan])]).scale


FORMS = pytest.mark.parametrize("form", [explicit, planned, compiled])


# ---- Values, results, streams --------------------------------------------------------------------


@FORMS
def test_values(gpu, form, image):
    x, y = gpu.vector(), gpu.vector()
    form(image)(x, y, 3)
    assert gpu.values(y) == [3.0 * i for i in range(12)]


def test_results_are_allocated_by_the_framework(gpu):
    plan = codegen.make_launch_plan(SCALED, PTX, **PLAN)
    result = codegen.launch_module(plan).scaled(gpu.vector())
    assert gpu.values(result) == [2.0 * i for i in range(12)]
    assert gpu.is_fake or isinstance(result, gpu.torch.Tensor)


@FORMS
def test_the_current_stream_is_used(gpu, form):
    scale = form(PTX)
    x, y, z = gpu.vector(), gpu.vector(), gpu.vector()
    scale(x, y, 1)  # loads the image
    with gpu.stream():
        gpu.fill(x, 5)
        scale(x, y, 3)
        scale(y, z, 2)
    assert gpu.values(z) == [30.0] * 12


def test_a_warm_call_only_launches(gpu):
    """A graph captures such a call: nothing allocates, loads or waits."""
    if not gpu.is_fake:
        pytest.skip("needs the fake driver")
    x, y = gpu.vector(), gpu.vector()
    for form in (explicit, planned, compiled):
        scale = form(PTX)
        scale(x, y, 1)
        gpu.device.calls()
        scale(x, y, 1)
        names = {line.partition("(")[0] for line in gpu.device.calls()}
        assert names <= {"cuCtxGetCurrent", "cuCtxSetCurrent", "cuLaunchKernel"}


# ---- CUDA graphs ---------------------------------------------------------------------------------


@FORMS
@pytest.mark.parametrize("is_loaded", [True, False])
def test_calls_are_captured(torch, form, is_loaded):
    """In capture, CUDA refuses to allocate and to wait; the first call also loads the image."""
    scale = form(PTX)
    x = torch.arange(1000.0, device="cuda")
    y = torch.zeros_like(x)
    if is_loaded:
        scale(x, y, 0)
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    allocated = torch.cuda.memory_allocated()
    with torch.cuda.graph(graph, stream=stream):
        scale(x, y, 2)
    assert torch.cuda.memory_allocated() <= allocated  # garbage may have been collected
    assert float(y.sum()) == 0  # the call is captured, not run
    for _ in range(2):
        graph.replay()
        torch.testing.assert_close(y, 2 * x)
        x += 1


def test_results_are_captured(torch):
    """The result of a captured call is memory of the graph, which each replay writes again."""
    scaled = codegen.launch_module(codegen.make_launch_plan(SCALED, PTX, **PLAN)).scaled
    x = torch.arange(1000.0, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = scaled(x, 3)
    for _ in range(2):
        graph.replay()
        torch.testing.assert_close(y, 3 * x)
        x += 1


# ---- Errors of the driver ------------------------------------------------------------------------


def test_an_image_that_does_not_compile_is_an_error(gpu):
    wrong = PTX.read_text("utf-8").replace("mul.f32", "mull.f32 /* bad instruction */")
    module = cuda.create_module(wrong, {"scale": KERNEL})
    with pytest.raises(
        RuntimeError, match=r"(?s)cuModuleLoadDataEx failed on cuda:0: .*\n.*(mull|bad)"
    ):
        module.scale(gpu.vector(), 1, gpu.vector(), 12, 1, 1)


def test_a_missing_kernel_is_an_error(gpu):
    module = cuda.create_module(PTX, {"missing": PARAMETERS})
    with pytest.raises(RuntimeError, match=r"`missing` on cuda:0: CUDA_ERROR_NOT_FOUND \(500\)"):
        module.missing(gpu.vector(), 1, gpu.vector(), 12, 1, 1)


def test_a_block_that_is_too_large_is_an_error(gpu):
    module = cuda.create_module(PTX, {"scale": KERNEL})
    text = (
        r"cuLaunchKernel failed for kernel `scale_f32` on cuda:0 with grid \(1, 1, 1\), block \(2"
    )
    with pytest.raises(RuntimeError, match=text):
        module.scale(gpu.vector(), 1, gpu.vector(), 12, 1, 2048)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_too_many_registers_are_an_error(gpu, is_compiled):
    plan = codegen.make_launch_plan("hungry(x: float32[n])", HUNGRY, block=1024)
    if is_compiled:
        module = cpp.load_inline("hungry", c_sources=[codegen.c.source_of([plan])])
    else:
        module = codegen.launch_module(plan)
    gpu.fail("cuLaunchKernel", 701)
    text = (
        r"cuLaunchKernel failed for kernel `hungry` on cuda:0 with grid \(1, 1, 1\), "
        r"block \(1024, 1, 1\), 0 bytes of dynamic shared memory: "
        r"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES \(701\)"
    )
    with pytest.raises(RuntimeError, match=text):
        module.hungry(gpu.vector())


def test_an_illegal_address_is_an_error_of_later_calls(gpu):
    """The context of the process is lost, so another process runs the kernel; it ends cleanly."""
    search = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, str(HERE / "illegal_address.py"), str(PTX)],
        env={**os.environ, "PYTHONPATH": search},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr
