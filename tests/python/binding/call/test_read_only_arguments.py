# SPDX-License-Identifier: Apache-2.0
"""Read-only arrays as arguments of Python callables and of native functions that only read."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from forged import READ_ONLY, Source
from numpy.lib.stride_tricks import as_strided

import tvm_ffi


def read_only():
    array = np.arange(3.0)
    array.flags.writeable = False
    return array


VIEWS = {
    "flag": read_only(),
    "broadcast": np.broadcast_to(np.float32(1), (2, 2)),
    "view": read_only()[::2],
    "strides": as_strided(np.zeros(3), writeable=False),
}


@pytest.mark.parametrize("array", list(VIEWS.values()), ids=list(VIEWS))
def test_read_only_arrays_are_refused_by_functions_without_restrictions(kernels, array):
    text = (
        "Cannot pass argument #1 when calling `last`: the array is read-only; it is unknown "
        "whether the function writes into it: pass `tvm_ffi.readonly(array)` if it only reads, or "
        "a writable copy"
    )
    for _ in range(2):
        with pytest.raises(BufferError) as caught:
            kernels.last(1, array)
        assert str(caught.value) == text
    assert kernels.last(1, array.copy()).shape == array.shape


def test_a_read_only_mapped_file_is_refused(kernels, tmp_path):
    file = tmp_path / "data.bin"
    np.arange(4.0).tofile(file)
    array = np.memmap(file, dtype=np.float64, mode="r")
    with pytest.raises(BufferError, match="the array is read-only"):
        kernels.echo(array)
    assert kernels.echo(tvm_ffi.readonly(array)).readonly


def test_readonly_passes_a_read_only_array(kernels):
    array = read_only()
    got = kernels.echo(tvm_ffi.readonly(array))
    assert got.readonly
    assert got.data_ptr() == array.ctypes.data


def test_readonly_marks_a_writable_array(kernels):
    array = np.zeros(3)
    assert kernels.echo(tvm_ffi.readonly(array)).readonly
    assert not kernels.echo(array).readonly
    assert array.flags.writeable


def test_readonly_refuses_values_that_are_not_arrays(kernels):
    with pytest.raises(TypeError, match="readonly: expected an array or tensor, got int"):
        tvm_ffi.readonly(1)
    assert repr(tvm_ffi.readonly(np.zeros(1))) == "readonly(array([0.]))"


@pytest.mark.breaks_rules  # the kernel writes nothing
def test_argument_restrictions_of_a_signature_are_enforced(kernels):
    array, writable = read_only(), np.zeros(3)
    assert len(kernels.reading(array, writable, np.zeros(3))) == 3
    assert len(kernels.reading(x=array, y=writable, z=tvm_ffi.readonly(array))) == 3
    with pytest.raises(BufferError, match="argument 'y' .*, and the function writes into it; pass"):
        kernels.reading(array, array, writable)
    with pytest.raises(BufferError, match="argument 'y' .* writes into it; pass a writable array"):
        kernels.reading(array, tvm_ffi.readonly(writable), writable)
    with pytest.raises(BufferError, match="argument 'z' .* it is unknown whether"):
        kernels.reading(array, writable, z=array)


def test_the_flag_of_a_capsule_belongs_to_one_array(kernels):
    """Regression: a function of unknown direction got the array, but not a `Tensor` over it."""
    array = Source(flags=READ_ONLY)
    for value in (array, tvm_ffi.from_dlpack(array)):
        with pytest.raises(BufferError, match=r"#0 .*read-only; it is unknown .*readonly\(array\)"):
            kernels.echo(value)
        assert kernels.echo(tvm_ffi.readonly(value)).readonly
        assert len(kernels.reading(value, np.zeros(1), tvm_ffi.readonly(value))) == 3
        with pytest.raises(BufferError, match="argument 'y' .* writes into it"):
            kernels.reading(np.zeros(1), value, np.zeros(1))


def read_only_tensors(tmp_path):
    np.arange(4.0).tofile(tmp_path / "data.bin")
    mapped = tvm_ffi.from_dlpack(np.memmap(tmp_path / "data.bin", dtype=np.float64, mode="r"))
    kept = []
    tvm_ffi.convert(kept.append)(read_only())  # borrowed for the call, then stored in the list
    return {
        "of NumPy": tvm_ffi.from_dlpack(read_only()),
        "of a file": mapped,
        "of another tensor": tvm_ffi.from_dlpack(mapped),
        "of a container": tvm_ffi.Array([read_only()])[0],
        "of a call": kept[0],
        "of a capsule": tvm_ffi.from_dlpack(Source(flags=READ_ONLY)),
        "unpickled": pickle.loads(pickle.dumps(mapped)),
        "copied": copy.copy(mapped),
    }


def test_tensors_over_read_only_memory_are_treated_like_arrays(kernels, tmp_path):
    """Regression: tensors were not checked; a write to a mapped file crashed the process."""
    writable = tvm_ffi.from_dlpack(np.zeros(3))
    for origin, tensor in read_only_tensors(tmp_path).items():
        assert tensor.readonly, origin
        with pytest.raises(BufferError, match="#1 .*: the array is read-only; it is unknown"):
            kernels.last(1, tensor)
        assert kernels.last(1, tvm_ffi.readonly(tensor)).readonly
        assert len(kernels.reading(tensor, writable, tvm_ffi.readonly(tensor))) == 3
        with pytest.raises(BufferError, match="argument 'y' .*, and the function writes into it"):
            kernels.reading(tensor, tensor, writable)
        with pytest.raises(BufferError, match="argument 'z' .* it is unknown whether"):
            kernels.reading(tensor, writable, z=tensor)
        with pytest.raises(BufferError, match="the array is read-only"):
            kernels.echo.bind(tensor)
    assert not kernels.last(1, writable).readonly


def test_subclasses_of_tensor_are_checked(kernels):
    class Own(tvm_ffi.Tensor):
        pass

    tensor = Own.__new__(Own)
    tensor.__move_handle_from__(tvm_ffi.from_dlpack(read_only()))
    with pytest.raises(BufferError, match="the array is read-only"):
        kernels.echo(tensor)


def test_readonly_does_not_change_its_tensor(kernels):
    """Regression: a tensor that a callback had kept stayed read-only after the call."""
    kept = []
    tvm_ffi.convert(kept.append)(np.zeros(3))
    kernels.echo(tvm_ffi.readonly(kept[0]))
    assert not kept[0].readonly
    assert not kernels.echo(kept[0]).readonly


def test_callbacks_receive_read_only_tensors():
    seen = []
    function = tvm_ffi.convert(lambda tensor: seen.append(tensor.readonly))
    function(read_only())
    function(np.zeros(3))
    assert seen == [True, False]


def test_containers_keep_tensors_read_only():
    array = tvm_ffi.get_global_func("ffi.Array")(read_only())
    assert array[0].readonly
    assert tvm_ffi.Array([read_only()])[0].readonly


def test_a_refused_call_leaves_arrays_writable(kernels):
    writable = np.zeros(3)
    with pytest.raises(BufferError):
        kernels.last(writable, read_only(), writable)
    assert not kernels.echo(writable).readonly
