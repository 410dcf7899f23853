# SPDX-License-Identifier: Apache-2.0
"""Object types that a wrapper accepts, and the checks that keep memory layouts apart."""

from __future__ import annotations

import gc
import pickle
import re
import textwrap
import weakref

import numpy as np
import pytest

import tvm_ffi
import tvm_ffi.testing
from tvm_ffi import core
from tvm_ffi._binding.call import ArgumentBinder, function_of_module, set_module_origin
from tvm_ffi._binding.object import get_object_metadata, set_object_metadata
from tvm_ffi.core import CObject

from .watched_values import Doing, Last, Target, empty


@pytest.mark.parametrize(
    ("wrapper", "make", "message"),
    [
        (
            lambda: tvm_ffi.Array([1]),
            lambda: tvm_ffi.Map({}),
            "Array: expected an object of type `ffi.Array`, got type `ffi.Map`",
        ),
        (
            lambda: tvm_ffi.convert_func(len),
            lambda: tvm_ffi.List([1]),
            "Function: expected an object of type `ffi.Function`, got type `ffi.List`",
        ),
        (
            lambda: tvm_ffi.from_dlpack(np.zeros(3)),
            lambda: tvm_ffi.convert_func(len),
            "Tensor: expected an object of type `ffi.Tensor`, got type `ffi.Function`",
        ),
    ],
)
def test_wrapper_refuses_an_object_of_another_type(wrapper, make, message):
    """Regression: the object was read with the memory layout of the wrapper's type."""
    filled, other = wrapper(), make()
    address, other_address = filled.__chandle__(), other.__chandle__()
    for fill in (
        filled.__move_handle_from__,
        lambda value: filled.__init_handle_by_constructor__(lambda: value),
    ):
        with pytest.raises(TypeError, match=re.escape(message)):
            fill(other)
    assert (filled.__chandle__(), other.__chandle__()) == (address, other_address)


def test_wrappers_accept_derived_types_and_object_accepts_all_types():
    """`CObject` and `Object` read no fields, so they accept objects of any type.

    All classes without a registered type used to do so, including `ArrayBase` and similar bases,
    whose methods then read the object as an array.
    """
    made = core.Object()
    made.__move_handle_from__(tvm_ffi.Array([1]))
    assert made.__chandle__() != 0
    anything = CObject()
    anything.__move_handle_from__(made)
    assert (made.__chandle__(), anything.__chandle__() != 0) == (0, True)
    array = tvm_ffi.Array([1])
    array.__move_handle_from__(anything)
    assert list(array) == [1]


# ---- classes whose methods read fields -----------------------------------------------------------

Pair = tvm_ffi.testing.TestIntPair
READERS = [tvm_ffi.Array, tvm_ffi.List, tvm_ffi.Map, tvm_ffi.Dict, tvm_ffi.Tensor]
READERS += [tvm_ffi.Function, core.Error, core.OpaquePyObject]


def compiled_base(cls):
    """Return the nearest base class that is compiled."""
    return next(base for base in cls.__mro__ if not base.__flags__ & (1 << 9))


@pytest.mark.parametrize("cls", READERS)
def test_a_class_derived_from_two_types_refuses_objects_of_either(cls):
    """Regression: a constructor set the handle of a type that another type's methods read."""

    class Both(Pair, cls):
        pass

    plain = cls is tvm_ffi.Tensor  # wrappers of this class have the layout of Object
    both = (core.Object if plain else Both).__new__(Both)
    with pytest.raises(
        TypeError, match=r"Both: expected an object of type .*, got type `testing.TestIntPair`"
    ):
        Pair.__init__(both, 12345, 2)
    assert both.__chandle__() == 0


@pytest.mark.parametrize("cls", READERS)
def test_a_class_with_foreign_type_info_refuses_objects_of_that_type(cls):
    class Claims(cls):
        __tvm_ffi_type_info__ = Pair.__tvm_ffi_type_info__

    claims = Claims.__new__(Claims)
    with pytest.raises(TypeError, match=r"Claims: expected an object of type .*, got type"):
        Pair.__init__(claims, 12345, 2)
    assert claims.__chandle__() == 0


@pytest.mark.parametrize("cls", READERS)
def test_an_unregistered_base_accepts_only_types_that_its_methods_read(cls):
    base = compiled_base(cls)
    wrapper = base.__new__(base)
    with pytest.raises(TypeError, match=r": expected an object of type .*, got type"):
        wrapper.__move_handle_from__(Pair(1, 2))
    assert wrapper.__chandle__() == 0


def test_the_base_of_array_and_list_accepts_both():
    base = compiled_base(tvm_ffi.Array).__mro__[1]
    wrapper = base.__new__(base)
    for made in (tvm_ffi.Array([1, 2]), tvm_ffi.List([3, 4, 5])):
        count = len(made)
        wrapper.__move_handle_from__(made)
        assert len(wrapper) == count
    message = "SequenceBase: expected an object of type `ffi.Array` or `ffi.List`, got type"
    with pytest.raises(TypeError, match=message):
        wrapper.__move_handle_from__(tvm_ffi.Map({1: 2}))


@pytest.mark.parametrize("cls", READERS)
def test_class_assignment_to_another_layout_is_refused(cls):
    class Plain(tvm_ffi.Object):
        pass

    class Reader(cls):
        __slots__ = ()

    plain = Plain()
    plain.__move_handle_from__(Pair(1, 2))
    try:
        plain.__class__ = Reader
    except TypeError:
        return
    assert cls is tvm_ffi.Tensor  # tensor wrappers add no fields to those of Object
    for read in (
        lambda: plain.shape,
        plain.numpy,
        lambda: np.from_dlpack(plain),
        lambda: repr(plain),
        lambda: pickle.dumps(plain),
    ):
        with pytest.raises(TypeError, match="Reader: expected a tensor, got an object of type"):
            read()


def test_the_type_is_checked_after_finalizers_ran(kernels):
    """Regression: a finalizer replaced the other wrapper's object after the type check."""
    other = CObject()
    table = tvm_ffi.Map({1: 2})

    class Refills(Target):
        def __del__(self):
            other.__move_handle_from__(table)

    other.__move_handle_from__(tvm_ffi.Array([tvm_ffi.convert_func(Refills())]))

    def act():
        empty(other)
        other.__move_handle_from__(tvm_ffi.Array([1]))

    kernels.count(other, Doing(act))
    array = tvm_ffi.Array([7])
    with pytest.raises(
        TypeError, match=r"expected an object of type `ffi.Array`, got type `ffi\.Map`"
    ):
        array.__move_handle_from__(other)
    assert list(array) == [7]


def test_constructor_that_returns_an_object_of_another_type_is_refused():
    class Made(tvm_ffi.Array):
        pass

    made = Made([1])
    pair = Pair(1, 2)
    with pytest.raises(TypeError, match=r"Made: expected an object of type `ffi\.Array`"):
        made.__init_handle_by_constructor__(lambda: pair)
    assert (list(made), pair.a) == ([1], 1)


# ---- functions and argument binders that the package uses ----------------------------------------


def test_the_package_survives_emptying_all_functions_visible_to_gc(run_python):
    """The test empties every function that the collector finds; containers still work then."""
    program = """
        import gc
        import tvm_ffi
        from tvm_ffi.core import CObject, Function

        for function in [x for x in gc.get_objects() if isinstance(x, Function)]:
            CObject().__move_handle_from__(function)
        table = tvm_ffi.Map({1: (2, "three")})
        assert table[1][1] == "three" and 4 not in table
        assert tvm_ffi.Dict({1: 2}).get(1) == 2
        assert tvm_ffi.List([tvm_ffi.Shape((1, 2)), [None]])[0] == (1, 2)
    """
    result = run_python(textwrap.dedent(program))
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    "use",
    [
        lambda: get_object_metadata(None),
        lambda: set_object_metadata(None, 1),
        lambda: set_module_origin(None, None, "", False),
        lambda: set_module_origin(tvm_ffi.convert_func(len), None, "", False),
        lambda: core.DLTensorTestWrapper.__new__(core.DLTensorTestWrapper).__dlpack__(),
        lambda: tvm_ffi.convert_func(len)(
            core.DLTensorTestWrapper.__new__(core.DLTensorTestWrapper)
        ),
    ],
)
def test_none_instead_of_an_object_is_refused(use):
    """The memory of None was read as an object."""
    with pytest.raises((TypeError, ValueError, AttributeError)):
        use()


def test_a_value_stored_during_an_assignment_is_released():
    """Regression: the value that a destructor stored during the assignment was never released."""
    seen = []

    def act():
        target = Target()
        seen.append(weakref.ref(target))
        value.__init__(target)

    value = core.CAny(Last(act))
    value.__init__(5)
    assert seen
    value.__init__(6)
    gc.collect()
    assert seen[0]() is None


def test_looking_up_a_function_in_a_non_module_is_refused():
    """Regression: objects of any type were passed on as modules."""
    with pytest.raises(TypeError):
        function_of_module(tvm_ffi.Array([1, 2]), "name", False)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"defaults": ()}, "as many defaults"),
        ({"directions": b""}, "as many defaults"),
        ({"converters": (None, None)}, "as many defaults"),
        ({"num_positional": 2}, "num_positional_only <= num_positional"),
        ({"num_positional_only": -1}, "num_positional_only <= num_positional"),
        ({"num_positional_only": 1, "num_positional": 0}, "num_positional_only <= num_positional"),
        ({"names": (1,)}, "expected a str as parameter name"),
    ],
)
def test_an_inconsistent_argument_binder_is_refused(changes, message):
    """Regression: calls read the tuples of an `ArgumentBinder` without a length check."""
    parts = {
        "signature": None, "names": ("x",), "defaults": (1,), "converters": (None,),
        "directions": b"\0", "num_positional_only": 0, "num_positional": 1, "is_variadic": False,
    }  # fmt: skip
    ArgumentBinder(*parts.values())
    with pytest.raises((TypeError, ValueError), match=message):
        ArgumentBinder(*{**parts, **changes}.values())
