# SPDX-License-Identifier: Apache-2.0
"""GCC's code for small functions: checks for inefficiency that no timing test can measure."""

from __future__ import annotations

import platform
import re

import pytest

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="reads x86-64 assembly")

HEADERS = """
#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
using namespace tvm::ffi;
"""


def instructions(compiler, function):
    """Return the instructions of a C++ function named ``f``, without its unlikely section."""
    if compiler.program != "g++":
        pytest.skip("another compiler, other instructions")
    source = f'{HEADERS}extern "C" __attribute__((flatten)) {function}'
    options = ("-O2", "-fPIC", "-x", "c++", "-S", "-o", "-", "-")
    said = compiler.run(*options, source=source)
    assert said.accepted, said.text
    body = re.search(r"^f:\n(.*?)^\s+\.(?:section|size)\s", said.text, re.DOTALL | re.MULTILINE)
    assert body is not None, said.text
    lines = [line.strip() for line in body[1].splitlines()]
    return [line for line in lines if line and line[0] != "." and line[-1] != ":"]


def matching(lines, pattern):
    return [line for line in lines if re.match(pattern, line)]


def test_a_cast_reads_the_value_without_a_copy(baseline_compiler):
    """Regression: each cast copied a view to the stack, because the error path took its address."""
    body = instructions(baseline_compiler, "int64_t f(const Any& a) { return a.cast<int64_t>(); }")
    assert matching(body, r"mov\w*\s+8\(%rdi\), %rax")  # the payload
    assert matching(body, r".*%rsp") == []


def test_the_exact_class_is_found_by_one_comparison(baseline_compiler):
    """Regression: a comparison with the smallest type index preceded it."""
    function = "const ShapeObj* f(const ObjectRef& r) { return r.as<ShapeObj>(); }"
    compared = matching(instructions(baseline_compiler, function), r"cmpl\s")
    assert [line.split() for line in compared] == [["cmpl", "$69,", "%edi"]]  # kTVMFFIShape


def test_short_strings_are_compared_as_values(baseline_compiler):
    """Regression: strings of every length were compared by memcmp."""
    function = "bool f(const String& a, const String& b) { return a == b; }"
    body = instructions(baseline_compiler, function)
    assert len(matching(body, r"xorq\s+(8)?\(%rsi\)")) == 2  # the 16 bytes of the value
    assert matching(body, r".*memcmp") == []


def test_an_index_is_compared_once(baseline_compiler):
    """Regression: the value was compared with zero as well."""
    function = "int64_t f(const Array<int64_t>& a, int64_t i) { return a[i]; }"
    body = instructions(baseline_compiler, function)
    assert len(matching(body, r"j(?!mp)\w+\s")) == 2  # null check and index check


def test_a_key_look_up_does_not_change_the_reference_count(baseline_compiler):
    """Regression: the key was copied into an Any, with two atomic instructions."""
    function = "size_t f(const Map<String, int64_t>& m, const String& k) { return m.count(k); }"
    body = instructions(baseline_compiler, function)
    assert len(matching(body, r"call.*Find")) == 2  # in small tables and in dense tables
    assert matching(body, r"lock\b") == []
