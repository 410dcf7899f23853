# SPDX-License-Identifier: Apache-2.0
"""Findings about device code in installed libraries, for the GPUs of this or another machine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ..cpp._gpu import cuda_devices
from ._finding import Finding
from ._packages import InstalledLibrary

__all__ = ["architectures", "compiled_by_driver", "examine_device_code"]

_DEVICE = re.compile(r"(?:sm_)?(\d{2,3})[af]?|(\d{1,2})\.(\d)[af]?")
_CODE = re.compile(r"(?:sm|compute)_(\d{2,3})([af]?)")


def architectures(given: Sequence[str] | None) -> tuple[int, ...]:
    """Return compute capabilities, such as 90, of the given architectures or of the devices here.

    Raises
    ------
    ValueError
        If a name is not an architecture.
    """
    found = []
    for name in cuda_devices() if given is None else given:
        match = _DEVICE.fullmatch(name)
        if match is None:
            raise ValueError(f"gpu: expected an architecture such as sm_90, got {name!r}")
        found.append(int(match[1] or match[2] + match[3]))
    return tuple(dict.fromkeys(found))


def examine_device_code(
    libraries: Iterable[InstalledLibrary], capabilities: Sequence[int]
) -> Iterator[Finding]:
    """Yield a finding for each library with CUDA code and each GPU on which it cannot run."""
    if not capabilities:
        message = "no GPU here and none given; device code is not compared (--gpu sm_90)"
        yield Finding("gpu", "note", "devices", message)
        return
    names = ", ".join(f"sm_{capability}" for capability in capabilities)
    yield Finding("gpu", "ok", "devices", names)
    for library in libraries:
        kinds = _cuda_code(library)
        for capability in capabilities if kinds else ():
            subject = f"{library.distribution}: {library.path}"
            how = _how(kinds, capability)
            listed = ", ".join(f"{kind} {arch}" for kind, arch in kinds)
            if how == "none":
                message = f"no code for sm_{capability}; it contains {listed}"
                remedy = f"build it for sm_{capability}, or with PTX"
                yield Finding("gpu", "problem", subject, message, remedy)
            elif how == "cubin":
                yield Finding("gpu", "ok", subject, f"machine code for sm_{capability}")
            else:
                message = f"the driver compiles PTX for sm_{capability} when the code is loaded"
                yield Finding("gpu", "note", subject, message)


def compiled_by_driver(library: InstalledLibrary, capabilities: Sequence[int]) -> list[int]:
    """Return the GPUs for which the driver would compile the PTX of a library."""
    kinds = _cuda_code(library)
    return [capability for capability in capabilities if _how(kinds, capability) == "ptx"]


def _cuda_code(library: InstalledLibrary) -> list[tuple[str, str]]:
    """Return kind and architecture of each distinct CUDA image in a library."""
    if library.report is None:
        return []
    images = ((code.kind, code.arch) for code in library.report.device_code)
    return [image for image in dict.fromkeys(images) if image[0] in ("cubin", "ptx")]


def _how(kinds: Iterable[tuple[str, str]], capability: int) -> str:
    """Return how code runs on a GPU: as ``"cubin"``, as ``"ptx"`` that is compiled, or ``"none"``.

    Machine code runs on GPUs of its major version that are not older; with the suffix ``a`` on its
    own architecture only.
    """
    has_ptx = False
    for kind, arch in kinds:
        match = _CODE.fullmatch(arch)
        if match is None:
            continue
        number, suffix = int(match[1]), match[2]
        is_own_family = number // 10 == capability // 10
        if suffix == "a":
            fits = number == capability
        else:
            fits = number <= capability and (is_own_family or (kind == "ptx" and not suffix))
        if fits and kind == "cubin":
            return "cubin"
        has_ptx |= fits
    return "ptx" if has_ptx else "none"
