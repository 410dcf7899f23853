# SPDX-License-Identifier: Apache-2.0
"""Signature lookup: create the argument binder of a function from its metadata on the first call.

Most functions have no signature; for them, this module does not import `tvm_ffi.signature`.  The
origin of a function tells where Python code found it: the name of a global function, or a
`ModuleOrigin`.
"""

from __future__ import annotations

import sys

from tvm_ffi._binding.call import (
    DIRECTIONS,
    NO_DEFAULT,
    ArgumentBinder,
    Function,
    ModuleOrigin,
    container_converter,
    find_global_func,
    signature_version,
)
from tvm_ffi._internal.lazy import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from tvm_ffi.signature import Parameter, Signature, _types

__all__ = [
    "binder_of_wrapper",
    "check_function",
    "find_binder",
    "is_registered",
    "metadata_of",
    "new_binder",
    "packable_default",
]

_CONTAINERS = ("Array", "List", "Map", "Dict", "tuple", "ffi.Shape")


# ---- Lookup --------------------------------------------------------------------------------------


def binder_of_wrapper(
    function: Function, origin: str | ModuleOrigin | None
) -> ArgumentBinder | None:
    """Return the argument binder of a wrapper, which stores it; None if there is no signature.

    `forget_binders` resets the wrapper when the signature is replaced.
    """
    if isinstance(origin, ModuleOrigin):
        # Precedes the lookup: another thread may replace the signature.
        origin.add_wrapper(function)
    return find_binder(function, origin)


def find_binder(function: Function, origin: str | ModuleOrigin | None) -> ArgumentBinder | None:
    """Return the argument binder of a native function; None if it has no signature."""
    if origin is None:
        return None
    if isinstance(origin, str):
        text = metadata_of(function, origin)
        return _binder_of_metadata(text, origin, lambda: "the table of global functions")
    if not isinstance(origin, ModuleOrigin):  # a `MemberOrigin`
        return _binder_of_metadata(origin.metadata(), origin.name, origin.library)
    binder = origin.cached_binder()
    if binder is None:
        version = signature_version()
        text = metadata_of(function, origin)
        binder = _binder_of_metadata(text, origin.name, origin.library) or False
        binder = origin.store_binder(binder, version)
    return binder or None


def metadata_of(function: Function, origin: str | ModuleOrigin) -> str | None:
    """Return the metadata of a function as JSON text; None if it has none.

    If the library fails to return the metadata, warn and return None.
    """
    if isinstance(origin, str):
        return _metadata_of_global(function, origin)
    try:
        return origin.metadata()
    except MemoryError:  # a lack of memory, not damaged metadata
        raise
    except Exception as error:
        from tvm_ffi.signature._metadata import warn_damaged

        warn_damaged(origin.name, origin.library(), error)
        return None


def _metadata_of_global(function: Function, name: str) -> str | None:
    """Return the metadata of a global function; None if `name` now refers to another function.

    Other threads may replace the function of this name, so compare functions after the lookup.
    """
    get_metadata: Any = find_global_func("ffi.GetGlobalFuncMetadata")
    try:
        text: str = get_metadata(name)
    except RuntimeError:  # no function has this global name
        return None
    return text if is_registered(function, name) else None


def is_registered(function: Function, name: str) -> bool:
    """Return True if `function` is registered as the global function `name`."""
    return function == find_global_func(name)


# ---- Argument binders from metadata --------------------------------------------------------------


def _binder_of_metadata(
    text: str | None, name: str, library: Callable[[], str]
) -> ArgumentBinder | None:
    """Return the argument binder for the signature in metadata; None if there is no signature.

    If the metadata are damaged, warn and return None.
    """
    if not text or '"signature"' not in text:
        return None
    from tvm_ffi.signature._metadata import named_signature, parsed_metadata, warn_damaged

    try:
        metadata = parsed_metadata(text)
    except (TypeError, ValueError) as error:
        warn_damaged(name, library(), error)
        return None
    signature = named_signature(metadata, name, library())
    if signature is None:
        return None
    return new_binder(signature, is_checked=metadata.get("checked") is True)


def new_binder(signature: Signature, *, is_checked: bool = False) -> ArgumentBinder:
    """Return a new argument binder for a signature.

    Parameters
    ----------
    signature : Signature
        The signature.
    is_checked : bool
        True if the called function checks its arguments against the signature itself.
    """
    by_name = [parameter for parameter in signature.parameters if parameter.kind != "variadic"]
    return ArgumentBinder(
        signature,
        tuple(sys.intern(parameter.name) for parameter in by_name),
        tuple(map(packable_default, by_name)),
        tuple(_converter_of(parameter.type) for parameter in by_name),
        bytes(DIRECTIONS.index(parameter.direction) for parameter in by_name),
        sum(parameter.kind == "positional-only" for parameter in by_name),
        sum(parameter.kind != "keyword-only" for parameter in by_name),
        len(by_name) != len(signature.parameters),
        None if is_checked else check_function(signature),
    )


def check_function(signature: Signature) -> Function | None:
    """Return the native function that checks packed arguments; None if nothing is checked."""
    if signature.unchecked:
        return None
    from tvm_ffi.signature._check_program import check_program

    program = check_program(signature) if signature.parameters else None
    if program is None:
        return None
    create: Any = find_global_func("pytvmffi.CheckFunction")
    function: Function = create(program, None)
    return function


def packable_default(parameter: Parameter) -> Any:
    """Return the default of a parameter, converted to the type that is fastest to pack."""
    from tvm_ffi._binding.values import CAny, DataType, device_class, to_py_class_value
    from tvm_ffi.signature import EMPTY

    default = parameter.default
    if default is EMPTY:
        return NO_DEFAULT
    if isinstance(default, tuple):
        return to_py_class_value(CAny(default))
    if isinstance(default, str):
        origin = _plain_origin(parameter.type)
        if origin == "dtype":
            return DataType(default)
        if origin == "Device":
            return device_class()(default)
    return default


def _converter_of(type_: _types.Type) -> Callable[[Any], Any] | None:
    """Return the converter of an argument, see `ArgumentBinder`; None for other types."""
    origin = _plain_origin(type_)
    if origin == "float":
        return float
    if origin == "str":
        return str
    if origin in ("dtype", "Device"):
        from tvm_ffi._binding.values import DataType, device_class

        return DataType if origin == "dtype" else device_class()
    if origin not in _CONTAINERS:
        return None
    schema = type_.schema  # type: ignore[union-attr]  # only values have an origin
    inner = schema.args[0] if schema.origin == "Optional" and schema.args else schema
    if origin != "ffi.Shape" and all(arg.origin == "Any" for arg in inner.args or ()):
        return None
    return container_converter(inner)


def _plain_origin(type_: _types.Type) -> str | None:
    """Return the origin of a value type; for ``Optional[T]``, the origin of T."""
    from tvm_ffi.signature import ScalarType, ValueType

    if isinstance(type_, ScalarType):
        return "float" if type_.dtype.startswith("float") else None
    if not isinstance(type_, ValueType):
        return None
    schema = type_.schema
    return schema.args[0].origin if schema.origin == "Optional" and schema.args else schema.origin
