# SPDX-License-Identifier: Apache-2.0
"""Triton kernels: compiled without a GPU, launched on the fake driver, shipped.

A launch runs the kernel in Triton's interpreter, on host memory that is declared as GPU memory.
`use_triton.py` runs this program with a loader path that finds the stand-in first.
"""

import ctypes
import os
import re
import subprocess
from pathlib import Path
from unittest.mock import patch

import numpy as np
import triton
import triton.language as tl
from device_array import Array
from fake_device import Allocator, calls, driver, run_at_launch
from refusals import refused
from triton.runtime.interpreter import InterpretedFunction

import tvm_ffi
from tvm_ffi import codegen, cpp, libinfo
from tvm_ffi.interop.triton import to_module, to_plan

ROOT = Path(__file__).resolve().parents[3]

# ---- tensors -------------------------------------------------------------------------------------


class HostTensor:
    """A tensor at a given address, with the torch methods that Triton's interpreter calls."""

    def __init__(self, address: int, dtype: str) -> None:
        self.address, self.dtype = address, dtype

    def data_ptr(self):
        return self.address

    def untyped_storage(self):
        return self

    def cpu(self):
        return self

    def new_empty(self, size, device):
        return HostTensor(self.address, self.dtype)

    def set_(self, storage, offset, size, stride):
        pass

    def storage_offset(self):
        return 0

    size = stride = storage_offset

    def copy_(self, other):
        pass


# ---- kernels -------------------------------------------------------------------------------------


def add(x, y, out, n, a, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, a * tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


def interpreted(launch) -> None:
    """Compute `add` on the host."""
    seen.append(launch.kernel.decode())
    pointer = ctypes.c_void_p
    x, y, out, n, a, scratch, profile = launch.values(
        pointer, pointer, pointer, ctypes.c_int32, ctypes.c_float, pointer, pointer
    )
    assert (scratch, profile) == (None, None)
    tensors = [HostTensor(address, "float32") for address in (x, y, out)]
    InterpretedFunction(add)[tuple(launch.grid)](*tensors, n, a, BLOCK=8 * launch.block[0])


@triton.jit
def fill(x, k):
    tl.store(x + tl.program_id(0), k.to(tl.float32))


@triton.jit
def copy(x, out, n, m, BLOCK: tl.constexpr):
    """Copy through tensor descriptors, which need temporary memory."""
    source = tl.make_tensor_descriptor(x, [n, m], [m, 1], [BLOCK, BLOCK])
    target = tl.make_tensor_descriptor(out, [n, m], [m, 1], [BLOCK, BLOCK])
    at = [tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK]
    target.store(at, source.load(at))


@triton.jit
def product(x, y, out, k, stride, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Compute one block of a matrix product, staged in shared memory."""
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for at in range(0, k, K):
        left = tl.load(x + rows[:, None] * stride + at + inner[None, :])
        right = tl.load(y + (at + inner)[:, None] * N + columns[None, :])
        total += tl.dot(left, right)
    tl.store(out + rows[:, None] * N + columns[None, :], total)


seen: list[str] = []
SIGNATURE = "add(x: float32[n], y: float32[n], out: out float32[n], a: float = 2.0)"

# ---- values, keywords, variants by shape, several architectures ----------------------------------

plan = to_plan(
    triton.jit(add),
    SIGNATURE,
    grid="cdiv(n, BLOCK)",
    target=[80, "sm_90"],
    configs=[
        ("n >= 3*BLOCK", triton.Config({"BLOCK": 256}, num_warps=1)),
        ("", triton.Config({"BLOCK": 512}, num_warps=2)),
    ],
)
text = (
    "add(x: float32*[n] on cuda, y: float32*[n] on cuda, out: out float32*[n] on cuda, "
    "a: float = 2.0)"
)
assert str(plan.signature) == text, plan.signature
architectures = [launch.images[0].architecture for launch in plan.launches]
assert architectures == ["sm_90a", "sm_80"] * 2, architectures
assert [launch.block[0] for launch in plan.launches] == [32, 32, 64, 64]
source = codegen.c.source_of([plan])
rng = np.random.default_rng(3)
for module in (codegen.launch_module(plan), cpp.load_inline("add", c_sources=[source])):
    for n, blocks in ((1000, 4), (700, 2), (1, 1)):
        x, y = (Array(rng.random(n, np.float32)) for _ in "xy")
        out = Array(np.zeros(n, np.float32))
        calls()
        with run_at_launch(interpreted):
            module.add(x, y, out=out, a=3)
        (line,) = calls("cuLaunch")
        assert f"add on 0, grid {blocks} 1 1, block {32 if n >= 768 else 64} 1 1, 0 bytes" in line
        np.testing.assert_allclose(out.content, 3 * x.content + y.content, rtol=1e-6)
    try:
        module.add(x, y, Array(np.zeros(2, np.float32)))
    except ValueError as error:
        assert str(error) == "add() argument 'out': shape[0] must be n = 1, got 2"
assert seen == ["add"] * 6

# ---- temporary memory, shared memory, clusters and attributes ------------------------------------

module = to_module(
    copy,
    "copy(x: float32[n, m], out: out float32[n, m])",
    constexprs={"BLOCK": 16},
    grid=["cdiv(n, BLOCK)", "cdiv(m, BLOCK)"],
    target=90,
)
matrix, copied = (Array(np.zeros((40, 64), np.float32)) for _ in range(2))
with Allocator() as allocator:
    module.copy(matrix, copied)
((size,),) = allocator.requests
assert (size - 255) % (3 * 4) == 0
assert (size - 255) // (3 * 4) >= 2 * 128, size  # a tensor descriptor has 128 bytes
assert not allocator.alive

module = to_module(
    product,
    "product(x: float16[128, k] compact from 1, y: float16[k, 128], out: out float32[128, 128])",
    constexprs={"M": 128, "N": 128, "K": 64},
    arguments={"stride": "int32 x.strides[0]"},
    when="k % K == 0",
    options={"num_warps": 8, "num_stages": 4},
    target=90,
)
y, out = Array(np.zeros((128, 128), np.float16)), Array(np.zeros((128, 128), np.float32))
wide = np.zeros((128, 256), np.float16)
calls()
module.product(Array(wide[:, :128]), y, out)
granted, launched = calls("cuFuncSetAttribute")[0], calls()
bytes_ = int(granted.split(", ")[2].rstrip(")"))
assert bytes_ > 48 << 10, granted
# The kernel gets the stride of the rows only, and reads whole blocks of 128 rows and K columns.
reversed_columns = Array(wide[:, 127::-1])
text = "'x': expected a tensor that is compact from dimension 1, got strides (256, -1)"
refused(ValueError, text, module.product, reversed_columns, y, out)
text = "'x': shape[0] must be 128, got 64"
refused(ValueError, text, module.product, Array(wide[:64, :128]), y, out)
text = "no launch variant accepts these arguments; expected k%64 == 0"
refused(ValueError, text, module.product, Array(wide[:, :96]), Array(y.content[:96]), out)

# Results are allocated by the caller's framework; temporary memory is between two kinds of numbers.


@triton.jit
def rounded(x, out, kept):
    value = tl.load(x + tl.program_id(0))
    tl.store(kept + tl.program_id(0), value)
    tl.store(out + tl.program_id(0), tl.load(kept + tl.program_id(0)).to(tl.float32))


plan = to_plan(
    rounded,
    "rounded(x: float32[n]) -> float32[n]",
    grid="n",
    target=90,
    arguments={"out": "result", "kept": "workspace(2*n)"},
    element_types={"kept": "float16"},
    when="n > 2",
)
module = codegen.launch_module(plan)
with Allocator() as allocator:
    result = module.rounded(Array(np.zeros(3, np.float32)))
    assert (result.shape, str(result.dtype)) == ((3,), "float32")
    assert allocator.requests == [(3,), (2 * 3 + 255,)], allocator.requests
    del result
try:
    module.rounded(Array(np.zeros(2, np.float32)))
except ValueError as error:
    text = "rounded(): no launch variant accepts these arguments; expected n > 2"
    assert str(error) == text, error

x, out = Array(np.zeros(2048, np.float32)), Array(np.zeros(2048, np.float32))
for options, shown in (
    ({"num_ctas": 2}, "grid 4 1 1, block 128 1 1, 0 bytes, stream 0, cluster 2 1 1)"),
    ({"launch_pdl": True}, "grid 2 1 1, block 128 1 1, 0 bytes, stream 0, programmatic)"),
    (
        {"launch_cooperative_grid": True},
        "grid 2 1 1, block 128 1 1, 0 bytes, stream 0, cooperative)",
    ),
):
    module = to_module(
        triton.jit(add),
        SIGNATURE,
        constexprs={"BLOCK": 1024},
        grid="cdiv(n, BLOCK)",
        target=90,
        options=options,
    )
    calls()
    module.add(x, x, out)
    (line,) = calls("cuLaunch")
    assert line.endswith(shown), line

# ---- 16-byte loads, if addresses and extents allow them ------------------------------------------


@triton.jit
def doubled(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, 2 * tl.load(x + i))


@triton.jit
def doubled_in_part(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)


def compiled(kernel, parameters, **options):
    """Return a module, and the load and store instructions in its PTX."""
    texts = []

    def keep(*args, **kwargs):
        made = compile_(*args, **kwargs)
        texts.append(made.asm["ptx"])
        return made

    compile_ = triton.compile
    with patch.object(triton, "compile", keep):
        module = to_module(
            kernel,
            f"{kernel.__name__}({parameters})",
            constexprs={"BLOCK": 1024},
            target=90,
            **options,
        )
    (ptx,) = texts
    return module, set(re.findall(r"(?:ld|st)\.global\.(?:v\d\.)?b\d+", ptx))


vectors, numbers = {"ld.global.v4.b32", "st.global.v4.b32"}, {"ld.global.b32", "st.global.b32"}
aligned = "x: float32[n] align {0}, out: out float32[n] align {0}"
for parameters, expected in (
    (aligned.format(16), vectors),
    (aligned.format(256), vectors),
    (aligned.format(8), numbers),
    ("x: float32[n], out: out float32[n]", numbers),
    ("x: float32[n] align 16, out: out float32[n]", {"ld.global.v4.b32", "st.global.b32"}),
    ("x: float32[n] align 16) -> (out: float32[n]", {"ld.global.v4.b32", "st.global.b32"}),
):
    module, found = compiled(doubled, parameters, grid="cdiv(n, BLOCK)")
    assert found == expected, (parameters, found)
for count, expected in (
    ("n", numbers),
    ("n//16*16", vectors),
    ("n*4*32 + 16", vectors),
    ("n*8", numbers),
    ("16*n + 4", numbers),
    ("2048", vectors),
    ("2056", numbers),
):
    module, found = compiled(
        doubled_in_part,
        aligned.format(16),
        arguments={"n": f"int32 {count}"},
        grid="cdiv(n, BLOCK)",
        when="n % 16 == 0",
    )
    assert found == expected, (count, found)
odd, out = (Array(np.zeros(1000, np.float32)) for _ in range(2))
try:
    module.doubled_in_part(odd, out)
except ValueError as error:
    text = "no launch variant accepts these arguments; expected n%16 == 0"
    assert str(error).endswith(text), error
else:
    raise AssertionError("the kernel accepted a tensor of 1000 elements")

module, _ = compiled(doubled, aligned.format(16), grid="cdiv(n, BLOCK)")
assert "x: float32*[n] align 16 on cuda" in str(module.get_function_signature("doubled"))
memory = np.zeros(2 * 1024 + 8, np.float32)
start = -memory.ctypes.data % 16 // 4
x, out = (Array(memory[first : first + 1024]) for first in (start, start + 1024))
module.doubled(x, out)
try:
    module.doubled(x, Array(memory[start + 1025 : start + 2049]))
except ValueError as error:
    assert str(error) == (
        "doubled() argument 'out': expected an address aligned to 16 bytes, got remainder 4"
    ), error
else:
    raise AssertionError("the kernel accepted a slice of a tensor")

# ---- bad input -----------------------------------------------------------------------------------


def module_refused(error, text, **options) -> None:
    arguments = {
        "kernel": triton.jit(add),
        "signature": SIGNATURE,
        "constexprs": {"BLOCK": 8},
        "target": 90,
        **options,
    }
    refused(error, text, to_module, **arguments)


@triton.jit
def wrong(x):
    tl.store(x, tl.no_such_function(x))


module_refused(TypeError, "expected a kernel made by triton.jit, got function", kernel=add)
module_refused(ValueError, "the kernel's constant 'BLOCK' has no value", constexprs={})
tuned = triton.autotune([triton.Config({"BLOCK": 256})], key=[])(triton.jit(add))
text = "has no value, because @triton.autotune chooses no configuration ahead of time; pass its"
module_refused(ValueError, text, kernel=tuned, constexprs={})
module_refused(ValueError, "has no constant 'BLOCKS'", constexprs={"BLOCK": 8, "BLOCKS": 8})
module_refused(ValueError, "the kernel has no argument 'z'", arguments={"z": "n"})
module_refused(ValueError, "'y' is not an extent of every call", signature="add(x: float32[k])")
module_refused(ValueError, "'m' in grid.x is not an extent", grid="cdiv(m, BLOCK)")
module_refused(ValueError, "a target like 90 or 'sm_90', got 'gfx942'", target="gfx942")
hip = triton.backends.compiler.GPUTarget("hip", "gfx942", 64)
module_refused(ValueError, "expected a CUDA target, got a target for hip", target=hip)
module_refused(ValueError, "target: expected at least one target, got none", target=[])
module_refused(ValueError, "configs: expected at least one pair, got none", configs=[])
config = triton.Config({"BLOCK": 8})
pairs = "configs: expected pairs of a condition and a triton.Config, got Config"
module_refused(TypeError, pairs, configs=[config], constexprs={})
last = "configs: only the last pair may have an empty condition"
module_refused(ValueError, last, configs=[("", config), ("n > 2", config)], constexprs={})
option = "Triton has no option 'num_warp'; did you mean 'num_warps'?"
module_refused(ValueError, option, options={"num_warp": 4})
module_refused(ValueError, "grid must have from 1 to 3 extents, got 0", grid=())
module_refused(ValueError, "grid must have from 1 to 3 extents, got 4", grid=(1, 1, 1, 1))
module_refused(
    TypeError, "grid must be an int or an expression, got function", grid=lambda meta: (1,)
)
module_refused(TypeError, "expected a Signature or the text of one, got int", signature=3)
module_refused(ValueError, "has no argument 'z'", element_types={"z": "float32"})
module_refused(ValueError, "Triton has no dtype complex64", element_types={"x": "complex64"})
both = "expected either when= or configs=, got both"
module_refused(ValueError, both, configs=[("", triton.Config({}))], when="n > 2")
module_refused(
    ValueError,
    "expected a signature without dtype variables",
    signature="add(x: T[n], y: T[n], out: out T[n]) where T in (float16, float32)",
)
module_refused(
    triton.CompilationError,
    "no_such_function",
    kernel=wrong,
    signature="wrong(x: out float32[n])",
    constexprs={},
)
driver.fake_driver_set_capability(1, 75)
module = to_module(triton.jit(add), SIGNATURE, constexprs={"BLOCK": 8}, target=[90, 80])
x.managed.tensor.device.id = out.managed.tensor.device.id = 1
try:
    module.add(x, x, out)
except RuntimeError as error:
    assert str(error) == (
        "add(): no device image runs on cuda:1, Stand-in 1 (sm_75); expected one of "
        "cubin for sm_90a, cubin for sm_80"
    ), error

# ---- shipped to an environment without Triton and Python -----------------------------------------

plan = to_plan(fill, "fill(x: out float32[n], k: int32 = 7)", grid="n", target=90)
tvm_ffi.export_library("module.so", codegen.launch_module(plan))
Path("printed.c").write_text(codegen.c.source_of([plan]), encoding="utf-8")
includes = [f"-I{path}" for path in libinfo.include_paths()]
subprocess.run(
    ["cc", "-shared", "-fPIC", *includes, "printed.c", "-o", "printed.so", "-ldl"], check=True
)
ours = Path(libinfo.find_libtvm_ffi()).parent
client = ROOT / "tests" / "python" / "codegen" / "launch_client.c"
link = [f"-L{ours}", "-ltvm_ffi", f"-Wl,-rpath,{ours}", "-ldl"]
subprocess.run(["cc", *includes, client, "-o", "client", *link], check=True)
for library in ("./module.so", "./printed.so"):
    printed = subprocess.run(
        ["./client", library],
        env={"LD_LIBRARY_PATH": os.environ["LD_LIBRARY_PATH"]},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    assert printed == (
        "fill on 0, grid 3, k = 7\nfill() argument 'x': expected 1 dimension, got 2\n"
    ), printed

print("done")
