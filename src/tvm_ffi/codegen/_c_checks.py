# SPDX-License-Identifier: Apache-2.0
"""The checks of a signature as C statements.

The code after the checks uses these locals: ``arg_x`` is the tensor, number or string of an
argument; ``has_x`` is false if an optional argument is None; ``dim_n`` is an extent; ``dtype_T`` is
the index of a variable's dtype in its list.
"""

from __future__ import annotations

from collections.abc import Mapping

from .._binding.values import Device
from .._dtype import dtype
from .._schema.dtypes import integer_range
from ..signature import EMPTY, Parameter, ScalarType, Signature, TensorType
from ..signature._check_program import gap_of, other_type_indices
from ..signature._checks import (
    Check,
    Failure,
    accepted_type_names,
    checks,
    missing_arguments,
    too_many_arguments,
)
from ..signature._expression import Extent, names_in
from ..signature._types import Type
from ..signature._values import alignment_of
from ._bound_names import (
    extent_failure,
    extent_names,
    is_unsigned,
    may_be_unknown,
    range_failure,
)
from ._c_errors import fail, fail_dtype, fail_type, fail_with
from ._c_source import Lines, literal, local_name, number, value_type
from ._wrapper import is_optional

__all__ = ["CheckPrinter"]

# Type index of each native type except strings and bytes; the support code tests their several type
# indices.
_INDEX = {
    "None": "kTVMFFINone",
    "bool": "kTVMFFIBool",
    "ctypes.c_void_p": "kTVMFFIOpaquePtr",
    "float": "kTVMFFIFloat",
    "int": "kTVMFFIInt",
}
# C condition of each operation: stores the result in the last operand, and is true on overflow.
_OVERFLOWING = {
    "+": "__builtin_add_overflow({}, {}, &{})",
    "-": "__builtin_sub_overflow({}, {}, &{})",
    "*": "__builtin_mul_overflow({}, {}, &{})",
    "//": "wrapper_divide({}, {}, &{}) != 0",
    "cdiv": "wrapper_divide_up({}, {}, &{}) != 0",
}
# C expression of each operation that cannot overflow.
_TOTAL = {
    "%": "wrapper_modulo({0}, {1})",
    "min": "wrapper_min({0}, {1})",
    "max": "wrapper_max({0}, {1})",
}


class CheckPrinter:
    """Prints the checks of a function's signature."""

    def __init__(self, signature: Signature, lines: Lines, *, converts: bool = False) -> None:
        self._signature, self._lines, self._converts = signature, lines, converts
        # Extent names and dtype variables that have a value on every path.
        self._bound: set[str] = set()
        self._temporaries = 0

    # ---- names of locals -------------------------------------------------------------------

    def argument(self, name: str) -> str:
        """Return the name of the C local variable of an argument."""
        return local_name("arg", name, self._position(name))

    def given(self, name: str) -> str:
        """Return the name of the C flag that is true if an optional argument is not None."""
        return local_name("has", name, self._position(name))

    def presence(self, name: str) -> str:
        """Return the C condition that an optional argument is not None."""
        type_ = self._signature.parameters[self._position(name)].type
        is_tensor = isinstance(type_, TensorType)
        return f"({self.argument(name)} != NULL)" if is_tensor else self.given(name)

    def extent_name(self, name: str) -> str:
        """Return the name of the C local variable with the value of an extent name."""
        return local_name("dim", name, extent_names(self._signature).index(name))

    def dtype_name(self, variable: str) -> str:
        """Return the name of the C local variable with the index of a dtype variable's dtype."""
        return local_name("dtype", variable, list(self._signature.dtype_variables).index(variable))

    def _known(self, name: str) -> str:
        return local_name("known", name, extent_names(self._signature).index(name))

    def _position(self, name: str) -> int:
        return [parameter.name for parameter in self._signature.parameters].index(name)

    # ---- all checks ------------------------------------------------------------------------

    def print(self) -> None:
        """Print the declarations and all checks."""
        self._count()
        for name in extent_names(self._signature):
            self._lines.add(f"int64_t {self.extent_name(name)} = 0;")
            if may_be_unknown(self._signature, name):
                self._lines.add(f"bool {self._known(name)} = false;")
        for variable in self._signature.dtype_variables:
            self._lines.add(f"int32_t {self.dtype_name(variable)} = -1;")
        for check in checks(self._signature):
            if accepted_type_names(check.parameter.type) is not None:
                getattr(self, f"_{check.kind}")(check)
            elif check.kind == "type" and not self._converts:
                self._other_type(check)
        names = [*map(self.extent_name, extent_names(self._signature))]
        names += map(self.dtype_name, self._signature.dtype_variables)
        names += [
            self.argument(parameter.name)
            for parameter in self._signature.parameters
            if accepted_type_names(parameter.type) is not None
        ]
        self._lines.add(
            *(f"(void){name};" for name in names)
        )  # avoids warnings about unused locals

    def _count(self) -> None:
        most = len(self._signature.parameters)
        failures = [missing_arguments(self._signature, given) for given in range(most)]
        texts = [literal(failure.message()) for failure in failures if failure is not None]
        if texts:
            with self._lines.block(f"if ((uint32_t)num_args < {len(texts)})"):
                self._lines.add(f"static const char* const missing[] = {{{', '.join(texts)}}};")
                nothing = ", ".join(["NULL"] * 6)
                self._lines.add(f'return wrapper_fail("TypeError", missing[num_args], {nothing});')
        if most == 0:
            too_many = fail(too_many_arguments(self._signature, "1"))
            self._lines.add(f"if (num_args == 1) {too_many}")
        failure = fail(too_many_arguments(self._signature), got="num_args")
        # A negative number is large as unsigned number.
        self._lines.add(f"if ((uint32_t)num_args > {most}) {failure}")

    # ---- checks of values ------------------------------------------------------------------

    def _type(self, check: Check) -> None:
        name = self.argument(check.parameter.name)
        if isinstance(check.parameter.type, TensorType):
            self._lines.add(f"const DLTensor* {name} = NULL;")
        else:
            self._declare_value(check.parameter, name)
        if check.parameter.default is EMPTY:
            self._read(check, name)
        else:
            with self._lines.block(f"if (num_args > {check.position})"):
                self._read(check, name)

    def _other_type(self, check: Check) -> None:
        """Print the check of a type without C form, such as a dtype or a container."""
        indices = other_type_indices(check.parameter.type)
        if indices is None:
            return
        is_passed = "" if check.parameter.default is EMPTY else f"num_args > {check.position} && "
        index = f"args[{check.position}].type_index"
        tests = " && ".join(f"{index} != {number}" for number in sorted(indices))
        self._lines.add(f"if ({is_passed}{tests}) {self._fail_type(check)}")

    def _declare_value(self, parameter: Parameter, name: str) -> None:
        type_ = value_type(parameter.type)
        has_default = parameter.default not in (EMPTY, None)
        if is_optional(parameter):
            value = "true" if has_default else "false"
            self._lines.add(f"bool {self.given(parameter.name)} = {value};")
        if self._is_text(parameter):
            content = _content_of(parameter.default if has_default else "")
            self._lines.add(f"TVMFFIByteArray {name} = {content};")
            return
        value = "NULL" if type_.endswith("*") else "0"
        if has_default:
            kind = getattr(parameter.type, "dtype", "int64")
            value = f"({type_}){number(parameter.default, kind)}"
        self._lines.add(f"{type_} {name} = {value};")

    def _is_text(self, parameter: Parameter) -> bool:
        return bool({"str", "bytes"} & {*(accepted_type_names(parameter.type) or ())})

    def _read(self, check: Check, name: str) -> None:
        """Print the type check of an argument, and the assignment of its value."""
        parameter = check.parameter
        value = f"args[{check.position}]"
        if isinstance(parameter.type, TensorType):
            self._lines.add(f"{name} = wrapper_tensor(&{value});")
            none = f" && {value}.type_index != kTVMFFINone" if is_optional(parameter) else ""
            self._lines.add(f"if ({name} == NULL{none}) {self._fail_type(check)}")
            return
        if not is_optional(parameter):
            self._read_value(check, name)
            return
        self._lines.add(f"{self.given(parameter.name)} = {value}.type_index != kTVMFFINone;")
        with self._lines.block(f"if ({self.given(parameter.name)})"):
            self._read_value(check, name)

    def _read_value(self, check: Check, name: str) -> None:
        parameter, value = check.parameter, f"args[{check.position}]"
        accepted = [
            type_name
            for type_name in accepted_type_names(parameter.type) or ()
            if type_name != "None"
        ]
        if is_unsigned(check):
            self._read_unsigned(check, name)
            return
        if self._is_text(parameter):
            self._lines.add(f"if (!wrapper_is_{accepted[0]}(&{value})) {self._fail_type(check)}")
            self._lines.add(f"{name} = wrapper_content(&{value});")
            return
        tests = " && ".join(f"{value}.type_index != {_INDEX[type_name]}" for type_name in accepted)
        self._lines.add(f"if ({tests}) {self._fail_type(check)}")
        self._range_of(check, value)
        self._lines.add(f"{name} = {_taken(accepted[0], value, value_type(parameter.type))};")

    def _range_of(self, check: Check, value: str) -> None:
        """Print the range check of a float, or of an integer that fits 64 bits with a sign."""
        type_ = check.parameter.type
        if isinstance(type_, ScalarType) and type_.dtype == "float32":
            failure = fail(range_failure(self._signature, check.position))
            self._lines.add(f"if (!wrapper_fits_float(&{value})) {failure}")
            return
        limits = integer_range(type_.dtype) if isinstance(type_, ScalarType) else None
        if limits is None or limits[0] == -(2**63):
            return
        failure = fail(range_failure(self._signature, check.position), got=f"{value}.v_int64")
        tests = f"{value}.v_int64 < {number(limits[0])} || {value}.v_int64 > {number(limits[1])}"
        self._lines.add(f"if ({tests}) {failure}")

    def _read_unsigned(self, check: Check, name: str) -> None:
        value = f"args[{check.position}]"
        self._lines.add(f"if (!wrapper_uint64(&{value}, &{name})) {self._fail_type(check)}")
        failure = fail(range_failure(self._signature, check.position), got=f"{value}.v_int64")
        is_negative = f"{value}.type_index == kTVMFFIInt && {value}.v_int64 < 0"
        self._lines.add(f"if ({is_negative}) {failure}")
        too_large = extent_failure(self._signature, check.position)
        if too_large is not None:
            self._lines.add(f"if ({name} > (uint64_t)INT64_MAX) {fail(too_large)}")

    def _fail_type(self, check: Check) -> str:
        return fail_type(check.failures["type"], check.failures["big"], f"args[{check.position}]")

    def _range(self, check: Check) -> None:
        """Print nothing: `_range_of` prints the range check before the conversion."""

    def _integer(self, check: Check) -> None:
        name = self.argument(check.parameter.name)
        condition = self.given(check.parameter.name) if is_optional(check.parameter) else ""
        self._bind(check, str(check.extent), f"(int64_t){name}", condition)

    # ---- checks of tensors -----------------------------------------------------------------

    def _guard(self, check: Check) -> str:
        """Return the C text ``x != NULL &&`` for an optional tensor x; "" for a required tensor."""
        name = self.argument(check.parameter.name)
        return f"{name} != NULL && " if is_optional(check.parameter) else ""

    def _require(self, check: Check, problem: str, statement: str) -> None:
        guard = self._guard(check)
        problem = f"({problem})" if guard and "||" in problem else problem
        self._lines.add(f"if ({guard}{problem}) {statement}")

    def _ndim(self, check: Check) -> None:
        shape = check.tensor.shape or ()
        test = f"< {len(shape) - 1}" if check.tensor.ndim is None else f"!= {len(shape)}"
        got = f"{self.argument(check.parameter.name)}->ndim"
        self._require(check, f"{got} {test}", fail(check.failures["ndim"], got=got))

    def _dtype(self, check: Check) -> None:
        names = self._signature.dtypes_of(check.tensor)
        got = f"{self.argument(check.parameter.name)}->dtype"
        if check.tensor.variable is not None:
            self._dtype_variable(check, check.tensor.variable, names, got)
            return
        tests = " && ".join(f"!{_is_dtype(got, name)}" for name in names)
        self._require(check, tests, fail_dtype(check.failures["dtype"], "NULL", got))

    def _dtype_variable(
        self, check: Check, variable: str, names: tuple[str, ...], got: str
    ) -> None:
        """Print the lookup of a dtype in the list of dtypes that a dtype variable allows."""
        known = self.dtype_name(variable)
        guard = self._guard(check).removesuffix(" && ")
        with self._lines.block(f"if ({guard})" if guard else ""):
            choices = "".join(f"{_is_dtype(got, name)} ? {i} : " for i, name in enumerate(names))
            self._lines.add(f"const int32_t index = {choices}-1;")
            self._lines.add(f"if (index < 0) {fail_dtype(check.failures['dtype'], 'NULL', got)}")
            if variable in self._bound:
                with self._lines.block(f"if ({known} >= 0 && index != {known})"):
                    texts = ", ".join(map(literal, names))
                    self._lines.add(f"static const char* const names[] = {{{texts}}};")
                    failure = check.failures["variable"]
                    self._lines.add(fail_dtype(failure, f"names[{known}]", got))
            self._lines.add(f"{known} = index;")
        self._bound.add(variable)

    def _device(self, check: Check) -> None:
        wanted = check.tensor.device
        assert wanted is not None
        device = Device(wanted)
        got = f"{self.argument(check.parameter.name)}->device"
        test = f"(int32_t){got}.device_type != {device.dlpack_device_type()}"
        if ":" in wanted:
            test += f" || {got}.device_id != {device.index}"
        failure = check.failures["device"]
        self._require(check, test, fail_with("device", failure, got))

    def _negative(self, check: Check) -> None:
        name, ndim = self.argument(check.parameter.name), check.tensor.ndim
        rank = f"{name}->ndim" if ndim is None else ndim
        failure = fail(check.failures["negative"], axis="axis", got=f"{name}->shape[axis]")
        guard = self._guard(check).removesuffix(" && ")
        with self._lines.block(f"if ({guard})" if guard else ""):
            self._lines.add(f"const int32_t axis = wrapper_negative_axis({name}, {rank});")
            self._lines.add(f"if (axis >= 0) {failure}")

    def _layout(self, check: Check) -> None:
        name = self.argument(check.parameter.name)
        ndim, first = check.tensor.ndim, check.tensor.compact_from or 0
        rank = f"{name}->ndim" if ndim is None else str(ndim)
        start = f"{rank} - {-first}" if first < 0 else str(first)
        test = f"!wrapper_is_compact({name}, {rank}, {start})"
        self._require(check, test, fail_with("strides", check.failures["layout"], name))

    def _writable(self, check: Check) -> None:
        """Print nothing, because native tensors have no read-only flag.

        A caller in Python checks the read-only flag of Python arrays.
        """

    def _repeats(self, check: Check) -> None:
        name, ndim = self.argument(check.parameter.name), check.tensor.ndim
        test = f"wrapper_repeats({name}, {f'{name}->ndim' if ndim is None else ndim})"
        self._require(check, test, fail_with("strides", check.failures["repeats"], name))

    def _overlap(self, check: Check) -> None:
        other = self._signature.parameters[check.other]
        names = self.argument(check.parameter.name), self.argument(other.name)
        facts = map(self._size_facts, names, (check.tensor, other.type))
        test = f"!wrapper_apart({', '.join(facts)}) && wrapper_overlap({', '.join(names)})"
        if is_optional(other):
            test = f"{names[1]} != NULL && {test}"
        self._require(check, test, fail(check.failures["overlap"]))

    def _size_facts(self, name: str, type_: Type) -> str:
        """Return the C arguments for a tensor: name, number of dimensions, bits of an element."""
        assert isinstance(type_, TensorType)
        sizes = {found.bits * found.lanes for found in map(dtype, self._signature.dtypes_of(type_))}
        bits = f"(uint64_t){name}->dtype.bits * {name}->dtype.lanes"
        if len(sizes) == 1:
            bits = f"{sizes.pop()}u"
        return f"{name}, {f'{name}->ndim' if type_.ndim is None else type_.ndim}, {bits}"

    def _extent(self, check: Check) -> None:
        name = self.argument(check.parameter.name)
        axis = str(check.axis) if check.axis >= 0 else f"{name}->ndim - {-check.axis}"
        got = f"{name}->shape[{axis}]"
        if isinstance(check.extent, str):
            self._bind(check, check.extent, got, self._guard(check).removesuffix(" && "), axis)
            return
        if isinstance(check.extent, int):
            failure = fail(check.failures["differs"], axis=axis, got=got)
            self._require(check, f"{got} != {number(check.extent)}", failure)
            return
        names = [n for n in dict.fromkeys(names_in(check.extent)) if n not in self._bound]
        known = " && ".join(map(self._known, names))
        condition = (self._guard(check) + known).removesuffix(" && ")
        with self._lines.block(f"if ({condition})" if condition else ""):
            expected = self.expression(check.extent, check.failures)
            failure = fail(check.failures["differs"], axis=axis, expected=expected, got=got)
            self._lines.add(f"if ({got} != {expected}) {failure}")

    def _ellipsis(self, check: Check) -> None:
        other = self._signature.parameters[check.other]
        names = self.argument(check.parameter.name), self.argument(other.name)
        gaps = gap_of(check.tensor), gap_of(other.type)
        given = [
            f"{name} != NULL"
            for name, parameter in zip(names, (check.parameter, other))
            if is_optional(parameter)
        ]
        with self._lines.block(f"if ({' && '.join(given)})" if given else ""):
            for local, name, gap in zip(("got", "expected"), names, gaps):
                self._lines.add(f"const int32_t {local} = {name}->ndim - {gap[1]};")
            failure = fail(check.failures["ndim"], expected="expected", got="got")
            self._lines.add(f"if (got != expected) {failure}")
            places = ", ".join(f"{name}, {gap[0]}" for name, gap in zip(names, gaps))
            self._lines.add(f"const int32_t i = wrapper_differing({places}, got);")
            extents = [f"{name}->shape[{gap[0]} + i]" for name, gap in zip(names, gaps)]
            holes = {"axis": f"{gaps[0][0]} + i", "index": "i"}
            failure = fail(check.failures["differs"], **holes, got=extents[0], expected=extents[1])
            self._lines.add(f"if (i >= 0) {failure}")

    def _bind(self, check: Check, name: str, got: str, condition: str, axis: str = "") -> None:
        """Print code that gives a value to an extent name, or compares it with the name's value."""
        known = self.extent_name(name)
        failure = fail(check.failures["differs"], axis=axis, expected=known, got=got)
        differs = f"{got} != {known}"
        if name in self._bound:
            test = f"{condition} && {differs}" if condition else differs
            self._lines.add(f"if ({test}) {failure}")
            return
        if may_be_unknown(self._signature, name):
            flag = self._known(name)
            inner = f"if ({flag} && {differs}) {failure}"
            with self._lines.block(f"if ({condition})" if condition else ""):
                self._lines.add(inner, f"{known} = {got};", f"{flag} = true;")
        else:
            self._lines.add(f"{known} = {got};")
        if not condition:
            self._bound.add(name)

    def _alignment(self, check: Check) -> None:
        name = self.argument(check.parameter.name)
        got = f"(uintptr_t)wrapper_address({name}) % {check.tensor.alignment}u"
        failure = fail(check.failures["alignment"], got=got)
        problem = f"{got} != 0 && {name}->data != NULL && !wrapper_is_empty({name})"
        self._require(check, problem, failure)

    def _address(self, check: Check) -> None:
        name = self.argument(check.parameter.name)
        address = f"(uintptr_t)wrapper_address({name})"
        sizes = {alignment_of(dtype(name)) for name in self._signature.dtypes_of(check.tensor)}
        alignment = f"wrapper_alignment({name}->dtype)"
        if len(sizes) == 1:
            alignment = f"{sizes.pop()}u"
        null = f"{name}->data == NULL"
        tests = null if alignment == "1u" else f"{null} || {address} % {alignment} != 0"
        with self._lines.block(f"if ({self._guard(check)}({tests}) && !wrapper_is_empty({name}))"):
            self._lines.add(f"if ({null}) {fail(check.failures['null'])}")
            if alignment != "1u":
                failure = fail(
                    check.failures["alignment"],
                    expected=alignment,
                    got=f"{address} % {alignment}",
                )
                self._lines.add(failure)

    # ---- extent expressions ----------------------------------------------------------------

    def expression(self, extent: Extent, failures: Mapping[str, Failure]) -> str:
        """Print the evaluation of an extent; return the name of its C variable, or its constant."""
        if isinstance(extent, int):
            return number(extent)
        if isinstance(extent, str):
            return self.extent_name(extent)
        left, right = (self.expression(operand, failures) for operand in extent.operands)
        name = f"value{self._temporaries}"
        self._temporaries += 1
        self._lines.add(f"int64_t {name};")
        if extent.operator in ("//", "%", "cdiv"):
            self._lines.add(f"if ({right} == 0) {fail(failures[f'zero {extent}'])}")
        if extent.operator in _OVERFLOWING:
            test = _OVERFLOWING[extent.operator].format(left, right, name)
            self._lines.add(f"if ({test}) {fail(failures[f'overflow {extent}'])}")
        else:
            self._lines.add(f"{name} = {_TOTAL[extent.operator].format(left, right)};")
        return name


def _is_dtype(got: str, name: str) -> str:
    wanted = dtype(name)
    return f"wrapper_is_dtype({got}, {wanted.type_code}, {wanted.bits}, {wanted.lanes})"


def _taken(type_name: str, value: str, type_: str) -> str:
    """Return the C expression that reads a number of a given type from a `TVMFFIAny`."""
    if type_name == "float":
        return f"({type_})wrapper_float(&{value})"
    if type_name == "bool":
        return f"{value}.v_int64 != 0"
    return f"{value}.v_ptr" if type_name == "ctypes.c_void_p" else f"({type_}){value}.v_int64"


def _content_of(constant: str | bytes) -> str:
    encoded = constant.encode("utf-8") if isinstance(constant, str) else constant
    return f"{{{literal(encoded)}, {len(encoded)}}}"
