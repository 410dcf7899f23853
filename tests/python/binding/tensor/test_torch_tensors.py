# SPDX-License-Identifier: Apache-2.0
"""torch tensors: read through torch's exchange API, returned as torch tensors."""

from __future__ import annotations

import ctypes
import gc
import sys
import weakref

import numpy as np
import pytest

import tvm_ffi

torch = pytest.importorskip("torch")

# torch dtype name: DLPack type code, bits, our name
DTYPES = {
    "bool": (6, 8, "bool"),
    "int8": (0, 8, "int8"),
    "int16": (0, 16, "int16"),
    "int32": (0, 32, "int32"),
    "int64": (0, 64, "int64"),
    "uint8": (1, 8, "uint8"),
    "uint16": (1, 16, "uint16"),
    "uint32": (1, 32, "uint32"),
    "uint64": (1, 64, "uint64"),
    "float16": (2, 16, "float16"),
    "float32": (2, 32, "float32"),
    "float64": (2, 64, "float64"),
    "bfloat16": (4, 16, "bfloat16"),
    "complex64": (5, 64, "complex64"),
    "complex128": (5, 128, "complex128"),
    "float8_e4m3fn": (10, 8, "float8_e4m3fn"),
    "float8_e4m3fnuz": (11, 8, "float8_e4m3fnuz"),
    "float8_e5m2": (12, 8, "float8_e5m2"),
    "float8_e5m2fnuz": (13, 8, "float8_e5m2fnuz"),
    "float8_e8m0fnu": (14, 8, "float8_e8m0fnu"),
}


def cube():
    return torch.arange(24).reshape(2, 3, 4)


LAYOUTS = {
    "row-major": cube(),
    "transposed": cube().permute(2, 0, 1),
    "stepped": cube()[:, ::2, 1::2],
    "expanded": torch.arange(3)[:, None].expand(2, 3, 4),
    "offset": cube()[1, 1:],
    "scalar": torch.tensor(7),
    "vector": torch.arange(5),
    "nine-dims": torch.arange(512).reshape((2,) * 9),
    "many-dims": torch.arange(6).reshape((1,) * 30 + (2, 3)),
}


@pytest.mark.parametrize("tensor", LAYOUTS.values(), ids=LAYOUTS)
def test_native_code_reads_the_elements(kernels, tensor):
    array = tensor.numpy()
    indices = np.indices(array.shape) + 1
    expected = (array * indices.prod(axis=0)).sum() if array.ndim else array
    assert kernels.weighted_sum(tensor) == expected
    assert kernels.data_address(tensor).value + kernels.byte_offset(tensor) == tensor.data_ptr()


@pytest.mark.parametrize("tensor", LAYOUTS.values(), ids=LAYOUTS)
def test_an_argument_is_returned_as_the_same_object(echo, tensor):
    assert echo(tensor) is tensor


@pytest.mark.parametrize("tensor", LAYOUTS.values(), ids=LAYOUTS)
def test_tensor_made_from_torch_describes_it(tensor):
    ours = tvm_ffi.from_dlpack(tensor)
    assert type(ours) is tvm_ffi.Tensor
    assert (ours.shape, ours.strides) == (tuple(tensor.shape), tensor.stride())
    assert ours.data_ptr() == tensor.data_ptr()
    assert torch.equal(torch.from_dlpack(ours), tensor)


@pytest.mark.parametrize(("name", "expected"), DTYPES.items(), ids=DTYPES)
def test_dtypes_round_trip(kernels, name, expected):
    if not hasattr(torch, name):
        pytest.skip(f"this torch has no {name}")
    code, bits, our_name = expected
    tensor = torch.zeros(3, dtype=getattr(torch, name))
    assert kernels.dtype_triple(tensor) == code * 65536 + bits * 256 + 1
    assert str(tvm_ffi.from_dlpack(tensor).dtype) == our_name
    assert kernels.new_like(tensor).dtype == tensor.dtype


@pytest.mark.parametrize("shape", [(0,), (2, 0, 3), (0, 0)])
def test_empty_tensors_pass(kernels, echo, shape):
    tensor = torch.zeros(shape)
    assert echo(tensor) is tensor
    assert tvm_ffi.from_dlpack(tensor).shape == shape
    assert kernels.new_like(tensor).shape == shape


def test_native_code_writes_to_the_tensor_itself(kernels):
    x, y = torch.arange(6.0), torch.zeros(12)
    kernels.add_one(x, y[1::2])
    assert y.tolist() == [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6]


def test_torch_and_numpy_mix_in_one_call(kernels):
    x, y = torch.arange(3.0), np.zeros(3, np.float32)
    kernels.add_one(x, y)
    assert y.tolist() == [1, 2, 3]


def test_tensor_that_requires_grad_is_passed(kernels, echo):
    x = torch.arange(3.0, requires_grad=True)
    y = torch.zeros(3)
    kernels.add_one(x, y)
    assert y.tolist() == [1, 2, 3]
    assert echo(x) is x


def test_parameters_and_subclasses_are_passed(kernels, echo):
    class Own(torch.Tensor):
        pass

    for tensor in (torch.nn.Parameter(torch.arange(3.0)), torch.arange(3.0).as_subclass(Own)):
        assert kernels.count(tensor) == 1
        assert echo(tensor) is tensor


# ---- results -----------------------------------------------------------------------------------


def test_a_new_tensor_is_returned_as_a_torch_tensor(kernels):
    result = kernels.new_like(torch.zeros(2, 3))
    assert type(result) is torch.Tensor
    assert (tuple(result.shape), result.dtype) == ((2, 3), torch.float32)


def test_a_view_is_returned_as_a_torch_tensor_that_shares_memory(kernels):
    tensor = torch.arange(6.0).reshape(2, 3)
    row = kernels.first_row(tensor)
    assert type(row) is torch.Tensor
    row[1] = 9
    assert tensor[0, 1] == 9


def test_results_are_torch_tensors_for_any_position_of_the_torch_argument(kernels):
    ours = tvm_ffi.from_dlpack(np.zeros(3, np.float32))
    assert type(kernels.last(torch.zeros(1), ours)) is torch.Tensor
    assert type(kernels.last(1, "two", torch.zeros(1), ours)) is torch.Tensor


def test_a_numpy_argument_is_returned_as_torch_with_a_torch_argument(kernels):
    array = np.arange(3.0)
    result = kernels.last(torch.zeros(1), array)
    assert type(result) is torch.Tensor
    assert result.data_ptr() == array.ctypes.data


def test_without_torch_arguments_results_are_tvm_ffi_tensors(kernels):
    kernels.keep(torch.arange(3.0))
    kept = kernels.kept()
    kernels.forget()
    assert type(kept) is tvm_ffi.Tensor


def test_results_that_are_not_tensors_are_unchanged(kernels):
    assert kernels.count(torch.zeros(1)) == 1
    assert kernels.last(torch.zeros(1), "text") == "text"


def test_new_tensor_is_released(kernels):
    result = kernels.new_like(torch.zeros(1000))
    alive = weakref.ref(result)
    del result
    assert alive() is None


# ---- lifetime ----------------------------------------------------------------------------------


def test_kept_tensor_survives_its_owner(kernels):
    for shape in ((4,), (2,) * 9):
        tensor = torch.arange(float(np.prod(shape))).reshape(shape)
        expected = tensor.numpy().copy()
        kernels.keep(tensor)
        del tensor
        gc.collect()
        kept = kernels.kept()
        kernels.forget()
        np.testing.assert_array_equal(kept.numpy(), expected)


def test_kept_tensor_does_not_follow_a_resize_of_its_owner(kernels):
    tensor = torch.arange(12.0).reshape(3, 4)
    kernels.keep(tensor)
    tensor.unsqueeze_(0)
    kept = kernels.kept()
    kernels.forget()
    assert (kept.shape, kept.strides) == ((3, 4), (4, 1))


def test_tensor_is_not_referenced_after_the_call(kernels):
    tensor = torch.zeros(3)
    alive = weakref.ref(tensor)
    kernels.count(tensor, tensor)
    del tensor
    assert alive() is None


def test_kept_tensor_is_released(kernels):
    tensor = torch.zeros(3)
    alive = weakref.ref(tensor)
    kernels.keep(tensor)
    del tensor
    assert alive() is not None
    kernels.forget()
    assert alive() is None


def test_callback_gets_our_tensor_over_the_same_memory(kernels):
    tensor = torch.arange(3.0)
    seen = []
    kernels.call(seen.append, tensor)
    assert type(seen[0]) is tvm_ffi.Tensor
    assert seen[0].data_ptr() == tensor.data_ptr()


def test_callback_may_return_a_torch_tensor(kernels):
    tensor = torch.arange(3.0)
    result = kernels.call(lambda: tensor)
    assert type(result) is tvm_ffi.Tensor
    assert result.data_ptr() == tensor.data_ptr()
    assert type(kernels.call(lambda _: tensor, torch.zeros(1))) is torch.Tensor


# ---- the environment allocator -----------------------------------------------------------------


def table_allocator():
    """Return the address of torch's allocator, the first function of its exchange API."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype = ctypes.c_void_p
    pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    table = pointer(torch.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    return ctypes.c_void_p.from_address(table + 16).value  # the address after the object header


def test_the_allocator_is_torchs_during_the_call_and_restored_after(kernels):
    before = kernels.allocator().value
    assert kernels.allocator(torch.zeros(1)).value == table_allocator() != before
    assert kernels.allocator().value == before


def test_allocator_is_restored_after_a_failure(kernels):
    before = kernels.allocator().value
    with pytest.raises(ValueError, match="after looking"):
        kernels.see_stream(True, torch.zeros(1))
    assert kernels.allocator().value == before


def test_allocator_is_restored_after_a_nested_call(kernels):
    def nested(_):
        inner = kernels.allocator(torch.zeros(1)).value
        return inner == kernels.allocator().value  # the allocator is still that of the outer call

    assert kernels.call(nested, torch.zeros(1)) is True


def test_a_new_tensor_without_a_framework_is_a_tvm_ffi_tensor(kernels):
    result = kernels.new_like(np.zeros((2, 3), np.float32))
    assert type(result) is tvm_ffi.Tensor
    assert result.shape == (2, 3)


# ---- tensors that native code must not see -----------------------------------------------------


def test_fake_tensor_is_refused(kernels):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.zeros(3)
    # If a test has imported the adapter, FakeTensor itself handles the call.
    has_adapter = "tvm_ffi.interop.torch" in sys.modules
    for message in (
        ["`count` has no signature, which tracing needs"]
        if has_adapter
        else ["FakeTensor holds no data", "argument #1 when calling `count`"]
    ):
        with pytest.raises(TypeError, match=message):
            kernels.count(1, fake)
    assert kernels.count(torch.zeros(3)) == 1


# Name of a function that creates a tensor without accessible memory, and the remedy in the error.
@pytest.mark.parametrize(
    ("make", "remedy"),
    [
        (lambda: torch.zeros(3, device="meta"), r"device 'meta'.*device='cpu'"),
        (lambda: torch.eye(3).to_sparse(), r"layout torch\.sparse_coo .*tensor\.to_dense\(\)"),
        (lambda: torch.eye(3).to_mkldnn(), r"layout torch\._mkldnn .*tensor\.to_dense\(\)"),
    ],
    ids=["meta", "sparse", "mkldnn"],
)
def test_tensor_without_memory_is_refused_in_one_sentence(kernels, make, remedy):
    tensor = make()
    for use in (kernels.count, tvm_ffi.from_dlpack, lambda x: kernels.count([x])):
        with pytest.raises(TypeError, match=remedy) as caught:
            use(tensor)
        assert "\n" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
    assert kernels.count(torch.zeros(3)) == 1


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # used by torch
@pytest.mark.parametrize(
    ("transform", "remedy"),
    [
        (lambda f: torch.func.vmap(f)(torch.ones(3, 2)), r"torch\.vmap.*register_vmap"),
        (
            lambda f: torch.func.jvp(f, (torch.ones(3),), (torch.ones(3),)),
            r"torch\.func \(grad, jvp, vjp\).*torch\.autograd\.Function",
        ),
        (lambda f: torch.func.grad(f)(torch.ones(3)), r"torch\.autograd\.Function"),
        (lambda f: torch.func.functionalize(f)(torch.ones(3)), "custom operator"),
    ],
    ids=["vmap", "jvp", "grad", "functionalize"],
)
def test_tensor_inside_a_transform_is_refused_in_one_sentence(kernels, transform, remedy):
    with pytest.raises(TypeError, match=remedy) as caught:
        transform(kernels.count)
    assert "\n" not in str(caught.value)
    assert "argument #0 when calling `count`" in str(caught.value)


def test_other_torch_errors_have_no_native_stack():
    """Torch writes its C++ backtrace into the error message."""
    from tvm_ffi._binding.tensor.torch_errors import without_native_stack

    text = "Cannot do it\nException raised from F at f.cpp:1 (most recent call first):\nframe #0: g"
    assert without_native_stack(text) == "Cannot do it"
    assert without_native_stack("Two\nlines") == "Two\nlines"


def test_conjugated_view_is_refused(kernels):
    tensor = torch.tensor([1 + 2j]).conj()
    with pytest.raises(TypeError, match=r"#0 when calling `count`.*resolve_conj\(\)"):
        kernels.count(tensor)
    assert kernels.count(tensor.resolve_conj()) == 1


def test_negated_view_is_refused(kernels):
    tensor = torch.tensor([1 + 2j]).conj().imag
    assert tensor.is_neg()
    with pytest.raises(TypeError, match=r"#0 when calling `count`.*resolve_neg\(\)"):
        kernels.count(tensor)
    assert kernels.count(tensor.resolve_neg()) == 1


def test_conjugated_and_negated_views_are_refused_by_from_dlpack():
    with pytest.raises(TypeError, match="resolve_conj"):
        tvm_ffi.from_dlpack(torch.tensor([1 + 2j]).conj())
    with pytest.raises(TypeError, match="resolve_neg"):
        tvm_ffi.from_dlpack(torch.tensor([1 + 2j]).conj().imag)


def test_conjugated_views_of_a_subclass_are_refused(kernels):
    class Own(torch.Tensor):
        pass

    with pytest.raises(TypeError, match="resolve_conj"):
        kernels.count(torch.tensor([1 + 2j]).conj().as_subclass(Own))


def test_an_overridden_cdata_of_a_subclass_is_ignored(kernels):
    """Regression: the overridden attribute was used as a tensor address; the process crashed."""

    class Lies(torch.Tensor):
        _cdata = 0

    class Watches(torch.Tensor):
        @classmethod
        def __torch_function__(cls, *arguments):
            raise AssertionError(f"called with {arguments}")

    plain = torch.zeros(3)
    for cls in (Lies, Watches):
        assert kernels.data_address(plain.as_subclass(cls)).value == plain.data_ptr()


def test_negated_view_of_a_class_that_denies_it_is_refused(kernels):
    """Regression: a class overrides the methods that name the kind of lazy view torch found."""

    class Denies(torch.Tensor):
        def is_conj(self):
            return False

        is_neg = is_conj

    with pytest.raises(TypeError, match="resolve_neg"):
        kernels.count(torch.tensor([1 + 2j]).conj().imag.as_subclass(Denies))


def test_conjugated_real_tensor_is_passed(kernels):
    assert kernels.count(torch.zeros(3).conj()) == 1


def test_a_tensor_without_dimensions_is_passed_as_a_tensor(kernels):
    assert kernels.type_index(torch.tensor(3)) == 70


# ---- other torch values ------------------------------------------------------------------------


WITHOUT_TABLES = """
import sys, torch, tvm_ffi
kernels = tvm_ffi.load_module(sys.argv[1])
value = torch.arange(6.0).reshape(2, 3)
assert kernels.type_index(value) == 70
assert kernels.weighted_sum(torch.arange(5)) == 40
for result in (kernels.echo(value), kernels.echo([value])[0], kernels.new_like(value)):
    assert type(result) is torch.Tensor, type(result)
assert kernels.echo(value.requires_grad_()).data_ptr() == value.data_ptr()
kept = kernels.echo(torch.full((3,), 7.0))
assert kept.tolist() == [7.0] * 3
for view in (torch.tensor([1j]).conj(), torch.tensor([1j]).conj().imag):
    try:
        kernels.echo(view)
    except TypeError as error:
        assert "resolve_" in str(error)
    else:
        raise AssertionError("native code accepted a torch view whose memory has other values")
from torch._subclasses.fake_tensor import FakeTensorMode
with FakeTensorMode():
    fake = torch.empty(2)
try:
    kernels.echo(fake)
except TypeError as error:
    assert "FakeTensor holds no data" in str(error)
else:
    raise AssertionError("native code accepted a torch tensor without memory")
"""


def test_torch_without_the_exchange_api(run_python):
    result = run_python(WITHOUT_TABLES, TVM_FFI_SKIP_DLPACK_C_EXCHANGE_API="1")
    assert (result.returncode, result.stderr) == (0, "")


def test_a_torch_device_is_passed_as_the_same_object(echo):
    device = torch.device("cuda", 1)
    assert echo(device) is device


def test_stream_context_without_a_gpu_changes_nothing(kernels):
    if torch.cuda.is_available():
        pytest.skip("needs a machine without a GPU")
    with tvm_ffi.use_torch_stream():
        assert not kernels.stream(2, 0).value
