# SPDX-License-Identifier: Apache-2.0
"""Precedence of the conversion rules for a class that several rules apply to."""

from __future__ import annotations

import ctypes
import numbers

import pytest

import tvm_ffi
from tvm_ffi import core
from tvm_ffi._binding import convert

NONE, INT, FLOAT, POINTER, DTYPE, DEVICE, SMALL_STR = 0, 1, 3, 4, 5, 6, 11
ERROR, FUNCTION, ARRAY = 67, 68, 71


def raising(error):
    def method(self, **options):
        raise error

    return method


# Name, class members and expected type index of each conversion rule, in the documented order.
# Members of rules that would need an array of a framework instead raise an error with the expected
# message.
RULES = [
    ("object", {"__tvm_ffi_object__": lambda self: tvm_ffi.Array([])}, ARRAY),
    ("exchange table", {"__dlpack_c_exchange_api__": "none"}, "Expect a dlpack_exchange_api field"),
    ("stream", {"__cuda_stream__": lambda self: (0, 1)}, POINTER),
    ("dlpack", {"__dlpack__": raising(KeyError("dlpack was asked"))}, "dlpack was asked"),
    (
        "cuda array",
        {"__cuda_array_interface__": property(raising(KeyError("interface was asked")))},
        "interface was asked",
    ),
    ("number", {"__float__": lambda self: 0.5}, FLOAT),
    ("pointer", {"__tvm_ffi_opaque_ptr__": lambda self: 1}, POINTER),
    ("callable", {"__call__": lambda self: None}, FUNCTION),
    ("dtype", {"__dlpack_data_type__": lambda self: (0, 8, 1)}, DTYPE),
    ("device", {"__dlpack_device__": lambda self: (1, 0)}, DEVICE),
    ("int", {"__tvm_ffi_int__": lambda self: 1}, INT),
    ("float", {"__tvm_ffi_float__": lambda self: 0.5}, FLOAT),
    ("value", {"__tvm_ffi_value__": lambda self: None}, NONE),
    ("exception", {}, ERROR),
]


def fitting(position):
    """Return a value that fits the rule at this position and all rules after it."""
    members = {name: value for _, has, _ in RULES[position:] for name, value in has.items()}
    bases = (Exception, core.ObjectConvertible)
    cls = type("Fitting", bases, {**members, "asobject": lambda self: "text"})
    if "__float__" in members:
        numbers.Real.register(cls)
    return cls()


@pytest.mark.parametrize("position", range(len(RULES)), ids=[name for name, _, _ in RULES])
def test_the_first_matching_rule_applies(kernels, position):
    _, _, expected = RULES[position]
    if isinstance(expected, int):
        assert kernels.type_index(fitting(position)) == expected
    else:
        with pytest.raises((KeyError, ValueError), match=expected):
            kernels.type_index(fitting(position))


def test_object_convertible_is_the_last_rule(kernels):
    cls = type("Convertible", (core.ObjectConvertible,), {"asobject": lambda self: "text"})
    assert kernels.type_index(cls()) == SMALL_STR


def test_pointer_handlers_come_before_callables_and_after_the_pointer_protocol(kernels, echo):
    callable_class = type("Handled", (), {"__call__": lambda self: None})
    pointer_class = type("Pointer", (), {"__tvm_ffi_opaque_ptr__": lambda self: 1})
    for cls, address in ((callable_class, 2), (pointer_class, 1)):
        core._OPAQUE_PTR_HANDLERS[cls] = lambda value: 2
        try:
            assert kernels.type_index(cls()) == POINTER
            assert echo(cls()).value == address
        finally:
            del core._OPAQUE_PTR_HANDLERS[cls]


def test_numpy_array_comes_before_torch_tensor_and_dlpack():
    """Regression: these rules shared a number, and the import order decided between them."""
    np = pytest.importorskip("numpy")
    torch_like = type("Tensor", (), {"__module__": "torch"})
    array = np.zeros(2).view(type("Array", (np.ndarray, torch_like), {}))
    array.flags.writeable = False  # its __dlpack__ refuses read-only arrays
    assert tvm_ffi.convert_func(lambda x: x.shape)(array) == (2,)


# ---- One precedence per rule ---------------------------------------------------------------------


def test_second_rule_with_the_same_precedence_is_refused():
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    capsule = convert.__pyx_capi__["add_rule"]
    address = get_pointer(capsule, get_name(capsule))
    add_rule = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)(address)
    with pytest.raises(RuntimeError, match="the precedence 3 already has a conversion rule"):
        add_rule(3, None)
    with pytest.raises(ValueError, match="expected a precedence below 27, got 99"):
        add_rule(99, None)
