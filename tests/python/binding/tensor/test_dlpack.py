# SPDX-License-Identifier: Apache-2.0
"""DLPack import and export through ``__dlpack__`` and capsules, including forged structs."""

from __future__ import annotations

import ctypes
import functools
import gc
import inspect
import itertools
import weakref

import numpy as np
import pytest
from forged import READ_ONLY, Source, capsule, capsule_name, read_versioned
from threads_together import run_together

import tvm_ffi

BOTH_KINDS = pytest.mark.parametrize("version", [None, (1, 0), (1, 3), (1, 99)], ids=str)


def values_of(tensor):
    return np.from_dlpack(tensor).ravel().tolist()


# ---- import ----------------------------------------------------------------------------------


@BOTH_KINDS
def test_an_exporter_is_imported_without_a_copy(echo, version):
    source = Source(version=version)
    tensor = echo(source)
    assert type(tensor) is tvm_ffi.Tensor
    assert (tensor.shape, tensor.strides, str(tensor.dtype)) == ((3, 4), (4, 1), "float32")
    assert tensor.device == tvm_ffi.device("cpu")
    assert tensor.data_ptr() == source.address
    assert values_of(tensor) == list(range(12))


@BOTH_KINDS
def test_an_exporter_is_released_once_with_its_last_user(echo, version):
    source = Source(version=version)
    tensor = echo(source)
    array = np.from_dlpack(tensor)
    del tensor
    gc.collect()
    assert source.deleted == 0
    assert array[2, 3] == 11
    del array
    gc.collect()
    assert source.deleted == 1


def test_argument_that_is_not_kept_is_released_after_the_call(kernels):
    source = Source()
    kernels.count(source)
    assert source.deleted == 1


def test_exporter_without_a_deleter_is_accepted(echo):
    source = Source(has_deleter=False)
    assert values_of(echo(source)) == list(range(12))


def test_a_versioned_capsule_is_requested(kernels):
    source = Source()
    kernels.count(source)
    assert source.arguments == {"max_version": (1, 3)}


def test_an_exporter_without_arguments_returns_a_legacy_capsule(echo):
    class Old(Source):
        def __dlpack__(self):
            return super().__dlpack__()

    assert values_of(echo(Old(version=None))) == list(range(12))


def test_an_exporter_with_only_a_stream_argument_returns_a_legacy_capsule(echo):
    class Old(Source):
        def __dlpack__(self, stream=None):
            return super().__dlpack__()

    assert values_of(echo(Old(version=None))) == list(range(12))


def test_a_type_error_inside_an_exporter_is_not_an_old_signature(echo):
    class Broken(Source):
        def __dlpack__(self, **arguments):
            if arguments:
                raise TypeError("the reason of the exporter")
            raise ValueError("asked without arguments")

    with pytest.raises((TypeError, ValueError), match="reason|without"):
        echo(Broken())


def test_missing_strides_mean_a_compact_tensor(echo, kernels):
    tensor = echo(Source((3, 4), None))
    assert tensor.strides == (4, 1)
    assert kernels.has_strides(tensor)
    assert values_of(tensor) == list(range(12))


def test_negative_strides_and_byte_offset_arrive(echo):
    tensor = echo(Source((3,), (-2,), byte_offset=16))
    assert (tensor.strides, tensor.byte_offset) == ((-2,), 16)
    assert values_of(tensor) == [4, 2, 0]


def test_zero_strides_arrive(echo):
    assert values_of(echo(Source((2, 3), (0, 1)))) == [0, 1, 2, 0, 1, 2]


def test_scalar_without_shape_is_accepted(echo):
    tensor = echo(Source((), None, has_shape=False))
    assert (tensor.shape, tensor.strides, tensor.numel()) == ((), (), 1)


@pytest.mark.parametrize("ndim", [8, 9, 31, 100])
def test_many_dimensions_arrive(echo, ndim):
    tensor = echo(Source((1,) * ndim, (1,) * ndim))
    assert tensor.shape == (1,) * ndim


def test_empty_tensor_needs_no_data(echo):
    assert echo(Source((0, 4), (4, 1), has_data=False)).shape == (0, 4)


@BOTH_KINDS
def test_from_dlpack_takes_exporter_and_capsule(version):
    for make in (lambda s: s, Source.new_capsule):
        source = Source(version=version)
        tensor = tvm_ffi.from_dlpack(make(source))
        assert values_of(tensor) == list(range(12))
        del tensor
        assert source.deleted == 1


def test_the_read_only_flag_is_imported_and_exported(echo):
    source = Source(flags=READ_ONLY)
    tensor = echo(tvm_ffi.readonly(source))
    assert tensor.readonly
    assert tvm_ffi.from_dlpack(source).readonly
    assert not tensor.numpy().flags.writeable
    assert read_versioned(tensor.__dlpack__(max_version=(1, 0))).flags & READ_ONLY
    with pytest.raises(BufferError, match="read-only"):
        tensor.__dlpack__()
    assert not echo(Source()).readonly


def test_unknown_flags_are_ignored(echo):
    assert values_of(echo(Source(flags=1 << 40))) == list(range(12))


# ---- capsules used twice or wrongly ------------------------------------------------------------


@BOTH_KINDS
def test_capsule_is_consumed_once(version):
    source = Source(version=version)
    used = source.new_capsule()
    tensor = tvm_ffi.from_dlpack(used)
    assert capsule_name(used).startswith(b"used_dltensor")
    with pytest.raises((TypeError, ValueError), match="consumed before"):
        tvm_ffi.from_dlpack(used)
    del tensor
    assert source.deleted == 1


def test_an_exporter_that_returns_a_capsule_twice_is_refused(echo):
    class Stingy(Source):
        def __dlpack__(self, **arguments):
            if not hasattr(self, "only"):
                self.only = self.new_capsule()
            return self.only

    source = Stingy()
    echo(source)
    with pytest.raises((TypeError, ValueError), match=r"#0 when calling `echo`.*consumed before"):
        echo(source)
    assert source.deleted == 1


def test_an_object_that_is_not_a_tensor_is_released():
    """Regression: the converted object was refused, and its reference leaked."""

    class Exports(tvm_ffi.Array):
        def __dlpack__(self, **keywords):
            return None

    class Target:
        def __call__(self):
            return None

    target = Target()
    seen = weakref.ref(target)
    array = Exports([tvm_ffi.convert_func(target)])
    with pytest.raises(TypeError, match="a tensor, got Exports, which converts to another type"):
        tvm_ffi.from_dlpack(array)
    del array, target
    gc.collect()
    assert seen() is None


def test_capsule_is_consumed_by_one_of_many_threads():
    """Regression: without the GIL, two threads found the capsule unconsumed."""
    for _ in range(50):
        shared = np.arange(64.0).__dlpack__()
        answers = run_together(functools.partial(_consume, shared), 4)
        assert sorted(answers) == [False, False, False, True]


def _consume(shared, _):
    try:
        return tvm_ffi.from_dlpack(shared).numpy().tolist() == list(range(64))
    except ValueError:
        return False


def test_capsule_of_another_kind_is_refused():
    with pytest.raises(TypeError, match="got a capsule with the name 'something'"):
        tvm_ffi.from_dlpack(capsule(1, b"something"))
    with pytest.raises(TypeError, match="no name"):
        tvm_ffi.from_dlpack(capsule(1, None))


@pytest.mark.parametrize("answer", [None, 42, "capsule", object()], ids=lambda x: type(x).__name__)
def test_an_exporter_that_does_not_return_a_capsule_is_refused(echo, answer):
    class Broken(Source):
        def __dlpack__(self, **arguments):
            return answer

    with pytest.raises(TypeError, match=rf"must return a PyCapsule, got {type(answer).__name__}"):
        echo(Broken())


@pytest.mark.parametrize("error", [RuntimeError, BufferError, ZeroDivisionError, KeyboardInterrupt])
def test_an_exception_of_an_exporter_is_raised(echo, error):
    class Broken(Source):
        def __dlpack__(self, **arguments):
            raise error("no export today")

    with pytest.raises(error, match="no export today"):
        echo(Broken())
    with pytest.raises(error, match="no export today"):
        tvm_ffi.from_dlpack(Broken())


@pytest.mark.parametrize("value", [None, 1, "x", [1.0], object()], ids=lambda x: type(x).__name__)
def test_from_dlpack_of_something_else_is_a_type_error(value):
    with pytest.raises(TypeError, match="compatible tensor or PyCapsule"):
        tvm_ffi.from_dlpack(value)


def test_an_instance_attribute_does_not_implement_the_protocol(echo):
    class Plain:
        pass

    value = Plain()
    value.__dlpack__ = Source().__dlpack__
    assert echo(value) is value


# ---- forged structs ----------------------------------------------------------------------------


def refused(source, error, match):
    """Check that exporter and capsule are refused and that the struct remains unconsumed."""
    with pytest.raises(error, match=match):
        tvm_ffi.from_dlpack(source)
    bare = source.new_capsule()
    with pytest.raises(error, match=match):
        tvm_ffi.from_dlpack(bare)
    assert capsule_name(bare).startswith(b"dltensor")  # not consumed
    assert source.deleted == 0


@pytest.mark.parametrize("major", [0, 2, 77, 0xFFFFFFFF])
def test_an_unknown_major_version_is_refused(major):
    refused(Source(version=(major, 0)), ValueError, rf"version {major}\.0 is not supported")


@BOTH_KINDS
@pytest.mark.parametrize("ndim", [-1, -(2**31), 2**31 - 1, 100_000])
def test_absurd_ndim_is_refused(version, ndim):
    refused(Source(ndim=ndim, version=version), ValueError, "ndim")


@BOTH_KINDS
def test_negative_extent_is_refused(version):
    refused(Source((3, -4), version=version), ValueError, r"shape\[1\].*-4")


@BOTH_KINDS
def test_missing_shape_is_refused(version):
    refused(Source(has_shape=False, version=version), ValueError, "shape")


@BOTH_KINDS
def test_elements_without_data_are_refused(echo, version):
    refused(Source(has_data=False, version=version), (ValueError, BufferError), "data")


@BOTH_KINDS
def test_more_bytes_than_the_address_space_are_refused(version):
    refused(
        Source((2**62, 2**62), (2**62, 1), version=version), (ValueError, MemoryError), "shape|size"
    )


@BOTH_KINDS
@pytest.mark.parametrize("offset", [2**63, 2**64 - 4])
def test_an_offset_out_of_the_address_space_is_refused(version, offset):
    """Regression: the first read of an element ended the process."""
    refused(Source(byte_offset=offset, version=version), ValueError, f"byte_offset {offset} leads")


@BOTH_KINDS
@pytest.mark.parametrize("lanes", [0, 0xFFFF])
def test_dtypes_without_lanes_are_refused(version, lanes):
    refused(Source(dtype=(2, 32, lanes), version=version), ValueError, "invalid dtype with")


def test_a_dtype_without_a_name_has_a_repr():
    tensor = tvm_ffi.from_dlpack(Source(dtype=(99, 32, 1)))
    assert repr(tensor) == "<dtype (99, 32, 1)>[3, 4]@cpu:0"
    with pytest.raises(ValueError, match="unknown type_code=99"):
        _ = tensor.dtype


def test_padded_small_types_are_refused():
    with pytest.raises(RuntimeError, match="padded sub-byte elements are not supported"):
        tvm_ffi.from_dlpack(Source(flags=4))


def test_refused_argument_names_function_and_position(kernels):
    with pytest.raises(ValueError, match=r"argument #1 when calling `count`.*version 9\.0"):
        kernels.count(1, Source(version=(9, 0)), 3)
    assert kernels.count(1, Source(), 3) == 3


def test_arguments_before_a_refused_one_are_released(kernels):
    good = Source()
    with pytest.raises(ValueError, match="argument #1"):
        kernels.count(good, Source(version=(9, 0)))
    assert good.deleted == 1


def test_a_deleter_that_runs_python_keeps_the_pending_error(kernels):
    source = Source()
    with pytest.raises(ValueError, match="after looking at the stream"):
        kernels.see_stream(True, source)
    assert source.deleted == 1


# ---- requirements ------------------------------------------------------------------------------


def test_alignment_is_checked():
    buffer = np.zeros(1024, np.uint8)
    start = -buffer.ctypes.data % 64
    aligned = buffer[start : start + 64]
    assert tvm_ffi.from_dlpack(aligned, require_alignment=64).numel() == 64
    with pytest.raises(RuntimeError, match="not aligned to 64 bytes"):
        tvm_ffi.from_dlpack(buffer[start + 4 : start + 68], require_alignment=64)


def test_contiguity_is_checked():
    array = np.zeros((4, 6), np.float32)
    assert tvm_ffi.from_dlpack(array, require_contiguous=True).shape == (4, 6)
    assert tvm_ffi.from_dlpack(array[1:2, ::2][:, :1], require_contiguous=True).shape == (1, 1)
    assert tvm_ffi.from_dlpack(array[:, :0], require_contiguous=True).shape == (4, 0)
    for strided in (array[:, ::2], array.T, array[::-1]):
        with pytest.raises(RuntimeError, match="not contiguous"):
            tvm_ffi.from_dlpack(strided, require_contiguous=True)


@pytest.mark.parametrize("required", [{"require_alignment": 4096}, {"require_contiguous": True}])
def test_capsule_that_misses_a_requirement_is_not_consumed(required):
    source = Source((3,), (2,), byte_offset=4)
    bare = source.new_capsule()
    with pytest.raises(RuntimeError, match="not"):
        tvm_ffi.from_dlpack(bare, **required)
    assert (capsule_name(bare), source.deleted) == (b"dltensor_versioned", 0)
    assert tvm_ffi.from_dlpack(bare).strides == (2,)


@pytest.mark.parametrize("required", [{"require_alignment": "x"}, {"alignment": 4}])
def test_wrong_requirement_is_a_type_error(required):
    with pytest.raises(TypeError):
        tvm_ffi.from_dlpack(np.zeros(3), **required)


# ---- export ------------------------------------------------------------------------------------


@pytest.fixture
def tensor():
    return tvm_ffi.from_dlpack(np.arange(6, dtype=np.float32).reshape(2, 3))


@pytest.mark.parametrize("max_version", [None, (0, 8), (0, 0)])
def test_export_is_legacy_for_consumers_before_version_1(tensor, max_version):
    assert capsule_name(tensor.__dlpack__(max_version=max_version)) == b"dltensor"


@pytest.mark.parametrize("max_version", [(1, 0), (1, 3), (1, 9), (2, 0)])
def test_export_is_versioned_for_consumers_from_version_1(tensor, max_version):
    exported = tensor.__dlpack__(max_version=max_version)
    assert capsule_name(exported) == b"dltensor_versioned"
    managed = read_versioned(exported)
    assert (managed.major, managed.flags) == (1, 0)
    assert managed.tensor.data + managed.tensor.byte_offset == tensor.data_ptr()
    assert [managed.tensor.shape[i] for i in range(2)] == [2, 3]
    assert [managed.tensor.strides[i] for i in range(2)] == [3, 1]


def test_export_to_another_device_is_refused(tensor):
    message = (
        "^cannot export a tensor on cpu:0 to cuda:1; copy the tensor with the consuming library$"
    )
    with pytest.raises(BufferError, match=message):
        tensor.__dlpack__(dl_device=(2, 1))
    assert tensor.__dlpack__(dl_device=(1, 0))


def test_export_of_a_copy():
    """Regression: BufferError, so that ``np.from_dlpack(tensor, copy=True)`` failed."""
    array = np.arange(6, dtype="float32").reshape(2, 3).T
    tensor = tvm_ffi.from_dlpack(array)
    copied = np.from_dlpack(tensor, copy=True)
    shared = np.from_dlpack(tensor, copy=False)
    array[0, 0] = 9
    assert copied.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert shared[0, 0] == 9
    copied[0, 0] = 7  # the copy is writable, and lives without the tensor
    assert array[0, 0] == 9
    del tensor, shared
    gc.collect()
    assert copied[0, 0] == 7
    frozen = np.arange(3)
    frozen.flags.writeable = False
    assert np.from_dlpack(tvm_ffi.from_dlpack(frozen), copy=True).flags.writeable
    assert tvm_ffi.from_dlpack(frozen).__dlpack__(copy=True)  # a copy needs no read-only mark
    is_copied = 1 << 1
    for copy, flags in ((True, is_copied), (False, 0), (None, 0)):
        capsule = tvm_ffi.from_dlpack(array).__dlpack__(copy=copy, max_version=(1, 0))
        assert read_versioned(capsule).flags == flags


def test_export_of_a_copy_that_cannot_be_made():
    for source in (Source(device=(2, 0)), Source(dtype=(3, 64, 1))):  # CUDA, opaque handles
        tensor = tvm_ffi.from_dlpack(source)
        with pytest.raises(BufferError, match=r"__dlpack__\(copy=True\): cannot export a copy: "):
            tensor.__dlpack__(copy=True)
        assert tensor.__dlpack__()


def test_positional_export_arguments_are_refused(tensor):
    with pytest.raises(TypeError, match=r"__dlpack__\(\) takes keyword arguments only, got 1"):
        tensor.__dlpack__(None)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
def test_export_arguments_in_any_order(tensor, order):
    arguments = [("stream", -1), ("max_version", (1, 0)), ("dl_device", (1, 0)), ("copy", None)]
    keywords = dict(arguments[i] for i in order)
    assert capsule_name(tensor.__dlpack__(**keywords)) == b"dltensor_versioned"
    keywords["dl_device"] = (2, 0)
    with pytest.raises(BufferError, match="cannot export a tensor on"):
        tensor.__dlpack__(**keywords)


def test_export_argument_names_need_not_be_interned(tensor):
    name = "".join(["max", "_", "version"])  # equal to the interned string, not identical
    assert capsule_name(tensor.__dlpack__(**{name: (1, 0)})) == b"dltensor_versioned"


def test_unknown_export_arguments_are_refused(tensor):
    with pytest.raises(TypeError, match="unexpected keyword argument 'version'"):
        tensor.__dlpack__(version=(1, 0))
    many = {f"name {i}": i for i in range(20)}
    with pytest.raises(TypeError, match="unexpected keyword argument 'name 0'"):
        tensor.__dlpack__(**many)


@pytest.mark.parametrize("max_version", [1, "1.0", (), ("1", 0), (None,)])
def test_an_invalid_max_version_is_refused(tensor, max_version):
    with pytest.raises((TypeError, IndexError)):
        tensor.__dlpack__(max_version=max_version)


def test_max_version_may_be_a_list(tensor):
    assert capsule_name(tensor.__dlpack__(max_version=[1, 0])) == b"dltensor_versioned"


def test_export_has_a_signature_and_documentation():
    method = tvm_ffi.Tensor.__dlpack__
    assert str(inspect.signature(method)) == (
        "(self, /, *, stream=None, max_version=None, dl_device=None, copy=None)"
    )
    assert method.__name__ == "__dlpack__"
    assert method.__doc__.startswith("Export as a DLPack capsule")


@pytest.mark.parametrize("max_version", [(1, 0), None])
def test_unused_export_is_released(max_version):
    source = Source()
    tensor = tvm_ffi.from_dlpack(source)
    exported = tensor.__dlpack__(max_version=max_version)
    del tensor
    assert source.deleted == 0
    del exported
    assert source.deleted == 1


def test_export_of_an_empty_tensor_object_is_a_value_error():
    empty = tvm_ffi.Tensor.__new__(tvm_ffi.Tensor)
    for use in (empty.__dlpack__, empty.__dlpack_device__, empty._to_dlpack_versioned):
        with pytest.raises(ValueError, match="Tensor is empty"):
            use()


def test_export_can_be_imported_again(tensor):
    again = tvm_ffi.from_dlpack(tensor.__dlpack__(max_version=(1, 3)))
    del tensor
    assert values_of(again) == [0, 1, 2, 3, 4, 5]


def test_dlpack_version():
    assert tvm_ffi.core.__dlpack_version__ == (1, 3)


def test_ctypes_structs_have_the_sizes_of_the_standard():
    import forged

    sizes = [
        ctypes.sizeof(cls)
        for cls in (forged.Tensor, forged.Legacy, forged.Versioned, forged.ExchangeTable)
    ]
    assert sizes == [48, 64, 80, 56]
