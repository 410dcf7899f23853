# SPDX-License-Identifier: Apache-2.0
"""Exports of inline builds: documentation, signatures and types of functions."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import Signature, cpp
from tvm_ffi.inspection import inspect_library

C = """
int __tvm_ffi_twice(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = 2 * args[0].v_int64;
  return 0;
}
"""
CPP = "int64_t twice(int64_t n) { return 2 * n; }"
TEXT = "twice(n: int = 21) -> int doc 'Say \"two\".'"

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")
needs_cxx = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler is installed")
LANGUAGES = [
    pytest.param({"c_sources": C}, marks=needs_cc, id="C"),
    pytest.param({"cpp_sources": CPP, "extra_cflags": ["-O0"]}, marks=needs_cxx, id="C++"),
]


def load(sources, functions):
    return cpp.load_inline("exports", **sources, functions=functions, keep_module_alive=False)


@pytest.mark.parametrize("sources", LANGUAGES)
@pytest.mark.parametrize("make", [str, Signature.parse], ids=["text", "Signature"])
def test_a_signature_brings_its_documentation(sources, make):
    module = load(sources, {"twice": make(TEXT)})
    assert module.twice(4) == 8
    assert module.get_function_signature("twice") == Signature.parse(TEXT)
    assert module.get_function_doc("twice") == 'Say "two".'


@pytest.mark.parametrize("sources", LANGUAGES)
@pytest.mark.parametrize(
    "doc", ["Twice a number.", "(n: int) -> int", "thrice(n: int) -> int", "twice (n: int)"]
)
def test_text_that_does_not_start_like_a_signature_is_documentation(sources, doc):
    module = load(sources, {"twice": doc})
    assert module.get_function_doc("twice") == doc
    assert "signature" not in (module.get_function_metadata("twice") or {})


@needs_cc
def test_text_that_starts_like_a_signature_but_is_none_is_documentation_with_a_warning():
    doc = "twice(n) is two times n."
    warning = r"functions\['twice'\] starts like a signature but cannot be parsed.*: character 7 of"
    with pytest.warns(UserWarning, match=warning):
        module = load({"c_sources": C}, {"twice": doc})
    assert module.get_function_doc("twice") == doc
    assert module.get_function_metadata("twice") is None


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (3, TypeError, r"functions\['twice'\] must be documentation or a signature, got int"),
        (Signature.parse("f()"), ValueError, "belongs to function 'f', not to function 'twice'"),
    ],
)
def test_a_value_of_another_type_or_name_is_an_error(value, error, message):
    with pytest.raises(error, match=message):
        cpp.build_inline("neither", c_sources=C, functions={"twice": value})


@needs_cxx
def test_types_and_documentation_are_exported_by_default():
    sources = {"cpp_sources": CPP, "extra_cflags": ["-O0"]}
    module = load(sources, {"twice": "Twice a number."})
    assert str(module.get_function_signature("twice")) == "twice(_0: int, /) -> int"
    assert module.get_function_doc("twice") == "Twice a number."


@needs_cxx
def test_types_and_documentation_can_be_left_out():
    flags = ["-O0", "-Werror", "-DTVM_FFI_DLL_EXPORT_INCLUDE_METADATA=0"]
    module = load({"cpp_sources": CPP, "extra_cflags": flags}, {"twice": "Twice a number."})
    assert module.get_function_metadata("twice") is None
    assert module.get_function_doc("twice") is None


@needs_cxx
def test_a_macro_in_the_source_overrides_the_default_metadata_flag(tmp_path):
    source = tmp_path / "source.cc"
    for value in (0, 1):
        source.write_text(
            f"#define TVM_FFI_DLL_EXPORT_INCLUDE_METADATA {value}\n#include <tvm/ffi/function.h>\n"
            "TVM_FFI_DLL_EXPORT_TYPED_FUNC(one, [] { return 1; });\n"
        )
        flags = ["-O0", "-Werror"]
        path = cpp.build(f"metadata_{value}", sources=str(source), extra_cflags=flags)
        (function,) = inspect_library(path).functions
        assert (function.signature is not None) == bool(value)


@needs_cxx
def test_a_signature_with_another_parameter_count_does_not_compile():
    with pytest.raises(RuntimeError, match="another number of parameters than the function"):
        load({"cpp_sources": CPP}, {"twice": "twice(n: int, m: int) -> int"})


@needs_cxx
def test_user_defined_conversions_need_no_type_schema():
    source = """
    struct Money { int64_t cents; };
    namespace tvm { namespace ffi {
    template <> struct TypeTraits<Money> : TypeTraitsBase {
      static constexpr bool storage_enabled = false;
      static std::optional<Money> TryCastFromAnyView(const TVMFFIAny* src) {
        return Money{src->v_int64};
      }
      static std::string TypeStr() { return "Money"; }
    };
    }}
    int64_t cents(Money money) { return money.cents; }
    """
    sources = {"cpp_sources": source, "extra_cflags": ["-O0"]}
    module = load(sources, ["cents"])
    assert module.cents(5) == 5
    assert str(module.get_function_signature("cents")) == "cents(_0: unknown Any, /) -> int"


def test_cuda_functions_are_exported_like_cpp_functions(fake_compilers, monkeypatch):
    nvcc = fake_compilers.add("nvcc")
    fake_compilers.add("c++")
    monkeypatch.setenv("CUDA_HOME", str(nvcc.parents[1]))
    monkeypatch.setenv("CXX", str(nvcc.with_name("c++")))
    monkeypatch.setenv("TVM_FFI_CUDA_ARCH_LIST", "9.0")
    cpp.build_inline("device", cuda_sources="// x", functions={"f": "f(x: float32[n] on cuda)"})
    main = cpp.cache.find("device")[0].path.with_name("cuda.cu").read_text()
    text = '"f(x: float32[n] on cuda)"'
    assert f"TVM_FFI_DLL_EXPORT_TYPED_FUNC_WITH_SIGNATURE(f, f, {text});\n" in main
    assert "return tvm_ffi_unchecked_f(handle, args, num_args, result);" in main


# ---- checks of arguments -------------------------------------------------------------------------

TOTAL = """double total(tvm::ffi::TensorView x) {
  double sum = 0;
  for (int64_t i = 0; i < x.size(0); ++i) sum += static_cast<const double*>(x.data_ptr())[i];
  return sum;
}
int64_t size(tvm::ffi::Shape shape, int64_t n) { return static_cast<int64_t>(shape.size()) + n; }
"""
# Calls a function as native code does, without the caller's signature checks.
FORWARD = """TVM_FFI_DLL_EXPORT int __tvm_ffi_forward(
    void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  (void)handle;
  return TVMFFIFunctionCall(args[0].v_obj, (TVMFFIAny*)args + 1, num_args - 1, result);
}
"""
FIRST = """TVM_FFI_DLL_EXPORT int __tvm_ffi_first(
    void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  const DLTensor* x = args[0].type_index == kTVMFFITensor
      ? TVMFFITensorGetDLTensorPtr(args[0].v_obj) : (const DLTensor*)args[0].v_ptr;
  (void)handle, (void)num_args;
  result->type_index = kTVMFFIFloat, result->zero_padding = 0;
  result->v_float64 = *(const double*)x->data;
  return 0;
}
"""
SIGNATURES = {
    "total": "total(x: float64[n] compact) -> float",
    "size": "size(shape: Shape, n: int8 = 2) -> int",
}


def load_forward():
    return cpp.load_inline(
        "forward", c_sources=FORWARD, functions=["forward"], keep_module_alive=False
    ).forward


@needs_cxx
def test_functions_with_a_signature_check_the_arguments_of_native_callers():
    forward = load_forward()
    module = load({"cpp_sources": TOTAL}, SIGNATURES)
    assert forward(module.total, np.arange(4.0)) == 6.0
    for x, text in (
        (np.arange(10.0)[::2], "expected a compact tensor, got strides (2,)"),
        (np.arange(10), "expected dtype float64, got int64"),
        (np.ones((3, 3)), "expected 1 dimension, got 2"),
    ):
        for call in (module.total, lambda x: forward(module.total, x)):
            with pytest.raises(ValueError, match=re.escape(f"total() argument 'x': {text}")):
                call(x)
    assert (module.size((1, 2)), module.size((1, 2), n=5)) == (4, 7)  # C++ checks containers
    with pytest.raises(ValueError, match=r"size\(\) argument 'n': 128 does not fit int8"):
        forward(module.size, (1, 2), 128)
    assert set(module.functions) == {"total", "size"}
    assert json.loads(metadata_of(module, "total"))["checked"] is True


def metadata_of(module, name: str) -> str:
    return tvm_ffi.get_global_func("pytvmffi.ModuleGetOwnFunctionMetadata")(module, name)


@needs_cc
def test_functions_in_c_check_the_arguments_of_native_callers():
    forward = load_forward()
    functions = {"first": "first(x: float64[n] compact) -> float doc 'The first.'"}
    module = load({"c_sources": FIRST}, functions)
    assert forward(module.first, np.arange(3.0) + 5) == 5.0
    with pytest.raises(ValueError, match=r"^first\(\) argument 'x': expected dtype float64"):
        forward(module.first, np.arange(3))
    assert json.loads(metadata_of(module, "first"))["checked"] is True
    assert module.get_function_doc("first") == "The first."


@needs_cxx
def test_unchecked_leaves_the_checks_out():
    forward = load_forward()
    module = load({"cpp_sources": TOTAL, "unchecked": True}, SIGNATURES)
    every_second = np.arange(8.0)[::2]
    assert module.total(every_second) == forward(module.total, every_second) == 0 + 1 + 2 + 3
    assert module.get_function_signature("total").unchecked
    text = SIGNATURES["total"] + " unchecked"
    module = load({"cpp_sources": TOTAL}, {"total": text})
    assert module.total(every_second) == 0 + 1 + 2 + 3
    assert "checked" not in json.loads(metadata_of(module, "total"))
