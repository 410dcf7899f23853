# SPDX-License-Identifier: Apache-2.0
"""Chapter 11, global functions that the runtime registers: core, containers and modules.

`LEFT_OUT` names the others: they belong to the C++ API (creation by reflection, structure,
text and JSON), and no compiled kernel needs them.
"""

from __future__ import annotations

import ctypes
import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from tvm_ffi_conformance import abi

from .chapter import Chapter
from .modules import PROPERTY_MASK
from .values import ANY_SIZE, Raised, any_at, copy_any, write_any

_LEFT_OUT_NAMES = """
ffi.DeepCopy ffi.FromJSONGraph ffi.FromJSONGraphString ffi.GetFirstStructuralMismatch
ffi.MakeObjectFromPackedArgs ffi.RecursiveEq ffi.RecursiveGe ffi.RecursiveGt ffi.RecursiveHash
ffi.RecursiveLe ffi.RecursiveLt ffi.ReprPrint ffi.StructuralEqual ffi.StructuralHash
ffi.StructuralKey ffi.StructuralKeyEqual ffi.StructuralMap ffi.StructuralMutate
ffi.StructuralMutatorDefRegionKind ffi.StructuralMutatorDefaultMutate ffi.StructuralMutatorMutate
ffi.StructuralMutatorVarRemapGet ffi.StructuralMutatorVarRemapSet
ffi.StructuralMutatorWithDefRegionKind ffi.StructuralVisit ffi.StructuralVisitorDefRegionKind
ffi.StructuralVisitorDefaultVisit ffi.StructuralVisitorVisit ffi.StructuralVisitorWithDefRegionKind
ffi.StructuralWalk ffi.ToJSONGraph ffi.ToJSONGraphString ffi.VisitErrorContext.FindAccessPaths
ffi._PyClassRegisterTypeAttrColumns ffi._RegisterFFIInit ffi.json.Parse ffi.json.Stringify
"""
LEFT_OUT = frozenset(_LEFT_OUT_NAMES.split())
_INT_LIKE = (abi.kTVMFFIInt, abi.kTVMFFIBool)
_TEXTS = (abi.kTVMFFIRawStr, abi.kTVMFFISmallStr, abi.kTVMFFIStr)
_BINARY = (abi.kTVMFFIByteArrayPtr, abi.kTVMFFISmallBytes, abi.kTVMFFIBytes)
PACKED = "..."  # signature of a function that takes all arguments


class Copied(NamedTuple):
    """A result: an owned copy of the value at an address."""

    address: int


class Moved(NamedTuple):
    """A result: an owned value."""

    slot: abi.TVMFFIAny


def schema(text: str) -> str:
    """Return the JSON type schema of a type such as ``ffi.Map[ffi.String,Any]``."""

    def node(match: re.Match[str]) -> str:
        return f'{{"type":"{match[1]}"' + (',"args":[' if match[2] else "}")

    return re.sub(r"([\w.*]+)(\[?)", node, text).replace("]", "]}")


def function_schema(signature: str) -> str:
    """Return the JSON type schema of a function."""
    # c-abi.md, "11.4 Metadata JSON and type schema": named_args, unless the function is untyped.
    if signature == PACKED:
        return schema("ffi.Function")
    *parameters, _arrow, result = signature.split()
    arguments = f'"return":[{schema(result)}],"params":[{",".join(map(schema, parameters))}]'
    return f'{{"type":"ffi.Function","named_args":{{{arguments}}}}}'


def metadata_of(schema_text: str) -> str:
    """Return the metadata of a field or a function: JSON whose `type_schema` is JSON text."""
    return json.dumps({"type_schema": schema_text})


class Builtins(Chapter):
    """Defines the global functions; each has a text for the types of its parameters."""

    def set_up(self) -> None:
        self._sentinels: dict[str, abi.TVMFFIAny] = {}
        self._core()
        for key in ("ffi.Array", "ffi.List"):
            self._sequence(key)
        self._list()
        for key in ("ffi.Map", "ffi.Dict"):
            self._map(key)
        self._module()

    def define(self, name: str, signature: str, function: Callable[..., Any]) -> None:
        """Register `function` as a global function with the metadata of its signature."""
        handle = self.closure(f"ffi.{name}", signature, function)
        self.runtime.functions.set_global(f"ffi.{name}", handle)
        metadata = metadata_of(function_schema(signature))
        self.runtime.functions.metadata[f"ffi.{name}"] = (metadata, "")
        self.runtime.objects.decref(handle)

    def closure(self, name: str, signature: str, function: Callable[..., Any]) -> int:
        """Return a new typed function: ``T U -> R``, or `PACKED` for one list of addresses."""
        kinds, declared = signature.partition("->")[0].split(), signature.rpartition(" ")[2]
        described = ", ".join(f"{position}: {kind}" for position, kind in enumerate(kinds))
        where = f"when calling: `{name}({described}) -> {declared}`."

        def body(args: int, n: int, result: int) -> None:
            addresses = [args + position * ANY_SIZE for position in range(n)]
            # c-abi.md, "13.1 The packed convention": texts of errors; a typed callee refuses a
            # result slot that holds an object.
            if any_at(result).type_index >= abi.kTVMFFIStaticObjectBegin:
                raise Raised("InternalError", "the result slot holds an object")
            if signature == PACKED:
                self._store(function(addresses), PACKED, result)
                return
            if n != len(kinds):
                text = f"Mismatched number of arguments {where} Expected {len(kinds)} but got {n}"
                raise Raised("TypeError", f"{text} arguments")
            arguments = []
            for position, (kind, address) in enumerate(zip(kinds, addresses)):
                try:
                    arguments.append(self.argument(kind, address))
                except Raised as failure:
                    text = f"Mismatched type on argument #{position} {where} {failure.message}"
                    raise Raised("TypeError", text) from None
            self._store(function(*arguments), declared, result)

        return self.runtime.functions.new_closure(name, body)

    def argument(self, kind: str, address: int) -> Any:
        """Return an argument: a Python value, a handle, or the address of a value of any type."""
        # c-abi.md, "3. TVMFFIAny": the conversions of typed functions.
        value, index = any_at(address), any_at(address).type_index
        kind = kind.partition("[")[0]
        if kind == "Any":
            return address
        if kind in {"int", "bool"} and index in _INT_LIKE:
            return value.v_int64 if kind == "int" else bool(value.v_int64)
        if kind == "void*" and index in {abi.kTVMFFIOpaquePtr, abi.kTVMFFINone}:
            return value.v_ptr or 0
        if kind == "ffi.String" and index in _TEXTS:
            return (self.runtime.strings.read(address) or b"").decode()
        if kind == "ffi.Bytes" and index in _BINARY:
            return self.runtime.strings.read(address) or b""
        if index >= abi.kTVMFFIStaticObjectBegin and self.runtime.types.is_a(index, kind):
            return value.v_obj
        got = self.runtime.types.key_of(index)
        raise Raised("TypeError", f"Expected `{kind}` but got `{got}`")

    def _store(self, value: Any, kind: str, out: int) -> None:
        """Store a result; a number is a handle, if the declared result is an object."""
        if isinstance(value, int) and (kind == PACKED or "ffi." in kind):
            # c-abi.md, "2.1 Static indices": a null reference is None.
            index = self.runtime.objects.type_index(value) if value else abi.kTVMFFINone
            write_any(out, index, value)
        elif isinstance(value, Moved):
            copy_any(ctypes.addressof(value.slot), out)
        elif isinstance(value, Copied):
            self.runtime.values.to_owned(value.address, out)
        else:
            self.runtime.convert.store(value, out, [])

    def _sentinel(self, name: str) -> Copied:
        """Return the only object of its name in the process."""
        if name not in self._sentinels:
            handle = self.runtime.objects.new(abi.kTVMFFIObject, abi.HEADER_SIZE).address
            self.runtime.objects.adopt(handle)
            value = self._sentinels[name] = abi.TVMFFIAny()
            write_any(ctypes.addressof(value), abi.kTVMFFIObject, handle)
        return Copied(ctypes.addressof(self._sentinels[name]))

    def _core(self) -> None:
        runtime, define = self.runtime, self.define
        functions = runtime.functions
        define("FunctionRemoveGlobal", "ffi.String -> bool", functions.remove_global)
        define("FunctionListGlobalNamesFunctor", "-> ffi.Function", self._names_functor)
        define("GetGlobalFuncMetadata", "ffi.String -> ffi.String", self._metadata)
        extern = lambda *parts: functions.new_wrapper(*parts, "extern C function")  # noqa: E731
        define("FunctionFromExternC", "void* void* void* -> ffi.Function", extern)
        define("String", "ffi.String -> ffi.String", lambda text: text)
        define("Bytes", "ffi.Bytes -> ffi.Bytes", lambda content: content)
        define("Shape", PACKED, self._shape)
        keys = runtime.types.keys
        define("GetRegisteredTypeKeys", "-> ffi.Array[ffi.String]", lambda: list(keys))
        define("GetInvalidObject", "-> ffi.Object", lambda: self._sentinel("MISSING"))
        define("GetKwargsObject", "-> ffi.Object", lambda: self._sentinel("KWARGS"))
        define("VisitInterrupt", "Any -> ffi.VisitInterrupt", self._visit_interrupt)

    def _names_functor(self) -> Callable[[int], Any]:
        names = list(self.runtime.functions.globals)  # a snapshot: -1 for the count, i for a name
        return lambda position: len(names) if position == -1 else names[position]

    def _metadata(self, name: str) -> str:
        if name not in self.runtime.functions.globals:
            raise Raised("RuntimeError", f"Global Function is not found: {name}")
        return self.runtime.functions.metadata[name][0]

    def _shape(self, addresses: list[int]) -> int:
        values = [any_at(address) for address in addresses]
        if any(value.type_index != abi.kTVMFFIInt for value in values):
            raise Raised("ValueError", "ffi.Shape: expected integers")
        extents = [value.v_int64 for value in values]
        return self.runtime.sequences.new_shape(extents)

    def _visit_interrupt(self, address: int) -> int:
        handle = self.runtime.reflection.new(abi.kTVMFFIVisitInterrupt)
        self.runtime.reflection.store("any", handle + abi.HEADER_SIZE, address)
        return handle

    def _sequence(self, key: str) -> None:
        sequences = self.runtime.sequences
        create = sequences.new_array if key == "ffi.Array" else sequences.new_list
        equal = self.runtime.hashing.any_equal

        def define(name: str, signature: str, function: Callable[..., Any]) -> None:
            self.define(key[4:] + name, signature, function)

        def contains(handle: int, value: int) -> bool:
            return any(equal(element, value) for element in sequences.elements(handle))

        define("", PACKED, create)
        define("GetItem", f"{key} int -> Any", lambda h, i: Copied(sequences.item(h, i)))
        define("Size", f"{key} -> int", lambda handle: len(sequences.elements(handle)))
        define("Contains", f"{key} Any -> bool", contains)

    def _list(self) -> None:
        sequences, define = self.runtime.sequences, self.define
        size = lambda handle: len(sequences.elements(handle))  # noqa: E731
        define("ListSetItem", "ffi.List int Any -> None", sequences.set_item)
        append = lambda handle, value: sequences.insert(handle, size(handle), value)  # noqa: E731
        define("ListAppend", "ffi.List Any -> None", append)
        define("ListInsert", "ffi.List int Any -> None", sequences.insert)
        define("ListPop", "ffi.List int -> Any", self._pop)
        define("ListErase", "ffi.List int -> None", lambda h, i: sequences.erase(h, i, i + 1))
        define("ListEraseRange", "ffi.List int int -> None", sequences.erase)
        define("ListReplaceSlice", "ffi.List int int ffi.List -> None", self._replace_slice)
        define("ListReverse", "ffi.List -> None", sequences.reverse)
        define("ListClear", "ffi.List -> None", lambda h: sequences.erase(h, 0, size(h)))
        define("ListReserve", "ffi.List int -> None", sequences.reserve)
        define("ContainerFindFirstNonCPUDevice", "Any -> Device", self._first_device)

    def _pop(self, handle: int, position: int) -> Moved:
        slot = abi.TVMFFIAny()
        self.runtime.sequences.pop(handle, position, ctypes.addressof(slot))
        return Moved(slot)

    def _replace_slice(self, handle: int, start: int, stop: int, source: int) -> None:
        sequences = self.runtime.sequences
        # The source may be the same list: its elements are copied first.
        copied = sequences.new_array(sequences.elements(source))
        sequences.erase(handle, start, stop)
        for position, element in enumerate(sequences.elements(copied)):
            sequences.insert(handle, start + position, element)
        self.runtime.objects.decref(copied)

    def _first_device(self, address: int) -> Any:
        """Return the first device that is not the CPU, depth first."""
        from .convert import Device

        tensor = self.runtime.tensors.tensor_of(address)
        if tensor is not None:
            return Device(tensor.device.device_type, tensor.device.device_id)
        value, children = any_at(address), []
        if value.type_index in {abi.kTVMFFIArray, abi.kTVMFFIList}:
            children = self.runtime.sequences.elements(value.v_obj)
        elif value.type_index in {abi.kTVMFFIMap, abi.kTVMFFIDict}:
            children = [pair + ANY_SIZE for pair in self.runtime.maps.pairs(value.v_obj)]
        for child in children:
            device = self._first_device(child)
            if device.device_type != abi.kDLCPU:
                return device
        return Device(abi.kDLCPU)

    def _map(self, key: str) -> None:
        maps, index = self.runtime.maps, self.runtime.types.keys[key]

        def define(name: str, signature: str, function: Callable[..., Any]) -> None:
            self.define(key[4:] + name, signature, function)

        def create(addresses: list[int]) -> int:
            if len(addresses) % 2:
                # c-abi.md, "7.1 Object and kinds": the text of an internal check.
                text = f"Check failed: args.size() % 2 == 0 ({len(addresses) % 2} vs. 0) : "
                raise Raised("InternalError", text)
            handle = maps.new(index)
            for pair in zip(addresses[::2], addresses[1::2]):
                maps.set(handle, *pair)
            return handle

        def get(handle: int, key: int) -> Copied:
            found = maps.find(handle, key)
            if not found:
                raise Raised("KeyError", "key is not in Map")  # c-abi.md, "9.6": also for Dict
            return Copied(found)

        def get_or_missing(handle: int, key: int) -> Any:
            found = maps.find(handle, key)
            return Copied(found) if found else self._sentinel("MISSING")

        define("", PACKED, create)
        define("GetItem", f"{key} Any -> Any", get)
        define("GetItemOrMissing", f"{key} Any -> Any", get_or_missing)
        define("Size", f"{key} -> int", lambda handle: len(maps.pairs(handle)))
        define("Count", f"{key} Any -> int", lambda h, value: int(bool(maps.find(h, value))))
        define("ForwardIterFunctor", f"{key} -> ffi.Function", self._iterator)
        if key == "ffi.Dict":
            define("SetItem", "ffi.Dict Any Any -> None", maps.set)
            define("Erase", "ffi.Dict Any -> None", maps.erase)
            define("Clear", "ffi.Dict -> None", maps.clear)

    def _iterator(self, handle: int) -> int:
        """Return a stateful iterator: 0 for the key, 1 for the value, 2 to advance."""
        pairs, position = self.runtime.maps.pairs(handle), 0

        def body(args: int, _n: int, result: int) -> None:
            nonlocal position
            command = any_at(args).v_int64
            if command in {0, 1}:
                self.runtime.values.to_owned(pairs[position] + command * ANY_SIZE, result)
                return
            position += 1
            write_any(result, abi.kTVMFFIBool, position < len(pairs))

        return self.runtime.functions.new_closure("iterator of a map", body)

    def _module(self) -> None:
        modules, define, objects = self.runtime.modules, self.define, self.runtime.objects

        def system_library(addresses: list[int]) -> int:
            content = self.runtime.strings.read(addresses[0]) if addresses else b""
            return modules.system_library((content or b"").decode())

        def function(handle: int, name: str, query: bool) -> int:
            return modules.get_function(handle, name, query_imports=query)

        def load(path: str, _format: str) -> int:
            return modules.load_library(path)

        def implements(handle: int, name: str, query: bool) -> bool:
            every = [handle, *(modules.imports(handle) if query else [])]
            return any(modules.symbol(module, name) for module in every)

        def text(prefix: str) -> Callable[[int, str, bool], str | None]:
            return lambda handle, name, _query: modules.text_of(handle, prefix, name)

        def write(_handle: int, _path: str, _format: str) -> None:
            # c-abi.md, "14.1 ModuleObj vtable": the default of WriteToFile.
            raise Raised("RuntimeError", "a library module cannot be written to a file")

        def pin(handle: int) -> None:
            objects.hold(handle)
            modules.pinned.append(handle)

        def unpin(handle: int) -> None:
            if handle in modules.pinned:
                modules.pinned.remove(handle)
                objects.drop(handle)

        named = "ffi.Module ffi.String bool ->"
        define("ModuleLoadFromFile", "ffi.String -> ffi.Module", modules.load_file)
        define("Module.load_from_file.so", "ffi.String ffi.String -> ffi.Module", load)
        define("SystemLib", PACKED, system_library)
        define("ModuleGetFunction", f"{named} Optional[ffi.Function]", function)
        define("ModuleImplementsFunction", f"{named} bool", implements)
        for name, prefix in (
            ("Metadata", abi.METADATA_SYMBOL_PREFIX),
            ("Doc", abi.DOC_SYMBOL_PREFIX),
        ):
            define(f"ModuleGetFunction{name}", f"{named} Optional[ffi.String]", text(prefix))
        define("ModuleGetKind", "ffi.Module -> ffi.String", lambda h: modules.modules[h].kind)
        define("ModuleGetPropertyMask", "ffi.Module -> int", lambda _handle: PROPERTY_MASK)
        define("ModuleGetWriteFormats", "ffi.Module -> ffi.Array[ffi.String]", lambda _handle: [])
        source = lambda _handle, _format: ""  # noqa: E731
        define("ModuleInspectSource", "ffi.Module ffi.String -> ffi.String", source)
        define("ModuleWriteToFile", "ffi.Module ffi.String ffi.String -> None", write)
        define("ModuleImportModule", "ffi.Module ffi.Module -> None", modules.import_module)
        define("ModuleClearImports", "ffi.Module -> None", modules.clear_imports)
        define("ModuleGlobalsAdd", "ffi.Module -> None", pin)
        define("ModuleGlobalsRemove", "ffi.Module -> None", unpin)
