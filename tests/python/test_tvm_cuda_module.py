# SPDX-License-Identifier: Apache-2.0
"""Modules of kind ``cuda``, as Apache TVM and TileLang embed them, without either."""

import struct

import pytest

import tvm_ffi
from tvm_ffi import cuda

PTX = b".version 7.0\n.target sm_50\n.visible .entry add_kernel(.param .u64 x) { ret; }\n"
LOADER = "ffi.Module.load_from_bytes.cuda"


def text(content):
    return struct.pack("<Q", len(content)) + content


def module(*, dtypes=((3, 64, 1), (0, 32, 1)), words=(b"blockIdx.x",), notes=0, image=PTX):
    """Return the bytes, by the layout that the reader describes."""
    parameters = b"".join(struct.pack("<BBH", *dtype) for dtype in dtypes)
    return b"".join(
        [
            text(b"ptx"),
            struct.pack("<Q", 1),
            text(b"add"),
            text(b"add_kernel"),
            struct.pack("<Q", len(dtypes)) + parameters,
            struct.pack("<Q", len(words)) + b"".join(map(text, words)),
            struct.pack("<Q", notes),
            text(image),
        ]
    )


@pytest.fixture
def load():
    cuda.register_tvm_loader()
    try:
        yield tvm_ffi.get_global_func(LOADER)
    finally:
        tvm_ffi.remove_global_func(LOADER)


def test_functions_take_what_the_module_says(load):
    loaded = load(module())
    assert loaded.kind == "cuda_driver"
    with pytest.raises(
        TypeError, match=r"add\(void\*, int32, blockIdx.x\) takes 3 arguments, got 1"
    ):
        loaded.add(1)
    with pytest.raises(TypeError, match="int32"):
        loaded.add(None, "text", 1)


@pytest.mark.parametrize("end", range(len(module())))
def test_what_ends_too_early_is_refused(load, end):
    with pytest.raises(ValueError, match="module of kind `cuda`: "):
        load(module()[:end])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (module() + b"x", "1 bytes too many"),
        (module(notes=1), "`add` takes tensor maps"),
        (module(dtypes=[(3, 32, 1)]), r"code 3, 32 bits, 1 lanes"),
        (module(dtypes=[(2, 32, 4)]), r"code 2, 32 bits, 4 lanes"),
        (module(words=[b"\xff"]), "launch word of `add` is not UTF-8"),
        (text(b"ptx") + struct.pack("<Q", 2**63), "functions do not fit"),
        (module(words=[b"warpIdx.x"]), "warpIdx.x"),
        (module(image=b""), "no PTX"),
    ],
)
def test_damaged_and_foreign_modules_are_refused(load, content, message):
    with pytest.raises(ValueError, match=message):
        load(content)


def test_a_loader_that_is_there_stays():
    tvm_ffi.register_global_func(LOADER, lambda content: "theirs")
    try:
        cuda.register_tvm_loader()
        assert tvm_ffi.get_global_func(LOADER)(b"") == "theirs"
    finally:
        tvm_ffi.remove_global_func(LOADER)
