# SPDX-License-Identifier: Apache-2.0
"""Suggestions of similar names ("did you mean") in errors."""

from __future__ import annotations

import time

import pytest

import tvm_ffi
from tvm_ffi._internal.suggestion import did_you_mean, nearest


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("sotfmax", ["softmax", "add"], "softmax"),
        ("SoftMax", ["softmax", "add"], "softmax"),
        ("temprature", ["temperature", "x"], "temperature"),
        ("epsilon", ["x", "eps"], "eps"),
        ("eps", ["x", "epsilon"], "epsilon"),
        ("ep", ["x", "epsilon"], None),
        ("conv2d", ["softmax", "add"], None),
        ("", ["softmax"], None),
        ("softmax", [], None),
    ],
)
def test_nearest_name(name, known, expected):
    assert nearest(name, known) == expected


def test_did_you_mean():
    assert did_you_mean("ad", ["add"]) == "; did you mean 'add'?"
    assert did_you_mean("multiply", ["add"]) == ""


def test_long_and_many_names_take_bounded_time():
    names = [f"function_{i}" for i in range(100_000)] + ["a" * 10**6]
    start = time.monotonic()
    nearest("b" * 10**6, names)
    nearest("functoin_1", names)
    assert time.monotonic() - start < 20  # takes a second on an idle machine; without bounds, hours


def test_global_function():
    with pytest.raises(ValueError, match=r"function ffi\.ModuleGetKid; did you mean 'ffi\.Mod"):
        tvm_ffi.get_global_func("ffi.ModuleGetKid")
    assert tvm_ffi.get_global_func("ffi.ModuleGetKid", allow_missing=True) is None


@pytest.mark.parametrize(
    ("name", "meant"),
    [("floot32", "float32"), ("double", "float64"), ("bflot16", "bfloat16"), ("Int32", "int32")],
)
def test_dtype(name, meant):
    with pytest.raises(ValueError, match=f"unknown dtype `{name}`; did you mean '{meant}'"):
        tvm_ffi.dtype(name)


def test_a_dtype_without_a_similar_name():
    with pytest.raises(ValueError, match="^unknown dtype `zz`$"):
        tvm_ffi.dtype("zz")


def test_device():
    with pytest.raises(ValueError, match="Unknown device: cude, expected.*; did you mean 'cuda'"):
        tvm_ffi.device("cude:1")
