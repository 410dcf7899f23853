# SPDX-License-Identifier: Apache-2.0
"""Launch plans on the fake CUDA driver, in both forms: interpreted module and compiled C.

The last printed line is ``done``.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import c_bool, c_double, c_float, c_int16, c_int32, c_int64, c_uint64, c_void_p
from dataclasses import replace
from pathlib import Path

import forged
import numpy as np
import pytest
from fake_device import Allocator, calls, driver, run_at_launch, vector

import tvm_ffi
from tvm_ffi import Signature, codegen, cpp

SAVED = Path(__file__).resolve().parents[1] / "codegen" / "saved_launch_plan.bin"
TYPES = {"b": "u8", "f": "f32", "d": "f64", "h": "u16", "i": "u32", "l": "u64"}


def ptx(kernels: dict[str, str], architecture: str = "sm_80") -> str:
    """Return PTX of empty kernels whose parameter types are given by these letters."""
    text = f".version 8.0\n.target {architecture}\n.address_size 64\n"
    for name, letters in kernels.items():
        listed = ", ".join(f".param .{TYPES[letter]} p{i}" for i, letter in enumerate(letters))
        text += f".visible .entry {name}({listed}) {{ ret; }}\n"
    return text


def at(offset: int, extent: int = 2):
    """Return a vector whose address has this offset in bytes from a multiple of 64."""
    found = vector(extent)
    found.managed.tensor.byte_offset = -found.address % 64 + offset
    return found


SCALE = "scale(x: float32[n], y: out float32[n], a: float = 2.0, flag: bool = True)"
SCALED = "bias is None and a is not None and i is not None"
LARGE = "bias is not None and k > n"
PLANS = {
    "scale": codegen.make_launch_plan(
        SCALE,
        ptx({"scale_kernel": "lflibdhl"}),
        "scale_kernel",
        arguments=["x", "float32 a", "y", "int32 n", "flag", "0.5", "int16 -3", "null"],
        grid=["cdiv(n, 4)", 2],
        block=128,
    ),
    "sizes": codegen.make_launch_plan(
        "sizes(x: float32[n, m] strided, k: int32 = 7, z: float32[...] | None = None, "
        "p: ctypes.c_void_p | None = None)",
        ptx({"sizes": "lllllliiill"}),
        arguments=[
            *("x", "x.strides[0]", "x.strides[1]", "x.shape[1]", "x.size", "n*m - k"),
            *("int32 x.ndim", "int32 x.device", "k", "z", "p"),
        ],
        grid="max(n, m)",
        block=["min(n, 4)", 2, "m"],
    ),
    "many": codegen.make_launch_plan(
        "many(x: float32[n])",
        ptx({"many": "l" * 40}),
        arguments=["x"] * 39 + ["n"],
    ),
    "shared": codegen.make_launch_plan(
        "shared(x: float32[n], bytes: int)",
        ptx({"shared": "l"}),
        arguments=["x"],
        shared_memory="bytes",
    ),
    "attributes": codegen.make_launch_plan(
        "attributes(x: float32[n], width: int = 2)",
        ptx({"attributes": "l"}),
        arguments=["x"],
        grid="n",
        cluster="width",
        cooperative=True,
        programmatic=True,
    ),
    "choice": codegen.LaunchPlan.first_of(
        codegen.make_launch_plan(
            "choice(x: float32[n])",
            ptx({name: "l"}),
            name,
            arguments=["x"],
            block=block,
            when=when,
        )
        for name, block, when in (
            ("large", 256, "n >= 8 and n % 2 == 0"),
            ("odd", 3, "n % 2 != 0"),
            ("small", 32, "n < 4"),
        )
    ),
    "dtypes": codegen.make_launch_plan(
        "dtypes(x: T[n], y: U[n]) where T in (int8, float32), U in (float32, int16)",
        ptx({f"k_{t}_{u}": "ll" for t in ("int8", "float32") for u in ("float32", "int16")}),
        "k_{T}_{U}",
    ),
    "results": codegen.make_launch_plan(
        "results(x: T[n]) -> (y: T[n, 2], z: int32[n - 1]) where T in (int8, float32)",
        ptx({"results": "lll"}),
    ),
    "fields": codegen.make_launch_plan(
        "fields(x: float32[n, *s]) -> (y: float32[n + 1, 3, 4], z: float32[n, *s])",
        ptx({"fields": "lliliillllii"}),
        arguments=[
            *("y", "z", "int32 y.shape[0]", "y.shape[1]", "int32 y.strides[0]", "int32 y.ndim"),
            *("y.strides[1]", "y.strides[2]", "y.size", "z.size", "z.ndim", "int32 z.size"),
        ],
    ),
    "one_result": codegen.make_launch_plan(
        "one_result(x: float32[n]) -> float32[n]", ptx({"one_result": "ll"})
    ),
    "whole": codegen.make_launch_plan(
        "whole(x: float32[n, *s] | None, y: float32[*s]) -> (z: float32[*s, 2], w: int8[3, *s])",
        ptx({"whole": "llll"}),
    ),
    "tail": codegen.make_launch_plan(
        "tail(x: float32[*s], k: int) -> float32[*s, k]", ptx({"tail": "lll"})
    ),
    "workspace": codegen.make_launch_plan(
        "workspace(x: float32[n], k: int) -> float32[n]",
        ptx({"workspace": "llll"}),
        arguments=["x", "workspace(4*k)", "workspace(n)", "result"],
    ),
    "zero": codegen.make_launch_plan(
        "zero(x: float32[n], k: int)", ptx({"zero": "l"}), arguments=["x"], grid="n // k"
    ),
    "product": codegen.make_launch_plan(
        "product(k: int)", ptx({"product": "l"}), grid="k*k", block=["k", "k"]
    ),
    "narrow": codegen.make_launch_plan(
        "narrow(k: int)", ptx({"narrow": "i"}), arguments=["int32 k"]
    ),
    "unsigned": codegen.make_launch_plan(
        "unsigned(seed: uint64, n: int = 7, k: uint64 = 18446744073709551615)",
        ptx({"unsigned": "lllll"}),
        arguments=["seed", "uint64 seed", "uint64 n", "uint64 18446744073709551614", "k"],
    ),
    "optional": codegen.LaunchPlan.first_of(
        codegen.make_launch_plan(
            "optional(x: float32[n], bias: float32[k] strided | None = None, "
            "a: float | None = 3, i: int | None = None)",
            ptx({name: letters}),
            name,
            arguments=arguments,
            when=when,
        )
        for name, letters, arguments, when in (
            ("plain", "l", ["x"], "bias is None and a is None"),
            ("scaled", "lfl", ["x", "float32 a", "i"], SCALED),
            ("large", "llil", ["x", "bias", "int32 k", "bias.strides[0]"], LARGE),
            ("biased", "lll", ["x", "bias", "bias.strides[0]"], "bias is not None"),
        )
    ),
    "aligned": codegen.make_launch_plan(
        "aligned(x: float32[n] align 64, y: float32[n] align 16 | None = None)",
        ptx({"aligned": "ll"}),
    ),
    "rows": codegen.make_launch_plan(
        "rows(x: float32[n, m])", ptx({"rows": "ll"}), arguments=["x", "x.strides[0]"]
    ),
    "on_one": codegen.make_launch_plan(
        "on_one(x: float32[n] on cuda:1)", ptx({"on_one": "l"}), arguments=["x"]
    ),
}

# Rows: function, arguments, and the launch that the driver records.
LAUNCHES = [
    (
        "rows",
        (forged.Source((3, 2), (-4, 1), device=(2, 0)),),
        "rows on 0, grid 1 1 1, block 1 1 1, 0 bytes, stream 0",
    ),
    ("scale", (vector(),), "scale_kernel on 0, grid 3 2 1, block 128 1 1, 0 bytes, stream 0"),
    ("scale", (vector(5),), "scale_kernel on 0, grid 2 2 1, block 128 1 1, 0 bytes, stream 0"),
    ("shared", (vector(), 48 << 10), "shared on 0, grid 1 1 1, block 1 1 1, 49152 bytes, stream 0"),
    ("shared", (vector(), 99999), "shared on 0, grid 1 1 1, block 1 1 1, 99999 bytes, stream 0"),
    ("aligned", (at(64),), "aligned on 0, grid 1 1 1, block 1 1 1, 0 bytes, stream 0"),
    ("aligned", (at(64), at(16)), "aligned on 0, grid 1 1 1, block 1 1 1, 0 bytes, stream 0"),
    ("aligned", (at(4, 0),), "aligned on 0, grid 1 1 1, block 1 1 1, 0 bytes, stream 0"),
    ("choice", (vector(8),), "large on 0, grid 1 1 1, block 256 1 1, 0 bytes, stream 0"),
    ("choice", (vector(9),), "odd on 0, grid 1 1 1, block 3 1 1, 0 bytes, stream 0"),
    ("choice", (vector(2),), "small on 0, grid 1 1 1, block 32 1 1, 0 bytes, stream 0"),
    ("on_one", (vector(device=(2, 1)),), "on_one on 1, grid 1 1 1, block 1 1 1, 0 bytes, stream 0"),
    ("product", (2,), "product on 0, grid 4 1 1, block 2 2 1, 0 bytes, stream 0"),
    (
        "attributes",
        (vector(),),
        (
            "attributes on 0, grid 12 1 1, block 1 1 1, 0 bytes, stream 0, cluster 2 1 1, "
            "cooperative, programmatic"
        ),
    ),
    (
        "attributes",
        (vector(), 12),
        (
            "attributes on 0, grid 12 1 1, block 1 1 1, 0 bytes, stream 0, cluster 12 1 1, "
            "cooperative, programmatic"
        ),
    ),
]

# Rows: function, arguments, and error message; the tensors are created for each call.
REFUSED = [
    (
        "optional",
        lambda: (vector(),),
        (
            "ValueError: optional(): no launch variant accepts these arguments; expected "
            f"bias is None and a is None, or {SCALED}, or {LARGE}, or bias is not None"
        ),
    ),
    (
        "optional",
        lambda: (vector(), vector(device=(1, 0))),
        "ValueError: optional() argument 'bias': expected device cuda, got cpu:0",
    ),
    (
        "rows",
        lambda: (forged.Source((3, 2), (4, -1), device=(2, 0)),),
        (
            "ValueError: rows() argument 'x': expected a tensor that is compact from dimension 1, "
            "got strides (4, -1)"
        ),
    ),
    (
        "scale",
        lambda: (),
        "TypeError: scale() missing 2 required positional arguments: 'x' and 'y'",
    ),
    (
        "scale",
        lambda: (vector(device=(1, 0)), vector()),
        "ValueError: scale() argument 'x': expected device cuda, got cpu:0",
    ),
    (
        "scale",
        lambda: (vector(), vector(device=(2, 1))),
        "ValueError: scale() argument 'y': expected device cuda:0 like 'x', got cuda:1",
    ),
    (
        "scale",
        lambda: (vector(device=(2, 300)), vector(device=(2, 300))),
        "ValueError: there is no cuda:300: the number of supported devices is 256",
    ),
    (
        "scale",
        lambda: (vector(0), vector(0)),
        "ValueError: scale(): grid.x = cdiv(n, 4) must be from 1 to 2147483647, got 0",
    ),
    (
        "zero",
        lambda: (vector(), 0),
        "ValueError: zero(): `n//k` divides by zero",
    ),
    (
        "zero",
        lambda: (vector(), -1),
        "ValueError: zero(): grid.x = n//k must be from 1 to 2147483647, got -12",
    ),
    ("product", lambda: (2**32,), "ValueError: product(): `k*k` does not fit 64 bits"),
    (
        "product",
        lambda: (100000,),
        "ValueError: product(): grid.x = k*k must be from 1 to 2147483647, got 10000000000",
    ),
    (
        "product",
        lambda: (1025,),
        "ValueError: product(): block.x = k must be from 1 to 1024, got 1025",
    ),
    (
        "product",
        lambda: (33,),
        "ValueError: product(): threads of a block = k*k must be from 1 to 1024, got 1089",
    ),
    ("unsigned", lambda: (-1,), "ValueError: unsigned() argument 'seed': -1 does not fit uint64"),
    (
        "unsigned",
        lambda: (2**64,),
        ("ValueError: unsigned() argument 'seed': expected uint64, got int of more than 64 bits"),
    ),
    ("unsigned", lambda: (0, -1), "ValueError: unsigned(): n = -1 does not fit uint64"),
    ("narrow", lambda: (2**31,), "ValueError: narrow(): k = 2147483648 does not fit int32"),
    (
        "shared",
        lambda: (vector(), -1),
        "ValueError: shared(): shared_memory = bytes must be from 0 to 232448, got -1",
    ),
    (
        "shared",
        lambda: (vector(), 232449),
        "ValueError: shared(): shared_memory = bytes must be from 0 to 232448, got 232449",
    ),
    (
        "attributes",
        lambda: (vector(), 5),
        (
            "ValueError: attributes(): grid.x = n must be a multiple of cluster.x = width, "
            "got remainder 2"
        ),
    ),
    (
        "attributes",
        lambda: (vector(), 17),
        "ValueError: attributes(): cluster.x = width must be from 1 to 16, got 17",
    ),
    (
        "choice",
        lambda: (vector(4),),
        (
            "ValueError: choice(): no launch variant accepts these arguments; expected "
            "n >= 8 and n%2 == 0, or n%2 != 0, or n < 4"
        ),
    ),
    (
        "workspace",
        lambda: (vector(), -1),
        "ValueError: workspace(): workspace(4*k) must have >= 0 bytes, got -4",
    ),
    (
        "results",
        lambda: (vector(0),),
        "ValueError: results() result 'z': shape[0] must be >= 0, got -1",
    ),
    (
        "tail",
        lambda: (vector(3), -1),
        "ValueError: tail() result 'result': shape[-1] must be >= 0, got -1",
    ),
    (
        "tail",
        lambda: (forged.Source((1,) * 64, (1,) * 64, device=(2, 0)), 1),
        "ValueError: tail() result 'result': expected at most 63 dimensions for *s, got 64",
    ),
    (
        "whole",
        lambda: (forged.Source((2, 4), (4, 1), device=(2, 0)), vector(3)),
        "ValueError: whole() argument 'y': shape[0] must be s[0] = 4, got 3",
    ),
    (
        "aligned",
        lambda: (at(16),),
        (
            "ValueError: aligned() argument 'x': expected an address aligned to 64 bytes, got "
            "remainder 16"
        ),
    ),
    (
        "aligned",
        lambda: (at(128), at(8)),
        (
            "ValueError: aligned() argument 'y': expected an address aligned to 16 bytes, got "
            "remainder 8"
        ),
    ),
    (
        "on_one",
        lambda: (vector(),),
        "ValueError: on_one() argument 'x': expected device cuda:1, got cuda:0",
    ),
]


def outcome(function, args) -> str | None:
    """Return class and message of the exception that a call raises, or None."""
    try:
        function(*args)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


# ---- checks of each form -------------------------------------------------------------------------


def check_launches(module) -> None:
    for name, args, expected in LAUNCHES:
        given = (*args, vector(args[0].extents[0])) if name == "scale" else args
        calls()
        assert getattr(module, name)(*given) is None
        (line,) = calls("cuLaunch")
        assert line.partition("(")[2] == f"{expected})", name


def check_keywords(module) -> None:
    x, y = vector(), vector()
    with run_at_launch(lambda launch: seen.append(launch.values(c_void_p, c_float))):
        seen: list[tuple[object, ...]] = []
        module.scale(x, a=3.5, y=y)
        module.scale(x, y)
        module.scale(x, y, True)
        module.scale(x, y, np.int64(-3))
        module.scale(x, y, np.float32(0.5))
        numbers = 3.5, 2.0, 1.0, -3.0, 0.5
        assert seen == [(x.address, number) for number in numbers]
    with pytest.raises(TypeError, match="did you mean 'flag'"):
        module.scale(x, y, flags=1)


def check_values(module) -> None:
    x, y = vector(3, byte_offset=8), vector(3)

    def scale(launch) -> None:
        types = c_void_p, c_float, c_void_p, c_int32, c_bool, c_double, c_int16, c_void_p
        seen.append(launch.values(*types))

    seen: list[tuple[object, ...]] = []
    with run_at_launch(scale):
        module.scale(x, y, 1.5, False)
    assert seen == [(x.address + 8, 1.5, y.address, 3, False, 0.5, -3, None)]
    seen.clear()
    z = vector(2)
    matrix = vector(12)
    matrix = type(matrix)((3, 2), (4, 2), device=(2, 0))

    def sizes(launch) -> None:
        types = [c_void_p, *[c_int64] * 5, c_int32, c_int32, c_int32, c_void_p, c_void_p]
        seen.append((*launch.values(*types), *launch.grid, *launch.block))

    with run_at_launch(sizes):
        module.sizes(matrix, 5, z, ctypes.c_void_p(4096))
        module.sizes(matrix)
    start = matrix.address, 4, 2, 2, 6
    assert seen == [
        (*start, 1, 2, 0, 5, z.address, 4096, 3, 1, 1, 3, 2, 2),
        (*start, -1, 2, 0, 7, None, None, 3, 1, 1, 3, 2, 2),
    ]
    seen.clear()
    with run_at_launch(lambda launch: seen.append(launch.values(*[c_void_p] * 39, c_int64))):
        module.many(x)
    assert seen == [(*[x.address + 8] * 39, 3)]


def check_unsigned(module) -> None:
    seen: list[tuple[object, ...]] = []
    with run_at_launch(lambda launch: seen.append(launch.values(*[c_uint64] * 5))):
        module.unsigned(2**64 - 1)
        module.unsigned(2**63, 2**63 - 1, 2**63 + 1)
        module.unsigned(3, k=0)
    assert seen == [
        (2**64 - 1, 2**64 - 1, 7, 2**64 - 2, 2**64 - 1),
        (2**63, 2**63, 2**63 - 1, 2**64 - 2, 2**63 + 1),
        (3, 3, 7, 2**64 - 2, 0),
    ]


def check_optional(module) -> None:
    x, small, large = vector(3), forged.Source((2,), (2,), device=(2, 0)), vector(4)
    types = {
        "plain": [c_void_p],
        "scaled": [c_void_p, c_float, c_int64],
        "large": [c_void_p, c_void_p, c_int32, c_int64],
        "biased": [c_void_p, c_void_p, c_int64],
    }

    def launched(launch) -> None:
        name = launch.kernel.decode()
        seen.append((name, *launch.values(*types[name])[1:]))

    seen: list[tuple[object, ...]] = []
    with run_at_launch(launched):
        module.optional(x, None, None)
        module.optional(x, None, None, 5)
        module.optional(x, a=1, i=-5)
        module.optional(x, i=0)
        module.optional(x, large)
        module.optional(x, large, None, 7)
        module.optional(x, small)
    assert seen == [
        ("plain",),
        ("plain",),
        ("scaled", 1.0, -5),
        ("scaled", 3.0, 0),
        ("large", large.address, 4, 1),
        ("large", large.address, 4, 1),
        ("biased", small.address, 2),
    ]


def check_dtypes(module) -> None:
    int8, int16, float32 = (0, 8, 1), (0, 16, 1), (2, 32, 1)
    for x, y, kernel in (
        (int8, float32, "k_int8_float32"),
        (int8, int16, "k_int8_int16"),
        (float32, float32, "k_float32_float32"),
        (float32, int16, "k_float32_int16"),
    ):
        calls()
        module.dtypes(vector(4, dtype=x), vector(4, dtype=y))
        assert calls("cuLaunch")[0].startswith(f"cuLaunchKernel({kernel} on 0")


def check_memory(module) -> None:
    with Allocator() as allocator:
        seen: list[tuple[object, ...]] = []
        with run_at_launch(lambda launch: seen.append(launch.values(*[c_void_p] * 4))):
            result = module.workspace(vector(5), 25)
        ((_, first, second, third),) = seen
        assert allocator.requests == [(5,), (100 + 255,), (5 + 255,)]
        assert (first % 256, second % 256, third) == (0, 0, result.data_ptr())
        assert (result.shape, str(result.device), str(result.dtype)) == ((5,), "cuda:0", "float32")
        assert len(allocator.alive) == 1
        with run_at_launch(lambda launch: seen.append(launch.values(*[c_void_p] * 4))):
            module.workspace(vector(0), 0)
        assert seen[1][1:3] == (None, None)
        del result
        for x, dtype in ((vector(4), "float32"), (vector(4, dtype=(0, 8, 1)), "int8")):
            y, z = module.results(x)
            assert (y.shape, z.shape, str(y.dtype), str(z.dtype)) == ((4, 2), (3,), dtype, "int32")
        types = (
            c_void_p,
            c_void_p,
            c_int32,
            c_int64,
            c_int32,
            c_int32,
            *[c_int64] * 4,
            c_int32,
            c_int32,
        )
        with run_at_launch(lambda launch: seen.append(launch.values(*types))):
            y, z = module.fields(forged.Source((2, 5), (5, 1), device=(2, 0)))
        addresses = y.data_ptr(), z.data_ptr()
        assert seen[2] == (*addresses, 3, 3, 12, 3, 4, 1, 36, 10, 2, 10)
        z, w = module.whole(None, forged.Source((2, 3), (3, 1), device=(2, 0)))
        assert (z.shape, w.shape, str(w.dtype)) == ((2, 3, 2), (3, 2, 3), "int8")
        z, w = module.whole(None, forged.Source((), (), device=(2, 0)))
        assert (z.shape, w.shape) == ((2,), (3,))
        del y, z, w
        driver.fake_driver_fail(b"cuLaunchKernel", 719, 0)
        with pytest.raises(
            RuntimeError, match=r"kernel `workspace` on cuda:0 with grid \(1, 1, 1\)"
        ):
            module.workspace(vector(5), 25)
        assert str(module.one_result(vector(3, device=(2, 1))).device) == "cuda:1"
        assert not allocator.alive
    assert "allocator" in (outcome(module.one_result, (vector(),)) or "")


def check_stream(module) -> None:
    x, y = vector(device=(2, 1)), vector(device=(2, 1))
    calls()
    with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 1), 0x1234):
        module.scale(x, y)
    assert calls("cuLaunch")[0].endswith("stream 0x1234)")


def check_driver_errors(module) -> None:
    x, y = vector(), vector()
    for function, code in ((b"cuLaunchKernel", 719), (b"cuCtxGetCurrent", 400)):
        driver.fake_driver_fail(function, code, 0)
        error = outcome(module.scale, (x, y))
        assert error is not None
        assert error.startswith(f"RuntimeError: CUDA driver: {function.decode()} failed"), error
        assert module.scale(x, y) is None  # the next call works
    assert driver.fake_driver_current_context() == -1


# ---- comparison of the forms ---------------------------------------------------------------------


def check_refusals(forms) -> None:
    for name, make, expected in REFUSED:
        for module in forms:
            calls()
            assert outcome(getattr(module, name), make()) == expected, (module, name)
            assert calls("cuLaunch") == []


def idle_plan(text: str) -> codegen.LaunchPlan:
    """Return a plan that adds no condition to a signature; the kernel gets only written tensors."""
    signature = Signature.parse(text)
    written = [parameter.name for parameter in signature.parameters if parameter.is_written]
    read_only = replace(
        signature,
        parameters=[replace(parameter, direction="in") for parameter in signature.parameters],
    )
    image = ptx({"idle": "", "write": "l" * len(written)})
    (launch,) = codegen.make_launch_plan(read_only, image, "idle", arguments=[]).launches
    launch = replace(
        launch,
        kernels=dict.fromkeys(launch.kernels, "write"),
        arguments=tuple(codegen.Argument("address", name) for name in written),
    )
    return codegen.LaunchPlan(signature, (launch,))


def check_agreement() -> None:
    """Check that both forms of the plans raise the same errors as `Signature.check`."""
    # The folder of these programs is next to `codegen`.
    from codegen.test_agreement import RAW_CALLS, SIGNATURES, TABLE, check_raw_addresses

    plans = {
        name: idle_plan(text)
        for name, text in SIGNATURES.items()
        if name != "texts"  # kernels cannot take strings
    }
    forms = both(plans)
    num_refused = 0
    for name, args, _ in TABLE:
        if name in plans:
            checked = outcome(plans[name].signature.check, args)
            num_refused += checked is not None
            for module in forms:
                said = outcome(getattr(module, name), args)
                if name == "devices" and checked is None:  # the driver has no such device
                    assert said.startswith("RuntimeError: CUDA driver: cuDeviceGet failed")
                else:
                    assert said == checked, (module, name, args)
    assert num_refused > 50
    callers = cpp.load_inline("raw_calls", c_sources=[RAW_CALLS.read_text(encoding="utf-8")])
    for module in forms:
        call = callers.call_with_view
        check_raw_addresses(call, lambda name, module=module: getattr(module, name))


def check_saved_earlier() -> None:
    """Load a module that an earlier build saved."""
    saved = SAVED.read_bytes()
    module = tvm_ffi.get_global_func("ffi.Module.load_from_bytes.cuda_driver")(saved)
    assert module.save_to_bytes() == saved
    matrix = vector()
    calls()
    with Allocator():
        for rows, kernel, grid in ((4, "even_float32", 2), (5, "odd", 3)):
            result = module.saved(type(matrix)((rows, 2), (2, 1), device=(2, 0)), k=2)
            assert (result.shape, str(result.dtype)) == ((rows,), "float32")
            del result
            assert calls("cuLaunch") == [
                f"cuLaunchKernel({kernel} on 0, grid {grid} 1 1, block 2 2 1, 0 bytes, stream 0)"
            ]
    text = "saved() argument 'x': expected dtype int8 or float32, got float64"
    assert outcome(module.saved, (vector(dtype=(2, 64, 1)),)) is not None
    wrong = type(matrix)((2, 2), (2, 1), device=(2, 0), dtype=(2, 64, 1))
    assert outcome(module.saved, (wrong,)) == f"ValueError: {text}"


def both(plans):
    """Return three forms of the plans: a module, the module from its bytes, and compiled C."""
    module = codegen.launch_module(list(plans.values()))
    load = tvm_ffi.get_global_func("ffi.Module.load_from_bytes.cuda_driver")
    again = load(module.save_to_bytes())
    assert again.save_to_bytes() == module.save_to_bytes()
    source = codegen.c.source_of(plans.values())
    flags = ["-Wall", "-Wextra", "-Werror"]
    printed = cpp.load_inline("plans", c_sources=[source], extra_cflags=flags)
    for name, plan in plans.items():
        for form in (module, printed):
            assert form.get_function_metadata(name)["signature"] == str(plan.signature)
    return module, again, printed


def main() -> None:
    forms = both(PLANS)
    for module in forms:
        for check in (
            check_launches,
            check_keywords,
            check_values,
            check_dtypes,
            check_unsigned,
            check_optional,
            check_memory,
            check_stream,
            check_driver_errors,
        ):
            check(module)
    check_refusals(forms)
    check_agreement()
    check_saved_earlier()
    print("done")


if __name__ == "__main__":
    sys.exit(main())
