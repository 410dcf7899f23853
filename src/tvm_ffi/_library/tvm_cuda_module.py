# SPDX-License-Identifier: Apache-2.0
"""Modules of kind ``cuda`` as Apache TVM and TileLang write them into libraries.

Little-endian; a size or a count is a uint64, a text is a size and its bytes::

    text   format of the image: "cubin", "ptx", "fatbin"
    count  of functions, and for each
        text   name
        text   name of the kernel in the image
        count  of parameters, and for each a dtype: uint8 code, uint8 bits, uint16 lanes
        count  of launch words, and for each a text: what callers pass behind the parameters
        count  of notes on parameters; 0 unless some are more than a value
    text   the image
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

__all__ = ["TvmCudaModule", "TvmKernel", "read_tvm_cuda_module"]

# Codes of dtypes, DLPack's; 3 is an address.
_NAME_OF_CODE = {0: "int", 1: "uint", 2: "float", 6: "bool"}
_ADDRESS = (3, 64, 1)


@dataclass(frozen=True)
class TvmKernel:
    """One function: what it takes, in the words of `tvm_ffi.cuda.Kernel`."""

    symbol: str
    parameters: list[str]
    launch: list[str]


@dataclass(frozen=True)
class TvmCudaModule:
    """An image and the functions in it, by name."""

    image_format: str
    kernels: dict[str, TvmKernel]
    image: bytes


def read_tvm_cuda_module(content: bytes) -> TvmCudaModule:
    """Read what a library embeds.

    Raises
    ------
    ValueError
        If it ends too early, has something behind its end, or describes what no kernel takes.
    """
    reader = _Reader(content)
    image_format = reader.text("format")
    kernels = {}
    for _ in range(reader.count("functions", 8)):
        name = reader.text("name of a function")
        kernels[name] = _read_kernel(reader, name)
    image = reader.bytes("image")
    if reader.position != len(content):
        raise ValueError(f"module of kind `cuda`: {len(content) - reader.position} bytes too many")
    return TvmCudaModule(image_format, kernels, image)


def _read_kernel(reader: _Reader, name: str) -> TvmKernel:
    symbol = reader.text(f"symbol of `{name}`")
    parameters = [
        _type_name(name, *struct.unpack("<BBH", reader.take(4, f"parameter of `{name}`")))
        for _ in range(reader.count(f"parameters of `{name}`", 4))
    ]
    words = [
        reader.text(f"launch word of `{name}`")
        for _ in range(reader.count(f"launch words of `{name}`", 8))
    ]
    if reader.count(f"notes on parameters of `{name}`", 0) != 0:
        raise ValueError(f"module of kind `cuda`: `{name}` takes tensor maps, which have no loader")
    return TvmKernel(symbol, parameters, words)


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


class _Reader:
    """A position in bytes that may be damaged."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.position = 0

    def take(self, size: int, what: str) -> bytes:
        """Return the next bytes."""
        end = self.position + size
        if end > len(self._content):
            raise ValueError(
                f"module of kind `cuda`: ends at byte {len(self._content)}, in: {what}"
            )
        found = self._content[self.position : end]
        self.position = end
        return found

    def count(self, what: str, item_size: int) -> int:
        """Return a count, for which there must be bytes of at least this size each."""
        (count,) = struct.unpack("<Q", self.take(8, what))
        if count * item_size > len(self._content) - self.position:
            raise ValueError(f"module of kind `cuda`: {count} {what} do not fit in it")
        return int(count)

    def bytes(self, what: str) -> bytes:
        """Return bytes that are preceded by their size."""
        return self.take(self.count(what, 1), what)

    def text(self, what: str) -> str:
        """Return UTF-8 text that is preceded by its size."""
        try:
            return self.bytes(what).decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"module of kind `cuda`: {what} is not UTF-8: {error}") from error
