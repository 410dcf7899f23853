# SPDX-License-Identifier: Apache-2.0
"""Hostile Python classes whose methods raise or lie: exceptions, values, arrays, containers."""

from __future__ import annotations

import gc
import textwrap

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import core
from tvm_ffi._binding.object import error_from_exception
from tvm_ffi._binding.types import Constructor

# ---- exceptions whose methods raise --------------------------------------------------------------


class Refuses(BaseException):
    """Raised by the methods of the classes below; not caught by `except Exception`."""


def _refuse(*_):
    raise Refuses


class _BadMeta(type):
    __hash__ = _refuse
    __eq__ = _refuse


class BadText(ValueError):
    __str__ = _refuse
    __repr__ = _refuse


class BadGetattr(ValueError):
    __getattr__ = _refuse


class BadSetattr(ValueError):
    __setattr__ = _refuse


class BadGetattribute(ValueError):
    __getattribute__ = _refuse


class BadHash(ValueError, metaclass=_BadMeta):
    pass


HOSTILE = pytest.mark.parametrize(
    "cls", [BadText, BadGetattr, BadSetattr, BadGetattribute, BadHash], ids=lambda c: c.__name__
)


def _raising(error):
    def act(*_):
        raise error

    return act


@HOSTILE
def test_the_exception_of_a_callback_is_the_same_object(kernels, cls):
    error = cls("what")
    try:
        kernels.call(_raising(error))
    except BaseException as arrived:
        assert arrived is error  # noqa: PT017  (any other use of the exception may raise)
    else:
        pytest.fail("nothing was raised")


@HOSTILE
def test_a_hostile_exception_becomes_a_native_error_of_its_kind(kernels, cls):
    seen = kernels.catch(_raising(cls("what")))
    assert seen.kind == "ValueError"
    assert seen.message == ("<BadText whose __str__ failed>" if cls is BadText else "what")


@HOSTILE
def test_the_exception_of_a_conversion_is_the_same_object(kernels, cls):
    error = cls("what")

    class Value:
        def __tvm_ffi_int__(self):
            raise error

    try:
        kernels.count(Value())
    except BaseException as arrived:
        assert arrived is error  # noqa: PT017
    else:
        pytest.fail("nothing was raised")


def test_an_exception_argument_whose_str_raises_is_kept(kernels):
    class Value:
        def __tvm_ffi_int__(self):
            raise ValueError(BadText("inner"))

    with pytest.raises(ValueError) as caught:  # noqa: PT011  (its text fails)
        kernels.count(Value())
    assert isinstance(caught.value.args[0], BadText)


def test_str_of_an_exception_may_return_a_subclass_of_str(kernels):
    class Text(str):
        __slots__ = ()
        encode = _refuse

    class Error(ValueError):
        def __str__(self):
            return Text("mine")

    assert kernels.catch(_raising(Error())).message == "mine"


NO_MEMORY = """
import sys
import _testcapi
import tvm_ffi

call = tvm_ffi.load_module(sys.argv[1]).call
stop, fail = _testcapi.remove_mem_hooks, _testcapi.set_nomemory
arrived = set()


def attempt(function):
    try:
        call(function)
    except BaseException as error:
        return type(error)


for length in (1, 2, 5):
    for first in range(60):

        def act(error=ValueError("what"), first=first, last=first + length):
            fail(first, last)
            raise error

        function = tvm_ffi.convert_func(act)
        try:
            arrived.add(attempt(function))
        except MemoryError:  # the interpreter itself had none
            pass
        stop()
assert {ValueError, MemoryError} <= arrived, arrived
print("alive")
"""


def test_a_callback_that_raises_without_memory_does_not_crash(run_python):
    """Each allocation fails in turn, alone or with all later ones."""
    pytest.importorskip("_testcapi")
    result = run_python(NO_MEMORY)
    assert (result.returncode, result.stdout) == (0, "alive\n"), result.stderr


# ---- values that change their class --------------------------------------------------------------


def test_a_value_may_change_its_class_during_the_choice_of_its_conversion(kernels):
    """The conversion chosen for the old class, which may be gone, was applied to the value."""

    class Other:
        pass

    class Meta(type):
        def __getattr__(cls, name):
            value.__class__ = Other
            raise AttributeError(name)

    value = Meta("Changing", (), {})()
    message = "the class of a value changed from .* while the value was converted"
    with pytest.raises(TypeError, match=message):
        kernels.count(value)
    assert kernels.count(value) == 1


def test_a_class_may_be_released_during_the_conversion_of_its_value(kernels):
    class Other:
        pass

    def make(number):
        def convert(self):
            self.__class__ = Other
            gc.collect(1)  # the class is young
            return number

        return type("Dying", (), {"__tvm_ffi_value__": convert})()

    for _ in range(3):
        values = [make(number) for number in range(20)]
        array = tvm_ffi.Array(values)
        assert list(array) == list(range(20))
        assert kernels.last(*[make(number) for number in range(20)]) == 19


class Inner:
    """A value that converts to an array through nested `readonly` promises."""

    __dlpack_c_exchange_api__ = None

    def __init__(self, depth, last):
        self.depth = depth
        self.last = last

    def __tvm_ffi_value__(self):
        if self.depth == 0:
            return self.last
        return tvm_ffi.readonly(Inner(self.depth - 1, self.last))


@pytest.mark.parametrize("depth", [0, 1, 2, 10, 30])
def test_readonly_of_nested_value_protocols(kernels, depth):
    """Each level kept two objects alive, and an argument had space for two in total."""
    array = np.arange(3)
    tensor = tvm_ffi.from_dlpack(array)
    for last in (array, tensor):
        assert kernels.weighted_sum(tvm_ffi.readonly(Inner(depth, last))) == 8
        assert tvm_ffi.Array([tvm_ffi.readonly(Inner(depth, last))] * 20)[19].tolist() == [0, 1, 2]
        arguments = [tvm_ffi.readonly(Inner(depth, last))] * 40
        assert kernels.last(*arguments).tolist() == [0, 1, 2]
    assert kernels.echo(tvm_ffi.readonly(Inner(depth, array))).readonly
    text = "readonly: expected an object that is passed as a tensor, got str"
    with pytest.raises(TypeError, match=text):
        kernels.echo(tvm_ffi.readonly(Inner(depth, "text")))


def test_too_many_nested_readonly_promises_are_refused(kernels):
    with pytest.raises(
        RecursionError, match="the result of 64 successive value protocol methods is not a plain"
    ):
        kernels.echo(tvm_ffi.readonly(Inner(40, np.arange(3))))


@pytest.mark.parametrize("base", [core.String, core.Bytes])
def test_a_class_may_be_released_while_its_value_returns_an_object(kernels, base):
    """A field was read from a packer that had been reused for another class."""
    kept = []

    class Other(base):
        pass

    def make():
        def held(self):
            self.__class__ = Other
            classes.clear()
            gc.collect()

            class Exporter:  # reuses the packer with another context
                def __dlpack__(self, **keywords):
                    return np.zeros(2).__dlpack__(**keywords)

            kept.append(Exporter)
            kernels.count(Exporter())

        return type("Dying", (base,), {"_tvm_ffi_cached_object": property(held)})

    classes = [make()]
    content = "a text that is not short" if base is core.String else b"bytes that are not few"
    plain = str if base is core.String else bytes
    value = plain.__new__(classes[0], content)
    assert kernels.echo(value) == content
    assert kept


# ---- arrays that lie about themselves ------------------------------------------------------------


class _FakeDtype:
    name = "bfloat16"
    type = type("bfloat16", (), {"__module__": "ml_dtypes"})


class LyingArray(np.ndarray):
    """An array whose Python attributes differ from the fields that NumPy's C code uses."""

    dtype = property(lambda self: _FakeDtype())
    strides = property(lambda self: (8,))
    shape = property(lambda self: (1,))
    size = property(lambda self: 0)
    itemsize = property(lambda self: 1)
    ndim = property(lambda self: 0)


def test_array_that_lies_about_its_dtype_is_refused(kernels):
    """The size was computed from the attribute, which gave twice the number of bytes."""
    array = np.zeros(8, "S1").view(LyingArray)
    with pytest.raises(
        TypeError,
        match=r"DLPack has no dtype for the NumPy dtype \|S1 of the array \(shape=\(8,\)\)",
    ):
        kernels.extents(array)
    void = np.zeros(3, np.dtype((type("bfloat", (np.void,), {"__module__": "ml_dtypes"}), 4)))
    with pytest.raises(TypeError, match="DLPack has no dtype for the NumPy dtype"):
        kernels.extents(void)


def test_array_that_lies_about_its_strides_is_refused(kernels):
    """A negative stride between items was rounded to one that leaves the array."""
    packed = np.zeros(4, np.dtype([("a", "i1"), ("b", "i4")]))
    array = packed["b"][::-1].view(LyingArray)
    with pytest.raises(
        ValueError,
        match=r"strides\[0\] must be a multiple of the item size of 4 bytes, got -5 bytes",
    ):
        kernels.extents(array)


# ---- lists that change during their conversion ---------------------------------------------------


@pytest.mark.parametrize("kind", ["list", "dict"])
def test_garbage_collection_may_change_the_converted_container(kind):
    """Big ints allocate Python objects: a collection freed the memory of the list in use."""
    is_on = False

    def clear(phase, info):
        if is_on:
            values.clear()

    gc.callbacks.append(clear)
    thresholds = gc.get_threshold()
    try:
        for number in range(1, 12):
            if kind == "list":
                values = [2**70 + i for i in range(40)] + [f"text number {i}" * 3 for i in range(9)]
                make, size = tvm_ffi.Array, 49
            else:
                values = {2**70 + i: 2**80 + i for i in range(8)}
                make, size = tvm_ffi.Map, 8
            gc.set_threshold(number, 1, 1)
            is_on = True
            made = make(values)
            is_on = False
            gc.set_threshold(*thresholds)
            assert len(made) in (0, size)
    finally:
        is_on = False
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(clear)


class Clears:
    """A value that clears all lists that contain it and are visible to the garbage collector."""

    def __tvm_ffi_int__(self):
        for row in gc.get_referrers(self):
            if type(row) is list:
                row.clear()
        return 7


class OfPairs(dict):
    """A mapping whose keys are created when `items` is iterated."""

    def items(self):
        return ((f"key number {key}", value) for key, value in dict.items(self))


@pytest.mark.parametrize("cls", [dict, OfPairs])
def test_values_under_conversion_are_not_in_a_visible_list(cls):
    """Keys and values were in a temporary list that `gc` exposed, and read after its release."""
    made = tvm_ffi.Map(cls({0: Clears(), **{i: f"value number {i}" for i in range(1, 40)}}))
    assert list(made.values()) == [7, *(f"value number {i}" for i in range(1, 40))]


# ---- arrays that are changed in place ------------------------------------------------------------


def test_an_array_may_be_reshaped_in_place_while_it_is_borrowed(kernels):
    array = np.arange(6, dtype=np.int64).reshape(1, 2, 1, 3, 1)
    reshapes = [(6,), (2, 3), (3, 2, 1, 1), (1, 1, 1, 1, 1, 6), (1, 2, 1, 3, 1)]

    def act():
        for shape in reshapes:
            array.shape = shape
        array.shape = (6,)
        return [np.empty((7, 8, 9, 10, 11)) for _ in range(50)]

    seen = []
    # The second argument is packed, then the first is called.
    tvm_ffi.convert_func(lambda f, x: (f(), seen.append(x.shape)))(act, array)
    assert seen == [(1, 2, 1, 3, 1)]


def test_a_borrowed_array_has_a_copy_of_its_shape(kernels):
    array = np.zeros((2, 3), np.int64)
    address = kernels.extents(array).value
    own = array.__array_interface__["data"][0]
    assert address not in (0, own)
    again = np.zeros((2, 3), np.int64)
    assert kernels.extents(again).value == address  # in the argument view, which is reused


def test_a_torch_tensor_may_be_reshaped_in_place_while_it_is_borrowed(kernels):
    torch = pytest.importorskip("torch")
    tensor = torch.zeros(2, 3)
    seen = []

    def act(x):
        tensor.resize_(1, 1, 1, 1, 1, 1, 6)
        tensor.resize_(6)
        seen.append(x.shape)

    tvm_ffi.convert_func(act)(tensor)
    assert seen == [(2, 3)]


# ---- audit hooks ---------------------------------------------------------------------------------


def test_a_callback_error_survives_an_audit_hook_that_refuses_frames(run_python):
    """The backtrace was read through audited attributes: the error became a MemoryError."""
    result = run_python(
        textwrap.dedent("""
            import sys, tvm_ffi
            kernels = tvm_ffi.load_module(sys.argv[1])
            def refuse(event, arguments):
                if event == "object.__getattr__" and arguments[1] in ("tb_frame", "f_code"):
                    raise PermissionError("frames are private")
            def fail():
                raise KeyError("from a callback")
            sys.addaudithook(refuse)
            try:
                kernels.call(fail)
            except KeyError as error:
                print(error)
        """)
    )
    assert (result.returncode, result.stdout) == (0, "'from a callback'\n"), result.stderr


def test_a_recursion_error_does_not_run_audit_hooks(run_python):
    """Python audit hooks ran at the recursion limit: the RecursionError became a MemoryError."""
    result = run_python(
        textwrap.dedent("""
            import sys, tvm_ffi
            kernels = tvm_ffi.load_module(sys.argv[1])
            sys.addaudithook(lambda event, arguments: None)
            def forever():
                return kernels.call(forever)
            try:
                forever()
            except RecursionError:
                print("RecursionError")
        """)
    )
    assert (result.returncode, result.stdout) == (0, "RecursionError\n"), result.stderr


# ---- elements that change their container when released ----------------------------------------


class _Last:
    """A value that calls a function when it is released."""

    def __init__(self, act):
        self.act = act

    def __del__(self):
        self.act()


def test_erased_elements_may_append_to_their_list():
    """Elements were released while others were moved, and the buffer was reallocated."""
    values = tvm_ffi.List()
    seen = []

    def act():
        seen.append(len(values))
        values.extend(range(100))

    values.extend([0, _Last(act), _Last(act), 3, 4])
    gc.collect()
    del values[1:3]
    assert seen == [3, 103]
    assert list(values)[:4] == [0, 3, 4, 0]
    assert len(values) == 203


def test_values_of_a_cleared_dict_may_insert_into_it():
    """The table was treated as small after it had become large, or was traversed without end."""
    values = tvm_ffi.Dict()

    def act():
        values.update({f"key {i}": i for i in range(20)})

    values.update({"a": _Last(act), "b": _Last(act), "c": 1})
    values.clear()
    assert all(values[key] == number for key, number in list(values.items()))


# ---- errors and constructors ---------------------------------------------------------------------


def test_reinitializing_an_error_drops_its_exception():
    exception = KeyError("first")
    error = error_from_exception(exception)
    assert error.py_error() is exception
    error.__init__("ValueError", "second", "")
    assert type(error.py_error()) is ValueError
    assert str(error.py_error()) == "second"


def test_constructors_require_a_class_derived_from_cobject():
    with pytest.raises(TypeError, match="derives from CObject"):
        Constructor(len, int, None, None, None)
