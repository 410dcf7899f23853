# SPDX-License-Identifier: Apache-2.0
"""Reader of serialized modules of kind ``cuda`` from Apache TVM and TileLang libraries.

Layout; all numbers are little-endian, sizes and counts are uint64, a string is a size and its
bytes::

    string  format of the device image: "cubin", "ptx", "fatbin"
    count   of functions, then for each function
        string  name of the function
        string  name of the kernel in the device image
        count   of parameters, then for each a dtype: uint8 code, uint8 bits, uint16 lanes
        count   of launch parameters, then for each a string, its name
        count   of parameter annotations; 0 unless a parameter is a tensor map
    string  the device image
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

__all__ = ["ModuleReader", "TvmCudaModule", "TvmKernel", "read_tvm_cuda_module"]

# DLPack dtype codes; code 3 is a pointer.
_NAME_OF_CODE = {0: "int", 1: "uint", 2: "float", 6: "bool"}
_ADDRESS = (3, 64, 1)


@dataclass(frozen=True)
class TvmKernel:
    """A function of a ``cuda`` module, as the arguments of a `tvm_ffi.cuda.Kernel`."""

    symbol: str
    parameters: list[str]
    launch: list[str]


@dataclass(frozen=True)
class TvmCudaModule:
    """A module of kind ``cuda``: its device image, and its functions by name."""

    image_format: str
    kernels: dict[str, TvmKernel]
    image: bytes


def read_tvm_cuda_module(content: bytes) -> TvmCudaModule:
    """Parse the bytes of an embedded module of kind ``cuda``.

    Raises
    ------
    ValueError
        If `content` is truncated, has excess bytes, or contains a kernel with an unsupported
        parameter type.
    """
    reader = ModuleReader("cuda", content)
    image_format = reader.text("format")
    kernels = {}
    for _ in range(reader.count("functions", 8)):
        name = reader.text("name of a function")
        kernels[name] = _read_kernel(reader, name)
    image = reader.bytes("image")
    if reader.position != len(content):
        raise ValueError(
            f"module of kind `cuda`: {len(content) - reader.position} bytes follow the device image"
        )
    return TvmCudaModule(image_format, kernels, image)


def _read_kernel(reader: ModuleReader, name: str) -> TvmKernel:
    symbol = reader.text(f"symbol of `{name}`")
    parameters = [
        _type_name(name, *struct.unpack("<BBH", reader.take(4, f"parameter of `{name}`")))
        for _ in range(reader.count(f"parameters of `{name}`", 4))
    ]
    launch = [
        reader.text(f"launch parameter of `{name}`")
        for _ in range(reader.count(f"launch parameters of `{name}`", 8))
    ]
    if reader.count(f"parameter annotations of `{name}`", 0) != 0:
        raise ValueError(
            f"module of kind `cuda`: `{name}` takes tensor maps, which this reader does not support"
        )
    return TvmKernel(symbol, parameters, launch)


def _type_name(function: str, code: int, bits: int, lanes: int) -> str:
    if (code, bits, lanes) == _ADDRESS:
        return "void*"
    if lanes == 1 and code in _NAME_OF_CODE:
        name = _NAME_OF_CODE[code]
        return name if name == "bool" else f"{name}{bits}"
    raise ValueError(
        f"module of kind `cuda`: a parameter of `{function}` has the dtype "
        f"(code {code}, {bits} bits, {lanes} lanes), which kernels do not take"
    )


class ModuleReader:
    """A cursor over an untrusted serialized module; methods raise ValueError at the end."""

    def __init__(self, kind: str, content: bytes) -> None:
        self._kind = kind
        self._content = content
        self.position = 0

    def take(self, size: int, name: str) -> bytes:
        """Return the next `size` bytes; `name` describes them in the error message."""
        end = self.position + size
        if end > len(self._content):
            raise ValueError(
                f"module of kind `{self._kind}`: the bytes end at byte {len(self._content)}, "
                f"within: {name}"
            )
        found = self._content[self.position : end]
        self.position = end
        return found

    def count(self, name: str, item_size: int) -> int:
        """Read a count; raise ValueError if fewer items of `item_size` bytes can follow."""
        (count,) = struct.unpack("<Q", self.take(8, name))
        if count * item_size > len(self._content) - self.position:
            raise ValueError(
                f"module of kind `{self._kind}`: the bytes that remain are too few for {count} "
                f"{name}"
            )
        return int(count)

    def bytes(self, name: str) -> bytes:
        """Return bytes that are stored after their size."""
        return self.take(self.count(name, 1), name)

    def text(self, name: str) -> str:
        """Return a UTF-8 string that is stored after its size in bytes."""
        try:
            return self.bytes(name).decode()
        except UnicodeDecodeError as error:
            raise ValueError(
                f"module of kind `{self._kind}`: {name} is not UTF-8: {error}"
            ) from error
