# SPDX-License-Identifier: Apache-2.0
"""The checks of a signature as data: kind, parameter, and the error of each failure.

`checks` derives them from a signature.  `_run_checks` runs them on Python values, and
`tvm_ffi.codegen` translates them to C, LLVM IR and check programs.  Both see arguments as native
code does: a list is an ``Array``, a NumPy scalar is a number, and an int of more than 64 bits is
an `ffi.BigInt`.  The order of the checks is:

1. The number of arguments.
2. For each parameter, in order: the argument's type; the range of an integer.  For a tensor: ndim,
   dtype, device, no negative extent, layout; if the tensor is written, that it is writable and has
   no stride of 0; the extents that are constants or names, the declared alignment, and the address
   if it is passed by address.  The first extent or integer with a name binds the name; later ones
   must be equal.
3. Extents that are expressions, once all names are bound; and the extents of each ellipsis with a
   name, compared with those of earlier tensors.
4. Each tensor that is written shares no memory with another tensor.

Error messages are templates.  They contain everything that follows from the signature, and
placeholders such as ``{got}`` for values of the call.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from .._schema.dtypes import integer_range
from ._binding_errors import missing_arguments_message, too_many_arguments_message
from ._declaration import Declaration
from ._expression import Expression, Extent, extent_text, names_in
from ._parameter import Parameter
from ._printing import accepted_text
from ._types import ANY_EXTENT, ScalarType, TensorType, Type, ValueType, is_ellipsis

__all__ = [
    "BIG_INT",
    "DIRECT_ADDRESS_DEVICES",
    "Check",
    "Failure",
    "accepted_type_names",
    "checks",
    "literal_template",
    "missing_arguments",
    "operations",
    "too_many_arguments",
]

BIG_INT = "int of more than 64 bits"
# Device types whose data pointers are addresses; other devices may have handles.
DIRECT_ADDRESS_DEVICES = ("cpu", "cuda", "cuda_host", "rocm", "rocm_host", "cuda_managed")
_MISALIGNED = "expected an address aligned to {expected} bytes, got remainder {got}"
# The names of accepted native types, by the name of a value type that has no type arguments.
_ACCEPTED = {
    "None": ("None",),
    "bool": ("bool", "int"),
    "bytes": ("bytes",),
    "ctypes.c_void_p": ("ctypes.c_void_p", "None"),
    "float": ("float", "int", "bool"),
    "int": ("int", "bool"),
    "str": ("str",),
}


@dataclass(frozen=True)
class Failure:
    """The error of a failed check: the error kind and a message template.

    Parameters
    ----------
    error : {"TypeError", "ValueError", "BufferError"}
        Exception class.
    template : str
        Message with `str.format` placeholders.
    """

    error: str
    template: str

    def message(self, **holes: object) -> str:
        """Return the error message: the template with the placeholders filled in."""
        return self.template.format(**holes)

    def parts(self) -> list[tuple[str, str | None]]:
        """Return pairs (piece of the template, name of the placeholder after the piece or None)."""
        found: list[tuple[str, str | None]] = []
        pending = ""
        for text, hole, _, _ in string.Formatter().parse(self.template):
            pending += text  # `parse` also splits at a doubled brace; join these pieces
            if hole is not None:
                found.append((pending, hole))
                pending = ""
        return [*found, (pending, None)] if pending or not found else found


@dataclass(frozen=True)
class Check:
    """One condition that an argument must satisfy.

    Parameters
    ----------
    kind : str
        Kind of the check; the section Notes lists all kinds.
    parameter : Parameter
        Parameter whose argument is checked.
    position : int
        Index of the parameter.
    failures : mapping from str to Failure
        Errors by the names that the section Notes lists.
    axis : int
        For ``extent``: the dimension; negative axes count from the end.
    extent : int, str or Expression
        For ``extent``: the expected value.  For ``integer``: the name that the integer binds.
    other : int
        For ``overlap`` and ``ellipsis``: index of the parameter of the other tensor.

    Notes
    -----
    Each kind of check has these failures; parentheses contain the placeholders of the template:

    - ``type``: ``type`` (got, the name of a type); ``big`` (got) for an int of more than 64 bits
    - ``range``: ``range`` (got) for an integer; ``range`` for a float that is infinite as float32;
      ``large`` for a uint64 with the name of an extent, which must be less than 2^63
    - ``integer``: ``differs`` (expected, got)
    - ``ndim``: ``ndim`` (got)
    - ``dtype``: ``dtype`` (got); ``variable`` (expected, got) if an earlier tensor has bound the
      dtype variable to another dtype
    - ``device``: ``device`` (got)
    - ``negative``: ``negative`` (axis, got) for a negative extent
    - ``layout``: ``layout`` (got, the strides)
    - ``writable``: ``writable``
    - ``repeats``: ``repeats`` (got, the strides)
    - ``extent``: ``differs`` (axis if it is negative, expected unless it is a constant, got);
      ``zero TEXT`` and ``overflow TEXT`` for each operation TEXT in the expression
    - ``ellipsis``: ``ndim`` (expected, got); ``differs`` (axis, index, expected, got), where index
      is the dimension from the start of the ellipsis
    - ``alignment``: ``alignment`` (got, in bytes)
    - ``address``: ``null``; ``alignment`` (expected, got, both in bytes)
    - ``overlap``: ``overlap``
    """

    kind: str
    parameter: Parameter
    position: int
    failures: Mapping[str, Failure] = field(default_factory=dict)
    axis: int = 0
    extent: Extent = 0
    other: int = 0

    @property
    def tensor(self) -> TensorType:
        """The `TensorType` of the parameter; only for checks of tensors."""
        assert isinstance(self.parameter.type, TensorType)
        return self.parameter.type


# ---- number of arguments -------------------------------------------------------------------------


def missing_arguments(signature: Declaration, given: int) -> Failure | None:
    """Return the `Failure` of a call with `given` arguments; None if no argument is missing."""
    names = {parameter.name for parameter in signature.parameters[:given]}
    text = missing_arguments_message(signature, names)
    return (
        None
        if text is None
        else Failure("TypeError", literal_template(f"{signature.name}() {text}"))
    )


def too_many_arguments(signature: Declaration, given: str = "{got}") -> Failure:
    """Return the `Failure` of a call with more arguments than parameters.

    Parameters
    ----------
    signature : Declaration
        Signature without a variadic parameter.
    given : str
        Number of arguments: ``"1"``, or the placeholder for a larger number.
    """
    least = sum(parameter.is_required for parameter in signature.parameters)
    text = too_many_arguments_message(least, len(signature.parameters), given)
    return Failure("TypeError", literal_template(f"{signature.name}() ") + text)


# ---- checks of arguments -------------------------------------------------------------------------


def checks(signature: Declaration) -> Iterator[Check]:
    """Yield the checks of a signature's arguments, in execution order."""
    late = []
    for position, parameter in enumerate(signature.parameters):
        maker = _CheckBuilder(signature, parameter, position)
        yield maker.type()
        if not isinstance(parameter.type, TensorType):
            yield from maker.number()
            continue
        if parameter.kind == "variadic":
            continue
        yield from maker.tensor()
        for axis, extent in _axes(parameter.type.shape or ()):
            check = maker.extent(axis, extent)
            if isinstance(extent, Expression):
                late.append(check)
            else:
                yield check
        if parameter.type.ellipsis is not None:
            late += map(maker.ellipsis, _earlier(signature, position))
        if parameter.type.alignment is not None:
            yield maker.alignment(parameter.type.alignment)
        if parameter.type.is_pointer:
            yield maker.address()
    yield from late
    yield from _overlaps(signature)


def _overlaps(signature: Declaration) -> Iterator[Check]:
    """Yield a check for each pair of tensors of which at least one is written."""
    tensors = [
        (position, parameter)
        for position, parameter in enumerate(signature.parameters)
        if isinstance(parameter.type, TensorType) and parameter.kind != "variadic"
    ]
    for position, parameter in tensors:
        if parameter.is_written:
            maker = _CheckBuilder(signature, parameter, position)
            for other_position, other in tensors:
                if other_position < position or not (other.is_written or other is parameter):
                    yield maker.overlap(other_position, other)


def _earlier(signature: Declaration, position: int) -> Iterator[int]:
    """Yield the positions of earlier tensors with the same ellipsis, up to one that is required.

    If an optional tensor is None, the next one has the extents of the ellipsis.
    """
    wanted = signature.parameters[position].type
    for index, other in enumerate(signature.parameters[:position]):
        types = (wanted, other.type)
        names = [type_.ellipsis for type_ in types if isinstance(type_, TensorType)]
        if len(set(names)) == 1 and len(names) == 2 and other.kind != "variadic":
            yield index
            if not getattr(other.type, "is_optional", False):
                return


def accepted_type_names(type_: Type) -> tuple[str, ...] | None:
    """Return the names of the native types that a parameter type accepts.

    None if the type index of a value does not decide, as for ``Array[int]``.  Names are Python
    names (`_schema.names`): ``int``, ``None``, ``Tensor``.
    """
    if isinstance(type_, ValueType):
        schema, is_optional = type_.schema, False
        if schema.origin == "Optional" and schema.args:
            schema, is_optional = schema.args[0], True
        names = _ACCEPTED.get(schema.origin)
        return names if names is None or not is_optional else (*names, "None")
    if isinstance(type_, TensorType):
        names = ("Tensor",)
    else:
        names = ("float", "int") if integer_range(type_.dtype) is None else ("int",)
    return (*names, "None") if type_.is_optional else names


def operations(extent: Extent) -> Iterator[Expression]:
    """Yield the operations of an extent expression; operands come before the operation."""
    if isinstance(extent, Expression):
        for operand in extent.operands:
            yield from operations(operand)
        yield extent


def _axes(shape: tuple[Extent, ...]) -> Iterator[tuple[int, Extent]]:
    """Yield axis and extent of each dimension to check; axes after a gap count from the end."""
    is_after_gap = False
    for axis, extent in enumerate(shape):
        if is_ellipsis(extent):
            is_after_gap = True
        elif extent != ANY_EXTENT:
            yield axis - len(shape) if is_after_gap else axis, extent


def literal_template(text: str) -> str:
    """Return the message template for a constant text: `text` with doubled braces."""
    return text.replace("{", "{{").replace("}", "}}")


class _CheckBuilder:
    """Creates the checks of one parameter."""

    def __init__(self, signature: Declaration, parameter: Parameter, position: int) -> None:
        self._signature, self._parameter, self._position = signature, parameter, position
        self._where = literal_template(f"{signature.name}() argument '{parameter.name}': ")

    def _check(self, kind: str, axis: int = 0, extent: Extent = 0, **failures: Failure) -> Check:
        return Check(kind, self._parameter, self._position, failures, axis, extent)

    def _failure(self, error: str, template: str) -> Failure:
        return Failure(error, self._where + template)

    def type(self) -> Check:
        type_ = self._parameter.type
        template = (
            f"expected {literal_template(accepted_text(self._signature, type_))}, got {{got}}"
        )
        is_integer = "int" in (accepted_type_names(type_) or ())
        big = self._failure("ValueError" if is_integer else "TypeError", template)
        return self._check("type", type=self._failure("TypeError", template), big=big)

    def number(self) -> Iterator[Check]:
        type_ = self._parameter.type
        if isinstance(type_, ScalarType) and type_.dtype != "float64":
            got = "the number" if type_.dtype == "float32" else "{got}"
            failure = self._failure("ValueError", f"{got} does not fit {type_.dtype}")
            name = self._parameter.name
            if type_.dtype == "uint64" and name in _extents_of_tensors(self._signature):
                text = f"the number does not fit int64, as the extent {name} must"
                yield self._check("range", range=failure, large=self._failure("ValueError", text))
            else:
                yield self._check("range", range=failure)
        if self._parameter.kind != "variadic" and _is_integer(type_):
            name = self._parameter.name
            differs = self._failure("ValueError", f"must be {name} = {{expected}}, got {{got}}")
            yield self._check("integer", extent=name, differs=differs)

    def tensor(self) -> Iterator[Check]:
        type_ = self._parameter.type
        assert isinstance(type_, TensorType)
        if type_.shape is not None:
            yield self._check("ndim", ndim=self._failure("ValueError", _ndim_text(type_.shape)))
        if type_.dtype is not None:
            yield self._dtype(type_)
        if type_.device is not None:
            template = f"expected device {type_.device}, got {{got}}"
            yield self._check("device", device=self._failure("ValueError", template))
        template = "shape[{axis}] must be >= 0, got {got}"
        yield self._check("negative", negative=self._failure("ValueError", template))
        first = type_.compact_from
        if first is not None:
            wanted = f"tensor that is compact from dimension {first}" if first else "compact tensor"
            template = f"expected a {wanted}, got strides {{got}}"
            yield self._check("layout", layout=self._failure("ValueError", template))
        if self._parameter.is_written:
            remedy = "array" if self._parameter.direction == "out" else "copy"
            template = (
                f"the array is read-only, and the function writes into it; pass a writable {remedy}"
            )
            yield self._check("writable", writable=self._failure("BufferError", template))
            if first == 0:
                return  # compact tensors have no repeated elements
            template = (
                "expected an array without repeated elements, because the function writes into it, "
                "got strides {got}"
            )
            yield self._check("repeats", repeats=self._failure("ValueError", template))

    def _dtype(self, type_: TensorType) -> Check:
        names = self._signature.dtypes_of(type_)
        dtype = self._failure("ValueError", f"expected dtype {' or '.join(names)}, got {{got}}")
        if type_.variable is None:
            return self._check("dtype", dtype=dtype)
        template = f"expected dtype {type_.variable} = {{expected}}, got {{got}}"
        return self._check("dtype", dtype=dtype, variable=self._failure("ValueError", template))

    def extent(self, axis: int, extent: Extent) -> Check:
        location = f"shape[{axis if axis >= 0 else '{axis}'}]"
        text = extent_text(extent)
        wanted = text if isinstance(extent, int) else f"{text} = {{expected}}"
        templates = {"differs": f"{location} must be {wanted}, got {{got}}"}
        for operation in operations(extent):
            templates[f"zero {operation}"] = f"`{operation}` divides by zero"
            templates[f"overflow {operation}"] = f"`{operation}` does not fit 64 bits"
        failures = {name: self._failure("ValueError", text) for name, text in templates.items()}
        return Check("extent", self._parameter, self._position, failures, axis, extent)

    def ellipsis(self, other: int) -> Check:
        type_ = self._parameter.type
        assert isinstance(type_, TensorType)
        assert type_.ellipsis is not None
        name = type_.ellipsis.removeprefix("*")
        templates = {
            "ndim": f"expected {{expected}} dimensions for *{name}, got {{got}}",
            "differs": f"shape[{{axis}}] must be {name}[{{index}}] = {{expected}}, got {{got}}",
        }
        failures = {kind: self._failure("ValueError", text) for kind, text in templates.items()}
        return Check("ellipsis", self._parameter, self._position, failures, other=other)

    def alignment(self, size: int) -> Check:
        template = _MISALIGNED.replace("{expected}", str(size))
        return self._check("alignment", alignment=self._failure("ValueError", template))

    def overlap(self, other_position: int, other: Parameter) -> Check:
        template = (
            f"the array shares memory with argument '{literal_template(other.name)}', and the "
            "function writes into it; pass arrays that do not overlap"
        )
        failures = {"overlap": self._failure("ValueError", template)}
        return Check("overlap", self._parameter, self._position, failures, other=other_position)

    def address(self) -> Check:
        return self._check(
            "address",
            null=self._failure("ValueError", "expected the address of the first element, got NULL"),
            alignment=self._failure("ValueError", _MISALIGNED),
        )


def _extents_of_tensors(signature: Declaration) -> set[str]:
    """Return the names in the shapes of the tensor parameters."""
    types = [parameter.type for parameter in signature.parameters]
    shapes = [type_.shape or () for type_ in types if isinstance(type_, TensorType)]
    return {name for shape in shapes for extent in shape for name in names_in(extent)}


def _ndim_text(shape: tuple[Extent, ...]) -> str:
    has_gap = any(map(is_ellipsis, shape))
    count = len(shape) - has_gap
    least = "at least " if has_gap else ""
    return f"expected {least}{count} dimension{'' if count == 1 else 's'}, got {{got}}"


def _is_integer(type_: Type) -> bool:
    """Return True if all values of a type, except None, are integers."""
    if isinstance(type_, ScalarType):
        return integer_range(type_.dtype) is not None
    names = accepted_type_names(type_)
    return names is not None and names[0] == "int"
