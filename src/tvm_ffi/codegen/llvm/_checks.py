# SPDX-License-Identifier: Apache-2.0
"""The checks of a signature as LLVM IR, like `_c_checks`.

The code after the checks uses these locals: for each parameter the tensor, number or string, and
whether it was given; the extents; the index of each dtype variable's dtype.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..._binding.values import Device
from ..._dtype import dtype
from ..._schema.dtypes import FLOAT32_END, integer_range
from ...signature import EMPTY, Parameter, ScalarType, Signature, TensorType
from ...signature._check_program import float_bits, gap_of
from ...signature._checks import (
    Check,
    Failure,
    accepted_type_names,
    checks,
    missing_arguments,
    too_many_arguments,
)
from ...signature._expression import Extent, names_in
from ...signature._types import Type
from ...signature._values import alignment_of
from .._bound_names import (
    extent_failure,
    extent_names,
    is_unsigned,
    may_be_unknown,
    range_failure,
)
from .._c_source import value_type
from .._wrapper import is_optional
from . import _support as support
from ._code import (
    ANY,
    I1,
    I8,
    I32,
    I64,
    PTR,
    TENSOR,
    Code,
    Local,
    constant,
    index_of,
    null,
)
from ._errors import fail, fail_dtype, fail_type, fail_with
from ._support_raise import fail_with_text
from ._types import memory_type

__all__ = ["CheckPrinter", "Text"]

# Type key of each native type except strings and bytes, which have several native types.
_KEY = {"bool": "bool", "ctypes.c_void_p": "void*", "float": "float", "int": "int"}
# Emitters of operations whose value is a pair of the result and an overflow flag.
_OVERFLOWING = {
    "+": Code.sadd_with_overflow,
    "-": Code.ssub_with_overflow,
    "*": Code.smul_with_overflow,
    "//": support.divide,
    "cdiv": support.divide_up,
}


class Text:
    """Local variables of a string or bytes argument: address of the data, and size in bytes."""

    def __init__(self, code: Code, content: bytes) -> None:
        self.data = Local(code, PTR, code.string(content))
        self.size = Local(code, I64, I64(len(content)))


class CheckPrinter:
    """Emits the checks of one function with the packed calling convention."""

    def __init__(self, signature: Signature, code: Code) -> None:
        self._signature, self._code = signature, code
        self._args, self._num_args = code.function.args[1:3]
        self._bound: set[str] = set()  # names that have a value on every path
        self.arguments: dict[str, Any] = {}  # the `Local` or `Text` of each parameter
        self.given: dict[str, Local] = {}  # flag of each optional parameter; false for None
        self.extents: dict[str, Local] = {}
        self.dtypes: dict[str, Local] = {}
        self._known: dict[str, Local] = {}

    def print(self) -> None:
        """Emit the declarations and all checks."""
        self._count()
        for name in extent_names(self._signature):
            self.extents[name] = Local(self._code, I64, I64(0))
            if may_be_unknown(self._signature, name):
                self._known[name] = Local(self._code, I1, I1(0))
        for variable in self._signature.dtype_variables:
            self.dtypes[variable] = Local(self._code, I32, I32(-1))
        for check in checks(self._signature):
            getattr(self, f"_{check.kind}")(check)

    def _count(self) -> None:
        code = self._code
        most = len(self._signature.parameters)
        failures = [missing_arguments(self._signature, given) for given in range(most)]
        texts = [failure.message() for failure in failures if failure is not None]
        if texts:
            with self._rare(code.icmp_unsigned("<", self._num_args, I32(len(texts)))):
                text = code.element(PTR, code.string_table(texts), self._num_args)
                code.ret(fail_with_text(code, code.string("TypeError"), text))
        if most == 0:
            with self._rare(code.icmp_signed("==", self._num_args, I32(1))):
                fail(code, too_many_arguments(self._signature, "1"))
        # A negative number is large as unsigned number.
        with self._rare(code.icmp_unsigned(">", self._num_args, I32(most))):
            fail(code, too_many_arguments(self._signature), got=self._num_args)

    def _rare(self, condition: Any) -> Any:
        return self._code.if_then(condition, likely=False)

    # ---- checks of values ------------------------------------------------------------------

    def _type(self, check: Check) -> None:
        parameter = check.parameter
        if isinstance(parameter.type, TensorType):
            self.arguments[parameter.name] = Local(self._code, PTR, null())
        else:
            self._declare_value(parameter)
        is_there = None
        if parameter.default is not EMPTY:
            is_there = self._code.icmp_signed(">", self._num_args, I32(check.position))
        with self._code.where(is_there):
            self._read(check)

    def _declare_value(self, parameter: Parameter) -> None:
        default = None if parameter.default is EMPTY else parameter.default
        if is_optional(parameter):
            self.given[parameter.name] = Local(self._code, I1, I1(default is not None))
        if self._is_text(parameter):
            content = default or b""
            content = content.encode("utf-8") if isinstance(content, str) else content
            self.arguments[parameter.name] = Text(self._code, content)
            return
        type_ = memory_type(value_type(parameter.type))
        value = null() if type_ == PTR else constant(type_, default or 0)
        self.arguments[parameter.name] = Local(self._code, type_, value)

    def _is_text(self, parameter: Parameter) -> bool:
        return bool({"str", "bytes"} & {*(accepted_type_names(parameter.type) or ())})

    def _value_at(self, check: Check) -> Any:
        """Return the address of the `TVMFFIAny` of an argument."""
        return self._code.element_at(ANY.type, self._args, check.position)

    def _read(self, check: Check) -> None:
        """Emit the type check of an argument, and the assignment of its value."""
        code, parameter, value = self._code, check.parameter, self._value_at(check)
        is_given = None
        if is_optional(parameter):
            index = code.field(value, ANY, "type_index")
            is_given = code.icmp_signed("!=", index, I32(index_of("None")))
        if isinstance(parameter.type, TensorType):
            tensor = support.tensor_in(code, value)
            self.arguments[parameter.name].set(tensor)
            is_none = code.icmp_unsigned("==", tensor, null())
            with self._rare(is_none if is_given is None else code.and_(is_none, is_given)):
                self._fail_type(check, value)
            return
        if is_given is not None:
            self.given[parameter.name].set(is_given)
        with code.where(is_given):
            self._read_value(check, value)

    def _read_value(self, check: Check, value: Any) -> None:
        code, parameter = self._code, check.parameter
        accepted = [name for name in accepted_type_names(parameter.type) or () if name != "None"]
        if is_unsigned(check):
            self._read_unsigned(check, value)
            return
        local = self.arguments[parameter.name]
        if isinstance(local, Text):
            with self._rare(code.not_(getattr(support, f"is_{accepted[0]}")(code, value))):
                self._fail_type(check, value)
            content = support.content(code, value)
            local.data.set(code.extract_value(content, 0))
            local.size.set(code.extract_value(content, 1))
            return
        index = code.field(value, ANY, "type_index")
        is_right = code.is_any(index, [index_of(_KEY[name]) for name in accepted])
        with self._rare(code.not_(is_right)):
            self._fail_type(check, value)
        self._range_of(check, value)
        local.set(self._taken(accepted[0], value, local.type))

    def _taken(self, type_name: str, value: Any, type_: Any) -> Any:
        """Return the value of an argument, converted to the type of its local."""
        code = self._code
        if type_name == "float":
            number = support.as_float(code, value)
            return number if type_ == number.type else code.fptrunc(number, type_)
        if type_ == PTR:
            return code.payload(value, PTR)
        number = code.payload(value, I64)
        if type_name == "bool":
            return code.zext(code.icmp_signed("!=", number, I64(0)), I8)
        return number if type_ == I64 else code.trunc(number, type_)

    def _range_of(self, check: Check, value: Any) -> None:
        """Emit the range check for a C type whose values fit a signed 64-bit integer."""
        code, type_ = self._code, check.parameter.type
        if isinstance(type_, ScalarType) and type_.dtype == "float32":
            self._range_of_float(check, value)
            return
        limits = integer_range(type_.dtype) if isinstance(type_, ScalarType) else None
        if limits is None or limits[0] == -(2**63):
            return
        number = code.payload(value, I64)
        is_small = code.icmp_signed("<", number, I64(limits[0]))
        is_large = code.icmp_signed(">", number, I64(limits[1]))
        with self._rare(code.or_(is_small, is_large)):
            fail(code, range_failure(self._signature, check.position), got=number)

    def _range_of_float(self, check: Check, value: Any) -> None:
        """Emit the range check of a double that is converted to a float; infinities are accepted.

        The bits of doubles without a sign have the order of the doubles.
        """
        code = self._code
        magnitude = code.and_(code.payload(value, I64), I64(2**63 - 1))
        conditions = [
            code.is_any(code.field(value, ANY, "type_index"), [index_of("float")]),
            code.icmp_unsigned(">=", magnitude, I64(float_bits(FLOAT32_END))),
            code.icmp_unsigned("<", magnitude, I64(float_bits(math.inf))),
        ]
        with self._rare(code.all_of(conditions)):
            fail(code, range_failure(self._signature, check.position))

    def _read_unsigned(self, check: Check, value: Any) -> None:
        code, local = self._code, self.arguments[check.parameter.name]
        with self._rare(code.not_(support.as_uint64(code, value, local.address))):
            self._fail_type(check, value)
        number = code.payload(value, I64)
        is_int = code.is_any(code.field(value, ANY, "type_index"), [index_of("int")])
        with self._rare(code.and_(is_int, code.icmp_signed("<", number, I64(0)))):
            fail(code, range_failure(self._signature, check.position), got=number)
        too_large = extent_failure(self._signature, check.position)
        if too_large is not None:
            with self._rare(code.icmp_signed("<", local.value, I64(0))):
                fail(code, too_large)

    def _fail_type(self, check: Check, value: Any) -> None:
        fail_type(self._code, check.failures["type"], check.failures["big"], value)

    def _range(self, check: Check) -> None:
        """Emit nothing: `_range_of` emits the range check before the conversion."""

    def _integer(self, check: Check) -> None:
        code, name = self._code, check.parameter.name
        number = self._extended(check.parameter)
        conditions = [self.given[name].value] if name in self.given else []
        self._bind(check, str(check.extent), number, code.all_of(conditions))

    def _extended(self, parameter: Parameter) -> Any:
        """Return an integer argument extended to 64 bits."""
        local = self.arguments[parameter.name]
        if local.type == I64:
            return local.value
        is_signed = not value_type(parameter.type).startswith("u")
        return (self._code.sext if is_signed else self._code.zext)(local.value, I64)

    # ---- checks of tensors -----------------------------------------------------------------

    def _tensor(self, check: Check) -> Any:
        """Return the address of the DLTensor of a parameter."""
        return self.arguments[check.parameter.name].value

    def _is_given(self, check: Check) -> Any | None:
        """Return an i1 that is true if an optional tensor is given; None for a required tensor."""
        if not is_optional(check.parameter):
            return None
        return self._code.icmp_unsigned("!=", self._tensor(check), null())

    def _ndim(self, check: Check) -> None:
        code, shape = self._code, check.tensor.shape or ()
        with code.where(self._is_given(check)):
            got = code.field(self._tensor(check), TENSOR, "ndim")
            if check.tensor.ndim is None:
                problem = code.icmp_signed("<", got, I32(len(shape) - 1))
            else:
                problem = code.icmp_signed("!=", got, I32(len(shape)))
            with self._rare(problem):
                fail(code, check.failures["ndim"], got=got)

    def _dtype(self, check: Check) -> None:
        code, names = self._code, self._signature.dtypes_of(check.tensor)
        with code.where(self._is_given(check)):
            got = code.field(self._tensor(check), TENSOR, "dtype")
            if check.tensor.variable is not None:
                self._dtype_variable(check, check.tensor.variable, names, got)
            else:
                with self._rare(code.not_(code.is_any(got, list(map(_dtype_number, names))))):
                    fail_dtype(code, check.failures["dtype"], null(), got)
        if check.tensor.variable is not None:
            self._bound.add(check.tensor.variable)

    def _dtype_variable(
        self, check: Check, variable: str, names: tuple[str, ...], got: Any
    ) -> None:
        """Emit the lookup of a dtype in the list of dtypes that a dtype variable allows."""
        code, known = self._code, self.dtypes[variable]
        index = I32(-1)
        for number, name in reversed(list(enumerate(names))):
            is_it = code.is_any(got, [_dtype_number(name)])
            index = code.select(is_it, I32(number), index)
        with self._rare(code.icmp_signed("<", index, I32(0))):
            fail_dtype(code, check.failures["dtype"], null(), got)
        if variable in self._bound:
            is_known = code.icmp_signed(">=", known.value, I32(0))
            differs = code.icmp_signed("!=", index, known.value)
            with self._rare(code.and_(is_known, differs)):
                expected = code.element(PTR, code.string_table(names), known.value)
                fail_dtype(code, check.failures["variable"], expected, got)
        known.set(index)

    def _device(self, check: Check) -> None:
        wanted, code = check.tensor.device, self._code
        assert wanted is not None
        device = Device(wanted)
        with code.where(self._is_given(check)):
            tensor = self._tensor(check)
            got = [code.field(tensor, TENSOR, name) for name in ("device_type", "device_id")]
            problem = code.icmp_signed("!=", got[0], I32(device.dlpack_device_type()))
            if ":" in wanted:
                differs = code.icmp_signed("!=", got[1], I32(device.index))
                problem = code.or_(problem, differs)
            with self._rare(problem):
                fail_with(code, "device", check.failures["device"], *got)

    def _negative(self, check: Check) -> None:
        code = self._code
        with code.where(self._is_given(check)):
            tensor = self._tensor(check)
            axis = support.negative_axis(code, tensor, self._rank(tensor, check.tensor))
            with self._rare(code.icmp_signed(">=", axis, I32(0))):
                got = code.element(I64, code.field(tensor, TENSOR, "shape"), axis)
                fail(code, check.failures["negative"], axis=axis, got=got)

    def _layout(self, check: Check) -> None:
        code, first = self._code, check.tensor.compact_from or 0
        with code.where(self._is_given(check)):
            tensor = self._tensor(check)
            rank = self._rank(tensor, check.tensor)
            start = code.add(rank, I32(first)) if first < 0 else I32(first)
            with self._rare(code.not_(support.is_compact(code, tensor, rank, start))):
                fail_with(code, "strides", check.failures["layout"], tensor)

    def _writable(self, check: Check) -> None:
        """Emit nothing, because native tensors have no read-only flag.

        A caller in Python checks the read-only flag of Python arrays.
        """

    def _repeats(self, check: Check) -> None:
        code = self._code
        with code.where(self._is_given(check)):
            tensor = self._tensor(check)
            with self._rare(support.repeats(code, tensor, self._rank(tensor, check.tensor))):
                fail_with(code, "strides", check.failures["repeats"], tensor)

    def _overlap(self, check: Check) -> None:
        code, other = self._code, self._signature.parameters[check.other]
        tensor = self.arguments[other.name].value
        conditions = [] if (given := self._is_given(check)) is None else [given]
        if is_optional(other):
            conditions.append(code.icmp_unsigned("!=", tensor, null()))
        with code.where(code.all_of(conditions)):
            written = self._tensor(check)
            facts = self._size_facts(written, check.tensor) + self._size_facts(tensor, other.type)
            with self._rare(code.not_(support.apart(code, *facts))):
                problem = support.overlap(code, written, tensor)
                with self._rare(problem):
                    fail(code, check.failures["overlap"])

    def _rank(self, tensor: Any, type_: TensorType) -> Any:
        """Return the number of dimensions, as a constant if the type has it."""
        ndim = type_.ndim
        return self._code.field(tensor, TENSOR, "ndim") if ndim is None else I32(ndim)

    def _size_facts(self, tensor: Any, type_: Type) -> list[Any]:
        """Return a tensor, the number of its dimensions, and the bits of an element."""
        assert isinstance(type_, TensorType)
        code, names = self._code, self._signature.dtypes_of(type_)
        sizes = {found.bits * found.lanes for found in map(dtype, names)}
        if len(sizes) == 1:
            bits = I64(sizes.pop())
        else:
            _, bits, lanes = support.parts_of_dtype(code, code.field(tensor, TENSOR, "dtype"))
            bits = code.zext(code.mul(bits, lanes), I64)
        return [tensor, self._rank(tensor, type_), bits]

    def _extent(self, check: Check) -> None:
        code = self._code
        if isinstance(check.extent, str):
            self._bind_extent(check, check.extent)
            return
        conditions = [] if (given := self._is_given(check)) is None else [given]
        if not isinstance(check.extent, int):
            names = [n for n in dict.fromkeys(names_in(check.extent)) if n not in self._bound]
            conditions += [self._known[name].value for name in names]
        with code.where(code.all_of(conditions)):
            axis, got = self._axis(check)
            expected = self.expression(check.extent, check.failures)
            with self._rare(code.icmp_signed("!=", got, expected)):
                failure = check.failures["differs"]
                fail(code, failure, axis=axis, expected=expected, got=got)

    def _ellipsis(self, check: Check) -> None:
        code, other = self._code, self._signature.parameters[check.other]
        tensors = [self._tensor(check), self.arguments[other.name].value]
        gaps = gap_of(check.tensor), gap_of(other.type)
        given = [
            code.icmp_unsigned("!=", tensor, null())
            for tensor, parameter in zip(tensors, (check.parameter, other))
            if is_optional(parameter)
        ]
        with code.where(code.all_of(given)):
            got, expected = (
                code.sub(code.field(tensor, TENSOR, "ndim"), I32(gap[1]))
                for tensor, gap in zip(tensors, gaps)
            )
            with self._rare(code.icmp_signed("!=", got, expected)):
                fail(code, check.failures["ndim"], expected=expected, got=got)
            places = [part for tensor, gap in zip(tensors, gaps) for part in (tensor, I32(gap[0]))]
            index = support.differing(code, *places, got)
            with self._rare(code.icmp_signed(">=", index, I32(0))):
                axes = [code.add(index, I32(gap[0])) for gap in gaps]
                extents = [
                    code.element(I64, code.field(tensor, TENSOR, "shape"), axis)
                    for tensor, axis in zip(tensors, axes)
                ]
                holes = {"axis": axes[0], "index": index, "got": extents[0]}
                fail(code, check.failures["differs"], **holes, expected=extents[1])

    def _axis(self, check: Check) -> tuple[Any, Any]:
        """Return the axis of a check as a number >= 0, and the extent of the tensor's axis."""
        code, tensor = self._code, self._tensor(check)
        axis = I32(check.axis)
        if check.axis < 0:
            axis = code.add(code.field(tensor, TENSOR, "ndim"), axis)
        return axis, code.element(I64, code.field(tensor, TENSOR, "shape"), axis)

    def _bind_extent(self, check: Check, name: str) -> None:
        given = self._is_given(check)
        if given is None:
            axis, got = self._axis(check)
            self._bind(check, name, got, None, axis)
            return
        with self._code.where(given):
            axis, got = self._axis(check)
            self._bind_here(check, name, got, axis)

    def _bind(self, check: Check, name: str, got: Any, condition: Any, axis: Any = None) -> None:
        """Emit code that gives a value to an extent name, or compares it with the name's value."""
        with self._code.where(condition):
            self._bind_here(check, name, got, axis)
        if condition is None:
            self._bound.add(name)

    def _bind_here(self, check: Check, name: str, got: Any, axis: Any) -> None:
        code, extent = self._code, self.extents[name]
        is_known = self._known.get(name)
        if name not in self._bound:
            if is_known is None:
                extent.set(got)
                return
            conditions = [is_known.value]
        else:
            conditions = []
        conditions.append(code.icmp_signed("!=", got, extent.value))
        with self._rare(code.all_of(conditions)):
            fail(code, check.failures["differs"], axis=axis, expected=extent.value, got=got)
        if name not in self._bound and is_known is not None:
            extent.set(got)
            is_known.set(I1(1))

    def _alignment(self, check: Check) -> None:
        code = self._code
        assert check.tensor.alignment is not None
        with code.where(self._is_given(check)):
            tensor = self._tensor(check)
            address = code.ptrtoint(support.address_of(code, tensor), I64)
            rest = code.and_(address, I64(check.tensor.alignment - 1))  # remainder
            with self._rare(code.icmp_signed("!=", rest, I64(0))):
                is_there = code.icmp_unsigned("!=", code.field(tensor, TENSOR, "data"), null())
                is_empty = support.is_empty(code, tensor)
                with code.if_then(code.and_(is_there, code.not_(is_empty))):
                    fail(code, check.failures["alignment"], got=rest)

    def _address(self, check: Check) -> None:
        code = self._code
        with code.where(self._is_given(check)):
            tensor = self._tensor(check)
            sizes = {alignment_of(dtype(name)) for name in self._signature.dtypes_of(check.tensor)}
            if len(sizes) == 1:
                alignment = I64(sizes.pop())
            else:
                alignment = support.alignment_of(code, code.field(tensor, TENSOR, "dtype"))
            is_null = code.icmp_unsigned("==", code.field(tensor, TENSOR, "data"), null())
            address = code.ptrtoint(support.address_of(code, tensor), I64)
            rest = code.and_(address, code.sub(alignment, I64(1)))  # remainder
            problem = code.or_(is_null, code.icmp_signed("!=", rest, I64(0)))
            with self._rare(problem), code.if_then(code.not_(support.is_empty(code, tensor))):
                with code.if_then(is_null):
                    fail(code, check.failures["null"])
                fail(code, check.failures["alignment"], expected=alignment, got=rest)

    # ---- extent expressions ----------------------------------------------------------------

    def expression(self, extent: Extent, failures: Mapping[str, Failure]) -> Any:
        """Emit the evaluation of an extent; return the value."""
        code = self._code
        if isinstance(extent, int):
            return I64(extent)
        if isinstance(extent, str):
            return self.extents[extent].value
        left, right = (self.expression(operand, failures) for operand in extent.operands)
        if extent.operator in ("//", "%", "cdiv"):
            with self._rare(code.icmp_signed("==", right, I64(0))):
                fail(code, failures[f"zero {extent}"])
        if extent.operator in _OVERFLOWING:
            pair = _OVERFLOWING[extent.operator](code, left, right)
            with self._rare(code.extract_value(pair, 1)):
                fail(code, failures[f"overflow {extent}"])
            return code.extract_value(pair, 0)
        if extent.operator == "%":
            return support.modulo(code, left, right)
        is_left = code.icmp_signed("<" if extent.operator == "min" else ">", left, right)
        return code.select(is_left, left, right)


def _dtype_number(name: str) -> int:
    """Return a dtype as an integer, for the field `dtype` of `TENSOR`."""
    wanted = dtype(name)
    return wanted.type_code | wanted.bits << 8 | wanted.lanes << 16
