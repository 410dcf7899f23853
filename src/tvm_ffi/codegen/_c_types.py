# SPDX-License-Identifier: Apache-2.0
"""C types of the arguments and the return value of a wrapper's callee (a C function)."""

from __future__ import annotations

from collections.abc import Mapping

from ..signature import ScalarType, TensorType
from ..signature._types import Type
from ._c_source import element_type, value_type
from ._wrapper import Argument, Wrapper, is_optional

__all__ = ["argument_type", "return_type", "type_of_source"]

_FIELD_TYPES = {"ndim": "int32_t", "device": "int32_t", "shape": "const int64_t*"}


def return_type(wrapper: Wrapper) -> str:
    """Return the C type of the callee's return value."""
    if wrapper.returns == "value":
        (result,) = wrapper.signature.results
        return value_type(result.type)
    return "int" if wrapper.returns in ("status", "error") else "void"


def argument_type(
    wrapper: Wrapper, argument: Argument, dtypes: Mapping[str, str], *, is_declared: bool = False
) -> str:
    """Return the C type of one argument of the callee.

    Parameters
    ----------
    wrapper, argument
        The wrapper, and one of the callee's arguments.
    dtypes : mapping
        Dtypes by dtype variable, for the variables with one dtype in all calls of the callee.
    is_declared : bool
        Whether a header declares the callee, possibly without const qualifiers.
    """
    if argument.dtype is not None:
        return value_type(ScalarType(argument.dtype))
    kind, name = argument.kind, argument.source
    if kind in ("stream", "workspace", "null"):
        return "void*"
    if kind == "value":
        parameter = wrapper.parameters[name]
        type_ = value_type(parameter.type)
        is_address = is_optional(parameter) and not type_.endswith("*")
        return f"const {type_}*" if is_address else type_
    if kind in ("shape", "strides") and argument.axis is None:
        return "const int64_t*"
    if kind == "tensor":
        return "DLTensor*"
    if kind != "address":
        return _FIELD_TYPES.get(kind, "int64_t") if argument.axis is None else "int64_t"
    address = _address_type(wrapper, name, dtypes)
    return address.removeprefix("const ") if is_declared else address


def type_of_source(wrapper: Wrapper, name: str) -> Type:
    """Return the declared type of the parameter or result with the name `name`."""
    parameter = wrapper.parameters.get(name)
    return wrapper.results[name].type if parameter is None else parameter.type


def _address_type(wrapper: Wrapper, name: str, dtypes: Mapping[str, str]) -> str:
    type_ = type_of_source(wrapper, name)
    if not isinstance(type_, TensorType):
        return f"{value_type(type_)}*"
    dtype = dtypes.get(type_.variable or "", type_.dtype)
    known = isinstance(dtype, str) and dtype != type_.variable
    element = element_type(str(dtype)) if known else "void"
    parameter = wrapper.parameters.get(name)
    is_read = parameter is not None and parameter.direction == "in"
    return f"const {element}*" if is_read else f"{element}*"
