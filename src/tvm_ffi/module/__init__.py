# SPDX-License-Identifier: Apache-2.0
"""Modules: functions loaded from a file."""

from __future__ import annotations

import os
import stat

from .. import _ffi_api
from .._binding.call import Function, function_of_module
from .._binding.object import (
    CObject,
    NativeReference,
    Object,
    OpaquePyObject,
    note_of,
    register_class,
    set_note,
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


# Most programs need no kinds of their own and ask for no properties, and import faster without.
__getattr__ = late_attributes(
    globals(),
    {
        "CustomModule": "._custom:CustomModule",
        "ModulePropertyMask": "._property_mask:ModulePropertyMask",
    },
)

# The members of ModulePropertyMask, which most programs do without; compared by a test.
_BINARY_SERIALIZABLE, _RUNNABLE, _COMPILATION_EXPORTABLE = 1, 2, 4


class Module(Object):
    """Named functions from one source, such as a shared library.

    ``module.f``, ``module["f"]`` and ``module.get_function("f")`` are the same function;
    ``module(...)`` calls the function named `entry_name`.  Made by `load_module` or `system_lib`.

    Notes
    -----
    A function keeps its module alive, and a loaded library stays mapped for the life of the
    process: whatever its functions return may outlive both.

    A function whose name is an attribute of the class, such as ``kind``, is reached by index only.

    A module travels in a pickle as the path of its file, so the other process needs the same file
    there; imported modules travel along when they are not those that the file itself brings.
    Copies are the module itself.
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
        """Modules that this one imports; they can be asked for functions through it."""
        imported: Array[Module] = _get_imports(self)
        return imported

    @property
    def imports(self) -> Array[Module]:
        """The same as `imports_`."""
        return self.imports_

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of the module's own functions, in alphabetical order.

        Those of imported modules are listed by these.  Nothing of the module is called: a library
        is asked by its table of symbols.  Kinds that nobody can list have none here.
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
            Whether to look into imported modules as well.

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
        """Whether the module has a function of this name."""
        implemented: bool = _ffi_api.ModuleImplementsFunction(self, name, query_imports)
        return implemented

    def get_function_metadata(
        self, name: str, query_imports: bool = False
    ) -> dict[str, Any] | None:
        """Return what the library says about a function; None when it says nothing."""
        import json

        text: str | None = _ffi_api.ModuleGetFunctionMetadata(self, name, query_imports)
        metadata: dict[str, Any] | None = None if text is None else json.loads(text)
        return metadata

    def get_function_doc(self, name: str, query_imports: bool = False) -> str | None:
        """Return the documentation of a function; None when the library has none.

        Where it has no text of its own, the function's signature may have one.
        """
        doc: str | None = _ffi_api.ModuleGetFunctionDoc(self, name, query_imports)
        if doc is None:
            signature = self.get_function_signature(name, query_imports)
            doc = None if signature is None else signature.doc
        return doc

    def get_function_signature(self, name: str, query_imports: bool = False) -> Signature | None:
        """Return the signature of a function; None when nobody knows it.

        The first of: what `describe` was given; the file next to the library, see `load_module`;
        what the library says.

        Warns
        -----
        RuntimeWarning
            If what the library says is damaged; once for each function.
        """
        from ._signatures import signature_of

        return signature_of(self, name, query_imports)

    def describe(self, signatures: Mapping[str, Signature | str]) -> None:
        """Say what the signatures of functions are, where the library does not or is wrong.

        Parameters
        ----------
        signatures : mapping of str to Signature or str
            Each by the name of a function of the module itself, not of those that it imports.

        Raises
        ------
        ValueError
            If the module lacks a function, or a text is no signature, or one of a function with
            another name or another type.  The message names all of them, and nothing has changed.

        Notes
        -----
        Holds for all wrappers of the functions from then on, also for those that are there
        already, and for as long as the native module lives.  A documentation in the signature
        becomes that of the function.

        Examples
        --------
        >>> module = tvm_ffi.load_module("./library.so")  # doctest: +SKIP
        >>> module.describe({"scale": "scale(x: inout float32[n])"})  # doctest: +SKIP
        """
        from ._signatures import describe

        describe(self, signatures)

    def import_module(self, module: Module) -> None:
        """Let functions of another module be found through this one.

        Raises
        ------
        RuntimeError
            If the other module already imports this one, directly or not.

        Notes
        -----
        Takes time in proportion to the number of modules that the other one reaches.
        """
        _ffi_api.ModuleImportModule(self, module)

    def clear_imports(self) -> None:
        """Forget all imported modules."""
        _ffi_api.ModuleClearImports(self)

    def inspect_source(self, fmt: str = "") -> str:
        """Return the module's source in a format; empty when it has none."""
        source: str = _ffi_api.ModuleInspectSource(self, fmt)
        return source

    def get_write_formats(self) -> Array[str]:
        """Return the formats that `write_to_file` knows; none for shared libraries."""
        formats: Array[str] = _ffi_api.ModuleGetWriteFormats(self)
        return formats

    def write_to_file(self, file_name: str, fmt: str = "") -> None:
        """Write the module to a file; RuntimeError where its kind cannot."""
        _ffi_api.ModuleWriteToFile(self, file_name, fmt)

    def save_to_bytes(self) -> bytes:
        """Return what the loader of the module's kind makes an equal module from.

        Imported modules are not part of it.

        Raises
        ------
        RuntimeError
            If modules of this kind cannot be saved, see `is_binary_serializable`; those of kind
            ``"library"`` cannot, because their content is their file.
        """
        return bytes(get_global_func("pytvmffi.ModuleSaveToBytes")(self))

    def get_property_mask(self) -> int:
        """Return the bits of `ModulePropertyMask` that hold."""
        mask: int = _ffi_api.ModuleGetPropertyMask(self)
        return mask

    def is_binary_serializable(self) -> bool:
        """Whether the module can be saved to bytes."""
        return bool(self.get_property_mask() & _BINARY_SERIALIZABLE)

    def is_runnable(self) -> bool:
        """Whether the module has functions to call."""
        return bool(self.get_property_mask() & _RUNNABLE)

    def is_compilation_exportable(self) -> bool:
        """Whether the module can be exported as an object file."""
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
        # Reached for names that are not there yet; the answer is kept in the instance.
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        function = self.get_function(name)
        self.__dict__[name] = function
        return function

    def __getitem__(self, name: str) -> Function:
        if not isinstance(name, str):
            raise ValueError(f"a module is indexed by a function name, got {type(name).__name__}")
        if hasattr(type(self), name) or (name.startswith("__") and name.endswith("__")):
            return self.get_function(name)  # as an attribute it would hide what the class has
        known = self.__dict__.get(name)
        if isinstance(known, Function) and known.__chandle__():  # nobody has moved it away
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
    """What a native module keeps of its Python object, where its kind is written in Python."""

    __slots__ = ()

    def module_of(self, obj: CObject) -> Module:
        """Return the Python object of the native module that `obj` holds."""
        raise NotImplementedError


_state_of: Any = get_global_func("pytvmffi.ModuleState")  # None for kinds written elsewhere


# ---- where modules and functions come from -------------------------------------------------------


class _LoadRecord:
    """How another process finds a module; the note about native modules that were loaded here."""

    __slots__ = ("argument", "imports", "load")

    def __init__(self, load: Callable[[str], Module], argument: str, imports: list[int]) -> None:
        self.load = load
        self.argument = argument  # of `load`: a path or a symbol prefix
        self.imports = imports  # addresses of what the module imported when it was loaded


# Modules that were loaded, by `load` and `argument`; some have died.
_loaded: dict[tuple[Callable[[str], Module], str], NativeReference] = {}


def _record_load(module: Module, load: Callable[[str], Module], argument: str) -> Module:
    """Note where a module was loaded from."""
    if note_of(module) is None:
        reference = set_note(module, _LoadRecord(load, argument, _addresses(_get_imports(module))))
        if (load, argument) not in _loaded or _find_loaded(load, argument) is None:
            _loaded[load, argument] = reference
    return module


def _imports_unchanged(module: Module) -> bool:
    """Whether the module imports what it did when it was loaded."""
    return bool(_addresses(module.imports) == note_of(module).imports)


def _find_loaded(load: Callable[[str], Module], argument: str) -> Module | None:
    """Return the first module that was loaded like this and is still there."""
    reference = _loaded.get((load, argument))
    return None if reference is None else reference()


# The last module of each file that stays for the life of the process, and what the file was then.
_resident_libraries: dict[str, tuple[NativeReference, os.stat_result]] = {}


def _status_of(file: str) -> os.stat_result | None:
    """Return the status of a file; None for a name without a slash, or if there is none."""
    if os.sep not in file:
        return None
    try:
        return os.stat(file)  # noqa: PTH116  (pathlib loads slowly)
    except (OSError, ValueError):  # the loader will say why
        return None


def _find_resident(argument: str, status: os.stat_result) -> Module | None:
    """Return the library that stays, if loading the file again would give the same."""
    reference, before = _resident_libraries[argument]
    is_same_file = all(getattr(status, name) == getattr(before, name) for name in _FILE_CHANGES)
    module: Module | None = reference() if is_same_file else None
    if module is None or module.kind != "library" or not _imports_unchanged(module):
        return None
    return module


# One of these changes when the content of a file does, or another file takes its argument.
_FILE_CHANGES = ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")


def _addresses(modules: Array[Module]) -> list[int]:
    return [module.__chandle__() for module in modules]


def file_of(module: Module) -> str | None:
    """Return the path of the file that a module was loaded from; None for other modules."""
    record: _LoadRecord | None = note_of(module)
    return None if record is None or record.load is not load_module else record.argument


def _reduce(module: Module) -> Any:
    imports = module.imports  # ValueError for an empty wrapper
    record: _LoadRecord | None = note_of(module)
    if record is None:
        raise TypeError(
            f"cannot pickle a module of kind {module.kind!r} that was not loaded by load_module "
            "or system_lib: nothing says where another process finds it"
        )
    changed = _addresses(imports) != record.imports
    return find_again, (record.load, record.argument, list(imports) if changed else None)


def find_again(
    load: Callable[[str], Module], argument: str, imports: list[Module] | None
) -> Module:
    """Return the module that a pickle describes: one that is loaded already, or a new one.

    Pickles name this function, so it keeps its name.
    """
    if not isinstance(argument, str):
        raise TypeError(f"the place of a module is a str, got {type(argument).__name__}")
    if imports is None:
        known = _find_loaded(load, argument)
        if known is not None and _imports_unchanged(known):
            return known
        return load(argument)
    # Not one that somebody has: it gets other imports.
    is_file = load is load_module
    module = (
        _load_file(argument, argument, True, _status_of(argument)) if is_file else load(argument)
    )
    module.clear_imports()
    for imported in imports:
        module.import_module(imported)
    return module


def load_of_kind(cls: Any, data: bytes) -> Module:
    """Return the module that a class of a kind written in Python makes from bytes."""
    module = cls.load_from_bytes(bytes(data))
    if not isinstance(module, Module):
        raise TypeError(
            f"{cls.__name__}.load_from_bytes must return a Module, got {type(module).__name__}"
        )
    return module


def restore_module(cls: Any, data: bytes, imports: list[Module]) -> Module:
    """Return the module of a kind written in Python that a pickle describes.

    Pickles name this function, so it keeps its name.
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
        The file; its suffix selects the loader.  A name without a slash is searched for as the
        system's dynamic loader does, which does not look into the working directory: a file there
        is ``"./softmax.so"``.
    keep_module_alive : bool
        Whether the module object stays for the life of the process.  A library that stays is loaded
        once: as long as its file and its imports do not change, the same module is returned.

    Raises
    ------
    RuntimeError
        If the file cannot be loaded, or no loader is registered for the suffix.
    ValueError
        If there is a file of signatures next to it that is wrong, or that of another library.

    Notes
    -----
    Where ``libfoo.signatures`` lies next to ``libfoo.so`` and the path has a folder, its texts are
    given to `Module.describe`.
    """
    file = os.fspath(path)
    # A name without a slash was searched for, and will be again.
    argument = _absolute(file) if os.sep in file else file
    # Before the file is loaded: one that is replaced meanwhile is another one next time.
    status = _status_of(file)
    if status is not None and keep_module_alive and argument in _resident_libraries:
        known = _find_resident(argument, status)
        if known is not None:
            return known
    module = _load_file(file, argument, keep_module_alive, status)
    if status is not None and keep_module_alive:
        _resident_libraries[argument] = NativeReference(module), status
    return module


def _absolute(file: str) -> str:
    """Return what ``os.path.abspath`` does, which is slower where nothing is to be done."""
    is_plain = type(file) is str and file[0] == "/" and file[-1] != "/"
    if is_plain and "/." not in file and "//" not in file:
        return file
    return os.path.abspath(file)  # noqa: PTH100  (pathlib loads slowly)


def _load_file(
    file: str, argument: str, keep_module_alive: bool, status: os.stat_result | None
) -> Module:
    if status is not None:
        _check_regular(file, status)
    # Names of files are bytes, which Python shows as text.
    name = file if file.isascii() else NativeText(os.fsencode(file))
    try:
        module: Module = _ffi_api.ModuleLoadFromFile(name)
    except RuntimeError as error:
        if os.sep not in file and os.path.isfile(file):  # noqa: PTH113  (pathlib loads slowly)
            error.args = (f"{error}; to load the file in the working directory, write './{file}'",)
        raise
    _record_load(module, load_module, argument)
    if os.sep in file:
        _read_side_file(module, argument)
    if keep_module_alive:
        _ffi_api.ModuleGlobalsAdd(module)
    return module


def _check_regular(file: str, status: os.stat_result) -> None:
    """Refuse what the loader would wait for, or read without an end: FIFOs, devices, sockets."""
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise RuntimeError(f"{file} cannot be loaded: it is not a regular file")


def _read_side_file(module: Module, argument: str) -> None:
    """Give the module the signatures in the file next to it, if there is one."""
    side_file = argument.rpartition(".")[0] + ".signatures"  # the suffix has selected the loader
    if not os.access(side_file, os.F_OK):  # in half the time of an exception
        return
    from ._signatures import describe_from_file

    describe_from_file(module, side_file)


def system_lib(symbol_prefix: str = "") -> Module:
    """Return the module of functions that are linked into the process.

    Parameters
    ----------
    symbol_prefix : str
        Prefix of the symbols that make up the module; each prefix has one module.
    """
    module: Module = _ffi_api.SystemLib(symbol_prefix)
    return _record_load(module, system_lib, symbol_prefix)


def _register() -> FieldGetter:
    """Let `Module` stand for its native type; return what reads a module's imports."""
    index = type_key_to_index("ffi.Module")
    assert index is not None  # one of the built-in types
    register_class(index, Module)
    attach_lazy_type_info("ffi.Module", Module)
    getter: FieldGetter = next(
        field["getter"] for field in type_metadata(index)["fields"] if field["name"] == "imports_"
    )
    return getter


_get_imports = _register()
