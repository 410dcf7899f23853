# SPDX-License-Identifier: Apache-2.0
"""`DeviceImage`: compiled device code with its format, architecture and kernels."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from .._internal.regular_file import open_regular
from ..inspection._device_code import cubin_arch
from ..inspection._kernels import cubin_kernels, ptx_kernels, ptx_target

__all__ = ["DeviceImage"]

_FORMATS = ("ptx", "cubin", "fatbin")
_ARCHITECTURE = re.compile(r"sm_(\d{2,3})([af]?)")


@dataclass(frozen=True)
class DeviceImage:
    """Device code: PTX or a cubin for one architecture, or a fatbin for several.

    Parameters
    ----------
    content : bytes
        Input of the driver's module loader.
    format : {"ptx", "cubin", "fatbin"}, optional
        Format of the content; by default it is detected.
    architecture : str, optional
        ``"sm_90"``, ``"sm_90a"``; by default the architecture in the content, and None for a
        fatbin, from which the driver selects.

    Raises
    ------
    TypeError
        If `content` is not bytes.
    ValueError
        If the content is not device code, or has another format or another architecture.
    """

    content: bytes = field(repr=False)
    format: str = ""
    architecture: str | None = None
    _kernels: Mapping[str, tuple[int, ...] | None] | None = field(
        init=False, repr=False, compare=False, default=None
    )

    def __post_init__(self) -> None:
        if not isinstance(self.content, bytes):
            raise TypeError(f"device code must be bytes, got {type(self.content).__name__}")
        found = _format_of(self.content)
        if self.format not in ("", *_FORMATS):
            raise ValueError(
                f"device image format must be one of {', '.join(_FORMATS)}; got {self.format!r}"
            )
        if found is None:
            raise ValueError("device image: expected PTX, a cubin or a fatbin, got other bytes")
        if self.format not in ("", found):
            raise ValueError(f"device image: expected a {self.format}, got a {found}")
        object.__setattr__(self, "format", found)
        self._read()

    def _read(self) -> None:
        architecture, kernels = None, None
        if self.format == "ptx":
            text = self.content.decode("utf-8", "replace")
            architecture, kernels = ptx_target(text), ptx_kernels(text)
        elif self.format == "cubin":
            architecture, kernels = cubin_arch(self.content), cubin_kernels(self.content)
        if self.architecture is None:
            object.__setattr__(self, "architecture", architecture)
        elif _ARCHITECTURE.fullmatch(self.architecture) is None:
            raise ValueError(
                f"device image architecture must be like 'sm_90a', got {self.architecture!r}"
            )
        elif architecture is not None and _number(architecture) != _number(self.architecture):
            raise ValueError(
                f"the {self.format} was compiled for {architecture}, not for {self.architecture}"
            )
        object.__setattr__(self, "_kernels", kernels)

    @staticmethod
    def read(source: DeviceImage | bytes | str | os.PathLike[str]) -> DeviceImage:
        """Return device code given as bytes, PTX text, or the path of a file.

        Raises
        ------
        OSError
            If the file cannot be read.
        TypeError
            If `source` has another type.
        ValueError
            If `source` is not device code.
        """
        if isinstance(source, DeviceImage):
            return source
        if isinstance(source, str):
            return DeviceImage(source.encode())
        if isinstance(source, os.PathLike):
            with open_regular(source) as file:
                return DeviceImage(file.readall())
        if isinstance(source, (bytes, bytearray, memoryview)):
            return DeviceImage(bytes(source))
        raise TypeError(f"device code is bytes, str or a path, got {type(source).__name__}")

    @property
    def kernels(self) -> Mapping[str, tuple[int, ...] | None] | None:
        """Parameter sizes in bytes by kernel name; None for unknown names or unknown sizes."""
        return self._kernels

    @property
    def generation(self) -> tuple[int, str]:
        """Number and suffix of the architecture, such as ``(90, "a")``; ``(0, "")`` if unknown."""
        found = _ARCHITECTURE.fullmatch(self.architecture or "")
        return (int(found[1]), found[2]) if found else (0, "")

    def __str__(self) -> str:
        name = "PTX" if self.format == "ptx" else self.format
        return name if self.architecture is None else f"{name} for {self.architecture}"


def _number(architecture: str) -> str:
    """Return an architecture without its suffix; some formats do not record the suffix."""
    return architecture.rstrip("af")


def _format_of(content: bytes) -> str | None:
    if content.startswith(b"\x7fELF"):
        return "cubin"
    if content.startswith(b"\x50\xed\x55\xba"):
        return "fatbin"
    return "ptx" if b".version" in content else None
