# SPDX-License-Identifier: Apache-2.0
"""Modules: functions found by name, such as those of a shared library (`load_module`)."""

from __future__ import annotations

import errno
import os
import stat

from .. import _ffi_api
from .._binding.call import Function, function_of_module
from .._binding.object import (
    CObject,
    NativeReference,
    Object,
    OpaquePyObject,
    get_object_metadata,
    register_class,
    set_object_metadata,
    type_key_to_index,
)
from .._binding.types import FieldGetter, type_metadata
from .._binding.values import NativeText
from .._internal.lazy import TYPE_CHECKING, Any, Callable, Mapping, late_attributes
from .._types.lazy_type_info import attach_lazy_type_info
from ..container import Array
from ..registry import get_global_func

if TYPE_CHECKING:
    from ..signature import Signature
    from ._custom import CustomModule
    from ._property_mask import ModulePropertyMask

__all__ = ["CustomModule", "Module", "ModulePropertyMask", "load_module", "system_lib"]


# Rarely used names, which are imported on first access.
__getattr__ = late_attributes(
    globals(),
    {
        "CustomModule": "._custom:CustomModule",
        "ModulePropertyMask": "._property_mask:ModulePropertyMask",
    },
)

# Copies of members of `ModulePropertyMask`, to avoid importing `enum`.  A test compares the copies
# with the enumeration.
_BINARY_SERIALIZABLE, _RUNNABLE, _COMPILATION_EXPORTABLE = 1, 2, 4


class Module(Object):
    """An object with functions that are found by name, such as a loaded shared library.

    ``module.f`` and ``module["f"]`` return the same function, which the module stores.
    ``module.get_function("f")`` looks the function up again; the functions of two lookups in a
    library have the same code but are not equal.  ``module(...)`` calls the function named
    `entry_name`.  `load_module` and `system_lib` return modules.

    Notes
    -----
    A function keeps its module alive.  A loaded library stays mapped until the process ends, so
    results of functions may outlive the functions and the module.

    A function whose name is an attribute of the class, such as ``kind``, is accessible by
    ``module["kind"]`` only.

    The pickle of a module contains the path of its file, which must exist where the pickle is
    loaded.  Imported modules are pickled only if they differ from those embedded in the file.
    `copy.copy` and `copy.deepcopy` return the module itself.
    """

    __slots__ = ("__dict__",)
    __tvm_ffi_type_info__: Any
    entry_name = "main"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError(
            "Module cannot be constructed directly; use load_module, or derive from CustomModule"
        )

    @property
    def kind(self) -> str:
        """Kind of the module, ``"library"`` for shared libraries."""
        return str(_ffi_api.ModuleGetKind(self))

    @property
    def imports_(self) -> Array[Module]:
        """Imported modules; `get_function` with ``query_imports=True`` searches them."""
        imported: Array[Module] = _get_imports(self)
        return imported

    @property
    def imports(self) -> Array[Module]:
        """Alias of `imports_`."""
        return self.imports_

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of the module's functions in alphabetical order, without those of its imports.

        The function names of a library are read from its symbol table.  For a module kind that does
        not list its functions, the tuple is empty.
        """
        return self._function_names()

    def _function_names(self) -> tuple[str, ...]:
        from ._display import listed_function_names

        return listed_function_names(self)

    def get_function(self, name: str, query_imports: bool = False) -> Function:
        """Return a function of the module.

        Parameters
        ----------
        name : str
            Name of the function.
        query_imports : bool
            Whether to search imported modules as well.

        Raises
        ------
        AttributeError
            If the module has no such function.
        """
        function: Function | None = function_of_module(self, name, query_imports)
        if function is None:
            from .._internal.suggestion import did_you_mean
            from ._display import known_functions

            hint = did_you_mean(name, known_functions(self))
            raise AttributeError(f"Module has no function '{name}'{hint}")
        return function

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Return True if the module has a function with this name."""
        implemented: bool = _ffi_api.ModuleImplementsFunction(self, name, query_imports)
        return implemented

    def get_function_metadata(
        self, name: str, query_imports: bool = False
    ) -> dict[str, Any] | None:
        """Return the metadata of a function; None if the module has no metadata for it."""
        import json

        text: str | None = _ffi_api.ModuleGetFunctionMetadata(self, name, query_imports)
        metadata: dict[str, Any] | None = None if text is None else json.loads(text)
        return metadata

    def get_function_doc(self, name: str, query_imports: bool = False) -> str | None:
        """Return the documentation of a function or its signature; None if both have none."""
        doc: str | None = _ffi_api.ModuleGetFunctionDoc(self, name, query_imports)
        if doc is None:
            signature = self.get_function_signature(name, query_imports)
            doc = None if signature is None else signature.doc
        return doc

    def get_function_signature(self, name: str, query_imports: bool = False) -> Signature | None:
        """Return the signature of a function; None if the signature is unknown.

        A signature that `describe` has set takes precedence over the side file of the library (see
        `load_module`), which takes precedence over the metadata in the library.

        Warns
        -----
        RuntimeWarning
            If the metadata in the library are damaged.  The warning is issued once per function.
        """
        from ._signatures import signature_of

        return signature_of(self, name, query_imports)

    def describe(self, signatures: Mapping[str, Signature | str]) -> None:
        """Set the signatures of functions whose signature in the library is missing or wrong.

        Parameters
        ----------
        signatures : mapping of str to Signature or str
            Signatures by function name.  The functions must be those of this module, not of its
            imports.

        Raises
        ------
        ValueError
            If the module lacks a function, or a signature is malformed, has another function name,
            or contradicts the metadata in the library.  The message lists all problems; no
            signature is changed.

        Notes
        -----
        The signatures apply to new and existing wrappers of the functions, as long as the native
        module lives.  Documentation in a signature becomes that of the function.

        Examples
        --------
        >>> module = tvm_ffi.load_module("./library.so")  # doctest: +SKIP
        >>> module.describe({"scale": "scale(x: inout float32[n])"})  # doctest: +SKIP
        """
        from ._signatures import describe

        describe(self, signatures)

    def import_module(self, module: Module) -> None:
        """Add `module` to the imports; `get_function` with ``query_imports=True`` searches them.

        Raises
        ------
        RuntimeError
            If `module` imports this module, directly or indirectly.

        Notes
        -----
        The running time is proportional to the number of modules that `module` imports, directly or
        indirectly.
        """
        _ffi_api.ModuleImportModule(self, module)

    def clear_imports(self) -> None:
        """Remove all imports."""
        _ffi_api.ModuleClearImports(self)

    def inspect_source(self, fmt: str = "") -> str:
        """Return the source text of the module in a format; an empty string if there is none."""
        source: str = _ffi_api.ModuleInspectSource(self, fmt)
        return source

    def get_write_formats(self) -> Array[str]:
        """Return the formats that `write_to_file` supports; empty for shared libraries."""
        formats: Array[str] = _ffi_api.ModuleGetWriteFormats(self)
        return formats

    def write_to_file(self, file_name: str, fmt: str = "") -> None:
        """Write the module to a file; raise RuntimeError if its kind does not support it."""
        _ffi_api.ModuleWriteToFile(self, file_name, fmt)

    def save_to_bytes(self) -> bytes:
        """Serialize the module, without its imports, to bytes that the loader of its kind reads.

        Raises
        ------
        RuntimeError
            If the module is not binary serializable.  Modules of kind ``"library"`` are not: their
            file contains their code.
        """
        return bytes(get_global_func("pytvmffi.ModuleSaveToBytes")(self))

    def get_property_mask(self) -> int:
        """Return the capabilities of the module as bits of `ModulePropertyMask`."""
        mask: int = _ffi_api.ModuleGetPropertyMask(self)
        return mask

    def is_binary_serializable(self) -> bool:
        """Return True if `save_to_bytes` is supported."""
        return bool(self.get_property_mask() & _BINARY_SERIALIZABLE)

    def is_runnable(self) -> bool:
        """Return True if the module has functions that can be called."""
        return bool(self.get_property_mask() & _RUNNABLE)

    def is_compilation_exportable(self) -> bool:
        """Return True if `write_to_file` can write an object file."""
        return bool(self.get_property_mask() & _COMPILATION_EXPORTABLE)

    @staticmethod
    def __from_tvm_ffi_object__(cls: type[Module], obj: Object) -> Module:  # noqa: PLW0211
        state = _state_of(obj)
        if isinstance(state, OpaquePyObject):
            state = state.pyobject()
        if isinstance(state, ModuleState):
            return state.module_of(obj)
        module = Object.__new__(cls)
        module.__move_handle_from__(obj)
        return module

    def __getattr__(self, name: str) -> Function:
        # Called only if the instance has no attribute `name`.  Storing the function makes later
        # access faster.
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        function = self.get_function(name)
        self.__dict__[name] = function
        return function

    def __getitem__(self, name: str) -> Function:
        if not isinstance(name, str):
            raise ValueError(f"module index: expected a function name, got {type(name).__name__}")
        if hasattr(type(self), name) or (name.startswith("__") and name.endswith("__")):
            # Do not store the function in the instance, where it would hide the class attribute.
            return self.get_function(name)
        known = self.__dict__.get(name)
        # `known` is used only if its native module was not moved out.
        if isinstance(known, Function) and known.__chandle__():
            return known
        function = self.get_function(name)
        if known is None or isinstance(known, Function):
            self.__dict__[name] = function
        return function

    def __dir__(self) -> list[str]:
        from ._display import dir_names

        return dir_names(self, list(super().__dir__()))

    def _ipython_key_completions_(self) -> list[str]:
        from ._display import known_functions

        return list(known_functions(self))

    def __repr__(self) -> str:
        from ._display import repr_text

        return repr_text(self)

    def __call__(self, *args: Any) -> Any:
        """Call the function named `entry_name`."""
        return self.get_function(self.entry_name)(*args)

    def __reduce__(self) -> Any:
        return _reduce(self)

    def __copy__(self) -> Module:
        return self

    def __deepcopy__(self, memo: Any) -> Module:
        return self


class ModuleState:
    """Base class of the Python state that the native module of a custom module owns."""

    __slots__ = ()

    def module_of(self, obj: CObject) -> Module:
        """Return the Python object of the native module that `obj` references."""
        raise NotImplementedError


# Native function that returns the Python state of a custom module; None for a module that is not
# implemented in Python.
_state_of: Any = get_global_func("pytvmffi.ModuleState")


# ---- Load records --------------------------------------------------------------------------------


class _LoadRecord:
    """The call that loaded a module, attached to the native module for pickles and messages."""

    __slots__ = ("argument", "imports", "load", "status")

    def __init__(
        self,
        load: Callable[[str], Module],
        argument: str,
        imports: list[int],
        status: os.stat_result | None,
    ) -> None:
        self.load = load
        self.argument = argument  # argument of the function `load`: a path or a symbol prefix
        self.imports = imports  # addresses of its imported modules at the end of loading
        self.status = status  # status of its file before loading; None if unknown


# Weak references to loaded modules.  The key is the call that loaded the module: the function
# `load` and its argument.
_loaded: dict[tuple[Callable[[str], Module], str], NativeReference] = {}


def _record_load(
    module: Module,
    load: Callable[[str], Module],
    argument: str,
    status: os.stat_result | None = None,
) -> Module:
    """Attach a load record to a module, unless the module has one already; return the module."""
    if get_object_metadata(module) is None:
        reference = set_object_metadata(
            module, _LoadRecord(load, argument, _addresses(_get_imports(module)), status)
        )
        known = _find_loaded(load, argument)
        if known is None or not _is_same_file(get_object_metadata(known).status, status):
            _loaded[load, argument] = reference
    return module


def _imports_unchanged(module: Module) -> bool:
    """Return True if the imports of a loaded module have not changed since loading."""
    return bool(_addresses(module.imports) == get_object_metadata(module).imports)


def _find_loaded(load: Callable[[str], Module], argument: str) -> Module | None:
    """Return the first module that ``load(argument)`` returned; None if it was destroyed.

    If the file was replaced since, it is the first module that was loaded from the new file.
    """
    reference = _loaded.get((load, argument))
    return None if reference is None else reference()


# Modules loaded with `keep_module_alive`, by path.  Each value has a reference to the module and
# the `os.stat` result of the file before loading.
_resident_libraries: dict[str, tuple[NativeReference, os.stat_result]] = {}


def _status_of(file: str) -> os.stat_result | None:
    """Return ``os.stat(file)``; None for a name without a slash or a missing file."""
    if not _has_folder(file):
        return None
    try:
        return os.stat(file)  # noqa: PTH116  (importing pathlib is slow)
    except (
        OSError,
        ValueError,
    ):  # continue: the dynamic loader reports the error when it loads the file
        return None


def _find_resident(path: str, status: os.stat_result) -> Module | None:
    """Return the module of a resident library; None if its file or imports have changed."""
    reference, before = _resident_libraries[path]
    module: Module | None = reference() if _is_same_file(before, status) else None
    if module is None or module.kind != "library" or not _imports_unchanged(module):
        return None
    return module


def _is_same_file(before: os.stat_result | None, status: os.stat_result | None) -> bool:
    if before is None or status is None:
        return before is status
    return all(getattr(status, name) == getattr(before, name) for name in _FILE_CHANGES)


# Fields of `os.stat_result` that change if the file is modified or replaced.
_FILE_CHANGES = ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")


def _addresses(modules: Array[Module]) -> list[int]:
    return [module.__chandle__() for module in modules]


def file_of(module: Module) -> str | None:
    """Return the path of the file from which a module was loaded; None for other modules."""
    record: _LoadRecord | None = get_object_metadata(module)
    return None if record is None or record.load is not load_module else record.argument


def _reduce(module: Module) -> Any:
    imports = (
        module.imports
    )  # this call raises ValueError if the native module was moved out of the wrapper
    record: _LoadRecord | None = get_object_metadata(module)
    if record is None:
        raise TypeError(
            f"cannot pickle a module of kind {module.kind!r} that was not loaded by load_module "
            "or system_lib: another process could not find the module"
        )
    changed = _addresses(imports) != record.imports
    return find_again, (record.load, record.argument, list(imports) if changed else None)


def find_again(
    load: Callable[[str], Module], argument: str, imports: list[Module] | None
) -> Module:
    """Return the module that a pickle names: a module that is already loaded, or a new one.

    Pickles contain the name of this function.
    """
    if not isinstance(argument, str):
        raise TypeError(
            f"pickled module: expected its path as a str, got {type(argument).__name__}"
        )
    if imports is None:
        known = _find_loaded(load, argument)
        if known is not None and _imports_unchanged(known):
            return known
        return load(argument)
    # Load a new module, because its imports will differ from the imports of the module that is
    # already loaded.
    is_file = load is load_module
    module = (
        _load_file(argument, argument, True, _status_of(argument)) if is_file else load(argument)
    )
    module.clear_imports()
    for imported in imports:
        module.import_module(imported)
    return module


def load_of_kind(cls: Any, data: bytes) -> Module:
    """Return the module that ``cls.load_from_bytes(data)`` creates."""
    module = cls.load_from_bytes(bytes(data))
    if not isinstance(module, Module):
        raise TypeError(
            f"{cls.__name__}.load_from_bytes must return a Module, got {type(module).__name__}"
        )
    return module


def restore_module(cls: Any, data: bytes, imports: list[Module]) -> Module:
    """Return the custom module that a pickle contains.

    Pickles contain the name of this function.
    """
    module = load_of_kind(cls, data)
    for imported in imports:
        module.import_module(imported)
    return module


def load_module(path: str | os.PathLike[str], keep_module_alive: bool = True) -> Module:
    """Load a module from a file.

    Parameters
    ----------
    path : str or os.PathLike
        Path of the file; its suffix selects the module loader.  The dynamic loader of the system
        searches for a str without a slash, but not in the working directory: write
        ``"./softmax.so"`` or ``Path("softmax.so")`` for a file there.
    keep_module_alive : bool
        Whether to keep the native module until the process ends.  If so, further calls return the
        same module as long as the file and the imports do not change.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.  The exception is also a RuntimeError.
    RuntimeError
        If the file cannot be loaded, or no loader is registered for the suffix.
    TypeError
        If `path` is of another type.
    ValueError
        If the side file is malformed or names functions that the library does not have.

    Notes
    -----
    If no library defines a function that the library may call, a warning is printed to the standard
    error stream; a call of this function ends the process.

    A side file has signatures of functions: if `path` has a slash and ``libfoo.signatures`` exists
    next to ``libfoo.so``, the signatures in it are passed to `Module.describe`.

    If another file has replaced the file of a loaded library, its library is loaded beside the
    first one, which is never unmapped: functions that were taken from the first module keep their
    code.  Replace a library by `os.replace`; writing to the file of a loaded library changes the
    code that is running.  A file that was deleted, or replaced by a folder, is an error.
    """
    file = os.fspath(path)
    if not isinstance(file, str):
        raise TypeError(
            f"load_module: expected the path as str or os.PathLike[str], got {path!r}; convert "
            "bytes by os.fsdecode"
        )
    if not isinstance(path, str) and not _has_folder(file):
        file = os.path.join(os.curdir, file)  # noqa: PTH118  (Path removes the "./" again)
    # Keep a name without a slash unchanged, because the dynamic loader searches for the file on
    # each call.
    resolved = _absolute(file) if _has_folder(file) else file
    # Read the status before loading.  If the file is replaced during loading, the status differs
    # and the next call loads the file again.
    status = _status_of(file)
    if status is not None and keep_module_alive and resolved in _resident_libraries:
        known = _find_resident(resolved, status)
        if known is not None:
            return known
    module = _load_file(file, resolved, keep_module_alive, status)
    if status is not None and keep_module_alive:
        _resident_libraries[resolved] = NativeReference(module), status
    return module


def _has_folder(file: str) -> bool:
    """Return True if the dynamic loader takes the name for a path: it does not search for it."""
    return "/" in file or os.sep in file  # Windows accepts both


def _absolute(file: str) -> str:
    """Return ``os.path.abspath(file)``, but faster if the path is absolute and normalized."""
    is_plain = type(file) is str and file[0] == "/" and file[-1] != "/"
    if is_plain and "/." not in file and "//" not in file:
        return file
    return os.path.abspath(file)  # noqa: PTH100  (importing pathlib is slow)


def _load_file(
    file: str, resolved: str, keep_module_alive: bool, status: os.stat_result | None
) -> Module:
    if status is not None:
        _check_regular(file, status)
    # Pass a path that is not ASCII as bytes, because a Python str may contain surrogates for bytes
    # that are not UTF-8.
    name = file if file.isascii() else NativeText(os.fsencode(file))
    try:
        module: Module = _ffi_api.ModuleLoadFromFile(name)
    except (RuntimeError, FileNotFoundError) as error:
        native = getattr(error, "__tvm_ffi_error__", None)
        # An error with a number is an exception of a loader that is written in Python.
        has_number = getattr(error, "errno", None) is not None
        if native is None or native.kind != "FileNotFoundError" or has_number:
            raise
        raise LibraryNotFoundError(errno.ENOENT, _why_missing(file), file) from None
    _record_load(module, load_module, resolved, status)
    if _has_folder(file):
        _read_side_file(module, resolved)
    if keep_module_alive:
        _ffi_api.ModuleGlobalsAdd(module)
    return module


class LibraryNotFoundError(FileNotFoundError, RuntimeError):
    """Error: the file of a module does not exist.

    It is a RuntimeError, too, because `load_module` raises RuntimeError if it cannot load a file.
    """


def _why_missing(file: str) -> str:
    if _has_folder(file):
        return os.strerror(errno.ENOENT)
    reason = "the dynamic loader does not find the library"
    if os.path.isfile(file):  # noqa: PTH113  (importing pathlib is slow)
        reason += f"; to load the file in the working directory, write './{file}'"
    return reason


def _check_regular(file: str, status: os.stat_result) -> None:
    """Raise RuntimeError if `file` is a FIFO, device or socket, on which the loader could hang."""
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise RuntimeError(f"{file} cannot be loaded: it is not a regular file")


def _read_side_file(module: Module, path: str) -> None:
    """Set the signatures of a module from the side file next to its library, if the file exists."""
    side_file = path.rpartition(".")[0] + ".signatures"
    # Test for the file first: this is twice as fast as catching the exception of `open`.
    if not os.access(side_file, os.F_OK):
        return
    from ._signatures import describe_from_file

    describe_from_file(module, side_file)


def system_lib(symbol_prefix: str = "") -> Module:
    """Return the module of functions that are linked into the program and registered by symbol.

    Parameters
    ----------
    symbol_prefix : str
        Prefix of the symbols of the module's functions.  Calls with the same prefix return the
        same module.
    """
    module: Module = _ffi_api.SystemLib(symbol_prefix)
    return _record_load(module, system_lib, symbol_prefix)


def _register() -> FieldGetter:
    """Register `Module` for its native type; return the getter of its field ``imports_``."""
    index = type_key_to_index("ffi.Module")
    assert (
        index is not None
    )  # the runtime registers the built-in type before this module is imported
    register_class(index, Module)
    attach_lazy_type_info("ffi.Module", Module)
    getter: FieldGetter = next(
        field["getter"] for field in type_metadata(index)["fields"] if field["name"] == "imports_"
    )
    return getter


_get_imports = _register()
