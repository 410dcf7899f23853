# SPDX-License-Identifier: Apache-2.0
"""Export of a recorded call as a C program with data, which needs no Python."""

from __future__ import annotations

import struct
from typing import Any

from .._binding.values import Device
from .._dtype import dtype
from ._recorded_values import RecordedTensor, describe, tensors_in
from ._recording import RecordedCall
from ._replay_memory import ReplayMemory

__all__ = ["call_program"]

_PAGE = 4096
_LINE = 24  # bytes in a line

_PROGRAM = """\
/* Call {number} of a recording, of a function of a library:
 *
 *     cc call.c $(tvm-ffi-config --cflags --ldflags --libs) -ldl -o call \\
 *         -Wl,-rpath,$(tvm-ffi-config --libdir)
 *
 * The status is 0 if the call ends as recorded and writes the recorded elements. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

{data}
int main(void) {{
  void* library = dlopen({library}, RTLD_NOW);
  TVMFFISafeCallType call = library ? (TVMFFISafeCallType)dlsym(library, {symbol}) : NULL;
  if (call == NULL) {{
    fprintf(stderr, "%s\\n", dlerror());
    return 2;
  }}
{arguments}
  TVMFFIAny result;
  memset(&result, 0, sizeof(result));
  int status = call(NULL, args, {count}, &result);
  if (status != 0) {{
    TVMFFIObjectHandle error = NULL;
    TVMFFIErrorMoveFromRaised(&error);
    if (error != NULL) {{
      TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(error);
      printf("%.*s: %.*s\\n", (int)cell->kind.size, cell->kind.data, (int)cell->message.size,
             cell->message.data);
    }}
  }} else {{
    printf("result: type index %d, payload %lld\\n", (int)result.type_index,
           (long long)result.v_int64);
  }}
  int differences = status != {status};
{checks}
  printf(differences ? "different\\n" : "as recorded\\n");
  return differences != 0;
}}
"""


def call_program(call: RecordedCall) -> str:
    """Return a C program that makes the call with the recorded arguments.

    Parameters
    ----------
    call : RecordedCall
        A call of a function that its library exports as a symbol.

    Raises
    ------
    ValueError
        If an argument is neither a scalar, a string, bytes, a dtype, a device nor a tensor on the
        CPU.

    Notes
    -----
    Tensors are passed as ``DLTensor*``.
    """
    tensors = [tensor for value in call.arguments for tensor in tensors_in(value)]
    arguments = [_argument(call, i, value) for i, value in enumerate(call.arguments)]
    memory = ReplayMemory(tensors)
    for tensor in tensors:
        memory.filled(tensor)
    before = memory.blocks()
    for i, value in enumerate(call.arguments):
        if isinstance(value, RecordedTensor):
            memory.filled(value._replace(content=call.contents.get((i, 0))))
    after = memory.blocks()
    data, checks = [], []
    for i, (low, content) in enumerate(before):
        size, start = max(len(content), 1), low % _PAGE
        data.append(f"static _Alignas({_PAGE}) unsigned char block{i}[{start} + {size}];")
        data.append(f"static const unsigned char before{i}[{size}] = {{{_bytes(content)}}};")
        if _has_contents(tensors):
            data.append(f"static const unsigned char after{i}[{size}] = {{{_bytes(after[i][1])}}};")
            checks.append(
                f"  differences += memcmp(block{i} + {start}, after{i}, {len(content)}) != 0;"
            )
    lines = [
        f"  memcpy(block{i} + {low % _PAGE}, before{i}, {len(content)});"
        for i, (low, content) in enumerate(before)
    ]
    lines += [f"  TVMFFIAny args[{max(len(arguments), 1)}];", "  memset(args, 0, sizeof(args));"]
    for i, (value, text) in enumerate(zip(call.arguments, arguments)):
        lines += _tensor_lines(i, value, memory) if isinstance(value, RecordedTensor) else []
        lines += [f"  {line}" for line in text]
    return _PROGRAM.format(
        number=call.number,
        data="\n".join(data),
        library=_string(call.library),
        symbol=_string(f"__tvm_ffi_{call.name}"),
        arguments="\n".join(lines),
        count=len(arguments),
        status=call.status or 0,
        checks="\n".join(checks),
    )


def _has_contents(tensors: list[RecordedTensor]) -> bool:
    return bool(tensors) and all(isinstance(tensor.content, bytes) for tensor in tensors)


def _bytes(content: bytes) -> str:
    rows = [content[i : i + _LINE] for i in range(0, len(content), _LINE)]
    return ",\n".join(",".join(map(str, row)) for row in rows) or "0"


def _string(text: str | bytes) -> str:
    content = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    return '"' + "".join(
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
        for byte in content
    ) + '"'  # fmt: skip


def _tensor_lines(i: int, tensor: RecordedTensor, memory: ReplayMemory) -> list[str]:
    ndim = max(len(tensor.shape), 1)
    shape = ", ".join(map(str, tensor.shape or (0,)))
    lines = [f"  int64_t shape{i}[{ndim}] = {{{shape}}};"]
    if tensor.strides is not None:
        strides = ", ".join(map(str, tensor.strides or (0,)))
        lines.append(f"  int64_t strides{i}[{ndim}] = {{{strides}}};")
    data = "NULL"
    if tensor.data != 0:
        block, low = memory.block_of(tensor)
        data = f"block{block} + {low % _PAGE} + ({tensor.data - low})"
    dtype_text = f"{{{tensor.dtype.type_code}, {tensor.dtype.bits}, {tensor.dtype.lanes}}}"
    strides = "NULL" if tensor.strides is None else f"strides{i}"
    device = f"{{(DLDeviceType){tensor.device.dlpack_device_type()}, {tensor.device.index}}}"
    lines.append(
        f"  DLTensor tensor{i} = {{{data}, {device}, {len(tensor.shape)}, {dtype_text}, shape{i}, "
        f"{strides}, {tensor.byte_offset}}};"
    )
    return lines


def _argument(call: RecordedCall, i: int, value: Any) -> list[str]:
    """Return the statements that set an argument."""
    type_index, payload = f"args[{i}].type_index = ", f"args[{i}]."
    if value is None:
        return [f"{type_index}kTVMFFINone;"]
    if isinstance(value, bool):
        return [f"{type_index}kTVMFFIBool;", f"{payload}v_int64 = {int(value)};"]
    if isinstance(value, int):
        number = f"{value}LL" if value > -(2**63) else "INT64_MIN"
        return [f"{type_index}kTVMFFIInt;", f"{payload}v_int64 = {number};"]
    if isinstance(value, float):
        bits = struct.unpack("<q", struct.pack("<d", value))[0]
        number = f"{bits}LL" if bits > -(2**63) else "INT64_MIN"  # -0.0
        return [
            f"{type_index}kTVMFFIFloat;",
            f"{payload}v_int64 = {number}; /* {value!r} */",
        ]
    if isinstance(value, dtype):
        fields = f"{{{value.type_code}, {value.bits}, {value.lanes}}}"
        return [f"{type_index}kTVMFFIDataType;", f"{payload}v_dtype = (DLDataType){fields};"]
    if isinstance(value, Device):
        fields = f"{{(DLDeviceType){value.dlpack_device_type()}, {value.index}}}"
        return [f"{type_index}kTVMFFIDevice;", f"{payload}v_device = (DLDevice){fields};"]
    if isinstance(value, str):
        return [f"{type_index}kTVMFFIRawStr;", f"{payload}v_c_str = {_string(value)};"]
    if isinstance(value, bytes):
        content = _string(value)
        return [
            f"TVMFFIByteArray bytes{i} = {{{content}, {len(value)}}};",
            f"{type_index}kTVMFFIByteArrayPtr;",
            f"{payload}v_ptr = &bytes{i};",
        ]
    if isinstance(value, RecordedTensor) and value.device.type == "cpu":
        return [f"{type_index}kTVMFFIDLTensorPtr;", f"{payload}v_ptr = &tensor{i};"]
    raise ValueError(
        f"call {call.number} of {call.name}: a program cannot create the argument {describe(value)}"
    )
