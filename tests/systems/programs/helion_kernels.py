# SPDX-License-Identifier: Apache-2.0
"""Helion kernels: compiled without a GPU, launched on the fake driver, shipped.

A launch runs the kernel that Helion has generated in Triton's interpreter; Helion's interpreter
computes the expected result.  `use_helion.py` runs this program with a loader path that finds the
stand-in first.
"""

import ctypes
from collections.abc import Callable
from functools import partial
from unittest.mock import patch

import helion
import helion.language as hl
import numpy as np
import torch
import triton
from device_array import Array
from fake_device import Allocator, calls, run_at_launch
from refusals import refused
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction

import tvm_ffi
from tvm_ffi import codegen, cpp
from tvm_ffi.interop.helion import to_module, to_plan

# ---- kernels -------------------------------------------------------------------------------------


@helion.kernel()
def add(x: torch.Tensor, y: torch.Tensor, a: float = 2.0) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(out.size()):
        out[tile] = a * x[tile] + y[tile]
    return out


@helion.kernel(static_shapes=False)
def matmul(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    m, k = x.size()
    k2, n = y.size()
    assert k == k2
    out = torch.empty([m, n], dtype=torch.float32, device=x.device)
    for rows, columns in hl.tile([m, n]):
        total = hl.zeros([rows, columns], dtype=torch.float32)
        for inner in hl.tile(k):
            total = torch.addmm(total, x[rows, inner], y[inner, columns])
        out[rows, columns] = total
    return out


@helion.kernel(static_shapes=False)
def extremes(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute two results, with temporary memory."""
    n, m = x.size()
    m = hl.specialize(m)
    doubled = torch.empty([n, m], dtype=torch.float64, device=x.device)
    low = torch.empty([n], dtype=x.dtype, device=x.device)
    high = torch.empty_like(low)
    for tile in hl.tile(n):
        doubled[tile, :] = x[tile, :].to(torch.float64) * 2
        low[tile] = doubled[tile, :].to(torch.float32).amin(-1)
        high[tile] = x[tile, :].amax(-1)
    return low, high


@helion.kernel(static_shapes=False)
def shift(x: torch.Tensor, by: torch.Tensor, n: int, twice: bool) -> torch.Tensor:
    """Change the tensor in place."""
    assert n == x.size(0) == by.size(0)
    assert n % 8 == 0
    for tile in hl.tile(n):
        x[tile] += by[tile]
        if twice:
            x[tile] += by[tile]
    return x


# ---- values ----------------------------------------------------------------------------------


def interpreted(kernel: helion.Kernel, arguments: tuple, config: helion.Config) -> Callable:
    """Return a function that runs the generated Triton kernel."""
    launched = []
    host = kernel.bind(kernel.normalize_args(*arguments)).compile_config(config)
    host(*arguments, _launcher=lambda *given, **options: launched.append(given))
    ((written, _, *given),) = launched
    # 1 is a constant extent, as in Triton.
    is_passed = [
        not (p.is_constexpr or (isinstance(value, int) and value == 1))
        for p, value in zip(written.params, given)
    ]
    kinds = {int: ctypes.c_int32, float: ctypes.c_float}
    types = [kinds.get(type(v), ctypes.c_void_p) for v, passed in zip(given, is_passed) if passed]

    def do(launch):
        *values, scratch, profile = launch.values(*types, ctypes.c_void_p, ctypes.c_void_p)
        assert (scratch, profile) == (None, None)
        rest = iter(values)
        passed = [next(rest) if is_passed[i] else given[i] for i in range(len(given))]
        for i, example in enumerate(given):
            if isinstance(example, torch.Tensor):
                passed[i] = tensor_at(passed[i], example.dtype)
        with patch.object(JITFunction, "__call__", called_in_interpreter):
            InterpretedFunction(written.fn)[tuple(launch.grid)](*passed)

    return do


def called_in_interpreter(function: JITFunction, *arguments: object, **named: object) -> object:
    """Define the functions of Triton's library in the form that Triton's interpreter needs."""
    return InterpretedFunction(function.fn)(*arguments, **named)


def tensor_at(address: int, dtype: torch.dtype) -> torch.Tensor:
    """Return a host tensor whose address alone is used."""
    return torch.frombuffer((ctypes.c_char * dtype.itemsize).from_address(address), dtype=dtype)


def expected(kernel: helion.Kernel, *arguments: object) -> object:
    """Return the result that Helion's interpreter computes."""
    return helion.kernel(kernel.fn, ref_mode=helion.RefMode.EAGER)(*arguments)


def content(tensor: tvm_ffi.Tensor) -> np.ndarray:
    """Return the contents of host memory that is declared as GPU memory."""
    size = int(np.prod(tensor.shape))
    memory = (ctypes.c_float * size).from_address(tensor.data_ptr())
    return np.ctypeslib.as_array(memory).reshape(tensor.shape).copy()


rng = np.random.default_rng(3)


def random(*shape: int) -> np.ndarray:
    return rng.random(shape, np.float32)


# ---- compiled first, because Triton's interpreter changes the language permanently ---------------

pair = torch.zeros(64, 100), torch.zeros(64, 100)
config = helion.Config(block_sizes=[32, 32], num_warps=2)
add_plan = to_plan(add, pair, config, target=[80, "sm_90"])
add_does = interpreted(add, (*pair, 2.0), config)
add_module = to_module(add, pair, {"block_sizes": [32, 32], "num_warps": 2}, target=90)

matrices = torch.zeros(33, 50), torch.zeros(50, 20)
config = helion.Config(block_sizes=[16, 32, 16])
matmul_plan = to_plan(matmul, matrices, config, target=90)
matmul_does = interpreted(matmul, matrices, config)

rows = (torch.zeros(5, 12),)
config = helion.Config(block_sizes=[2])
extremes_plan = to_plan(extremes, rows, config, target=90)
extremes_does = interpreted(extremes, rows, config)

examples = torch.zeros(16), torch.zeros(16), 16, True
config = helion.Config(block_sizes=[16])
shift_plan = to_plan(shift, examples, config, target=90)

# ---- 16-byte loads, if all addresses are aligned -------------------------------------------------

texts = []


def keep(*arguments, _compile=triton.compile, **options):
    made = _compile(*arguments, **options)
    texts.append(made.asm["ptx"])
    return made


pair = torch.zeros(64, 128), torch.zeros(64, 128)
config = helion.Config(block_sizes=[32, 32], num_warps=2)
with patch.object(triton, "compile", keep):
    for alignment, has_vectors in ((None, False), (8, False), (16, True), (64, True)):
        aligned = to_plan(add, pair, config, target=90, alignment=alignment)
        assert ("ld.global.v4.b32" in texts.pop()) == has_vectors, alignment
text = (
    "add(x: float32*[64, 128] align 64 on cuda, y: float32*[64, 128] align 64 on cuda, "
    "a: float = 2.0) -> float32[64, 128]"
)
assert str(aligned.signature) == text, aligned.signature
make = partial(to_plan, add, pair, config, target=90)
refused(ValueError, "an alignment must be a power of two", partial(make, alignment=24))

# ---- constant shapes; a result, keywords, shipped in both forms ----------------------------------

text = (
    "add(x: float32*[64, 100] on cuda, y: float32*[64, 100] on cuda, a: float = 2.0) "
    "-> float32[64, 100]"
)
assert str(add_plan.signature) == text, add_plan.signature
assert [one.images[0].architecture for one in add_plan.launches] == ["sm_90a", "sm_80"]
tvm_ffi.export_library("add.so", codegen.launch_module(add_plan))
printed = cpp.load_inline("add", c_sources=[codegen.c.source_of([add_plan])])
for module in (add_module, tvm_ffi.load_module("./add.so"), printed):
    assert module.functions == ("add",)
    assert str(module.get_function_signature("add")) == text
    x, y = random(64, 100), random(64, 100)
    calls()
    with Allocator() as allocator, run_at_launch(add_does):
        out = module.add(Array(x), y=Array(y), a=3)
    (line,) = calls("cuLaunch")
    assert "_helion_add on 0, grid 8 1 1, block 64 1 1" in line, line
    assert allocator.requests == [(64, 100)]
    wanted = expected(add, torch.from_numpy(x), torch.from_numpy(y), 3.0)
    np.testing.assert_allclose(content(out), wanted.numpy(), rtol=1e-6)
    del out
    assert not allocator.alive
    wrong = "add() argument 'y': shape[1] must be 100, got 101"
    refused(ValueError, wrong, module.add, Array(x), Array(random(64, 101)))

# ---- variable shapes -----------------------------------------------------------------------------

text = "matmul(x: float32*[x0, x1] on cuda, y: float32*[x1, y1] on cuda) -> float32[x0, y1]"
assert str(matmul_plan.signature) == text, matmul_plan.signature
module = codegen.launch_module(matmul_plan)
for m, k, n, programs in ((33, 50, 20, 3), (2, 2, 100, 4), (1, 7, 1, 1)):
    x, y = random(m, k), random(k, n)
    calls()
    with Allocator() as allocator, run_at_launch(matmul_does):
        out = module.matmul(Array(x), Array(y))
    (line,) = calls("cuLaunch")
    assert f"_helion_matmul on 0, grid {programs} 1 1" in line, line
    np.testing.assert_allclose(content(out), x @ y, rtol=1e-5)
    del out
    assert not allocator.alive
wrong = "matmul() argument 'y': shape[0] must be x1 = 7, got 1"
refused(ValueError, wrong, module.matmul, Array(x), Array(x[:, :1].copy()))

# ---- several results, temporary memory, in-place changes, assertions of the host code ------------

text = "extremes(x: float32*[x0, 12] on cuda) -> (float32[x0], float32[x0])"
assert str(extremes_plan.signature) == text, extremes_plan.signature
x = random(7, 12)
with Allocator() as allocator, run_at_launch(extremes_does):
    found = codegen.launch_module(extremes_plan).extremes(Array(x))
assert len(allocator.requests) == 3  # with `doubled`
for one, wanted in zip(found, expected(extremes, torch.from_numpy(x))):
    np.testing.assert_array_equal(content(one), wanted.numpy())
del found, one
assert not allocator.alive

text = "shift(x: inout float32*[n] on cuda, by: float32*[n] on cuda, n: int, twice: bool)"
assert str(shift_plan.signature) == text, shift_plan.signature
module = codegen.launch_module(shift_plan)
x, y = Array(random(24)), Array(random(24))
calls()
assert module.shift(x, y, 24, twice=False) is None
(line,) = calls("cuLaunch")
assert "_helion_shift on 0, grid 2 1 1" in line, line
x, y = Array(random(20)), Array(random(20))
only = "no launch variant accepts these arguments; expected n%8 == 0 and n <= 2147483647"
refused(ValueError, only, module.shift, x, y, 20, True)

# ---- features that plans lack, and bad input -----------------------------------------------------


@helion.kernel(static_shapes=False)
def softmax(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        out[tile, :] = torch.softmax(x[tile, :], dim=1)
    return out


@helion.kernel(static_shapes=False)
def from_zeros(x: torch.Tensor) -> torch.Tensor:
    out = torch.zeros_like(x)
    for tile in hl.tile(x.size(0)):
        out[tile] += x[tile]
    return out


@helion.kernel(static_shapes=False)
def first_column(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty([x.size(0), 2], dtype=x.dtype, device=x.device)
    for tile in hl.tile(x.size(0)):
        out[tile, 0] = x[tile, 0]
    return out[:, 0]


@helion.kernel(static_shapes=False)
def of_all(xs: list[torch.Tensor]) -> torch.Tensor:
    out = torch.empty_like(xs[0])
    for tile in hl.tile(out.size(0)):
        out[tile] = xs[0][tile] + xs[1][tile]
    return out


def tried(kernel: object, *examples: object, **config: object) -> None:
    to_module(kernel, examples, helion.Config(**config) if config else None, target=90)


x, y = pair
refused(TypeError, "expected a kernel made by helion.kernel, got function", tried, add.fn, x, y)
refused(TypeError, "example_args: missing a required argument: 'y'", tried, add, x)
refused(ValueError, "expected config= for a kernel with 0 configs", tried, add, x, y)


def tried_in_blocks(kernel: object, *examples: object) -> None:
    blocks = 2 if kernel is add else 1
    tried(kernel, *examples, block_sizes=[16] * blocks)


shared = "'y': expected separate memory, got the memory of 'x'"
refused(ValueError, shared, tried_in_blocks, add, x, x)
refused(ValueError, "'x': expected a compact tensor", tried_in_blocks, add, x.T, y.T)
refused(TypeError, "'xs': expected a tensor, got list", tried_in_blocks, of_all, [x[0], y[0]])
depends = "the kernel's constant '_RDIM_SIZE_1' depends on extents"
refused(ValueError, depends, tried_in_blocks, softmax, x)
refused(ValueError, "runs aten.zeros_like.default", tried_in_blocks, from_zeros, x[0])
partial = "(x0) is not compact, or is a view of a larger tensor"
refused(ValueError, partial, tried_in_blocks, first_column, x)
asserts = "example_args do not satisfy an assertion of the host code"
refused(ValueError, asserts, tried_in_blocks, shift, torch.zeros(20), torch.zeros(20), 20, True)
refused(helion.exc.InvalidConfig, "block_sizes", tried_in_blocks, matmul, *matrices)


def tried_persistent(kernel: object, *examples: object) -> None:
    tried(kernel, *examples, block_sizes=[16], pid_type="persistent_blocked")


refused(ValueError, "pid_type 'persistent_blocked'", tried_persistent, shift, *examples)
interpreter = helion.kernel(add.fn, ref_mode=helion.RefMode.EAGER)
refused(ValueError, "expected a compiled kernel, got an", tried_in_blocks, interpreter, x, y)

print("done")
