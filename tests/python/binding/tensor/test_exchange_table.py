# SPDX-License-Identifier: Apache-2.0
"""Tensor classes with the DLPack exchange API: a fake framework with tensors on a fake GPU."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from forged import Framework, Source, capsule

import tvm_ffi
from tvm_ffi import core

CUDA_3 = (2, 3)
STREAM = 0x5EED

# The exchange API's function that borrows is optional; without it, the function that returns an
# owned tensor is used.
OWNING = pytest.mark.parametrize("owning", [False, True], ids=["borrowing", "owning"])


def cuda_tensor(framework, device=CUDA_3):
    """Return a tensor that reports a GPU as its device; its memory is never read."""
    return framework.tensor_class(device=device)


@pytest.fixture
def cuda_stream():
    """Set a device's stream before the test, and check that the test restores the stream."""
    with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 3), 0xBEF0):
        yield 0xBEF0
        assert tvm_ffi.get_raw_stream(tvm_ffi.device("cuda", 3)) == 0xBEF0


@OWNING
def test_a_tensor_is_read_through_the_exchange_api(kernels, owning):
    framework = Framework(owning=owning)
    tensor = framework.tensor_class()
    assert kernels.data_address(tensor).value == tensor.address
    assert kernels.dtype_triple(tensor) == 2 * 65536 + 32 * 256 + 1
    assert tensor.arguments is None  # __dlpack__ was not called for the tensor


def lazy_tensor(framework, act, *, is_conj=False, is_neg=False):
    """Return a tensor whose class has lazy views and calls `act` in the method `is_conj`."""

    class Lazy(framework.tensor_class):
        def is_conj(self):
            act(self)
            return is_conj

        def is_neg(self):
            return is_neg

    return Lazy()


@OWNING
def test_lazy_views_are_checked_before_the_memory_is_read(kernels, owning):
    """Regression: the methods of the class freed the memory that the exchange API had returned."""

    def move(tensor):
        tensor.data = type(tensor.data)()
        tensor.managed.tensor.data = tensor.address

    tensor = lazy_tensor(Framework(owning=owning), move)
    assert kernels.data_address(tensor).value == tensor.address
    for view, remedy in (("is_conj", "resolve_conj"), ("is_neg", "resolve_neg")):
        refused = lazy_tensor(Framework(owning=owning), lambda _: None, **{view: True})
        with pytest.raises(TypeError, match=rf"#0 when calling `count`.*{remedy}\(\)"):
            kernels.count(refused)


@OWNING
def test_owning_export_is_released_after_the_call(kernels, owning):
    tensor = Framework(owning=owning).tensor_class()
    kernels.count(tensor)
    assert tensor.deleted == (1 if owning else 0)


@OWNING
def test_missing_strides_become_compact_ones(kernels, owning):
    tensor = Framework(owning=owning).tensor_class((3, 4), None)
    assert kernels.has_strides(tensor)


@OWNING
def test_tensor_kept_by_native_code_stays_valid(kernels, owning):
    tensor = Framework(owning=owning).tensor_class()
    kernels.keep(tensor)
    address = tensor.address
    kept = kernels.kept()
    kernels.forget()
    del tensor
    assert kept.data_ptr() == address
    assert np.from_dlpack(kept).ravel().tolist() == list(range(12))


# ---- streams -----------------------------------------------------------------------------------


@OWNING
def test_stream_of_the_tensor_is_current_during_the_call(kernels, cuda_stream, owning):
    framework = Framework(owning=owning)
    kernels.see_stream(False, cuda_tensor(framework))
    assert kernels.seen_stream().value == STREAM
    assert framework.stream_queries == [CUDA_3]
    assert tvm_ffi.get_raw_stream(tvm_ffi.device("cuda", 3)) == cuda_stream


@OWNING
def test_stream_is_restored_after_a_failure(kernels, cuda_stream, owning):
    framework = Framework(owning=owning)
    with pytest.raises(ValueError, match="after looking at the stream"):
        kernels.see_stream(True, cuda_tensor(framework))
    assert kernels.seen_stream().value == STREAM


def test_stream_is_restored_after_a_python_callback_failed(kernels, cuda_stream):
    seen = []

    def fail(_):
        seen.append(tvm_ffi.get_raw_stream(tvm_ffi.device("cuda", 3)))
        raise KeyError("from the callback")

    with pytest.raises(KeyError, match="from the callback"):
        kernels.call(fail, cuda_tensor(Framework()))
    assert seen == [STREAM]


def test_stream_is_untouched_when_a_later_argument_is_refused(kernels, cuda_stream):
    with pytest.raises(ValueError, match="argument #1"):
        kernels.see_stream(cuda_tensor(Framework()), Source(version=(9, 0)))


def test_the_first_tensor_outside_the_cpu_determines_the_stream(kernels):
    framework, other = Framework(), Framework(stream=0x07EE)
    kernels.see_stream(
        False, framework.tensor_class(), cuda_tensor(framework), cuda_tensor(other, (2, 0))
    )
    assert kernels.seen_stream().value == STREAM
    assert (framework.stream_queries, other.stream_queries) == ([CUDA_3], [])


def test_the_stream_of_a_cpu_tensor_is_not_queried(kernels, cuda_stream):
    framework = Framework()
    kernels.see_stream(False, framework.tensor_class())
    assert framework.stream_queries == []
    assert kernels.seen_stream().value == cuda_stream


def test_a_null_stream_is_set(kernels, cuda_stream):
    kernels.see_stream(False, cuda_tensor(Framework(stream=0)))
    assert not kernels.seen_stream().value


def test_without_a_stream_function_the_stream_is_unchanged(kernels, cuda_stream):
    framework = Framework()
    framework.table.current_stream = type(framework.table.current_stream)(0)
    kernels.see_stream(False, cuda_tensor(framework))
    assert kernels.seen_stream().value == cuda_stream


def test_failing_stream_query_is_an_error(kernels, cuda_stream):
    framework = Framework()
    framework.stream_code = -1
    with pytest.raises(Exception, match=r"argument #1 when calling `see_stream`"):
        kernels.see_stream(False, cuda_tensor(framework))
    assert kernels.count(1) == 1


def test_nested_calls_set_and_restore_their_streams(kernels, cuda_stream):
    outer, inner = Framework(), Framework(stream=0x1235)
    seen = []

    def current():
        return tvm_ffi.get_raw_stream(tvm_ffi.device("cuda", 3))

    def middle(_):
        seen.append(current())
        kernels.call(lambda _: seen.append(current()), cuda_tensor(inner))
        seen.append(current())

    kernels.call(middle, cuda_tensor(outer))
    assert seen == [STREAM, 0x1235, STREAM]


def test_tensors_inside_a_container_determine_the_stream(kernels, cuda_stream):
    framework = Framework()
    tensor = cuda_tensor(framework)
    for value in ([tensor], {"a": [1, {"b": tensor}]}):
        framework.stream_queries.clear()
        kernels.see_stream(False, value)
        assert kernels.seen_stream().value == STREAM
        assert framework.stream_queries == [CUDA_3]


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda tensor: tvm_ffi.Array(["text", tensor]), id="array"),
        pytest.param(lambda tensor: tvm_ffi.List([[], [tensor]]), id="nested-list"),
        pytest.param(lambda tensor: tvm_ffi.Map({"a": 1, "b": tensor}), id="map"),
        pytest.param(
            lambda tensor: tvm_ffi.Dict({i: tensor if i == 40 else [i] for i in range(50)}),
            id="large-dict",
        ),
    ],
)
def test_tensors_inside_a_native_container_determine_the_stream(kernels, cuda_stream, make):
    framework = Framework()
    container = make(cuda_tensor(framework))
    framework.stream_queries.clear()
    kernels.see_stream(False, 5, container)
    assert kernels.seen_stream().value == STREAM
    assert framework.stream_queries == [CUDA_3]
    assert tvm_ffi.get_raw_stream(tvm_ffi.device("cuda", 3)) == cuda_stream


def test_the_stream_of_a_container_of_cpu_tensors_is_not_queried(kernels, cuda_stream):
    framework = Framework()
    container = tvm_ffi.List([framework.tensor_class(), "text"])
    container.append(container)  # the search for the exchange API must end in spite of the cycle
    container.append(container)
    kernels.see_stream(False, container)
    assert framework.stream_queries == []
    assert kernels.seen_stream().value == cuda_stream
    container.clear()


class Streaming(Source):
    """A tensor that reports its stream by the method `__tvm_ffi_env_stream__`."""

    def __tvm_ffi_env_stream__(self):
        return self.stream


def streaming(stream=STREAM, device=CUDA_3):
    tensor = Streaming(device=device)
    tensor.stream = stream
    return tensor


def test_a_class_without_the_exchange_api_may_report_its_stream(kernels, cuda_stream):
    kernels.see_stream(False, streaming())
    assert kernels.seen_stream().value == STREAM
    assert tvm_ffi.get_raw_stream(tvm_ffi.device("cuda", 3)) == cuda_stream
    assert type(kernels.last(streaming())) is tvm_ffi.Tensor
    with pytest.raises(ValueError, match="after looking at the stream"):
        kernels.see_stream(True, streaming())
    assert tvm_ffi.get_raw_stream(tvm_ffi.device("cuda", 3)) == cuda_stream


def test_the_reported_stream_of_the_first_tensor_is_used(kernels, cuda_stream):
    kernels.see_stream(False, streaming(), streaming(stream=1))
    assert kernels.seen_stream().value == STREAM
    kernels.see_stream(False, [streaming()])
    assert kernels.seen_stream().value == STREAM
    kernels.see_stream(False, streaming(stream=None, device=(1, 0)))  # no query: CPU tensor
    assert kernels.seen_stream().value == cuda_stream
    with pytest.raises(TypeError, match=r"argument #1 when calling `see_stream`"):
        kernels.see_stream(False, streaming(stream="5"))


def test_a_fake_tensor_keeps_its_device(echo):
    assert str(echo(Source(device=CUDA_3)).device) == "cuda:3"


# ---- the environment allocator -----------------------------------------------------------------


@OWNING
def test_the_allocator_of_the_framework_is_set_during_the_call(kernels, owning):
    framework = Framework(owning=owning)
    before = kernels.allocator().value
    address = ctypes.cast(framework.table.allocate, ctypes.c_void_p).value
    assert kernels.call(kernels.allocator).value == before
    seen = []
    kernels.call(lambda _: seen.append(kernels.allocator().value), framework.tensor_class())
    assert kernels.allocator(framework.tensor_class()).value == address
    assert seen == [address]
    assert kernels.allocator().value == before


def test_allocator_is_restored_after_a_failure(kernels):
    before = kernels.allocator().value
    with pytest.raises(ValueError, match="after looking"):
        kernels.see_stream(True, Framework().tensor_class())
    assert kernels.allocator().value == before


def test_allocator_that_fails_is_an_error(kernels):
    with pytest.raises(Exception, match=r".") as caught:
        kernels.new_like(Framework().tensor_class())
    assert isinstance(caught.value, (RuntimeError, MemoryError))
    assert kernels.new_like(Source()).shape == (3, 4)


# ---- results -----------------------------------------------------------------------------------


def test_an_argument_is_returned_as_the_same_object(echo):
    tensor = Framework().tensor_class()
    assert echo(tensor) is tensor


def test_a_result_that_the_framework_refuses_is_a_tvm_ffi_tensor(kernels):
    framework = Framework(owning=True)
    tensor = framework.tensor_class()
    returned = kernels.echo(tensor)
    assert type(returned) is tvm_ffi.Tensor
    assert framework.num_returned == 1
    assert np.from_dlpack(returned)[2, 3] == 11
    del returned
    assert tensor.deleted == 1


# ---- invalid exchange APIs ---------------------------------------------------------------------


@OWNING
def test_export_that_fails_without_an_exception_is_an_error(kernels, owning):
    framework = Framework(owning=owning)
    framework.export_code = -1
    with pytest.raises(Exception, match=r"argument #0 when calling `count`"):
        kernels.count(framework.tensor_class())
    assert kernels.count(1) == 1


@OWNING
@pytest.mark.parametrize("ndim", [-1, 2**31 - 1])
def test_an_absurd_ndim_is_refused(kernels, owning, ndim):
    with pytest.raises(
        (ValueError, BufferError),
        match="expected a tensor of 0 to 1024 dimensions, got|ndim must be in 0..1024, got",
    ):
        kernels.count(Framework(owning=owning).tensor_class(ndim=ndim))


@OWNING
def test_a_negative_extent_is_refused(kernels, owning):
    with pytest.raises((ValueError, BufferError), match=r"shape\[1\]"):
        kernels.count(Framework(owning=owning).tensor_class((3, -4)))


@OWNING
def test_elements_without_data_are_refused(kernels, owning):
    with pytest.raises((ValueError, BufferError), match="data"):
        kernels.count(Framework(owning=owning).tensor_class(has_data=False))


def test_a_struct_of_an_unknown_version_is_refused_and_released(kernels):
    tensor = Framework(owning=True).tensor_class(version=(9, 0))
    with pytest.raises(ValueError, match=r"version 9\.0"):
        kernels.count(tensor)
    assert tensor.deleted == 1


@pytest.mark.parametrize("major", [0, 2])
def test_an_exchange_api_of_an_unknown_version_is_refused(kernels, major):
    with pytest.raises(ValueError, match=r"MadeUpTensor.*DLPack 1\.x exchange API"):
        kernels.count(Framework(major=major).tensor_class())


@pytest.mark.parametrize(
    "attribute",
    [
        pytest.param("text", id="str"),
        pytest.param(1.5, id="float"),
        pytest.param(capsule(1, b"other_name"), id="other-capsule"),
        pytest.param(0, id="null"),
    ],
)
def test_an_attribute_that_is_not_an_exchange_api_is_refused(kernels, attribute):
    cls = type("Wrong", (), {"__dlpack_c_exchange_api__": attribute})
    with pytest.raises(ValueError, match="dlpack_exchange_api|DLPack 1"):
        kernels.count(cls())


def test_an_exchange_api_that_cannot_read_tensors_is_refused(kernels):
    """Regression: the NULL function pointer was called."""
    framework = Framework(owning=True)
    framework.table.from_python = type(framework.table.from_python)(0)
    with pytest.raises(ValueError, match="has no function that reads a tensor"):
        kernels.count(framework.tensor_class())


def test_without_a_function_for_results_they_are_tvm_ffi_tensors(kernels):
    """Regression: the NULL function pointer was called."""
    framework = Framework()
    framework.table.to_python = type(framework.table.to_python)(0)
    tensor = framework.tensor_class()
    assert type(kernels.last(tensor, tvm_ffi.from_dlpack(np.zeros(3)))) is tvm_ffi.Tensor


def test_an_export_of_null_is_a_buffer_error(kernels):
    """Regression: the function returned success and NULL, which was dereferenced."""
    framework = Framework(owning=True)
    framework.table.from_python = type(framework.table.from_python)(lambda value, out: 0)
    with pytest.raises(
        BufferError, match="the exchange API of MadeUpTensor returned NULL instead of a tensor"
    ):
        kernels.count(framework.tensor_class())


def test_the_exchange_api_may_be_an_address(kernels):
    framework = Framework()
    cls = type("ByAddress", (Source,), {"__dlpack_c_exchange_api__": framework.address})
    tensor = cls()
    assert kernels.data_address(tensor).value == tensor.address


def test_an_environment_variable_disables_the_exchange_api(run_python):
    result = run_python(
        "import sys, tvm_ffi\n"
        "class T:\n"
        "    __dlpack_c_exchange_api__ = 0\n"
        "    def __dlpack__(self, **arguments): raise SystemExit('asked')\n"
        "tvm_ffi.load_module(sys.argv[1]).count(T())\n",
        TVM_FFI_SKIP_DLPACK_C_EXCHANGE_API="1",
    )
    assert (result.returncode, result.stderr) == (1, "asked\n")


# ---- DLTensorTestWrapper -------------------------------------------------------------------------


def test_dltensor_test_wrapper_is_read_and_exported(kernels, echo):
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = tvm_ffi.from_dlpack(array)
    wrapper = core.DLTensorTestWrapper(tensor)
    assert wrapper.__dlpack_device__() == (1, 0)
    assert wrapper.__tvm_ffi_env_stream__() == 0
    assert type(echo(wrapper)) is tvm_ffi.Tensor
    assert echo(wrapper).data_ptr() == array.ctypes.data
    assert type(kernels.new_like(wrapper)) is tvm_ffi.Tensor
    assert type(echo([wrapper])[0]) is tvm_ffi.Tensor
    assert tvm_ffi.from_dlpack(wrapper).data_ptr() == array.ctypes.data
    assert tvm_ffi.from_dlpack(wrapper.__dlpack__()).shape == (2, 3)
    with pytest.raises(TypeError, match="expected"):
        core.DLTensorTestWrapper(array)
    with pytest.raises(ValueError, match="Tensor is empty"):
        core.DLTensorTestWrapper(core.Tensor())


def test_dltensor_test_wrapper_reports_the_current_stream(kernels, cuda_stream):
    wrapper = core.DLTensorTestWrapper(tvm_ffi.from_dlpack(Source(device=CUDA_3)))
    assert wrapper.__tvm_ffi_env_stream__() == cuda_stream
    kernels.see_stream(False, wrapper)
    assert kernels.seen_stream().value == cuda_stream
