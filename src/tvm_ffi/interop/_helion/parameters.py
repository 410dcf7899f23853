# SPDX-License-Identifier: Apache-2.0
"""The parameters of a kernel with symbols for all that callers may change, and a run with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Callable

import torch
from torch._subclasses.fake_tensor import FakeTensor

from ...signature._expression import Extent, extent_text
from .extents import UnknownExtentError, condition_of, extent_of
from .host_run import HostRun

__all__ = ["Call"]


class Call:
    """A call of a kernel's host code.

    Parameters
    ----------
    name : str
        Name of the kernel.
    declared : mapping of str to inspect.Parameter
        Its parameters.
    examples : sequence
        An argument for each.
    bound : sequence
        What Helion has made of the examples: symbols for what may change.
    environment : object
        Helion's, which knows what it has found out about symbols.
    """

    def __init__(
        self,
        name: str,
        declared: Mapping[str, Any],
        examples: Sequence[Any],
        bound: Sequence[Any],
        environment: Any,
    ) -> None:
        self.name, self.run_of_host = name, HostRun()
        self.defaults = {one: parameter.default for one, parameter in declared.items()}
        self.indices_are_32_bit = environment.index_dtype == torch.int32
        self.arguments: dict[str, Any] = {}
        self.numbers: dict[str, type] = {}
        self._simplify = environment.shape_env.simplify
        self._ours: dict[str, Any] = {}  # symbols of the run by those of Helion
        self._unequal: list[tuple[Any, int]] = []
        self._taken = set(declared)
        self._check_examples(declared, examples)
        for one, example, symbolic in zip(declared, examples, bound):
            self.arguments[one] = self._argument(one, example, symbolic)

    @property
    def tensors(self) -> dict[str, Any]:
        """The parameters that are tensors."""
        return {name: one for name, one in self.arguments.items() if isinstance(one, torch.Tensor)}

    def extent(self, size: Any) -> Extent:
        """Return a size in the run as an extent of the signature."""
        return extent_of(size, self.run_of_host.names)

    # ---- arguments -----------------------------------------------------------------------------

    def _check_examples(self, declared: Mapping[str, Any], examples: Sequence[Any]) -> None:
        seen: dict[int, str] = {}
        for name, example in zip(declared, examples):
            where = f"{self.name}: example of '{name}'"
            if _has_tensors(example):
                kind = type(example).__name__
                raise TypeError(f"{where}: a tensor is expected, got {kind} of them")
            if not isinstance(example, torch.Tensor):
                continue
            if example.layout != torch.strided:
                raise TypeError(f"{where}: a dense tensor is expected, got {example.layout}")
            if not example.is_contiguous():
                raise ValueError(
                    f"{where}: expected a compact tensor, got strides {tuple(example.stride())}"
                )
            address = 0 if isinstance(example, FakeTensor) else example.data_ptr()
            other = seen.setdefault(address, name)
            if other != name and address != 0:  # 0 where there are no contents
                raise ValueError(f"{where}: it has the memory of '{other}'; give it its own")

    def _argument(self, name: str, example: Any, symbolic: Any) -> Any:
        if isinstance(example, torch.Tensor):
            shape = [
                self._size(name, axis, size, example) for axis, size in enumerate(symbolic.shape)
            ]
            return self.run_of_host.tensor(shape, example)
        is_symbol = isinstance(symbolic, (torch.SymInt, torch.SymFloat, torch.SymBool))
        if not is_symbol or self._simplify(symbolic.node.expr).is_number:
            return example  # a constant of the kernel
        self.numbers[name] = type(example)
        made = self._ours[str(symbolic.node.expr)] = self.run_of_host.number(name, example)
        return made

    def _size(self, name: str, axis: int, size: Any, example: torch.Tensor) -> Any:
        """Return an extent: a number, or one symbol for all that Helion knows to be equal."""
        known = self._simplify(size.node.expr) if isinstance(size, torch.SymInt) else size
        if isinstance(known, int) or known.is_Integer:
            return int(known)
        symbol = str(known)
        if symbol not in self._ours:
            if not known.is_Symbol:
                raise ValueError(f"{self.name}: dimension {axis} of '{name}' must be {symbol}")
            extent = f"{name}{axis}"
            while extent in self._taken:
                extent += "_"
            self._taken.add(extent)
            self._ours[symbol] = self.run_of_host.size(extent, example.shape[axis])
        return self._ours[symbol]

    # ---- the run -------------------------------------------------------------------------------

    def rely_on(self, guards: Sequence[Any]) -> None:
        """Note that the compiler has relied on a size not being some number.

        Other comparisons of it are of sizes of tiles, or have made sizes equal.
        """
        for guard in guards:
            relation = guard.expr
            if type(relation).__name__ == "Unequality" and relation.args[1].is_Integer:
                size = self._ours.get(str(relation.args[0]))
                if isinstance(size, torch.SymInt):
                    self._unequal.append((size, int(relation.args[1])))

    def run(self, host: Callable[..., Any]) -> None:
        """Run the host code."""
        try:
            self.run_of_host.run(host, list(self.arguments.values()))
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from error

    def depends_on(self) -> list[str]:
        """Return what has to hold for arguments, so that the host code would do the same."""
        run = self.run_of_host
        sizes = [(self.extent(size), number) for size, number in self._unequal]
        found = [f"{extent_text(one)} != {number}" for one, number in sizes if one != number]
        for guard in map(run.simplified, run.guards):
            if not guard.args:
                continue  # of sizes that have become one
            try:
                found.append(condition_of(guard, run.names))
            except UnknownExtentError as error:
                raise ValueError(
                    f"{self.name}: the host code asks whether `{error}`, which conditions of a "
                    "launch plan cannot say; make it a constant with hl.specialize"
                ) from None
        for name, kind in self.numbers.items():
            extent = extent_text(self.extent(self.arguments[name])) if kind is int else name
            if extent != name:
                found.append(f"{name} == {extent}")
        return found


def _has_tensors(example: Any) -> bool:
    """Whether an example is a container with tensors in it."""
    if not isinstance(example, (list, tuple, dict)):
        return False
    values = example.values() if isinstance(example, dict) else example
    return any(isinstance(one, torch.Tensor) or _has_tensors(one) for one in values)
