# SPDX-License-Identifier: Apache-2.0
"""Calls of functions with a signature: the arguments are checked before the function runs."""

from __future__ import annotations

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import Signature, cpp
from tvm_ffi.signature._check_program import check_program

# `total` relies on its signature.  `calls` counts the calls of all functions.
SOURCE = """
#include <tvm/ffi/c_api.h>
static int64_t num_calls = 0;
TVM_FFI_DLL_EXPORT int __tvm_ffi_total(
    void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  const DLTensor* x = args[0].type_index == kTVMFFITensor
      ? TVMFFITensorGetDLTensorPtr(args[0].v_obj) : (const DLTensor*)args[0].v_ptr;
  (void)handle, (void)num_args;
  ++num_calls;
  result->type_index = kTVMFFIFloat;
  result->zero_padding = 0;
  result->v_float64 = 0;
  for (int64_t i = 0; i < x->shape[0]; ++i) result->v_float64 += ((const double*)x->data)[i];
  return 0;
}
TVM_FFI_DLL_EXPORT int __tvm_ffi_count(
    void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  (void)handle, (void)args;
  ++num_calls;
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = num_args;
  return 0;
}
TVM_FFI_DLL_EXPORT int __tvm_ffi_add(
    void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  (void)handle, (void)num_args;
  result->type_index = kTVMFFIFloat;
  result->zero_padding = 0;
  result->v_float64 = args[0].v_float64 + args[1].v_float64;
  return 0;
}
TVM_FFI_DLL_EXPORT int __tvm_ffi_calls(
    void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  (void)handle, (void)args, (void)num_args;
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = num_calls;
  return 0;
}
"""
TOTAL = "total(x: float64[n] compact) -> float"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TVM_FFI_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield cpp.build_inline("checked_calls", c_sources=SOURCE)


@pytest.fixture
def module(path):
    made = tvm_ffi.load_module(path)
    made.describe({"total": TOTAL, "count": "count(a: int, b: int8 = 1, *, c: bool = True)"})
    return made


REFUSED = [
    (np.arange(10.0)[::2], ValueError, "expected a compact tensor, got strides (2,)"),
    (np.arange(10), ValueError, "expected dtype float64, got int64"),
    (np.ones((3, 3)), ValueError, "expected 1 dimension, got 2"),
    (np.broadcast_to(1.0, (5,)), ValueError, "expected a compact tensor, got strides (0,)"),
    (7, TypeError, "expected float64[n] compact, got int"),
]


@pytest.mark.parametrize(("x", "error", "text"), REFUSED)
def test_calls_with_other_arguments_are_refused_before_the_function_runs(module, x, error, text):
    before = module.calls()
    for call in (module.total, lambda x: module.total(x=x), module.total.bind):
        with pytest.raises(error) as caught:
            call(x)
        assert str(caught.value) == f"total() argument 'x': {text}"
    assert module.calls() == before
    assert module.total(np.arange(4.0)) == 6.0


def test_numbers_are_checked_after_binding_and_conversion(module):
    assert [module.count(1), module.count(1, 2, c=False), module.count(b=-128, a=0)] == [3, 3, 3]
    with pytest.raises(ValueError, match=r"^count\(\) argument 'b': 128 does not fit int8$"):
        module.count(1, 128)
    with pytest.raises(TypeError, match=r"^count\(\) argument 'a': expected int, got float$"):
        module.count(1.5)
    with pytest.raises(TypeError, match=r"^count\(\) argument 'c': expected bool, got str$"):
        module.count(1, c="yes")


@pytest.mark.parametrize("two", [2, np.int8(2), np.float32(2), np.uint64(2)])
def test_float_parameters_get_floats(module, two):
    """Regression: the code read the payload of bools and NumPy integers as floats."""
    module.describe({"add": "add(a: float, b: float32 = 0.5) -> float"})
    assert module.add(two) == 2.5
    assert module.add(True, two) == 3.0
    assert module.add(np.bool_(True), b=two) == 3.0


@pytest.mark.parametrize(
    ("type_", "right", "wrong"),
    [
        ("dtype", ["float32", tvm_ffi.dtype("int8"), np.dtype("int8")], [1, None, 2.5, [1]]),
        ("Device", ["cpu", tvm_ffi.device("cuda:1")], [1, None]),
        ("Shape", [(7, 8), [1], tvm_ffi.Shape((7, 8))], [5, None, 1.5]),
        ("Callable", [len, tvm_ffi.convert_func(len)], [1, None]),
        ("Array[int]", [[1], (1,), tvm_ffi.Array([1])], [1, None]),
        ("Map[str, int]", [{}, tvm_ffi.Map({})], [1, None]),
        ("int | str", [1, "x"], [1.5, None, [1]]),
        ("dtype | None", ["int8", None], [1]),
    ],
)
def test_other_types_are_converted_and_checked(module, type_, right, wrong):
    """Regression: kernels got values of any type for these parameters."""
    module.describe({"count": f"count(x: {type_}) -> int"})
    for value in right:
        assert module.count(value) == 1
    for value in wrong:
        with pytest.raises(TypeError, match=r"count\(\) argument 'x': expected .*, got "):
            module.count(value)


def test_checks_of_a_function_without_parameters_refuse_arguments():
    program = check_program(Signature.parse("nothing()"))
    check = tvm_ffi.get_global_func("pytvmffi.CheckFunction")(program, None)
    check()
    with pytest.raises(
        TypeError, match=r"nothing\(\) takes 0 positional arguments but 1 was given"
    ):
        check(1)


def test_many_arguments_are_checked(module):
    names = [f"a{i}" for i in range(40)]
    module.describe({"count": f"count({', '.join(f'{name}: int' for name in names)})"})
    assert module.count(*range(40)) == 40
    with pytest.raises(TypeError, match="argument 'a39': expected int, got str"):
        module.count(*range(39), "x")


def test_registered_functions_are_checked(module):
    name = "test.checked_calls.total"
    tvm_ffi.register_global_func(name, tvm_ffi.unchecked(module.total), signature=TOTAL)
    try:
        registered = tvm_ffi.get_global_func(name)
        assert registered(np.arange(3.0)) == 3.0
        with pytest.raises(ValueError, match=r"^total\(\) argument 'x': expected dtype float64"):
            registered(np.arange(3))
    finally:
        tvm_ffi.remove_global_func(name)


def test_unchecked_is_a_clause_of_the_signature_and_a_property_of_function_objects(module):
    every_second = np.arange(8.0)[::2]
    unchecked = tvm_ffi.unchecked(module.total)
    assert unchecked(every_second) == 0 + 1 + 2 + 3  # the function ignores strides
    with pytest.raises(ValueError, match="compact"):
        module.total(every_second)
    with pytest.raises(TypeError, match=r"total\(\) got an unexpected keyword argument 'y'"):
        unchecked(y=1)
    module.describe({"total": f"{TOTAL} unchecked"})
    assert module.total(every_second) == 6.0
    assert str(module.get_function_signature("total")) == f"{TOTAL} unchecked"


METADATA = """
#include <tvm/ffi/c_api.h>
TVM_FFI_DLL_EXPORT int __tvm_ffi__metadata_count(
    void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  static const char text[] = "{\\"signature\\": \\"count(a: int)\\", \\"checked\\": true}";
  const TVMFFIByteArray bytes = {text, sizeof(text) - 1};
  (void)handle, (void)args, (void)num_args;
  return TVMFFIStringFromByteArray(&bytes, result);
}
"""


def test_a_function_that_checks_itself_is_not_checked_by_the_caller(path):
    module = tvm_ffi.load_module(cpp.build_inline("checks_itself", c_sources=[SOURCE, METADATA]))
    assert module.count("text") == 1  # the function claims to check its arguments
    module.describe({"count": "count(a: int)"})
    with pytest.raises(TypeError, match="argument 'a': expected int, got str"):
        module.count("text")
