# SPDX-License-Identifier: Apache-2.0
"""Cases: modules: system libraries, library files, import trees, look-up of functions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from ... import abi
from ..case import Topic, equal, expect
from ..library_file import Library, library
from ..subject import SAFE_CALL, Runtime, sequence, strong, text_content
from ..values import Object

modules = Topic("module", "14.2")
files = Topic("module.file", "14.3")
trees = Topic("module.tree", "14.4")
imports = Topic("module.lookup", "6.9")

PREFIX = abi.SYMBOL_PREFIX


def system_library(runtime: Runtime, names: dict[str, object], prefix: tuple = ()) -> abi.TVMFFIAny:
    """Return the system library with the given function symbols."""
    for name, function in names.items():
        call = runtime.keep(SAFE_CALL(function))
        runtime.TVMFFIEnvModRegisterSystemLibSymbol(
            name.encode(), ctypes.cast(call, ctypes.c_void_p)
        )
    return runtime.call("ffi.SystemLib", *prefix)


def forty_two(handle: int, args: int, count: int, result: int) -> int:
    """Return 42."""
    ctypes.memmove(result, ctypes.byref(abi.TVMFFIAny(abi.kTVMFFIInt)), 16)
    abi.TVMFFIAny.from_address(result).v_int64 = 42
    return 0


@modules.case(
    "system.call",
    "A function of the system library is found under its prefix and called.",
    cites="14.3",
)
def system_call(runtime: Runtime) -> None:
    module = system_library(runtime, {"__tvm_ffi_kit_f": forty_two})
    function = runtime.call("ffi.ModuleGetFunction", module, "kit_f", False)
    equal("result", runtime.result(function.v_obj), 42)


@modules.case("system.null_handle", "A symbol is called with a null handle.", cites="13.3")
def system_handle(runtime: Runtime) -> None:
    seen: list = []
    module = system_library(
        runtime, {"__tvm_ffi_kit_h": lambda handle, *rest: seen.append(handle) or 0}
    )
    runtime.call(runtime.call("ffi.ModuleGetFunction", module, "kit_h", False).v_obj)
    equal("handle", seen, [None])


@modules.case("system.missing", "A missing function is None.")
def system_missing(runtime: Runtime) -> None:
    module = runtime.call("ffi.SystemLib")
    equal("function", runtime.result("ffi.ModuleGetFunction", module, "kit_missing", False), None)


@modules.case("system.implements", "ImplementsFunction follows GetFunction.")
def implements(runtime: Runtime) -> None:
    module = system_library(runtime, {"__tvm_ffi_kit_f": forty_two})
    found = [
        runtime.result("ffi.ModuleImplementsFunction", module, name, False)
        for name in ("kit_f", "kit_g")
    ]
    equal("implements", found, [True, False])


@modules.case("system.prefix", "A prefix is tried first.", cites="14.3")
def system_prefix(runtime: Runtime) -> None:
    module = system_library(runtime, {"__tvm_ffi_mine_f": forty_two}, ("mine_",))
    equal(
        "result",
        runtime.result(runtime.call("ffi.ModuleGetFunction", module, "f", False).v_obj),
        42,
    )


@modules.case("system.cached", "There is one module for each prefix.", cites="14.3")
def system_cached(runtime: Runtime) -> None:
    equal("handle", runtime.call("ffi.SystemLib").v_obj, runtime.call("ffi.SystemLib").v_obj)


@modules.case("system.kind", "The kind of a library module is `library`.")
def kind(runtime: Runtime) -> None:
    equal("kind", runtime.result("ffi.ModuleGetKind", runtime.call("ffi.SystemLib")), "library")


@modules.case(
    "system.mask", "The property mask of a library module is 3: serializable and runnable."
)
def mask(runtime: Runtime) -> None:
    equal("mask", runtime.result("ffi.ModuleGetPropertyMask", runtime.call("ffi.SystemLib")), 3)


@modules.case("system.error", "An error of a module function reaches the caller.")
def module_error(runtime: Runtime) -> None:
    def body(handle: int, args: int, count: int, result: int) -> int:
        runtime.TVMFFIErrorSetRaisedFromCStr(b"IndexError", b"of the library")
        return -1

    module = system_library(runtime, {"__tvm_ffi_kit_e": body})
    function = runtime.call("ffi.ModuleGetFunction", module, "kit_e", False).v_obj
    with runtime.fails("IndexError", "of the library"):
        runtime.call(function)


@modules.case("import.itself", "An import of itself is a cycle: RuntimeError.")
def import_itself(runtime: Runtime) -> None:
    module = runtime.call("ffi.SystemLib")
    with runtime.fails("RuntimeError"):
        runtime.call("ffi.ModuleImportModule", module, module)


@modules.case("import.lookup", "query_imports searches the imports.")
def import_lookup(runtime: Runtime) -> None:
    inner = system_library(runtime, {"__tvm_ffi_inner_x": forty_two}, ("inner_",))
    outer = runtime.call("ffi.SystemLib", "outer_")
    runtime.call("ffi.ModuleImportModule", outer, inner)
    found = [
        runtime.call("ffi.ModuleGetFunction", outer, "x", query).type_index
        for query in (False, True)
    ]
    equal("type indices without and with imports", found, [0, 68])


LOADS = [
    ("no_extension", "/tmp/kit_no_extension", "RuntimeError", "kit_no_extension"),
    ("unknown_extension", "/tmp/kit.unknown_ext", "RuntimeError", "Loader for `.unknown_ext` files is not registered"),
    ("missing_file", "/nonexistent/kit.so", "InternalError", "Failed to load dynamic shared library"),
    ("not_a_library", "/dev/null/kit.so", "InternalError", "Failed to load dynamic shared library"),
]  # fmt: skip


@modules.each("load.{}", LOADS, "A file that cannot be loaded is an error.", cites="14.3")
def loads(runtime: Runtime, path: str, kind: str, message: str) -> None:
    with runtime.fails(kind, message):
        runtime.call("ffi.ModuleLoadFromFile", path)


@modules.case("load.runtime_itself", "Any shared library loads, without functions.", cites="14.3")
def load_any(runtime: Runtime) -> None:
    module = runtime.call("ffi.ModuleLoadFromFile", runtime.path)
    equal("kind", runtime.result("ffi.ModuleGetKind", module), "library")
    expect(
        runtime.call("ffi.ModuleGetFunction", module, "kit_none", False).type_index == 0,
        "found a function",
    )


# --- Modules in files


def returns(value: int) -> Callable[..., int]:
    """Return a function symbol whose result is an integer."""

    def body(_handle: int, _args: int, _count: int, result: int) -> int:
        slot = abi.TVMFFIAny.from_address(result)
        slot.type_index, slot.zero_padding, slot.v_int64 = abi.kTVMFFIInt, 0, value
        return 0

    return body


def load(runtime: Runtime, made: Library) -> abi.TVMFFIAny:
    """Return the module of a library file."""
    module = runtime.call("ffi.ModuleLoadFromFile", made.path)
    equal("type index", module.type_index, abi.kTVMFFIModule)
    return module


def call(runtime: Runtime, module: abi.TVMFFIAny, name: str, *arguments: object) -> object:
    """Return the result of a function of a module or of its imports."""
    function = runtime.call("ffi.ModuleGetFunction", module, name, True)
    expect(function.v_obj, f"the module has no function {name}")
    return runtime.result(function.v_obj, *arguments)


@files.each("extension.{}", ["so", "dll", "dylib", "dso"], "A library loads under `.{}`.")
def extension(runtime: Runtime, suffix: str) -> None:
    with library({f"{PREFIX}f": returns(5)}, suffix=suffix) as made:
        module = load(runtime, made)
        equal("result", call(runtime, module, "f"), 5)
        equal("kind", runtime.result("ffi.ModuleGetKind", module), "library")
        equal("mask", runtime.result("ffi.ModuleGetPropertyMask", module), 3)


@files.case("arguments", "A symbol gets the arguments of the call and a null handle.", cites="13.3")
def file_arguments(runtime: Runtime) -> None:
    seen: list = []

    def body(handle: int | None, args: int, count: int, result: int) -> int:
        views = (abi.TVMFFIAny * count).from_address(args)
        seen.append((handle, [runtime.python(view) for view in views]))
        return 0

    with library({f"{PREFIX}f": body}) as made:
        call(runtime, load(runtime, made), "f", 1, "a string of the heap")
    equal("handle and arguments", seen, [(None, [1, "a string of the heap"])])


@files.case("twice", "Each load of a file makes a module.")
def load_twice(runtime: Runtime) -> None:
    with library({f"{PREFIX}f": returns(5)}) as made:
        first, second = load(runtime, made), load(runtime, made)
        expect(first.v_obj != second.v_obj, "got the same module")
        equal("results", [call(runtime, each, "f") for each in (first, second)], [5, 5])


@files.case("function_holds_module", "A function holds a reference to its module.", cites="14.2")
def function_holds(runtime: Runtime) -> None:
    with library({f"{PREFIX}f": returns(5)}) as made:
        module = load(runtime, made)
        equal("strong count", strong(module.v_obj), 1)
        function = runtime.call("ffi.ModuleGetFunction", module, "f", False).v_obj
        equal("strong count with a function", strong(module.v_obj), 2)
        runtime.TVMFFIObjectDecRef(module.v_obj)
        equal("result without another reference", runtime.result(function), 5)
        runtime.TVMFFIObjectIncRef(module.v_obj)
        runtime.TVMFFIObjectDecRef(function)
        equal("strong count after the release of the function", strong(module.v_obj), 1)


@files.case("context", "The loader stores the ModuleObj* in __tvm_ffi__library_ctx.", cites="13.3")
def library_context(runtime: Runtime) -> None:
    with library({}, {abi.LIBRARY_CTX_SYMBOL: bytes(8)}) as made:
        module = load(runtime, made)
        slot = made.word(abi.LIBRARY_CTX_SYMBOL)
        equal("distance from the handle", module.v_obj - slot.value, 8)
        again = load(runtime, made)
        equal("distance after another load", again.v_obj - slot.value, 8)


@files.case("context_symbols", "Registered context symbols are stored in the slots of a library.")
def context_symbols(runtime: Runtime) -> None:
    names = ("kit_first", "kit_second", "kit_other")
    register = runtime.TVMFFIEnvModRegisterContextSymbol
    for name, value in (("kit_first", 0x1230), ("kit_second", 0x4560), ("kit_absent", 0x7890)):
        runtime.check(register(name.encode(), value))
    with library({}, {name: (7).to_bytes(8, "little") for name in names}) as made:
        load(runtime, made)
        equal("slots", [made.word(name).value for name in names], [0x1230, 0x4560, 7])


@files.case("context_symbols.later", "A context symbol changes no library that is loaded already.",
            cites="6.9")  # fmt: skip
def later_symbol(runtime: Runtime) -> None:
    with library({}, {"kit_late": (7).to_bytes(8, "little")}) as made:
        load(runtime, made)
        runtime.check(runtime.TVMFFIEnvModRegisterContextSymbol(b"kit_late", 0x1230))
        equal("slot", made.word("kit_late").value, 7)


def returns_text(runtime: Runtime, text: bytes) -> Callable[..., int]:
    """Return a function symbol whose result is a string."""

    def body(_handle: int, _args: int, _count: int, result: int) -> int:
        ctypes.memmove(result, ctypes.byref(runtime.string(text)), 16)
        return 0

    return body


TEXTS = [
    ("metadata", abi.METADATA_SYMBOL_PREFIX, "ffi.ModuleGetFunctionMetadata"),
    ("doc", abi.DOC_SYMBOL_PREFIX, "ffi.ModuleGetFunctionDoc"),
]


@files.each("text.{}", TEXTS, "The text of a function comes from its symbol.", cites="13.3",
            since="0.1.6")  # fmt: skip
def file_text(runtime: Runtime, prefix: str, function: str) -> None:
    text = "a text of the heap"
    with library(
        {f"{PREFIX}f": returns(1), f"{prefix}f": returns_text(runtime, text.encode())}
    ) as made:
        module = load(runtime, made)
        equal("text", runtime.result(function, module, "f", False), text)
        equal("text of another function", runtime.result(function, module, "g", False), None)


@files.case("implements.imports", "ImplementsFunction searches imports if it is asked to.",
            cites="16.3")  # fmt: skip
def implements_imports(runtime: Runtime) -> None:
    with library({f"{PREFIX}f": returns(1)}) as made:
        outer = runtime.call("ffi.SystemLib", "outer_")
        runtime.call("ffi.ModuleImportModule", outer, load(runtime, made))
        found = [
            runtime.result("ffi.ModuleImplementsFunction", outer, "f", query)
            for query in (False, True)
        ]
        equal("implements", found, [False, True])


# --- Import trees


def numbers(*values: int) -> bytes:
    """Return 8 bytes for each value."""
    return b"".join(value.to_bytes(8, "little") for value in values)


def sized(*contents: bytes) -> bytes:
    """Return each content after its length."""
    return b"".join(numbers(len(content)) + content for content in contents)


def tree(rows: list[list[int]], *items: bytes, extra: bytes = b"") -> dict[str, bytes]:
    """Return the data symbols of a library with an import tree.

    Parameters
    ----------
    rows : list of list of int
        Imports of each module.
    items : bytes
        Kinds, each followed by the payload unless it is ``_lib``.
    """
    starts = [sum(map(len, rows[:position])) for position in range(len(rows) + 1)]
    children = [child for row in rows for child in row]
    content = numbers(len(starts), *starts, len(children), *children) + sized(*items) + extra
    return {
        abi.LIBRARY_BIN_SYMBOL: numbers(len(content)) + content,
        abi.LIBRARY_CTX_SYMBOL: bytes(8),
    }


def kit_loader(runtime: Runtime) -> list[bytes]:
    """Register a loader of modules of the kind `kit`; return the list of payloads that it gets.

    The payload is the prefix of a system library.
    """
    payloads: list[bytes] = []

    def body(views: list[abi.TVMFFIAny]) -> object:
        payloads.append(text_content(views[0]))
        return runtime.call("ffi.SystemLib", payloads[-1].decode())

    register_global(runtime, "ffi.Module.load_from_bytes.kit", body)
    return payloads


def register_global(runtime: Runtime, name: str, body: Callable[[list], object]) -> None:
    """Register a Python function of views as a global function."""
    array = abi.TVMFFIByteArray(None, 0)
    text = name.encode()
    buffer = runtime.keep(ctypes.create_string_buffer(text))
    array.data, array.size = ctypes.addressof(buffer), len(text)
    status = runtime.TVMFFIFunctionSetGlobal(ctypes.byref(array), runtime.make(body), 1)
    runtime.check(status, "TVMFFIFunctionSetGlobal")


@trees.case("library_alone", "The tree may have the library alone.")
def library_alone(runtime: Runtime) -> None:
    with library({f"{PREFIX}f": returns(5)}, tree([[]], b"_lib")) as made:
        module = load(runtime, made)
        equal("result", call(runtime, module, "f"), 5)
        equal("distance", module.v_obj - made.word(abi.LIBRARY_CTX_SYMBOL).value, 8)


@trees.case("import", "A module of another kind is made from its payload and imported.")
def tree_import(runtime: Runtime) -> None:
    payloads = kit_loader(runtime)
    system_library(runtime, {f"{PREFIX}one_g": returns(1), f"{PREFIX}two_h": returns(2)})
    items = (b"_lib", b"kit", b"one_", b"kit", b"two_")
    with library({f"{PREFIX}f": returns(5)}, tree([[1, 2], [], []], *items)) as made:
        module = load(runtime, made)
        equal("payloads", payloads, [b"one_", b"two_"])
        equal("strong count", strong(module.v_obj), 1)
        equal("results", [call(runtime, module, name) for name in "fgh"], [5, 1, 2])
        equal("imports", [each.type_index for each in imported(module)], [73, 73])


@trees.case("root_of_another_kind", "The result is module 0; the library may be an import.")
def tree_root(runtime: Runtime) -> None:
    kit_loader(runtime)
    system_library(runtime, {f"{PREFIX}one_g": returns(1)})
    with library({f"{PREFIX}f": returns(5)}, tree([[1], []], b"kit", b"one_", b"_lib")) as made:
        module = load(runtime, made)
        equal("handle", module.v_obj, runtime.call("ffi.SystemLib", "one_").v_obj)
        own = imported(module)[0].v_obj
        equal("distance", own - made.word(abi.LIBRARY_CTX_SYMBOL).value, 8)
        equal("strong count of the library", strong(own), 1)
        equal("results", [call(runtime, module, name) for name in "gf"], [1, 5])


@trees.case("nested", "An import has imports of its own; the search is depth-first.", cites="14.2")
def tree_nested(runtime: Runtime) -> None:
    kit_loader(runtime)
    system_library(runtime, {
        f"{PREFIX}two_deep": returns(2), f"{PREFIX}three_deep": returns(3),
        f"{PREFIX}three_last": returns(33),
    })  # fmt: skip
    items = (b"_lib", b"kit", b"one_", b"kit", b"two_", b"kit", b"three_")
    with library({}, tree([[1, 3], [2], [], []], *items)) as made:
        module = load(runtime, made)
        equal("results", [call(runtime, module, name) for name in ("deep", "last")], [2, 33])


WRONG_TREES = [
    ("unknown_kind", tree([[1], []], b"_lib", b"absent", b"x"), "RuntimeError",
     "Library binary was created using {absent} but a loader of that name is not registered."),
    ("empty_payload", tree([[1], []], b"_lib", b"kit", b""), "InternalError", ""),
    ("empty_kind", tree([[]], b""), "InternalError", ""),
    ("child_out_of_range", tree([[1]], b"_lib"), "InternalError", ""),
    ("no_bytes", {abi.LIBRARY_BIN_SYMBOL: numbers(0)}, "InternalError", ""),
    ("ends_early", {abi.LIBRARY_BIN_SYMBOL: numbers(16, 2, 0)}, "InternalError", ""),
    ("length_too_large", tree([[]], extra=numbers(1 << 40)), "InternalError", ""),
]  # fmt: skip


@trees.each("wrong.{}", WRONG_TREES, "A tree that cannot be read is an error.")
def wrong_tree(runtime: Runtime, data: dict, kind: str, message: str) -> None:
    kit_loader(runtime)
    with library({}, data) as made, runtime.fails(kind, message):
        runtime.call("ffi.ModuleLoadFromFile", made.path)


# --- Imports of a module


def imported(module: abi.TVMFFIAny) -> list[abi.TVMFFIAny]:
    """Return the elements of the Array of imports, read from the object."""
    return sequence(ctypes.c_uint64.from_address(module.v_obj + 24).value)


def cached_names(runtime: Runtime, module: abi.TVMFFIAny) -> list[str]:
    """Return the keys of the look-up cache, read from the object."""
    cache = ctypes.c_uint64.from_address(module.v_obj + 32).value
    return [key for key, _ in runtime.items(runtime.any(Object(cache, abi.kTVMFFIMap)))]


@modules.case("layout", "`imports_` is an Array at +24, the cache a Map at +32.", cites="8")
def layout(runtime: Runtime) -> None:
    module = runtime.call("ffi.SystemLib", "layout_")
    fields = [ctypes.c_uint64.from_address(module.v_obj + offset).value for offset in (24, 32)]
    found = [abi.TVMFFIObject.from_address(field).type_index for field in fields]
    equal("type indices", found, [abi.kTVMFFIArray, abi.kTVMFFIMap])
    equal("imports and cached names", (imported(module), cached_names(runtime, module)), ([], []))


@modules.case("import.order", "Imports are in the Array in the order of their calls.")
def import_order(runtime: Runtime) -> None:
    outer, *inner = (runtime.call("ffi.SystemLib", f"{name}_") for name in "oabc")
    for module in inner:
        runtime.call("ffi.ModuleImportModule", outer, module)
    handles = [module.v_obj for module in inner]
    equal("imports", [each.v_obj for each in imported(outer)], handles)
    before = [strong(handle) for handle in handles]
    runtime.call("ffi.ModuleClearImports", outer)
    equal("imports afterwards", imported(outer), [])
    equal("strong counts", [strong(handle) for handle in handles], [each - 1 for each in before])


@modules.case("import.cycle", "A cycle over several modules is a RuntimeError and imports nothing.")
def import_cycle(runtime: Runtime) -> None:
    first, second, third = (runtime.call("ffi.SystemLib", f"{name}_") for name in "abc")
    runtime.call("ffi.ModuleImportModule", first, second)
    runtime.call("ffi.ModuleImportModule", second, third)
    with runtime.fails("RuntimeError"):
        runtime.call("ffi.ModuleImportModule", third, first)
    equal("imports", imported(third), [])


@modules.case("globals", "GlobalsAdd holds a reference until GlobalsRemove.",
              since="0.1.6")  # fmt: skip
def module_globals(runtime: Runtime) -> None:
    with library({}) as made:
        module = load(runtime, made)
        runtime.call("ffi.ModuleGlobalsAdd", module)
        held = strong(module.v_obj)
        expect(held > 1, f"strong count after GlobalsAdd: expected more than 1, got {held}")
        runtime.call("ffi.ModuleGlobalsRemove", module)
        equal("strong count after GlobalsRemove", strong(module.v_obj), 1)


def look_up(runtime: Runtime, module: abi.TVMFFIAny, name: str) -> int:
    """Return the handle that TVMFFIEnvModLookupFromImports gives to a library."""
    out = ctypes.c_void_p()
    status = runtime.TVMFFIEnvModLookupFromImports(
        module.v_obj - 8, name.encode(), ctypes.byref(out)
    )
    runtime.check(status, "TVMFFIEnvModLookupFromImports")
    expect(out.value, "expected a handle, got null")
    return out.value


@imports.case("import", "A function of an import is found, and the cache owns it.")
def look_up_import(runtime: Runtime) -> None:
    inner = system_library(runtime, {f"{PREFIX}inner_x": returns(3)}, ("inner_",))
    outer = system_library(runtime, {f"{PREFIX}outer_y": returns(4)}, ("outer_",))
    runtime.call("ffi.ModuleImportModule", outer, inner)
    function = look_up(runtime, outer, "x")
    equal("result", runtime.result(function), 3)
    equal("handle of the second look-up", look_up(runtime, outer, "x"), function)
    equal("strong count", strong(function), 1)
    equal("names in the cache", cached_names(runtime, outer), ["x"])


@imports.case("cache", "A cached function stays after the imports were removed.")
def look_up_cached(runtime: Runtime) -> None:
    with library({f"{PREFIX}x": returns(3)}) as made:
        outer = runtime.call("ffi.SystemLib", "outer_")
        runtime.call("ffi.ModuleImportModule", outer, load(runtime, made))
        look_up(runtime, outer, "x")
        runtime.call("ffi.ModuleClearImports", outer)
        equal("result", runtime.result(look_up(runtime, outer, "x")), 3)


@imports.case("own", "The look-up does not find functions of the library itself.")
def look_up_own(runtime: Runtime) -> None:
    outer = system_library(runtime, {f"{PREFIX}outer_y": returns(4)}, ("outer_",))
    with runtime.fails("RuntimeError", "Cannot find function y"):
        look_up(runtime, outer, "y")


@imports.case("global", "A global function is found after the imports.")
def look_up_global(runtime: Runtime) -> None:
    inner = system_library(runtime, {f"{PREFIX}inner_kit.both": returns(3)}, ("inner_",))
    outer = runtime.call("ffi.SystemLib", "outer_")
    runtime.call("ffi.ModuleImportModule", outer, inner)
    register_global(runtime, "kit.both", lambda views: 1)
    register_global(runtime, "kit.global", lambda views: 2)
    found = [runtime.result(look_up(runtime, outer, name)) for name in ("kit.both", "kit.global")]
    equal("results", found, [3, 2])
    equal("names in the cache", sorted(cached_names(runtime, outer)), ["kit.both", "kit.global"])


@imports.case("missing", "A function that nobody has is a RuntimeError.")
def look_up_missing(runtime: Runtime) -> None:
    outer = runtime.call("ffi.SystemLib", "outer_")
    message = "Cannot find function kit_none in the imported modules or global registry."
    with runtime.fails("RuntimeError", message):
        look_up(runtime, outer, "kit_none")
    equal("names in the cache", cached_names(runtime, outer), [])
