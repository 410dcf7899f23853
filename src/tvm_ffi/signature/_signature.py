# SPDX-License-Identifier: Apache-2.0
"""`Signature`: one description of a function, from which everything else follows."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Callable

from .._schema.schema import Schema
from ._declaration import Declaration
from ._json_form import signature_from_json, signature_to_json
from ._parsing import parse_signature
from ._partial_repr import partial_repr
from ._printing import inspect_signature, signature_text
from ._type_schema import schema_of_signature, signature_from_metadata, signature_from_schema

__all__ = ["Signature"]


@partial_repr
@dataclass(frozen=True, repr=False)
class Signature(Declaration):
    """What a function takes and returns.

    Parameters
    ----------
    parameters : iterable of Parameter
        In the order in which callers pass them.
    results : iterable of Result
        What the function returns; none means None, several a tuple.
    name : str
        Name of the function; may be empty, and may have parts (``ns.f``, ``ns::f``).
    dtype_variables : mapping of str to iterable of str
        Names that stand for an element type, with the types that each may be.
    doc : str, optional
        Documentation.
    non_blocking : bool
        That the function returns soon, and waits for nobody: it is called with Python's lock held.
    errors : iterable of str
        Kinds of errors that it raises.

    Raises
    ------
    TypeError, ValueError
        If the parts are wrong or do not fit each other; the message names the part.

    Notes
    -----
    Signatures are values: they do not change, and are equal when they say the same.

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

    # ---- other forms ------------------------------------------------------------------------

    @staticmethod
    def parse(text: str) -> Signature:
        """Return the signature that a text describes.

        Parameters
        ----------
        text : str
            ``name(x: float32[n, m], y: out float32[n, m], *, scale: float = 1.0) -> int``; the
            guide "Signatures" has the grammar.

        Raises
        ------
        ValueError
            If it describes none; the message says at which character.
        """
        return parse_signature(text, Signature)

    @staticmethod
    def of(description: Signature | str) -> Signature:
        """Return a signature that is given as one, or as its text."""
        if isinstance(description, Signature):
            return description
        if isinstance(description, str):
            return Signature.parse(description)
        raise TypeError(f"a signature is a Signature or its text, got {type(description).__name__}")

    def __repr__(self) -> str:
        return f"Signature.parse({str(self)!r})"

    __hash__ = Declaration.__hash__  # a dataclass makes its own otherwise

    def __str__(self) -> str:
        return signature_text(self)

    @staticmethod
    def from_json(obj: Mapping[str, Any] | str) -> Signature:
        """Return the signature in what `to_json` returned, or in its JSON text.

        Raises
        ------
        TypeError
            If a member has another type.
        ValueError
            If the version is newer than this package, or the signature is wrong.
        """
        return signature_from_json(obj, Signature)

    def to_json(self) -> dict[str, Any]:
        """Return the signature as what JSON can hold; its member ``version`` names the form."""
        return signature_to_json(self)

    @staticmethod
    def from_type_schema(schema: Schema, name: str = "") -> Signature:
        """Return the signature in the type of a function, which has no names.

        Parameters are positional only, are called ``_0``, ``_1`` ..., and nobody knows which are
        written.

        Raises
        ------
        ValueError
            If it is not the type of a function.
        """
        return signature_from_schema(schema, name, Signature)

    def to_type_schema(self) -> Schema:
        """Return the type of the function, as the metadata of libraries have it: without names."""
        return schema_of_signature(self)

    @staticmethod
    def from_metadata(metadata: Mapping[str, Any], name: str = "") -> Signature | None:
        """Return the signature in what a library says about a function; None when it says nothing.

        Parameters
        ----------
        metadata : mapping
            With the member ``signature``, the text, or only with ``type_schema``.
        name : str
            Name of the function where the text has none.

        Raises
        ------
        ValueError
            If the text is no signature, or that of a function with another number of parameters, or
            with tensors where ``type_schema`` has numbers.
        """
        return signature_from_metadata(metadata, name, Signature)

    @staticmethod
    def from_inspect(signature: inspect.Signature, name: str = "") -> Signature:
        """Return the signature that Python has of a function.

        Raises
        ------
        TypeError
            If an annotation stands for no type, or a parameter collects keywords.
        """
        from ._annotations import signature_from_inspect

        return signature_from_inspect(signature, name, Signature)

    @staticmethod
    def from_function(function: Callable[..., Any]) -> Signature:
        """Return the signature in a Python function's annotations.

        Parameters
        ----------
        function : callable
            Parameters may be annotated with native types (``Tensor``, ``Array[int]``), with
            ``Annotated[Tensor, "out float32[n]"]``, whose text is that of a signature, and with the
            types of jaxtyping (``Float32[Array, "n m"]``).

        Raises
        ------
        TypeError
            If an annotation stands for no type, or a parameter collects keywords.
        """
        from ._annotations import signature_from_function

        return signature_from_function(function, Signature)

    def to_inspect(self) -> inspect.Signature:
        """Return what ``inspect.signature`` shows; annotations are text."""
        return inspect_signature(self)

    # ---- arguments --------------------------------------------------------------------------

    def check(self, *args: Any, **kwargs: Any) -> None:
        """Raise unless a call with these arguments fits the signature.

        Raises
        ------
        TypeError
            If arguments are missing, unknown or of another type.
        ValueError
            If a tensor has another shape, element type, layout or device.
        BufferError
            If the function writes into a tensor that must not be written.

        Notes
        -----
        Wrappers that `tvm_ffi` generates make the same checks, with the same texts.
        """
        from ._run_checks import check_arguments

        check_arguments(self, args, kwargs)
