# SPDX-License-Identifier: Apache-2.0
"""Operators inside transforms of `torch.func`: grad, jvp, vmap and their combinations.

Inside a transform, torch rejects derivatives that were registered with
`torch.library.register_autograd`, but accepts a `torch.autograd.Function` with a separate
`setup_context`.  An operator that is called inside a transform therefore calls itself through such
a `Function`.  Each active transform handles the `Function`, and the innermost call reaches the
operator's own kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

import torch

from ._native_kernels import apply_of, by_position
from ._operators import Operator

__all__ = ["Rules", "add_derivative"]

# torch's dispatch key for kernels that run inside transforms only, before all other kernels.
_TRANSFORMS = "FuncTorchDynamicLayerFrontMode"

Rule = Callable[..., Any]


@dataclass(frozen=True)
class Rules:
    """The derivative and batching rules of an operator.

    `torch.library` defines the parameters of the callables, except that
    `torch.autograd.Function` defines those of `jvp`.
    """

    backward: Rule
    setup_context: Rule | None = None
    jvp: Rule | None = None
    vmap: Rule | None = None


def add_derivative(operator: Operator, rules: Rules) -> None:
    """Register kernels for derivatives and transforms of an operator that writes no argument."""
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
    below = by_position(operator.overload, operator.signature)

    def derived(*values: Any) -> Any:
        if torch.is_grad_enabled() and torch._C._any_requires_grad(*values):
            return function.apply(*values)
        with torch._C._AutoDispatchBelowAutograd():
            return below(*values)

    if not operator.add_kernels(derived, new_apply=call.apply):
        torch.library.register_autograd(
            operator.name, rules.backward, setup_context=rules.setup_context, lib=operator.library
        )


class _Call:
    """The methods of the `torch.autograd.Function` that calls an operator."""

    def __init__(self, operator: Operator, rules: Rules) -> None:
        self._operator, self._rules = operator.overload, rules
        self._name, self._short_name = operator.name, operator.short_name
        schema = operator.overload._schema
        self._parameters = schema.arguments
        self._num_positional = sum(not argument.kwarg_only for argument in schema.arguments)
        self._tensor_lists = [
            value.name or f"result {index}"
            for index, value in enumerate((*schema.arguments, *schema.returns))
            if "Tensor[]" in str(value.type) or "List[Tensor]" in str(value.type)
        ]

    def check(self) -> None:
        """Raise NotImplementedError if torch cannot apply the current transform to the operator."""
        if self._tensor_lists:
            raise NotImplementedError(
                f"{self._name} cannot be transformed by torch.func: parameter "
                f"'{self._tensor_lists[0]}' is a list of tensors"
            )
        interpreter = torch._C._functorch.peek_interpreter_stack()
        if interpreter.key() == torch._C._functorch.TransformType.Functionalize:
            raise NotImplementedError(
                f"{self._name} cannot be transformed by torch.func.functionalize, which does not "
                "support torch.autograd.Function; remove functionalize, because the operator "
                "writes no argument"
            )

    def filled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return an argument for every parameter, including the defaults that torch omits."""
        rest = [
            kwargs.get(parameter.name, parameter.default_value)
            for parameter in self._parameters[len(args) :]
        ]
        return [*args, *rest]

    def apply(self) -> Callable[..., Any]:
        """Return the result of `apply_of` for the operator."""
        has_keywords = self._num_positional < len(self._parameters)
        setup_context = self.setup_context if has_keywords else self._rules.setup_context
        return apply_of(self._short_name, setup_context, self.backward)

    def _split(self, values: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        names = [parameter.name for parameter in self._parameters[self._num_positional :]]
        kwargs = dict(zip(names, values[self._num_positional :]))
        return tuple(values[: self._num_positional]), kwargs

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
        gradients = result if isinstance(result, tuple) else (result,)
        return (*gradients, *[None] * (len(self._parameters) - self._num_positional))

    def jvp(self, ctx: Any, *tangents: Any) -> Any:
        if self._rules.jvp is None:
            raise NotImplementedError(
                f"{self._name} has no forward derivative; pass jvp= to "
                "tvm_ffi.interop.torch.register"
            )
        return self._rules.jvp(ctx, *tangents[: self._num_positional])

    def vmap(self, info: Any, in_dims: tuple[int | None, ...], *values: Any) -> Any:
        if self._rules.vmap is None:
            return self._sequential(info.batch_size, in_dims, values)
        args, kwargs = self._split(values)
        return self._rules.vmap(info, in_dims[: self._num_positional], *args, **kwargs)

    def _sequential(
        self, batch_size: int, in_dims: tuple[int | None, ...], values: tuple[Any, ...]
    ) -> Any:
        """Call the operator once per batch element, as torch does without a batching rule."""
        if batch_size == 0:
            raise ValueError(
                f"{self._name}: torch.vmap over 0 elements needs a batching rule; pass vmap= to "
                "tvm_ffi.interop.torch.register"
            )
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
