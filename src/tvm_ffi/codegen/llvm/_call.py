# SPDX-License-Identifier: Apache-2.0
"""LLVM IR of a wrapper after the argument checks: allocations, the call, and the return."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from llvmlite import ir

from ..._binding.values import Device
from ..._dtype import dtype
from ..._schema.dtypes import integer_range
from ...signature import ScalarType, TensorType
from ...signature._check_program import gap_of
from .._c_source import value_type
from .._c_types import argument_type, return_type, type_of_source
from .._call_errors import (
    does_not_fit,
    failed_status,
    negative_extent,
    negative_workspace,
    nul_in_text,
    operation_failures,
    result_prefix,
    too_many_dimensions,
)
from .._wrapper import MAX_NDIM, Argument, Wrapper, is_optional, source_of
from . import _support as support
from ._checks import CheckPrinter, Text
from ._code import (
    ANY,
    DOUBLE,
    FLOAT,
    I1,
    I32,
    I64,
    PTR,
    TENSOR,
    VOID,
    Code,
    Local,
    constant,
    index_of,
    null,
)
from ._errors import fail
from ._support_memory import allocate_workspace
from ._support_return import return_big, return_tensors
from ._types import extension_of, memory_type, type_of_c

__all__ = ["CallPrinter", "type_of_callee"]

_INT_OPERATIONS = {"signext": Code.sext, "zeroext": Code.zext}


def type_of_callee(wrapper: Wrapper, callee: str) -> tuple[Any, list[str | None]]:
    """Return the LLVM type of a callee, and extension attributes of its arguments and result."""
    dtypes = wrapper.dtypes_of(callee)
    types = [argument_type(wrapper, argument, dtypes) for argument in wrapper.arguments]
    returned = return_type(wrapper)
    result = VOID if returned == "void" else type_of_c(returned)
    type_ = ir.FunctionType(result, [type_of_c(name) for name in types])
    extension = None if returned == "void" else extension_of(returned)
    return type_, [*map(extension_of, types), extension]


class CallPrinter:
    """Emits a wrapper's code after the checks: allocations, the callee's call, and the return."""

    def __init__(self, wrapper: Wrapper, checks: CheckPrinter, code: Code) -> None:
        self._wrapper, self._checks, self._code = wrapper, checks, code
        self._result = code.function.args[3]
        self._strides_of: dict[str, Any] = {}  # address of the strides array of each tensor
        self._handles: dict[str, Local] = {}  # object handle of each result
        self._descriptions: dict[str, Any] = {}  # address of the DLTensor of each result
        # Object handle and aligned address of each workspace, by the position of its argument.
        self._workspaces: dict[int, tuple[Local, Local]] = {}
        self._number: Local | None = None  # variable for a number that the callee writes

    def print(self) -> None:
        """Emit the allocation of results, the call of the callee, and the return."""
        self._reject_nul()
        self._strides(self._wrapper.parameters)
        calculated = [self._calculate(argument) for argument in self._wrapper.arguments]
        self._allocate()
        self._strides(self._wrapper.results)
        self._allocate_workspaces(calculated)
        value = self._call(calculated)
        self._return(value)

    # ---- preparation of the callee's arguments ---------------------------------------------

    def _reject_nul(self) -> None:
        """Emit a check that strings passed as ``const char*`` contain no NUL."""
        code = self._code
        for name, parameter in self._wrapper.parameters.items():
            is_passed = Argument("value", name) in self._wrapper.arguments
            if not is_passed or value_type(parameter.type) != "const char*":
                continue
            if Argument("size", name) in self._wrapper.arguments:
                continue  # no check, because the callee also takes the size of the string
            text = self._checks.arguments[name]
            position = support.find_nul(code, text.data.value, text.size.value)
            with code.if_then(code.icmp_signed(">=", position, I64(0)), likely=False):
                fail(code, nul_in_text(self._wrapper, name), got=position)

    def _calculate(self, argument: Argument) -> Any:
        """Emit the evaluation of a callee argument, and the check that the C type can hold it."""
        code = self._code
        limits = integer_range(argument.dtype or "int64")
        if argument.kind == "constant" or limits is None:
            return None
        if argument.kind in ("extent", "workspace"):
            failures = operation_failures(f"{self._wrapper.name}(): ", argument.extent)
            value = self._checks.expression(argument.extent, failures)
        elif argument.dtype is not None:
            value = code.as_int64(self._field(argument))
        else:
            return None
        if argument.kind == "workspace":
            with code.if_then(code.icmp_signed("<", value, I64(0)), likely=False):
                fail(code, negative_workspace(self._wrapper.name, argument), got=value)
        tests = [code.icmp_signed("<", value, I64(limits[0]))] if limits[0] > -(2**63) else []
        if limits[1] < 2**63 - 1:
            tests.append(code.icmp_signed(">", value, I64(limits[1])))
        if tests:
            with code.if_then(tests[0] if len(tests) == 1 else code.or_(*tests), likely=False):
                fail(code, does_not_fit(self._wrapper.name, argument), got=value)
        return value

    def _strides(self, names: Iterable[str]) -> None:
        """Emit local arrays of strides, because `strides` of a compact tensor may be NULL."""
        passed = {a.source for a in self._wrapper.arguments if a.kind == "strides"}
        for name in names:
            if name in passed:
                ndim = self._tensor_type(name).ndim
                assert ndim is not None
                array = self._code.array(I64, [I64(0)] * ndim)
                self._strides_of[name] = array
                support.write_strides(self._code, self._tensor(name), I32(ndim), array)

    def _tensor_type(self, name: str) -> TensorType:
        type_ = type_of_source(self._wrapper, name)
        assert isinstance(type_, TensorType)
        return type_

    def _tensor(self, name: str) -> Any:
        """Return the address of the DLTensor of a parameter or result."""
        if name in self._wrapper.parameters:
            return self._checks.arguments[name].value
        return self._descriptions[name]

    # ---- allocation of results -------------------------------------------------------------

    def _allocate(self) -> None:
        code = self._code
        names = [
            name
            for name, result in self._wrapper.results.items()
            if isinstance(result.type, TensorType)
        ]
        # Evaluate all extents before the first allocation, so that a failure has no tensor to
        # release.
        shapes = {name: self._shape(name) for name in names}
        for name in names:
            handle = Local(code, PTR, null())
            prototype = self._prototype(self._tensor_type(name), shapes[name])
            status = code.runtime("TVMFFIEnvTensorAlloc", prototype, handle.address)
            self._return_unless_allocated(status)
            self._handles[name] = handle
            self._descriptions[name] = code.after_header(handle.value)

    def _return_unless_allocated(self, status: Any) -> None:
        """Emit, for a failed allocation, the release of earlier allocations and the return."""
        code = self._code
        with code.if_then(code.icmp_signed("!=", status, I32(0)), likely=False):
            self._release()
            self._release_workspaces()
            code.ret(I32(-1))

    def _prototype(self, type_: TensorType, shape: list[Any]) -> Any:
        """Emit the DLTensor that describes a result to the tensor allocator; return its address."""
        code = self._code
        prototype = Local(code, TENSOR.type, None).address
        device_type, device_id = self._device_of(type_)
        if type_.gap is None:
            ndim, extents = I32(len(shape)), code.array(I64, shape)
        else:
            ndim, extents = self._shape_with_gap(type_, shape)
        fields = {
            "data": null(),
            "device_type": device_type,
            "device_id": device_id,
            "ndim": ndim,
            "dtype": self._dtype_of(type_),
            "shape": extents,
            "strides": null(),
            "byte_offset": I64(0),
        }
        for name, value in fields.items():
            code.store(value, code.field_at(prototype, TENSOR, name))
        return prototype

    def _shape_with_gap(self, type_: TensorType, shape: list[Any]) -> tuple[Any, Any]:
        """Emit the array of a result's extents; return their number and the array's address."""
        code, gap = self._code, type_.gap or 0
        extents, count = self._gap(type_)
        array = Local(code, ir.ArrayType(I64, MAX_NDIM), None).address
        for axis, value in enumerate(shape[:gap]):
            code.store(value, code.element_at(I64, array, axis))
        with code.each(count) as index:
            place = code.element_at(I64, array, code.add(index, I32(gap)))
            code.store(code.element(I64, extents, index), place)
        for axis, value in enumerate(shape[gap + 1 :], gap):
            code.store(value, code.element_at(I64, array, code.add(count, I32(axis))))
        return code.add(count, I32(len(shape) - 1)), array

    def _gap(self, type_: TensorType) -> tuple[Any, Any]:
        """Return address and number of the extents that the ellipsis of a type stands for."""
        code = self._code
        assert type_.ellipsis is not None
        source = source_of(self._wrapper.signature, type_.ellipsis)
        tensor, (first, num_others) = self._tensor(source.name), gap_of(source.type)
        count = code.sub(code.field(tensor, TENSOR, "ndim"), I32(num_others))
        return code.element_at(I64, code.field(tensor, TENSOR, "shape"), first), count

    def _shape(self, name: str) -> list[Any]:
        """Emit the evaluation of a result's extents; return their values."""
        code, where = self._code, result_prefix(self._wrapper.name, name)
        values = []
        type_ = self._tensor_type(name)
        shape = type_.shape or ()
        for axis, extent in enumerate(shape):
            if extent == type_.ellipsis:
                count = self._gap(type_)[1]
                failure = too_many_dimensions(where, str(extent), len(shape) - 1)
                most = I32(MAX_NDIM - len(shape) + 1)
                with code.if_then(code.icmp_signed(">", count, most), likely=False):
                    fail(code, failure, got=count)
                values.append(count)
                continue
            value = self._checks.expression(extent, operation_failures(where, extent))
            if not isinstance(extent, int):
                with code.if_then(code.icmp_signed("<", value, I64(0)), likely=False):
                    fail(code, negative_extent(where, type_, axis), got=value)
            values.append(value)
        return values

    def _dtype_of(self, type_: TensorType) -> Any:
        """Return the dtype of a result as an integer, for the field `dtype` of `TENSOR`."""
        names = self._wrapper.signature.dtypes_of(type_)
        numbers = [I32(t.type_code | t.bits << 8 | t.lanes << 16) for t in map(dtype, names)]
        value = numbers[-1]
        if type_.variable is not None:
            index = self._checks.dtypes[type_.variable].value
            for i, number in enumerate(numbers[:-1]):
                value = self._code.select(self._code.is_any(index, [i]), number, value)
        return value

    def _device_of(self, type_: TensorType) -> list[Any]:
        if ":" in (type_.device or "") or self._wrapper.first_tensor is None:
            device = Device(type_.device or "cpu")
            return [I32(device.dlpack_device_type()), I32(device.index)]
        return self._device_of_call()

    def _device_of_call(self) -> list[Any]:
        first = self._wrapper.first_tensor
        assert first is not None
        tensor = self._tensor(first.name)
        return [self._code.field(tensor, TENSOR, name) for name in ("device_type", "device_id")]

    def _release(self) -> None:
        for handle in self._handles.values():
            self._code.runtime("TVMFFIObjectDecRef", handle.value)

    # ---- allocation of workspaces ----------------------------------------------------------

    def _allocate_workspaces(self, calculated: Sequence[Any]) -> None:
        code = self._code
        for position, argument in enumerate(self._wrapper.arguments):
            if argument.kind != "workspace":
                continue
            handle, address = Local(code, PTR, null()), Local(code, PTR, null())
            outputs = handle.address, address.address
            self._return_unless_allocated(
                allocate_workspace(code, calculated[position], *self._device_of_call(), *outputs)
            )
            self._workspaces[position] = handle, address

    def _release_workspaces(self) -> None:
        for handle, _ in self._workspaces.values():
            self._code.runtime("TVMFFIObjectDecRef", handle.value)

    # ---- call of the callee ----------------------------------------------------------------

    def _call(self, calculated: Sequence[Any]) -> Local | None:
        """Emit the call; return the variable with the returned number, None if there is none."""
        code, wrapper = self._code, self._wrapper
        returned = return_type(wrapper)
        value = None
        if returned != "void":
            value = Local(code, type_of_c(returned), None)
        result = self._result_type()
        if wrapper.returns == "error" and result is not None:
            type_ = memory_type(result)
            self._number = Local(code, type_, constant(type_, 0))
        values = [
            self._value(*item)
            for item in zip(range(len(calculated)), wrapper.arguments, calculated)
        ]
        if len(set(wrapper.callees.values())) == 1:
            self._call_callee(next(iter(wrapper.callees.values())), values, value)
        else:
            self._dispatch(values, value)
        self._release_workspaces()
        if wrapper.returns in ("status", "error"):
            assert value is not None
            with code.if_then(code.icmp_signed("!=", value.value, I32(0)), likely=False):
                self._release()
                if wrapper.returns == "error":
                    code.ret(I32(-1))
                else:
                    fail(code, failed_status(wrapper), got=value.value)
        return value if self._number is None else self._number

    def _call_callee(self, callee: str, values: Sequence[Any], value: Local | None) -> None:
        result = self._code.call(self._code.module.globals[callee], values)
        if value is not None:
            value.set(result)

    def _dispatch(self, values: Sequence[Any], value: Local | None) -> None:
        """Emit a switch that selects the callee by the index of the combination of dtypes."""
        code = self._code
        index = I32(0)
        for name, dtypes in self._wrapper.signature.dtype_variables.items():
            index = code.mul(index, I32(len(dtypes)))
            index = code.add(index, self._checks.dtypes[name].value)
        callees = list(self._wrapper.callees.values())
        blocks = [code.append_basic_block() for _ in callees]
        after = code.append_basic_block()
        switch = code.switch(index, blocks[-1])
        for number, (callee, block) in enumerate(zip(callees, blocks)):
            if number < len(callees) - 1:
                switch.add_case(I32(number), block)
            code.position_at_end(block)
            self._call_callee(callee, values, value)
            code.branch(after)
        code.position_at_end(after)

    def _value(self, position: int, argument: Argument, calculated: Any) -> Any:
        """Return the LLVM value of a callee argument."""
        code = self._code
        if argument.kind == "null":
            return null()
        if argument.kind == "workspace":
            return self._workspaces[position][1].value
        if argument.dtype is not None:
            type_ = type_of_c(value_type(ScalarType(argument.dtype)))
            if argument.kind == "constant":
                return constant(type_, argument.number)
            if type_ in (FLOAT, DOUBLE):
                return self._as_float(self._plain_value(argument), type_)
            return calculated if type_ == I64 else code.trunc(calculated, type_)
        if argument.kind == "extent":
            return calculated
        if argument.kind == "address":
            return self._address(argument.source)
        if argument.kind == "stream":
            return code.runtime("TVMFFIEnvGetStream", *self._device_of_call())
        return self._field(argument)

    def _as_float(self, value: Any, type_: Any) -> Any:
        if value.type == type_:
            return value
        convert = self._code.fptrunc if type_ == FLOAT else self._code.fpext
        return convert(value, type_)

    def _address(self, name: str) -> Any:
        code = self._code
        if self._number is not None and name in self._wrapper.results:
            return self._number.address
        tensor = self._tensor(name)
        if not self._tensor_type(name).is_optional:
            return support.address_of(code, tensor)
        address = Local(code, PTR, null())
        with code.if_then(code.icmp_unsigned("!=", tensor, null())):
            address.set(support.address_of(code, tensor))
        return address.value

    def _field(self, argument: Argument) -> Any:
        """Return the value of a tensor's field, or of a parameter that is not a tensor."""
        code, name = self._code, argument.source
        if not isinstance(type_of_source(self._wrapper, name), TensorType):
            return self._plain_value(argument)
        tensor = self._tensor(name)
        if argument.kind == "tensor":
            return tensor
        if argument.kind == "size":
            return support.size_of(code, tensor)
        if argument.kind in ("ndim", "device"):
            field = "device_id" if argument.kind == "device" else "ndim"
            return code.field(tensor, TENSOR, field)
        is_strides = argument.kind == "strides"
        array = self._strides_of[name] if is_strides else code.field(tensor, TENSOR, "shape")
        return array if argument.axis is None else code.element(I64, array, argument.axis)

    def _plain_value(self, argument: Argument) -> Any:
        code, parameter = self._code, self._wrapper.parameters[argument.source]
        local = self._checks.arguments[parameter.name]
        if argument.kind == "size":
            return local.size.value
        is_there = None
        if is_optional(parameter):
            is_there = self._checks.given[parameter.name].value
        if isinstance(local, Text):
            data = local.data.value
            return data if is_there is None else code.select(is_there, data, null())
        if is_there is not None and local.type != PTR:
            return code.select(is_there, code.bitcast(local.address, PTR), null())
        is_bool = value_type(parameter.type) == "bool"
        return code.trunc(local.value, I1) if is_bool else local.value

    # ---- return of results -----------------------------------------------------------------

    def _return(self, value: Local | None) -> None:
        code, handles = self._code, [handle.value for handle in self._handles.values()]
        returned = self._result_type()
        if returned is not None:
            assert value is not None
            self._return_number(value.value, returned)
        elif not handles:
            code.return_any(self._result, index_of("None"), I64(0))
        elif len(handles) == 1:
            code.return_any(self._result, index_of("ffi.Tensor"), handles[0])
        else:
            elements = Local(code, ir.ArrayType(ANY.type, len(handles)), None).address
            array = code.array(PTR, handles)
            count = I32(len(handles))
            code.ret(return_tensors(code, array, elements, count, self._result))

    def _result_type(self) -> str | None:
        """Return the C type of the result that is a number; None if all results are tensors."""
        types = [result.type for result in self._wrapper.results.values()]
        return next((value_type(t) for t in types if not isinstance(t, TensorType)), None)

    def _return_number(self, value: Any, returned: str) -> None:
        code = self._code
        if returned in ("float", "double"):
            number = value if value.type == DOUBLE else code.fpext(value, DOUBLE)
            code.return_any(self._result, index_of("float"), number)
            return
        if returned == "uint64_t":
            with code.if_then(code.icmp_signed("<", value, I64(0)), likely=False):
                code.ret(return_big(code, value, self._result))
        elif value.type != I64:
            extension = extension_of(returned)
            assert extension is not None
            value = _INT_OPERATIONS[extension](code, value, I64)
        code.return_any(self._result, index_of("bool" if returned == "bool" else "int"), value)
