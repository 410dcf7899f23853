# SPDX-License-Identifier: Apache-2.0
"""Descriptions of native types (`TypeInfo`), and registration of Python classes for types."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass, replace
from inspect import Parameter, Signature
from keyword import iskeyword
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any, Callable, get_type_hints

from .._binding.call import Function, find_global_func, set_member_origin
from .._binding.call.signature import signature_of_metadata
from .._binding.object import (
    CObject,
    Object,
    load_late_class,
    register_class,
    remove_class,
    share_wrapper,
)
from .._binding.types import Constructor, FFIProperty, lookup_type_attr, type_metadata
from .._binding.values import PyNativeObject
from .._schema.json_form import declared_type
from .builtin_classes import CLASS_OF_KEY
from .enum_payloads import constructor_for_payloads, setter_for_payloads
from .schema import TypeSchema

__all__ = ["KWARGS", "MISSING", "TypeField", "TypeInfo", "TypeMethod", "register_object_by_index"]


class _Sentinel(Object):
    """A native object without content, such as `MISSING`, that is compared by its address."""

    __slots__ = ("_name",)
    _name: str

    def __repr__(self) -> str:
        return f"<{self._name}>"


def _sentinel(name: str, global_function: str) -> _Sentinel:
    make = find_global_func(global_function)
    assert make is not None
    sentinel = _Sentinel()
    sentinel.__move_handle_from__(make())
    sentinel._name = name
    share_wrapper(sentinel)
    return sentinel


# `MISSING` represents an absent value.  `KWARGS` precedes the keyword arguments in a call of a
# native constructor.
MISSING = _sentinel("MISSING", "ffi.GetInvalidObject")
KWARGS = _sentinel("KWARGS", "ffi.GetKwargsObject")


@dataclass(eq=False)
class TypeField:
    """A field of a native type: layout, getter and setter, and dataclass options."""

    __module__ = "tvm_ffi.core"  # the public path of the class

    name: str
    doc: str | None
    size: int
    alignment: int
    offset: int
    field_static_type_index: int
    frozen: bool
    metadata: dict[str, Any]
    getter: Callable[[Any], Any]
    setter: Callable[[Any, Any], None] | None
    ty: TypeSchema | None = None
    c_init: bool = True
    c_kw_only: bool = False
    c_has_default: bool = False
    c_default: Any = MISSING
    c_default_factory: Any = MISSING
    c_repr: bool = True
    c_compare: bool = True
    c_hash: bool = True
    c_structural_eq: str | None = None
    dataclass_field: Any = None

    def as_property(self, cls: type) -> FFIProperty:
        """Return a property of `cls` that reads and writes the field."""
        setter = setter_for_payloads(self)
        property_ = FFIProperty(self.getter, setter, self.frozen, None, self.doc)
        property_.__set_name__(cls, self.name)
        return property_

    def normalize_value(self, value: Any) -> Any:
        """Convert a payload to its enumeration member, if the field has an enumeration type.

        Raises
        ------
        TypeError
            If the enumeration has no member with this payload.
        """
        if self.ty is None or not self.takes_payloads:
            return value
        from .._binding.values import to_py_class_value

        return to_py_class_value(self.ty.convert(value))

    @property
    def takes_payloads(self) -> bool:
        """True if the field is an enumeration whose members have int or str payloads."""
        origin = "" if self.ty is None else self.ty.origin
        if "." not in origin or origin.startswith("ffi."):  # avoid the import of `conversion`
            return False
        from .conversion import takes_payloads

        return takes_payloads(origin)


@dataclass(eq=False)
class TypeMethod:
    """A method of a native type."""

    __module__ = "tvm_ffi.core"  # the public path of the class

    name: str
    doc: str | None
    func: Function
    metadata: dict[str, Any]
    is_static: bool

    def as_callable(self, cls: type) -> Any:
        """Return the method as a function or staticmethod that can be an attribute of `cls`."""
        function: Any = self.func
        function.__name__ = self.name
        function.__qualname__ = f"{cls.__qualname__}.{self.name}"
        function.__module__ = cls.__module__
        function.__doc__ = self.doc
        if self.has_signature:
            set_member_origin(function, MemberOrigin(self, cls, f"{cls.__name__}.{self.name}"))
        else:
            function.__signature__ = signature_of_metadata(self.metadata)
        return staticmethod(function) if self.is_static else function

    @property
    def has_signature(self) -> bool:
        """True if the metadata contain the names of the parameters."""
        return "signature" in self.metadata


class MemberOrigin:
    """Origin of a method or constructor whose metadata contain a signature.

    The first call reads the signature; see `tvm_ffi._binding.call.signature_lookup`.

    Parameters
    ----------
    method : TypeMethod
        The method.
    cls : type
        The class with the method.
    name : str
        Name of the function in error messages.
    """

    def __init__(self, method: TypeMethod, cls: type, name: str) -> None:
        self._method, self._cls, self.name = method, cls, name

    def metadata(self) -> str:
        """Return the metadata as JSON text."""
        return json.dumps(self._method.metadata)

    def doc(self) -> str | None:
        """Return the documentation of the method."""
        return self._method.doc

    def library(self) -> str:
        """Return the name of the class for warnings."""
        return f"class {self._cls.__qualname__}"

    def reduce(self) -> tuple[Any, ...]:
        """Return the pickle data of the method."""
        return getattr, (self._cls, self._method.name)


@dataclass(eq=False)
class TypeInfo:
    """A native type: index, key, ancestors, and its own (not inherited) fields and methods."""

    __module__ = "tvm_ffi.core"  # the public path of the class

    type_cls: type | None
    type_index: int
    type_key: str
    type_ancestors: list[int]  # type indices, the root type first
    fields: list[TypeField]
    methods: list[TypeMethod]
    parent_type_info: TypeInfo | None
    total_size: int = 0  # size of an object in bytes; 0 if the type has not registered the size
    doc: str | None = None

    def all_fields(self) -> list[TypeField]:
        """Return the fields of all ancestors, the root type first, then the fields of this type."""
        inherited = self.parent_type_info.all_fields() if self.parent_type_info else []
        return inherited + (self.fields or [])


def _type_field(facts: dict[str, Any]) -> TypeField:
    default, has_factory = facts.pop("default"), facts.pop("has_factory")
    if facts["c_has_default"]:
        facts["c_default_factory" if has_factory else "c_default"] = default
    facts["metadata"] = _parsed_metadata(facts["metadata"])
    return TypeField(**facts, ty=declared_type(facts["metadata"], TypeSchema))


def _parsed_metadata(text: str) -> dict[str, Any]:
    return json.loads(text) if text else {}


# The `TypeInfo` of each type with a registered class, by type index.  For other types,
# `type_info_of` creates a new `TypeInfo` on each call.
_info_by_index: dict[int, TypeInfo] = {}


def type_info_of(index: int) -> TypeInfo:
    """Return the registered `TypeInfo` of a type, or a new `TypeInfo` without a class."""
    if index in _info_by_index:
        return _info_by_index[index]
    facts = _read_registration(index)
    ancestors = facts["type_ancestors"]
    parent = _info_with_class(ancestors[-1]) if ancestors else None
    return TypeInfo(type_cls=None, parent_type_info=parent, **facts)


def _info_with_class(index: int) -> TypeInfo:
    """Return `type_info_of`, with the class of a built-in type that was not used before."""
    info = type_info_of(index)
    if info.type_cls is None and info.type_key in CLASS_OF_KEY:
        return CLASS_OF_KEY[info.type_key].__tvm_ffi_type_info__  # type: ignore[no-any-return]
    return info


def _read_registration(index: int) -> dict[str, Any]:
    facts = type_metadata(index)
    facts["fields"] = [_type_field(entry) for entry in facts["fields"]]
    for entry in facts["methods"]:
        entry["metadata"] = _parsed_metadata(entry["metadata"])
    facts["methods"] = [TypeMethod(**entry) for entry in facts["methods"]]
    _forget_names_of_overloads(facts["methods"])
    return facts


def _forget_names_of_overloads(methods: list[TypeMethod]) -> None:
    """Remove the signatures of overloads, because one function executes all overloads of a name."""
    counts = Counter(method.name for method in methods)
    for method in methods:
        if counts[method.name] > 1:
            method.metadata.pop("signature", None)


def registered_info(index: int) -> TypeInfo | None:
    """Return the `TypeInfo` of a type; None if no class is registered for the type."""
    return _info_by_index.get(index)


# ---- Registration of classes -----------------------------------------------------------------


def register_object_by_index(type_index: int, type_cls: type) -> TypeInfo:
    """Register a class for a native type, and add the fields and methods of the type to it.

    Parameters
    ----------
    type_index : int
        Index of the native type.
    type_cls : type
        A class that derives from `CObject`, whose own attributes are not replaced; or a class that
        derives from `PyNativeObject`, whose method ``__from_tvm_ffi_object__`` converts objects.

    Raises
    ------
    TypeError
        If `type_cls` does not derive from `CObject`, or derives from a class such as `Array` whose
        methods read object memory, and objects of this type have another layout.
    ValueError
        If a class with a smaller native layout is already registered for the type.
    """
    if not (isinstance(type_cls, type) and issubclass(type_cls, (CObject, PyNativeObject))):
        raise TypeError(f"{type_cls!r} must be a class that derives from Object")
    # A module of this package may register a class for the type when the module is imported.
    # Import the module now, so that the module does not replace `type_cls` later.
    load_late_class(type_index)
    previous = _info_by_index.pop(type_index, None)
    try:
        info = _register_class(type_info_of(type_index), type_cls)
    except BaseException:
        if previous is not None:
            _info_by_index[type_index] = previous
        raise
    if previous is not None:
        info.parent_type_info = previous.parent_type_info
    if issubclass(type_cls, CObject):  # a PyNativeObject has no fields
        _add_members(type_cls, info)
    return info


def as_object_class(cls: Any) -> Any:
    """Return a class with the body of `cls` that derives from `Object`; `cls` itself if it does.

    Raise TypeError if no class can derive from `Object` and from the bases of `cls`.
    """
    is_written_in_python = isinstance(cls, type) and cls.__flags__ & _IS_HEAP_TYPE
    if not is_written_in_python or issubclass(cls, (CObject, PyNativeObject)):
        return cls
    body = {
        name: value
        for name, value in vars(cls).items()
        if not isinstance(value, (GetSetDescriptorType, MemberDescriptorType))
    }
    bases = tuple(base for base in cls.__bases__ if base is not object)
    try:
        made: Any = type(Object)(  # type: ignore[misc]  # mypy takes it for `type`
            cls.__name__, (*bases, Object), {**body, "__qualname__": cls.__qualname__}
        )
    except TypeError as error:
        raise TypeError(f"{cls!r} must be a class that derives from Object: {error}") from None
    for value in body.values():
        _replace_class_cell(value, cls, made)
    return made


_IS_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE


def _replace_class_cell(member: Any, old: type, new: type) -> None:
    """Let ``super()`` in a method of a copied class body refer to the new class."""
    functions = (getattr(member, name, None) for name in ("__func__", "fget", "fset", "fdel"))
    for function in (member, *functions):
        names = getattr(getattr(function, "__code__", None), "co_freevars", ())
        for name, cell in zip(names, getattr(function, "__closure__", None) or ()):
            if name == "__class__" and cell.cell_contents is old:
                cell.cell_contents = new


def _register_class(info: TypeInfo, cls: type) -> TypeInfo:
    info.type_cls = cls
    register_class(info.type_index, cls)
    _info_by_index[info.type_index] = info
    cls.__tvm_ffi_type_info__ = info  # type: ignore[attr-defined]
    return info


def _add_members(cls: type, info: TypeInfo) -> None:
    for entry in info.fields:
        if entry.name not in vars(cls):
            setattr(cls, entry.name, entry.as_property(cls))
    for method in info.methods:
        if not hasattr(cls, method.name):
            setattr(cls, method.name, method.as_callable(cls))
    if info.doc and cls.__doc__ is None:
        cls.__doc__ = info.doc


# ---- Classes that define native types in Python --------------------------------------------------


def register_class_before_fields(index: int, cls: type) -> TypeInfo:
    """Register a class for a type whose fields are not registered yet.

    The attribute `fields` of the result is None.
    """
    info = _register_class(type_info_of(index), cls)
    info.fields = None  # type: ignore[assignment]  # required by the package contract
    return info


def add_registered_fields(info: TypeInfo) -> None:
    """Add the fields and methods that were registered after `register_class_before_fields`.

    They are added to the `TypeInfo` and to its class.
    """
    facts = _read_registration(info.type_index)
    info.fields, info.methods = facts["fields"], facts["methods"]
    info.total_size, info.doc = facts["total_size"], facts["doc"]
    assert info.type_cls is not None
    _add_members(info.type_cls, info)


def unregister_class(info: TypeInfo) -> None:
    """Undo `register_class_before_fields`; afterwards the type has no registered class."""
    _info_by_index.pop(info.type_index, None)
    remove_class(info.type_index)
    if info.type_cls is not None and "__tvm_ffi_type_info__" in vars(info.type_cls):
        del info.type_cls.__tvm_ffi_type_info__  # type: ignore[attr-defined]


def freeze_fields(info: TypeInfo) -> None:
    """Make all fields of a type's class read-only, including inherited fields."""
    cls: Any = info.type_cls
    for entry in info.fields:
        entry.frozen = True
    for entry in info.all_fields():
        if isinstance(getattr(cls, entry.name, None), FFIProperty):
            setattr(cls, entry.name, replace(entry, frozen=True).as_property(cls))


def add_constructor(info: TypeInfo, init: bool) -> None:
    """Add ``__ffi_init__`` to the class of a type, and also ``__init__`` if `init` is true."""
    cls: Any = info.type_cls
    construct = _find_constructor(info)
    if construct is not None:
        keywords = _keyword_convention(info, construct)
        if keywords == "marker":
            construct = constructor_for_payloads(
                construct, constructor_parameters(info.all_fields()), KWARGS
            )
        constructor = Constructor(construct, cls, info, KWARGS, MISSING, keywords=keywords)
        cls.__ffi_init__ = _as_init_method(constructor, info)
    if init and "__init__" not in vars(cls):
        cls.__init__ = refuse_construction if construct is None else cls.__ffi_init__


def add_py_class_constructor(
    info: TypeInfo,
    init: bool,
    after: Callable[[Any], None] | None,
    holders: tuple[Any, ...] | None,
) -> None:
    """Add constructor methods to a Python class that defines a native type.

    ``__ffi_init__`` is always added, ``__init__`` only if `init` is true.

    Parameters
    ----------
    info : TypeInfo
        The native type and its class.
    init : bool
        Whether to add ``__init__``.  It does nothing for an object that the ``__init__`` of a
        derived class has created.
    after : callable, optional
        Called by ``__init__`` with the new object (``__post_init__``).
    holders : tuple of FieldGetter, optional
        Getters of the fields that may contain Python objects.
    """
    cls: Any = info.type_cls
    construct: Any = _find_constructor(info)
    # Keep the GIL: the constructor only stores field values, which takes little time.
    construct.release_gil = False
    facts = (construct, cls, info, KWARGS, MISSING)
    cls.__ffi_init__ = _as_init_method(Constructor(*facts, reference_fields=holders), info)
    if init:
        cls.__init__ = _as_init_method(
            Constructor(*facts, after, keeps_constructed=True, reference_fields=holders), info
        )


def _find_constructor(info: TypeInfo) -> Function | None:
    """Return the native constructor of a type; None if the type has none.

    It is the type attribute ``__ffi_init__``.  Libraries compiled with headers of early ABI levels
    register a method of this name instead.
    """
    construct: Function | None = lookup_type_attr(info.type_index, "__ffi_init__")
    if construct is None:
        declared = (method.func for method in info.methods if method.name == "__ffi_init__")
        construct = next(declared, None)
    if construct is not None and getattr(construct, "__name__", None) is None:
        construct.__name__ = getattr(
            info.type_cls, "__name__", info.type_key
        )  # messages of errors contain the name
    return construct


def _keyword_convention(info: TypeInfo, construct: Function) -> str:
    """Return how a native constructor receives keyword arguments; see `Constructor`."""
    declared = _declared_constructors(info)
    if not declared or signature_of_metadata(declared[0].metadata) is None:
        return "marker"  # the automatic constructor, or one that reads packed arguments
    if not declared[0].has_signature:
        return "none"
    cls: Any = info.type_cls
    set_member_origin(construct, MemberOrigin(declared[0], cls, cls.__name__))
    return "signature"


def _declared_constructors(info: TypeInfo) -> list[TypeMethod]:
    return [method for method in info.methods if method.name == "__ffi_init__"]


def _as_init_method(constructor: Any, info: TypeInfo) -> Any:
    """Set the name, documentation and signature of a constructor; return it."""
    cls: Any = info.type_cls
    constructor.__name__ = "__init__"
    constructor.__qualname__ = f"{cls.__qualname__}.__init__"
    constructor.__module__ = cls.__module__
    declared = _declared_constructors(info)
    constructor.__doc__ = declared[0].doc if declared else None
    if not declared:
        constructor.__signature__ = constructor_signature(info.all_fields())
    elif not declared[0].has_signature:  # otherwise `Constructor` derives it when it is read
        constructor.__signature__ = _positional_signature(declared, info)
    return constructor


def _positional_signature(declared: list[TypeMethod], info: TypeInfo) -> Signature:
    """Return the signature of native constructors without parameter names.

    If there are as many parameters as fields, the parameters get the names of the fields.
    """
    native = signature_of_metadata(declared[0].metadata)
    if native is None or len(declared) > 1:
        return _ANY_ARGUMENTS
    parameters = list(native.parameters.values())
    fields = [entry.name for entry in info.all_fields() if entry.c_init]
    are_names = all(_is_parameter_name(name) and name != "self" for name in fields)
    if len(fields) == len(parameters) and are_names:
        parameters = [parameter.replace(name=name) for parameter, name in zip(parameters, fields)]
    return Signature([Parameter("self", Parameter.POSITIONAL_ONLY), *parameters])


def _is_parameter_name(name: str) -> bool:
    return name.isidentifier() and not iskeyword(name)


# Signature of native constructors with unknown parameters.
_ANY_ARGUMENTS = Signature(
    [
        Parameter("self", Parameter.POSITIONAL_OR_KEYWORD),
        Parameter("args", Parameter.VAR_POSITIONAL),
        Parameter("kwargs", Parameter.VAR_KEYWORD),
    ]
)


def constructor_signature(fields: list[Any]) -> Signature:
    """Return the signature of a constructor that has a parameter for each field of a type."""
    entries = constructor_parameters(fields)
    if not all(_is_parameter_name(entry.name) for entry in entries):
        return _ANY_ARGUMENTS  # a field name cannot be a parameter name
    receiver = "__self" if any(entry.name == "self" for entry in entries) else "self"
    parameters = [Parameter(receiver, Parameter.POSITIONAL_OR_KEYWORD)]
    for entry in entries:
        kind = Parameter.KEYWORD_ONLY if entry.c_kw_only else Parameter.POSITIONAL_OR_KEYWORD
        default = entry.c_default if entry.c_has_default else Parameter.empty
        parameters.append(Parameter(entry.name, kind, default=default))
    return Signature(parameters)


def constructor_parameters(fields: list[Any]) -> list[Any]:
    """Return the fields, and parameters without fields, of a constructor in order.

    Keyword-only parameters come last, and of each kind, parameters without defaults come first.
    """
    entries = [entry for entry in fields if entry.c_init]
    return sorted(entries, key=lambda entry: (entry.c_kw_only, entry.c_has_default))


def refuse_construction(self: Any, *args: Any, **kwargs: Any) -> None:
    """Replace ``__init__`` in classes whose objects only native code can create."""
    raise TypeError(
        f"`{type(self).__name__}` cannot be constructed directly. "
        "Define a custom __init__ or use a factory method."
    )


if sys.version_info >= (3, 10):
    # Evaluate the annotations here: `typing.get_type_hints` of a user looks their names up in the
    # public module of the class, which does not have all of them.
    for _class in (TypeField, TypeMethod, TypeInfo):
        _class.__annotations__ = get_type_hints(_class, globals())
