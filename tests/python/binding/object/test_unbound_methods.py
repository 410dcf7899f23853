# SPDX-License-Identifier: Apache-2.0
"""Methods that are taken from a compiled class and called with what is no instance of it."""

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
            descriptors = [one for one in vars(cls).values() if inspect.isgetsetdescriptor(one)]
            if str(cls.__module__).startswith("tvm_ffi") and not _is_python(cls, descriptors):
                found[f"{cls.__module__}.{cls.__qualname__}"] = cls
    return [pytest.param(cls, id=name) for name, cls in sorted(found.items())]


def _is_python(cls, descriptors):
    return any(isinstance(one, types.FunctionType) for one in vars(cls).values()) or any(
        one.__name__ in ("__dict__", "__weakref__") for one in descriptors
    )


@pytest.mark.parametrize("cls", _compiled_classes())
def test_what_is_no_instance_is_refused(cls):
    """Functions of Cython's own type do not look: they took the object for what it is not."""
    for name, method in vars(cls).items():
        if not callable(method) or isinstance(method, (staticmethod, classmethod, type)):
            continue
        if name == "__new__" or isinstance(method, types.BuiltinFunctionType):
            continue  # not called with an instance
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


def test_methods_tell_their_parameters():
    assert str(inspect.signature(tvm_ffi.Map.get)) == "(self, /, key, default=None)"
    assert str(inspect.signature(tvm_ffi.Function.bind)) == "(self, /, *args, **kwargs)"
    assert tvm_ffi.Function.bind.__doc__.startswith("Return a callable without parameters")
