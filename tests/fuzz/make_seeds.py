# SPDX-License-Identifier: Apache-2.0
"""Write the seeds of the fuzz targets: a small, valid input of each form that a reader accepts.

``python tests/fuzz/make_seeds.py`` writes them to ``seeds/TARGET/NAME``; the compiler builds the
libraries.  Inputs that once failed are kept there as well, named after the cause.
"""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
import tempfile
from pathlib import Path

from tvm_ffi.codegen import LaunchPlan, launch_module, make_launch_plan
from tvm_ffi.codegen._launch_program import launch_program as encode_launch_program

SEEDS = Path(__file__).parent / "seeds"

LIBRARY = """
extern int TVMFFIOfALaterRelease(void);
const char text[] = "documentation";
const char name[] = "f", kind[] = "doc";
__attribute__((section("tvm_ffi_exports"))) const void* const row[] = {name, kind, text};
const unsigned char __tvm_ffi__library_bin[] = {
    44, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, '_', 'l', 'i', 'b'};
int __tvm_ffi_f(void* self, const void* args, int count, void* result) {
  return TVMFFIOfALaterRelease();
}
"""
PTX = """.version 8.0
.target sm_80
/* .entry comment */
.visible .entry scale(
  .param .u64 .ptr .global .align 4 x,
  .param .f32 a,
  .param .align 8 .b8 pair[16]
) { ret; }
"""
GRAPH = {
    "root_index": 5,
    "nodes": [
        {"type": "int", "data": 1},
        {"type": "ffi.String", "data": "text"},
        {"type": "ffi.Bytes", "data": "QUJD"},
        {"type": "ffi.Shape", "data": [2, 3]},
        {"type": "ffi.BigInt", "data": "-123456789012345678901234567890"},
        {"type": "ffi.Map", "data": [1, 6, 0, 3]},
        {"type": "ffi.List", "data": [2, 4, 7, 8]},
        {"type": "DataType", "data": "float32x4"},
        {"type": "Device", "data": [2, 1]},
    ],
}
MANIFEST = {
    "format": 2,
    "name": "kernel",
    "product": "kernel.so",
    "size_bytes": 16,
    "content": f"sha256:{hashlib.sha256(bytes(16)).hexdigest()}",
    "base": "0" * 64,
    "parts": {"flags": ["-O2"], "source": "sha256:00"},
    "dependencies": {
        "own": {"/a/b.h": "sha256:11"},
        "installed": {},
        "folders": ["/a"],
        "shadows": [],
    },
    "created": 1.5,
    "build_seconds": 0.5,
    "reasons": ["first build"],
}
SIGNATURE = (
    "f(x: T*[n, 2*n, cdiv(m, 3), ...] compact from -2 align 16 on cuda:0 | None, /, k: int = 3, "
    "n: int = 1, m: int = 2, *, y: out {int8, float32}[n, *s] | None = None, "
    "z: Array[int | str | None] = [1, 'a', None], w: float = -inf, u: uint64 = 7) "
    "-> (r: float32[n], int) where T in (int8, float32x4) raises ValueError, KeyError "
    "non_blocking doc 'One line.'"
)
SIGNATURE_JSON = {
    "version": 1,
    "name": "f",
    "parameters": [
        {"name": "x", "type": {"tensor": ["int8"], "shape": ["n", 2, "2*n"], "device": "cpu"}},
        {"name": "n", "type": {"scalar": "int32"}, "default": 3, "kind": "keyword-only"},
        {
            "name": "z",
            "type": {"value": {"type": "Any"}},
            "default": [{"float": "nan"}, {"bytes": "00"}],
            "kind": "keyword-only",
        },
    ],
    "results": [{"type": {"tensor": "float32", "layout": "compact"}, "name": "r"}],
    "doc": "One line.",
}
SIGNATURE_METADATA = {
    "type_schema": '{"type":"ffi.Function","named_args":{"return":[{"type":"int"}],'
    '"params":[{"type":"DLTensor*"}]}}',
    "signature": "f(x: Tensor) -> int",
}
SCHEMA = {
    "type": "ffi.Function",
    "named_args": {
        "return": [{"type": "Optional", "args": [{"type": "int"}]}],
        "params": [{"type": "ffi.Map", "args": [{"type": "ffi.String"}, {"type": "Any"}]}],
    },
}


def main() -> None:
    """Write all seeds."""
    library = compiled_library()
    seeds: dict[str, bytes] = {
        "cuda_image/cubin": cubin(),
        "cuda_image/fatbin": struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 4) + b"code",
        "cuda_image/ptx": b".version 8.0\n.target sm_80\n",
        "cuda_module/module": cuda_module(),
        "cuda_module/plan": saved_plan(),
        "cuda_module/lines": b"scale\nkernel\nx: float32*\ny: int8[]\nn: int32\n-\ngridDim\n=\n"
        b"blockDim.x\n" + b"v" * 64 + b"\n",
        "dtype/device": b"cuda:1",
        "dtype/sized": b"int8xvscalex4",
        "dtype/one_scalable_lane": b"int8xvscalex1",
        "dtype/exact": b"float4_e2m1fn_x2",
        "dtype/custom": b"custom[name]16x2",
        "device_image/cubin": cubin_with_kernel(),
        "device_image/ptx": PTX.encode(),
        "inspect/library": library,
        "json/every_kind": b'{"a": [1, -2.5e3, "\\u00e9\\ud83d\\ude00\\n", null, true, -Infinity]}',
        "json_graph/every_kind": json.dumps(GRAPH).encode(),
        "manifest/manifest": json.dumps(MANIFEST).encode(),
        "launch_program/program": b"\0" + launch_program(),
        "needed_symbols/library": library,
        "recording/call": recorded_call(),
        "signature/text": b" " + SIGNATURE.encode(),
        "signature/words": b"w" + bytes(range(70)),
        "signature/json": b"j" + json.dumps(SIGNATURE_JSON).encode(),
        "signature/metadata": b"m" + json.dumps(SIGNATURE_METADATA).encode(),
        "signature/annotation": b"einout {int8, float32}[n, 2*n] strided | None",
        "signature/extent": b"e(n + 2) * cdiv(m, 3) % 7",
        "signature/side_file": b"s# A comment.\nf(x: int,\n  y: int\n)\ng() doc '# none'\n",
        "type_schema/function": json.dumps(SCHEMA).encode(),
    }
    for name, content in seeds.items():
        path = SEEDS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def recorded_call() -> bytes:
    """Return the records of a call with scalars, a string, a tensor and containers, and of its end.

    Each record begins with its kind and its size.
    """
    word = struct.Struct("<Q").pack
    values = [
        word(1) + struct.pack("<q", -5),
        word(3) + struct.pack("<d", 0.5),
        word(4) + word(0x1000),
        word(11 | 2 << 32) + b"ab".ljust(8, b"\0"),
        word(65) + word(9) + b"some text".ljust(16, b"\0"),
        word(70 | 1 << 32) + word(0x2000) + word(0x3000) + struct.pack("<BBHi", 2, 32, 1, 1)
        + struct.pack("<ii", 0, 1) + word(4) + word(2) + struct.pack("<q", -1)
        + word(2) + word(8) + bytes(8),
        word(71) + word(0x4000) + word(1) + word(0) + word(0),
        word(72) + word(0x5000) + word(1) + word(1) + word(2) + word(2) + word(1),
        word(69) + word(2) + word(3) + word(4),
        word(73) + word(0x6000) + word(10) + b"ffi.Module".ljust(16, b"\0"),
    ]  # fmt: skip
    records = b""
    for number, value in enumerate(values, 1):
        call = word(number) + word(1 << 32) + word(0) + word(0) + word(1) + value
        result = word(number) + word(1 << 32 if number == 6 else 0) + word(0) + word(0)
        if number == 6:  # the content of its tensor after the call
            result += word(0) + word(1) + word(77)
        records += bytes([3, len(call)]) + call + bytes([4, len(result)]) + result
    error = word(99) + word(2**32 - 1) + word(67) + word(0) + word(1) + b"E".ljust(8, b"\0")
    call = word(99) + word(1 << 32) + word(0) + word(0) + word(0)
    return records + bytes([3, len(call)]) + call + bytes([4, len(error) + 8]) + error + word(0)


def compiled_library() -> bytes:
    """Return a shared library of a few kilobytes."""
    with tempfile.TemporaryDirectory() as folder:
        source, product = Path(folder, "library.c"), Path(folder, "library.so")
        source.write_text(LIBRARY)
        flags = "-Os -fPIC -shared -nostdlib -s -Wl,--build-id=none -Wl,-z,noseparate-code"
        subprocess.run(["cc", *flags.split(), str(source), "-o", str(product)], check=True)
        return product.read_bytes()


def cubin() -> bytes:
    """Return an ELF header and one section of four bytes."""
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    header = struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 64, 0, 64, 0, 0, 64, 1, 0)
    return ident + header + struct.pack("<IIQQQQIIQQ", 0, 1, 0, 0, 128, 4, 0, 0, 1, 0) + b"code"


def cubin_with_kernel() -> bytes:
    """Return a cubin with a kernel of a pointer and an int32."""
    texts = b"\0.text.f\0.nv.constant0.f\0.nv.info.f\0.strings\0"
    parameters = b"\x03\x19\x0c\x00"
    for place, size in ((1, 4), (0, 8)):
        parameters += b"\x04\x17" + struct.pack("<HIHHI", 12, 0, place, 0, size << 18)
    contents = {b".text.f": b"code", b".nv.constant0.f": b"", b".nv.info.f": parameters}
    contents[b".strings"] = texts
    body, rows = b"", [bytes(64)]
    for name, content in contents.items():
        place = 64 + len(body), len(content)
        rows.append(struct.pack("<IIQQQQIIQQ", texts.index(name), 1, 0, 0, *place, 0, 0, 0, 0))
        body += content
    ident = b"\x7fELF\x02\x01\x01\x41\x08" + bytes(7)
    header = struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 64 + len(body), 90 << 8, 64, 0, 0, 64,
                         len(rows), len(rows) - 1)  # fmt: skip
    return ident + header + body + b"".join(rows)


def launch_plan() -> LaunchPlan:
    """Return a launch plan that reads tensors and numbers, and computes with them."""
    return make_launch_plan(
        "fill(x: T*[n, m] on cuda, k: int = 3, a: float = 1.0) -> T[n, 2*m] "
        "where T in (int8, float32)",
        ".version 8.0\n.target sm_80\n.visible .entry fill(.param .u64 x, .param .u32 k, "
        ".param .u64 y) { ret; }",
        arguments=["x", "int32 k", "result"],
        grid=["cdiv(n, k)", "max(m // 2, 1)"],
        shared_memory="4*(n % 8)",
        when="n > 3",
    )


def launch_program() -> bytes:
    """Return the runtime form of a launch plan."""
    plan = launch_plan()
    return encode_launch_program(plan, plan.launches[0].images)


def saved_plan() -> bytes:
    """Return the saved form of a module with one launch plan."""
    return bytes(launch_module(launch_plan()).save_to_bytes())


def cuda_module() -> bytes:
    """Return the saved form of a module with one kernel."""

    def text(content: bytes) -> bytes:
        return struct.pack("<Q", len(content)) + content

    def texts(*contents: bytes) -> bytes:
        return struct.pack("<Q", len(contents)) + b"".join(map(text, contents))

    kernel = text(b"scale") + text(b"scale_kernel") + texts(b"x: float32*", b"n: int32")
    kernel += texts(b"gridDim") + struct.pack("<Q", 1) + text(b"blockDim.x") + struct.pack("<Q", 64)
    image = text(b".version 8.0\n")
    return b"TVMFFICU" + struct.pack("<II", 1, 1) + image + struct.pack("<Q", 1) + kernel


if __name__ == "__main__":
    main()
