# SPDX-License-Identifier: Apache-2.0
"""Diagnosis of a Python environment before a program runs in it.

`examine` reads files and asks compilers for their versions.  It loads no library of another package
and imports no framework.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ._caches import examine_caches, examine_compilers
from ._finding import Finding
from ._packages import examine_packages, examine_requirements, our_libraries
from ._serving import builds_while_serving

__all__ = ["Finding", "examine"]


def examine(gpus: Sequence[str] | None = None, *, is_serving: bool = False) -> Iterator[Finding]:
    """Yield the findings about this environment, area by area.

    Parameters
    ----------
    gpus : sequence of str, optional
        Architectures of the GPUs to serve, such as ``"sm_90"``; default: those of this machine.
    is_serving : bool
        True to add a finding for each build that would run while the environment serves.

    Raises
    ------
    ValueError
        If an architecture is invalid.
    """
    from ._gpus import architectures, examine_device_code

    capabilities = architectures(gpus)
    libraries = list(our_libraries())
    yield from examine_packages(libraries)
    yield from examine_requirements()
    yield from examine_device_code(libraries, capabilities)
    yield from examine_caches()
    yield from examine_compilers()
    if is_serving:
        yield from builds_while_serving(libraries, capabilities)
