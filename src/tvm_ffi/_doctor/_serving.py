# SPDX-License-Identifier: Apache-2.0
"""Builds that would run while the environment serves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec

from .._version import __version__
from ..builds import current_policy
from ..cpp import cache
from ..cpp._compiler import compiler_command, describe_compiler
from ._finding import Finding
from ._gpus import compiled_by_driver
from ._packages import InstalledLibrary

__all__ = ["builds_while_serving"]

_EXPORT = "build it here, or import it: tvm-ffi cache import FILE"
_COMPILERS = {"compiler c": ("CC", "cc"), "compiler cpp": ("CXX", "c++")}
# Modules of frameworks that compile in the process, and how to keep their code.
_FRAMEWORKS = {
    "numba": "Numba compiles during the first call: use cache=True, or export the functions",
    "triton": "Triton compiles during the first call: ship TRITON_CACHE_DIR, or export the kernels",
    "torch": "torch.compile compiles during the first call: load an AOTInductor package",
    "tilelang": "TileLang compiles during the first call: ship its cache, or export the kernels",
    "cutlass": "CuTe DSL compiles during the first call: export the kernels",
}


def builds_while_serving(
    libraries: Iterable[InstalledLibrary], capabilities: Sequence[int]
) -> Iterator[Finding]:
    """Yield the policy, and a finding of level ``compile`` for each build that is to be expected.

    The builds of a program are known only from the cache: the newest build of each name would be
    repeated if its files, this package or its compiler have changed.
    """
    mode = current_policy()
    remedy = "" if mode == "error" else "TVM_FFI_BUILDS=error refuses builds while serving"
    yield Finding("serving", "ok" if mode == "error" else "note", "policy", mode, remedy)
    names = dict.fromkeys(artifact.name for artifact in cache.find())
    for name in names:
        if name == "precompiled_headers":
            continue
        reasons = _reasons(name)
        if reasons:
            yield Finding("serving", "compile", f"library {name!r}", "; ".join(reasons), _EXPORT)
    if find_spec("tensorflow") is not None and "tvm_ffi_tensorflow_op" not in names:
        message = "call_tvm_ffi of TensorFlow builds its operator at the first call"
        remedy = "tvm_ffi.interop.tensorflow.register_operators(), then tvm-ffi cache export"
        yield Finding("serving", "compile", "TensorFlow's operator", message, remedy)
    for library in libraries:
        for capability in compiled_by_driver(library, capabilities):
            subject = f"{library.distribution}: {library.path}"
            message = f"the driver compiles its PTX for sm_{capability}"
            yield Finding("serving", "compile", subject, message, "ship machine code")
    for module, message in _FRAMEWORKS.items():
        if find_spec(module) is not None:
            yield Finding("serving", "note", module, message)


def _reasons(name: str) -> list[str]:
    """Return why the newest build of a name would be repeated; empty if it would be found."""
    inputs, changes = cache.inputs_and_changes(name)
    found = []
    if inputs.get("package") != __version__:
        found.append(f"package: {inputs.get('package')} -> {__version__}")
    for key, (variable, default) in _COMPILERS.items():
        if key in inputs:
            try:
                version = describe_compiler(
                    compiler_command(variable, default), cache.root_folder() / ".compilers"
                )
            except (RuntimeError, ValueError):
                continue  # without a compiler, builds of any compiler are used
            if version != inputs[key]:
                found.append(f"{key}: {inputs[key]} -> {version}")
    return [*found, *changes[:3]]
