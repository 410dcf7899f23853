# SPDX-License-Identifier: Apache-2.0
"""What a run of host code has launched, in the words of launch plans."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from ...signature import Signature
from ...signature._expression import Extent, extent_text, names_in
from .extents import UnknownExtentError, product
from .host_run import Launched
from .parameters import Call
from .written import written_parameters

__all__ = ["Captured"]

_LARGEST_INT32 = 2**31 - 1


class Captured:
    """The only launch of a call.

    Parameters
    ----------
    call : Call
        A call that has run.
    alignment : int, optional
        Bytes of which the addresses of its tensors are multiples.

    Raises
    ------
    ValueError
        If there is none, more than one, or one that plans cannot say.
    """

    def __init__(self, call: Call, alignment: int | None = None) -> None:
        self._call = call
        self._clause = "" if alignment is None else f" align {alignment}"
        launched = self._only_launch(call.run_of_host.launched)
        self.kernel = launched.kernel
        self.constants: dict[str, Any] = {}
        self.arguments: dict[str, str] = {}
        self.element_types: dict[str, str] = {}  # of parameters that are addresses
        self._tensors: list[Any] = list(call.tensors.values())
        self._memory = {_storage(one): name for name, one in call.tensors.items()}
        self._results = self._results_of(call.run_of_host.returned)
        for parameter, value in zip(self.kernel.params, launched.arguments):
            self._pass(parameter, value)
        self.grid: list[int | str] = [
            extent_text(self._extent("the grid", one)) for one in launched.grid
        ]
        self.options = self._options(launched)
        self.signature = Signature.parse(self._signature())
        self.when = " and ".join(dict.fromkeys([*call.depends_on(), *self._index_limits()]))

    def _refuse(self, text: str) -> ValueError:
        return ValueError(f"{self._call.name}: {text}")

    def _only_launch(self, launched: list[Launched]) -> Launched:
        if len(launched) != 1:
            names = ", ".join(one.kernel.__name__ for one in launched)
            raise self._refuse(
                f"a launch plan has one launch, and the host code has {len(launched)}"
                + (f": {names}" if names else "")
            )
        return launched[0]

    def _extent(self, what: str, size: Any) -> Extent:
        try:
            return self._call.extent(size)
        except UnknownExtentError as error:
            raise self._refuse(f"{what} is `{error}`, which no expression of extents is") from None

    def _shape(self, tensor: Any) -> list[Extent]:
        return [self._extent("an extent", size) for size in tensor.shape]

    # ---- results -------------------------------------------------------------------------------

    def _results_of(self, returned: Any) -> list[Any]:
        """Return the tensors that callers get: those which the host code has allocated."""
        listed = returned if isinstance(returned, (tuple, list)) else [returned]
        found: list[Any] = []
        for one in [] if returned is None else listed:
            if not isinstance(one, torch.Tensor):
                kind = type(one).__name__
                raise self._refuse(f"the kernel returns {kind}; only tensors can be returned")
            if any(_storage(one) == _storage(other) for other in found):
                raise self._refuse("two of the kernel's results have the same memory")
            if _storage(one) not in self._memory:
                self._check_whole(one)
                found.append(one)
        for i, one in enumerate(found):
            self._memory[_storage(one)] = "result" if len(found) == 1 else f"result{i}"
        self._tensors += found
        return found

    def _check_whole(self, tensor: Any) -> None:
        """Raise ValueError unless a tensor is compact, and all of its memory."""
        held, used = tensor.untyped_storage().nbytes(), tensor.numel() * tensor.itemsize
        if not tensor.is_contiguous() or not _is_zero(_expression(held) - _expression(used)):
            shape = ", ".join(map(extent_text, self._shape(tensor)))
            raise self._refuse(f"the result of shape ({shape}) is not compact, or part of a tensor")

    # ---- what the kernel takes -----------------------------------------------------------------

    def _pass(self, parameter: Any, value: Any) -> None:
        """Say what a parameter of the kernel gets."""
        name = parameter.name
        if isinstance(value, torch.Tensor):
            self._pass_tensor(name, value)
        elif parameter.is_constexpr:
            self.constants[name] = self._constant(name, value)
        elif isinstance(value, torch.SymInt):
            extent = self._extent(f"'{name}' of the kernel", value)
            width = "int32 " if self._call.indices_are_32_bit else ""
            self.arguments[name] = f"{width}{extent_text(extent)}"
        elif isinstance(value, (torch.SymBool, torch.SymFloat)):
            passed = self._call.run_of_host.values.get(str(value.node.expr))
            if passed is None:
                raise self._refuse(f"'{name}' of the kernel is calculated: {value.node.expr}")
            self.arguments[name] = self._converted(passed)
        elif isinstance(value, int) and not isinstance(value, bool) and value != 1:
            self.arguments[name] = f"int32 {value}" if abs(value) <= _LARGEST_INT32 else str(value)
        else:
            self.constants[name] = value  # as Triton has it for None and 1

    def _converted(self, passed: str) -> str:
        return f"float32 {passed}" if self._call.numbers[passed] is float else passed

    def _constant(self, name: str, value: Any) -> Any:
        if not isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return value
        if value.node.expr.is_Integer:
            return int(value.node.expr)
        raise self._refuse(
            f"the kernel's constant '{name}' depends on extents; make them constants with "
            "hl.specialize or static_shapes=True, or loop over them (reduction_loops)"
        )

    def _pass_tensor(self, name: str, tensor: Any) -> None:
        if not isinstance(tensor, FakeTensor):
            raise self._refuse(f"'{name}' of the kernel is a tensor that is no argument")
        if self._extent(f"the offset of '{name}'", tensor.storage_offset()) != 0:
            raise self._refuse(f"'{name}' of the kernel begins inside of a tensor")
        holder = self._memory.get(_storage(tensor))
        if holder is None:
            size = self._extent(f"the size of '{name}'", tensor.untyped_storage().nbytes())
            holder = f"workspace({extent_text(size)})"
            self._memory[_storage(tensor)] = holder
        elif holder.startswith("workspace"):
            raise self._refuse(f"'{name}' of the kernel has the memory of another parameter")
        self.arguments[name] = holder
        self.element_types[name] = _dtype(tensor)
        self._tensors.append(tensor)

    # ---- the launch ----------------------------------------------------------------------------

    def _options(self, launched: Launched) -> dict[str, Any]:
        """Return the options of Triton; Helion's own ask for memory that outlives a launch."""
        own = [name for name, value in launched.options.items() if name.startswith("_") and value]
        if own:
            raise self._refuse(f"launch plans do not have what {own[0]} asks for")
        return {
            name: value
            for name, value in launched.options.items()
            if not name.startswith("_") and value is not None
        }

    def _index_limits(self) -> list[str]:
        """Return for which extents indices of 32 bits, which the kernel may have, are enough."""
        if not self._call.indices_are_32_bit:
            return []
        counts = [product(self._shape(one)) for one in self._tensors]
        return [f"{extent_text(one)} <= {_LARGEST_INT32}" for one in counts if list(names_in(one))]

    # ---- the signature -------------------------------------------------------------------------

    def _signature(self) -> str:
        addresses = [name for name in self.arguments if name in self.element_types]
        written = {
            self.arguments[name] for name in written_parameters(self.kernel.parse(), addresses)
        }
        shown: list[str] = []
        has_defaults = True
        for name, value in reversed(self._call.arguments.items()):
            if name in self._call.tensors:
                direction = "inout " if name in written else ""
                shown.insert(0, f"{name}: {direction}{self._type(value)}{self._clause}")
                has_defaults = False
            elif name in self._call.numbers:
                default = self._call.defaults[name]
                has_defaults = has_defaults and default is not inspect.Parameter.empty
                text = f" = {default!r}" if has_defaults else ""
                shown.insert(0, f"{name}: {self._call.numbers[name].__name__}{text}")
        results = [self._type(one) for one in self._results]
        returned = results[0] if len(results) == 1 else f"({', '.join(results)})"
        arrow = f" -> {returned}" if results else ""
        return f"{self._call.name}({', '.join(shown)}){arrow}"

    def _type(self, tensor: Any) -> str:
        return f"{_dtype(tensor)}[{', '.join(map(extent_text, self._shape(tensor)))}]"


def _dtype(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _storage(tensor: Any) -> int:
    address: int = tensor.untyped_storage()._cdata
    return address


def _expression(size: Any) -> Any:
    return size.node.expr if isinstance(size, torch.SymInt) else size


def _is_zero(number: Any) -> bool:
    return bool((number if isinstance(number, int) else number.expand()) == 0)
