# SPDX-License-Identifier: Apache-2.0
"""What the functions of the support code are: each is put into a module with its first call there.

The body of a function is written by one of Python that gets a `Code` and the parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

from llvmlite import ir

from ._code import Code

__all__ = ["cold", "hot", "shared"]


class SupportFunction:
    """A function of the support code."""

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
    """Return a decorator of a function that stands wherever it is called."""
    return lambda body: SupportFunction(body, result, parameters, "alwaysinline")


def cold(result: Any, *parameters: Any) -> Callable[[Callable[..., None]], SupportFunction]:
    """Return a decorator of a function that hardly any call of a wrapper needs."""
    return lambda body: SupportFunction(body, result, parameters, "cold noinline")


def shared(result: Any, *parameters: Any) -> Callable[[Callable[..., None]], SupportFunction]:
    """Return a decorator of a function that is too large to stand wherever it is called."""
    return lambda body: SupportFunction(body, result, parameters, "noinline")
