# SPDX-License-Identifier: Apache-2.0
"""Reader of serialized modules of kind ``cuda_driver``, without their launch programs.

``runtime/extra/cuda/module_format.h`` describes the format.
"""

from __future__ import annotations

from typing import NamedTuple

from .tvm_cuda_module import ModuleReader

__all__ = ["SavedFunction", "SavedImage", "read_cuda_driver_module"]

_MAGIC = b"TVMFFICU"
_ONE_IMAGE, _PLANS = 1, 2  # versions of the format
_FORMATS = {1: "ptx", 2: "cubin", 3: "fatbin"}


class SavedImage(NamedTuple):
    """A device image of a ``cuda_driver`` module."""

    format: str
    architecture: str
    """Empty if it is unknown."""
    content: bytes


class SavedFunction(NamedTuple):
    """A function of a ``cuda_driver`` module."""

    name: str
    doc: str = ""
    metadata: str = ""
    """JSON text; empty if callers pass the launch configuration."""


def read_cuda_driver_module(content: bytes) -> tuple[list[SavedImage], list[SavedFunction]]:
    """Return the device images and the functions of a module.

    Raises
    ------
    ValueError
        If `content` has another format, or ends too early.
    """
    reader = ModuleReader("cuda_driver", content)
    magic = reader.take(len(_MAGIC), "magic bytes")
    version = int.from_bytes(reader.take(4, "version"), "little")
    if magic != _MAGIC or version not in (_ONE_IMAGE, _PLANS):
        raise ValueError("module of kind `cuda_driver`: unknown format")
    num_images = 1 if version == _ONE_IMAGE else reader.count("images", 20)
    images = [_read_image(reader, version) for _ in range(num_images)]
    functions = [_read_kernel(reader) for _ in range(reader.count("kernels", 40))]
    if version != _ONE_IMAGE:
        functions += [_read_plan(reader) for _ in range(reader.count("launch plans", 32))]
    return images, functions


def _read_image(reader: ModuleReader, version: int) -> SavedImage:
    number = int.from_bytes(reader.take(4, "image format"), "little")
    architecture = "" if version == _ONE_IMAGE else reader.text("architecture")
    return SavedImage(_FORMATS.get(number, "unknown"), architecture, reader.bytes("image"))


def _read_kernel(reader: ModuleReader) -> SavedFunction:
    name = reader.text("name of a kernel")
    reader.bytes("symbol of a kernel")
    for texts in ("kernel parameters", "launch parameters"):
        for _ in range(reader.count(texts, 8)):
            reader.bytes(texts)
    for _ in range(reader.count("fixed launch fields", 16)):
        reader.bytes("name of a launch field")
        reader.take(8, "value of a launch field")
    return SavedFunction(name)


def _read_plan(reader: ModuleReader) -> SavedFunction:
    name, doc, metadata = (
        reader.text(f"{text} of a launch plan") for text in ("name", "documentation", "metadata")
    )
    reader.bytes("program of a launch plan")
    return SavedFunction(name, doc, metadata)
