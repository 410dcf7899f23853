# SPDX-License-Identifier: Apache-2.0
"""Results that torch cannot represent stay `Tensor`; each test runs in its own process.

torch throws an exception that no code can catch for some tensors, which ends the process.
"""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

PRELUDE = """
import sys
sys.path.append(sys.argv[1])
import numpy as np, torch, tvm_ffi, tvm_ffi.testing
from forged import Source
beside_torch = tvm_ffi.convert(lambda x, _: x)
for_torch = tvm_ffi.convert_func(lambda x: x, torch.Tensor)
one = torch.ones(1)

def stays(**fields):
    \"\"\"Return True if the tensor stays a Tensor, False if it becomes a torch tensor.\"\"\"
    source = Source(**fields)
    tensor = tvm_ffi.from_dlpack(source)
    results = [
        beside_torch(tensor, one),
        beside_torch([tensor], one)[0],
        tvm_ffi.Array([one, tensor])[1],
        tvm_ffi.get_global_func("testing.echo")([one, tensor])[1],
    ]
    seen = []
    tvm_ffi.convert_func(seen.append, torch.Tensor)(tensor)
    classes = {type(result) for result in results + seen}
    assert classes in ({tvm_ffi.Tensor}, {torch.Tensor}), classes
    del tensor, results, seen
    assert source.deleted == 1, source.deleted
    return classes == {tvm_ffi.Tensor}
"""


@pytest.fixture
def run_beside_torch(run_python, request):
    folder = str(request.config.rootpath / "tests" / "python" / "support")

    def run(code):
        result = run_python(PRELUDE.replace("sys.argv[1]", repr(folder)) + code)
        assert (result.returncode, result.stderr) == (0, "")

    return run


def test_every_device_beside_a_torch_tensor(run_beside_torch):
    """Regression: torch made tensors of devices it was not built for; OpenCL crashed it."""
    run_beside_torch("""
accelerator = torch.accelerator.current_accelerator()
types = {"cuda": 10 if torch.version.hip else 2, "mps": 8, "xpu": 14}
own = {1, types.get(accelerator.type if accelerator else "cpu", 1)}
for device_type in set(range(1, 21)) - own:
    assert stays(device=(device_type, 0)), device_type
for device_id in (0, 1, -1, 300):
    assert not stays(device=(1, device_id))
for device_id in (-1, 128, 200, 70000):
    assert stays(device=(2, device_id)), device_id
""")


def test_every_dtype_beside_a_torch_tensor(run_beside_torch):
    run_beside_torch("""
common = {(code, bits) for code in (0, 1) for bits in (8, 16, 32, 64)}
common |= {(2, 16), (2, 32), (2, 64), (4, 16), (5, 64), (5, 128), (6, 8)}
for code in range(20):
    for bits in range(256):
        tensor = tvm_ffi.from_dlpack(Source((1,), (1,), dtype=(code, bits, 1)))
        result = for_torch(beside_torch(tensor, one))
        if (code, bits) in common:
            assert type(result) is torch.Tensor, (code, bits)
        elif code in (0, 1, 2, 4, 6, 3, 7, 8, 9, 15, 16, 18, 19):
            assert type(result) is tvm_ffi.Tensor, (code, bits)
        else:  # newer dtypes, which depend on the release of torch
            assert type(result) in (torch.Tensor, tvm_ffi.Tensor)
for dtype in ((2, 32, 2), (0, 8, 4), (17, 4, 1), (1, 64, 65534)):
    assert stays(dtype=dtype, shape=(1,), strides=(1,)), dtype
""")


def test_every_stride_pattern_beside_a_torch_tensor(run_beside_torch):
    """Regression: negative and very large strides ended the process."""
    run_beside_torch("""
for strides in ((-4, 1), (4, -1), (-4, -1), (-1, 0), (2**61, 1), (2**62, 1), (2**60, 1),
                (4, 2**62), (2**63 - 1, 2**63 - 1), (-2**63, 1), (1, -2**63), (2**63 - 1, -1)):
    assert stays(strides=strides), strides
for strides in ((4, 1), (0, 0), (0, 1), (1, 3), (2**59, 1), None):
    assert not stays(strides=strides), strides
# torch counts at most 2^63 - 1 bytes of memory: 2^61 - 1 elements of 4 bytes
assert not stays(shape=(2,), strides=(2**61 - 2,))
assert stays(shape=(2,), strides=(2**61 - 1,))
assert stays(shape=(2**61,), strides=(1,))
assert not stays(shape=(2**62,), strides=(0,))
# strides of dimensions with fewer than two elements, and of empty tensors, have no effect
assert not stays(shape=(1, 4), strides=(-4, 1))
assert not stays(shape=(1, 4), strides=(2**62, 1))
assert not stays(shape=(0, 4), strides=(-4, 1))
assert not stays(shape=(0, 4), strides=(2**62, -1))
assert not stays(shape=(2**62, 0), strides=None)
assert not stays(shape=(), strides=None)
assert not stays(shape=(0,), strides=(1,), has_data=False)
assert not stays(byte_offset=8)
""")


def test_reversed_arrays_beside_a_torch_tensor(run_beside_torch):
    """Regression: `numpy_array[::-1]` as an argument ended the process."""
    run_beside_torch("""
for array in (np.arange(5.0)[::-1], np.arange(6.0).reshape(2, 3)[:, ::-1]):
    for result in (
        beside_torch(array, one),
        beside_torch([array], one)[0],
        tvm_ffi.Array([one, array])[1],
        tvm_ffi.Dict({1: one, 2: array})[2],
        for_torch(array),
    ):
        assert type(result) is tvm_ffi.Tensor
        np.testing.assert_array_equal(result.numpy(), array)
assert type(beside_torch(np.arange(5.0)[::2], one)) is torch.Tensor
assert type(beside_torch(np.arange(1.0)[::-1], one)) is torch.Tensor
""")
