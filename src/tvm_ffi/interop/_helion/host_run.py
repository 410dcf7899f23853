# SPDX-License-Identifier: Apache-2.0
"""A run of a Helion kernel's host code on fake tensors with symbolic extents.

The run records launches and the returned value.  torch records guards, as for ``torch.compile``: a
guard is a comparison of sizes on which the host code branched.
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

__all__ = ["HostRun", "LaunchRecord"]

_ALLOCATIONS = {
    "aten.empty.memory_format",
    "aten.empty_like.default",
    "aten.empty_strided.default",
    "aten.new_empty.default",
    "aten.new_empty_strided.default",
}


@dataclass(frozen=True)
class LaunchRecord:
    """One kernel launch: the arguments that the host code passed to Helion's launcher."""

    kernel: Any  # triton.JITFunction
    grid: Sequence[Any]
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]


@dataclass
class HostRun:
    """The symbols in the arguments of a host-code run, and the launches that the run recorded."""

    parameter_names: dict[str, str] = field(default_factory=dict)
    """Names of the parameters that are numbers or bools, by the text of the parameter's symbol."""
    launches: list[LaunchRecord] = field(default_factory=list)
    returned: Any = None
    guards: list[Any] = field(default_factory=list)
    """Conditions on which the host code branched; they hold for the example arguments."""

    def __post_init__(self) -> None:
        self._environment = ShapeEnv(specialize_zero_one=False, duck_shape=False)
        self._mode = FakeTensorMode(shape_env=self._environment)
        self._integer_symbols: dict[str, Any] = {}
        self._size_symbols: dict[str, Any] = {}

    @property
    def names(self) -> dict[str, str]:
        """The names of symbolic sizes, by the text of the symbol.

        torch merges sizes that are equal into one symbol.  The symbol is named after an equal
        integer parameter if there is one, else after the first of the equal extents.
        """
        names: dict[str, str] = {}
        for name, size in {**self._integer_symbols, **self._size_symbols}.items():
            names.setdefault(str(size.node.expr), name)
        return names

    def simplified(self, expression: Any) -> Any:
        """Return an expression simplified by the known equalities of sizes."""
        return self._environment.simplify(expression)

    def size(self, name: str, example: int) -> Any:
        """Return a new symbolic extent with the value of an example."""
        environment, source = self._environment, ConstantSource(name)
        symbol = environment.create_symbol(
            example,
            source=source,
            dynamic_dim=DimDynamic.DYNAMIC,
            do_not_specialize_zero_one=True,
        )
        size = self._size_symbols[name] = environment.create_symintnode(
            symbol, hint=example, source=source
        )
        return size

    def number(self, name: str, example: bool | int | float) -> Any:
        """Return a new symbolic number or bool with the value of an example."""
        environment, source = self._environment, ConstantSource(name)
        number = int(example) if isinstance(example, bool) else example
        symbol = environment.create_unspecified_symbol(
            number, source=source, dynamic_dim=DimDynamic.DYNAMIC
        )
        symbolic: Any
        if isinstance(number, float):
            symbolic = environment.create_symfloatnode(symbol, hint=number, source=source)
        else:
            symbolic = environment.create_symintnode(symbol, hint=number, source=source)
        if isinstance(example, bool):
            symbolic = symbolic == 1
        elif isinstance(example, int):
            self._integer_symbols[name] = symbolic
        self.parameter_names[str(symbolic.node.expr)] = name
        return symbolic

    def tensor(self, shape: Sequence[Any], example: torch.Tensor) -> Any:
        """Return a compact fake tensor with the dtype and device of an example."""
        with self._mode, self._environment.suppress_guards():
            fake = torch.empty(tuple(shape), dtype=example.dtype, device=example.device)
            # torch caches the result of `is_contiguous`.  Call the method here, where guards are
            # suppressed, so that its comparisons of sizes add none.
            fake.is_contiguous()
        return fake

    def run(self, host: Callable[..., Any], arguments: Sequence[Any]) -> None:
        """Run the host code.

        Raises
        ------
        ValueError
            If the host code does more than allocate tensors and launch kernels, or if an assertion
            in it fails.
        """
        with self._mode, _AllocationsAndViewsMode(self._environment):
            try:
                self.returned = host(*arguments, _launcher=self._launch)
            except AssertionError as error:
                text = "example_args do not satisfy an assertion of the host code"
                raise ValueError(f"{text}: {error}" if str(error) else text) from error
        self.guards = [guard.expr for guard in self._environment.guards]

    def _launch(self, kernel: Any, grid: Any, *arguments: Any, **options: Any) -> None:
        self.launches.append(LaunchRecord(kernel, tuple(grid), arguments, options))


class _AllocationsAndViewsMode(TorchDispatchMode):  # type: ignore[misc] # mypy skips torch
    """Dispatch mode that rejects torch operations other than allocations and views."""

    def __init__(self, environment: ShapeEnv) -> None:
        super().__init__()
        self._environment = environment

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if str(function) in _ALLOCATIONS:
            # torch compares sizes to compute strides.  These comparisons are not conditions of the
            # launch, because all tensors are compact.
            with self._environment.suppress_guards():
                return function(*args, **kwargs)
        if function.namespace != "prim" and not function.is_view:
            raise ValueError(
                f"the host code runs {function}, but a launch plan only launches a kernel; move "
                "the operation into the kernel or to the caller"
            )
        return function(*args, **kwargs)
