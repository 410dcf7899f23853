# SPDX-License-Identifier: Apache-2.0
"""The kernel launch that a run of Helion host code recorded, as arguments of a launch plan."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from ...signature import Signature
from ...signature._expression import Extent, extent_text, names_in
from .extents import UnknownExtentError, product
from .host_call import HostCall
from .host_run import LaunchRecord
from .pointer_writes import written_parameters

__all__ = ["CapturedLaunch"]

_LARGEST_INT32 = 2**31 - 1


class CapturedLaunch:
    """The single kernel launch of a host-code run, as arguments of a launch plan.

    Parameters
    ----------
    call : HostCall
        A call whose host code has run.
    alignment : int, optional
        Alignment of the addresses of all tensor arguments, in bytes.

    Raises
    ------
    ValueError
        If the host code launched no kernel or several kernels, or a launch plan cannot express the
        launch.
    """

    def __init__(self, call: HostCall, alignment: int | None = None) -> None:
        self._call = call
        self._align_clause = "" if alignment is None else f" align {alignment}"
        launch = self._only_launch(call.host_run.launches)
        self.kernel = launch.kernel
        self.constants: dict[str, Any] = {}
        self.arguments: dict[str, str] = {}
        # The dtype of the memory that a pointer parameter addresses, by parameter name.
        self.element_types: dict[str, str] = {}
        self._tensors: list[Any] = list(call.tensors.values())
        self._memory = {_storage(tensor): name for name, tensor in call.tensors.items()}
        self._results = self._results_of(call.host_run.returned)
        for parameter, value in zip(self.kernel.params, launch.arguments):
            self._pass(parameter, value)
        self.grid: list[int | str] = [
            extent_text(self._extent("the grid", extent)) for extent in launch.grid
        ]
        self.options = self._options(launch)
        self.signature = Signature.parse(self._signature())
        self.when = " and ".join(dict.fromkeys([*call.conditions(), *self._index_limits()]))

    def _error(self, message: str) -> ValueError:
        return ValueError(f"{self._call.name}: {message}")

    def _only_launch(self, launches: list[LaunchRecord]) -> LaunchRecord:
        if len(launches) != 1:
            names = ", ".join(launch.kernel.__name__ for launch in launches)
            raise self._error(
                f"expected one kernel launch in the host code, got {len(launches)}"
                + (f": {names}" if names else "")
            )
        return launches[0]

    def _extent(self, subject: str, size: Any) -> Extent:
        try:
            return self._call.extent(size)
        except UnknownExtentError as error:
            raise self._error(
                f"{subject} is `{error}`, which cannot be written as an expression of extents"
            ) from None

    def _shape(self, tensor: Any) -> list[Extent]:
        return [self._extent("an extent", size) for size in tensor.shape]

    # ---- results of the signature --------------------------------------------------------------

    def _results_of(self, returned: Any) -> list[Any]:
        """Return the results of the signature: the returned tensors that the host code allocated.

        A returned tensor that is an argument of the call is an ``inout`` parameter, not a result.
        """
        listed = returned if isinstance(returned, (tuple, list)) else [returned]
        results: list[Any] = []
        for tensor in [] if returned is None else listed:
            if not isinstance(tensor, torch.Tensor):
                kind = type(tensor).__name__
                raise self._error(f"the kernel returns {kind}; only tensors can be returned")
            if any(_storage(tensor) == _storage(other) for other in results):
                raise self._error(
                    "two of the kernel's results share memory, but a launch plan returns separate "
                    "tensors"
                )
            if _storage(tensor) not in self._memory:
                self._check_whole(tensor)
                results.append(tensor)
        for i, tensor in enumerate(results):
            self._memory[_storage(tensor)] = "result" if len(results) == 1 else f"result{i}"
        self._tensors += results
        return results

    def _check_whole(self, tensor: Any) -> None:
        """Raise ValueError unless a tensor is compact and fills its storage."""
        size_bytes, used_bytes = tensor.untyped_storage().nbytes(), tensor.numel() * tensor.itemsize
        difference = _expression(size_bytes) - _expression(used_bytes)
        if not tensor.is_contiguous() or not _is_zero(difference):
            shape = ", ".join(map(extent_text, self._shape(tensor)))
            raise self._error(
                f"the result of shape ({shape}) is not compact, or is a view of a larger tensor"
            )

    # ---- kernel arguments ----------------------------------------------------------------------

    def _pass(self, parameter: Any, value: Any) -> None:
        """Record the constant or the argument expression that a kernel parameter gets."""
        name = parameter.name
        if isinstance(value, torch.Tensor):
            self._pass_tensor(name, value)
        elif parameter.is_constexpr:
            self.constants[name] = self._constant(name, value)
        elif isinstance(value, torch.SymInt):
            extent = self._extent(f"kernel argument '{name}'", value)
            width = "int32 " if self._call.indices_are_32_bit else ""
            self.arguments[name] = f"{width}{extent_text(extent)}"
        elif isinstance(value, (torch.SymBool, torch.SymFloat)):
            source = self._call.host_run.parameter_names.get(str(value.node.expr))
            if source is None:
                raise self._error(
                    f"kernel argument '{name}' is `{value.node.expr}`, which the host code "
                    "computes; pass a parameter of the kernel unchanged"
                )
            self.arguments[name] = self._number_argument(source)
        elif isinstance(value, int) and not isinstance(value, bool) and value != 1:
            self.arguments[name] = f"int32 {value}" if abs(value) <= _LARGEST_INT32 else str(value)
        else:
            self.constants[name] = value  # like constants, None and 1 are compiled into the kernel

    def _number_argument(self, parameter: str) -> str:
        is_float = self._call.numbers[parameter] is float
        return f"float32 {parameter}" if is_float else parameter

    def _constant(self, name: str, value: Any) -> Any:
        if not isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return value
        if value.node.expr.is_Integer:
            return int(value.node.expr)
        raise self._error(
            f"the kernel's constant '{name}' depends on extents; make the extents constants with "
            "hl.specialize or static_shapes=True, or set reduction_loops in the config"
        )

    def _pass_tensor(self, name: str, tensor: Any) -> None:
        if not isinstance(tensor, FakeTensor):
            raise self._error(
                f"kernel argument '{name}' is a tensor from outside of the call; pass the "
                "tensor to the Helion kernel as an argument"
            )
        if self._extent(f"the offset of '{name}'", tensor.storage_offset()) != 0:
            raise self._error(
                f"kernel argument '{name}' is a view with an offset into a tensor, but a launch "
                "plan can pass only whole tensors"
            )
        memory = self._memory.get(_storage(tensor))
        if memory is None:
            size_bytes = self._extent(f"the size of '{name}'", tensor.untyped_storage().nbytes())
            memory = f"workspace({extent_text(size_bytes)})"
            self._memory[_storage(tensor)] = memory
        elif memory.startswith("workspace"):
            raise self._error(
                f"kernel argument '{name}' shares a temporary tensor's memory with another kernel "
                "argument"
            )
        self.arguments[name] = memory
        self.element_types[name] = _dtype(tensor)
        self._tensors.append(tensor)

    # ---- launch options and conditions ---------------------------------------------------------

    def _options(self, launch: LaunchRecord) -> dict[str, Any]:
        """Return the Triton options of a launch.

        Helion's options that begin with an underscore request memory that outlives the launch,
        which launch plans do not support.
        """
        private = [name for name, value in launch.options.items() if name.startswith("_") and value]
        if private:
            raise self._error(f"launch plans do not support Helion's option {private[0]}")
        return {
            name: value
            for name, value in launch.options.items()
            if not name.startswith("_") and value is not None
        }

    def _index_limits(self) -> list[str]:
        """Return the conditions on extents under which 32-bit indices do not overflow."""
        if not self._call.indices_are_32_bit:
            return []
        counts = [product(self._shape(tensor)) for tensor in self._tensors]
        return [
            f"{extent_text(count)} <= {_LARGEST_INT32}" for count in counts if list(names_in(count))
        ]

    # ---- text of the signature -----------------------------------------------------------------

    def _signature(self) -> str:
        pointers = [name for name in self.arguments if name in self.element_types]
        written = {
            self.arguments[name] for name in written_parameters(self.kernel.parse(), pointers)
        }
        declarations: list[str] = []
        has_defaults = True
        for name, value in reversed(self._call.arguments.items()):
            if name in self._call.tensors:
                direction = "inout " if name in written else ""
                type_text = f"{direction}{self._type(value)}{self._align_clause}"
                declarations.insert(0, f"{name}: {type_text}")
                has_defaults = False
            elif name in self._call.numbers:
                default = self._call.defaults[name]
                has_defaults = has_defaults and default is not inspect.Parameter.empty
                default_text = f" = {default!r}" if has_defaults else ""
                declarations.insert(0, f"{name}: {self._call.numbers[name].__name__}{default_text}")
        results = [self._type(tensor) for tensor in self._results]
        returned = results[0] if len(results) == 1 else f"({', '.join(results)})"
        arrow = f" -> {returned}" if results else ""
        return f"{self._call.name}({', '.join(declarations)}){arrow}"

    def _type(self, tensor: Any) -> str:
        return f"{_dtype(tensor)}[{', '.join(map(extent_text, self._shape(tensor)))}]"


def _dtype(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _storage(tensor: Any) -> int:
    """Return the address of a tensor's storage object, which identifies its memory."""
    address: int = tensor.untyped_storage()._cdata
    return address


def _expression(size: Any) -> Any:
    return size.node.expr if isinstance(size, torch.SymInt) else size


def _is_zero(number: Any) -> bool:
    return bool((number if isinstance(number, int) else number.expand()) == 0)
