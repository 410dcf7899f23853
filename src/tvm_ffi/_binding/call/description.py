# SPDX-License-Identifier: Apache-2.0
"""What functions say about themselves, and how another process finds them.

A function stands for a Python callable, or was found somewhere: an origin is the name of a global
function, or a `ModuleOrigin`.  Loaded when somebody asks.
"""

from __future__ import annotations

from dataclasses import replace
from inspect import Signature
from typing import Any, Callable, Union

from tvm_ffi._binding.call import (
    Function,
    ModuleOrigin,
    bound_call,
    convert_func,
    find_global_func,
    function_of_class,
    named_function,
    plain_function,
)
from tvm_ffi._binding.call.signature import signature_of_callable, signature_of_metadata_text
from tvm_ffi._binding.call.signature_lookup import find_binder, is_registered, metadata_of

__all__ = ["bound_call", "doc_of", "reduce", "reduce_subclass", "signature_of", "text_of"]

_Origin = Union[str, ModuleOrigin, None]


def doc_of(function: Function, pyfunc: Callable[..., Any] | None, origin: _Origin) -> str | None:
    """Return the documentation of a function.

    With the signature as it was written: ``inspect.signature`` knows nothing of what is written to,
    and ``help`` cuts off what it shows of an object.
    """
    if pyfunc is not None:
        return getattr(pyfunc, "__doc__", None)
    if origin is None:
        return None
    # The table of global functions keeps documentation, but has no way to ask for it.
    doc = None if isinstance(origin, str) else origin.doc()
    binder = find_binder(function, origin)
    if binder is None:
        return _signature_line(function, origin) if doc is None else doc
    declared = binder.signature
    doc = declared.doc if doc is None else doc
    line = str(replace(declared, name=declared.name or _name_of(origin), doc=None))
    return line if doc is None else f"{doc}\n\n{line}"


def _name_of(origin: _Origin) -> str:
    return origin if isinstance(origin, str) else getattr(origin, "name", "")


def _signature_line(function: Function, origin: _Origin) -> str | None:
    """Return what ``help`` shows of a function without documentation."""
    signature = signature_of(function, None, origin)
    if signature is None:
        return None
    return f"{_name_of(origin)}{_text_of_signature(signature)}"


def signature_of(
    function: Function, pyfunc: Callable[..., Any] | None, origin: _Origin
) -> Signature | None:
    """Return the signature of a function; None when nobody knows it."""
    if pyfunc is not None:
        return signature_of_callable(pyfunc)
    if origin is None:
        return None
    binder = find_binder(function, origin)
    if binder is not None:
        shown: Signature = binder.signature.to_inspect()
        return shown
    return signature_of_metadata_text(metadata_of(function, origin))


def text_of(function: Function) -> str:
    """Return what ``repr`` shows: name and signature, as far as they are known."""
    name = getattr(function, "__name__", None)
    signature = getattr(function, "__signature__", None)
    if not isinstance(name, str) and signature is None:
        return "ffi.Function"
    cls = type(function)
    is_own = cls.__module__.startswith("tvm_ffi.")
    class_name = "tvm_ffi.Function" if is_own else f"{cls.__module__}.{cls.__qualname__}"
    return f"<{class_name} {name or ''}{_text_of_signature(signature)}>"


def _text_of_signature(signature: Any) -> str:
    if not isinstance(signature, Signature):
        return ""
    parameters = [
        parameter.replace(annotation=_unquoted(parameter.annotation))
        for parameter in signature.parameters.values()
    ]
    result = _unquoted(signature.return_annotation)
    return str(signature.replace(parameters=parameters, return_annotation=result))


class _Text:
    """An annotation that is shown without quotation marks."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _unquoted(annotation: Any) -> Any:
    return _Text(annotation) if isinstance(annotation, str) else annotation


def reduce(
    function: Function, pyfunc: Callable[..., Any] | None, tensor_cls: type | None, origin: _Origin
) -> Any:
    """Return what ``Function.__reduce__`` returns: what makes it again, given the same libraries.

    Raises
    ------
    TypeError
        If another process has no way to find the function.
    """
    if origin is None and pyfunc is None:
        origin = _find_global_name(function)
    if isinstance(origin, str):
        if is_registered(function, origin):
            return named_function, (origin,)
        if pyfunc is None:
            raise TypeError(
                f"cannot pickle this function: it was the global function `{origin}`, which is "
                "now another one or removed"
            )
    elif origin is not None:
        return origin.reduce()
    if pyfunc is None:
        raise TypeError(
            "cannot pickle this function: only global functions, functions of a module and Python "
            "callables can be found again in another process"
        )
    return convert_func, (pyfunc,) if tensor_cls is None else (pyfunc, tensor_cls)


def reduce_subclass(function: Function) -> Any:
    """Return what ``__reduce__`` returns for an instance of a subclass of `Function`."""
    return function_of_class, (type(function), plain_function(function), vars(function))


def _find_global_name(function: Function) -> str | None:
    """Return the name under which a function is registered; asks for every name there is."""
    list_names: Any = find_global_func("ffi.FunctionListGlobalNamesFunctor")
    names = list_names()
    all_names = (names(i) for i in range(names(-1)))
    return next((name for name in all_names if is_registered(function, name)), None)
