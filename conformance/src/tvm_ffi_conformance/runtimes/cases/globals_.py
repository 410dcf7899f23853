# SPDX-License-Identifier: Apache-2.0
"""Cases: exported symbols and global functions: presence, schemas, checks of the argument count."""

from __future__ import annotations

import ctypes
import json

from ... import abi
from ...elf import LibraryFile
from ..case import Options, Topic, equal, expect
from ..data import load
from ..subject import Runtime, header, text_content

symbols = Topic("symbol", "6")
functions = Topic("global", "16")

FUNCTION_SINCE = {
    "TVMFFIHandleInitOnce": "0.1.6", "TVMFFIHandleDeinitOnce": "0.1.6",
    "TVMFFITensorCreateUnsafeView": "0.1.6", "TVMFFIErrorCreateWithCauseAndExtraContext": "0.1.8",
    "TVMFFIGetCustomAllocator": "0.1.13", "TVMFFISetCustomAllocator": "0.1.13",
    "TVMFFIBigIntFromByteArray": "0.1.14", "TVMFFIBigIntGetContentByteArray": "0.1.14",
}  # fmt: skip
# C++ symbols that clients import: name for the identifier, mangled name, first level.
CPP = [
    ("json.Parse", "_ZN3tvm3ffi4json5ParseERKNS0_6StringEPS2_", "0.1.1"),
    ("json.Stringify", "_ZN3tvm3ffi4json9StringifyERKNS0_3AnyERKNS0_8OptionalIivEE", "0.1.13"),
    ("ModuleObj.GetFunction", "_ZN3tvm3ffi9ModuleObj11GetFunctionERKNS0_6StringEb", "0.1.0"),
    ("ModuleObj.ClearImports", "_ZN3tvm3ffi9ModuleObj12ClearImportsEv", "0.1.0"),
    ("ModuleObj.ImportModule", "_ZN3tvm3ffi9ModuleObj12ImportModuleERKNS0_6ModuleE", "0.1.0"),
    ("ModuleObj.typeinfo", "_ZTIN3tvm3ffi9ModuleObjE", "0.1.0"),
    ("ModuleObj.vtable", "_ZTVN3tvm3ffi9ModuleObjE", "0.1.0"),
    ("Module.LoadFromFile", "_ZN3tvm3ffi6Module12LoadFromFileERKNS0_6StringE", "0.1.0"),
    ("Module.VisitContextSymbols",
     "_ZN3tvm3ffi6Module19VisitContextSymbolsERKNS0_13TypedFunctionIFvNS0_6StringEPvEEE", "0.1.0"),
    ("ToJSONGraph", "_ZN3tvm3ffi11ToJSONGraphERKNS0_3AnyES3_", "0.1.0"),
    ("FromJSONGraph", "_ZN3tvm3ffi13FromJSONGraphERKNS0_3AnyE", "0.1.0"),
    ("StructuralHash.Hash", "_ZN3tvm3ffi14StructuralHash4HashERKNS0_3AnyEbb", "0.1.0"),
    ("StructuralEqual.Equal", "_ZN3tvm3ffi15StructuralEqual5EqualERKNS0_3AnyES4_bb", "0.1.0"),
    ("StructuralEqual.GetFirstMismatch",
     "_ZN3tvm3ffi15StructuralEqual16GetFirstMismatchERKNS0_3AnyES4_bb", "0.1.0"),
    ("VisitErrorContext.FindAccessPaths",
     "_ZN3tvm3ffi17VisitErrorContext15FindAccessPathsERKNS0_9ObjectRefERKS1_b", "0.1.12"),
    ("ReprPrint", "_ZN3tvm3ffi9ReprPrintERKNS0_3AnyE", "0.1.9"),
    ("RecursiveEq", "_ZN3tvm3ffi11RecursiveEqERKNS0_3AnyES3_", "0.1.11"),
    ("RecursiveLt", "_ZN3tvm3ffi11RecursiveLtERKNS0_3AnyES3_", "0.1.11"),
    ("RecursiveLe", "_ZN3tvm3ffi11RecursiveLeERKNS0_3AnyES3_", "0.1.11"),
    ("RecursiveGt", "_ZN3tvm3ffi11RecursiveGtERKNS0_3AnyES3_", "0.1.11"),
    ("RecursiveGe", "_ZN3tvm3ffi11RecursiveGeERKNS0_3AnyES3_", "0.1.11"),
    ("RecursiveHash", "_ZN3tvm3ffi13RecursiveHashERKNS0_3AnyE", "0.1.11"),
    ("DeepCopy", "_ZN3tvm3ffi8DeepCopyERKNS0_3AnyE", "0.1.11"),
    ("ModuleObj.GetFunctionDoc", "_ZN3tvm3ffi9ModuleObj14GetFunctionDocERKNS0_6StringEb", "0.1.0"),
    ("ModuleObj.GetFunctionMetadata",
     "_ZN3tvm3ffi9ModuleObj19GetFunctionMetadataERKNS0_6StringEb", "0.1.0"),
    ("ModuleObj.ImplementsFunction",
     "_ZN3tvm3ffi9ModuleObj18ImplementsFunctionERKNS0_6StringEb", "0.1.0"),
    ("Error.typeinfo", "_ZTIN3tvm3ffi5ErrorE", "0.1.13"),
]  # fmt: skip


@symbols.each(
    "c.{}",
    [(name, name, Options(since=FUNCTION_SINCE.get(name, "0.1.0"))) for name in abi.FUNCTIONS],
    "`{}` is exported as a function.",
)
def exported(runtime: Runtime, name: str) -> None:
    getattr(runtime, name)
    symbol = LibraryFile(runtime.path).exported.get(name)
    expect(symbol, f"{name} is not in the dynamic symbol table")
    equal("kind of the symbol (2: function)", symbol.kind, 2)


@symbols.each(
    "cpp.{}", [(name, mangled, Options(since=since)) for name, mangled, since in CPP],
    "`tvm::ffi::{}` is exported.", cites="17.1",
)  # fmt: skip
def cpp(runtime: Runtime, mangled: str) -> None:
    expect(mangled in LibraryFile(runtime.path).exported, f"{mangled} is not exported")


@symbols.case("soname", "SONAME is libtvm_ffi.so.", cites="1")
def soname(runtime: Runtime) -> None:
    equal("SONAME", LibraryFile(runtime.path).soname, abi.SONAME)


@symbols.case("stack", "The library does not ask for an executable stack.", cites="1")
def stack(runtime: Runtime) -> None:
    expect(not LibraryFile(runtime.path).executable_stack, "the stack would be executable")


@symbols.case("text_relocations", "The library has no text relocations.", cites="1")
def text_relocations(runtime: Runtime) -> None:
    expect(not LibraryFile(runtime.path).text_relocations, "found text relocations")


@symbols.case("vtable_size", "The module vtable has 14 entries.", cites="14.1")
def vtable(runtime: Runtime) -> None:
    symbol = LibraryFile(runtime.path).exported.get("_ZTVN3tvm3ffi9ModuleObjE")
    equal("size of the vtable", symbol and symbol.size, 112)


@symbols.case("version", "TVMFFIGetVersion reports 0.1.x.", cites="1")
def version(runtime: Runtime) -> None:
    major, minor, _ = runtime.level()
    equal("major and minor", (major, minor), (0, 1))


GLOBALS = load("global_functions")
ROWS = [(name, name, Options(since=each["since"])) for name, each in GLOBALS.items()]
TYPED = [
    (name, name, each["schema"]["named_args"]["params"], Options(since=each["since"]))
    for name, each in GLOBALS.items()
    if "named_args" in each["schema"]
]


@functions.each("{}.registered", ROWS, "`{}` is a global function.")
def registered(runtime: Runtime, name: str) -> None:
    equal("type index", header(runtime.function(name)).type_index, abi.kTVMFFIFunction)


@functions.each("{}.listed", ROWS, "The list of names contains `{}`.", cites="16.1")
def listed(runtime: Runtime, name: str) -> None:
    get = runtime.call("ffi.FunctionListGlobalNamesFunctor").v_obj
    count = runtime.result(get, -1)
    names = {runtime.result(get, number) for number in range(count)}
    expect(name in names, f"{name} is not among the {count} names")


# Runtimes before 0.1.16 write the parameters of a function in another form.
SCHEMA_ROWS = [
    (name, name, Options(since="0.1.16" if "named_args" in each["schema"] else each["since"]))
    for name, each in GLOBALS.items()
]


@functions.each("{}.schema", SCHEMA_ROWS, "The metadata of `{}` has its type schema.", cites="11.4")
def schema(runtime: Runtime, name: str) -> None:
    runtime.function(name)
    metadata = json.loads(runtime.result("ffi.GetGlobalFuncMetadata", name))
    found = json.loads(metadata["type_schema"])
    equal("schema", simplified(found), simplified(GLOBALS[name]["schema"]))


def simplified(schema: dict) -> dict:
    """Return a schema without arguments that are `Any`, which may be left out."""
    out = dict(schema)
    if "args" in out and all(each == {"type": "Any"} for each in out["args"]):
        del out["args"]
    for part in ("args",):
        if part in out:
            out[part] = [simplified(each) if isinstance(each, dict) else each for each in out[part]]
    if "named_args" in out:
        out["named_args"] = {
            side: [simplified(each) for each in out["named_args"][side]]
            for side in ("return", "params")
        }
    return out


def wrong_count(runtime: Runtime, name: str, given: int, expected: int) -> None:
    """Call a global function with a wrong number of arguments."""
    runtime.function(name)
    with runtime.fails("TypeError", f"Expected {expected} but got {given} arguments",
                       starts=f"Mismatched number of arguments when calling: `{name}("):  # fmt: skip
        runtime.call(name, *[None] * given)


@functions.each(
    "{}.one_argument_more", TYPED, "A wrong number of arguments is a TypeError.", cites="13.1"
)
def one_more(runtime: Runtime, name: str, parameters: list) -> None:
    wrong_count(runtime, name, len(parameters) + 1, len(parameters))


@functions.each("{}.one_argument_less", [row for row in TYPED if row[2]],
                "A wrong number of arguments is a TypeError.", cites="13.1")  # fmt: skip
def one_less(runtime: Runtime, name: str, parameters: list) -> None:
    wrong_count(runtime, name, len(parameters) - 1, len(parameters))


# Values of a type that a parameter of the given type must refuse: the schema's name, the type name
# in the message.
WRONG = {
    "ffi.Array": "ffi.Array", "ffi.List": "ffi.List", "ffi.Map": "ffi.Map", "ffi.Dict": "ffi.Dict",
    "ffi.Module": "ffi.Module", "int": "int", "bool": "bool", "ffi.Function": "ffi.Function",
    "void*": "void*", "ffi.String": "str", "ffi.Bytes": "bytes",
    "ffi.StructuralVisitor": "", "ffi.StructuralMutator": "", "ffi.VisitErrorContext": "",
}  # fmt: skip


def typed_rows() -> list[tuple]:
    """Return one row for each parameter that has a type: a float is wrong for all of them."""
    rows = []
    for name, _, parameters, options in TYPED:
        for number, parameter in enumerate(parameters):
            if parameter["type"] in WRONG:
                rows.append((f"{name}.argument_{number}", name, number, parameters, options))
    return rows


def placeholder(runtime: Runtime, parameter: dict) -> object:
    """Return a value that a parameter accepts."""
    kind = parameter["type"]
    if kind in ("ffi.Array", "ffi.List", "ffi.Map", "ffi.Dict"):
        return runtime.call(kind)
    makers = {
        "int": lambda: 0, "bool": lambda: False, "ffi.String": lambda: "", "ffi.Bytes": lambda: b"",
        "ffi.Module": lambda: runtime.call("ffi.SystemLib"), "void*": lambda: None,
        "ffi.Function": lambda: runtime.call("ffi.FunctionListGlobalNamesFunctor"),
    }  # fmt: skip
    return makers.get(kind, lambda: None)()


@functions.each("{}.refuses_float", typed_rows(), "An argument of a wrong type is a TypeError.",
                cites="13.1")  # fmt: skip
def refuses(runtime: Runtime, name: str, number: int, parameters: list) -> None:
    runtime.function(name)
    values = [placeholder(runtime, each) for each in parameters[:number]]
    rest = [placeholder(runtime, each) for each in parameters[number + 1 :]]
    with runtime.fails(
        "TypeError", "but got `float`", starts=f"Mismatched type on argument #{number} "
    ):
        runtime.call(name, *values, 2.5, *rest)


@functions.case("metadata.unknown", "Metadata of an unknown name is a RuntimeError.", cites="16.1")
def unknown(runtime: Runtime) -> None:
    with runtime.fails("RuntimeError", "Global Function is not found: kit.unknown"):
        runtime.call("ffi.GetGlobalFuncMetadata", "kit.unknown")


@functions.case(
    "metadata.form", "Metadata is a JSON object whose `type_schema` is text.", cites="11.4"
)
def form(runtime: Runtime) -> None:
    text = text_content(runtime.call("ffi.GetGlobalFuncMetadata", "ffi.ArraySize"))
    found = json.loads(text)
    expect(isinstance(found, dict) and isinstance(found.get("type_schema"), str), f"got {text!r}")


@functions.case("names.out_of_range", "The list of names gives text for each number.", cites="16.1")
def names(runtime: Runtime) -> None:
    get = runtime.call("ffi.FunctionListGlobalNamesFunctor").v_obj
    found = [runtime.result(get, number) for number in range(runtime.result(get, -1))]
    equal("names that are no text or come twice",
          [each for each in found if not isinstance(each, str) or found.count(each) > 1], [])  # fmt: skip
    expect(ctypes.sizeof(abi.TVMFFIAny) == 16, "TVMFFIAny has 16 bytes")
