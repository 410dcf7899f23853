# SPDX-License-Identifier: Apache-2.0
"""Decorators for LLVM IR support functions; the first call in a module adds the definition.

The decorated Python function takes a `Code` and the parameters, and emits the body.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

from llvmlite import ir

from ._code import Code

__all__ = ["cold", "hot", "shared"]


class SupportFunction:
    """A support function; calling this object emits a call, and the definition if it is missing."""

    def __init__(
        self, body: Callable[..., None], result: Any, parameters: Sequence[Any], attribute: str
    ) -> None:
        self._name = f"tvm_ffi.wrapper.{body.__name__}"
        self._body, self._attribute = body, attribute
        self._type = ir.FunctionType(result, parameters)
        self.__doc__ = body.__doc__

    def __call__(self, code: Code, *args: Any) -> Any:
        found = code.module.globals.get(self._name)
        if found is None:
            found = ir.Function(code.module, self._type, self._name)
            found.linkage = "internal"
            for attribute in ("nounwind", *self._attribute.split()):
                found.attributes.add(attribute)
            self._body(Code(found), *found.args)
        return code.call(found, args)


def hot(result: Any, *parameters: Any) -> Callable[[Callable[..., None]], SupportFunction]:
    """Return a decorator for a function that is always inlined."""
    return lambda body: SupportFunction(body, result, parameters, "alwaysinline")


def cold(result: Any, *parameters: Any) -> Callable[[Callable[..., None]], SupportFunction]:
    """Return a decorator for a function that only failing or rare calls reach."""
    return lambda body: SupportFunction(body, result, parameters, "cold noinline")


def shared(result: Any, *parameters: Any) -> Callable[[Callable[..., None]], SupportFunction]:
    """Return a decorator for a function that is too large to be inlined."""
    return lambda body: SupportFunction(body, result, parameters, "noinline")
