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


@pytest.mark.parametrize("owner", [tvm_ffi, core, cpp, module, testing.testing, utils])
def test_late_names_are_listed_and_internal_names_are_not(owner):
    """Regression: completion did not offer names that were not loaded yet."""
    listed = dir(owner)
    assert listed == sorted(set(listed))
    assert set(owner.__all__) <= set(listed)
    internal = [x for x in listed if x.startswith("_") and not x.startswith("__")]
    assert internal == [x for x in owner.__all__ if x in internal]
    assert not {"TYPE_CHECKING", "annotations", "late_attributes", "sys", "os"} & set(listed)
    for name in listed:
        getattr(owner, name)


def test_public_names_outside_of_all_are_listed(run_python):
    run_python("import tvm_ffi; assert {'float32', 'cpp', 'container'} <= set(dir(tvm_ffi))")
    run_python("import tvm_ffi.interop; assert 'interop' in dir(tvm_ffi)")


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
