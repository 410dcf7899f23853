# SPDX-License-Identifier: Apache-2.0
"""Launch programs: launch plans as bytes for the CUDA modules of the runtime.

``runtime/extra/cuda/launch_program.h`` describes the byte format. A launch program contains the
check program of its signature; the messages of launch sizes come from `_launch_checks`, as for
generated C.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .._schema.dtypes import integer_range
from ..signature import Result, TensorType
from ..signature._check_program import (
    NONE,
    CheckWriter,
    Label,
    counted,
    float_bits,
    gap_of,
    string,
    words,
)
from ..signature._checks import Failure
from ..signature._expression import Extent
from ._call_errors import (
    does_not_fit,
    negative_extent,
    negative_workspace,
    operation_failures,
    result_prefix,
    too_many_dimensions,
)
from ._conditions import emit_condition
from ._device_image import DeviceImage
from ._launch import LaunchPlan
from ._launch_checks import (
    Bound,
    bounds,
    device_mismatches,
    device_parameter,
    fields,
    kernel_types,
    no_image_failure,
    no_variant_failure,
)
from ._launch_parts import Condition, Launch
from ._wrapper import MAX_NDIM, Argument, result_names, source_of

__all__ = ["launch_program"]

_VERSION = 2
# Kinds of kernel arguments, as in the runtime (ORDER launch-argument-kinds).
_REGISTER, _FLOAT32, _TENSOR, _WORKSPACE = range(4)
_NUMBERS = {"size": "size", "ndim": "num_dims", "device": "device_number"}
_AXES = {"shape": "extent", "strides": "stride"}


def launch_program(plan: LaunchPlan, images: Sequence[DeviceImage]) -> bytes:
    """Return the launch program of a launch plan.

    Parameters
    ----------
    plan : LaunchPlan
        The launch plan.
    images : sequence of DeviceImage
        All device images of the module; the launch program refers to them by index.
    """
    return _Writer(plan, images).write()


class _ResultRow(NamedTuple):
    """A row of the result table.

    The row has the registers of the extents; the argument and the dimensions with the extents of an
    ellipsis; the possible dtypes; and the register of the dtype's index.
    """

    extents: tuple[int, ...]
    gap: tuple[int, ...]
    dtypes: tuple[str, ...]
    dtype_index: int


class _Writer:
    """Writes the launch program of one launch plan."""

    def __init__(self, plan: LaunchPlan, images: Sequence[DeviceImage]) -> None:
        self._plan, self._images = plan, images
        self._signature = plan.signature
        count = len(plan.signature.results)
        self._checks = CheckWriter(plan.signature, keeps_values=True, num_results=count)
        self._out = self._checks.out
        self._results = [self._new_result(result) for result in plan.signature.results]

    def write(self) -> bytes:
        """Return the bytes of the launch program."""
        self._checks.write_checks()
        first = device_parameter(self._signature)
        for parameter, failure in device_mismatches(self._signature):
            assert first is not None
            positions = self._tensor_index(parameter.name), self._tensor_index(first.name)
            self._out.emit("same_device", *positions, failure)
        self._out.emit("end")
        variants = [self._variant(launch) for launch in self._plan.launches]
        name, launches = self._plan.name, self._plan.launches
        position = NONE if first is None else self._tensor_index(first.name)
        no_variant = self._out.failure(no_variant_failure(name, launches))
        no_image = self._out.failure(no_image_failure(name, launches))
        # Encode the results before the tables, because a result may add a set to the dtype table.
        tables = words(position, no_variant, no_image) + self._result_table() + counted(variants)
        head = words(_VERSION, len(self._signature.results))
        return head + self._checks.encoded() + tables

    def _value(self, extent: Extent, failures: Mapping[str, Failure]) -> int:
        return self._checks.value(extent, failures)

    def _plan_value(self, extent: Extent) -> int:
        where = f"{self._plan.name}(): "
        return self._value(extent, operation_failures(where, extent))

    # ---- launch variants ---------------------------------------------------------------------

    def _variant(self, launch: Launch) -> bytes:
        """Emit the launch sizes and arguments of a launch variant; return its encoded table row."""
        condition, result = self._condition(launch.when)
        start = len(self._out.code)
        self._checks.known.clear()
        registers = [self._bounded(bound) for bound in bounds(self._plan.name, launch)]
        signature = self._plan.wrapper_of(launch).signature
        arguments = [
            self._argument(argument, type_)
            for argument, type_ in zip(launch.arguments, kernel_types(signature, launch.arguments))
        ]
        kernels, kernel_index = list(launch.kernels.values()), self._kernel_index()
        self._result_extents()
        self._out.emit("end")
        flags = (launch.cluster is not None) + 2 * launch.cooperative + 4 * launch.programmatic
        return b"".join(
            (
                counted(words(self._images.index(image)) for image in launch.images),
                counted(map(string, kernels)),
                words(kernel_index, condition, result, start),
                words(*registers[: len(fields(launch))], flags),
                counted(words(*argument) for argument in arguments),
            )
        )

    def _condition(self, when: Iterable[Condition]) -> tuple[int, int]:
        """Emit the condition of a launch variant; return its code address and result register."""
        start, label, result = len(self._out.code), Label(), self._out.register()
        when = tuple(when)
        if not when:
            return NONE, result
        for condition in when:
            emit_condition(self._checks, self._signature, condition, result)
            self._out.emit("jump_if_zero", result, label)
        self._out.bind(label)
        self._out.emit("end")
        return start, result

    def _bounded(self, bound: Bound) -> int:
        register = self._plan_value(bound.extent)
        if not isinstance(bound.extent, int):
            self._out.emit("range", register, bound.least, bound.most, bound.failure)
        return register

    def _kernel_index(self) -> int:
        """Emit the index of the kernel for the dtypes; return the index's register, or `NONE`.

        The result is `NONE` if the signature has no dtype variables, so there is only one kernel.
        """
        index: int | None = None
        for name, dtypes in self._signature.dtype_variables.items():
            position = self._variable_index(name)
            if index is not None:
                scaled, total = self._out.register(), self._out.register()
                impossible = Failure("ValueError", "too many kernels")
                count = self._out.register(len(dtypes))
                self._out.emit("multiply", scaled, index, count, impossible)
                self._out.emit("add", total, scaled, position, impossible)
                position = total
            index = position
        return NONE if index is None else index

    def _variable_index(self, name: str) -> int:
        register = self._out.register()
        impossible = Failure("ValueError", "too many kernels")
        self._out.emit(
            "subtract", register, self._checks.variables[name], self._out.register(1), impossible
        )
        return register

    def _argument(self, argument: Argument, type_: str) -> tuple[int, int]:
        """Emit the evaluation of a kernel argument; return the kind, and the register or index."""
        kind = argument.kind
        if kind == "address":
            return _TENSOR, self._tensor_index(argument.source)
        if kind in ("constant", "null"):
            is_float = type_.startswith("float")
            bits = float_bits(argument.number) if is_float else int(argument.number)
            return _FLOAT32 if type_ == "float32" else _REGISTER, self._out.register(bits)
        if kind == "value":
            return _FLOAT32 if type_ == "float32" else _REGISTER, self._checks.values[
                argument.source
            ]
        if kind in ("extent", "workspace"):
            register = self._plan_value(argument.extent)
        elif kind in _AXES:
            register = self._out.register()
            index = self._tensor_index(argument.source)
            self._out.emit(_AXES[kind], register, index, argument.axis or 0)
        else:
            register = self._out.register()
            self._out.emit(_NUMBERS[kind], register, self._tensor_index(argument.source))
        self._check_argument(argument, register)
        return _WORKSPACE if kind == "workspace" else _REGISTER, register

    def _check_argument(self, argument: Argument, register: int) -> None:
        limits = integer_range(argument.dtype or "int64")
        if argument.kind == "workspace":
            limits = 0, 2**63 - 1
            failure = negative_workspace(self._plan.name, argument)
        else:
            failure = does_not_fit(self._plan.name, argument)
        if limits is not None and limits != (-(2**63), 2**63 - 1):
            self._out.emit("range", register, limits[0], min(limits[1], 2**63 - 1), failure)

    def _tensor_index(self, name: str) -> int:
        names = [parameter.name for parameter in self._signature.parameters]
        return [*names, *result_names(self._signature)].index(name)

    # ---- results -----------------------------------------------------------------------------

    def _result_extents(self) -> None:
        """Emit the extents of all results into registers that all launch variants use."""
        for row, name, result in zip(
            self._results, result_names(self._signature), self._signature.results
        ):
            type_ = result.type
            assert isinstance(type_, TensorType)
            where = result_prefix(self._plan.name, name)
            for axis, extent in enumerate(type_.shape or ()):
                if extent == type_.ellipsis:
                    self._dimensions_fit(type_, row.gap, where)
                    continue
                register = self._value(extent, operation_failures(where, extent))
                if not isinstance(extent, int):
                    failure = negative_extent(where, type_, axis)
                    self._out.emit("range", register, 0, 2**63 - 1, failure)
                self._copy(row.extents[axis], register)
            if type_.variable is not None:
                self._copy(row.dtype_index, self._variable_index(type_.variable))

    def _dimensions_fit(self, type_: TensorType, gap: tuple[int, ...], where: str) -> None:
        """Emit the comparison of an ellipsis' number of dimensions with that of other forms."""
        num_others = len(type_.shape or ()) - 1
        failure = too_many_dimensions(where, str(type_.ellipsis), num_others)
        ndim, count, outside = self._out.register(), self._out.register(), gap[2]
        self._out.emit("num_dims", ndim, gap[0])
        self._out.emit("subtract", count, ndim, self._out.register(outside), failure)
        self._out.emit("range", count, 0, MAX_NDIM - num_others, failure)

    def _copy(self, target: int, source: int) -> None:
        self._out.emit("maximum", target, source, source)

    def _new_result(self, result: Result) -> _ResultRow:
        type_ = result.type
        assert isinstance(type_, TensorType)
        extents = tuple(
            NONE if extent == type_.ellipsis else self._out.register()
            for extent in type_.shape or ()
        )
        gap: tuple[int, ...] = ()
        if type_.ellipsis is not None:
            source = source_of(self._signature, type_.ellipsis)
            gap = (self._signature.parameters.index(source), *gap_of(source.type))
        index = NONE if type_.variable is None else self._out.register()
        return _ResultRow(extents, gap, self._signature.dtypes_of(type_), index)

    def _result_table(self) -> bytes:
        return b"".join(
            counted(map(words, row.extents))
            + words(*row.gap)
            + words(self._out.dtypes(row.dtypes), row.dtype_index)
            for row in self._results
        )
