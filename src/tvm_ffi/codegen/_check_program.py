# SPDX-License-Identifier: Apache-2.0
"""Check programs: launch plans as instructions for the interpreter in the runtime's CUDA modules.

``runtime/extra/cuda/launch_program.h`` describes the byte format and each operation. The checks,
their order and their messages come from `tvm_ffi.signature` and `_launch_checks`, as for generated
C.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .._binding.values import Device
from .._dtype import dtype
from .._schema.dtypes import integer_range
from ..signature import EMPTY, Parameter, Result, ScalarType, TensorType
from ..signature._checks import (
    Check,
    Failure,
    accepted_type_names,
    checks,
    missing_arguments,
    too_many_arguments,
)
from ..signature._expression import Expression, Extent, names_in
from ..signature._types import ELLIPSIS
from ._call_errors import (
    does_not_fit,
    negative_extent,
    negative_workspace,
    operation_failures,
    result_prefix,
)
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
from ._wrapper import Argument, is_optional, result_names

__all__ = ["program_of"]

_VERSION = 1
_NONE = 0xFFFFFFFF
_KINDS = ("TypeError", "ValueError", "RuntimeError")
# Names of operations; the index is the operation's code (ORDER launch-operations).
OPERATIONS = (
    *("end", "jump_if_missing", "jump_if_none", "jump_if_zero", "jump_if_negative"),
    *("jump_if_no_tensor", "constant", "tensor", "integer", "unsigned", "float", "pointer"),
    *("truth", "range", "ndim", "ndim_least", "dtype", "dtype_variable", "device", "layout"),
    *("extent_is", "extent_bind", "value_bind", "extent_equals", "address", "same_device"),
    *("add", "subtract", "multiply", "divide", "divide_up", "modulo", "minimum", "maximum"),
    *("less", "less_equal", "equal", "not_equal"),
    *("size", "num_dims", "device_number", "extent", "stride"),
    "alignment",
)
_CODE = {name: number for number, name in enumerate(OPERATIONS)}
_ARITHMETIC = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "//": "divide",
    "cdiv": "divide_up",
    "%": "modulo",
    "min": "minimum",
    "max": "maximum",
}
# Comparison operator -> name of the operation, and True if the operands must be swapped.
_COMPARISONS = {
    "<": ("less", False),
    ">": ("less", True),
    "<=": ("less_equal", False),
    ">=": ("less_equal", True),
    "==": ("equal", False),
    "!=": ("not_equal", False),
}
# Flag bits of the operations `integer` and `float`: the types that the argument may have.
_ACCEPTED = {"int": 1, "bool": 2}
# Kinds of kernel arguments, as in the runtime (ORDER launch-argument-kinds).
_REGISTER, _FLOAT32, _TENSOR, _WORKSPACE = range(4)
_NUMBERS = {"size": "size", "ndim": "num_dims", "device": "device_number"}
_AXES = {"shape": "extent", "strides": "stride"}


def program_of(plan: LaunchPlan, images: Sequence[DeviceImage]) -> bytes:
    """Return the check program of a launch plan.

    Parameters
    ----------
    plan : LaunchPlan
        The launch plan.
    images : sequence of DeviceImage
        All device images of the module; the check program refers to them by index.
    """
    return _Writer(plan, images).write()


class _Label:
    """A jump target; `bind` writes the address of the target into all jumps to the label."""

    def __init__(self) -> None:
        self.uses: list[int] = []


class _Assembler:
    """The instructions of a check program, and the tables that their operands refer to."""

    def __init__(self) -> None:
        self.code: list[int] = []
        self.num_registers = 0
        self._failures: dict[Failure, int] = {}
        self._dtypes: dict[tuple[str, ...], int] = {}

    def register(self) -> int:
        """Return the index of a new register; the initial value of registers is 0."""
        self.num_registers += 1
        return self.num_registers - 1

    def failure(self, failure: Failure) -> int:
        """Return the index of a `Failure` in the table of failures; add new failures."""
        return self._failures.setdefault(failure, len(self._failures))

    def dtypes(self, names: tuple[str, ...]) -> int:
        """Return the index of a set of dtypes in the table of dtype sets; add new sets."""
        return self._dtypes.setdefault(names, len(self._dtypes))

    def emit(self, name: str, *operands: int | Failure | _Label) -> None:
        """Append one instruction: the code of the operation, then the operands."""
        self.code.append(_CODE[name])
        for operand in operands:
            if isinstance(operand, _Label):
                operand.uses.append(len(self.code))
                self.code.append(0)
            else:
                is_failure = isinstance(operand, Failure)
                self.code.append(self.failure(operand) if is_failure else operand)  # type: ignore[arg-type]

    def bind(self, label: _Label) -> None:
        """Set the address of a label to the current end of the program."""
        for use in label.uses:
            self.code[use] = len(self.code)

    def constant(self, value: int) -> int:
        """Emit the load of a constant into a new register; return the register."""
        register = self.register()
        self.emit("constant", register, _signed(value))
        return register

    def failure_table(self) -> bytes:
        """Return the encoded table of failures: error kinds and message templates."""
        rows = [
            struct.pack("<I", _KINDS.index(failure.error)) + _string(failure.template)
            for failure in self._failures
        ]
        return _counted(rows)

    def dtype_table(self) -> bytes:
        """Return the encoded table of dtype sets."""
        return _counted(
            _counted(struct.pack("<BBH", t.type_code, t.bits, t.lanes) for t in map(dtype, names))
            for names in self._dtypes
        )


class _ResultRow(NamedTuple):
    """A result: registers of its extents and of its dtype's index, and its possible dtypes."""

    extents: tuple[int, ...]
    dtypes: tuple[str, ...]
    dtype_index: int


class _Writer:
    """Writes the check program of one launch plan."""

    def __init__(self, plan: LaunchPlan, images: Sequence[DeviceImage]) -> None:
        self._plan, self._images = plan, images
        self._signature = plan.signature
        self._out = _Assembler()
        # For each parameter that is not a tensor: register of its value.
        self._values: dict[str, int] = {}
        # For each extent name: register of its value, and register of a flag (1: the name has a
        # value).

        self._extents: dict[str, tuple[int, int]] = {}
        # For each dtype variable: register with 1 plus the index of its dtype; 0 if unknown.
        self._variables: dict[str, int] = {}
        self._bound: set[str] = set()  # extent names that have a value in every call
        self._known: dict[Extent, int] = {}  # for each evaluated extent: register of its value
        self._results = [self._new_result(result) for result in plan.signature.results]

    def write(self) -> bytes:
        """Return the bytes of the check program."""
        for variable in self._signature.dtype_variables:
            self._variables[variable] = self._out.register()
        for check in checks(self._signature):
            getattr(self, f"_{check.kind}")(check)
        first = device_parameter(self._signature)
        for parameter, failure in device_mismatches(self._signature):
            assert first is not None
            positions = self._position(parameter.name), self._position(first.name)
            self._out.emit("same_device", *positions, failure)
        self._out.emit("end")
        variants = [self._variant(launch) for launch in self._plan.launches]
        return self._serialized(first, variants)

    def _serialized(self, first: Parameter | None, variants: list[bytes]) -> bytes:
        out, count = self._out, len(self._signature.parameters)
        name, launches = self._plan.name, self._plan.launches
        given = (missing_arguments(self._signature, number) for number in range(count))
        missing = _counted(
            struct.pack("<I", out.failure(failure)) for failure in given if failure is not None
        )
        too_many = [too_many_arguments(self._signature, text) for text in ("1", "{got}")]
        no_variant = no_variant_failure(name, launches)
        call_failures = struct.pack(
            "<5I",
            *map(out.failure, too_many),
            _NONE if first is None else self._position(first.name),
            _NONE if no_variant is None else out.failure(no_variant),
            out.failure(no_image_failure(name, launches)),
        )
        # Encode the results before the tables, because a result may add a set to the dtype table.
        results, code = self._result_table(), _counted(map(_int64, out.code))
        num_results = len(self._signature.results)
        head = struct.pack("<4I", _VERSION, count, num_results, out.num_registers)
        tables = out.failure_table() + out.dtype_table()
        return head + tables + missing + call_failures + results + _counted(variants) + code

    def _position(self, name: str) -> int:
        return [parameter.name for parameter in self._signature.parameters].index(name)

    # ---- checks of values --------------------------------------------------------------------

    def _type(self, check: Check) -> None:
        parameter, label = check.parameter, _Label()
        if not isinstance(parameter.type, TensorType):
            self._declare(parameter)
        if parameter.default is not EMPTY:
            self._out.emit("jump_if_missing", check.position, label)
        if is_optional(parameter) and not self._is_pointer(parameter):
            self._out.emit("jump_if_none", check.position, label)
        self._read(check)
        self._out.bind(label)

    def _is_pointer(self, parameter: Parameter) -> bool:
        return (accepted_type_names(parameter.type) or ("",))[0] == "ctypes.c_void_p"

    def _declare(self, parameter: Parameter) -> None:
        register = self._values[parameter.name] = self._out.register()
        default = parameter.default
        if default in (EMPTY, None):
            return
        accepted = accepted_type_names(parameter.type) or ()
        bits = _float_bits(default) if accepted[0] == "float" else int(default)
        self._out.emit("constant", register, _signed(bits))

    def _read(self, check: Check) -> None:
        parameter, index = check.parameter, check.position
        failures = check.failures["type"], check.failures["big"]
        if isinstance(parameter.type, TensorType):
            self._out.emit("tensor", index, *failures)
            return
        register = self._values[parameter.name]
        accepted = [name for name in accepted_type_names(parameter.type) or () if name != "None"]
        if getattr(parameter.type, "dtype", "") == "uint64":
            self._out.emit("unsigned", register, index, *failures, self._range_failure(check))
        elif self._is_pointer(parameter):
            self._out.emit("pointer", register, index, *failures)
        elif accepted[0] == "float":
            flags = _ACCEPTED["bool"] if "bool" in accepted else 0
            self._out.emit("float", register, index, flags, *failures)
        else:
            flags = sum(_ACCEPTED[name] for name in accepted)
            self._out.emit("integer", register, index, flags, *failures)
            self._check_range(check, register)
            if accepted[0] == "bool":
                self._out.emit("truth", register)

    def _check_range(self, check: Check, register: int) -> None:
        type_ = check.parameter.type
        limits = integer_range(type_.dtype) if isinstance(type_, ScalarType) else None
        if limits is not None and limits[0] != -(2**63):
            self._out.emit("range", register, *limits, self._range_failure(check))

    def _range_failure(self, check: Check) -> Failure:
        for candidate in checks(self._signature):
            if candidate.kind == "range" and candidate.position == check.position:
                return candidate.failures["range"]
        raise AssertionError(check.parameter.name)

    def _range(self, check: Check) -> None:
        """Emit nothing: `_check_range` emits the range check when the value is read."""

    def _integer(self, check: Check) -> None:
        name, label = check.parameter.name, _Label()
        is_unsigned = getattr(check.parameter.type, "dtype", "") == "uint64"
        if is_optional(check.parameter):
            # An omitted argument binds the name if the default is an integer, but not if it is
            # None.
            if check.parameter.default in (EMPTY, None):
                self._out.emit("jump_if_missing", check.position, label)
            self._jump_if_given_none(check, label)
        if is_unsigned:
            self._out.emit("jump_if_negative", self._values[name], label)
        value, known = self._extent_registers(name)
        self._out.emit("value_bind", self._values[name], value, known, check.failures["differs"])
        self._out.bind(label)
        if not is_unsigned and not is_optional(check.parameter):
            self._bound.add(name)

    def _jump_if_given_none(self, check: Check, label: _Label) -> None:
        after = _Label()
        self._out.emit("jump_if_missing", check.position, after)
        self._out.emit("jump_if_none", check.position, label)
        self._out.bind(after)

    def _extent_registers(self, name: str) -> tuple[int, int]:
        if name not in self._extents:
            self._extents[name] = self._out.register(), self._out.register()
        return self._extents[name]

    # ---- checks of tensors -------------------------------------------------------------------

    def _ndim(self, check: Check) -> None:
        shape = check.tensor.shape or ()
        has_gap = ELLIPSIS in shape
        name, count = ("ndim_least", len(shape) - 1) if has_gap else ("ndim", len(shape))
        self._out.emit(name, check.position, count, check.failures["ndim"])

    def _dtype(self, check: Check) -> None:
        names = self._out.dtypes(self._signature.dtypes_of(check.tensor))
        variable = check.tensor.variable
        if variable is None:
            self._out.emit("dtype", check.position, names, check.failures["dtype"])
            return
        failures = check.failures["dtype"], check.failures["variable"]
        self._out.emit(
            "dtype_variable", check.position, self._variables[variable], names, *failures
        )

    def _device(self, check: Check) -> None:
        wanted = check.tensor.device
        assert wanted is not None
        device = Device(wanted)
        number = device.index if ":" in wanted else -1
        self._out.emit(
            "device",
            check.position,
            device.dlpack_device_type(),
            number,
            check.failures["device"],
        )

    def _layout(self, check: Check) -> None:
        self._out.emit("layout", check.position, check.failures["layout"])

    def _writable(self, check: Check) -> None:
        """Emit nothing, because native tensors have no read-only flag.

        A caller in Python checks the read-only flag of Python arrays.
        """

    def _extent(self, check: Check) -> None:
        extent, failure = check.extent, check.failures["differs"]
        if isinstance(extent, int):
            self._out.emit("extent_is", check.position, check.axis, extent, failure)
        elif isinstance(extent, str):
            registers = self._extent_registers(extent)
            self._out.emit("extent_bind", check.position, check.axis, *registers, failure)
            if not is_optional(check.parameter):
                self._bound.add(extent)
        else:
            self._calculated(check, extent)

    def _calculated(self, check: Check, extent: Expression) -> None:
        label = _Label()
        self._known.clear()
        self._out.emit("jump_if_no_tensor", check.position, label)
        for name in dict.fromkeys(names_in(extent)):
            if name not in self._bound:
                self._out.emit("jump_if_zero", self._extent_registers(name)[1], label)
        value = self._value(extent, check.failures)
        self._out.emit(
            "extent_equals", check.position, check.axis, value, check.failures["differs"]
        )
        self._out.bind(label)
        self._known.clear()  # forget these extents: a jump to the label skips their evaluation

    def _alignment(self, check: Check) -> None:
        assert check.tensor.alignment is not None
        failure = check.failures["alignment"]
        self._out.emit("alignment", check.position, check.tensor.alignment, failure)

    def _address(self, check: Check) -> None:
        failures = check.failures["null"], check.failures["alignment"]
        self._out.emit("address", check.position, *failures)

    # ---- extent expressions ------------------------------------------------------------------

    def _value(self, extent: Extent, failures: Mapping[str, Failure]) -> int:
        """Return the register with the value of an extent; emit its evaluation if it is new."""
        if isinstance(extent, str):
            return self._extents[extent][0]
        if extent not in self._known:
            self._known[extent] = self._new_value(extent, failures)
        return self._known[extent]

    def _new_value(self, extent: int | Expression, failures: Mapping[str, Failure]) -> int:
        if isinstance(extent, int):
            return self._out.constant(extent)
        left, right = (self._value(operand, failures) for operand in extent.operands)
        operator, register = extent.operator, self._out.register()
        raised: list[Failure] = []
        if operator in ("//", "cdiv", "%"):
            raised.append(failures[f"zero {extent}"])
        if operator not in ("%", "min", "max"):
            raised.append(failures[f"overflow {extent}"])
        self._out.emit(_ARITHMETIC[operator], register, left, right, *raised)
        return register

    def _plan_value(self, extent: Extent) -> int:
        where = f"{self._plan.name}(): "
        return self._value(extent, operation_failures(where, extent))

    # ---- launch variants ---------------------------------------------------------------------

    def _variant(self, launch: Launch) -> bytes:
        """Emit the launch sizes and arguments of a launch variant; return its encoded table row."""
        condition, result = self._condition(launch.when)
        start = len(self._out.code)
        self._known.clear()
        registers = [self._bounded(bound) for bound in bounds(self._plan.name, launch)]
        arguments = [
            self._argument(argument, type_)
            for argument, type_ in zip(
                launch.arguments, kernel_types(self._signature, launch.arguments)
            )
        ]
        kernels, kernel_index = list(launch.kernels.values()), self._kernel_index()
        self._result_extents()
        self._out.emit("end")
        flags = (launch.cluster is not None) + 2 * launch.cooperative + 4 * launch.programmatic
        return b"".join(
            (
                _counted(struct.pack("<I", self._images.index(image)) for image in launch.images),
                _counted(map(_string, kernels)),
                struct.pack("<4I", kernel_index, condition, result, start),
                struct.pack("<10I", *registers[: len(fields(launch))]),
                struct.pack("<I", flags),
                _counted(struct.pack("<2I", *argument) for argument in arguments),
            )
        )

    def _condition(self, when: Iterable[Condition]) -> tuple[int, int]:
        """Emit the condition of a launch variant; return its code address and result register."""
        start, label, result = len(self._out.code), _Label(), self._out.register()
        when = tuple(when)
        if not when:
            return _NONE, result
        for condition in when:
            self._known.clear()
            operation, is_swapped = _COMPARISONS[condition.operator]
            operands = [self._plan_value(condition.left), self._plan_value(condition.right)]
            self._out.emit(operation, result, *(operands[::-1] if is_swapped else operands))
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
        """Emit the index of the kernel for the dtypes; return the index's register, or `_NONE`.

        The result is `_NONE` if the signature has no dtype variables, so there is only one kernel.
        """
        index: int | None = None
        for name, dtypes in self._signature.dtype_variables.items():
            position = self._variable_index(name)
            if index is not None:
                scaled, total = self._out.register(), self._out.register()
                impossible = Failure("ValueError", "too many kernels")
                count = self._out.constant(len(dtypes))
                self._out.emit("multiply", scaled, index, count, impossible)
                self._out.emit("add", total, scaled, position, impossible)
                position = total
            index = position
        return _NONE if index is None else index

    def _variable_index(self, name: str) -> int:
        register = self._out.register()
        impossible = Failure("ValueError", "too many kernels")
        self._out.emit(
            "subtract", register, self._variables[name], self._out.constant(1), impossible
        )
        return register

    def _argument(self, argument: Argument, type_: str) -> tuple[int, int]:
        """Emit the evaluation of a kernel argument; return the kind, and the register or index."""
        kind = argument.kind
        if kind == "address":
            return _TENSOR, self._tensor_index(argument.source)
        if kind in ("constant", "null"):
            is_float = type_.startswith("float")
            bits = _float_bits(argument.number) if is_float else int(argument.number)
            return _FLOAT32 if type_ == "float32" else _REGISTER, self._out.constant(bits)
        if kind == "value":
            return _FLOAT32 if type_ == "float32" else _REGISTER, self._values[argument.source]
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
                register = self._value(extent, operation_failures(where, extent))
                if not isinstance(extent, int):
                    failure = negative_extent(where, axis)
                    self._out.emit("range", register, 0, 2**63 - 1, failure)
                self._copy(row.extents[axis], register)
            if type_.variable is not None:
                self._copy(row.dtype_index, self._variable_index(type_.variable))

    def _copy(self, target: int, source: int) -> None:
        self._out.emit("maximum", target, source, source)

    def _new_result(self, result: Result) -> _ResultRow:
        type_ = result.type
        assert isinstance(type_, TensorType)
        extents = tuple(self._out.register() for _ in type_.shape or ())
        index = _NONE if type_.variable is None else self._out.register()
        return _ResultRow(extents, self._signature.dtypes_of(type_), index)

    def _result_table(self) -> bytes:
        return _counted(
            _counted(struct.pack("<I", register) for register in row.extents)
            + struct.pack("<2I", self._out.dtypes(row.dtypes), row.dtype_index)
            for row in self._results
        )


def _counted(rows: Iterable[bytes]) -> bytes:
    rows = list(rows)
    return struct.pack("<Q", len(rows)) + b"".join(rows)


def _string(text: str) -> bytes:
    encoded = text.encode("utf-8")
    return struct.pack("<Q", len(encoded)) + encoded


def _int64(number: int) -> bytes:
    return struct.pack("<q", number)


def _signed(value: int) -> int:
    """Return the signed 64-bit integer that has the same bits as an unsigned integer."""
    return value - 2**64 if value >= 2**63 else value


def _float_bits(value: float) -> int:
    bits: int = struct.unpack("<q", struct.pack("<d", float(value)))[0]
    return bits
