# SPDX-License-Identifier: Apache-2.0
"""Numbers that the C++ type of a parameter, element, field or result cannot represent.

Regression: such an int was truncated, and such a float became infinity, without an error.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import tvm_ffi
import tvm_ffi.cpp

SOURCE = r"""
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/extra/stl.h>
#include <tvm/ffi/function.h>

using namespace tvm::ffi;

enum class Level : uint8_t { kLow = 1 };

int32_t i32(int32_t x) { return x; }
uint32_t u32(uint32_t x) { return x; }
int64_t u64(uint64_t x) { return static_cast<int64_t>(x); }
int64_t i64(int64_t x) { return x; }
int64_t level(Level x) { return static_cast<int64_t>(x); }
bool flag(bool x) { return x; }
int32_t second(double, int16_t x) { return x; }
int32_t array(Array<int32_t> x) { return x[1]; }
int32_t vector(std::vector<int32_t> x) { return x[1]; }
int32_t optional(Optional<int32_t> x) { return *x; }
int32_t callback(TypedFunction<int32_t()> f) { return f(); }
float f32(float x) { return x; }
float f32_array(Array<float> x) { return x[1]; }
float f32_callback(TypedFunction<float()> f) { return f(); }
unsigned long long large() { return 1ull << 63; }
"""

NAMES = [
    "i32", "u32", "u64", "i64", "level", "flag", "second", "array", "vector", "optional",
    "callback", "large", "f32", "f32_array", "f32_callback",
]  # fmt: skip


def load():
    return tvm_ffi.cpp.load_inline(
        "number_ranges", cpp_sources=SOURCE, functions=NAMES, keep_module_alive=False
    )


@pytest.mark.parametrize(
    ("name", "args", "where", "problem"),
    [
        ("i32", (2**31,), "argument #0", "2147483648 does not fit int32_t"),
        ("i32", (-(2**31) - 1,), "argument #0", "-2147483649 does not fit int32_t"),
        ("u32", (-1,), "argument #0", "-1 does not fit uint32_t"),
        ("u32", (2**32,), "argument #0", "4294967296 does not fit uint32_t"),
        ("u64", (-1,), "argument #0", "-1 does not fit uint64_t"),
        ("level", (256,), "argument #0", "256 does not fit uint8_t"),
        ("second", (1, 40000), "argument #1", "40000 does not fit int16_t"),
        ("array", ([1, 2**31],), "argument #0", "Array[index 1: 2147483648 does not fit int32_t]"),
        ("vector", ([1, 2**31],), "argument #0", "Array[index 1: 2147483648 does not fit int32_t]"),
        ("optional", (2**31,), "argument #0", "2147483648 does not fit int32_t"),
        ("f32", (-1e300,), "argument #0", "-1e+300 does not fit float"),
        ("f32_array", ([1, 1e300],), "argument #0", "Array[index 1: 1e+300 does not fit float]"),
    ],
)
def test_an_argument_out_of_range_is_an_overflow_error(name, args, where, problem):
    with pytest.raises(OverflowError) as caught:
        load()[name](*args)
    message = str(caught.value)
    assert message.startswith(f"Number out of range on {where} when calling: `{name}(0: ")
    assert message.endswith(f"`: {problem}")


def test_the_limits_are_accepted():
    library = load()
    assert [library.i32(x) for x in (-(2**31), 2**31 - 1)] == [-(2**31), 2**31 - 1]
    assert [library.u32(x) for x in (0, 2**32 - 1)] == [0, 2**32 - 1]
    assert [library.i64(x) for x in (-(2**63), 2**63 - 1)] == [-(2**63), 2**63 - 1]
    assert library.u64(2**63 - 1) == 2**63 - 1
    assert library.level(255) == 255
    assert library.array([0, -(2**31)]) == -(2**31)
    assert library.i32(True) == 1
    assert library.flag(256) is True
    largest = float(np.finfo(np.float32).max)
    assert [library.f32(x) for x in (largest, -largest)] == [largest, -largest]
    assert library.f32(largest * (1 + 2**-26)) == largest  # rounds to the largest float
    assert [library.f32(x) for x in (math.inf, -math.inf)] == [math.inf, -math.inf]
    assert math.isnan(library.f32(math.nan))
    assert library.f32_array([0, math.inf]) == math.inf


@pytest.mark.parametrize("value", [2**63, 1.0, "1", None])
def test_values_of_other_types_are_type_errors(value):
    with pytest.raises(TypeError, match="Mismatched type on argument #0"):
        load().i32(value)


def test_results_out_of_range_are_overflow_errors():
    library = load()
    with pytest.raises(OverflowError, match="2147483648 does not fit int32_t"):
        library.callback(lambda: 2**31)
    with pytest.raises(OverflowError, match="9223372036854775808 is too large"):
        library.large()
    with pytest.raises(OverflowError, match=r"1e\+300 does not fit float"):
        library.f32_callback(lambda: 1e300)
    assert library.callback(lambda: 7) == 7


def test_overflow_errors_of_callbacks_keep_their_kind():
    def fail():
        raise OverflowError("from Python")

    with pytest.raises(OverflowError, match="from Python"):
        load().callback(fail)
