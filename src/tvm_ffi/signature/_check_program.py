# SPDX-License-Identifier: Apache-2.0
"""Check programs: the checks of a signature as bytes for the runtime, which executes them.

``runtime/extra/checks/program.h`` describes the byte format and each operation. The checks, their
order and their messages come from `_checks`.
"""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

from .._binding.values import Device
from .._dtype import dtype
from .._schema.dtypes import integer_range
from .._schema.schema import Schema
from ._checks import (
    Check,
    Failure,
    accepted_type_names,
    checks,
    missing_arguments,
    too_many_arguments,
)
from ._declaration import Declaration
from ._expression import Expression, Extent, names_in
from ._parameter import EMPTY, Parameter
from ._types import ScalarType, TensorType, Type, ValueType

__all__ = [
    "NONE",
    "Assembler",
    "CheckWriter",
    "Label",
    "check_program",
    "counted",
    "float_bits",
    "gap_of",
    "signed",
    "string",
    "words",
]

_VERSION = 1
_MAX_PARAMETERS = 1 << 12  # kMaxTensors in runtime/extra/checks/program.cc
NONE = -1  # an optional index that is absent
_ERRORS = ("TypeError", "ValueError", "RuntimeError")
# Names of operations; the index is the operation's code (ORDER check-operations).
OPERATIONS = (
    *("end", "jump_if_zero", "jump_if_no_tensor", "range", "extent_equals", "same_device"),
    *("overlap", "add", "subtract", "multiply", "divide", "divide_up", "modulo", "minimum"),
    *("maximum", "less", "less_equal", "equal", "not_equal"),
    *("size", "num_dims", "device_number", "extent", "stride", "same_dimensions"),
    "jump_if_none",
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
_ANY, _TYPES, _NUMBER, _UNSIGNED, _TENSOR = range(5)  # ORDER check-argument-kinds
_INTEGER, _TRUTH, _DOUBLE, _SINGLE = range(4)  # ORDER check-number-forms
_CONSTANT, _STORE, _EQUAL, _STORE_OR_EQUAL = range(4)  # ORDER check-extent-kinds
_MAY_BE_MISSING, _MAY_BE_NONE = 1, 2
_INT64 = (-(2**63), 2**63 - 1)
# Type indices of each native type that a parameter accepts; ORDER type-index.
_INDICES = {
    "None": (0,),
    "int": (1,),
    "bool": (2,),
    "float": (3,),
    "ctypes.c_void_p": (4,),
    "str": (8, 11, 65),
    "bytes": (9, 12, 66),
}
_ARRAYS, _MAPS = (71, 75), (72, 76)
# Type indices of other types, by the origin of their schema.  Elements are not checked.
_OTHER_INDICES = {
    "dtype": (5,),
    "Device": (6,),
    "Callable": (68,),
    "ffi.Shape": (69,),
    "Array": _ARRAYS,
    "List": _ARRAYS,
    "tuple": _ARRAYS,
    "Map": _MAPS,
    "Dict": _MAPS,
    "Tensor": (7, 70),
    **_INDICES,
    "bool": (1, 2),
    "int": (1, 2),
    "float": (1, 2, 3),
}


def check_program(signature: Declaration) -> bytes | None:
    """Return the check program of a signature.

    None if the signature has a variadic parameter, or more parameters than the runtime accepts.
    """
    parameters = signature.parameters
    if len(parameters) > _MAX_PARAMETERS or any(p.kind == "variadic" for p in parameters):
        return None
    writer = CheckWriter(signature)
    writer.write_checks()
    writer.out.emit("end")
    return writer.encoded()


class Label:
    """A jump target; `Assembler.bind` replaces it by an address in all instructions that use it."""

    def __init__(self) -> None:
        self.uses: list[int] = []


class Assembler:
    """The code of a program, and the tables that the operands of its instructions refer to."""

    def __init__(self) -> None:
        self.code: list[int] = []
        self._initial: list[int] = []
        self._constants: dict[int, int] = {}  # value -> register
        self._temporaries: list[int] = []  # registers of intermediate values
        self._num_used = 0  # number of elements of `_temporaries` in use
        self._failures: dict[Failure, int] = {}
        self._dtypes: dict[tuple[str, ...], int] = {}

    def register(self, initial: int = 0) -> int:
        """Return the index of a new register with this initial value."""
        self._initial.append(signed(initial))
        return len(self._initial) - 1

    def constant(self, value: int) -> int:
        """Return the index of a register that always has this value."""
        if value not in self._constants:
            self._constants[value] = self.register(value)
        return self._constants[value]

    def temporary(self) -> int:
        """Return the index of a register for an intermediate value."""
        if self._num_used == len(self._temporaries):
            self._temporaries.append(self.register())
        self._num_used += 1
        return self._temporaries[self._num_used - 1]

    def reuse_temporaries(self) -> None:
        """Let later code overwrite the intermediate values."""
        self._num_used = 0

    def failure(self, failure: Failure | None) -> int:
        """Return the index of a `Failure` in the table of failures; add new failures."""
        if failure is None:
            return NONE
        return self._failures.setdefault(failure, len(self._failures))

    def dtypes(self, names: tuple[str, ...]) -> int:
        """Return the index of a set of dtypes in the table of dtype sets; add new sets."""
        return self._dtypes.setdefault(names, len(self._dtypes))

    def emit(self, name: str, *operands: int | Failure | Label) -> None:
        """Append one instruction: the code of the operation, then the operands."""
        self.code.append(_CODE[name])
        for operand in operands:
            if isinstance(operand, Label):
                operand.uses.append(len(self.code))
                self.code.append(0)
            else:
                self.code.append(self.failure(operand) if isinstance(operand, Failure) else operand)

    def bind(self, label: Label) -> None:
        """Set the address of a label to the current end of the code."""
        for use in label.uses:
            self.code[use] = len(self.code)

    def tables(self) -> bytes:
        """Return the encoded tables of registers, failures and dtype sets."""
        failures = [
            words(_ERRORS.index(failure.error)) + string(failure.template)
            for failure in self._failures
        ]
        sets = [counted(map(_dtype_word, names)) for names in self._dtypes]
        return counted(map(words, self._initial)) + counted(failures) + counted(sets)


class CheckWriter:
    """Writes the check program of one signature.

    Parameters
    ----------
    signature : Declaration
        Signature without a variadic parameter.
    keeps_values : bool or collection of str
        Whether further code uses the values of all parameters and extent names, or the names that
        further code uses.  Any other value that only one check uses gets no register.
    num_results : int
        Number of tensor slots after those of the parameters.
    """

    def __init__(
        self,
        signature: Declaration,
        *,
        keeps_values: bool | Collection[str] = False,
        num_results: int = 0,
    ) -> None:
        self._signature, self._num_results = signature, num_results
        self._checks = list(checks(signature))
        self.out = Assembler()
        self.values: dict[str, int] = {}  # parameter that is no tensor -> register of its value
        # extent name -> register of its value, register of a flag that is 1 if the name has a value
        self.extents: dict[str, tuple[int, int]] = {}
        # dtype variable -> register with 1 plus the index of its dtype, or with 0 if it has no
        # dtype
        self.variables: dict[str, int] = {}
        self.known: dict[Extent, int] = {}  # extent -> register of its value
        self._bound: set[str] = set()  # extent names that have a value on every path
        self._seen: set[str] = set()  # extent names that an earlier check may have given a value
        self._rows: list[bytes] = []
        self._kept = keeps_values
        self._is_used = self._used_names()

    def _used_names(self) -> set[str]:
        """Return the extent names whose values more than one check, or further code, uses."""
        counts = Counter(name for check in self._checks for name in names_in(check.extent))
        return {name for name, count in counts.items() if count > 1 or self._is_kept(name)}

    def _is_kept(self, name: str) -> bool:
        """Return True if further code uses the value of a parameter or an extent name."""
        return self._kept if isinstance(self._kept, bool) else name in self._kept

    def write_checks(self) -> None:
        """Write the rows of the arguments, and emit the checks of several arguments."""
        for variable in self._signature.dtype_variables:
            self.variables[variable] = self.out.register()
        by_position: dict[int, list[Check]] = defaultdict(list)
        for check in self._checks:
            by_position[check.position].append(check)
        for position, parameter in enumerate(self._signature.parameters):
            self._rows.append(self._argument(parameter, by_position[position]))
        for check in self._checks:
            if check.kind == "extent" and isinstance(check.extent, Expression):
                self._calculated(check, check.extent)
            elif check.kind == "ellipsis":
                others = (check.tensor, self._signature.parameters[check.other].type)
                operands = zip((check.position, check.other), map(gap_of, others))
                numbers = [number for index, gap in operands for number in (index, *gap)]
                failures = [check.failures[name] for name in ("ndim", "differs")]
                self.out.emit("same_dimensions", *numbers, *failures)
            elif check.kind == "overlap":
                self.out.emit("overlap", check.position, check.other, check.failures["overlap"])

    def encoded(self) -> bytes:
        """Return the bytes of the check program."""
        signature, count = self._signature, len(self._signature.parameters)
        given = (missing_arguments(signature, number) for number in range(count))
        missing = [self.out.failure(failure) for failure in given if failure is not None]
        too_many = [too_many_arguments(signature, text) for text in ("1", "{got}")]
        call_failures = counted(map(words, missing)) + words(*map(self.out.failure, too_many))
        head = words(_VERSION, count, self._num_results)
        code = counted(map(words, self.out.code))
        return head + self.out.tables() + call_failures + b"".join(self._rows) + code

    # ---- rows of arguments -------------------------------------------------------------------

    def _argument(self, parameter: Parameter, own: list[Check]) -> bytes:
        by_kind = {check.kind: check for check in own}
        accepted = accepted_type_names(parameter.type)
        omission = _MAY_BE_MISSING if parameter.default is not EMPTY else 0
        if accepted is not None and "None" in accepted:
            omission |= _MAY_BE_NONE
        failures = by_kind["type"].failures
        head = [omission, self.out.failure(failures["type"]), self.out.failure(failures["big"])]
        if accepted is None:
            return self._other_value(parameter.type, head)
        if isinstance(parameter.type, TensorType):
            extents = [c for c in own if c.kind == "extent"]
            return words(_TENSOR, *head) + self._tensor(parameter, by_kind, extents)
        kind = _TYPES
        if getattr(parameter.type, "dtype", "") == "uint64":
            kind = _UNSIGNED
        elif accepted[0] in ("int", "float", "bool"):
            kind = _NUMBER
        return words(kind, *head) + self._value(kind, parameter, by_kind, accepted)

    def _other_value(self, type_: Type, head: list[int]) -> bytes:
        """Return the row of a parameter with any other type, such as a dtype or a container."""
        indices = other_type_indices(type_)
        if indices is None:
            return words(_ANY, *head)
        return words(_TYPES, *head, signed(_bits_of(indices)), NONE)

    def _value(
        self,
        kind: int,
        parameter: Parameter,
        by_kind: Mapping[str, Check],
        accepted: tuple[str, ...],
    ) -> bytes:
        register = self._declare(parameter, accepted)
        out_of_range = by_kind["range"].failures["range"] if "range" in by_kind else None
        types = words(signed(_type_bits(name for name in accepted if name != "None")))
        name = self._name(parameter, by_kind.get("integer"))
        if kind == _TYPES:
            return types + words(register)
        if kind == _UNSIGNED:
            no_extent = by_kind["range"].failures.get("large")
            failures = (self.out.failure(out_of_range), self.out.failure(no_extent))
            return words(register, *failures) + name
        form = {"int": _INTEGER, "bool": _TRUTH, "float": _DOUBLE}[accepted[0]]
        type_ = parameter.type
        if isinstance(type_, ScalarType) and type_.dtype == "float32":
            form = _SINGLE
        limits = integer_range(type_.dtype) if isinstance(type_, ScalarType) else None
        limits = _INT64 if limits is None else limits
        return types + words(register, form, *limits, self.out.failure(out_of_range)) + name

    def _declare(self, parameter: Parameter, accepted: tuple[str, ...]) -> int:
        """Return the register of a parameter's value, or `NONE` if nothing uses the value."""
        if not self._is_kept(parameter.name) and parameter.name not in self._is_used:
            return NONE
        default, bits = parameter.default, 0
        if default is not EMPTY and isinstance(default, (int, float)):
            bits = float_bits(default) if accepted[0] == "float" else int(default)
        self.values[parameter.name] = self.out.register(bits)
        return self.values[parameter.name]

    def _name(self, parameter: Parameter, check: Check | None) -> bytes:
        """Return the comparison of an integer argument with the extent name that it binds."""
        if check is None or parameter.name not in self._is_used:
            return words(0)
        is_optional = "None" in (accepted_type_names(parameter.type) or ())
        extent = self._extent(check, is_certain=not is_optional)
        has_default = parameter.default is not EMPTY and parameter.default is not None
        return words(1) + extent + words(int(has_default))

    # ---- rows of tensors ---------------------------------------------------------------------

    def _tensor(
        self, parameter: Parameter, by_kind: Mapping[str, Check], extents: list[Check]
    ) -> bytes:
        type_ = parameter.type
        assert isinstance(type_, TensorType)
        shape = type_.shape or ()
        ndim = -len(shape) if type_.ndim is None and shape else len(shape)

        def failure(kind: str, name: str | None = None) -> int:
            check = by_kind.get(kind)
            return NONE if check is None else self.out.failure(check.failures.get(name or kind))

        row = words(ndim, failure("ndim"))
        names = self._signature.dtypes_of(type_) if type_.dtype is not None else ()
        variable = NONE if type_.variable is None else self.variables[type_.variable]
        row += words(self.out.dtypes(names) if names else NONE, variable)
        row += words(failure("dtype"), failure("dtype", "variable"))
        row += words(*_device_words(type_.device), failure("device"))
        row += words(failure("negative"))
        row += words(type_.compact_from or 0, failure("layout"), failure("repeats"))
        is_optional = "None" in (accepted_type_names(type_) or ())
        row += counted(
            self._extent(check, is_certain=not is_optional)
            for check in extents
            if not isinstance(check.extent, Expression) and self._is_checked(check.extent)
        )
        row += words(type_.alignment or 1, failure("alignment"))
        return row + words(failure("address", "null"), failure("address", "alignment"))

    def _is_checked(self, extent: Extent) -> bool:
        return isinstance(extent, int) or extent in self._is_used

    def _extent(self, check: Check, *, is_certain: bool) -> bytes:
        """Return one comparison of an extent or integer with a constant or a name."""
        failure = self.out.failure(check.failures["differs"])
        if isinstance(check.extent, int):
            return words(check.axis, _CONSTANT, check.extent, NONE, failure)
        name = str(check.extent)
        if name not in self.extents:
            has_flag = not is_certain
            self.extents[name] = (
                self.out.register(),
                self.out.register() if has_flag else NONE,
            )
        value, known = self.extents[name]
        kind = _EQUAL if name in self._bound else _STORE_OR_EQUAL if name in self._seen else _STORE
        self._seen.add(name)
        if is_certain:
            self._bound.add(name)
        return words(check.axis, kind, value, known, failure)

    # ---- extent expressions ------------------------------------------------------------------

    def _calculated(self, check: Check, extent: Expression) -> None:
        label = Label()
        self.known.clear()
        self.out.emit("jump_if_no_tensor", check.position, label)
        for name in dict.fromkeys(names_in(extent)):
            if name not in self._bound:
                self.out.emit("jump_if_zero", self.extents[name][1], label)
        value = self.value(extent, check.failures)
        self.out.emit("extent_equals", check.position, check.axis, value, check.failures["differs"])
        self.out.bind(label)
        self.known.clear()  # a jump to the label skips the evaluation of these extents

    def value(self, extent: Extent, failures: Mapping[str, Failure]) -> int:
        """Return the register of an extent's value; emit the evaluation unless `known` has it."""
        if isinstance(extent, str):
            return self.extents[extent][0]
        if extent not in self.known:
            self.known[extent] = self._new_value(extent, failures)
        return self.known[extent]

    def _new_value(self, extent: int | Expression, failures: Mapping[str, Failure]) -> int:
        if isinstance(extent, int):
            return self.out.constant(extent)
        left, right = (self.value(operand, failures) for operand in extent.operands)
        operator, register = extent.operator, self.out.temporary()
        raised: list[Failure] = []
        if operator in ("//", "cdiv", "%"):
            raised.append(failures[f"zero {extent}"])
        if operator not in ("%", "min", "max"):
            raised.append(failures[f"overflow {extent}"])
        self.out.emit(_ARITHMETIC[operator], register, left, right, *raised)
        return register


def gap_of(type_: Type) -> tuple[int, int]:
    """Return the first dimension of an ellipsis, and the number of dimensions outside it."""
    assert isinstance(type_, TensorType)
    return type_.gap or 0, len(type_.shape or ()) - 1


def _type_bits(names: Iterable[str]) -> int:
    """Return a set of type indices in the form that the runtime's TypeBit describes."""
    return _bits_of({index for name in names for index in _INDICES[name]})


def _bits_of(indices: Iterable[int]) -> int:
    return sum(1 << (index if index < 64 else index - 32) for index in indices)


def other_type_indices(type_: Type) -> set[int] | None:
    """Return the type indices of a type that `accepted_type_names` lacks; None if it has others."""
    return _indices_of(type_.schema) if isinstance(type_, ValueType) else None


def _indices_of(schema: Schema) -> set[int] | None:
    """Return the type indices of the values of a type; None if the type may have others."""
    if schema.origin not in ("Union", "Optional"):
        found = _OTHER_INDICES.get(schema.origin)
        return None if found is None else set(found)
    members = [_indices_of(arg) for arg in schema.args or ()]
    if not members or None in members:
        return None
    indices = {0} if schema.origin == "Optional" else set()
    return indices.union(*(member for member in members if member is not None))


def _device_words(name: str | None) -> tuple[int, int]:
    if name is None:
        return 0, NONE
    device = Device(name)
    return device.dlpack_device_type(), device.index if ":" in name else NONE


def _dtype_word(name: str) -> bytes:
    found = dtype(name)
    return words(found.type_code | found.bits << 8 | found.lanes << 16)


def words(*numbers: int) -> bytes:
    """Return signed integers as little-endian words of 64 bits."""
    return struct.pack(f"<{len(numbers)}q", *numbers)


def counted(rows: Iterable[bytes]) -> bytes:
    """Return the number of rows as a word, and the rows."""
    rows = list(rows)
    return words(len(rows)) + b"".join(rows)


def string(text: str) -> bytes:
    """Return the number of bytes of a text as a word, and the text in UTF-8."""
    encoded = text.encode("utf-8")
    return words(len(encoded)) + encoded


def signed(value: int) -> int:
    """Return the signed 64-bit integer that has the same bits as an unsigned integer."""
    return value - 2**64 if value >= 2**63 else value


def float_bits(value: float) -> int:
    """Return the bits of a double as a signed 64-bit integer."""
    bits: int = struct.unpack("<q", struct.pack("<d", float(value)))[0]
    return bits
