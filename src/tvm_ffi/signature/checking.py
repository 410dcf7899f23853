# SPDX-License-Identifier: Apache-2.0
"""Whether a call fits a signature: the checks that generated wrappers make, in Python.

`checks` is what is looked at, and in which order; it is data, made from the signature alone, and
each step has the text of its failure.  What runs them is here for Python, and code for other
languages is printed from them.

1. Arguments are bound to parameters.
2. For each tensor, in order: is it one, number of extents, element type, device, layout, whether it
   may be written, and the extents that are constants or names.  A name is what the first extent or
   integer of that name is; the others must agree.
3. Extents that are expressions, when all names are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from . import values
from .declaration import Declaration
from .expression import Expression, Extent, evaluate, extent_text
from .parameter import Parameter
from .printing import inspect_signature, type_text
from .types import ANY_EXTENT, ELLIPSIS, ScalarType, TensorType

__all__ = ["Check", "bind_arguments", "check_arguments", "checks", "where"]


@dataclass(frozen=True)
class Check:
    """One thing to look at.

    Parameters
    ----------
    kind : str
        ``type``, ``integer``, ``ndim``, ``dtype``, ``device``, ``layout``, ``writable``,
        ``extent``.
    parameter : Parameter
        Whose argument it is about.
    position : int
        Where the parameter stands.
    axis : int
        Of ``extent``: which one; negative ones count from the end.
    extent : int, str or Expression
        Of ``extent``: what it must be.  Of ``integer``: the name that it is.
    """

    kind: str
    parameter: Parameter
    position: int
    axis: int = 0
    extent: Extent = 0

    @property
    def tensor(self) -> TensorType:
        """The parameter's type, where the check is about a tensor."""
        assert isinstance(self.parameter.type, TensorType)
        return self.parameter.type


def checks(signature: Declaration) -> Iterator[Check]:
    """Yield the checks of a signature, in the order in which they are made."""
    late = []
    for position, parameter in enumerate(signature.parameters):
        yield Check("type", parameter, position)
        type_ = parameter.type
        if not isinstance(type_, TensorType):
            yield Check("integer", parameter, position, extent=parameter.name)
            continue
        kinds = {
            "ndim": type_.shape is not None,
            "dtype": type_.dtype is not None,
            "device": type_.device is not None,
            "layout": type_.layout == "compact",
            "writable": parameter.is_written,
        }
        for kind, is_wanted in kinds.items():
            if is_wanted:
                yield Check(kind, parameter, position)
        for axis, extent in _axes(type_.shape or ()):
            check = Check("extent", parameter, position, axis, extent)
            if isinstance(extent, Expression):
                late.append(check)
            else:
                yield check
    yield from late


def _axes(shape: tuple[Extent, ...]) -> Iterator[tuple[int, Extent]]:
    """Yield the extents that are looked at, with their axes; those behind a gap count back."""
    is_behind = False
    for axis, extent in enumerate(shape):
        if extent == ELLIPSIS:
            is_behind = True
        elif extent != ANY_EXTENT:
            yield axis - len(shape) if is_behind else axis, extent


def where(signature: Declaration, parameter: Parameter) -> str:
    """Return how a failure begins: the function and the parameter that it is about."""
    return f"{signature.name}() argument '{parameter.name}': "


# ---- in Python -----------------------------------------------------------------------------------


def check_arguments(
    signature: Declaration, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> None:
    """Raise unless a call with these arguments fits the signature."""
    arguments = bind_arguments(signature, args, kwargs)
    run = _Run(signature, arguments)
    for check in checks(signature):
        if check.parameter.name in arguments:
            run.make(check)


def bind_arguments(
    signature: Declaration, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments by parameter, with defaults put in.

    Raises
    ------
    TypeError
        If an argument is missing, unknown or given twice.
    """
    try:
        bound = inspect_signature(signature).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{signature.name}() {error}") from None
    bound.apply_defaults()
    return dict(bound.arguments)


class _Run:
    """The checks of one call."""

    def __init__(self, signature: Declaration, arguments: Mapping[str, Any]) -> None:
        self._signature, self._arguments = signature, arguments
        self._extents: dict[str, int] = {}
        self._dtypes: dict[str, str] = {}
        self._tensors: dict[str, Any] = {}

    def make(self, check: Check) -> None:
        """Make one check."""
        if check.kind in ("type", "integer"):
            getattr(self, f"_{check.kind}")(check)
        elif check.parameter.name in self._tensors:  # None is no tensor
            getattr(self, f"_{check.kind}")(check, self._tensors[check.parameter.name])

    def _fail(self, check: Check, cls: type[Exception], text: str) -> None:
        raise cls(where(self._signature, check.parameter) + text)

    def _type(self, check: Check) -> None:
        parameter = check.parameter
        given = self._arguments[parameter.name]
        for value in given if parameter.kind == "variadic" else (given,):
            if getattr(parameter.type, "is_optional", False) and value is None:
                continue
            problem = self._problem(parameter, value)
            if problem is not None:
                self._fail(check, TypeError, problem)

    def _problem(self, parameter: Parameter, value: Any) -> str | None:
        type_ = parameter.type
        if isinstance(type_, TensorType):
            tensor = values.tensor_of(value)
            if tensor is None:
                return f"expected {type_text(type_)}, got {type(value).__name__}"
            if parameter.kind != "variadic":
                self._tensors[parameter.name] = tensor
            return None
        if isinstance(type_, ScalarType):
            return values.problem_of_scalar(value, type_.dtype)
        return values.problem_of_value(value, type_.schema)

    def _integer(self, check: Check) -> None:
        value = self._arguments[check.parameter.name]
        if isinstance(value, int) and not isinstance(value, bool):
            self._bind(check, str(check.extent), value, "")

    def _ndim(self, check: Check, tensor: Any) -> None:
        shape = check.tensor.shape or ()
        got = len(tensor.shape)
        if ELLIPSIS in shape:
            if got < len(shape) - 1:
                self._fail(
                    check, ValueError, f"expected at least {len(shape) - 1} dimensions, got {got}"
                )
        elif got != len(shape):
            plural = "" if len(shape) == 1 else "s"
            self._fail(check, ValueError, f"expected {len(shape)} dimension{plural}, got {got}")

    def _dtype(self, check: Check, tensor: Any) -> None:
        type_, got = check.tensor, str(tensor.dtype)
        if type_.variable is not None:
            known = self._dtypes.setdefault(type_.variable, got)
            expected = self._signature.dtype_variables[type_.variable]
            if got in expected and known != got:
                self._fail(
                    check, ValueError, f"expected dtype {type_.variable} = {known}, got {got}"
                )
        else:
            expected = (type_.dtype,) if isinstance(type_.dtype, str) else type_.dtype or ()
        if got not in expected:
            self._fail(check, ValueError, f"expected dtype {' or '.join(expected)}, got {got}")

    def _device(self, check: Check, tensor: Any) -> None:
        wanted = check.tensor.device
        kind, index = tensor.device.type, tensor.device.index
        if wanted not in (kind, f"{kind}:{index}"):
            self._fail(check, ValueError, f"expected device {wanted}, got {kind}:{index}")

    def _layout(self, check: Check, tensor: Any) -> None:
        if not tensor.is_contiguous():
            self._fail(check, ValueError, "expected a compact tensor, got one with gaps")

    def _writable(self, check: Check, tensor: Any) -> None:
        if values.is_read_only(self._arguments[check.parameter.name]):
            self._fail(check, BufferError, "the function writes into it, and it is read-only")

    def _extent(self, check: Check, tensor: Any) -> None:
        got = tensor.shape[check.axis]
        axis = check.axis if check.axis >= 0 else len(tensor.shape) + check.axis
        prefix = f"shape[{axis}] "
        if isinstance(check.extent, str):
            self._bind(check, check.extent, got, prefix)
            return
        try:
            wanted = evaluate(check.extent, self._extents)
        except KeyError:  # the tensor that has the name was left out
            return
        except ValueError as error:
            self._fail(check, ValueError, str(error))
        if got != wanted:
            text = extent_text(check.extent)
            shown = text if isinstance(check.extent, int) else f"{text} = {wanted}"
            self._fail(check, ValueError, f"{prefix}must be {shown}, got {got}")

    def _bind(self, check: Check, name: str, got: int, prefix: str) -> None:
        known = self._extents.setdefault(name, got)
        if known != got:
            self._fail(check, ValueError, f"{prefix}must be {name} = {known}, got {got}")
