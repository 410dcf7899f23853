# SPDX-License-Identifier: Apache-2.0
"""Registration of global functions, and of Python classes for native types."""

from __future__ import annotations

import sys

from ._binding.call import (
    Function,
    convert_func,
    declared_signature,
    find_global_func,
    python_callable,
    set_global_func,
)
from ._binding.object import type_key_to_index
from ._internal.lazy import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from typing import Literal, TypeVar, overload

    from .container import Array
    from .signature import Signature

    _ClassT = TypeVar("_ClassT", bound=type)

__all__ = [
    "get_global_func",
    "get_global_func_metadata",
    "get_registered_type_keys",
    "init_ffi_api",
    "list_global_func_names",
    "register_global_func",
    "register_object",
    "remove_global_func",
]


if TYPE_CHECKING:

    @overload
    def get_global_func(name: str, allow_missing: Literal[False] = False) -> Function: ...
    @overload
    def get_global_func(name: str, allow_missing: bool) -> Function | None: ...


def get_global_func(name: str, allow_missing: bool = False) -> Function | None:
    """Return the global function registered under a name.

    Parameters
    ----------
    name : str
        Name of the function.
    allow_missing : bool
        Whether to return None instead of raising ValueError if the function does not exist.

    Raises
    ------
    ValueError
        If no function has this name.
    """
    function = find_global_func(name)
    if function is None and not allow_missing:
        from ._internal.suggestion import did_you_mean

        hint = did_you_mean(name, list_global_func_names())
        raise ValueError(f"Cannot find global function {name}{hint}")
    return function


def register_global_func(
    func_name: str | Callable[..., Any],
    f: Callable[..., Any] | None = None,
    override: bool = False,
    *,
    signature: Signature | str | None = None,
) -> Any:
    """Register a callable as a global function; also usable as a decorator.

    Parameters
    ----------
    func_name : str or callable
        Name of the global function, or a callable that is registered under its ``__name__``.
    f : callable, optional
        The callable.  If it is None, a decorator is returned.
    override : bool
        Whether to replace a function that is registered under the same name.
    signature : Signature or str, optional
        Parameter names, types and defaults, which `get_global_func_metadata` returns.  Python code
        can inspect a Python callable without a signature; other languages cannot.  A `Function`
        that has a signature keeps it by default.

    Returns
    -------
    Function or callable
        The registered function, or a decorator that returns the registered function.

    Raises
    ------
    RuntimeError
        If the name is taken and `override` is false.
    TypeError
        If `f` is not callable, or `signature` is neither a str nor a `Signature`.
    ValueError
        If the name cannot be encoded as UTF-8.  If `signature` is malformed or names another
        function, or if a Python callable does not take a declared parameter by position, by its
        name, or with its default.
    """
    if callable(func_name):
        return _register(func_name.__name__, func_name, override, signature)
    if f is not None:
        return _register(func_name, f, override, signature)
    return lambda decorated: _register(func_name, decorated, override, signature)


def _register(
    name: str,
    pyfunc: Callable[..., Any],
    override: bool,
    signature: Signature | str | None = None,
) -> Function:
    function = convert_func(pyfunc)
    metadata = doc = ""
    if signature is not None:
        signature = _checked_signature(name, function, signature)
    elif isinstance(pyfunc, Function):
        signature = _own_signature(name, function)
    if signature is not None:
        from .signature._metadata import metadata_text

        metadata, doc = metadata_text(signature), signature.doc or ""
    set_global_func(name, function, override, metadata, doc)
    if signature is not None and isinstance(pyfunc, Function):
        return get_global_func(name)  # `function` keeps the signature that it had before
    return function


def _checked_signature(name: str, function: Function, description: Signature | str) -> Signature:
    """Return the signature to register; raise ValueError if the function does not fit it."""
    from .signature import Signature
    from .signature._callable import check_callable
    from .signature._type_schema import check_name

    signature = Signature.of(description)
    check_name(signature, name)
    called = python_callable(function)
    if called is not None:
        try:
            check_callable(signature, called)
        except ValueError as error:
            raise ValueError(f"register_global_func: {name}: {error}") from None
    return signature


def _own_signature(name: str, function: Function) -> Signature | None:
    """Return the declared signature of a function with its documentation; None if it has none.

    The signature has no name if it belongs to a function with another name.
    """
    signature = declared_signature(function)
    if signature is None:
        return None
    from dataclasses import replace

    from .signature._type_schema import check_name

    if python_callable(function) is None:
        # The documentation ends with the signature; its other part may be stored elsewhere.
        line = str(replace(signature, name=signature.name or function.__name__, doc=None))
        text = function.__doc__ or ""
        if text.endswith(line):
            signature = replace(signature, doc=text.removesuffix(line).rstrip() or None)
    try:
        check_name(signature, name)
    except ValueError:
        return replace(signature, name="")
    return signature


def remove_global_func(name: str) -> None:
    """Remove the global function with this name; do nothing if there is none."""
    _call("ffi.FunctionRemoveGlobal", name)


def list_global_func_names() -> list[str]:
    """Return the names of all global functions, in order of first registration."""
    names = _call("ffi.FunctionListGlobalNamesFunctor")
    return [names(i) for i in range(names(-1))]


def get_global_func_metadata(name: str) -> dict[str, Any]:
    """Return the metadata of a global function; an empty dict if there are no metadata.

    Raises
    ------
    RuntimeError
        If no function has this name.
    """
    import json

    text = _call("ffi.GetGlobalFuncMetadata", name)
    metadata: dict[str, Any] = json.loads(text) if text else {}
    return metadata


def get_registered_type_keys() -> Array[str]:
    """Return the keys of all registered native types, in order of their indices."""
    keys: Array[str] = _call("ffi.GetRegisteredTypeKeys")
    return keys


def init_ffi_api(namespace: str, target_module_name: str | None = None) -> None:
    """Make the global functions of a namespace attributes of a module.

    With the namespace ``a.b``, the function ``a.b.f`` becomes the attribute ``f``.  Functions with
    further dots in their names are left out, and a leading ``tvm.`` of the namespace is ignored.

    Parameters
    ----------
    namespace : str
        Common prefix of the function names, without the last dot.
    target_module_name : str, optional
        Name of the imported module that gets the attributes.  By default `namespace`.

    Raises
    ------
    KeyError
        If the target module has not been imported.
    """
    target = sys.modules[target_module_name or namespace]
    prefix = namespace.removeprefix("tvm.") + "."
    for name in list_global_func_names():
        short_name = name.removeprefix(prefix)
        if short_name == name or "." in short_name:
            continue
        function: Any = find_global_func(name)
        if function is None:  # another thread has removed the function
            continue
        function.__name__ = short_name
        setattr(target, short_name, function)


# If true, `register_object` ignores unknown type keys instead of raising ValueError.
_SKIP_UNKNOWN_OBJECTS = False


def refuse_variants(cls: type, decorator: str) -> None:
    """Raise TypeError if a class is an enumeration with variants, which `decorator` would lose."""
    refuse = getattr(type(cls), "_refuse_decorator", None)  # of the metaclass of enumerations
    if refuse is not None:
        refuse(cls, decorator)


if TYPE_CHECKING:

    @overload
    def register_object(type_key: _ClassT, *, init: bool = True) -> _ClassT: ...
    @overload
    def register_object(
        type_key: str | None = None, *, init: bool = True
    ) -> Callable[[_ClassT], _ClassT]: ...


def register_object(type_key: str | type | None = None, *, init: bool = True) -> Any:
    """Register a Python class for a native type; used as a decorator.

    Native objects of the type are then converted to instances of the class.  The class gets the
    fields and methods of the type, except for names that the class body defines.

    Parameters
    ----------
    type_key : str, optional
        Key of the type, such as ``"my_library.Pair"``.  By default the name of the class.
    init : bool
        Whether to add an ``__init__`` that calls the native constructor of the type.  An
        ``__init__`` in the class body takes precedence.

    Returns
    -------
    type or callable
        The class, or a decorator that returns it.  For a class that does not derive from `Object`,
        the decorator registers and returns a copy of the class that does.

    Raises
    ------
    ValueError
        If no native type has this key.
    TypeError
        If the class cannot derive from `Object`, or `type_key` is not a str.

    Examples
    --------
    >>> import tvm_ffi.testing  # registers the type testing.TestIntPair
    >>> @tvm_ffi.register_object("testing.TestIntPair")
    ... class Pair(tvm_ffi.Object):
    ...     pass
    >>> Pair(7, 8).a
    7
    """

    def decorate(cls: type) -> type:
        key = type_key if isinstance(type_key, str) else cls.__name__
        index = type_key_to_index(key)
        if index is None:
            if _SKIP_UNKNOWN_OBJECTS:
                return cls
            raise ValueError(
                f"register_object: no native type has the type key {key!r}; load the library that "
                "registers the type"
            )
        from ._types.type_info import add_constructor, as_object_class, register_object_by_index

        refuse_variants(cls, "register_object")
        cls = as_object_class(cls)
        add_constructor(register_object_by_index(index, cls), init)
        return cls

    if type_key is None or isinstance(type_key, str):
        return decorate
    if isinstance(type_key, type):
        return decorate(type_key)
    raise TypeError(f"register_object: type_key must be a str, got {type(type_key).__name__}")


def _call(name: str, *args: Any) -> Any:
    """Call a global function of the runtime."""
    function: Any = find_global_func(name)
    return function(*args)
