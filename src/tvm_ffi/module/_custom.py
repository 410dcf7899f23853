# SPDX-License-Identifier: Apache-2.0
"""Kinds of modules that are written in Python.

A native module owns the state of its Python object: class and attributes.  The Python object owns
the native module, and is made anew from the state when the module arrives in Python after the
object has died; as long as it lives there is only this one.
"""

from __future__ import annotations

import json
from _thread import RLock
from collections.abc import Sequence
from typing import Any, Callable, ClassVar
from weakref import ref

from .._binding.object import CObject, StateOwner, hold_state, note_of, opaque_object
from ..module import Module, ModuleState, load_of_kind, restore_module
from ..registry import get_global_func, register_global_func
from ._property_mask import ModulePropertyMask

__all__ = ["CustomModule"]

# Called from C++ with the module, then what the C++ method gets; by name of the C++ method.
_native_methods: dict[str, tuple[str, Callable[..., Any]]]


class _OwnNames:
    """What `CustomModule.function_names` returns, unless an instance keeps something else there."""

    def __get__(self, module: CustomModule | None, owner: type) -> Any:
        return self if module is None else module._function_names()


class CustomModule(Module, StateOwner):
    """Base of kinds of modules written in Python.

    A class says what its kind is called and overrides what its modules can do: `find_function`
    at least.  An instance is a native module: others may import it, native code finds its
    functions, and when it comes back from native code it is the same object.

    Parameters of the class
    -----------------------
    kind : str
        Name of the kind; without one, the class inherits it, or is only a base of others.
    properties : ModulePropertyMask, optional
        What can be done with its modules; by default ``RUNNABLE`` where `find_function` is
        overridden and ``BINARY_SERIALIZABLE`` where `save_to_bytes` is.

    Notes
    -----
    A class with a class method ``load_from_bytes(data)`` is registered as the loader of its kind,
    the global function ``ffi.Module.load_from_bytes.KIND``, when it is defined.

    Methods are called on any thread.  Their exceptions reach a caller in Python as they are.  What
    an instance is made of stands in its ``__dict__``; `__init__` does not run again when an
    instance is made anew for a module that native code kept.

    Examples
    --------
    >>> class Greeter(CustomModule, kind="example.greeter"):
    ...     def __init__(self, greeting):
    ...         self.greeting = greeting
    ...     def find_function(self, name):
    ...         return self.greet if name == "greet" else None
    ...     def greet(self, who):
    ...         return f"{self.greeting}, {who}!"
    ...     def save_to_bytes(self):
    ...         return self.greeting.encode()
    ...     @classmethod
    ...     def load_from_bytes(cls, data):
    ...         return cls(data.decode())
    >>> Greeter("Hello").get_function("greet")("world")
    'Hello, world!'
    """

    __module__ = "tvm_ffi.module"  # which shows it
    __slots__ = ()
    _kind: ClassVar[str | None] = None
    _properties: ClassVar[int | None] = None
    _methods: ClassVar[dict[str, Callable[..., Any]] | None] = None

    def __init_subclass__(
        cls,
        *,
        kind: str | None = None,
        properties: ModulePropertyMask | int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__dict__.get("__slots__"):
            raise TypeError(f"{cls.__name__} cannot have __slots__: its state is its __dict__")
        cls._methods = None
        if properties is not None:
            cls._properties = int(properties)
        if kind is not None:
            _check_kind(kind)
            cls._kind = kind
            _register_loader(cls, kind)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls._kind is None:
            raise TypeError(f"{cls.__name__} has no kind: class {cls.__name__}(..., kind=...)")
        self = super().__new__(cls)
        state = _State(self)
        # The result arrives as the object that it is made for, which has its handle then.
        _new_native(cls._kind, _properties_of(cls), opaque_object(state), _methods_of(cls))
        hold_state(self, state)
        return self

    def __init__(self) -> None:
        pass

    # ---- What kinds override -----------------------------------------------------------------

    def find_function(self, name: str) -> Callable[..., Any] | None:
        """Return the module's own function of this name, or None.

        `get_function` asks here, then the imported modules if it shall.
        """
        return None

    def function_names(self) -> Sequence[str]:
        """Return the names for which `find_function` has a function, as far as they are known.

        They are what `functions`, ``dir`` and completion list.
        """
        return ()

    def find_function_doc(self, name: str) -> str | None:
        """Return the documentation of the module's own function of this name, or None."""
        return None

    def find_function_metadata(self, name: str) -> dict[str, Any] | None:
        """Return what is known about the module's own function of this name, or None.

        It must be fit for JSON.  A function's types stand under ``"type_schema"``.
        """
        return None

    def save_to_bytes(self) -> bytes:
        """Return what ``load_from_bytes`` of the class makes an equal module from."""
        raise _lacks(self, "SaveToBytes")

    def inspect_source(self, fmt: str = "") -> str:
        """Return the module's source in a format; empty when it has none."""
        return ""

    def get_write_formats(self) -> Sequence[str]:  # type: ignore[override]
        """Return the formats that `write_to_file` knows."""
        return []

    def write_to_file(self, file_name: str, fmt: str = "") -> None:
        """Write the module to a file."""
        raise _lacks(self, "WriteToFile")

    # ---- Access from Python ------------------------------------------------------------------

    functions = _OwnNames()

    def _function_names(self) -> tuple[str, ...]:
        names = self.function_names()
        for name in names:
            _checked(self, "function_names", name, str, "a sequence of str")
        return tuple(names)

    def __getitem__(self, name: str) -> Any:
        # Functions are not kept in the instance, as in `__getattr__`.
        if not isinstance(name, str):
            return super().__getitem__(name)
        return self.get_function(name)

    def __getattr__(self, name: str) -> Any:
        # Functions are not kept in the instance: they may refer to it.  What a lookup itself misses
        # is an attribute and no function.
        if (name.startswith("__") and name.endswith("__")) or _searching.is_in(self):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return self.get_function(name)

    def __reduce__(self) -> Any:
        can_travel = _overrides(type(self), "save_to_bytes") and hasattr(self, "load_from_bytes")
        if note_of(self) is not None or not can_travel:
            return super().__reduce__()
        return restore_module, (type(self), self.save_to_bytes(), list(self.imports))


class _State(ModuleState):
    """What remains of a Python object when only native code owns its module."""

    __slots__ = ("attributes", "cls", "lock", "wrapper")

    def __init__(self, module: CustomModule) -> None:
        self.cls = type(module)
        self.attributes = module.__dict__
        self.wrapper = ref(module)
        self.lock = RLock()  # a finalizer may need the same module while one is made

    def module_of(self, obj: CObject) -> CustomModule:
        """Return the Python object of the native module that `obj` holds."""
        with self.lock:
            module = self.wrapper()
            if module is None:
                module = StateOwner.__new__(self.cls)
                object.__setattr__(module, "__dict__", self.attributes)
                module.__move_handle_from__(obj)
                hold_state(module, self)
                self.wrapper = ref(module)
            elif not module.__chandle__():  # moved away before
                module.__move_handle_from__(obj)
            return module


class _Searching:
    """Which modules each thread is in `find_function` of."""

    def __init__(self) -> None:
        from threading import local

        self._threads = local()

    def is_in(self, module: CustomModule) -> bool:
        return any(module is other for other in self._stack())

    def _stack(self) -> list[CustomModule]:
        stack: list[CustomModule] | None = getattr(self._threads, "stack", None)
        if stack is None:
            stack = self._threads.stack = []
        return stack

    def find(self, module: CustomModule, name: str) -> Any:
        stack = self._stack()
        stack.append(module)
        try:
            return module.find_function(name)
        finally:
            stack.pop()


_searching = _Searching()


# ---- Classes -------------------------------------------------------------------------------------


def _lacks(module: CustomModule, ability: str) -> RuntimeError:
    return RuntimeError(f"Module[{module.kind}] does not support {ability}")


def _check_kind(kind: str) -> None:
    if not isinstance(kind, str):
        raise TypeError(f"a kind of modules is a str, got {type(kind).__name__}")
    if not kind or kind == "_lib" or "\0" in kind:
        raise ValueError(f"{kind!r} cannot be the kind of a module")


def _overrides(cls: type[CustomModule], name: str) -> bool:
    return getattr(cls, name) is not getattr(CustomModule, name)


def _properties_of(cls: type[CustomModule]) -> int:
    if cls._properties is not None:
        return cls._properties
    mask = 0
    if _overrides(cls, "find_function"):
        mask |= ModulePropertyMask.RUNNABLE
    if _overrides(cls, "save_to_bytes"):
        mask |= ModulePropertyMask.BINARY_SERIALIZABLE
    return mask


def _methods_of(cls: type[CustomModule]) -> dict[str, Callable[..., Any]]:
    """Return what native code calls; what a class does not override stays native."""
    if cls._methods is None:
        cls._methods = {
            native: call
            for native, (name, call) in _native_methods.items()
            if _overrides(cls, name)
        }
    return cls._methods


def _register_loader(cls: type[CustomModule], kind: str) -> None:
    """Let embedded modules of this kind be made by the class, if it can."""
    if not hasattr(cls, "load_from_bytes"):
        return
    name = f"ffi.Module.load_from_bytes.{kind}"
    known = _loaders.get(kind)
    # The same class once more: its cell or its source file was run again.
    is_again = known is not None and _place(known) == _place(cls)
    register_global_func(name, lambda data: load_of_kind(cls, data), override=is_again)
    _loaders[kind] = cls


_loaders: dict[str, type[CustomModule]] = {}


def _place(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__


# ---- Calls from native code ----------------------------------------------------------------------


def _checked(
    module: CustomModule, method: str, value: Any, types: type | tuple[type, ...], wanted: str
) -> Any:
    if isinstance(value, types):
        return value
    raise TypeError(
        f"{type(module).__name__}.{method} must return {wanted}, got {type(value).__name__}"
    )


def _find_function(module: CustomModule, name: str) -> Any:
    function = _searching.find(module, name)
    if function is None or callable(function):
        return function
    raise TypeError(
        f"{type(module).__name__}.find_function({name!r}) must return a callable or None, "
        f"got {type(function).__name__}"
    )


def _find_doc(module: CustomModule, name: str) -> str | None:
    doc = module.find_function_doc(name)
    text: str | None = _checked(
        module, "find_function_doc", doc, (str, type(None)), "a str or None"
    )
    return text


def _find_metadata(module: CustomModule, name: str) -> str | None:
    metadata = module.find_function_metadata(name)
    return None if metadata is None else json.dumps(metadata)


def _save(module: CustomModule) -> bytes:
    data = module.save_to_bytes()
    return bytes(_checked(module, "save_to_bytes", data, (bytes, bytearray, memoryview), "bytes"))


def _inspect(module: CustomModule, fmt: str) -> str:
    text: str = _checked(module, "inspect_source", module.inspect_source(fmt), str, "a str")
    return text


def _write(module: CustomModule, file_name: str, fmt: str) -> None:
    module.write_to_file(file_name, fmt)


_native_methods = {
    "get_function": ("find_function", _find_function),
    "get_function_doc": ("find_function_doc", _find_doc),
    "get_function_metadata": ("find_function_metadata", _find_metadata),
    "get_write_formats": ("get_write_formats", lambda module: list(module.get_write_formats())),
    "inspect_source": ("inspect_source", _inspect),
    "save_to_bytes": ("save_to_bytes", _save),
    "write_to_file": ("write_to_file", _write),
}
_new_native = get_global_func("pytvmffi.ModuleFromMethods")
