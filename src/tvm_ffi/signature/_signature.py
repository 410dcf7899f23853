# SPDX-License-Identifier: Apache-2.0
"""`Signature`: the declared parameters and results of a function."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Callable

from .._schema.schema import Schema
from ._declaration import Declaration
from ._json_form import signature_from_json, signature_to_json

# `typing.get_type_hints` looks names in the annotations of `Signature.__init__` up in this module.
from ._parameter import Parameter, Result  # noqa: F401
from ._parsing import parse_signature
from ._partial_repr import partial_repr
from ._printing import inspect_signature, signature_text
from ._type_schema import schema_of_signature, signature_from_metadata, signature_from_schema

__all__ = ["Signature"]


@partial_repr
@dataclass(frozen=True, repr=False)
class Signature(Declaration):
    """The declared parameters, types, shapes, dtypes, defaults and results of a function.

    Parameters
    ----------
    parameters : iterable of Parameter
        The parameters, in the order in which callers pass arguments.
    results : iterable of Result
        Values that the function returns: empty for None, several results for a tuple.
    name : str
        Name of the function; may be empty or qualified (``ns.f``, ``ns::f``).
    dtype_variables : mapping of str to iterable of str
        Variables for a dtype, each with the dtypes that it may be.
    doc : str, optional
        Documentation of the function.
    non_blocking : bool
        Whether the function returns soon and never blocks; it is then called with the GIL held.
    errors : iterable of str
        Kinds of errors that the function raises.
    unchecked : bool
        Whether calls skip the argument checks.

    Raises
    ------
    TypeError, ValueError
        If a member is invalid or contradicts another member; the message names the member.

    Notes
    -----
    Signatures are immutable, and equal if all members are equal.

    Examples
    --------
    >>> import tvm_ffi
    >>> softmax = tvm_ffi.Signature.parse(
    ...     "softmax(x: float32[n, m], y: out float32[n, m], temperature: float = 1)"
    ... )
    >>> softmax.parameters[1].direction
    'out'
    >>> print(softmax)
    softmax(x: float32[n, m], y: out float32[n, m], temperature: float = 1.0)
    """

    # ---- conversions ------------------------------------------------------------------------

    @staticmethod
    def parse(text: str) -> Signature:
        """Return the signature that a text describes.

        Parameters
        ----------
        text : str
            ``name(x: float32[n, m], y: out float32[n, m], *, scale: float = 1.0) -> int``; the
            guide "Signatures" describes the syntax.

        Raises
        ------
        ValueError
            If the text is not a signature; the message contains the offset of the error.
        """
        return parse_signature(text, Signature)

    @staticmethod
    def of(description: Signature | str) -> Signature:
        """Return a signature unchanged, or parse its text."""
        if isinstance(description, Signature):
            return description
        if isinstance(description, str):
            return Signature.parse(description)
        raise TypeError(
            f"expected a Signature or the text of one, got {type(description).__name__}"
        )

    def __repr__(self) -> str:
        return f"Signature.parse({str(self)!r})"

    __hash__ = Declaration.__hash__  # `dataclass` would replace an inherited `__hash__`

    def __str__(self) -> str:
        return signature_text(self)

    @staticmethod
    def from_json(obj: Mapping[str, Any] | str) -> Signature:
        """Return the signature in the result of `to_json`, or in its JSON text.

        Raises
        ------
        TypeError
            If a member of the JSON object has the wrong type.
        ValueError
            If the version is newer than this package supports, or the signature is invalid.
        """
        return signature_from_json(obj, Signature)

    def to_json(self) -> dict[str, Any]:
        """Return the signature as a JSON object; its member ``version`` is the format version."""
        return signature_to_json(self)

    @staticmethod
    def from_type_schema(schema: Schema, name: str = "") -> Signature:
        """Return the signature of a function type; function types have no parameter names.

        Parameters are positional-only, are called ``_0``, ``_1`` ..., and have the direction
        ``unknown``.

        Raises
        ------
        ValueError
            If `schema` is not the type of a function.
        """
        return signature_from_schema(schema, name, Signature)

    def to_type_schema(self) -> Schema:
        """Return the type of the function, without parameter names, as in library metadata."""
        return schema_of_signature(self)

    @staticmethod
    def from_metadata(metadata: Mapping[str, Any], name: str = "") -> Signature | None:
        """Return the signature in a library function's metadata; None if it has no signature.

        Parameters
        ----------
        metadata : mapping
            The member ``signature`` is the text of the signature; without it, ``type_schema`` is
            used.
        name : str
            Name of the function if the text has none.

        Raises
        ------
        ValueError
            If the text is not a signature, or contradicts ``type_schema`` in the number of
            parameters or the category of a parameter (tensor, number, string).
        """
        return signature_from_metadata(metadata, name, Signature)

    @staticmethod
    def from_inspect(signature: inspect.Signature, name: str = "") -> Signature:
        """Return the signature that corresponds to an `inspect.Signature`.

        Raises
        ------
        TypeError
            If an annotation is not a type, or a parameter is ``**kwargs``.
        """
        from ._annotations import signature_from_inspect

        return signature_from_inspect(signature, name, Signature)

    @staticmethod
    def from_function(function: Callable[..., Any]) -> Signature:
        """Return the signature that a Python function's annotations declare.

        Parameters
        ----------
        function : callable
            Parameters may be annotated with native types (``Tensor``, ``Array[int]``), with
            ``Annotated[Tensor, "out float32[n]"]``, whose text is a direction and a type, and with
            jaxtyping types (``Float32[Array, "n m"]``).

        Raises
        ------
        TypeError
            If an annotation is not a type, or a parameter is ``**kwargs``.
        """
        from ._annotations import signature_from_function

        return signature_from_function(function, Signature)

    def to_inspect(self) -> inspect.Signature:
        """Return the `inspect.Signature` of the function; annotations are text."""
        return inspect_signature(self)

    # ---- argument checks --------------------------------------------------------------------

    def check(self, *args: Any, **kwargs: Any) -> None:
        """Raise unless a call with these arguments fits the signature.

        Raises
        ------
        TypeError
            If arguments are missing, unknown or of another type.
        ValueError
            If a number is out of range, or a tensor has a wrong shape, dtype, layout, alignment or
            device.
        BufferError
            If the function writes into a tensor that must not be written.

        Notes
        -----
        Generated wrappers make the same checks, with the same messages.
        """
        from ._run_checks import check_arguments

        check_arguments(self, args, kwargs)
