# SPDX-License-Identifier: Apache-2.0
"""Unbound methods of compiled classes, called with an object of another class."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import types

import pytest

import tvm_ffi
import tvm_ffi.structural
from tvm_ffi import _binding


def _compiled_classes():
    for found in pkgutil.walk_packages(_binding.__path__, f"{_binding.__name__}."):
        importlib.import_module(found.name)
    todo, found = [object], {}
    while todo:
        for cls in type.__subclasses__(todo.pop()):
            todo.append(cls)
            descriptors = [x for x in vars(cls).values() if inspect.isgetsetdescriptor(x)]
            if str(cls.__module__).startswith("tvm_ffi") and not _is_python(cls, descriptors):
                found[f"{cls.__module__}.{cls.__qualname__}"] = cls
    return [pytest.param(cls, id=name) for name, cls in sorted(found.items())]


def _is_python(cls, descriptors):
    return any(isinstance(x, types.FunctionType) for x in vars(cls).values()) or any(
        x.__name__ in ("__dict__", "__weakref__") for x in descriptors
    )


@pytest.mark.parametrize("cls", _compiled_classes())
def test_objects_of_other_classes_are_refused(cls):
    """Regression: Cython's functions do not check `self`; the object was read as another class."""
    for name, method in vars(cls).items():
        if not callable(method) or isinstance(method, (staticmethod, classmethod, type)):
            continue
        if name == "__new__" or isinstance(method, types.BuiltinFunctionType):
            continue  # the first argument is not an instance of the class
        for other in (object(), 1, b"text"):
            with pytest.raises(TypeError):
                method(other)


@pytest.mark.parametrize(
    ("method", "other", "text"),
    [
        pytest.param(tvm_ffi.Tensor.numpy, b"x", "'numpy' for '.*Tensor' .* 'bytes'", id="numpy"),
        pytest.param(tvm_ffi.Map.get, {}, "'get' for '.*' .* 'dict'", id="get"),
        pytest.param(tvm_ffi.Function.bind, len, "'bind' for '.*Function'", id="bind"),
        pytest.param(tvm_ffi.Object.same_as, None, "'same_as' for '.*CObject'", id="same-as"),
    ],
)
def test_the_error_names_method_and_class(method, other, text):
    with pytest.raises(TypeError, match=text):
        method(other, 1)


def test_methods_have_signatures():
    assert str(inspect.signature(tvm_ffi.Map.get)) == "(self, /, key, default=None)"
    assert str(inspect.signature(tvm_ffi.Function.bind)) == "(self, /, *args, **kwargs)"
    assert tvm_ffi.Function.bind.__doc__.startswith("Earlier name of `prepare`")
