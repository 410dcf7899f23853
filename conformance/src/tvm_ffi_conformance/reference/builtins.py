# SPDX-License-Identifier: Apache-2.0
"""Chapter 11, global functions that the runtime registers: core, containers and modules.

`LEFT_OUT` names the others: they belong to the C++ API (reflection helpers, structural operations,
text and JSON), and no compiled kernel needs them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

from tvm_ffi_conformance import abi

from .chapter import Chapter
from .memory import cell
from .values import ANY_SIZE, Raised, any_at, copy_any, write_any

_LEFT_OUT_NAMES = """
ffi.DeepCopy ffi.FromJSONGraph ffi.FromJSONGraphString ffi.GetFirstStructuralMismatch
ffi.MakeFieldGetter ffi.MakeFieldSetter ffi.MakeObjectFromPackedArgs ffi.RecursiveEq
ffi.RecursiveGe ffi.RecursiveGt ffi.RecursiveHash ffi.RecursiveLe ffi.RecursiveLt ffi.ReprPrint
ffi.StructuralEqual ffi.StructuralHash ffi.StructuralKey ffi.StructuralKeyEqual ffi.StructuralMap
ffi.StructuralMutate ffi.StructuralMutatorDefRegionKind ffi.StructuralMutatorDefaultMutate
ffi.StructuralMutatorMutate ffi.StructuralMutatorVarRemapGet ffi.StructuralMutatorVarRemapSet
ffi.StructuralMutatorWithDefRegionKind ffi.StructuralVisit ffi.StructuralVisitorDefRegionKind
ffi.StructuralVisitorDefaultVisit ffi.StructuralVisitorVisit
ffi.StructuralVisitorWithDefRegionKind ffi.StructuralWalk ffi.ToJSONGraph ffi.ToJSONGraphString
ffi.VisitErrorContext.FindAccessPaths ffi._PyClassRegisterTypeAttrColumns ffi._RegisterFFIInit
ffi.json.Parse ffi.json.Stringify
"""
LEFT_OUT = frozenset(_LEFT_OUT_NAMES.split())
_INT_LIKE = (abi.kTVMFFIInt, abi.kTVMFFIBool)
_TYPES = {
    "Array": abi.kTVMFFIArray,
    "List": abi.kTVMFFIList,
    "Map": abi.kTVMFFIMap,
    "Dict": abi.kTVMFFIDict,
    "Module": abi.kTVMFFIModule,
}


class Owned(NamedTuple):
    """A result: a new reference to an object of a type."""

    type_index: int
    handle: int


class Copied(NamedTuple):
    """A result: an owned copy of the value at an address."""

    address: int


class Moved(NamedTuple):
    """A result: an owned value."""

    slot: abi.TVMFFIAny


class Builtins(Chapter):
    """Defines the global functions; each has a text for the types of its parameters."""

    def set_up(self) -> None:
        self._sentinels: dict[str, int] = {}
        self._core()
        for name in ("Array", "List"):
            self._sequence(name)
        self._list()
        for name in ("Map", "Dict"):
            self._map(name)
        self._dict()
        self._module()

    def _define(self, name: str, parameters: str, function: Callable[..., Any]) -> None:
        """Register `function`; a parameter text that ends with ``...`` takes all arguments."""
        full, kinds = f"ffi.{name}", parameters.split()

        def body(args: int, n: int, result: int) -> None:
            addresses = [args + position * ANY_SIZE for position in range(n)]
            if kinds == ["..."]:
                self._store(function(addresses), result)
                return
            if n != len(kinds):
                # c-abi.md, "13.1 The packed convention".
                raise Raised(
                    "TypeError",
                    f"Mismatched number of arguments when calling: `{full}({', '.join(kinds)})`. "
                    f"Expected {len(kinds)} but got {n} arguments",
                )
            arguments = [
                self._argument(full, position, kind, address)
                for position, (kind, address) in enumerate(zip(kinds, addresses))
            ]
            self._store(function(*arguments), result)

        self.runtime.functions.define(full, body)

    def _argument(self, name: str, position: int, kind: str, address: int) -> Any:
        """Return an argument: a Python value, a handle, or the address of a value of any type."""
        # c-abi.md, "3. TVMFFIAny": the conversions of typed functions.
        value, index = any_at(address), any_at(address).type_index
        if kind == "any":
            return address
        if kind in {"int", "bool"} and index in _INT_LIKE:
            return value.v_int64 if kind == "int" else bool(value.v_int64)
        if kind == "pointer" and index in {abi.kTVMFFIOpaquePtr, abi.kTVMFFINone}:
            return value.v_ptr or 0
        if kind in {"str", "bytes"}:
            texts = (abi.kTVMFFIRawStr, abi.kTVMFFISmallStr, abi.kTVMFFIStr)
            binary = (abi.kTVMFFIByteArrayPtr, abi.kTVMFFISmallBytes, abi.kTVMFFIBytes)
            if index in (texts if kind == "str" else binary):
                content = self.runtime.strings.read(address) or b""
                return content.decode() if kind == "str" else content
        if index == _TYPES.get(kind):
            return value.v_obj
        got = self.runtime.types.key_of(index)
        raise Raised(
            "TypeError",
            f"Mismatched type on argument #{position} when calling: `{name}`. "
            f"Expected `{kind}` but got `{got}`",
        )

    def _store(self, value: Any, out: int) -> None:
        """Store a result."""
        if isinstance(value, Owned):
            if value.handle:
                write_any(out, value.type_index, value.handle)
            else:  # c-abi.md, "2.1 Static indices": a null reference is None
                write_any(out, abi.kTVMFFINone)
        elif isinstance(value, Moved):
            copy_any(ctypes.addressof(value.slot), out)
        elif isinstance(value, Copied):
            self.runtime.values.to_owned(value.address, out)
        else:
            self.runtime.convert.store(value, out, [])

    def _sentinel(self, name: str) -> Owned:
        """Return the only object of its name in the process."""
        objects = self.runtime.objects
        if name not in self._sentinels:
            record = objects.new(abi.kTVMFFIObject, abi.HEADER_SIZE)
            objects.adopt(record.address)
            self._sentinels[name] = record.address
        objects.incref(self._sentinels[name])
        return Owned(abi.kTVMFFIObject, self._sentinels[name])

    def _core(self) -> None:
        runtime, define = self.runtime, self._define
        functions = runtime.functions
        define("FunctionRemoveGlobal", "str", functions.remove_global)
        define("FunctionListGlobalNamesFunctor", "", self._names_functor)
        define("GetGlobalFuncMetadata", "str", self._metadata)
        define(
            "FunctionFromExternC",
            "pointer pointer pointer",
            lambda self_, call, deleter: Owned(
                abi.kTVMFFIFunction,
                functions.new_wrapper(self_, call, deleter, "extern C function"),
            ),
        )
        define("String", "str", lambda text: text)
        define("Bytes", "bytes", lambda content: content)
        define("Shape", "...", self._shape)
        define("GetRegisteredTypeKeys", "", lambda: list(runtime.types.keys))
        define("GetInvalidObject", "", lambda: self._sentinel("MISSING"))
        define("GetKwargsObject", "", lambda: self._sentinel("KWARGS"))
        define("VisitInterrupt", "any", self._visit_interrupt)

    def _names_functor(self) -> Callable[[int], Any]:
        names = list(self.runtime.functions.globals)  # a snapshot: -1 for the count, i for a name
        return lambda position: len(names) if position == -1 else names[position]

    def _metadata(self, name: str) -> str:
        if name not in self.runtime.functions.globals:
            raise Raised("RuntimeError", f"Global Function is not found: {name}")
        return self.runtime.functions.metadata[name][0]

    def _shape(self, addresses: list[int]) -> Owned:
        values = [any_at(address) for address in addresses]
        if any(value.type_index != abi.kTVMFFIInt for value in values):
            raise Raised("ValueError", "ffi.Shape: expected integers")
        extents = [value.v_int64 for value in values]
        return Owned(abi.kTVMFFIShape, self.runtime.sequences.new_shape(extents))

    def _visit_interrupt(self, address: int) -> Owned:
        # c-abi.md, "8. In-memory layout of built-in objects": `value` at +24.
        values = self.runtime.values
        record = self.runtime.objects.new(
            abi.kTVMFFIVisitInterrupt,
            abi.HEADER_SIZE + ANY_SIZE,
            lambda handle: values.release(handle + abi.HEADER_SIZE),
        )
        values.to_owned(address, record.address + abi.HEADER_SIZE)
        return Owned(abi.kTVMFFIVisitInterrupt, record.address)

    def _sequence(self, name: str) -> None:
        sequences, define = self.runtime.sequences, self._define
        create = sequences.new_array if name == "Array" else sequences.new_list
        define(name, "...", lambda views: Owned(_TYPES[name], create(views)))
        define(
            f"{name}GetItem",
            f"{name} int",
            lambda handle, position: Copied(sequences.item(handle, position)),
        )
        define(f"{name}Size", name, lambda handle: len(sequences.elements(handle)))
        equal = self.runtime.hashing.any_equal
        define(
            f"{name}Contains",
            f"{name} any",
            lambda handle, value: any(equal(e, value) for e in sequences.elements(handle)),
        )

    def _list(self) -> None:
        sequences, define = self.runtime.sequences, self._define

        def size(handle: int) -> int:
            return cell(abi.TVMFFISeqCell, handle).size

        define("ListSetItem", "List int any", sequences.set_item)
        define("ListAppend", "List any", lambda h, value: sequences.insert(h, size(h), value))
        define("ListInsert", "List int any", sequences.insert)
        define("ListPop", "List int", self._pop)
        define("ListErase", "List int", lambda h, i: sequences.erase(h, i, i + 1))
        define("ListEraseRange", "List int int", sequences.erase)
        define("ListReplaceSlice", "List int int List", self._replace_slice)
        define("ListReverse", "List", sequences.reverse)
        define("ListClear", "List", lambda h: sequences.erase(h, 0, size(h)))
        define("ListReserve", "List int", sequences.reserve)
        define("ContainerFindFirstNonCPUDevice", "any", self._first_device)

    def _pop(self, handle: int, position: int) -> Moved:
        slot = abi.TVMFFIAny()
        self.runtime.sequences.pop(handle, position, ctypes.addressof(slot))
        return Moved(slot)

    def _replace_slice(self, handle: int, start: int, stop: int, source: int) -> None:
        sequences, values = self.runtime.sequences, self.runtime.values
        # The source may be the same list: its elements are copied first.
        elements = sequences.elements(source)
        copies = (abi.TVMFFIAny * max(len(elements), 1))()
        address = ctypes.addressof(copies)
        for position, element in enumerate(elements):
            values.to_owned(element, address + position * ANY_SIZE)
        sequences.erase(handle, start, stop)
        for position in range(len(elements)):
            sequences.insert(handle, start + position, address + position * ANY_SIZE)
            values.release(address + position * ANY_SIZE)

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

    def _map(self, name: str) -> None:
        maps, define, index = self.runtime.maps, self._define, _TYPES[name]

        def create(addresses: list[int]) -> Owned:
            if len(addresses) % 2:
                # c-abi.md, "7.1 Object and kinds": the text of an internal check.
                text = f"Check failed: args.size() % 2 == 0 ({len(addresses) % 2} vs. 0) : "
                raise Raised("InternalError", text)
            handle = maps.new(index)
            for key, value in zip(addresses[::2], addresses[1::2]):
                maps.set(handle, key, value)
            return Owned(index, handle)

        def get(handle: int, key: int) -> Copied:
            found = maps.find(handle, key)
            if not found:
                raise Raised("KeyError", "key is not in Map")  # c-abi.md, "9.6": also for Dict
            return Copied(found)

        def get_or_missing(handle: int, key: int) -> Any:
            found = maps.find(handle, key)
            return Copied(found) if found else self._sentinel("MISSING")

        define(name, "...", create)
        define(f"{name}GetItem", f"{name} any", get)
        define(f"{name}GetItemOrMissing", f"{name} any", get_or_missing)
        define(f"{name}Size", name, lambda handle: len(maps.pairs(handle)))
        define(f"{name}Count", f"{name} any", lambda h, key: int(bool(maps.find(h, key))))
        define(f"{name}ForwardIterFunctor", name, self._iterator)

    def _iterator(self, handle: int) -> Owned:
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

        name = "iterator of a map"
        return Owned(abi.kTVMFFIFunction, self.runtime.functions.new_closure(name, body))

    def _dict(self) -> None:
        maps, define = self.runtime.maps, self._define
        define("DictSetItem", "Dict any any", maps.set)
        define("DictErase", "Dict any", maps.erase)
        define("DictClear", "Dict", maps.clear)

    def _module(self) -> None:
        modules, define, index = self.runtime.modules, self._define, abi.kTVMFFIModule
        objects = self.runtime.objects

        def system_library(addresses: list[int]) -> Owned:
            content = self.runtime.strings.read(addresses[0]) if addresses else b""
            return Owned(index, modules.system_library((content or b"").decode()))

        def function(handle: int, name: str, query: bool) -> Owned:
            found = modules.get_function(handle, name, query_imports=query)
            return Owned(abi.kTVMFFIFunction, found)

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

        define("ModuleLoadFromFile", "str", lambda path: Owned(index, modules.load_file(path)))
        define(
            "Module.load_from_file.so",
            "str str",
            lambda path, _format: Owned(index, modules.load_library(path)),
        )
        define("SystemLib", "...", system_library)
        define("ModuleGetFunction", "Module str bool", function)
        define("ModuleImplementsFunction", "Module str bool", implements)
        define("ModuleGetFunctionMetadata", "Module str bool", text(abi.METADATA_SYMBOL_PREFIX))
        define("ModuleGetFunctionDoc", "Module str bool", text(abi.DOC_SYMBOL_PREFIX))
        define("ModuleGetKind", "Module", modules.kind)
        define("ModuleGetPropertyMask", "Module", modules.property_mask)
        define("ModuleGetWriteFormats", "Module", lambda _handle: [])
        define("ModuleInspectSource", "Module str", lambda _handle, _format: "")
        define("ModuleWriteToFile", "Module str str", write)
        define("ModuleImportModule", "Module Module", modules.import_module)
        define("ModuleClearImports", "Module", modules.clear_imports)
        define("ModuleGlobalsAdd", "Module", pin)
        define("ModuleGlobalsRemove", "Module", unpin)
