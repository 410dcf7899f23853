# SPDX-License-Identifier: Apache-2.0
"""Function documentation, signatures, ``repr`` and pickling; imported on first use.

A function calls a Python callable (`pyfunc`), or it is native.  A native function may have an
origin.  The origin tells where Python code found the function: it is the name of a global function,
or a `ModuleOrigin`.
"""

from __future__ import annotations

from dataclasses import replace
from inspect import Signature
from typing import Any, Callable, Union

from tvm_ffi._binding.call import (
    Function,
    ModuleOrigin,
    convert_func,
    find_global_func,
    function_of_class,
    named_function,
    plain_function,
    prepared_call,
)
from tvm_ffi._binding.call.signature import signature_of_callable, signature_of_metadata_text
from tvm_ffi._binding.call.signature_lookup import (
    check_function,
    find_binder,
    is_registered,
    metadata_of,
)

__all__ = [
    "check_function",
    "doc_of",
    "global_name_of",
    "prepared_call",
    "reduce",
    "reduce_subclass",
    "repr_of",
    "signature_of",
]

_Origin = Union[str, ModuleOrigin, None]


def doc_of(function: Function, pyfunc: Callable[..., Any] | None, origin: _Origin) -> str | None:
    """Return the documentation of a function, or None if it has no text and no signature.

    For a native function, the last line is the signature, because ``help`` truncates signatures.
    """
    if pyfunc is not None:
        return getattr(pyfunc, "__doc__", None)
    if origin is None:
        return None
    # The runtime stores the documentation of global functions, but has no function to read it.
    doc = None if isinstance(origin, str) else origin.doc()
    binder = find_binder(function, origin)
    if binder is None:
        return _signature_line(function, origin) if doc is None else doc
    from tvm_ffi.signature._printing import documentation

    declared = binder.signature
    doc = declared.doc if doc is None else doc
    return documentation(replace(declared, name=declared.name or _name_of(origin), doc=doc))


def _name_of(origin: _Origin) -> str:
    return origin if isinstance(origin, str) else getattr(origin, "name", "")


def _signature_line(function: Function, origin: _Origin) -> str | None:
    """Return name and signature as one line of documentation; None if the signature is unknown."""
    signature = signature_of(function, None, origin)
    if signature is None:
        return None
    return f"{_name_of(origin)}{_text_of_signature(signature)}"


def signature_of(
    function: Function, pyfunc: Callable[..., Any] | None, origin: _Origin
) -> Signature | None:
    """Return the signature of a function for ``inspect``; None if the signature is unknown."""
    if pyfunc is not None:
        return signature_of_callable(pyfunc)
    if origin is None:
        return None
    binder = find_binder(function, origin)
    if binder is not None:
        shown: Signature = binder.signature.to_inspect()
        return shown
    return signature_of_metadata_text(metadata_of(function, origin))


def repr_of(function: Function) -> str:
    """Return the ``repr`` of a function: its name and signature, if they are known."""
    name = getattr(function, "__name__", None)
    signature = getattr(function, "__signature__", None)
    if not isinstance(name, str) and signature is None:
        return "ffi.Function"
    cls = type(function)
    is_builtin = cls.__module__.startswith("tvm_ffi.")
    class_name = "tvm_ffi.Function" if is_builtin else f"{cls.__module__}.{cls.__qualname__}"
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


class _Unquoted:
    """An annotation whose ``repr`` has no quotation marks."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _unquoted(annotation: Any) -> Any:
    return _Unquoted(annotation) if isinstance(annotation, str) else annotation


def reduce(
    function: Function, pyfunc: Callable[..., Any] | None, tensor_cls: type | None, origin: _Origin
) -> Any:
    """Return the pickle data of a function, for ``Function.__reduce__``.

    Raises
    ------
    TypeError
        If another process could not find the function, even after loading the same libraries.
    """
    if origin is None and pyfunc is None:
        origin = global_name_of(function)
    if isinstance(origin, str):
        if is_registered(function, origin):
            return named_function, (origin,)
        if pyfunc is None:
            raise TypeError(
                f"cannot pickle this function: its global name `{origin}` now belongs to another "
                "function or is not registered any more"
            )
    elif origin is not None:
        return origin.reduce()
    if pyfunc is None:
        raise TypeError(
            "cannot pickle this function: another process can find only global functions, "
            "functions of a module and Python callables"
        )
    return convert_func, (pyfunc,) if tensor_cls is None else (pyfunc, tensor_cls)


def reduce_subclass(function: Function) -> Any:
    """Return the pickle data of an instance of a subclass of `Function`."""
    return function_of_class, (type(function), plain_function(function), vars(function))


def global_name_of(function: Function) -> str | None:
    """Return a global name under which the function is registered; None if it is not registered.

    Compares the function with all registered functions.
    """
    list_names: Any = find_global_func("ffi.FunctionListGlobalNamesFunctor")
    names = list_names()
    all_names = (names(i) for i in range(names(-1)))
    return next((name for name in all_names if is_registered(function, name)), None)
