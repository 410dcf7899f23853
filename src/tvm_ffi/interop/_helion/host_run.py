# SPDX-License-Identifier: Apache-2.0
"""One run of a kernel's host code on tensors without contents, whose extents are symbols.

What the host code launches, allocates and returns is seen; on which sizes it depends is noted by
torch, as it is for ``torch.compile``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Callable

import torch
from torch._dynamo.source import ConstantSource
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv
from torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["HostRun", "Launched"]

_ALLOCATIONS = {
    "aten.empty.memory_format",
    "aten.empty_like.default",
    "aten.empty_strided.default",
    "aten.new_empty.default",
    "aten.new_empty_strided.default",
}


@dataclass(frozen=True)
class Launched:
    """What was given to a launch."""

    kernel: Any  # triton.JITFunction
    grid: Sequence[Any]
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]


@dataclass
class HostRun:
    """The arguments of a run, which symbols stand in them, and what came of it."""

    values: dict[str, str] = field(default_factory=dict)
    """Parameters by the text of what stands for them: numbers and truth values."""
    launched: list[Launched] = field(default_factory=list)
    returned: Any = None
    guards: list[Any] = field(default_factory=list)
    """What held for the examples, and the host code has asked."""

    def __post_init__(self) -> None:
        self._environment = ShapeEnv(specialize_zero_one=False, duck_shape=False)
        self._mode = FakeTensorMode(shape_env=self._environment)
        self._integers: dict[str, Any] = {}
        self._sizes: dict[str, Any] = {}

    @property
    def names(self) -> dict[str, str]:
        """What symbols are called that may stand in expressions, by their text.

        Of sizes that have been found to be equal one symbol is left.  It has the name of a
        parameter, if one is equal, too, or of the first of them.
        """
        found: dict[str, str] = {}
        for name, size in {**self._integers, **self._sizes}.items():
            found.setdefault(str(size.node.expr), name)
        return found

    def simplified(self, expression: Any) -> Any:
        """Return an expression without what is known: one symbol for sizes that are equal."""
        return self._environment.simplify(expression)

    def size(self, name: str, example: int) -> Any:
        """Return an extent that may have any value."""
        environment, source = self._environment, ConstantSource(name)
        symbol = environment.create_symbol(
            example,
            source=source,
            dynamic_dim=DimDynamic.DYNAMIC,
            do_not_specialize_zero_one=True,
        )
        size = self._sizes[name] = environment.create_symintnode(
            symbol, hint=example, source=source
        )
        return size

    def number(self, name: str, example: bool | int | float) -> Any:
        """Return a number that may have any value."""
        environment, source = self._environment, ConstantSource(name)
        number = int(example) if isinstance(example, bool) else example
        symbol = environment.create_unspecified_symbol(
            number, source=source, dynamic_dim=DimDynamic.DYNAMIC
        )
        made: Any
        if isinstance(number, float):
            made = environment.create_symfloatnode(symbol, hint=number, source=source)
        else:
            made = environment.create_symintnode(symbol, hint=number, source=source)
        if isinstance(example, bool):
            made = made == 1
        elif isinstance(example, int):
            self._integers[name] = made
        self.values[str(made.node.expr)] = name
        return made

    def tensor(self, shape: Sequence[Any], example: torch.Tensor) -> Any:
        """Return a compact tensor without contents."""
        with self._mode, self._environment.suppress_guards():
            made = torch.empty(tuple(shape), dtype=example.dtype, device=example.device)
            made.is_contiguous()  # found out once, by asking for sizes
        return made

    def run(self, host: Callable[..., Any], arguments: Sequence[Any]) -> None:
        """Run the host code.

        Raises
        ------
        ValueError
            If it does something else than allocate and launch, or does not take the arguments.
        """
        with self._mode, _OnlyMemory(self._environment):
            try:
                self.returned = host(*arguments, _launcher=self._launch)
            except AssertionError as error:
                text = "example_args are others than the host code asserts"
                raise ValueError(f"{text}: {error}" if str(error) else text) from error
        self.guards = [guard.expr for guard in self._environment.guards]

    def _launch(self, kernel: Any, grid: Any, *arguments: Any, **options: Any) -> None:
        self.launched.append(Launched(kernel, tuple(grid), arguments, options))


class _OnlyMemory(TorchDispatchMode):  # type: ignore[misc] # mypy skips torch
    """Lets host code allocate, and look at tensors in another way."""

    def __init__(self, environment: ShapeEnv) -> None:
        super().__init__()
        self._environment = environment

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if str(function) in _ALLOCATIONS:
            # What torch asks to find strides: all tensors are compact, whatever it is told.
            with self._environment.suppress_guards():
                return function(*args, **kwargs)
        if function.namespace != "prim" and not function.is_view:
            raise ValueError(
                f"the host code runs {function} beside its kernel, and a launch plan only "
                "launches; do it in the kernel, or where it is called"
            )
        return function(*args, **kwargs)
