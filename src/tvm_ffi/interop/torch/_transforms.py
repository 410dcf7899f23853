# SPDX-License-Identifier: Apache-2.0
"""Operators under the transforms of `torch.func`: grad, jvp, vmap, and those made of them.

torch knows the derivative of an operator only outside of them: what it makes of
`torch.library.register_autograd` is refused there.  A `torch.autograd.Function` with a separate
`setup_context` is not.  So an operator that meets a transform calls itself by way of such a
function, which each level of transforms takes apart; what is left in the end is the operator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

import torch

from ._operators import Operator

__all__ = ["Rules", "add_transforms"]

# Where torch's dispatcher comes by first while a transform is active, and not otherwise.
_TRANSFORMS = "FuncTorchDynamicLayerFrontMode"

Rule = Callable[..., Any]


@dataclass(frozen=True)
class Rules:
    """What somebody has said of an operator.

    As `torch.library` has it, and `jvp` as that of a `torch.autograd.Function`.
    """

    backward: Rule
    setup_context: Rule | None = None
    jvp: Rule | None = None
    vmap: Rule | None = None


def add_transforms(operator: Operator, rules: Rules) -> None:
    """Let an operator that writes into none of its arguments be transformed."""
    call = _Call(operator, rules)
    function: Any = type(
        f"{operator.short_name}_in_transforms",
        (torch.autograd.Function,),
        {
            "forward": staticmethod(call.forward),
            "setup_context": staticmethod(call.setup_context),
            "backward": staticmethod(call.backward),
            "jvp": staticmethod(call.jvp),
            "vmap": staticmethod(call.vmap),
        },
    )

    def transformed(*args: Any, **kwargs: Any) -> Any:
        call.check()
        return function.apply(*call.filled(args, kwargs))

    operator.library.impl(operator.overload, transformed, _TRANSFORMS)


class _Call:
    """An operator as the methods of a `torch.autograd.Function`, which has no keywords."""

    def __init__(self, operator: Operator, rules: Rules) -> None:
        self._operator, self._rules = operator.overload, rules
        self._name = operator.name
        schema = operator.overload._schema
        self._parameters = schema.arguments
        self._num_by_position = sum(not one.kwarg_only for one in schema.arguments)
        self._lists = [
            one.name or f"result {place}"
            for place, one in enumerate((*schema.arguments, *schema.returns))
            if "Tensor[]" in str(one.type) or "List[Tensor]" in str(one.type)
        ]

    def check(self) -> None:
        """Refuse what torch has no words for."""
        if self._lists:
            raise NotImplementedError(
                f"{self._name} cannot be transformed by torch.func: '{self._lists[0]}' is a list "
                "of tensors"
            )
        interpreter = torch._C._functorch.peek_interpreter_stack()
        if interpreter.key() == torch._C._functorch.TransformType.Functionalize:
            raise NotImplementedError(
                f"{self._name} cannot be transformed by torch.func.functionalize, as no "
                "torch.autograd.Function can; operators that write into nothing need it not"
            )

    def filled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return all arguments in their order; torch leaves out what is a default."""
        named = [kwargs.get(one.name, one.default_value) for one in self._parameters[len(args) :]]
        return [*args, *named]

    def _split(self, values: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        names = [one.name for one in self._parameters[self._num_by_position :]]
        kwargs = dict(zip(names, values[self._num_by_position :]))
        return tuple(values[: self._num_by_position]), kwargs

    def forward(self, *values: Any) -> Any:
        args, kwargs = self._split(values)
        return self._operator(*args, **kwargs)

    def setup_context(self, ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        if self._rules.setup_context is None:
            return
        args, kwargs = self._split(inputs)
        named = {"keyword_only_inputs": kwargs} if kwargs else {}
        self._rules.setup_context(ctx=ctx, inputs=args, output=output, **named)

    def backward(self, ctx: Any, *grads: Any) -> tuple[Any, ...]:
        result = self._rules.backward(ctx, *grads)
        by_position = result if isinstance(result, tuple) else (result,)
        return (*by_position, *[None] * (len(self._parameters) - self._num_by_position))

    def jvp(self, ctx: Any, *tangents: Any) -> Any:
        if self._rules.jvp is None:
            raise NotImplementedError(
                f"{self._name} has no forward derivative: pass it to "
                "tvm_ffi.interop.torch.register as jvp="
            )
        return self._rules.jvp(ctx, *tangents[: self._num_by_position])

    def vmap(self, info: Any, in_dims: tuple[int | None, ...], *values: Any) -> Any:
        if self._rules.vmap is None:
            return self._one_by_one(info.batch_size, in_dims, values)
        args, kwargs = self._split(values)
        return self._rules.vmap(info, in_dims[: self._num_by_position], *args, **kwargs)

    def _one_by_one(
        self, batch_size: int, in_dims: tuple[int | None, ...], values: tuple[Any, ...]
    ) -> Any:
        """Call the operator for each element, as torch does where nobody has said better."""
        results = [
            self.forward(
                *(
                    value if dim is None else value.select(dim, i)
                    for value, dim in zip(values, in_dims)
                )
            )
            for i in range(batch_size)
        ]
        if not isinstance(results[0], tuple):
            return torch.stack(results), 0
        return tuple(map(torch.stack, zip(*results))), (0,) * len(results[0])
