# SPDX-License-Identifier: Apache-2.0
"""C code of a generated wrapper after its checks: allocation of results and the call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from .._binding.values import Device
from .._dtype import dtype
from .._schema.dtypes import integer_range
from ..signature import Result, TensorType
from ..signature._check_program import gap_of
from ._c_checks import CheckPrinter
from ._c_errors import fail
from ._c_source import Lines, literal, number, value_type
from ._c_types import argument_type, equal_types, return_type, type_of_source
from ._call_errors import (
    does_not_fit,
    failed_status,
    negative_extent,
    negative_workspace,
    nul_in_text,
    operation_failures,
    result_prefix,
    too_many_dimensions,
)
from ._wrapper import MAX_NDIM, Argument, Wrapper, is_optional, source_of

__all__ = ["CallPrinter"]

# Names in generated wrappers; a callee with one of these names needs an alias.
_LOCAL = re.compile(
    r"got|expected|count|i|handle|handles|args|num_args|result|status|value\d*|passed\d+|stream|index|names|missing|shape"
    r"|prototype|(?:arg|has|dim|known|dtype)_\w+|(?:out|workspace)\d+\w*"
)


class CallPrinter:
    """Prints a wrapper's code after the checks: allocations, the callee's call, and the return."""

    def __init__(
        self, wrapper: Wrapper, checks: CheckPrinter, lines: Lines, *, is_declared: bool
    ) -> None:
        self._wrapper, self._checks, self._lines = wrapper, checks, lines
        # True if a header declares the callees; the compiler then compares each call with it.
        self._is_declared = is_declared
        self._tensors = {
            name: f"out{i}"
            for i, (name, result) in enumerate(wrapper.results.items())
            if isinstance(result.type, TensorType)
        }

    @property
    def _number(self) -> Result | None:
        """The result that is a number; None if all results are tensors."""
        results = self._wrapper.results.values()
        return next((result for result in results if not isinstance(result.type, TensorType)), None)

    def print(self) -> None:
        """Print the allocation of results, the call of the callee, and the return."""
        self._reject_nul()
        self.prepare()
        if any(argument.kind == "stream" for argument in self._wrapper.arguments):
            device = self._device_of_call()
            self._lines.add(
                f"void* stream = TVMFFIEnvGetStream((int32_t){device}.device_type, "
                f"{device}.device_id);"
            )
        self._call()
        self._return()

    def prepare(self) -> None:
        """Print the evaluation of the callee's arguments, and all allocations."""
        self._strides(self._wrapper.parameters)
        for position, argument in enumerate(self._wrapper.arguments):
            self._calculate(position, argument)
        self._allocate()
        self._strides(self._wrapper.results)
        self._allocate_workspaces()

    def aliases(self) -> list[str]:
        """Return the definitions of aliases for callees whose names are also names of locals."""
        found = []
        for callee in dict.fromkeys(self._wrapper.callees.values()):
            if local_callee(callee) == callee:
                continue
            if self._is_declared:
                alias = local_callee(callee)
                found.append(f"static __typeof__(&{callee}) const {alias} = {callee};")
            else:
                types = self.prototypes()[callee].partition("(")[2].removesuffix(");")
                pointer = f"(*const {local_callee(callee)})({types})"
                found.append(f"static {return_type(self._wrapper)} {pointer} = {callee};")
        return found

    def prototypes(self) -> dict[str, str]:
        """Return a dict of the C declarations of the callees, by the name of the callee."""
        found = {}
        for callee in self._wrapper.callees.values():
            dtypes = self._wrapper.dtypes_of(callee)
            types = [self._type_of(argument, dtypes) for argument in self._wrapper.arguments]
            found[callee] = f"{return_type(self._wrapper)} {callee}({', '.join(types) or 'void'});"
        return found

    # ---- preparation of the callee's arguments ---------------------------------------------

    def _reject_nul(self) -> None:
        """Print a check that strings passed as ``const char*`` contain no NUL."""
        for name, parameter in self._wrapper.parameters.items():
            is_passed = Argument("value", name) in self._wrapper.arguments
            if not is_passed or value_type(parameter.type) != "const char*":
                continue
            if Argument("size", name) in self._wrapper.arguments:
                continue  # no check, because the callee also takes the size of the string
            local = self._checks.argument(name)
            position = f"wrapper_find_nul({local})"
            failure = fail(nul_in_text(self._wrapper, name), got=position)
            self._lines.add(f"if ({position} >= 0) {failure}")

    def _calculate(self, position: int, argument: Argument) -> None:
        """Print the evaluation of a callee argument, and the check that the C type can hold it."""
        limits = integer_range(argument.dtype or "int64")
        if argument.kind == "constant" or limits is None:
            return
        if argument.kind in ("extent", "workspace"):
            failures = operation_failures(f"{self._wrapper.name}(): ", argument.extent)
            value = self._checks.expression(argument.extent, failures)
        elif argument.dtype is not None:
            value = self._field(argument)
        else:
            return
        name = f"passed{position}"
        self._lines.add(f"const int64_t {name} = {value};")
        if argument.kind == "workspace":
            failure = fail(negative_workspace(self._wrapper.name, argument), got=name)
            self._lines.add(f"if ({name} < 0) {failure}")
        tests = [f"{name} < {number(limits[0])}"] if limits[0] > -(2**63) else []
        tests += [f"{name} > {number(limits[1])}"] if limits[1] < 2**63 - 1 else []
        if tests:
            failure = fail(does_not_fit(self._wrapper.name, argument), got=name)
            self._lines.add(f"if ({' || '.join(tests)}) {failure}")

    def _strides(self, names: Iterable[str]) -> None:
        """Print local arrays of strides, because `strides` of a compact tensor may be NULL."""
        passed = {a.source for a in self._wrapper.arguments if a.kind == "strides"}
        for name in names:
            if name in passed:
                ndim = self._tensor_type(name).ndim
                assert ndim is not None
                local = self._strides_name(name)
                self._lines.add(f"int64_t {local}[{max(ndim, 1)}];")
                self._lines.add(f"wrapper_strides({self._tensor(name)}, {ndim}, {local});")

    def _strides_name(self, name: str) -> str:
        return f"{self._tensor(name)}_strides"

    def _type_of(self, argument: Argument, dtypes: Mapping[str, str]) -> str:
        return argument_type(self._wrapper, argument, dtypes, is_declared=self._is_declared)

    def _tensor_type(self, name: str) -> TensorType:
        type_ = type_of_source(self._wrapper, name)
        assert isinstance(type_, TensorType)
        return type_

    def _tensor_names(self) -> set[str]:
        return {*self._wrapper.parameters, *self._tensors}

    def _tensor(self, name: str) -> str:
        """Return the name of the C local variable of a tensor."""
        if name in self._wrapper.parameters:
            return self._checks.argument(name)
        return self._tensors[name]

    # ---- allocation of results -------------------------------------------------------------

    def _allocate(self) -> None:
        # Evaluate all extents before the first allocation, so that a failure has no tensor to
        # release.
        shapes = {name: self._shape(name) for name in self._tensors}
        earlier: list[str] = []
        for name, local in self._tensors.items():
            self._lines.add(f"TVMFFIObjectHandle {local}_handle = NULL;")
            self._lines.add(f"const DLTensor* {local} = NULL;")
            with self._lines.block(""):
                self._prototype(self._tensor_type(name), shapes[name])
                with self._lines.block(
                    f"if (TVMFFIEnvTensorAlloc(&prototype, &{local}_handle) != 0)"
                ):
                    self._release(earlier)
                    self._lines.add("return -1;")
                self._lines.add(f"{local} = TVMFFITensorGetDLTensorPtr({local}_handle);")
            self._lines.add(f"(void){local};")  # avoids a warning about an unused variable
            earlier.append(f"{local}_handle")

    def _prototype(self, type_: TensorType, shape: list[str]) -> None:
        """Print the DLTensor that describes a result to the tensor allocator."""
        ndim = str(len(shape))
        if type_.gap is None:
            self._lines.add(f"int64_t shape[] = {{{', '.join(shape) or '0'}}};")
        else:
            ndim = f"count + {len(shape) - 1}"
            self._shape_with_gap(type_, shape)
        self._lines.add(
            "DLTensor prototype;",
            "prototype.data = NULL;",
            f"prototype.device = {self._device_of(type_)};",
            f"prototype.ndim = {ndim};",
            *self._dtype_of(type_),
            "prototype.shape = shape;",
            "prototype.strides = NULL;",
            "prototype.byte_offset = 0;",
        )

    def _shape_with_gap(self, type_: TensorType, shape: list[str]) -> None:
        """Print the array of a result's extents, of which a tensor determines those in the gap."""
        gap, (tensor, (first, num_others)) = type_.gap or 0, self._source_of(type_)
        self._lines.add(
            f"const int32_t count = {tensor}->ndim - {num_others};",
            f"int64_t shape[{MAX_NDIM}];",
            *(f"shape[{axis}] = {value};" for axis, value in enumerate(shape[:gap])),
            f"for (int32_t i = 0; i < count; ++i) shape[{gap} + i] = {tensor}->shape[{first} + i];",
            *(f"shape[count + {gap + i}] = {value};" for i, value in enumerate(shape[gap + 1 :])),
        )

    def _source_of(self, type_: TensorType) -> tuple[str, tuple[int, int]]:
        """Return the local of the tensor with the extents of an ellipsis, and its `gap_of`."""
        assert type_.ellipsis is not None
        source = source_of(self._wrapper.signature, type_.ellipsis)
        return self._checks.argument(source.name), gap_of(source.type)

    def _shape(self, name: str) -> list[str]:
        """Print the statements that compute the extents of a result; return their C expressions."""
        where = result_prefix(self._wrapper.name, name)
        values = []
        type_ = self._tensor_type(name)
        shape = type_.shape or ()
        for axis, extent in enumerate(shape):
            if extent == type_.ellipsis:
                tensor, (_, num_others) = self._source_of(type_)
                count = f"{tensor}->ndim - {num_others}"
                too_many = too_many_dimensions(where, str(extent), len(shape) - 1)
                most = MAX_NDIM - len(shape) + 1
                self._lines.add(f"if ({count} > {most}) {fail(too_many, got=count)}")
                values.append("")
                continue
            value = self._checks.expression(extent, operation_failures(where, extent))
            if not isinstance(extent, int):
                failure = fail(negative_extent(where, type_, axis), got=value)
                self._lines.add(f"if ({value} < 0) {failure}")
            values.append(value)
        return values

    def _dtype_of(self, type_: TensorType) -> list[str]:
        """Return the C statements that set the dtype of a result."""
        names = self._wrapper.signature.dtypes_of(type_)
        fields: Mapping[str, list[int]] = {
            "code": [dtype(name).type_code for name in names],
            "bits": [dtype(name).bits for name in names],
            "lanes": [dtype(name).lanes for name in names],
        }
        statements = []
        for field, values in fields.items():
            value = str(values[-1])
            if type_.variable is not None:
                index = self._checks.dtype_name(type_.variable)
                tests = (f"{index} == {i} ? {choice} : " for i, choice in enumerate(values[:-1]))
                value = f"{''.join(tests)}{value}"
            width = "uint16_t" if field == "lanes" else "uint8_t"
            statements.append(f"prototype.dtype.{field} = ({width})({value});")
        return statements

    def _device_of(self, type_: TensorType) -> str:
        if ":" in (type_.device or "") or self._wrapper.first_tensor is None:
            device = Device(type_.device or "cpu")
            return f"TVMFFIDLDeviceFromIntPair({device.dlpack_device_type()}, {device.index})"
        return self._device_of_call()

    def _device_of_call(self) -> str:
        first = self._wrapper.first_tensor
        assert first is not None
        return f"{self._checks.argument(first.name)}->device"

    def _release(self, handles: list[str]) -> None:
        self._lines.add(*(f"TVMFFIObjectDecRef({handle});" for handle in handles))

    # ---- allocation of workspaces ----------------------------------------------------------

    def _workspaces(self) -> list[int]:
        arguments = enumerate(self._wrapper.arguments)
        return [position for position, argument in arguments if argument.kind == "workspace"]

    def _allocate_workspaces(self) -> None:
        earlier = [f"{local}_handle" for local in self._tensors.values()]
        for i in self._workspaces():
            self._lines.add(f"TVMFFIObjectHandle workspace{i}_handle = NULL;")
            self._lines.add(f"void* workspace{i} = NULL;")
            request = f"passed{i}, {self._device_of_call()}"
            with self._lines.block(
                f"if (wrapper_workspace({request}, &workspace{i}_handle, &workspace{i}) != 0)"
            ):
                self._release(earlier)
                self._lines.add("return -1;")
            earlier.append(f"workspace{i}_handle")

    def release_workspaces(self) -> None:
        """Print the release of all workspaces."""
        self._release([f"workspace{i}_handle" for i in self._workspaces()])

    # ---- call of the callee ----------------------------------------------------------------

    def _call(self) -> None:
        variable = {"value": "value", "status": "status", "error": "status"}.get(
            self._wrapper.returns
        )
        if self._wrapper.returns == "error" and self._number is not None:
            self._lines.add(f"{value_type(self._number.type)} value = 0;")
        if variable is not None:
            self._lines.add(f"{return_type(self._wrapper)} {variable} = 0;")
        assign = f"{variable} = " if variable else ""
        callees = list(dict.fromkeys(self._wrapper.callees.values()))
        if self._is_declared:
            self._compare(callees)
        if len(callees) == 1:
            self._call_one(assign, callees[0])
        else:
            self._dispatch(assign)
        self.release_workspaces()
        if variable == "status":
            with self._lines.block("if (status != 0)"):
                self._release([f"{local}_handle" for local in self._tensors.values()])
                is_raised = self._wrapper.returns == "error"
                failure = fail(failed_status(self._wrapper), got="status")
                self._lines.add("return -1;" if is_raised else failure)

    def _compare(self, callees: Iterable[str]) -> None:
        """Print a constant for each callee: 1 if its header declares the types of the signature.

        A parameter may have one of several types, which form a transparent union: the compiler
        regards such a union as compatible with each of its members.
        """
        self._lines.add("#ifndef __cplusplus")
        for callee in callees:
            tests = {}
            for is_written in (True, False):
                types = ", ".join(self._header_types(callee, is_written=is_written))
                declared = f"{return_type(self._wrapper)}({types or 'void'})"
                found = f"__typeof__(*{local_callee(callee)})"
                tests[is_written] = f"__builtin_types_compatible_p({found}, {declared})"
            self._lines.add(f"enum {{ {_equality_of(callee)} = {tests[True]} }};")
            message = (
                f"the header declares that {callee} does not write to an argument (const), the "
                "signature declares that it writes (out, inout)"
            )
            test = f"{_equality_of(callee)} || !{tests[False]}"
            self._lines.add(f"_Static_assert({test}, {literal(message)});")
        self._lines.add("#endif")

    def _header_types(self, callee: str, *, is_written: bool) -> Iterator[str]:
        """Yield the C types of the callee's arguments; print the unions among these types.

        If `is_written` is False, the header may declare that the callee writes to no argument.
        """
        dtypes = self._wrapper.dtypes_of(callee)
        for i, argument in enumerate(self._wrapper.arguments):
            choices = equal_types(self._wrapper, argument, dtypes, is_written=is_written)
            if len(choices) == 1:
                yield choices[0]
                continue
            name = f"wrapper_{'written' if is_written else 'read'}{i}_of_{callee}"
            members = " ".join(f"{type_} _{k};" for k, type_ in enumerate(choices))
            union = f"union {{ {members} }} {name} __attribute__((transparent_union))"
            self._lines.add(f"typedef {union};")
            yield name

    def _call_one(self, assign: str, callee: str) -> None:
        values = self._values(callee)
        if not self._is_declared:
            self._lines.add(f"{assign}{local_callee(callee)}({values});")
            return
        # The parentheses prevent the expansion of a macro with parameters.
        call = f"({local_callee(callee)})({values})"
        returns = self._wrapper.returns
        is_status = returns in ("status", "error")
        converted = f"(int){call}" if is_status else call
        self._lines.add("WRAPPER_COMPARE", f"{assign}{converted};", "WRAPPER_COMPARED")
        if returns == "value":
            return
        if is_status:
            test = "WRAPPER_RETURNS_STATUS"
            message = (
                f"the header must declare that {callee} returns int, because the wrapper has "
                f"returns='{returns}'"
            )
        else:
            test = "WRAPPER_RETURNS_NO_VALUE"
            message = (
                f"the header declares a return value of {callee}, the signature has no result; "
                "declare the result, or returns='status' or returns='error'"
            )
        check = f"WRAPPER_CHECK_RETURN({test}, {call}, {literal(message)})"
        self._lines.add("#ifndef __cplusplus", check, "#endif")

    def _dispatch(self, assign: str) -> None:
        """Print a `switch` that selects the callee by the index of the dtypes of a call."""
        index = ""
        for name, dtypes in self._wrapper.signature.dtype_variables.items():
            variable_index = self._checks.dtype_name(name)
            index = f"({index}) * {len(dtypes)} + {variable_index}" if index else variable_index
        callees = list(self._wrapper.callees.values())
        with self._lines.block(f"switch ({index})"):
            for i, callee in enumerate(callees):
                self._lines.add("default:" if i == len(callees) - 1 else f"case {i}:")
                self._call_one(assign, callee)
                self._lines.add("break;")

    def _values(self, callee: str) -> str:
        dtypes = self._wrapper.dtypes_of(callee)
        values = []
        for position, argument in enumerate(self._wrapper.arguments):
            value = self._value(position, argument, dtypes)
            type_ = self._type_of(argument, dtypes)
            if self._is_declared and type_.endswith("*") and argument.kind != "null":
                value = f"WRAPPER_PASS({_equality_of(callee)}, {type_}, {value})"
            values.append(value)
        return ", ".join(values)

    def _value(self, position: int, argument: Argument, dtypes: Mapping[str, str]) -> str:
        """Return the C expression of a callee argument."""
        if argument.kind == "constant":
            constant = number(argument.number, argument.dtype or "int64")
            return f"({self._type_of(argument, dtypes)}){constant}"
        if argument.kind == "null":
            return "NULL"
        if argument.kind == "workspace":
            return f"workspace{position}"
        if argument.kind == "value" and argument.dtype is not None:
            return f"({self._type_of(argument, dtypes)}){self._plain_value(argument)}"
        if argument.dtype is not None:
            return f"({argument.dtype}_t)passed{position}"
        if argument.kind == "extent":
            return f"passed{position}"
        if argument.kind == "address" and argument.source not in self._tensor_names():
            return "&value"
        if argument.kind == "address":
            tensor = self._tensor(argument.source)
            address = f"({self._type_of(argument, dtypes)})wrapper_address({tensor})"
            is_none = self._tensor_type(argument.source).is_optional
            return f"{tensor} == NULL ? NULL : {address}" if is_none else address
        return "stream" if argument.kind == "stream" else self._field(argument)

    def _field(self, argument: Argument) -> str:
        """Return the C expression of a tensor's field, or of a parameter that is not a tensor."""
        name = argument.source
        if not isinstance(type_of_source(self._wrapper, name), TensorType):
            return self._plain_value(argument)
        tensor = self._tensor(name)
        axis = "" if argument.axis is None else f"[{argument.axis}]"
        return {
            "tensor": f"(DLTensor*){tensor}",
            "shape": f"{tensor}->shape{axis}",
            "strides": f"{self._strides_name(name)}{axis}",
            "ndim": f"{tensor}->ndim",
            "size": f"wrapper_size({tensor})",
            "device": f"{tensor}->device.device_id",
        }[argument.kind]

    def _plain_value(self, argument: Argument) -> str:
        parameter = self._wrapper.parameters[argument.source]
        local = self._checks.argument(parameter.name)
        if argument.kind == "size":
            return f"(int64_t){local}.size"
        type_ = value_type(parameter.type)
        given = self._checks.given(parameter.name)
        if type_ in ("const char*", "const void*"):
            return f"{given} ? {local}.data : NULL" if is_optional(parameter) else f"{local}.data"
        if is_optional(parameter) and not type_.endswith("*"):
            return f"{given} ? &{local} : NULL"
        return local

    # ---- return of results -----------------------------------------------------------------

    def _return(self) -> None:
        if self._number is not None:
            self._return_value()
        elif not self._tensors:
            self._lines.add("return wrapper_return_none(result);")
        elif len(self._tensors) == 1:
            (local,) = self._tensors.values()
            self._lines.add(f"return wrapper_return_tensor({local}_handle, result);")
        else:
            handles = ", ".join(f"{local}_handle" for local in self._tensors.values())
            count = len(self._tensors)
            self._lines.add(f"TVMFFIObjectHandle handles[{count}] = {{{handles}}};")
            self._lines.add(f"return wrapper_return_tensors(handles, {count}, result);")

    def _return_value(self) -> None:
        (result,) = self._wrapper.signature.results
        type_ = value_type(result.type)
        if type_ in ("float", "double"):
            self._lines.add("return wrapper_return_float((double)value, result);")
        elif type_ == "uint64_t":
            self._lines.add("return wrapper_return_uint64(value, result);")
        else:
            index = "kTVMFFIBool" if type_ == "bool" else "kTVMFFIInt"
            self._lines.add(f"return wrapper_return_int({index}, (int64_t)value, result);")


def _equality_of(callee: str) -> str:
    return f"wrapper_equals_{callee}"


def local_callee(callee: str) -> str:
    """Return the name by which wrappers call a callee: its name, or its alias."""
    return f"call_{callee}" if _LOCAL.fullmatch(callee) else callee
