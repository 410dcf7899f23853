# SPDX-License-Identifier: Apache-2.0
"""Custom modules: module kinds that are implemented in Python (`CustomModule`).

A custom module consists of a Python object and a native module.  The Python object owns a reference
to the native module, which owns the Python state: the class and the ``__dict__`` of the object.  If
the object has been destroyed when native code returns the module to Python, a new object is created
from the state.  At most one object exists at a time.
"""

from __future__ import annotations

import json
import sys
from _thread import RLock
from collections.abc import Sequence
from typing import Any, Callable, ClassVar, get_type_hints
from weakref import ref

from .._binding.object import (
    CObject,
    StateOwner,
    get_object_metadata,
    opaque_object,
    set_module_state,
)
from ..module import Module, ModuleState, load_of_kind, restore_module
from ..registry import get_global_func, register_global_func
from ._property_mask import ModulePropertyMask

__all__ = ["CustomModule"]

# For each C++ method of a module: the name of the Python method that overrides the C++ method, and
# the function that C++ calls with the module and the arguments of the C++ method.
_native_methods: dict[str, tuple[str, Callable[..., Any]]]


class _OwnNames:
    """Descriptor of `CustomModule.functions`; an attribute in the ``__dict__`` takes precedence."""

    def __get__(self, module: CustomModule | None, owner: type) -> Any:
        return self if module is None else module._function_names()


class CustomModule(Module, StateOwner):
    """Base class of modules that are implemented in Python.

    A subclass declares a module kind and overrides methods, at least `find_function`.  Each
    instance is a native module: other modules can import it, and native code can call its
    functions.  When native code returns the module to Python, the result is the same object.

    Parameters of the class
    -----------------------
    kind : str
        Name of the module kind.  If omitted, the kind is inherited; a class without a kind cannot
        be instantiated.
    properties : ModulePropertyMask, optional
        Capabilities of the modules.  By default ``RUNNABLE`` if `find_function` is overridden, and
        ``BINARY_SERIALIZABLE`` if `save_to_bytes` is overridden.

    Notes
    -----
    Defining a class with a class method ``load_from_bytes(data)`` registers it as the loader of the
    kind, the global function ``ffi.Module.load_from_bytes.KIND``.

    Methods may be called on any thread.  Callers in Python receive exceptions of methods unchanged.
    All state of an instance must be in its ``__dict__``: if native code keeps the module after the
    instance is destroyed, a new instance gets the ``__dict__`` and `__init__` is not called.

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

    __module__ = "tvm_ffi.module"  # the module from which users import the class
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
            raise TypeError(
                f"module class {cls.__name__} cannot have __slots__, because a custom module "
                "stores its attributes in its __dict__"
            )
        cls._methods = None
        if properties is not None:
            cls._properties = int(properties)
        if kind is not None:
            _check_kind(kind)
            cls._kind = kind
            _register_loader(cls, kind)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls._kind is None:
            raise TypeError(
                f"module class {cls.__name__} has no module kind; define it with "
                f"`class {cls.__name__}(..., kind=...)`"
            )
        self = super().__new__(cls)
        state = _State(self)
        # `_new_native` returns the native module.  The conversion of this result to Python moves
        # the handle into `self`; see `_State.module_of`.
        _new_native(cls._kind, _properties_of(cls), opaque_object(state), _methods_of(cls))
        set_module_state(self, state)
        return self

    def __init__(self) -> None:
        pass

    # ---- Methods to override ----------------------------------------------------------------

    def find_function(self, name: str) -> Callable[..., Any] | None:
        """Return the function with this name; None if the module has no such function.

        `get_function` calls this method, then searches the imports if ``query_imports`` is true.
        """
        return None

    def function_names(self) -> Sequence[str]:
        """Return the names of the functions, for `functions`, ``dir`` and tab completion."""
        return ()

    def find_function_doc(self, name: str) -> str | None:
        """Return the documentation of the function with this name; None if there is none."""
        return None

    def find_function_metadata(self, name: str) -> dict[str, Any] | None:
        """Return the metadata of the function with this name; None if there are none.

        The dict must be JSON serializable.  Its key ``"type_schema"`` has the parameter and result
        types of the function.
        """
        return None

    def save_to_bytes(self) -> bytes:
        """Serialize the module to bytes that the class method ``load_from_bytes`` accepts."""
        raise _lacks(self, "SaveToBytes")

    def inspect_source(self, fmt: str = "") -> str:
        """Return the source text of the module in a format; an empty string if there is none."""
        return ""

    def get_write_formats(self) -> Sequence[str]:  # type: ignore[override]
        """Return the formats that `write_to_file` supports."""
        return []

    def write_to_file(self, file_name: str, fmt: str = "") -> None:
        """Write the module to a file in a format of `get_write_formats`."""
        raise _lacks(self, "WriteToFile")

    # ---- Attributes and pickling -------------------------------------------------------------

    functions = _OwnNames()

    def _function_names(self) -> tuple[str, ...]:
        names = self.function_names()
        for name in names:
            _checked(self, "function_names", name, str, "a sequence of str")
        return tuple(names)

    def __getitem__(self, name: str) -> Any:
        # As in `__getattr__`, functions are not stored in the instance.
        if not isinstance(name, str):
            return super().__getitem__(name)
        return self.get_function(name)

    def __getattr__(self, name: str) -> Any:
        # Functions are not stored in the instance: a function may refer to the instance, and
        # storing it would form a reference cycle.  While `find_function` runs, a missing name is a
        # missing attribute, not a function; otherwise `find_function` would call itself.
        if (name.startswith("__") and name.endswith("__")) or _searching.is_in(self):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return self.get_function(name)

    def __reduce__(self) -> Any:
        can_travel = _overrides(type(self), "save_to_bytes") and hasattr(self, "load_from_bytes")
        if get_object_metadata(self) is not None or not can_travel:
            return super().__reduce__()
        return restore_module, (type(self), self.save_to_bytes(), list(self.imports))


class _State(ModuleState):
    """State of a custom module, owned by the native module: its Python class and attributes.

    The native module owns the state.
    """

    __slots__ = ("attributes", "cls", "lock", "wrapper")

    def __init__(self, module: CustomModule) -> None:
        self.cls = type(module)
        self.attributes = module.__dict__
        self.wrapper = ref(module)
        # Reentrant, because a finalizer during `module_of` may call `module_of` again.
        self.lock = RLock()

    def module_of(self, obj: CObject) -> CustomModule:
        """Return the Python object of the native module that `obj` references."""
        with self.lock:
            module = self.wrapper()
            if module is None:
                module = StateOwner.__new__(self.cls)
                object.__setattr__(module, "__dict__", self.attributes)
                module.__move_handle_from__(obj)
                set_module_state(module, self)
                self.wrapper = ref(module)
            elif not module.__chandle__():  # the native module was moved out of the object
                module.__move_handle_from__(obj)
            return module


class _Searching:
    """The modules whose `find_function` is running, as a stack per thread."""

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


# ---- Class options and loaders -------------------------------------------------------------------


def _lacks(module: CustomModule, ability: str) -> RuntimeError:
    return RuntimeError(f"Module[{module.kind}] does not support {ability}")


def _check_kind(kind: str) -> None:
    if not isinstance(kind, str):
        raise TypeError(f"module kind: expected a str, got {type(kind).__name__}")
    if not kind or kind == "_lib" or "\0" in kind:
        raise ValueError(
            "module kind: expected a str that is not empty, has no NUL and is not '_lib', got "
            f"{kind!r}"
        )


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
    """Return the functions of `_native_methods` for the Python methods that a class overrides."""
    if cls._methods is None:
        cls._methods = {
            native: call
            for native, (name, call) in _native_methods.items()
            if _overrides(cls, name)
        }
    return cls._methods


def _register_loader(cls: type[CustomModule], kind: str) -> None:
    """Register a class with ``load_from_bytes`` as the loader of its module kind."""
    if not hasattr(cls, "load_from_bytes"):
        return
    name = f"ffi.Module.load_from_bytes.{kind}"
    known = _loaders.get(kind)
    # Allow overriding, because a notebook or `importlib.reload` may define the class again.
    is_redefined = known is not None and _qualified_name(known) == _qualified_name(cls)
    register_global_func(name, lambda data: load_of_kind(cls, data), override=is_redefined)
    _loaders[kind] = cls


_loaders: dict[str, type[CustomModule]] = {}


def _qualified_name(cls: type) -> tuple[str, str]:
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

if sys.version_info >= (3, 10):  # the public module of the class lacks names of the annotations
    CustomModule.__annotations__ = get_type_hints(CustomModule, globals())
