# SPDX-License-Identifier: Apache-2.0
"""Chapter 2c, reflection: fields, creators and attributes of the types of the runtime.

`Reflection` registers the table `TYPES`, and makes objects of its types. An object is a block of
the total size, whose values and handles are found through the fields of the type table.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

from tvm_ffi_conformance import abi

from .builtins import Copied, metadata_of, schema
from .chapter import Chapter
from .maps import MAPS
from .memory import at, read_pointer, write_pointer
from .sequences import SEQUENCES
from .trampoline import CREATORS, FIELD_KINDS, SETTERS
from .types import TYPES
from .values import ANY_SIZE, Pending, Raised, any_at, copy_any, write_any, write_float

# By the head of the schema: kind of the field, and its static type index.
_STORED = {
    "int": ("int64", abi.kTVMFFIInt), "int32": ("int32", abi.kTVMFFIInt),
    "Any": ("any", abi.kTVMFFIAny), "ffi.String": ("any", abi.kTVMFFIAny),
    "Optional": ("object", abi.kTVMFFIAny), "ffi.Array": ("object", abi.kTVMFFIArray),
    "ffi.List": ("object", abi.kTVMFFIList), "ffi.Dict": ("object", abi.kTVMFFIObject),
}  # fmt: skip
# Kinds of plain fields: type in memory, and type index of the value.
_PLAIN = {
    "int64": (ctypes.c_int64, abi.kTVMFFIInt), "int32": (ctypes.c_int32, abi.kTVMFFIInt),
    "bool": (ctypes.c_bool, abi.kTVMFFIBool), "float64": (ctypes.c_double, abi.kTVMFFIFloat),
    "dtype": (ctypes.c_uint32, abi.kTVMFFIDataType), "device": (ctypes.c_uint64, abi.kTVMFFIDevice),
    "pointer": (ctypes.c_uint64, abi.kTVMFFIOpaquePtr),
}  # fmt: skip
_BY_INDEX = {index: kind for kind, (_, index) in _PLAIN.items() if kind != "int32"}
_BY_INDEX.update({abi.kTVMFFIAny: "any", abi.kTVMFFINone: "any"})
_CONVERTED = "Object String Bytes Error Function Shape Tensor Array Map List Dict"
_CONVERTER = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3)


class Reflection(Chapter):
    """Registers the fields and attributes of built-in types, and makes objects of these types."""

    def set_up(self) -> None:
        self._defaults: dict[int, list[tuple[int, str]]] = {}  # own fields: offset, head of schema
        for kind in FIELD_KINDS:
            self._bind(f"get_{kind}", partial(self.get, kind))
        self._creators, self._setters = iter(CREATORS), iter(SETTERS)
        index = 0
        for line in TYPES.strip().splitlines():
            first, second, *rest = line.split()
            if line.startswith(" "):
                self._register_field(index, first, second, int(rest[0]), rest[1:])
            else:
                index = self.runtime.types.keys[first]
                self._register_type(index, int(rest[0]), int(rest[1]), rest[2:])
        self._attributes()
        define = self.runtime.builtins.define
        define("MakeFieldGetter", "int -> int", lambda index: self._address(f"get_{_kind(index)}"))
        define("MakeFieldSetter", "int int int -> ffi.Function", self._make_setter)

    def _address(self, name: str) -> int:
        return self.runtime.trampoline.address(f"tvm_ffi_reference_{name}")

    def _bind(self, name: str, function: Callable[..., object]) -> int:
        """Let an entry point of the trampoline run `function`; return its address."""
        guard = self.runtime.guard
        self.runtime.trampoline.bind(
            f"tvm_ffi_reference_{name}", lambda *given: guard(name, lambda: function(*given))
        )
        return self._address(name)

    def _register_type(self, index: int, size: int, kind: int, words: list[str]) -> None:
        """Register the metadata of a type and the attributes that follow from it."""
        # c-abi.md, "12.2 Columns present after load, with built-in entries".
        types, new = self.runtime.types, partial(self.new, index)
        metadata = abi.TVMFFITypeMetadata(total_size=size, structural_eq_hash_kind=kind)
        if "new" in words:
            # c-abi.md, "11.3 Methods, metadata, creation": stores a handle with one reference.
            into = lambda out: write_pointer(out, self.new(index))  # noqa: E731
            metadata.creator = self._bind(next(self._creators), into)
            self._attribute(index, "__ffi_new__", "-> ffi.Object", new)
        types.TVMFFITypeRegisterMetadata(index, ctypes.addressof(metadata))
        if index not in {abi.kTVMFFIObject, abi.kTVMFFIModule, abi.kTVMFFIBigInt}:
            self.runtime.objects.layouts[index] = self._references
            key = types.key_of(index)
            self._attribute(index, "__ffi_shallow_copy__", f"{key} -> {key}", self.copy)
        if index != abi.kTVMFFIObject:
            final = abi.TVMFFIAny()
            write_any(ctypes.addressof(final), abi.kTVMFFIBool, "final" in words)
            types.set_attribute(index, "__ffi_type_final__", ctypes.addressof(final))

    def _register_field(
        self, index: int, name: str, type_: str, offset: int, flags: list[str]
    ) -> None:
        """Register a field with its getter and setter."""
        head = type_.partition("[")[0]
        kind, static = _STORED[head]
        size = {"any": ANY_SIZE, "int32": 4}.get(kind, 8)
        info = abi.TVMFFIFieldInfo(size=size, alignment=min(size, 8), offset=offset)
        info.field_static_type_index = static
        info.flags = sum(getattr(abi, f"kTVMFFIFieldFlagBitMask{flag}") for flag in flags)
        info.getter = self._address(f"get_{kind}")
        info.setter = self._bind(next(self._setters), partial(self._assign, type_, kind))
        metadata = metadata_of(schema(type_.replace("int32", "int")))
        buffers = [ctypes.create_string_buffer(text.encode()) for text in (name, metadata)]
        for target, buffer in zip((info.name, info.metadata), buffers):
            target.data, target.size = ctypes.addressof(buffer), len(buffer) - 1
        self.runtime.types.TVMFFITypeRegisterField(index, ctypes.addressof(info))
        self._defaults.setdefault(index, []).append((offset, head))

    def _attributes(self) -> None:
        """Set the other attributes of built-in types."""
        # c-abi.md, "12.3 What the values must be".
        keys, attribute, integer = self.runtime.types.keys, self._attribute, abi.kTVMFFIBigInt
        for name in _CONVERTED.split():
            key = f"ffi.{name}"
            attribute(keys[key], "__ffi_convert__", f"Any -> {key}", partial(self._convert, key))
        state = keys["ffi.EnumState"]  # no field is a parameter of `__ffi_init__`
        attribute(state, "__ffi_init__", "-> ffi.Object", partial(self.new, state))
        read, hash_ = self.runtime.convert.load, self.runtime.hashing.integer_hash

        def compare(a: int, b: int, _compare: int) -> int:
            return (read(a) > read(b)) - (read(a) < read(b))

        attribute(integer, "__any_hash__", "Any -> int", hash_)
        attribute(integer, "__any_equal__", "Any Any -> bool", lambda a, b: read(a) == read(b))
        attribute(integer, "__ffi_hash__", "Any Any -> int", lambda a, _hash: hash_(a))
        attribute(integer, "__ffi_eq__", "Any Any Any -> bool", lambda *both: not compare(*both))
        attribute(integer, "__ffi_compare__", "Any Any Any -> int", compare)
        attribute(integer, "__data_to_json__", "Any -> ffi.String", lambda a: str(read(a)))
        attribute(integer, "__data_from_json__", "ffi.String -> Any", int)

    def _attribute(
        self, index: int, name: str, signature: str, function: Callable[..., Any]
    ) -> None:
        """Set an attribute of a type to a new function object."""
        types, value = self.runtime.types, abi.TVMFFIAny()
        full = f"{types.key_of(index)}.{name}"
        handle = self.runtime.builtins.closure(full, signature, function)
        write_any(ctypes.addressof(value), abi.kTVMFFIFunction, handle)
        types.set_attribute(index, name, ctypes.addressof(value))
        self.runtime.objects.decref(handle)

    def get(self, kind: str, field: int, out: int) -> None:
        """Store an owned copy of the content of a field."""
        # c-abi.md, "11.2 Field info": a getter returns an owned value.
        if kind == "any":
            self.runtime.values.to_owned(field, out)
        elif kind == "object":
            handle = read_pointer(field)
            index = self.runtime.objects.type_index(handle) if handle else abi.kTVMFFINone
            write_any(out, index, handle)
            if handle:
                self.runtime.objects.incref(handle)
        elif kind == "float64":
            write_float(out, ctypes.c_double.from_address(field).value)
        else:
            plain, index = _PLAIN[kind]
            write_any(out, index, plain.from_address(field).value)

    def store(self, kind: str, field: int, view: int) -> None:
        """Replace the content of a field by an owned copy of a value of its type."""
        value, owned, old = any_at(view), abi.TVMFFIAny(), abi.TVMFFIAny()
        if kind in _PLAIN:
            is_float = value.type_index == abi.kTVMFFIFloat
            number = value.v_float64 if is_float else value.v_int64
            _PLAIN[kind][0].from_address(field).value = number
            return
        self.runtime.values.to_owned(view, ctypes.addressof(owned))
        if kind == "any":
            copy_any(field, ctypes.addressof(old))
            copy_any(ctypes.addressof(owned), field)
        else:
            write_any(ctypes.addressof(old), abi.kTVMFFIObject, read_pointer(field))
            write_pointer(field, owned.v_uint64)
        self.runtime.values.release(ctypes.addressof(old))

    def _assign(self, type_: str, kind: str, field: int, view: int) -> None:
        """Store a value in a built-in field; raise an error unless it has the type."""
        head, _, inner = type_.partition("[")
        if head != "Optional" or any_at(view).type_index != abi.kTVMFFINone:
            expected = inner[:-1] if head == "Optional" else head.replace("32", "")
            self.runtime.builtins.argument(expected, view)
        self.store(kind, field, view)

    def _references(self, handle: int) -> list[int]:
        """Return the handles in the fields of an object."""
        types, index = self.runtime.types, self.runtime.objects.type_index(handle)
        found = {}  # by offset: the field of a derived type may be that of its base
        for field in [each for i in (*types.ancestors(index), index) for each in types.fields(i)]:
            address, static = handle + field.offset, field.field_static_type_index
            if field.size == ANY_SIZE:
                found[field.offset] = self.runtime.values.object_of(address)
            elif not 0 <= static < abi.kTVMFFIStaticObjectBegin:
                found[field.offset] = read_pointer(address)
        return [reference for reference in found.values() if reference]

    def _allocate(self, index: int) -> int:
        """Return a new object of a type with metadata, whose fields are zero."""

        def destroy(handle: int) -> None:
            for reference in self._references(handle):
                self.runtime.objects.decref(reference)

        return self.runtime.objects.new(index, self._size(index), destroy).address

    def _size(self, index: int) -> int:
        return at(abi.TVMFFITypeMetadata, self.runtime.types.info(index).metadata).total_size

    def new(self, index: int) -> int:
        """Return a new object with the default values of its C++ class."""
        handle = self._allocate(index)
        for each in (*self.runtime.types.ancestors(index), index):
            for offset, head in self._defaults.get(each, []):
                if head == "ffi.String":
                    write_any(handle + offset, abi.kTVMFFISmallStr)
                elif head == "ffi.List":
                    write_pointer(handle + offset, self.runtime.sequences.new_list([]))
                elif head == "ffi.Dict":
                    write_pointer(handle + offset, self.runtime.maps.new(abi.kTVMFFIDict))
        return handle

    def copy(self, handle: int) -> int:
        """Return a new object with the fields of another."""
        index = self.runtime.objects.type_index(handle)
        copied, body = self._allocate(index), self._size(index) - abi.HEADER_SIZE
        ctypes.memmove(copied + abi.HEADER_SIZE, handle + abi.HEADER_SIZE, body)
        for reference in self._references(copied):
            self.runtime.objects.incref(reference)
        return copied

    def _make_setter(self, index: int, converter: int, convert: int) -> int:
        # c-abi.md, "16.1 Core and reflection": the result converts a value, then stores it.
        kind, values = _kind(index), self.runtime.values

        def assign(field: int, view: int) -> None:
            owned = abi.TVMFFIAny()
            code = _CONVERTER(convert)(converter, view, ctypes.addressof(owned))
            if code:
                raise Pending(code)
            self.store(kind, field, ctypes.addressof(owned))
            values.release(ctypes.addressof(owned))

        return self.runtime.builtins.closure("field setter", "void* Any -> None", assign)

    def _convert(self, key: str, address: int) -> int | Copied:
        """Return the value at an address as a value of a type."""
        # c-abi.md, "3. TVMFFIAny": the conversions of typed functions.
        sequences, maps, builtins = self.runtime.sequences, self.runtime.maps, self.runtime.builtins
        value, index = any_at(address), self.runtime.types.keys[key]
        if value.type_index in SEQUENCES and index != value.type_index:
            elements = sequences.elements(value.v_obj)
            if index == abi.kTVMFFIShape:
                extents = [builtins.argument("int", element) for element in elements]
                return sequences.new_shape(extents)
            if index in SEQUENCES:
                is_array = index == abi.kTVMFFIArray
                return (sequences.new_array if is_array else sequences.new_list)(elements)
        if value.type_index in MAPS and index in MAPS and index != value.type_index:
            handle = maps.new(index)
            for pair in maps.pairs(value.v_obj):
                maps.set(handle, pair, pair + ANY_SIZE)
            return handle
        builtins.argument(key, address)
        return Copied(address)


def _kind(index: int) -> str:
    """Return the kind of a field by the static type index of its type."""
    kind = "object" if index >= abi.kTVMFFIStaticObjectBegin else _BY_INDEX.get(index)
    if kind is None:
        raise Raised("ValueError", f"a field cannot have the type index {index}")
    return kind
