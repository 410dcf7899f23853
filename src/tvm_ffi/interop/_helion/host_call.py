# SPDX-License-Identifier: Apache-2.0
"""A call of a Helion kernel's host code, with symbols for extents and numbers that may vary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Callable

import torch
from torch._subclasses.fake_tensor import FakeTensor

from ...signature._expression import Extent, extent_text
from .extents import UnknownExtentError, condition_of, extent_of
from .host_run import HostRun

__all__ = ["HostCall"]


class HostCall:
    """A call of a Helion kernel's host code with symbolic arguments.

    Parameters
    ----------
    name : str
        Name of the kernel.
    declared : mapping of str to inspect.Parameter
        Parameters of the kernel.
    examples : sequence
        An example argument for each parameter.
    bound : sequence
        Helion's fake arguments: `examples` with symbols for extents and numbers that may vary.
    environment : object
        Helion's compile environment, which simplifies expressions of these symbols.
    """

    def __init__(
        self,
        name: str,
        declared: Mapping[str, Any],
        examples: Sequence[Any],
        bound: Sequence[Any],
        environment: Any,
    ) -> None:
        self.name, self.host_run = name, HostRun()
        self.defaults = {name: parameter.default for name, parameter in declared.items()}
        self.indices_are_32_bit = environment.index_dtype == torch.int32
        self.arguments: dict[str, Any] = {}
        self.numbers: dict[str, type] = {}
        self._simplify = environment.shape_env.simplify
        # The symbols of extents and numbers in this run, by the names of the corresponding symbols
        # of Helion's compiler.
        self._run_symbols: dict[str, Any] = {}
        self._unequal: list[tuple[Any, int]] = []
        self._used_names = set(declared)
        self._check_examples(declared, examples)
        for parameter, example, symbolic in zip(declared, examples, bound):
            self.arguments[parameter] = self._argument(parameter, example, symbolic)

    @property
    def tensors(self) -> dict[str, Any]:
        """The tensor arguments by parameter name."""
        return {
            name: value for name, value in self.arguments.items() if isinstance(value, torch.Tensor)
        }

    def extent(self, size: Any) -> Extent:
        """Return a symbolic size of this run as an extent of the signature."""
        return extent_of(size, self.host_run.names)

    # ---- arguments of the host code ------------------------------------------------------------

    def _check_examples(self, declared: Mapping[str, Any], examples: Sequence[Any]) -> None:
        seen: dict[int, str] = {}
        for name, example in zip(declared, examples):
            where = f"{self.name}: example of '{name}'"
            if _has_tensors(example):
                kind = type(example).__name__
                raise TypeError(f"{where}: expected a tensor, got {kind} of tensors")
            if not isinstance(example, torch.Tensor):
                continue
            if example.layout != torch.strided:
                raise TypeError(f"{where}: expected a dense tensor, got {example.layout}")
            if not example.is_contiguous():
                raise ValueError(
                    f"{where}: expected a compact tensor, got strides {tuple(example.stride())}"
                )
            address = 0 if isinstance(example, FakeTensor) else example.data_ptr()
            other = seen.setdefault(address, name)
            # Fake tensors and empty tensors have address 0 although they do not share memory.
            if other != name and address != 0:
                raise ValueError(
                    f"{where}: expected separate memory, got the memory of '{other}'; pass a copy"
                )

    def _argument(self, name: str, example: Any, symbolic: Any) -> Any:
        if isinstance(example, torch.Tensor):
            shape = [
                self._size(name, axis, size, example) for axis, size in enumerate(symbolic.shape)
            ]
            return self.host_run.tensor(shape, example)
        is_symbol = isinstance(symbolic, (torch.SymInt, torch.SymFloat, torch.SymBool))
        if not is_symbol or self._simplify(symbolic.node.expr).is_number:
            # Helion has compiled the parameter's value into the kernel, so it needs no symbol.
            return example
        self.numbers[name] = type(example)
        number = self._run_symbols[str(symbolic.node.expr)] = self.host_run.number(name, example)
        return number

    def _size(self, name: str, axis: int, size: Any, example: torch.Tensor) -> Any:
        """Return an extent as a number or a symbol; equal extents share one symbol."""
        known = self._simplify(size.node.expr) if isinstance(size, torch.SymInt) else size
        if isinstance(known, int) or known.is_Integer:
            return int(known)
        symbol = str(known)
        if symbol not in self._run_symbols:
            if not known.is_Symbol:
                raise ValueError(
                    f"{self.name}: Helion compiled the extent of dimension {axis} of '{name}' as "
                    f"`{symbol}`, but a launch plan needs a number or a name"
                )
            extent = f"{name}{axis}"
            while extent in self._used_names:
                extent += "_"
            self._used_names.add(extent)
            self._run_symbols[symbol] = self.host_run.size(extent, example.shape[axis])
        return self._run_symbols[symbol]

    # ---- run of the host code ------------------------------------------------------------------

    def add_guards(self, guards: Sequence[Any]) -> None:
        """Record the conditions ``size != number`` that Helion's compiler assumed.

        The other guards of Helion's compiler need no condition.  They compare tile sizes, or they
        state that two sizes are equal; equal sizes already share one symbol.
        """
        for guard in guards:
            relation = guard.expr
            if type(relation).__name__ == "Unequality" and relation.args[1].is_Integer:
                size = self._run_symbols.get(str(relation.args[0]))
                if isinstance(size, torch.SymInt):
                    self._unequal.append((size, int(relation.args[1])))

    def run(self, host: Callable[..., Any]) -> None:
        """Run the host code on the symbolic arguments."""
        try:
            self.host_run.run(host, list(self.arguments.values()))
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from error

    def conditions(self) -> list[str]:
        """Return the conditions under which the host code takes the branches that this run took."""
        run = self.host_run
        sizes = [(self.extent(size), number) for size, number in self._unequal]
        conditions = [
            f"{extent_text(size)} != {number}" for size, number in sizes if size != number
        ]
        for guard in map(run.simplified, run.guards):
            if not guard.args:
                continue  # The guard always holds, because both sides simplify to the same value.
            try:
                conditions.append(condition_of(guard, run.names))
            except UnknownExtentError as error:
                raise ValueError(
                    f"{self.name}: the host code branches on `{error}`, which a condition of a "
                    "launch plan cannot express; make it a constant with hl.specialize"
                ) from None
        for name, kind in self.numbers.items():
            extent = extent_text(self.extent(self.arguments[name])) if kind is int else name
            if extent != name:
                conditions.append(f"{name} == {extent}")
        return conditions


def _has_tensors(example: Any) -> bool:
    """Return True for a list, tuple or dict that contains tensors, also in nested containers."""
    if not isinstance(example, (list, tuple, dict)):
        return False
    values = example.values() if isinstance(example, dict) else example
    return any(isinstance(value, torch.Tensor) or _has_tensors(value) for value in values)
