# SPDX-License-Identifier: Apache-2.0
"""`Wrapper`: a C function (the callee) and the arguments that its generated wrapper passes.

The checks follow from the signature (`tvm_ffi.signature`), which is first extended by all
conditions that the callee relies on.  Printers write a `Wrapper` as C or LLVM IR.  A list of
strings declares the arguments of the callee:

=======================  ===========================================================================
argument                 passed value
=======================  ===========================================================================
``x``, a tensor          address of its first element, ``byte_offset`` included
``x``, a number          its value; for ``str`` a NUL-terminated string, for ``bytes`` the address
a result, a number       address where the callee writes it
``x.tensor``             ``DLTensor*``
``x.shape``              ``const int64_t*``; ``x.shape[0]``: one extent
``x.strides``            ``const int64_t*``, in elements, never NULL; ``x.strides[0]``: one stride
``x.ndim``               ``int32_t``
``x.size``               ``int64_t``, number of elements; for ``str`` and ``bytes``, number of bytes
``x.device``             ``int32_t``, device id
``n``, ``cdiv(n, 8)``    ``int64_t``, an extent or an expression over extents
``stream``               ``void*``, the current stream of the first tensor's device
``workspace(4*n)``       ``void*``, uninitialized memory of that size in bytes on the same device,
                         aligned to 256 bytes and released after the call; NULL for size 0
``out.size`` ...         the same fields of a result ``out``, which is compact
``-1``, ``0.5``          ``int64_t`` or ``double``, a constant
``null``                 ``void*``, NULL
=======================  ===========================================================================

A C integer type before the argument (``int32 n``) converts it, and refuses values that do not fit;
``float32`` and ``float64`` convert floats.  Optional arguments are passed by address, which is NULL
for None.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from .._schema.dtypes import integer_range
from ..signature import EMPTY, Parameter, Result, ScalarType, Signature, TensorType, ValueType
from ..signature._checks import accepted_type_names
from ..signature._expression import Expression, Extent, extent_text, names_in
from ..signature._parsing import parse_extent
from ..signature._printing import type_text
from ..signature._types import ANY_EXTENT, ELLIPSIS, Type, is_ellipsis

__all__ = [
    "MAX_NDIM",
    "Argument",
    "Wrapper",
    "always_bound",
    "callees_of",
    "is_optional",
    "is_unsigned",
    "make_wrapper",
    "prepared",
    "product",
    "result_names",
    "source_of",
    "unsigned_operand",
    "with_given",
]

MAX_NDIM = 64  # largest number of dimensions of a result with an ellipsis such as `*s`

_MAX_RESULTS = 64  # maximum number of results; equals WRAPPER_MAX_RESULTS in wrapper_support.h
_RETURNS = ("void", "value", "status", "error")
_FIELDS = ("tensor", "shape", "strides", "ndim", "size", "device")
_ARGUMENT = re.compile(r"(?:(?P<dtype>u?int\d+|float32|float64)\s+)?(?P<text>.*)", re.DOTALL)
_CONSTANT = re.compile(r"[+-]?\d+(?P<fraction>\.\d*(?:[eE][+-]?\d+)?)?", re.ASCII)
_WORKSPACE = re.compile(r"workspace\s*\((?P<size>.*)\)", re.DOTALL)
_ATTRIBUTE = re.compile(r"(?P<name>\w+)\s*\.\s*(?P<field>\w+)\s*(?:\[\s*(?P<axis>\d{1,4})\s*\])?")
_SYMBOL = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_HOLE = re.compile(r"\{(\w+)\}")
# Types other than tensors and C numbers that C functions can take.
_VALUES = ("bool", "bytes", "ctypes.c_void_p", "float", "int", "str")


@dataclass(frozen=True)
class Argument:
    """One argument that a wrapper passes to the callee (the C function).

    Parameters
    ----------
    kind : str
        ``address``, ``value``, ``extent``, ``stream``, ``workspace``, ``constant``, ``null``, or a
        field of a tensor.
    source : str
        Name of the parameter or result that is passed; empty for other kinds.
    axis : int, optional
        For ``shape`` and ``strides``: the dimension; None for the whole array.
    extent : int, str or Expression
        For ``extent``: the value.  For ``workspace``: the size in bytes.
    dtype : str, optional
        The C number type to convert to; constants always have one.
    number : int or float
        For ``constant``: the value.
    """

    kind: str
    source: str = ""
    axis: int | None = None
    extent: Extent = 0
    dtype: str | None = None
    number: int | float = 0

    def __str__(self) -> str:
        if self.kind == "extent":
            return extent_text(self.extent)
        if self.kind == "workspace":
            return f"workspace({extent_text(self.extent)})"
        if self.kind in ("constant", "null", "stream"):
            return str(self.number) if self.kind == "constant" else self.kind
        axis = "" if self.axis is None else f"[{self.axis}]"
        return self.source + ("" if self.kind in ("address", "value") else f".{self.kind}{axis}")


@dataclass(frozen=True)
class Wrapper:
    """A function of the packed calling convention that checks its arguments and calls a C function.

    Parameters
    ----------
    signature : Signature
        Signature that callers see, with every condition that the callee relies on; the library
        contains it as metadata.
    callees : mapping
        Name of the callee for each combination of dtypes, a tuple in the order of the signature's
        dtype variables.
    arguments : tuple of Argument
        Arguments of the callee.
    returns : {"void", "value", "status", "error"}
        Return value of the callee: nothing, the only result, an int that is 0 on success, or an int
        that is not 0 if the callee has set a pending error.
    """

    signature: Signature
    callees: Mapping[tuple[str, ...], str]
    arguments: tuple[Argument, ...]
    returns: str

    @property
    def name(self) -> str:
        """Name by which callers find the function in a library or module."""
        return self.signature.name

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters by name."""
        return {parameter.name: parameter for parameter in self.signature.parameters}

    @property
    def results(self) -> dict[str, Result]:
        """The results by name; `result_names` gives names to unnamed results."""
        return dict(zip(result_names(self.signature), self.signature.results))

    def dtypes_of(self, callee: str) -> dict[str, str]:
        """Return the dtype of each dtype variable that has only one dtype in calls of a callee."""
        choices = [choice for choice, name in self.callees.items() if name == callee]
        found = zip(self.signature.dtype_variables, zip(*choices))
        return {name: dtypes[0] for name, dtypes in found if len(set(dtypes)) == 1}

    @property
    def first_tensor(self) -> Parameter | None:
        """The first required tensor parameter; None if there is none.

        The device of this tensor is the device of the call.
        """
        for parameter in self.signature.parameters:
            if isinstance(parameter.type, TensorType) and not parameter.type.is_optional:
                return parameter
        return None


def make_wrapper(
    signature: Signature | str,
    callee: str | None = None,
    *,
    arguments: Sequence[str] | None = None,
    returns: str | None = None,
    device: str | None = "cpu",
) -> Wrapper:
    """Return the wrapper of a C function.

    Parameters
    ----------
    signature : Signature or str
        Signature that callers see.
    callee : str, optional
        Name of the C function; by default the name of the signature.  ``{T}`` is replaced by the
        dtype of the variable ``T``.
    arguments : sequence of str, optional
        Arguments of the callee, see the guide `codegen`.  By default the parameters in order,
        tensors by address, followed by the results that the callee does not return.
    returns : {"void", "value", "status", "error"}, optional
        Return value of the callee: nothing, the only result, an int that is 0 on success, or an int
        that is not 0 if the callee has set a pending error.  By default ``"value"`` if the only
        result is a number, else ``"void"``.
    device : str, optional
        Device of tensors that are passed by address and have no device in the signature; None for
        any device.

    Raises
    ------
    ValueError
        If the callee cannot be called with the signature.
    """
    signature = Signature.of(signature)
    refined, read = prepared(signature, arguments, device, has_addresses=returns == "error")
    callees = callees_of(signature, signature.name if callee is None else callee)
    for symbol in callees.values():
        if _SYMBOL.fullmatch(symbol) is None:
            raise ValueError(f"callee {symbol!r} is not a C identifier")
    wrapper = Wrapper(refined, callees, read, _checked_returns(signature, returns))
    _check_stream(wrapper)
    _check_written(wrapper)
    return wrapper


def prepared(
    signature: Signature,
    arguments: Sequence[str] | None,
    device: str | None,
    *,
    has_addresses: bool = False,
    given: Collection[str] = (),
    absent: Collection[str] = (),
) -> tuple[Signature, tuple[Argument, ...]]:
    """Return a signature extended by the callee's conditions, and the callee's arguments.

    Parameters
    ----------
    signature, arguments, device
        As in `make_wrapper`.
    has_addresses : bool
        Whether the callee writes numeric results through their addresses.
    given, absent : collection of str
        Optional parameters that are not None, and that are None, when the callee is called.

    Raises
    ------
    ValueError
        If a parameter cannot be passed to C, or an argument is invalid.
    """
    _check_signature(signature)
    results = result_names(signature)
    if arguments is None:
        written = [
            name
            for name, result in zip(results, signature.results)
            if isinstance(result.type, TensorType) or has_addresses
        ]
        arguments = [*(parameter.name for parameter in signature.parameters), *written]
    present = with_given(signature, given)
    read = tuple(_argument(present, text) for text in arguments)
    return _refined(signature, read, device, absent), read


def with_given(signature: Signature, given: Collection[str]) -> Signature:
    """Return a signature in which some optional parameters are required."""
    if not given:
        return signature
    # A parameter without a default may follow one with a default only if both are keyword-only.
    parameters = [replace(parameter, kind="keyword-only") for parameter in signature.parameters]
    for index, parameter in enumerate(parameters):
        if parameter.name in given:
            type_ = _without_none(parameter.type)
            parameters[index] = replace(parameter, type=type_, default=EMPTY)
    return replace(signature, parameters=tuple(parameters))


def _without_none(type_: Type) -> Type:
    if not isinstance(type_, ValueType):
        return replace(type_, is_optional=False)
    schema = type_.schema
    return ValueType(schema.args[0]) if schema.origin == "Optional" and schema.args else type_


# ---- restrictions on signatures ------------------------------------------------------------------


def _check_signature(signature: Signature) -> None:
    if _SYMBOL.fullmatch(signature.name) is None:
        raise ValueError(
            f"expected a signature whose name is a C identifier, got {signature.name!r}"
        )
    for parameter in signature.parameters:
        if parameter.kind == "variadic":
            raise ValueError(
                f"{signature.name}: variadic parameter '*{parameter.name}' cannot be passed to C"
            )
        accepted = accepted_type_names(parameter.type)
        if accepted is None or not {*_VALUES, "Tensor"} & {*accepted}:
            raise ValueError(
                f"{signature.name}: parameter '{parameter.name}' is {type_text(parameter.type)}, "
                f"which cannot be passed to C; expected a tensor, a number or {', '.join(_VALUES)}"
            )
    names = result_names(signature)
    for name in names:
        if names.count(name) > 1 or any(name == p.name for p in signature.parameters):
            raise ValueError(
                f"{signature.name}: duplicate name '{name}' among parameters and results"
            )
    if len(names) > _MAX_RESULTS:
        raise ValueError(
            f"{signature.name}: expected at most {_MAX_RESULTS} results, got {len(names)}"
        )
    bound = set(always_bound(signature))
    for parameter in signature.parameters:
        type_ = parameter.type
        if isinstance(type_, TensorType) and type_.ellipsis and not type_.is_optional:
            bound.add(type_.ellipsis)
    for name, result in zip(names, signature.results):
        _check_result(signature, name, result, bound)


def _check_result(signature: Signature, name: str, result: Result, bound: set[str]) -> None:
    type_ = result.type
    where = f"{signature.name}: '{name}', {type_text(type_)},"
    if not isinstance(type_, TensorType):
        accepted = accepted_type_names(type_) or ("",)
        if accepted[-1] == "None" or accepted[0] not in ("int", "float", "bool"):
            raise ValueError(f"{where} cannot be converted from the return value of a C function")
        return
    shape = type_.shape
    if shape is None or ELLIPSIS in shape or ANY_EXTENT in shape or type_.is_optional:
        raise ValueError(f"{where} cannot be allocated: its shape is unknown")
    if not isinstance(type_.dtype, str):
        raise ValueError(f"{where} cannot be allocated: its dtype is unknown")
    for extent in shape:
        for missing in set(names_in(extent)) - bound:
            raise ValueError(
                f"{where} cannot be allocated: '{missing}' is bound only by an optional argument"
            )


def always_bound(signature: Signature) -> Iterator[str]:
    """Yield the extent names, such as ``n``, that have a value in every valid call."""
    for parameter in signature.parameters:
        if isinstance(parameter.type, TensorType):
            if not parameter.type.is_optional:
                shape = parameter.type.shape or ()
                yield from (e for e in shape if isinstance(e, str) and not is_ellipsis(e))
        elif (accepted_type_names(parameter.type) or ("",))[0] == "int":
            may_exceed = getattr(parameter.type, "dtype", "") == "uint64"
            if not is_optional(parameter) and not may_exceed:
                yield parameter.name


def is_unsigned(signature: Signature, name: str) -> bool:
    """Return True if a name is that of a required uint64 parameter, and not of an extent."""
    if name in always_bound(signature):
        return False
    return any(
        parameter.name == name and parameter.type == ScalarType("uint64")
        for parameter in signature.parameters
    )


def unsigned_operand(name: str) -> str:
    """Return the reason why a uint64 parameter cannot be part of an expression, and a remedy."""
    return (
        f"'{name}' is uint64, and expressions are limited to signed 64-bit integers; "
        f"pass 'uint64 {name}' alone, or declare '{name}: int'"
    )


def source_of(signature: Signature, ellipsis: str) -> Parameter:
    """Return the first required tensor parameter with an ellipsis such as ``*s`` in its shape."""
    return next(
        parameter
        for parameter in signature.parameters
        if isinstance(parameter.type, TensorType)
        and parameter.type.ellipsis == ellipsis
        and not parameter.type.is_optional
    )


def is_optional(parameter: Parameter) -> bool:
    """Return True if a parameter accepts None."""
    return "None" in (accepted_type_names(parameter.type) or ())


def result_names(signature: Signature) -> list[str]:
    """Return the names of results; without names ``result``, or ``result0``, ``result1`` ..."""
    if len(signature.results) == 1:
        return [signature.results[0].name or "result"]
    return [result.name or f"result{i}" for i, result in enumerate(signature.results)]


def _checked_returns(signature: Signature, returns: str | None) -> str:
    results = signature.results
    is_number = len(results) == 1 and not isinstance(results[0].type, TensorType)
    if returns is None:
        returns = "value" if is_number else "void"
    if returns not in _RETURNS:
        raise ValueError(f"returns must be one of {', '.join(_RETURNS)}, got {returns!r}")
    if returns != "error" and (returns == "value") != is_number:
        raise ValueError(
            f"{signature.name}: a C function returns a result by value only if it is the only "
            "result and a number; other results must be tensors"
        )
    if len(results) > 1:
        for result in results:
            if not isinstance(result.type, TensorType):
                raise ValueError(
                    f"{signature.name}: if there are several results, all must be tensors"
                )
    return returns


def callees_of(signature: Signature, callee: str) -> dict[tuple[str, ...], str]:
    """Return the name of the callee for each combination of dtypes.

    Raises
    ------
    ValueError
        If the text contains ``{T}`` and the signature has no dtype variable ``T``.
    """
    variables = signature.dtype_variables
    for name in _HOLE.findall(callee):
        if name not in variables:
            raise ValueError(f"'{{{name}}}' in {callee!r} is not a dtype variable of the signature")
    found = {}
    for choice in itertools.product(*variables.values()):
        symbol = callee
        for name, dtype in zip(variables, choice):
            symbol = symbol.replace(f"{{{name}}}", dtype)
        found[choice] = symbol
    return found


# ---- arguments of the callee ---------------------------------------------------------------------


def _argument(signature: Signature, text: str) -> Argument:
    """Return the `Argument` that a text describes, such as ``x.shape[0]``."""
    match = _ARGUMENT.fullmatch(text.strip())
    assert match is not None
    dtype, text = match["dtype"], match["text"]
    is_integer = dtype is not None and integer_range(dtype) is not None
    if dtype is not None and not is_integer and not dtype.startswith("float"):
        raise ValueError(f"{signature.name}: C has no integer type {dtype}")
    constant = _constant_argument(signature, dtype, text)
    if constant is not None:
        return constant
    found = _source_argument(signature, text) or _extent_argument(signature, text)
    if dtype is None:
        return found
    if is_integer and found.kind == "value" and is_unsigned(signature, text):
        if dtype == "uint64":
            return found
        raise ValueError(
            f"{signature.name}: {text!r} cannot be converted to {dtype}: {unsigned_operand(text)}"
        )
    if is_integer and found.kind == "value" and text in always_bound(signature):
        found = Argument("extent", extent=text)
    if not _is_convertible(signature, found, is_integer=is_integer):
        raise ValueError(f"{signature.name}: {text!r} cannot be converted to {dtype}")
    return replace(found, dtype=dtype)


def _is_convertible(signature: Signature, found: Argument, *, is_integer: bool) -> bool:
    if not is_integer:
        types = {parameter.name: parameter.type for parameter in signature.parameters}
        accepted = accepted_type_names(types[found.source]) if found.kind == "value" else None
        return accepted is not None and accepted[0] == "float" and "None" not in accepted
    is_number = found.kind in ("extent", "ndim", "size", "device") or found.axis is not None
    return is_number and found.source not in result_names(signature)


def _constant_argument(signature: Signature, dtype: str | None, text: str) -> Argument | None:
    """Return the `Argument` for a constant, ``null`` or a workspace; None for other text."""
    workspace = _WORKSPACE.fullmatch(text)
    is_name = any(parameter.name == text for parameter in signature.parameters)
    if workspace is not None or (text == "null" and not is_name):
        if dtype is not None:
            raise ValueError(f"{signature.name}: {text!r} cannot be converted to {dtype}")
        if workspace is None:
            return Argument("null")
        return Argument("workspace", extent=_extent_argument(signature, workspace["size"]).extent)
    constant = _CONSTANT.fullmatch(text)
    if constant is None:
        return None
    is_float = constant["fraction"] is not None
    dtype = dtype or ("float64" if is_float else "int64")
    limits = integer_range(dtype)
    if limits is None:
        return Argument("constant", dtype=dtype, number=float(text))
    if is_float or not limits[0] <= int(text) <= limits[1]:
        raise ValueError(
            f"{signature.name}: callee argument {text} does not fit the integer type {dtype}"
        )
    return Argument("constant", dtype=dtype, number=int(text))


def _source_argument(signature: Signature, text: str) -> Argument | None:
    types = dict(zip(result_names(signature), (result.type for result in signature.results)))
    types.update({parameter.name: parameter.type for parameter in signature.parameters})
    attribute = _ATTRIBUTE.fullmatch(text)
    if attribute is None:
        if text not in types:
            return Argument("stream") if text == "stream" else None
        is_address = isinstance(types[text], TensorType) or text in result_names(signature)
        return Argument("address" if is_address else "value", text)
    name, field = attribute["name"], attribute["field"]
    if name not in types or field not in _FIELDS:
        raise ValueError(
            f"{signature.name}: {text!r} is not a field of a parameter or result; "
            f"fields are {', '.join(_FIELDS)}"
        )
    axis = None if attribute["axis"] is None else int(attribute["axis"])
    type_ = types[name]
    _check_field(signature, text, type_, field, axis)
    found = None
    if name in result_names(signature) and isinstance(type_, TensorType):
        found = _result_field(signature, type_, field, axis)
    return Argument(field, name, axis) if found is None else found


def _result_field(
    signature: Signature, type_: TensorType, field: str, axis: int | None
) -> Argument | None:
    """Return a field of a result as an argument that needs no allocated tensor, or None.

    Results are compact, so the extents in the signature determine sizes and strides.
    """
    shape = type_.shape or ()
    if type_.ndim is None:
        for parameter in signature.parameters:
            other = parameter.type
            if isinstance(other, TensorType) and other.shape == shape and not other.is_optional:
                return Argument(field, parameter.name) if field in ("size", "ndim") else None
    elif field == "ndim":
        return Argument("extent", extent=len(shape), dtype="int32")
    elif field == "size" or axis is not None:
        parts = {
            "size": shape,
            "shape": shape[axis or 0 :][:1],
            "strides": shape[(axis or 0) + 1 :],
        }
        return Argument("extent", extent=product(parts[field]))
    return None


def product(extents: Sequence[Extent]) -> Extent:
    """Return the product of extents; factors 1 are omitted."""
    found: Extent = 1
    for extent in extents:
        if extent != 1:
            found = extent if found == 1 else Expression("*", (found, extent))
    return found


def _check_field(
    signature: Signature, text: str, type_: Type, field: str, axis: int | None
) -> None:
    where = f"{signature.name}: {text!r}"
    if not isinstance(type_, TensorType):
        accepted = accepted_type_names(type_)
        if field != "size" or axis is not None or not {"str", "bytes"} & {*(accepted or ())}:
            raise ValueError(f"{where}: expected a tensor, because only tensors have this field")
        return
    if axis is not None and field not in ("shape", "strides"):
        raise ValueError(f"{where}: expected no axis, because only shapes and strides have axes")
    if type_.is_optional and field != "tensor":
        raise ValueError(
            f"{where}: the tensor may be None and then has no such field; pass its field `tensor`"
        )
    if type_.ndim is None and (field == "strides" or axis is not None):
        raise ValueError(f"{where}: the number of dimensions is unknown; pass the field `tensor`")
    if axis is not None and type_.ndim is not None and axis >= type_.ndim:
        raise ValueError(f"{where}: expected an axis below {type_.ndim}, got {axis}")


def _extent_argument(signature: Signature, text: str) -> Argument:
    extent = parse_extent(text)
    if is_ellipsis(extent) or extent == ANY_EXTENT:
        raise ValueError(f"{signature.name}: expected an argument of the callee, got {text!r}")
    bound = set(always_bound(signature))
    for name in names_in(extent):
        if is_unsigned(signature, name):
            raise ValueError(f"{signature.name}: {text!r}: {unsigned_operand(name)}")
        if name not in bound:
            raise ValueError(
                f"{signature.name}: {text!r} is neither a parameter nor a result, and '{name}' is "
                "not an extent of every call"
            )
    return Argument("extent", extent=extent)


def _check_stream(wrapper: Wrapper) -> None:
    if wrapper.first_tensor is not None:
        return
    for kind in ("stream", "workspace"):
        if any(argument.kind == kind for argument in wrapper.arguments):
            raise ValueError(
                f"{wrapper.name}: a {kind} needs a required tensor parameter, "
                "which determines the device"
            )


def _check_written(wrapper: Wrapper) -> None:
    """Raise ValueError unless a numeric result is passed by address or returned, not both."""
    written = {argument.source for argument in wrapper.arguments if argument.kind == "address"}
    for name, result in wrapper.results.items():
        if not isinstance(result.type, TensorType) and (wrapper.returns == "error") != (
            name in written
        ):
            raise ValueError(
                f"{wrapper.name}: result '{name}' is a number; the callee must either return the "
                "number, or return an error status and get the address of the number as an argument"
            )


# ---- conditions that the callee relies on --------------------------------------------------------


def _refined(
    signature: Signature,
    arguments: Sequence[Argument],
    device: str | None,
    absent: Collection[str],
) -> Signature:
    """Return the signature, with conditions added to the tensors whose address the callee gets.

    Tensors that are None get the same conditions, so that the signature is that of a callee which
    takes the tensor.
    """
    addresses = {argument.source for argument in arguments if argument.kind == "address"}
    parameters = []
    for parameter in signature.parameters:
        type_ = parameter.type
        if isinstance(type_, TensorType) and parameter.name in addresses:
            layout = _refined_layout(signature, parameter.name, type_, arguments)
            type_ = replace(type_, is_pointer=True, layout=layout, device=type_.device or device)
        elif isinstance(type_, TensorType) and parameter.name in absent:
            type_ = replace(type_, is_pointer=True, device=type_.device or device)
        parameters.append(replace(parameter, type=type_))
    return replace(signature, parameters=tuple(parameters))


def _refined_layout(
    signature: Signature, name: str, type_: TensorType, arguments: Sequence[Argument]
) -> str | None:
    """Return the layout of a tensor, of which the callee gets the address and perhaps strides.

    The callee assumes that strides which it does not get are those of a compact tensor.  A layout
    that the signature leaves open includes this condition; a declared one must imply it.
    """
    axes = {a.axis for a in arguments if a.kind == "strides" and a.source == name}
    if not axes and not type_.has_free_strides:
        return type_.layout
    where = f"{signature.name}: parameter '{name}' may have"
    if not axes:
        strides = "any" if type_.compact_from is None else "other"
        raise ValueError(
            f"{where} {strides} strides, but only its address is passed; "
            "also pass its strides, or declare it compact"
        )
    ndim = type_.ndim
    assert ndim is not None  # `_check_field` requires it of tensors whose strides are passed
    missing = [] if None in axes else [axis for axis in range(ndim) if axis not in axes]
    compact = (
        "strided" if not missing else f"compact from {missing[0]}" if missing[0] else "compact"
    )
    if type_.layout is None:
        return compact
    first = ndim if type_.compact_from is None else type_.compact_from
    free = [axis for axis in missing if axis < (first if first >= 0 else first + ndim)]
    if free:
        plural = "s" if len(free) > 1 else ""
        remedy = ", ".join(f"{name}.strides[{axis}]" for axis in free)
        raise ValueError(
            f"{where} any strides in dimension{plural} {', '.join(map(str, free))}, which are not "
            f"passed; also pass {remedy}, or declare it `{compact}`"
        )
    return type_.layout
