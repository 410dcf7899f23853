# SPDX-License-Identifier: Apache-2.0
"""Chapter 2b, types: the type table, ancestors, reflection and attribute columns.

Clients read `TVMFFITypeInfo` and `TVMFFITypeAttrColumn` in place and keep the pointers, so both
are in memory that never moves and is never released.
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass

from tvm_ffi_conformance import abi

from .chapter import Chapter
from .memory import at, read_byte_array, read_pointer, text_at, write_pointer
from .values import ANY_SIZE, Raised, any_at, copy_any

_STATIC_SIZE = abi.kTVMFFIDynObjectBegin
_QUERY = -2
# c-abi.md, "12.2 Columns present after load": clients fetch a column once and keep the pointer, so
# the columns exist, though empty, before any library is loaded.
_COLUMN_NAMES = """
__ffi_new__ __ffi_init__ __ffi_convert__ __ffi_shallow_copy__ __ffi_type_final__ __any_hash__
__any_equal__ __ffi_repr__ __ffi_hash__ __ffi_eq__ __ffi_compare__ __data_to_json__
__data_from_json__ __s_equal__ __s_hash__ __ffi_enum__ __s_visit__ __s_mutate__
__s_maybe_inplace_mutate__
"""
COLUMNS = _COLUMN_NAMES.split()
# c-abi.md, "2.2 Types the runtime registers dynamically while loading", "8. In-memory layout of
# built-in objects" and "11.2 Field info": the types with metadata.  A type: key, parent, total
# size, kind of structural equality, `new` if it has a creator, `final` if no type derives from it.
# Below it each field: name, schema, offset, names of flags.
TYPES = """
ffi.Object - 24 0
ffi.Module ffi.Object 48 0 final
    imports_ ffi.Array[Any] 24
ffi.VisitInterrupt ffi.Object 40 0 new final
    value Any 24 HasDefault
ffi.BigInt ffi.Object 32 0 final
ffi.EnumState ffi.Object 48 0 new final
    entries ffi.List[ffi.Object] 24 InitOff
    indexes ffi.Dict[Any,ffi.Object] 32 InitOff
    attrs ffi.Dict[ffi.String,ffi.Dict[ffi.Object,Any]] 40 InitOff
ffi.Enum ffi.Object 48 5 new
    _int_index int 24 SEqHashIgnore
    _str_index ffi.String 32
ffi.IntEnum ffi.Enum 48 5 new
    value int 24 SEqHashIgnore InitOff
ffi.StrEnum ffi.Enum 48 5 new
    value ffi.String 32 SEqHashIgnore InitOff
ffi.reflection.AccessStep ffi.Object 48 4 new final
    kind int32 24
    key Any 32
ffi.reflection.AccessPath ffi.Object 48 4 new final
    parent Optional[ffi.Object] 24
    step Optional[ffi.reflection.AccessStep] 32
    depth int32 40
ffi.StructuralVisitor ffi.Object 40 0
ffi.VisitErrorContext ffi.Object 40 0 new final
    reverse_visit_pattern ffi.List[ffi.Object] 24
    prev_error_context Optional[ffi.Object] 32
ffi.StructuralMutator ffi.Object 40 0
ffi.StructuralKey ffi.Object 48 0 new final
    key Any 24
    hash_i64 int 40
"""


@dataclass
class Slots:
    """The indices that a type reserves for its children."""

    reserved: int
    """The type itself and its child slots."""
    allocated: int
    can_overflow: bool


class Types(Chapter):
    """The table of types and the columns of type attributes."""

    def set_up(self) -> None:
        self.infos: dict[int, int] = {}  # address of the TVMFFITypeInfo by index
        self.keys: dict[str, int] = {}
        self._slots: dict[int, Slots] = {}
        self._columns: dict[str, int] = {}
        self._capacity: dict[str, int] = {}
        self._next_dynamic = abi.kTVMFFIDynObjectBegin
        for index, key in abi.VALUE_TYPE_KEYS.items():
            # c-abi.md, "2.1 Static indices": plain values have depth 0 and no parent; static
            # objects have depth 1 and the parent ffi.Object, no child slots, no overflow.
            self._add(index, key, None, Slots(1, 1, can_overflow=False))
        for index, key in abi.OBJECT_TYPE_KEYS.items():
            is_root = index == abi.kTVMFFIObject
            parent = None if is_root else abi.kTVMFFIObject
            self._add(index, key, parent, Slots(1, 1, can_overflow=is_root))
        for key, parent_key in re.findall(r"^(\S+) (ffi\S+)", TYPES, re.MULTILINE):
            parent = self.keys[parent_key]  # static types are registered already
            children = 2 if key == "ffi.Enum" else 0
            self.allocate(key, -1, self._depth(parent) + 1, children, True, parent)
        for name in COLUMNS:
            self._column(name)

    def info(self, index: int) -> abi.TVMFFITypeInfo:
        """Return the entry of a registered type."""
        return at(abi.TVMFFITypeInfo, self.infos[index])

    def key_of(self, index: int) -> str:
        """Return the key of a type, for messages too."""
        if index not in self.infos:
            return f"type {index}"
        return read_byte_array(self.info(index).type_key).decode()

    def ancestors(self, index: int) -> list[int]:
        """Return the indices of the ancestors of a type, root first."""
        info = self.info(index)
        addresses = (info.type_ancestors + 8 * position for position in range(info.type_depth))
        return [at(abi.TVMFFITypeInfo, read_pointer(each)).type_index for each in addresses]

    def is_a(self, index: int, key: str) -> bool:
        """Return True if a type has the key, or an ancestor that has it."""
        # abi-overview.rst, "Inheritance Checking".
        return self.keys.get(key) in {index, *self.ancestors(index)}

    def _depth(self, index: int) -> int:
        return self.info(index).type_depth

    def _add(self, index: int, key: str, parent: int | None, slots: Slots) -> None:
        """Add an entry to the table."""
        address = self.runtime.heap.permanent(ctypes.sizeof(abi.TVMFFITypeInfo))
        info = at(abi.TVMFFITypeInfo, address)
        info.type_index = index
        self._copy_text(key.encode(), info.type_key)
        info.type_key_hash = hash_type_key(key.encode())
        # abi-overview.rst, "Inheritance Checking": each node points to its ancestors.
        # c-abi.md, "5. Structs": root first, as many as the depth.
        ancestors = [] if parent is None else [*self.ancestors(parent), parent]
        info.type_depth = len(ancestors)
        info.type_ancestors = self.runtime.heap.permanent(8 * max(len(ancestors), 1))
        for position, ancestor in enumerate(ancestors):
            write_pointer(info.type_ancestors + 8 * position, self.infos[ancestor])
        self.infos[index], self.keys[key], self._slots[index] = address, index, slots

    def _copy_text(self, text: bytes, target: abi.TVMFFIByteArray) -> None:
        """Store a permanent copy of `text`."""
        target.data = self.runtime.heap.permanent(len(text) + 1)
        target.size = len(text)
        ctypes.memmove(target.data, text, len(text))

    def allocate(
        self, key: str, static: int, depth: int, children: int, overflow: bool, parent: int
    ) -> int:
        """Return the index of a type, registering it if needed."""
        # c-abi.md, "11.1 TVMFFITypeGetOrAllocIndex": the decision order, steps 1 to 6.
        if key in self.keys:  # 1. no other argument is checked
            return self.keys[key]
        if parent == _QUERY:  # 2. query mode registers nothing
            return _QUERY
        has_parent = parent >= 0  # 3.
        if has_parent and parent not in self.infos:
            raise self._bad_type(key, f"the parent index {parent} is not registered")
        if has_parent and depth != self._depth(parent) + 1:  # 6.
            detail = f"depth {depth} below a parent of depth {self._depth(parent)}"
            raise self._bad_type(key, detail)
        needed = children + 1
        if static >= 0:  # 4. inside the table and unused
            if static >= _STATIC_SIZE or static in self.infos:
                raise Raised("InternalError", f"`{key}`: static index {static} is not available")
            index = static
        elif not has_parent:
            raise self._bad_type(key, "a dynamic type without a parent")
        else:
            index = self._dynamic_index(key, needed, self._slots[parent], parent)
        if has_parent and index <= parent:  # 6.
            raise self._bad_type(key, f"index {index} is not greater than the parent's {parent}")
        # 6. A child of a parent that cannot overflow cannot overflow either.
        overflow = overflow and (not has_parent or self._slots[parent].can_overflow)
        self._add(index, key, parent if has_parent else None, Slots(needed, 1, overflow))
        return index

    def _dynamic_index(self, key: str, needed: int, slots: Slots, parent: int) -> int:
        """Return an index in the range of the parent, or behind all types."""
        # c-abi.md, "11.1 TVMFFITypeGetOrAllocIndex", step 5.
        if slots.allocated + needed <= slots.reserved:
            index = parent + slots.allocated
            slots.allocated += needed
            return index
        if not slots.can_overflow:
            raise Raised("InternalError", f"`{key}`: the parent has no room for children")
        index = self._next_dynamic
        self._next_dynamic += needed
        return index

    def _bad_type(self, key: str, detail: str) -> Raised:
        self.runtime.checks.report("type.ancestors", key, detail)
        return Raised("InternalError", f"Cannot register type `{key}`: {detail}")

    def _require(self, index: int) -> abi.TVMFFITypeInfo:
        if index not in self.infos:
            raise Raised("InternalError", f"Cannot find type info for type index {index}")
        return self.info(index)

    def _append(self, struct: type[ctypes.Structure], source: int, base: int, count: int) -> int:
        """Return a new permanent array: `count` structs of `base`, then a copy of `source`."""
        # c-abi.md, "6.6 Types and reflection": the arrays are reallocated by later registrations.
        size = ctypes.sizeof(struct)
        array = self.runtime.heap.permanent(size * (count + 1))
        if count:
            ctypes.memmove(array, base, size * count)
        ctypes.memmove(array + size * count, source, size)
        last = at(struct, array + size * count)
        for target in (last.name, last.doc, last.metadata):
            self._copy_text(read_byte_array(target), target)
        return array

    def _retain(self, value: abi.TVMFFIAny) -> None:
        """Keep the object in a value for the life of the process."""
        handle = self.runtime.values.object_of(ctypes.addressof(value))
        if handle:
            self.runtime.objects.require(handle, "info")
            self.runtime.objects.hold(handle)

    def fields(self, index: int) -> list[abi.TVMFFIFieldInfo]:
        """Return the fields of a type, without those of its ancestors."""
        info, size = self.info(index), ctypes.sizeof(abi.TVMFFIFieldInfo)
        return [at(abi.TVMFFIFieldInfo, info.fields + size * i) for i in range(info.num_fields)]

    def TVMFFITypeRegisterField(self, type_index: int, info: int) -> None:
        entry = self._require(type_index)
        name = read_byte_array(at(abi.TVMFFIFieldInfo, info).name)
        if name in [read_byte_array(field.name) for field in self.fields(type_index)]:
            text = f"Field `{name.decode()}` is already registered for {self.key_of(type_index)}"
            raise Raised("InternalError", text)
        count = entry.num_fields
        entry.fields = self._append(abi.TVMFFIFieldInfo, info, entry.fields, count)
        entry.num_fields = count + 1
        field = at(abi.TVMFFIFieldInfo, entry.fields + ctypes.sizeof(abi.TVMFFIFieldInfo) * count)
        # c-abi.md, "6.6 Types and reflection": the default is kept only with HasDefault; a setter
        # that is a function object is retained.
        if field.flags & abi.kTVMFFIFieldFlagBitMaskHasDefault:
            self._retain(field.default_value_or_factory)
        else:
            field.default_value_or_factory = abi.TVMFFIAny()
        if field.flags & abi.kTVMFFIFieldFlagBitSetterIsFunctionObj and field.setter:
            self.runtime.objects.require(field.setter, "setter", abi.kTVMFFIFunction)
            self.runtime.objects.hold(field.setter)

    def TVMFFITypeRegisterMethod(self, type_index: int, info: int) -> None:
        entry = self._require(type_index)
        count = entry.num_methods
        entry.methods = self._append(abi.TVMFFIMethodInfo, info, entry.methods, count)
        entry.num_methods = count + 1
        size = ctypes.sizeof(abi.TVMFFIMethodInfo)
        self._retain(at(abi.TVMFFIMethodInfo, entry.methods + size * count).method)

    def TVMFFITypeRegisterMetadata(self, type_index: int, metadata: int) -> None:
        entry = self._require(type_index)
        if entry.metadata:
            # c-abi.md, "6.6 Types and reflection": a second registration is a RuntimeError.
            text = f"Metadata of {self.key_of(type_index)} is already registered"
            raise Raised("RuntimeError", text)
        entry.metadata = self.runtime.heap.permanent(ctypes.sizeof(abi.TVMFFITypeMetadata))
        ctypes.memmove(entry.metadata, metadata, ctypes.sizeof(abi.TVMFFITypeMetadata))
        doc = at(abi.TVMFFITypeMetadata, entry.metadata).doc
        self._copy_text(read_byte_array(doc), doc)

    def _column(self, name: str) -> abi.TVMFFITypeAttrColumn:
        """Return the column `name`, creating it if needed."""
        if name not in self._columns:
            # c-abi.md, "12.1 Mechanism": begin_index is always 0; the address never changes.
            size = ctypes.sizeof(abi.TVMFFITypeAttrColumn)
            self._columns[name] = self.runtime.heap.permanent(size)
            self._capacity[name] = 0
        return at(abi.TVMFFITypeAttrColumn, self._columns[name])

    def attribute(self, index: int, name: str) -> int:
        """Return the address of the attribute value of a type; 0 if there is none."""
        # c-abi.md, "12.1 Mechanism": only the exact type index is consulted.
        column = self._column(name)
        if index >= column.size or any_at(column.data, index).type_index == abi.kTVMFFINone:
            return 0
        return column.data + index * ANY_SIZE

    def set_attribute(self, index: int, name: str, value: int) -> None:
        """Store the value at the address `value` as an attribute of a type."""
        column = self._column(name)
        if index == abi.kTVMFFINone:  # ensures that the column exists
            return
        if self.attribute(index, name):
            text = f"TypeAttr `{name}` is already registered for type index {index}"
            raise Raised("RuntimeError", text)
        if index >= self._capacity[name]:
            capacity = max(2 * self._capacity[name], index + 1)
            data = self.runtime.heap.permanent(capacity * ANY_SIZE)
            if column.size:
                ctypes.memmove(data, column.data, column.size * ANY_SIZE)
            column.data, self._capacity[name] = data, capacity
        copy_any(value, column.data + index * ANY_SIZE)
        self._retain(any_at(column.data, index))
        column.size = max(column.size, index + 1)

    def TVMFFITypeRegisterAttr(self, type_index: int, attr_name: int, attr_value: int) -> None:
        if type_index and not self.runtime.values.check(attr_value, "attr_value"):
            raise Raised("InternalError", "`attr_value` is not a valid value")
        self.set_attribute(type_index, text_at(attr_name), attr_value)

    def TVMFFIGetTypeAttrColumn(self, attr_name: int) -> int:
        # c-abi.md, "6.6 Types and reflection": null if the column was never created.
        return self._columns.get(text_at(attr_name), 0)

    def TVMFFITypeKeyToIndex(self, type_key: int, out_tindex: int) -> None:
        key = text_at(type_key)
        if key not in self.keys:
            raise Raised("InternalError", f"Cannot find type `{key}`")
        ctypes.c_int32.from_address(out_tindex).value = self.keys[key]

    def TVMFFITypeGetOrAllocIndex(
        self, type_key: int, static: int, depth: int, children: int, overflow: int, parent: int
    ) -> int:
        return self.allocate(text_at(type_key), static, depth, children, bool(overflow), parent)

    def TVMFFIGetTypeInfo(self, type_index: int) -> int:
        self._require(type_index)
        return self.infos[type_index]


def hash_type_key(key: bytes) -> int:
    """Return the hash of a type key: ``std::hash`` of libstdc++, a variant of Murmur2A."""
    # c-abi.md, "10.5 Type key hash": 64 bits, seed 0xc70f6907.
    mask, multiplier = 2**64 - 1, 0xC6A4A7935BD1E995
    value = 0xC70F6907 ^ (len(key) * multiplier & mask)

    def mix(word: int) -> int:
        return word ^ (word >> 47)

    whole = len(key) & ~7
    for start in range(0, whole, 8):
        word = int.from_bytes(key[start : start + 8], "little")
        value = (value ^ (mix(word * multiplier & mask) * multiplier & mask)) * multiplier & mask
    if whole < len(key):
        value = (value ^ int.from_bytes(key[whole:], "little")) * multiplier & mask
    return mix(mix(value) * multiplier & mask)
