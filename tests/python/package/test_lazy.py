# SPDX-License-Identifier: Apache-2.0
"""Lazy module attributes (`late_attributes`), loaded on first access."""

from __future__ import annotations

import re

import pytest

import tvm_ffi
from tvm_ffi import core, cpp, module, testing, utils
from tvm_ffi._internal.lazy import late_attributes


@pytest.fixture
def namespace():
    return {"__name__": "tvm_ffi.example", "__package__": "tvm_ffi"}


def test_modules_and_their_attributes_are_loaded(namespace):
    get = late_attributes(namespace, {"errors": ".error", "register": ".error:register_error"})
    assert get("errors") is tvm_ffi.error
    assert get("register") is tvm_ffi.register_error
    assert namespace["errors"] is tvm_ffi.error  # from now on, the attribute is an ordinary one
    assert namespace["register"] is tvm_ffi.register_error


def test_the_result_of_a_callable_is_not_cached(namespace):
    values = iter([1, 2])
    get = late_attributes(namespace, {"next": lambda: next(values)})
    assert (get("next"), get("next")) == (1, 2)
    assert "next" not in namespace


@pytest.mark.parametrize("owner", [tvm_ffi, core, cpp, module, testing.testing, utils])
def test_unknown_names_raise_attribute_error(owner):
    message = f"module '{owner.__name__}' has no attribute 'nowhere'"
    with pytest.raises(AttributeError, match=re.escape(message)):
        owner.nowhere  # noqa: B018
