# SPDX-License-Identifier: Apache-2.0
"""CAny: native values that Python owns."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import CAny, core

VALUES = [
    (None, "CAny(None)", 0),
    (5, "CAny(int=5)", 1),
    (True, "CAny(bool=True)", 2),
    (1.5, "CAny(float=1.5)", 3),
    (tvm_ffi.dtype("int8"), "CAny(type_index=5)", 5),
    (tvm_ffi.device("cuda", 1), "CAny(type_index=6)", 6),
    ("short", "CAny(type_index=11)", 11),
    (b"short", "CAny(type_index=12)", 12),
    ("a text on the heap", "CAny(object, type_index=65)", 65),
    (2**70, "CAny(object, type_index=78)", 78),
]


@pytest.mark.parametrize(("value", "text", "index"), VALUES, ids=[row[1] for row in VALUES])
def test_cany_stores_and_returns_a_value(value, text, index):
    held = CAny(value)
    assert held.type_index == index
    assert repr(held) == text
    for _ in range(2):
        made = core._to_py_class_value(held)
        assert made == value
        assert type(made) is type(value)


def test_cany_without_a_value_is_none():
    assert CAny().type_index == 0
    assert core._to_py_class_value(CAny()) is None
    assert core.CAny is CAny


def test_cany_stores_containers_and_tensors():
    assert list(core._to_py_class_value(CAny([1, "a"]))) == [1, "a"]
    array = np.arange(3)
    tensor = core._to_py_class_value(CAny(array))
    assert tensor.data_ptr() == array.ctypes.data


def test_initializing_cany_again_keeps_the_value_alive():
    class Owner:
        pass

    owner = Owner()
    alive = weakref.ref(owner)
    held = CAny(owner)
    held.__init__(owner)
    del owner
    gc.collect()
    assert core._to_py_class_value(held) is alive()
    held.__init__(None)
    gc.collect()
    assert alive() is None
    owner = Owner()
    alive = weakref.ref(owner)
    held = CAny([owner, "a text on the heap"])
    del owner, held
    gc.collect()
    assert alive() is None


def test_value_that_cannot_be_passed_is_an_error():
    with pytest.raises(TypeError):
        CAny(np.zeros(2, object))
    with pytest.raises(ValueError, match="empty"):
        CAny(tvm_ffi.Function())
    with pytest.raises(TypeError):
        core._to_py_class_value(5)


def test_borrowed_values_are_copied_or_refused(kernels):
    """Regression: values were packed like arguments, which may refer to freed memory."""
    held = CAny(core.ByteArrayArg(b"bytes of a dead object"))
    assert core._to_py_class_value(held) == b"bytes of a dead object"
    array = tvm_ffi.Array([1, 2])
    with pytest.raises(TypeError, match="ObjectRValueRef can be passed as an argument only"):
        CAny(array._move())
    assert array == [1, 2]
    with pytest.raises(
        BufferError, match="cannot store a tensor whose memory is borrowed until the call returns"
    ):
        kernels.call_with_borrowed(CAny, np.zeros(3, np.float32))
