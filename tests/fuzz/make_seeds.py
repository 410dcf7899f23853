# SPDX-License-Identifier: Apache-2.0
"""Write the seeds of the fuzz targets: small, well-formed input of each form that a reader knows.

``python tests/fuzz/make_seeds.py`` writes them to ``seeds/TARGET/NAME``; libraries are made by the
compiler.  Input that a target once failed for is kept there as well, under the name of the cause.
"""

from __future__ import annotations

import json
import struct
import subprocess
import tempfile
from pathlib import Path

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
    "format": 1,
    "name": "kernel",
    "product": "kernel.so",
    "size_bytes": 16,
    "base": "0" * 16,
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
SCHEMA = {
    "type": "ffi.Function",
    "named_args": {
        "return": [{"type": "Optional", "args": [{"type": "int"}]}],
        "params": [{"type": "ffi.Map", "args": [{"type": "ffi.String"}, {"type": "Any"}]}],
    },
}


def main() -> None:
    """Write all of them."""
    library = compiled_library()
    seeds: dict[str, bytes] = {
        "cuda_image/cubin": cubin(),
        "cuda_image/fatbin": struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 4) + b"code",
        "cuda_image/ptx": b".version 8.0\n.target sm_80\n",
        "cuda_module/module": cuda_module(),
        "cuda_module/lines": b"scale\nkernel\nx: float32*\ny: int8[]\nn: int32\n-\ngridDim\n=\n"
        b"blockDim.x\n" + b"v" * 64 + b"\n",
        "dtype/device": b"cuda:1",
        "dtype/sized": b"int8xvscalex4",
        "dtype/one_scalable_lane": b"int8xvscalex1",
        "dtype/exact": b"float4_e2m1fn_x2",
        "dtype/custom": b"custom[name]16x2",
        "inspect/library": library,
        "json/every_kind": b'{"a": [1, -2.5e3, "\\u00e9\\ud83d\\ude00\\n", null, true, -Infinity]}',
        "json_graph/every_kind": json.dumps(GRAPH).encode(),
        "manifest/manifest": json.dumps(MANIFEST).encode(),
        "needed_symbols/library": library,
        "type_schema/function": json.dumps(SCHEMA).encode(),
    }
    for name, content in seeds.items():
        path = SEEDS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


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
