# SPDX-License-Identifier: Apache-2.0
"""Read-only memory on its way from native code to the tensors of a framework.

A framework with an exchange API has no read-only tensors, so such memory arrives as a `Tensor`,
which keeps the mark.  A writable tensor over a mapped file would end the process at the first
write.
"""

from __future__ import annotations

import numpy as np
import pytest
from forged import Framework, Source

import tvm_ffi

torch = pytest.importorskip("torch")


def read_only():
    array = np.arange(6.0).reshape(2, 3)
    array.flags.writeable = False
    return array


def mapped_file(tmp_path):
    np.arange(6.0).tofile(tmp_path / "data.bin")
    return np.memmap(tmp_path / "data.bin", dtype=np.float64, mode="r", shape=(2, 3))


# What a Python function may return, by origin of the read-only memory.
ORIGINS = {
    "array": lambda _: read_only(),
    "tensor": lambda _: tvm_ffi.from_dlpack(read_only()),
    "mapped file": mapped_file,
    "tensor over a mapped file": lambda folder: tvm_ffi.from_dlpack(mapped_file(folder)),
    "buffer": lambda _: memoryview(read_only()),
    "flagged capsule": lambda _: Source(flags=1),
}


def check_read_only(tensor):
    assert type(tensor) is tvm_ffi.Tensor
    assert tensor.readonly
    assert not tensor.numpy().flags.writeable


@pytest.mark.parametrize("origin", ORIGINS)
def test_read_only_results_of_calls_with_torch_arguments_stay_tensors(origin, tmp_path):
    """Regression: the result was a writable torch tensor."""
    value = ORIGINS[origin](tmp_path)
    one = torch.zeros(1)
    check_read_only(tvm_ffi.convert(lambda _: value)(one))
    check_read_only(tvm_ffi.convert(lambda x: value)(x=one))
    check_read_only(tvm_ffi.convert(lambda *_: value)(*([one] * 40)))
    check_read_only(tvm_ffi.convert(lambda _: value)([one]))
    check_read_only(tvm_ffi.convert(lambda _: value).bind(one)())


CONTAINERS = {
    "Array": lambda x: tvm_ffi.Array([x])[0],
    "List": lambda x: tvm_ffi.List([x])[0],
    "slice": lambda x: tvm_ffi.List([x, x])[1:][0],
    "iteration": lambda x: next(iter(tvm_ffi.Array([x]))),
    "Map": lambda x: tvm_ffi.Map({1: x})[1],
    "Dict": lambda x: tvm_ffi.Dict({1: x})[1],
    "get": lambda x: tvm_ffi.Dict({1: x}).get(1),
    "pop": lambda x: tvm_ffi.List([x]).pop(),
    "items": lambda x: next(iter(tvm_ffi.Map({1: x}).items()))[1],
    "values": lambda x: next(iter(tvm_ffi.Map({1: x}).values())),
    "nested": lambda x: tvm_ffi.Array([{"a": [x]}])[0]["a"][0],
}


@pytest.mark.parametrize("origin", ORIGINS)
def test_read_only_elements_of_containers_stay_tensors(origin, tmp_path):
    """Regression: the elements were writable torch tensors if the container had torch tensors."""
    value = ORIGINS[origin](tmp_path)
    beside_torch = tvm_ffi.convert(lambda _, x: x)
    for name, element_of in CONTAINERS.items():
        element = element_of(value)
        assert element.readonly, name
        check_read_only(beside_torch(torch.zeros(1), [element])[0])
        check_read_only(beside_torch(torch.zeros(1), {"a": [element]})["a"][0])
    check_read_only(tvm_ffi.Array([torch.zeros(1), value])[1])
    check_read_only(tvm_ffi.List([torch.zeros(1), value])[1:][0])
    check_read_only(tvm_ffi.List([torch.zeros(1), value]).pop())
    check_read_only(list(tvm_ffi.Array([torch.zeros(1), value]))[1])
    check_read_only(tvm_ffi.Map({1: torch.zeros(1), 2: value})[2])
    check_read_only(tvm_ffi.Dict({1: torch.zeros(1), 2: value}).get(2))
    check_read_only(dict(tvm_ffi.Dict({1: torch.zeros(1), 2: value}).items())[2])
    assert type(tvm_ffi.Array([torch.zeros(1), value])[0]) is torch.Tensor


@pytest.mark.parametrize("origin", ORIGINS)
def test_read_only_arguments_of_callbacks_for_torch_stay_tensors(kernels, origin, tmp_path):
    """Regression: `tensor_cls=torch.Tensor` converted read-only arrays to writable tensors."""
    value = ORIGINS[origin](tmp_path)
    seen = []
    callback = tvm_ffi.convert_func(seen.append, torch.Tensor)
    callback(value)
    callback([value])
    kernels.call(callback, tvm_ffi.readonly(value))
    check_read_only(seen[0])
    check_read_only(seen[1][0])
    check_read_only(seen[2])
    callback(np.zeros(3))
    assert type(seen[3]) is torch.Tensor


@pytest.mark.parametrize(
    "writable",
    [
        np.arange(6.0).reshape(2, 3),
        torch.arange(6.0).reshape(2, 3),
        tvm_ffi.from_dlpack(np.arange(6.0).reshape(2, 3)),
        memoryview(bytearray(6)).cast("B", (2, 3)),
        Source((2, 3), (3, 1)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_declared_read_only_arguments_stay_read_only(kernels, writable):
    """Regression: the declaration was lost if the argument came back to Python."""
    argument, one = tvm_ffi.readonly(writable), torch.zeros(1)
    check_read_only(kernels.echo(argument))
    check_read_only(kernels.last(one, argument))
    check_read_only(kernels.last(one, [argument])[0])
    check_read_only(kernels.first_row(argument))
    seen = []
    tvm_ffi.convert_func(seen.append, torch.Tensor)(argument)
    check_read_only(seen[0])
    kernels.keep(argument)
    check_read_only(kernels.kept())
    kernels.forget()
    address = kernels.echo(argument).data_ptr()
    assert address == tvm_ffi.from_dlpack(writable).data_ptr()  # the memory is not copied
    assert not tvm_ffi.from_dlpack(writable).readonly  # the value itself stays writable


def test_views_of_read_only_arguments_are_read_only(kernels):
    """Regression: a native view of a read-only array was writable."""
    row = kernels.first_row(tvm_ffi.readonly(read_only()))
    check_read_only(row)
    assert row.tolist() == [0, 1, 2]
    check_read_only(tvm_ffi.from_dlpack(row))


def test_read_only_arguments_outlive_their_call(kernels):
    array = read_only()
    kernels.keep(tvm_ffi.readonly(array))
    del array
    kept = kernels.kept()
    kernels.forget()
    assert kept.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_read_only_views_of_many_dimensions_keep_shape_and_strides(kernels):
    array = np.arange(512).reshape((2,) * 9)[::-1].T
    array.flags.writeable = False
    for tensor in (kernels.echo(tvm_ffi.readonly(array)), tvm_ffi.from_dlpack(array)):
        np.testing.assert_array_equal(tensor.numpy(), array)
    scalar = np.array(7.0)
    scalar.flags.writeable = False
    assert tvm_ffi.from_dlpack(scalar).item() == 7


def test_other_frameworks_get_no_read_only_memory(kernels):
    framework = Framework()
    check_read_only(kernels.last(framework.tensor_class(), tvm_ffi.readonly(read_only())))
    assert framework.num_returned == 0


def test_arrays_of_an_immutable_class_are_read_only_without_a_flag(kernels):
    """Regression: only the check of arguments knew that the class has read-only arrays."""
    pyarrow_array = type("Array", (Source,), {"__module__": "pyarrow.lib"})
    for version in (None, (1, 0)):
        check_read_only(tvm_ffi.from_dlpack(pyarrow_array(version=version)))
        check_read_only(kernels.last(torch.zeros(1), pyarrow_array(version=version)))
    array = pyarrow_array()
    kernels.echo(array)
    assert array.deleted == 1


LEGACY = """
import numpy as np, torch, tvm_ffi
array = np.arange(3.0)
array.flags.writeable = False
for value in (array, tvm_ffi.from_dlpack(array), np.arange(3.0)[::-1]):
    result = tvm_ffi.convert(lambda _: value)(torch.zeros(1))
    assert type(result) is tvm_ffi.Tensor, type(result)
assert type(tvm_ffi.convert(lambda _: np.arange(3.0))(torch.zeros(1))) is torch.Tensor
"""


def test_torch_without_the_exchange_api_gets_no_read_only_memory(run_python):
    result = run_python(LEGACY, TVM_FFI_SKIP_DLPACK_C_EXCHANGE_API="1")
    assert (result.returncode, result.stderr) == (0, "")


def test_read_only_result_of_a_torch_operator_is_refused():
    """Regression: the kernel of an operator made a writable torch tensor of the result."""
    from tvm_ffi.interop.torch import _dispatcher_kernels

    signature = tvm_ffi.signature.Signature.parse("f(x: Tensor[float64, n]) -> Tensor[float64, n]")
    kernel = _dispatcher_kernels.kernel_of(tvm_ffi.convert(lambda _: read_only()), signature)
    with pytest.raises(RuntimeError, match="`f`: .* got a read-only tensor.*; return a copy"):
        kernel(torch.zeros(3))
