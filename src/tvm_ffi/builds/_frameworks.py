# SPDX-License-Identifier: Apache-2.0
"""Observation of frameworks that compile in the process; no framework is imported.

Each framework has a function that registers a callback with it.  The function runs at once if the
process has imported the framework's module, and otherwise when the module is imported.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.abc
import importlib.machinery
import re
import sys
import threading
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Callable

__all__ = ["observe"]

Announce = Callable[..., None]  # `tvm_ffi.builds.announce`
Register = Callable[[Any], None]  # registers with the module of a framework

_ENTRY = re.compile(rb"\.entry\s+([\w$%]+)")  # the first kernel in PTX

_lock = threading.RLock()
_pending: dict[str, Register] = {}


def observe(announce: Announce) -> None:
    """Observe all known frameworks from now on; further calls do nothing."""
    with _lock:
        if _finder in sys.meta_path:
            return
        _observe_driver(announce)
        for name, register in _FRAMEWORKS.items():
            _pending[name] = functools.partial(_registered, register, announce)
        sys.meta_path.insert(0, _finder)
        loaded = [name for name in _FRAMEWORKS if name in sys.modules]
    for name in loaded:
        # A module that is being imported in another thread lacks attributes; its import continues
        # in the loader below only if the finder was asked, so it is observed here when complete.
        module = sys.modules.get(name)
        specification = getattr(module, "__spec__", None)
        if module is not None and not getattr(specification, "_initializing", False):
            _start(name, module)


def _registered(
    register: Callable[[Any, Announce], None], announce: Announce, module: ModuleType
) -> None:
    register(module, announce)


def _start(name: str, module: ModuleType) -> None:
    with _lock:
        register = _pending.pop(name, None)
    if register is not None:
        try:
            register(module)
        except (AttributeError, ImportError, TypeError) as error:
            import warnings

            text = f"late builds of {name} are not observed, because its interface differs: {error}"
            warnings.warn(text, RuntimeWarning, stacklevel=2)


class _Finder(importlib.abc.MetaPathFinder):
    """Finder that lets the others find a module, and registers with it after its import."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in _pending:
            return None
        for finder in sys.meta_path:
            find_spec = getattr(finder, "find_spec", None)
            if finder is self or find_spec is None:
                continue
            specification: importlib.machinery.ModuleSpec | None = find_spec(fullname, path, target)
            if specification is not None:
                if specification.loader is not None:
                    specification.loader = _Loader(specification.loader)
                return specification
        return None


class _Loader(importlib.abc.Loader):
    """Loader that imports a module with its own loader, then registers with the module."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        specification = module.__spec__
        assert specification is not None
        specification.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        _start(specification.name, module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


_finder = _Finder()


def _key(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode("utf-8", "backslashreplace")).hexdigest()


# ---- Frameworks ----------------------------------------------------------------------------------


def _observe_driver(announce: Announce) -> None:
    """Register a global function that the runtime calls before the CUDA driver compiles PTX."""
    from ..registry import register_global_func

    def on_ptx(image: bytes, device: str) -> None:
        kernel = _ENTRY.search(image)
        name = kernel[1].decode("ascii", "replace") if kernel else "image"
        key = hashlib.sha256(image).hexdigest()
        reasons = [f"the driver compiles PTX when {device} first runs it; ship machine code"]
        announce("PTX", name, key=key, reasons=reasons)

    register_global_func("pytvmffi.AnnouncePTX", on_ptx, override=True)


def _observe_numba(event: Any, announce: Announce) -> None:
    """Register with Numba's events; Numba emits this one after it has searched its own cache."""

    def on_start(_: Any, compiling: Any) -> None:
        dispatcher, types = compiling.data["dispatcher"], compiling.data["args"]
        function = getattr(dispatcher, "py_func", None)
        name = getattr(function, "__qualname__", repr(dispatcher))
        code = getattr(getattr(function, "__code__", None), "co_code", b"")
        arguments = ", ".join(map(str, types))
        has_cache = type(getattr(dispatcher, "_cache", None)).__name__ != "NullCache"
        reason = (
            f"Numba's cache has no code for ({arguments})"
            if has_cache
            else "the function is not declared with cache=True"
        )
        key = _key(name, code, arguments)
        announce("Numba", f"{name}({arguments})", key=key, reasons=[reason])

    def on_end(_: Any, compiling: Any) -> None:
        pass

    listener = type("Listener", (event.Listener,), {"on_start": on_start, "on_end": on_end})
    event.register("numba:compile", listener())


def _observe_dynamo(callback: Any, announce: Announce) -> None:
    """Register with torch.compile, which traces and compiles a function again in each process."""

    def on_start(details: Any) -> None:
        trigger = getattr(details.callback_trigger, "name", "DYNAMO").lower()
        if trigger == "cudagraph_recording":
            return  # records launches, compiles nothing
        name = f"graph {details.compile_id}"
        reason = f"torch.compile has no code for these arguments in this process ({trigger})"
        announce("torch.compile", name, key=_key(name, trigger), reasons=[reason])

    callback.callback_handler.register_start_callback(on_start)


def _observe_triton(knobs: Any, announce: Announce) -> None:
    """Register with Triton; it calls the hook before it searches its own cache on the disk."""
    previous = knobs.runtime.jit_cache_hook

    def hook(*arguments: Any, **details: Any) -> Any:
        if not details.get("already_compiled", False):
            function = details.get("fn")
            name = getattr(function, "name", None) or str(details.get("repr", "kernel"))
            text = str(details.get("repr", name))
            reason = "this process has not loaded the kernel for these arguments"
            special = (details.get("compile") or {}).get("specialization_data")
            announce("Triton", name, key=_key(text, special), reasons=[reason])
        return previous(*arguments, **details) if callable(previous) else None

    knobs.runtime.jit_cache_hook = hook


def _announce_before(cls: Any, method: str, announce_call: Callable[..., None]) -> None:
    """Let each call of a method call `announce_call` with the same arguments first."""
    previous = getattr(cls, method)

    @functools.wraps(previous)
    def announced(*arguments: Any, **named: Any) -> Any:
        announce_call(*arguments, **named)
        return previous(*arguments, **named)

    setattr(cls, method, announced)


def _observe_tilelang(kernel: Any, announce: Announce) -> None:
    """Observe the compilation of kernels that are neither in TileLang's memory nor on the disk."""

    def on_compile(compiled: Any, function: Any, *arguments: Any, **named: Any) -> None:
        attributes = getattr(function, "attrs", None) or {}
        name = str(attributes.get("global_symbol", "kernel"))
        options = (getattr(compiled, option, None) for option in _TILELANG_OPTIONS)
        reason = "TileLang's caches have no kernel for this function, target and options"
        key = _key(str(function), arguments, named, *map(str, options))
        announce("TileLang", name, key=key, reasons=[reason])

    _announce_before(kernel.JITKernel, "_compile_and_create_adapter", on_compile)


_TILELANG_OPTIONS = ("target", "target_host", "execution_backend", "pass_configs", "compile_flags")


def _observe_cute_dsl(dsl: Any, announce: Announce) -> None:
    """Observe the compilation of modules that are not in the file cache of CuTe DSL."""

    def on_compile(_: Any, module: Any, pipeline: Any, name: str, *__: Any, **___: Any) -> None:
        reason = "the cache of CuTe DSL has no code for this module; cute.compile uses no cache"
        announce("CuTe DSL", name, key=_key(name, str(pipeline), str(module)), reasons=[reason])

    _announce_before(dsl.BaseDSL, "_compile_or_jit_module", on_compile)


# The module that each framework imports before it compiles, and the function that registers.
_FRAMEWORKS: dict[str, Callable[[Any, Announce], None]] = {
    "cutlass.base_dsl.dsl": _observe_cute_dsl,
    "numba.core.event": _observe_numba,
    "tilelang.jit.kernel": _observe_tilelang,
    "torch._dynamo.callback": _observe_dynamo,
    "triton.knobs": _observe_triton,
}
