# SPDX-License-Identifier: Apache-2.0
"""The checks that a call has to pass, as data: what is looked at, in which order, and what is said.

`checks` makes them from a signature alone.  `checking` carries them out on Python values;
`tvm_ffi.codegen` prints them as programs.  Both see an argument as native code sees it: a list is
an ``Array``, a scalar of NumPy is a number, an int that needs more than 64 bits is none.

1. The number of arguments.
2. For each parameter, in order: the argument's type; the range of an integer.  For a tensor: number
   of extents, element type, device, layout, whether it may be written, the extents that are
   constants or names, the alignment that is asked for, and where it is passed by address, the
   address.  A name is what the first extent or integer of that name is; the others must agree.
3. Extents that are expressions, when all names are known.

The text of a failure is a template: what is known from the signature is in it, and holes such as
``{got}`` are filled in when it happens.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from .._schema.dtypes import integer_range
from ._binding_errors import missing_arguments_message, too_many_arguments_message
from ._declaration import Declaration
from ._expression import Expression, Extent, extent_text
from ._parameter import Parameter
from ._printing import type_text
from ._types import ANY_EXTENT, ELLIPSIS, ScalarType, TensorType, Type, ValueType

__all__ = [
    "BIG_INT",
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
_MISALIGNED = "expected an address aligned to {expected} bytes, got remainder {got}"
# What values native types without parts are made of, by the word for them.
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
    """What is raised when a check fails.

    Parameters
    ----------
    error : {"TypeError", "ValueError", "BufferError"}
        Kind of the error.
    template : str
        Its text, with holes as `str.format` has them.
    """

    error: str
    template: str

    def message(self, **holes: object) -> str:
        """Return the text with its holes filled."""
        return self.template.format(**holes)

    def parts(self) -> list[tuple[str, str | None]]:
        """Return pieces of the text, each with the hole behind it; None where there is none."""
        found: list[tuple[str, str | None]] = []
        pending = ""
        for text, hole, _, _ in string.Formatter().parse(self.template):
            pending += text  # a bracket that is written twice begins a new piece
            if hole is not None:
                found.append((pending, hole))
                pending = ""
        return [*found, (pending, None)] if pending or not found else found


@dataclass(frozen=True)
class Check:
    """One thing to look at.

    Parameters
    ----------
    kind : str
        What it is; the list below has the failures of each, and their holes.
    parameter : Parameter
        Whose argument it is about.
    position : int
        Where the parameter stands.
    failures : mapping from str to Failure
        What may come of it.
    axis : int
        Of ``extent``: which one; negative ones count from the end.
    extent : int, str or Expression
        Of ``extent``: what it must be.  Of ``integer``: the name that it is.

    Notes
    -----
    Kinds with their failures, and the holes of those:

    - ``type``: ``type`` and, for an int that needs more than 64 bits, ``big``; got, a word
    - ``range``: ``range``; got
    - ``integer``: ``differs``; expected, got
    - ``ndim``: ``ndim``; got
    - ``dtype``: ``dtype``; got.  ``variable``, for another than an earlier tensor's; expected, got
    - ``device``: ``device``; got
    - ``layout``: ``layout``; got, the strides
    - ``writable``: ``writable``
    - ``extent``: ``differs``; axis where it counts back, expected unless it is a constant, got.
      ``zero TEXT`` and ``overflow TEXT`` for each operation in it
    - ``alignment``: ``alignment``; got, in bytes
    - ``address``: ``null``.  ``alignment``; expected, got, in bytes
    """

    kind: str
    parameter: Parameter
    position: int
    failures: Mapping[str, Failure] = field(default_factory=dict)
    axis: int = 0
    extent: Extent = 0

    @property
    def tensor(self) -> TensorType:
        """The parameter's type, where the check is about a tensor."""
        assert isinstance(self.parameter.type, TensorType)
        return self.parameter.type


# ---- number of arguments -------------------------------------------------------------------------


def missing_arguments(signature: Declaration, given: int) -> Failure | None:
    """Return what is said when only so many arguments are given; None when they are enough."""
    names = {parameter.name for parameter in signature.parameters[:given]}
    text = missing_arguments_message(signature, names)
    return (
        None
        if text is None
        else Failure("TypeError", literal_template(f"{signature.name}() {text}"))
    )


def too_many_arguments(signature: Declaration, given: str = "{got}") -> Failure:
    """Return what is said when more arguments are given than there are parameters.

    Parameters
    ----------
    signature : Declaration
        Of a function that is not variadic.
    given : str
        How many: ``"1"``, or the hole for a larger number.
    """
    least = sum(parameter.is_required for parameter in signature.parameters)
    text = too_many_arguments_message(least, len(signature.parameters), given)
    return Failure("TypeError", literal_template(f"{signature.name}() ") + text)


# ---- checks of arguments -------------------------------------------------------------------------


def checks(signature: Declaration) -> Iterator[Check]:
    """Yield the checks of a signature's arguments, in the order in which they are made."""
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
        if parameter.type.alignment is not None:
            yield maker.alignment(parameter.type.alignment)
        if parameter.type.is_pointer:
            yield maker.address()
    yield from late


def accepted_type_names(type_: Type) -> tuple[str, ...] | None:
    """Return the names for what a type takes; None where that depends on more than the type index.

    A word is what `_schema.names` calls a native type: ``int``, ``None``, ``Tensor``.
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
    """Yield the operations of an extent, each behind those of its operands."""
    if isinstance(extent, Expression):
        for operand in extent.operands:
            yield from operations(operand)
        yield extent


def _axes(shape: tuple[Extent, ...]) -> Iterator[tuple[int, Extent]]:
    """Yield the extents that are looked at, with their axes; those behind a gap count back."""
    is_after_gap = False
    for axis, extent in enumerate(shape):
        if extent == ELLIPSIS:
            is_after_gap = True
        elif extent != ANY_EXTENT:
            yield axis - len(shape) if is_after_gap else axis, extent


def literal_template(text: str) -> str:
    """Return text as a template without holes."""
    return text.replace("{", "{{").replace("}", "}}")


class _CheckBuilder:
    """Makes the checks of one parameter."""

    def __init__(self, signature: Declaration, parameter: Parameter, position: int) -> None:
        self._signature, self._parameter, self._position = signature, parameter, position
        self._where = literal_template(f"{signature.name}() argument '{parameter.name}': ")

    def _check(self, kind: str, axis: int = 0, extent: Extent = 0, **failures: Failure) -> Check:
        return Check(kind, self._parameter, self._position, failures, axis, extent)

    def _failure(self, error: str, template: str) -> Failure:
        return Failure(error, self._where + template)

    def type(self) -> Check:
        type_ = self._parameter.type
        template = f"expected {literal_template(type_text(type_))}, got {{got}}"
        is_integer = "int" in (accepted_type_names(type_) or ())
        big = self._failure("ValueError" if is_integer else "TypeError", template)
        return self._check("type", type=self._failure("TypeError", template), big=big)

    def number(self) -> Iterator[Check]:
        type_ = self._parameter.type
        if isinstance(type_, ScalarType) and integer_range(type_.dtype) is not None:
            template = f"{{got}} does not fit {type_.dtype}"
            yield self._check("range", range=self._failure("ValueError", template))
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
        if type_.is_compact:
            template = "expected a compact tensor, got strides {got}"
            yield self._check("layout", layout=self._failure("ValueError", template))
        if self._parameter.is_written:
            remedy = "array" if self._parameter.direction == "out" else "copy"
            template = (
                f"the array is read-only, and the function writes into it; pass a writable {remedy}"
            )
            yield self._check("writable", writable=self._failure("BufferError", template))

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

    def alignment(self, size: int) -> Check:
        template = _MISALIGNED.replace("{expected}", str(size))
        return self._check("alignment", alignment=self._failure("ValueError", template))

    def address(self) -> Check:
        return self._check(
            "address",
            null=self._failure("ValueError", "expected the address of the first element, got NULL"),
            alignment=self._failure("ValueError", _MISALIGNED),
        )


def _ndim_text(shape: tuple[Extent, ...]) -> str:
    count = len(shape) - (ELLIPSIS in shape)
    least = "at least " if ELLIPSIS in shape else ""
    return f"expected {least}{count} dimension{'' if count == 1 else 's'}, got {{got}}"


def _is_integer(type_: Type) -> bool:
    """Whether the argument, when it is not None, is an integer."""
    if isinstance(type_, ScalarType):
        return integer_range(type_.dtype) is not None
    names = accepted_type_names(type_)
    return names is not None and names[0] == "int"
