# SPDX-License-Identifier: Apache-2.0
"""Launch plans: errors at creation, and all forms of plans on a fake CUDA driver."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import shutil
import struct
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import codegen, libinfo
from tvm_ffi.codegen import DeviceImage, LaunchPlan, launch_module, make_launch_plan

HERE = Path(__file__).resolve().parent
PROCESSES = HERE.parent / "processes"
PTX = """.version 8.0
.target sm_80
// .entry comment(.param .u64 x)
.visible .entry scale(
  .param .u64 .ptr .global .align 4 x,
  .param .f32 a,
  .param .align 8 .b8 pair[16]
)
{ ret; }
.visible .entry fill(.param .u64 x, .param .u32 n) { ret; }
.visible .entry nothing { ret; }
.visible .entry fill_int8(.param .u64 x) { ret; }
"""


def section(name: int, kind: int, offset: int, size: int) -> bytes:
    return struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, offset, size, 0, 0, 0, 0)


def cubin(architecture: int = 90, tail: bytes = b"") -> bytes:
    """Return a minimal cubin with a kernel ``f`` whose parameters are a pointer and an int32."""
    texts = b"\0.text.f\0.nv.constant0.f\0.nv.info.f\0.text.helper\0.strings\0"
    parameters = b"\x03\x19\x0c\x00"  # the code has 12 bytes
    for ordinal, size in ((1, 4), (0, 8)):
        parameters += b"\x04\x17" + struct.pack("<HIHHI", 12, 0, ordinal, 0, size << 18)
    contents = {b".text.f": b"code", b".nv.constant0.f": b"", b".nv.info.f": parameters}
    contents.update({b".text.helper": b"code", b".strings": texts})
    at, body, rows = 64, b"", [section(0, 0, 0, 0)]
    for name, content in contents.items():
        rows.append(section(texts.index(name), 1, at + len(body), len(content)))
        body += content
    header = bytearray(64)
    header[:9] = b"\x7fELF\x02\x01\x01\x41\x08"
    header[18:20] = struct.pack("<H", 190)
    header[40:48] = struct.pack("<Q", at + len(body))
    header[48:52] = struct.pack("<I", architecture << 8)
    header[58:64] = struct.pack("<HHH", 64, len(rows), len(rows) - 1)
    return bytes(header) + body + b"".join(rows) + tail


def fill(**options: object) -> LaunchPlan:
    options.setdefault("arguments", ["x", "int32 n"])
    return make_launch_plan("fill(x: float32[n])", PTX, **options)


# ---- images --------------------------------------------------------------------------------------


def test_images_list_their_kernels():
    image = DeviceImage.read(PTX)
    assert (image.format, image.architecture, str(image)) == ("ptx", "sm_80", "PTX for sm_80")
    assert image.kernels == {
        "scale": (8, 4, 16),
        "fill": (8, 4),
        "nothing": (),
        "fill_int8": (8,),
    }
    image = DeviceImage.read(cubin(90))
    assert (image.format, image.architecture) == ("cubin", "sm_90")
    assert image.kernels == {"f": (8, 4)}
    image = DeviceImage.read(cubin(90, b"-arch sm_90a -m 64"))
    assert image.generation == (90, "a")
    assert DeviceImage(cubin(90), architecture="sm_90a").architecture == "sm_90a"
    fatbin = DeviceImage(b"\x50\xed\x55\xba" + struct.pack("<HHQ", 1, 16, 0))
    assert (str(fatbin), fatbin.kernels, fatbin.generation) == ("fatbin", None, (0, ""))


def test_unreadable_parts_of_an_image_are_unknown():
    for size in (64, 70, 100, len(cubin()) - 1):
        assert DeviceImage(cubin()[:size]).kernels in (None, {}, {"f": None}, {"f": (8, 4)})
    plan = make_launch_plan("g(x: float32[n])", cubin()[:64])
    assert plan.launches[0].images[0].kernels is None


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 30_000,
        " " * 30_000,
        "/* " * 30_000,
        ".entry f(" * 30_000,
        ".entry f(.param .align " * 10_000 + " " * 10_000,
        ".entry f(.param .b" + "9" * 30_000 + " x)",
    ],
)
def test_reading_ptx_takes_linear_time(text):
    """Regression: an unterminated statement was searched again from each later position."""
    start = time.process_time()
    image = DeviceImage((".version 8.0" + text).encode())
    assert image.architecture is None
    assert image.kernels in ({}, {"f": None})
    assert time.process_time() - start < 2


def test_overlapping_sections_of_a_cubin_take_no_memory():
    """Regression: each of sixty thousand sections was a copy of the whole file."""
    names = 64
    texts = b".text.f\0" * 10_000
    table, count = names + len(texts), 60_000
    rows = [section(0, 1, names, len(texts))]
    rows += [section(8 * (i % 10_000), 1, 0, table) for i in range(count - 1)]
    header = bytearray(cubin()[:64])
    header[40:48] = struct.pack("<Q", table)
    header[58:64] = struct.pack("<HHH", 64, count, 0)
    tracemalloc.start()
    assert DeviceImage(bytes(header) + texts + b"".join(rows)).kernels is None
    assert tracemalloc.get_traced_memory()[1] < 100_000_000
    tracemalloc.stop()


def test_overlapping_names_of_a_cubin_take_no_time():
    """Regression: the names of sixty thousand sections were suffixes of one long string."""
    texts = b"x" * 100_000 + b"\0"
    table, count = 64 + len(texts), 60_000
    rows = [section(0, 1, 64, len(texts)), *[section(i, 0, 0, 0) for i in range(count - 1)]]
    header = bytearray(cubin()[:64])
    header[40:48] = struct.pack("<Q", table)
    header[58:64] = struct.pack("<HHH", 64, count, 0)
    start = time.process_time()
    assert DeviceImage(bytes(header) + texts + b"".join(rows)).kernels is None
    assert time.process_time() - start < 2


def test_an_image_can_be_a_file(tmp_path):
    path = tmp_path / "image.ptx"
    path.write_text(PTX, encoding="utf-8")
    assert DeviceImage.read(path) == DeviceImage.read(PTX)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: DeviceImage("text"), TypeError, "device code must be bytes, got str"),
        (lambda: DeviceImage.read(3), TypeError, "device code is bytes, str or a path, got int"),
        (
            lambda: DeviceImage(b"text"),
            ValueError,
            "device image: expected PTX, a cubin or a fatbin, got other bytes",
        ),
        (
            lambda: DeviceImage(cubin(), "ptx"),
            ValueError,
            "device image: expected a ptx, got a cubin",
        ),
        (lambda: DeviceImage(cubin(), "elf"), ValueError, "one of ptx, cubin, fatbin; got 'elf'"),
        (
            lambda: DeviceImage(cubin(90), architecture="sm_80"),
            ValueError,
            "the cubin was compiled for sm_90, not for sm_80",
        ),
        (
            lambda: DeviceImage(cubin(90), architecture="90"),
            ValueError,
            "device image architecture must be like 'sm_90a', got '90'",
        ),
    ],
)
def test_invalid_images_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


# ---- plans ---------------------------------------------------------------------------------------


def test_a_plan_is_a_value():
    plan = fill(grid=["cdiv(n, 128)", 2], block=128, cluster=2, shared_memory="4*n", when="n > 3")
    assert plan == fill(
        grid=["cdiv(n, 128)", 2], block=128, cluster=2, shared_memory="4*n", when="n > 3"
    )
    assert str(plan.signature) == "fill(x: float32*[n] on cuda)"
    (launch,) = plan.launches
    assert (*map(str, launch.grid), *launch.block) == ("cdiv(n, 128)", "2", "1", 128, 1, 1)
    assert (launch.cluster, str(launch.shared_memory)) == ((2, 1, 1), "4*n")
    assert list(map(str, launch.arguments)) == ["x", "n"]
    assert list(map(str, launch.when)) == ["n > 3"]
    assert launch.kernels == {(): "fill"}


def test_fields_of_results_are_expressions():
    text = "f(x: float32[n, m]) -> (y: float32[2*n, m, 1], z: int8[n])"
    fields = ["y.shape[0]", "y.strides[0]", "y.strides[1]", "y.strides[2]", "y.size", "y.ndim"]
    types = [".u32", *[".u64"] * 7, ".u32"]
    ptx = f".version 8.0\n.entry f({', '.join(f'.param {type_} x' for type_ in types)}) {{ ret; }}"
    plan = make_launch_plan(text, ptx, arguments=["int32 z.size", "y", "z", *fields])
    listed = ["n", "y", "z", "2*n", "m", "1", "1", "2*n*m", "3"]
    assert list(map(str, plan.launches[0].arguments)) == listed


TWO = (PTX, PTX.replace("sm_80", "sm_90"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fill(kernel="gill"), "PTX for sm_80 has no kernel 'gill'; its kernels are: fill,"),
        (
            lambda: make_launch_plan("f(x: int8[n]) -> int8[n]", PTX, "fill_int8", arguments=["x"]),
            "f: the address of result 'result' is not passed to the kernel, so the result would be",
        ),
        (
            lambda: make_launch_plan(
                "f(x: int8[n, m]) -> (y: int8[n, m], z: int8[n])",
                PTX,
                "fill",
                arguments=["y", "int32 z.shape[0]"],
            ),
            "f: the address of result 'z' is not passed",
        ),
        (
            lambda: make_launch_plan(
                "f(y: out int8[n])", PTX, "fill", arguments=["workspace(n)", "int32 y.strides[0]"]
            ),
            "f: parameter 'y' is 'out', but its address is not passed to the kernel; add 'y' to",
        ),
        (
            lambda: make_launch_plan("f(y: inout int8[n])", PTX, "nothing", arguments=[]),
            "f: parameter 'y' is 'inout', but its address is not passed",
        ),
        (
            lambda: make_launch_plan(
                "f(y: out int8[n] | None)", PTX, "nothing", arguments=[], when="y is not None"
            ),
            "f: parameter 'y' is 'out', but its address is not passed",
        ),
        (
            lambda: LaunchPlan(
                make_launch_plan("f(y: out int8[n])", PTX, "fill_int8").signature,
                make_launch_plan(
                    "f(x: int8[n])", PTX, "nothing", arguments=[], when="n > 1"
                ).launches
                + make_launch_plan("f(y: int8[n])", PTX, "fill_int8").launches,
            ),
            "f: parameter 'y' is 'out', but its address is not passed",
        ),
        (lambda: fill(arguments=["x"]), "kernel 'fill' .* takes 2 arguments, got 1"),
        (
            lambda: fill(arguments=["x", "n"]),
            r"takes 4 bytes as argument 1, got 8 for 'n' \(int64\)",
        ),
        (lambda: fill(grid="m"), "fill: 'm' in grid.x is not an extent of every call; .* n"),
        (lambda: fill(block=["1", "k"]), "'k' in block.y is not an extent of every call"),
        (lambda: fill(shared_memory="k"), "'k' in shared_memory is not an extent of every call"),
        (lambda: fill(when="k > 3"), "'k' in when k > 3 is not an extent of every call"),
        (
            lambda: make_launch_plan("fill(k: uint64)", PTX, grid="k + 1"),
            "fill: grid.x: 'k' is uint64, and expressions are limited to signed 64-bit integers",
        ),
        (
            lambda: make_launch_plan("fill(k: uint64)", PTX, when="1 < k"),
            "fill: when 1 < k: 'k' is uint64, and expressions are limited to signed 64-bit",
        ),
        (
            lambda: fill(when="x is None"),
            "'x' in when x is None is not a parameter that may",
        ),
        (
            lambda: fill(when="k is not None"),
            "'k' in when k is not None is not a param.* none",
        ),
        (lambda: fill(when="None is x"), "character 8 of 'None is x': expected 'None', got 'x'"),
        (
            lambda: make_launch_plan(
                "fill(n: int | None)", PTX, when="n > 3 and n is not None", arguments=[]
            ),
            "'n' in when n > 3 is not an extent of every call",
        ),
        (
            lambda: make_launch_plan("fill(n: int | None)", PTX, when="n is None"),
            "parameter 'n' may be None, which a kernel cannot take as a number",
        ),
        (
            lambda: fill(when="n"),
            "^fill: when: character 1 of 'n': expected one of <, .* with None .*, got the end",
        ),
        # The positions were those in a part of the text, and the empty text was no condition.
        (
            lambda: fill(when=""),
            "^fill: when: character 0 of '': expected a condition, got the end",
        ),
        (lambda: fill(when=" "), "when: character 1 of ' ': expected a condition"),
        (
            lambda: fill(when="n > 3 or n < 2"),
            "character 6 of .*: expected 'and', the only word that combines .*, got 'or'",
        ),
        (
            lambda: fill(when="1 < n < 5"),
            "character 6 of .*: expected 'and', the only word that combines .*, got '<'",
        ),
        (
            lambda: fill(when="n > 3 and"),
            "character 9 of 'n > 3 and': expected an extent, got the end of the text",
        ),
        (lambda: fill(when="n > 3 and (n < 5)"), "character 13 of .*: expected '.', got '<'"),
        (lambda: fill(when="n > 3 and n = 5"), "character 12 of .*: expected one of <, .* got '='"),
        (lambda: fill(when="n + 1 is None"), "character 6 of .*: expected one of <, .* got 'is'"),
        (
            lambda: fill(when="n > 1//0"),
            "fill: when: character 5 of 'n > 1//0': `1//0` divides by zero",
        ),
        (
            lambda: fill(when="2 * (n % 0) == 1"),
            r"fill: when: character 7 of .*: `n%0` divides by zero",
        ),
        (lambda: fill(grid=0), r"fill\(\): grid.x must be from 1 to 2147483647, got 0"),
        (lambda: fill(grid=[1, 65536]), "grid.y must be from 1 to 65535, got 65536"),
        (lambda: fill(grid="1//0"), "`1//0` divides by zero"),
        # Only expressions without names were evaluated at the definition.
        (lambda: fill(grid="n//0"), "^grid: character 1 of 'n//0': `n//0` divides by zero"),
        (
            lambda: fill(block=[1, "1 + n % (2 - 2)"]),
            r"block: character 6 of .*: `n%\(2 - 2\)` divides by zero",
        ),
        (
            lambda: fill(shared_memory="cdiv(n, 0)"),
            r"shared_memory: character 4 of .*: `cdiv\(n, 0\)` divides by zero",
        ),
        (
            lambda: fill(arguments=["x", "workspace(n//0)"]),
            "character 1 of 'n//0': `n//0` divides by zero",
        ),
        (
            lambda: fill(grid="n + 9223372036854775807*2"),
            "grid: character 23 of .*: `.*` does not fit 64 bits",
        ),
        (lambda: fill(grid="9223372036854775807 + 1"), "does not fit 64 bits"),
        (lambda: fill(block=[32, 32, 2]), r"threads of a block = 32\*32\*2 must be .* got 2048"),
        (lambda: fill(block=[1, 1, 65]), "block.z must be from 1 to 64, got 65"),
        (lambda: fill(cluster=[4, 8]), r"blocks of a cluster = 4\*8 must be from 1 to 16, got"),
        (lambda: fill(grid=3, cluster=2), "grid.x = 3 must be a multiple of cluster.x = 2"),
        (lambda: fill(shared_memory=300000), "shared_memory must be from 0 to 232448, got 300000"),
        (lambda: fill(grid=[1, 1, 1, 1]), "grid must have from 1 to 3 extents, got 4"),
        (
            lambda: make_launch_plan("fill(x: float32[n])", []),
            "needs at least one device image, got none",
        ),
        (
            lambda: make_launch_plan("fill(x: float32[n])", [PTX, PTX], arguments=["x", "int32 n"]),
            "duplicate device image: PTX for sm_80",
        ),
        (
            lambda: make_launch_plan(
                "nothing()", [PTX, PTX.replace(".target sm_80", "")], arguments=[]
            ),
            "each of several device images must name its architecture, got PTX for sm_80, PTX",
        ),
        (
            lambda: make_launch_plan("f(x: str)", PTX),
            "parameter 'x' is str, which a kernel cannot take",
        ),
        (
            lambda: make_launch_plan("f(x: int) -> int", PTX),
            "a kernel cannot return int; only tensors",
        ),
        (
            lambda: make_launch_plan("f(x: int) -> int8[x] on cpu", PTX),
            "a result is allocated on the device of the launch, not on cpu",
        ),
        (
            lambda: make_launch_plan("f(x: int8[n])", PTX, "fill", arguments=["x.shape"]),
            "'x.shape' is in host memory, which a kernel cannot read",
        ),
        (
            lambda: make_launch_plan("f(x: int8[n])", PTX, "fill", arguments=["stream"]),
            "'stream' is in host memory",
        ),
        (
            lambda: make_launch_plan("f(k: int | None)", PTX, "fill"),
            "parameter 'k' may be None, which a kernel cannot take as a number",
        ),
        (
            lambda: make_launch_plan(
                "f(k: int) -> int8[k]", PTX, "fill", arguments=["result.shape"]
            ),
            "'result.shape' is unknown until the result is allocated; pass fields of a parameter",
        ),
        (
            lambda: make_launch_plan("fill(x: T[n]) where T in (int8, int16)", PTX, "fill_{T}"),
            "has no kernel 'fill_int16'",
        ),
        (
            lambda: LaunchPlan.first_of(
                [fill(), make_launch_plan("fill(y: float32[n])", PTX, arguments=["y", "int32 n"])]
            ),
            "expected launch plans with one signature, got `fill.x: .*` and `fill.y:",
        ),
        (lambda: LaunchPlan.first_of([]), "expected launch plans with one signature, got none"),
        (lambda: launch_module([]), "expected at least one launch plan, got none"),
        (lambda: launch_module([fill(), fill()]), "two functions have the name `fill`"),
        (lambda: codegen.c.source_of([fill(), fill()]), "duplicate function name 'fill'"),
    ],
)
def test_invalid_plans_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        ("n<=3", ["n <= 3"]),
        ("(n + 1) * 2 != 4 and n>=2", ["(n + 1)*2 != 4", "n >= 2"]),
        (" x\tis  not\nNone and k is None ", ["x is not None", "k is None"]),
    ],
)
def test_conditions_are_parsed(text, conditions):
    signature = "f(n: int, x: int8[m] | None, k: int | None)"
    plan = make_launch_plan(signature, PTX, "nothing", arguments=[], when=text)
    assert list(map(str, plan.launches[0].when)) == conditions


def test_a_written_tensor_that_is_none_is_not_passed():
    signature = "f(y: out int8[n] | None)"
    plan = LaunchPlan.first_of(
        [
            make_launch_plan(signature, PTX, "nothing", arguments=[], when="y is None"),
            make_launch_plan(signature, PTX, "fill_int8"),
        ]
    )
    assert [list(map(str, launch.arguments)) for launch in plan.launches] == [[], ["y"]]


def test_a_float_grid_is_refused():
    with pytest.raises(TypeError, match="grid must be an int or an expression, got float"):
        fill(grid=1.5)


# ---- the module ----------------------------------------------------------------------------------


def test_modules_contain_signatures(tmp_path):
    text = "fill(x: float32[n], k: int32 = 3) doc 'Fills.'"
    plan = make_launch_plan(text, TWO, arguments=["x", "k"])
    module = launch_module([plan, make_launch_plan("nothing()", PTX, arguments=[])])
    assert (module.kind, module.functions) == ("cuda_driver", ("fill", "nothing"))
    assert module.get_function_doc("fill") == "Fills."
    signature = module.get_function_signature("fill")
    assert str(signature) == "fill(x: float32*[n] on cuda, k: int32 = 3) doc 'Fills.'"
    assert list(module.get_write_formats()) == []
    with pytest.raises(ValueError, match="cannot write a module with 2 device images to a file"):
        module.write_to_file(str(tmp_path / "image.ptx"))


@pytest.fixture
def saved() -> bytes:
    plan = make_launch_plan(
        "scale(x: T[n], k: int = 3) -> T[n] where T in (int8, float32)",
        ".version 8.0\n.target sm_80\n.entry scale(.param .u64 x, .param .u32 k, .param .u64 y) {}",
        arguments=["x", "int32 k", "result"],
        grid="cdiv(n, k)",
    )
    return bytes(launch_module(plan).save_to_bytes())


def test_corrupt_programs_are_refused(saved):
    load = tvm_ffi.get_global_func("ffi.Module.load_from_bytes.cuda_driver")
    assert load(saved).save_to_bytes() == saved
    for size in range(8, len(saved), 7):
        with pytest.raises(ValueError, match="saved CUDA module|launch program|CUDA image"):
            load(saved[:size])
    with pytest.raises(ValueError, match="expected format version 1 or 2, got 9"):
        load(saved[:8] + b"\x09" + saved[9:])


def loaded(program: bytes) -> tvm_ffi.Module:
    """Return a module with one hand-written launch program."""
    create = tvm_ffi.get_global_func("pytvmffi.CUDAModuleCreateWithPlans")
    return create([[PTX.encode(), "ptx", "sm_80"]], [], [["f", "", "", program]])


def words(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}q", *numbers)


# Rows of checks/program.h: a parameter for any value, and a tensor with the first dtype set.
ANY = words(0, 0, 0, 0)
TENSOR = words(4, 0, 0, 0, 0, -1, 0, -1, 0, -1, 0, -1, -1, -1, 0, -1, -1, 0, 1, -1, -1, -1)


def program(rows: list[bytes], *, num_registers: int = 1, num_dtypes: int = 1) -> bytes:
    """Return a launch program as in launch_program.h, with one failure and one launch."""
    checks = words(1, len(rows), 0) + words(num_registers, 0)
    checks += words(1, 0, 0)  # one message without text
    checks += words(1, num_dtypes, *[2 | 32 << 8 | 1 << 16] * num_dtypes)
    checks += words(len(rows), *[0] * len(rows)) + words(0, 0) + b"".join(rows) + words(1, 0)
    variant = words(1, 0, 1, 1) + b"k" + words(-1, -1, 0, 0, *[0] * 11, 0)
    return words(2, 0) + checks + words(-1, -1, 0) + words(1) + variant


def test_memory_for_registers_is_bounded():
    """Regression: a plan of 200 bytes took eight megabytes."""
    assert loaded(program([])).kind == "cuda_driver"
    with pytest.raises(
        ValueError,
        match="corrupt launch program at byte 40 of [0-9]+: 1048576 registers do not fit into the "
        "remaining [0-9]+ bytes",
    ):
        loaded(program([], num_registers=1 << 20))


def test_tensors_share_a_set_of_dtypes():
    """Regression: each check had its own copy, so half a megabyte of program took 400 megabytes."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    kept = loaded(program([TENSOR] * 1000, num_dtypes=100_000))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kilobytes
    assert list(kept.get_write_formats()) == ["ptx"]


def test_dtype_names_in_failures_are_released():
    """Regression: dtype names of more than seven letters leaked, one for each failure."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    module = launch_module(make_launch_plan("nothing(x: float32[n])", PTX, arguments=[]))
    nothing = module["nothing"]
    array = np.zeros(3, ml_dtypes.float8_e4m3b11fnuz)
    before = heap_bytes()
    for _ in range(5000):
        with pytest.raises(ValueError, match="got float8_e4m3b11fnuz"):
            nothing(array)
    assert heap_bytes() - before < 5000 * 16


def heap_bytes() -> int:
    """Return the bytes allocated on the heap; the fields of glibc's mallinfo2 are sizes."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):
        pytest.skip("the C library has no mallinfo2")

    class Information(ctypes.Structure):
        _fields_ = [(f"field{i}", ctypes.c_size_t) for i in range(10)]

    library.mallinfo2.restype = Information
    gc.collect()
    return int(library.mallinfo2().field7)


@pytest.mark.breaks_rules
def test_negative_argument_counts_are_refused():
    """Regression: a negative count was compared as unsigned, and arguments were read."""
    function = loaded(program([ANY]))["f"]
    library = ctypes.CDLL(libinfo.find_libtvm_ffi())
    result, error = (ctypes.c_int64 * 2)(), ctypes.c_void_p()
    handle = ctypes.c_void_p(function.__chandle__())
    assert library.TVMFFIFunctionCall(handle, None, -1, ctypes.byref(result)) == -1
    library.TVMFFIErrorMoveFromRaised(ctypes.byref(error))
    library.TVMFFIObjectDecRef(error)


def run(program: str, fake_driver: Path, *arguments: str) -> None:
    """Run a program on the fake CUDA driver; the program prints ``done`` at its end."""
    folders = [*map(str, (HERE.parent, HERE.parent / "support", PROCESSES))]
    folders.append(os.environ.get("PYTHONPATH", ""))
    done = subprocess.run(
        [sys.executable, str(PROCESSES / program), *arguments],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(folders),
            "LD_LIBRARY_PATH": str(fake_driver),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)


@pytest.mark.undebugged("the fake driver runs no kernel, so outputs are not written")
def test_all_forms_launch_and_refuse_alike(fake_driver):
    run("launch_plans.py", fake_driver)


@pytest.mark.undebugged("the launch of an observed call is not repeated")
def test_prepared_calls_repeat_launches(fake_driver):
    run("prepared_launches.py", fake_driver)


@pytest.mark.parametrize(
    ("capability", "expected"),
    [
        ("70", "k(): no device image runs on cuda:0, Stand-in 0 (sm_70); expected one of "),
        ("75", "3"),  # only the PTX of the oldest version runs on it
        ("80", "0"),
        ("87", "0"),  # machine code for an older architecture of the same family
        ("89", "1"),
        ("90", "2"),
        ("100", "4"),  # machine code for this architecture alone
        ("103", "5"),  # the newest PTX that is not specific to an architecture
    ],
)
def test_the_best_image_is_selected(fake_driver, capability, expected):
    run("launch_images.py", fake_driver, capability, expected)


def test_hostile_programs_are_harmless(fake_driver):
    run("launch_hostile.py", fake_driver)


@pytest.mark.skipif(shutil.which("ld") is None, reason="the linker ld is not installed")
@pytest.mark.unsanitized(
    "the program is started with an environment of its own, without the sanitizer"
)
def test_programs_without_python_launch_kernels(fake_driver, tmp_path, c_compiler):
    """An exported library and the form in C, both loaded by a program in C."""
    plan = make_launch_plan(
        "fill(x: float32[n], k: int32 = 7)", PTX, arguments=["x", "k"], grid="n"
    )
    libraries = [tmp_path / "module.so", tmp_path / "printed.so"]
    tvm_ffi.export_library(libraries[0], launch_module(plan))
    source = tmp_path / "printed.c"
    source.write_text(codegen.c.source_of([plan]), encoding="utf-8")
    includes = [f"-I{path}" for path in libinfo.include_paths()]
    flags = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", *includes]
    build = [c_compiler, *flags, "-shared", "-fPIC", str(source), "-o", str(libraries[1]), "-ldl"]
    subprocess.run(build, check=True)
    ours = Path(libinfo.find_libtvm_ffi())
    program = tmp_path / "client"
    link = [f"-L{ours.parent}", "-ltvm_ffi", f"-Wl,-rpath,{ours.parent}"]
    client = [str(HERE / "launch_client.c"), "-o", str(program)]
    subprocess.run([c_compiler, *flags, *client, *link, "-ldl"], check=True)
    for library in libraries:
        done = subprocess.run(
            [str(program), str(library)],
            env={"LD_LIBRARY_PATH": str(fake_driver)},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert (done.stdout, done.stderr, done.returncode) == (
            "fill on 0, grid 3, k = 7\nfill() argument 'x': expected 1 dimension, got 2\n",
            "",
            0,
        )
