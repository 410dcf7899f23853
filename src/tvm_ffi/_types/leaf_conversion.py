# SPDX-License-Identifier: Apache-2.0
"""Conversion of Python values to types without type arguments, and the value protocols.

The module `conversion` converts to containers, unions and registered classes.
"""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any, Callable, NoReturn

from .._binding.call import Function, convert_func
from .._binding.object import CObject, ObjectRValueRef
from .._binding.tensor import Tensor, is_buffer
from .._binding.types import type_metadata
from .._binding.values import CAny, DataType, Device, ObjectConvertible, to_py_class_value
from .._dtype import dtype
from .third_party import is_instance_by_name
from .type_index import index_of_origin

if TYPE_CHECKING:
    from .._schema.schema import Schema

# Maximum number of nested value protocols; their methods may return each other's objects forever.
_MAX_NUM_STEPS = 64
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


class MismatchError(Exception):
    """The value cannot be converted to the type of the schema.

    The message is formatted on demand: it is not needed if another alternative of a union accepts
    the value.
    Callers add the path to the child with `add_step` while the exception propagates.
    """

    def __init__(self, text: str | Callable[[], str]) -> None:
        super().__init__(text)
        self._text = text
        self._steps: list[str] = []

    def add_step(self, step: str) -> None:
        """Prepend the position of a child, such as ``element [1]``, to the path in the message."""
        self._steps.append(f"{step}: ")

    def __str__(self) -> str:
        text = self._text if isinstance(self._text, str) else self._text()
        return "".join(reversed(self._steps)) + text


# ---- errors of conversions -------------------------------------------------------------------


def raise_mismatch(
    schema: Schema, value: Any, detail: str = "", cause: Exception | None = None
) -> NoReturn:
    """Raise `MismatchError` for a value that does not have the type of the schema."""
    raise MismatchError(
        lambda: f"expected {_schema_text(schema)}, got {type_name_of(value)}{detail}"
    ) from cause


def _schema_text(schema: Schema) -> str:
    """Return the name of a schema in messages: its origin, or all alternatives of a union."""
    if schema.origin == "Union":
        return repr(schema)
    return {"list": "List", "dict": "Dict"}.get(schema.origin, schema.origin)


def type_name_of(value: Any) -> str:
    """Return the name of a value's type, spelled as in schemas."""
    if value is None:
        return "None"
    if isinstance(value, CObject) and value.__chandle__() != 0:
        key: str = type_metadata(CAny(value).type_index)["type_key"]
        return key
    for cls in (bool, int, float, str, bytes):
        if isinstance(value, cls):
            return cls.__name__
    return "bytes" if isinstance(value, bytearray) else type(value).__name__


def try_call(function: Callable[..., Any], *args: Any) -> tuple[Any, Exception | None]:
    """Call a function; return ``(result, None)`` or ``(None, exception)``."""
    try:
        return function(*args), None
    except (MemoryError, RecursionError):
        raise  # these errors do not depend on the value: another attempt may succeed
    except Exception as error:
        return None, error


# ---- value protocols -------------------------------------------------------------------------


def resolve_value_protocol(schema: Schema, value: Any) -> Any:
    """Return the value that the value protocols of `value` return; `value` itself without any."""
    for _ in range(_MAX_NUM_STEPS):
        method, name = _protocol_method(value)
        if method is None:
            return value
        substitute, error = try_call(method, value)
        if error is not None and name == "__tvm_ffi_value__":
            raise_mismatch(schema, value, cause=error)
        if error is not None:
            raise MismatchError(f"{name}() failed for {type(value).__name__}") from error
        if substitute is value:
            return value
        value = substitute
    if _protocol_method(value)[0] is not None:
        raise MismatchError("infinite __tvm_ffi_value__ cycle detected")
    return value


def _protocol_method(value: Any) -> tuple[Callable[[Any], Any] | None, str]:
    cls = type(value)
    for name in ("__tvm_ffi_object__", "__tvm_ffi_value__"):
        method = getattr(cls, name, None)
        if method is not None:
            return method, name
    if cls is ObjectRValueRef:
        return _moved_object, "obj"
    if issubclass(cls, ObjectConvertible):
        return cls.asobject, "asobject"
    return None, ""


def _moved_object(value: ObjectRValueRef) -> CObject:
    """Return the referenced object without moving it, because the conversion may fail later."""
    return value.obj


def native_value(schema: Schema, value: Any) -> CAny:
    """Return the native value that the binding passes for `value`."""
    if hasattr(type(value), "__tvm_ffi_value__"):  # the protocol method returned the value itself
        if schema.origin == "Any":
            raise MismatchError(f"failed to convert Any from {type(value).__name__}")
        raise_mismatch(schema, value)
    native, error = try_call(CAny, value)
    if error is not None:
        raise_mismatch(schema, value, f": {error}", error)
    return native  # type: ignore[no-any-return]


def _by_protocol(schema: Schema, value: Any, origin: str, *names: str) -> Any:
    """Convert a value whose class has one of the protocol methods `names`."""
    if not any(hasattr(type(value), name) for name in names):
        raise_mismatch(schema, value)
    return _of_type(schema, value, origin)


def _of_type(schema: Schema, value: Any, *origins: str) -> Any:
    native = native_value(schema, value)
    if native.type_index not in map(index_of_origin, origins):
        raise_mismatch(schema, value)
    return to_py_class_value(native)


# ---- scalars, strings, devices, dtypes, tensors, functions -------------------------------------


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool) or is_instance_by_name(value, ("numpy",), "bool", "bool_")


def _to_any(schema: Schema, value: Any) -> Any:
    if type(value) in (type(None), bool, int, float, str, bytes):
        return value
    native = native_value(schema, value)
    return value if isinstance(value, CObject) else to_py_class_value(native)


def _to_none(schema: Schema, value: Any) -> None:
    if value is not None:
        raise_mismatch(schema, value)


def _to_int(schema: Schema, value: Any) -> int:
    number = value
    if type(value) is not int:
        if isinstance(value, numbers.Integral) or _is_bool(value):
            number = _called(int, value)
        elif hasattr(type(value), "__tvm_ffi_int__"):
            number = _of_type(schema, value, "int", "ffi.BigInt")
        else:
            raise_mismatch(schema, value)
    is_big = "ffi.BigInt" in (schema.origin, schema.type_key)
    if not (is_big or _INT64_MIN <= number <= _INT64_MAX):
        raise MismatchError(f"integer {number} out of int64 range [{_INT64_MIN}, {_INT64_MAX}]")
    return int(number)


def _to_float(schema: Schema, value: Any) -> float:
    if isinstance(value, numbers.Real) or _is_bool(value):
        return _called(float, value)  # type: ignore[no-any-return]
    return _by_protocol(schema, value, "float", "__tvm_ffi_float__")  # type: ignore[no-any-return]


def _to_bool(schema: Schema, value: Any) -> bool:
    if not (isinstance(value, numbers.Integral) or _is_bool(value)):
        raise_mismatch(schema, value)
    return _called(bool, value)  # type: ignore[no-any-return]


def _called(cls: Callable[[Any], Any], value: Any) -> Any:
    """Return ``cls(value)``; raise `MismatchError` if the value's method raises an exception."""
    result, error = try_call(cls, value)
    if error is not None:
        name = cls.__name__
        raise MismatchError(f"{name}() failed for {type_name_of(value)}: {error}") from error
    return result


def _to_str(schema: Schema, value: Any) -> str:
    if not isinstance(value, str):
        raise_mismatch(schema, value)
    # Convert instances of subclasses to str, because the binding converts some subclasses, such as
    # dtype, to other types.
    return value if type(value) is str else str.__str__(value)


def _to_bytes(schema: Schema, value: Any) -> bytes:
    if not isinstance(value, (bytes, bytearray)):
        raise_mismatch(schema, value)
    return bytes(value)


def _to_device(schema: Schema, value: Any) -> Device:
    if isinstance(value, Device):
        return value
    if isinstance(value, str):
        device, error = try_call(Device, value)
        if error is not None:
            raise MismatchError(f"expected Device, got invalid device string {value!r}") from error
        return device  # type: ignore[no-any-return]
    if hasattr(type(value), "__dlpack__"):
        raise_mismatch(schema, value)  # an array has `__dlpack_device__`, but is not a device
    return _by_protocol(schema, value, "Device", "__dlpack_device__")  # type: ignore[no-any-return]


def _to_dtype(schema: Schema, value: Any) -> dtype:
    if isinstance(value, dtype):
        return value
    if isinstance(value, DataType):
        return dtype.from_data_type(value)
    if isinstance(value, str):
        parsed, error = try_call(dtype, value)
        if error is not None:
            raise MismatchError(f"expected dtype, got invalid dtype string {value!r}") from error
        return parsed  # type: ignore[no-any-return]
    if is_instance_by_name(value, ("numpy", "torch"), "dtype"):
        return _of_type(schema, value, "dtype")  # type: ignore[no-any-return]
    return _by_protocol(schema, value, "dtype", "__dlpack_data_type__")  # type: ignore[no-any-return]


def _to_pointer(schema: Schema, value: Any) -> Any:
    """Convert a value to a pointer; accept the values that the binding converts to pointers."""
    from ctypes import c_void_p

    if value is None:
        return c_void_p()
    is_other = isinstance(value, (CObject, str, bytes, list, tuple, dict))
    # If the value still has the method `__tvm_ffi_value__` here, the method returned the value
    # itself.
    if is_other or hasattr(type(value), "__tvm_ffi_value__"):
        raise_mismatch(schema, value)
    native, error = try_call(CAny, value)
    if error is None and native.type_index == index_of_origin("ctypes.c_void_p"):
        return to_py_class_value(native)
    is_pointer = any(hasattr(type(value), name) for name in _POINTER_PROTOCOLS)
    return raise_mismatch(schema, value, f": {error}" if error and is_pointer else "", error)


_POINTER_PROTOCOLS = ("__tvm_ffi_opaque_ptr__", "__cuda_stream__")


def _to_tensor(schema: Schema, value: Any) -> Any:
    if isinstance(value, Tensor):
        return value
    if is_buffer(value):
        return _of_type(schema, value, "Tensor")
    return _by_protocol(schema, value, "Tensor", "__dlpack__", "__dlpack_c_exchange_api__")


def _to_function(schema: Schema, value: Any) -> Function:
    if isinstance(value, Function):
        return value
    if isinstance(value, CObject) or not callable(value):
        raise_mismatch(schema, value)
    return convert_func(value)


LEAF_RULES: dict[str, Callable[[Schema, Any], Any]] = {
    "Any": _to_any,
    "Callable": _to_function,
    "Device": _to_device,
    "None": _to_none,
    "Tensor": _to_tensor,
    "bool": _to_bool,
    "bytes": _to_bytes,
    "ctypes.c_void_p": _to_pointer,
    "dtype": _to_dtype,
    "float": _to_float,
    "int": _to_int,
    "str": _to_str,
}
