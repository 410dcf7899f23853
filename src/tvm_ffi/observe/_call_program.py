# SPDX-License-Identifier: Apache-2.0
"""Export of recorded calls as one C program with data, which needs no Python.

`_call_support` has the C functions that each program contains.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._binding.values import Device
from .._dtype import dtype
from ._call_support import FOOTER, HEADER
from ._compare import contents_after
from ._recorded_values import (
    MAPS,
    RecordedContainer,
    RecordedError,
    RecordedObject,
    RecordedTensor,
    describe,
    tensors_in,
)
from ._recording import RecordedCall
from ._replay import MODULE_GET_FUNCTION
from ._replay_memory import ReplayMemory, has_memory

__all__ = ["call_program"]

_PAGE = 4096
_LINE = 24  # bytes in a line


def call_program(calls: RecordedCall | Sequence[RecordedCall]) -> str:
    """Return a C program that makes calls with the recorded arguments, in their order.

    Parameters
    ----------
    calls : RecordedCall or sequence of RecordedCall
        The calls: functions that a library exports, global functions and methods.  Calls that
        another one of the calls made are left out.

    Raises
    ------
    ValueError
        If no call has only arguments that a program can create: scalars, strings, bytes, dtypes,
        devices, tensors on the CPU, containers of them, and objects that an earlier call returned.

    Notes
    -----
    Other calls of a sequence are left out, with a comment.  The program needs the recorded
    libraries and an implementation of ``tvm/ffi/c_api.h``.
    """
    return _Program([calls] if isinstance(calls, RecordedCall) else calls).text()


class _CannotCreateError(Exception):
    """The argument that a program cannot create, as text."""


class _Program:
    def __init__(self, calls: Sequence[RecordedCall]) -> None:
        # Libraries of inner calls register functions that outer ones look up.
        self._libraries = dict.fromkeys(call.library for call in calls if _is_loaded(call.library))
        numbers = {call.number for call in calls}
        self._calls = [call for call in calls if call.caller not in numbers]
        self._memory = ReplayMemory(
            tensor
            for call in self._calls
            for value in (*call.arguments, call.result)
            for tensor in tensors_in(value)
        )
        self._objects: dict[int, int] = {}  # the index of each object by its recorded address
        self._of_modules: dict[str, int] = {}  # functions that calls look up, by name
        self._data: dict[bytes, str] = {}  # the names of the contents
        self._lines: list[str] = []
        self._owned: list[str] = []  # the variables of the current call that the program releases
        self._num_variables = 0

    def text(self) -> str:
        functions, names = [], []
        for call in self._calls:
            try:
                body = self._call(call)
            except _CannotCreateError as error:
                reason = (
                    f"call {call.number} of {call.name}: a program cannot create the argument "
                    f"{error}"
                )
                if len(self._calls) == 1:
                    raise ValueError(reason) from None
                functions.append(f"/* Left out: {_in_comment(reason)} */\n")
                continue
            name = f"Call{call.number}"
            names.append(name)
            functions.append(f"static void {name}(void) {{\n{body}}}\n")
        if not names:
            raise ValueError("call_program: expected a call that a program can make, got none")
        blocks = [
            f"static _Alignas({_PAGE}) unsigned char block{i}[{low % _PAGE} + {max(size, 1)}];\n"
            for i, (low, size) in enumerate(self._memory.ranges())
        ]
        data = [
            f"static const unsigned char {name}[] = {{{_bytes(content)}}};\n"
            for content, name in self._data.items()
        ]
        objects = f"static TVMFFIAny objects[{len(self._objects)}];\n\n" if self._objects else ""
        calls = "".join(f"  Load({_string(library)});\n" for library in self._libraries)
        calls += "".join(f"  {name}();\n" for name in names)
        return HEADER + "".join(blocks + data) + objects + "\n".join(functions) + FOOTER % calls

    def _call(self, call: RecordedCall) -> str:
        self._lines, self._owned, self._num_variables = [], [], 0
        count = len(call.arguments)
        self._add(f"/* {_in_comment(f'{call.name}({self._arguments_text(call)})')} */")
        self._add(f"TVMFFIAny args[{max(count, 1)}], result;")
        self._add("memset(args, 0, sizeof(args));")
        self._add("memset(&result, 0, sizeof(result));")
        tensors: dict[int, str] = {}
        for i, value in enumerate(call.arguments):
            self._value(f"args[{i}]", value, tensors)
        library = _string(call.library) if _is_loaded(call.library) else "NULL"
        function = "NULL"
        if call.name in self._of_modules:
            function = f"objects[{self._of_modules[call.name]}].v_obj"
        self._add(
            f"int status = Call({call.number}, {library}, {_string(call.name)}, {function}, args, "
            f"{count}, &result);"
        )
        self._check_result(call)
        for tensor, content in contents_after(call).values():
            name = tensors.get(id(tensor))  # None in a container that an earlier call returned
            if name and isinstance(content, bytes) and isinstance(tensor.content, bytes):
                self._add(f"if (!Walk(&{name}, (unsigned char*){self._bytes_of(content)}, SAME))")
                self._add(f'  Differ({call.number}, "the elements of an argument");')
        for name in self._owned:
            self._add(f"Release(&{name});")
        if isinstance(call.result, (RecordedObject, RecordedContainer)) and call.result.address:
            index = self._objects.setdefault(call.result.address, len(self._objects))
            self._add(f"Keep(&objects[{index}], &result, status);")
            if call.name == MODULE_GET_FUNCTION:
                self._of_modules[call.arguments[1]] = index
        else:
            self._add("Release(&result);")
        return "".join(f"  {line}\n" for line in self._lines)

    @staticmethod
    def _arguments_text(call: RecordedCall) -> str:
        return ", ".join(map(describe, call.arguments))

    def _check_result(self, call: RecordedCall) -> None:
        if call.status is None:
            self._add("(void)status;")
            return
        result = call.result
        view = ""
        if isinstance(result, RecordedTensor) and has_memory(result):
            view = self._tensor(result)
        self._add(f"if ((status != 0) != {int(call.status != 0)}) {{")
        self._add(f'  Differ({call.number}, "the status");')
        if isinstance(result, RecordedError):
            self._add("} else {")
            self._add(f"  CheckError({call.number}, {_string(result.kind)}, "
                      f"{_string(result.message)});")  # fmt: skip
        elif view:
            content = "NULL"
            if isinstance(result.content, bytes):
                content = f"(unsigned char*){self._bytes_of(result.content)}"
            self._add("} else {")
            self._add(f"  CheckTensor({call.number}, &result, &{view}, {content});")
        elif isinstance(result, (str, bytes)) and not isinstance(result, dtype):
            self._add("} else {")
            self._add(f"  CheckText({call.number}, &result, {_literal(result)});")
        elif _payload(result) is not None:
            self._add("} else {")
            self._add(f"  CheckValue({call.number}, &result, {_payload(result)});")
        self._add("}")

    def _add(self, line: str) -> None:
        self._lines.append(line)

    def _variable(self, kind: str) -> str:
        self._num_variables += 1
        return f"{kind}{self._num_variables}"

    def _bytes_of(self, content: bytes) -> str:
        return self._data.setdefault(content, f"data{len(self._data)}")

    def _value(self, target: str, value: Any, tensors: dict[int, str]) -> None:
        """Add the statements that set the variable `target`."""
        if isinstance(value, (RecordedObject, RecordedContainer)) and value.address:
            index = self._objects.get(value.address)
            if index is not None:
                self._add(f"{target} = objects[{index}];")
                return
        if isinstance(value, RecordedContainer):
            self._container(target, value, tensors)
        elif isinstance(value, RecordedTensor) and has_memory(value):
            name = self._tensor(value)
            tensors[id(value)] = name
            if isinstance(value.content, bytes):
                content = self._bytes_of(value.content)
                self._add(f"Walk(&{name}, (unsigned char*){content}, WRITE);")
            self._add(f"{target} = {'TensorOf' if value.is_object else 'ViewOf'}(&{name});")
            if value.is_object:
                self._owned.append(target)
        elif isinstance(value, (str, bytes)) and not isinstance(value, dtype):
            self._add(f"{target} = TextOf({_literal(value)});")
            self._owned.append(target)
        elif _payload(value) is not None:
            self._add(f"{target} = ValueOf({_payload(value)});")
        else:
            raise _CannotCreateError(describe(value))

    def _container(self, target: str, value: RecordedContainer, tensors: dict[int, str]) -> None:
        pairs = value.elements if value.type_key in MAPS else [(part,) for part in value.elements]
        parts = [part for pair in pairs for part in pair]
        name = self._variable("parts")
        self._add(f"TVMFFIAny {name}[{max(len(parts), 1)}];")
        for i, part in enumerate(parts):
            self._value(f"{name}[{i}]", part, tensors)
        self._add(f"{target} = Container({_string(value.type_key)}, {name}, {len(parts)});")
        self._owned.append(target)

    def _tensor(self, tensor: RecordedTensor) -> str:
        """Add a DLTensor, and return its name."""
        name = self._variable("tensor")
        shape = ", ".join(map(str, tensor.shape or (0,)))
        self._add(f"static int64_t {name}_shape[] = {{{shape}}};")
        strides = "NULL"
        if tensor.strides is not None:
            strides = f"{name}_strides"
            text = ", ".join(map(str, tensor.strides or (0,)))
            self._add(f"static int64_t {strides}[] = {{{text}}};")
        data = "NULL"
        if tensor.data != 0:
            block, low = self._memory.block_of(tensor)
            data = f"block{block} + {low % _PAGE} + ({tensor.data - low})"
        device = f"{{(DLDeviceType){tensor.device.dlpack_device_type()}, {tensor.device.index}}}"
        element = f"{{{tensor.dtype.type_code}, {tensor.dtype.bits}, {tensor.dtype.lanes}}}"
        self._add(
            f"DLTensor {name} = {{{data}, {device}, {len(tensor.shape)}, {element}, "
            f"{name}_shape, {strides}, {tensor.byte_offset}}};"
        )
        return name


def _is_loaded(library: str) -> bool:
    """Return True if the program loads the library: not the runtime, to which it is linked."""
    name = Path(library).name
    return ".so" in name and not name.startswith("libtvm_ffi.") and ".cpython-" not in name


def _payload(value: Any) -> str | None:
    """Return the type index and the payload of a scalar; None if the value is not a scalar."""
    if value is None:
        return "kTVMFFINone, 0"
    if isinstance(value, bool):
        return f"kTVMFFIBool, {int(value)}"
    if isinstance(value, int):
        return f"kTVMFFIInt, {_number(value)}"
    if isinstance(value, float):
        bits = struct.unpack("<q", struct.pack("<d", value))[0]
        return f"kTVMFFIFloat, {_number(bits)} /* {value!r} */"
    if isinstance(value, dtype):
        fields = struct.pack("<BBHi", value.type_code, value.bits, value.lanes, 0)
        return f"kTVMFFIDataType, {struct.unpack('<q', fields)[0]} /* {value} */"
    if isinstance(value, Device):
        fields = struct.pack("<ii", value.dlpack_device_type(), value.index)
        return f"kTVMFFIDevice, {_number(struct.unpack('<q', fields)[0])} /* {value} */"
    return None


def _number(value: int) -> str:
    return f"{value}LL" if value > -(2**63) else "INT64_MIN"


def _literal(value: str | bytes) -> str:
    """Return the arguments of `TextOf`: 1 for a string, the bytes and their number."""
    content = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
    return f"{int(isinstance(value, str))}, {_string(content)}, {len(content)}"


def _bytes(content: bytes) -> str:
    rows = [content[i : i + _LINE] for i in range(0, len(content), _LINE)]
    return ",\n".join(",".join(map(str, row)) for row in rows) or "0"


def _string(text: str | bytes) -> str:
    content = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    return '"' + "".join(
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
        for byte in content
    ) + '"'  # fmt: skip


def _in_comment(text: str) -> str:
    text = "".join(c if c.isprintable() and c != "\\" else " " for c in text)
    return text[:200].replace("*/", "* /").replace("/*", "/ *")
