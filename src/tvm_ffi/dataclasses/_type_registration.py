# SPDX-License-Identifier: Apache-2.0
"""Registration of a Python class in the type table: fields, methods, attributes, constructor.

Entries of the type table cannot be removed, so all checks precede the first entry.  If a check
fails, another class with the same type key can use the type index.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable

from .._binding.call import convert_func
from .._binding.object import is_nonblocking_type, mark_nonblocking_type
from .._binding.types import (
    lookup_type_attr,
    register_field,
    register_metadata,
    register_method,
    register_type_attr,
)
from .._types.type_info import (
    add_py_class_constructor,
    add_registered_fields,
    freeze_fields,
    refuse_construction,
)
from ..registry import get_global_func
from ._collector_fields import track_python_fields
from ._field_setter import setter_of
from ._init_vars import init_parameters_of, init_with
from ._layout import end_of_fields, is_plain, layout_of, place_fields
from ._method import attributes_of, methods_of
from ._special_methods import add_special_methods
from .field import Field, has_default, has_factory

if TYPE_CHECKING:
    from .._types.type_info import TypeInfo
    from ._field_declarations import Declarations

_make_getter = get_global_func("ffi.MakeFieldGetter")
_register_services = get_global_func("ffi._PyClassRegisterTypeAttrColumns")

FindClass = Callable[[str, str], "type | None"]


@dataclass(frozen=True)
class Options:
    """The options of `py_class`, with the names of its parameters."""

    frozen: bool
    init: bool
    repr: bool
    eq: bool
    order: bool
    unsafe_hash: bool
    match_args: bool
    kw_only: bool
    structural_eq: str | None


def _is_plain(info: TypeInfo) -> bool:
    """Return True if releasing an object of the type runs no third-party code."""
    return info.type_key == "ffi.Object" or is_nonblocking_type(info.type_index)


def register_type(
    info: TypeInfo,
    options: Options,
    declared: Declarations,
    find_class: FindClass,
) -> None:
    """Register the fields, methods and attributes of a type, and finish its Python class.

    Parameters
    ----------
    info : TypeInfo
        The type, which has an index but no fields yet.
    options : Options
        Options of the class.
    declared : Declarations
        Fields and parameters that the class declares, without inherited declarations.
    find_class : callable
        Returns the registered class for a module and a name, or None if there is none.
    """
    cls: Any = info.type_cls
    fields = declared.fields
    _run_hooks(cls, info, fields)
    _check(cls, info, declared, options)
    attributes = attributes_of(cls, info)
    methods = methods_of(cls, find_class)
    setters = [setter_of(spec) for spec in fields]
    layouts = [layout_of(_schema(spec)) for spec in fields]
    assert info.parent_type_info is not None
    offsets, total_size = place_fields(layouts, end_of_fields(info.parent_type_info))
    registrations = [
        {
            "name": spec.name,
            "doc": spec.doc or "",
            "metadata": _metadata(_schema(spec).to_json()),
            "flags": _flags(spec, options),
            "layout": tuple(layout),
            "offset": offset,
            "getter": _make_getter(layout.static_type_index),
            "setter": setter,
            "default": _default(spec),
        }
        for spec, layout, offset, setter in zip(fields, layouts, offsets, setters)
    ]
    # All checks have passed.  The following calls change the type table.
    if _is_plain(info.parent_type_info) and all(map(is_plain, map(_schema, fields))):
        mark_nonblocking_type(info.type_index)
    register_metadata(info.type_index, cls.__doc__ or "", total_size, options.structural_eq)
    for registration in registrations:
        register_field(info.type_index, **registration)
    for entry in methods:
        metadata = _metadata(entry.schema.to_json())
        register_method(
            info.type_index, entry.name, entry.doc, metadata, entry.is_static, entry.function
        )
    for name, value in attributes.items():
        register_type_attr(info.type_index, name, value)
    _register_services(info.type_index, total_size)
    _complete_class(info, options, declared)


def _schema(spec: Field) -> Any:
    return spec._ty_schema


def _metadata(schema: dict[str, Any]) -> str:
    return json.dumps({"type_schema": json.dumps(schema)})


def _run_hooks(cls: type, info: TypeInfo, fields: list[Field]) -> None:
    """Call the hooks for resolved fields that the class defines or inherits."""
    members = {name: each for owner in reversed(cls.__mro__) for name, each in vars(owner).items()}
    for name, member in members.items():
        # The mark is set on the function, or on the staticmethod or classmethod around it.
        marked = (member, getattr(member, "__func__", None))
        if any(getattr(each, "__ffi_on_fields_resolved__", False) is True for each in marked):
            getattr(cls, name)(info, fields)


def _check(cls: type, info: TypeInfo, declared: Declarations, options: Options) -> None:
    inherited = {
        entry.name: owner.type_key for owner in _ancestors(info) for entry in owner.fields or []
    }
    for spec in declared.fields:
        if spec.extra_kwargs:
            names = ", ".join(sorted(spec.extra_kwargs))
            raise TypeError(f"{cls.__name__}.{spec.name}: unrecognized field options: {names}")
    own = [str(spec.name) for spec in declared.fields]
    for name in (*own, *(entry.name for entry in declared.init_vars)):
        if name in inherited and options.init and "__init__" not in vars(cls):
            raise TypeError(
                f"{cls.__name__}.{name}: base type `{inherited[name]}` already has "
                "a field with this name"
            )


def _ancestors(info: TypeInfo) -> list[TypeInfo]:
    found, parent = [], info.parent_type_info
    while parent is not None:
        found.append(parent)
        parent = parent.parent_type_info
    return found


def _default(spec: Field) -> Any:
    if has_factory(spec):
        assert spec.default_factory is not None
        return convert_func(spec.default_factory)
    return spec.default if has_default(spec) else None


_STRUCTURAL_FLAGS = {
    "ignore": "structural_ignore",
    "def": "structural_def_pattern",
    "def-pattern": "structural_def_pattern",
    "def-simple": "structural_def_simple",
}


def _flags(spec: Field, options: Options) -> list[str]:
    conditions = {
        "writable": not (spec.frozen or options.frozen),
        "has_default": has_default(spec),
        "has_factory": has_factory(spec),
        "repr_off": not spec.repr,
        "compare_off": not spec.compare,
        "hash_off": not spec.hash,
        "init_off": not spec.init,
        "kw_only": bool(spec.kw_only),
    }
    flags = [name for name, is_set in conditions.items() if is_set]
    if spec.structural_eq is not None:
        flags.append(_STRUCTURAL_FLAGS[spec.structural_eq])
    return flags


# ---- Completion of the Python class --------------------------------------------------------------


def _complete_class(
    info: TypeInfo,
    options: Options,
    declared: Declarations,
) -> None:
    cls: Any = info.type_cls
    fields, computed = declared.fields, declared.computed
    for spec in fields:
        # The class attribute is the field's default value, which the type table contains now.
        if spec.name in vars(cls):
            delattr(cls, str(spec.name))
    add_registered_fields(info)
    for entry, spec in zip(info.fields, fields):
        entry.dataclass_field = spec
        entry.c_structural_eq = spec.structural_eq
        entry.metadata = {"type_schema": _schema(spec).to_json()}
        if has_factory(spec):
            entry.c_default_factory = spec.default_factory
        elif has_default(spec):
            entry.c_default = spec.default
    for method in info.methods:
        method.metadata = {"type_schema": json.loads(method.metadata["type_schema"])}
    if options.frozen:
        freeze_fields(info)
    if computed:
        cls.__ffi_computed_fields__ = {**getattr(cls, "__ffi_computed_fields__", {}), **computed}
    if declared.init_vars or init_parameters_of(cls):
        _add_init_vars(cls, declared)
    _add_init(cls, info, options)
    add_special_methods(
        info,
        repr=options.repr,
        eq=options.eq,
        order=options.order,
        unsafe_hash=options.unsafe_hash,
        match_args=options.match_args,
    )


def _add_init(cls: Any, info: TypeInfo, options: Options) -> None:
    body = vars(cls).get("__init__")
    is_automatic = options.init and body is None
    finish = _finisher(cls)
    has_init_vars = is_automatic and bool(init_parameters_of(cls))
    after = None if has_init_vars else finish
    add_py_class_constructor(info, is_automatic, after, track_python_fields(info))
    if has_init_vars:
        cls.__init__ = init_with(cls, info, cls.__init__, finish)
    if body is not None:
        new: Any = lookup_type_attr(info.type_index, "__ffi_new__")
        new.release_gil = False
        cls.__ffi_new__ = staticmethod(new)
        cls.__init__ = _allocating(body, new)
    elif not options.init:
        cls.__init__ = refuse_construction


def _add_init_vars(cls: Any, declared: Declarations) -> None:
    """Set ``__ffi_init_vars__``, and the class attributes that are the default values."""
    names = {spec.name for spec in declared.fields} | {each.name for each in declared.init_vars}
    inherited = (entry for entry in init_parameters_of(cls) if entry.name not in names)
    cls.__ffi_init_vars__ = (*inherited, *declared.init_vars)
    for entry in declared.init_vars:
        if entry.c_has_default:
            setattr(cls, entry.name, entry.c_default)
        elif entry.name in vars(cls):  # a `field` without a default
            delattr(cls, entry.name)


def _finisher(cls: Any) -> Callable[..., None] | None:
    """Return the function to call after ``__init__`` has set all fields; None if not needed.

    It receives the object, and the values of parameters without fields for ``__post_init__``.
    """
    computed = [
        (_property_of(cls, name), compute)
        for name, compute in getattr(cls, "__ffi_computed_fields__", {}).items()
    ]
    has_post_init = hasattr(cls, "__post_init__")
    if not computed and not has_post_init:
        return None

    def finish(obj: Any, *values: Any) -> None:
        for property_, compute in computed:
            property_.set(obj, compute(obj))
        if has_post_init:
            obj.__post_init__(*values)

    return finish


def _property_of(cls: type, name: str) -> Any:
    """Return the property of a field from the class or the nearest base class."""
    return next(vars(owner)[name] for owner in cls.__mro__ if name in vars(owner))


def _allocating(body: Callable[..., None], new: Any) -> Callable[..., None]:
    """Return an ``__init__`` that allocates an object with zeroed fields, then calls `body`."""

    @functools.wraps(body)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        if self.__chandle__() == 0:
            self.__init_handle_by_constructor__(new)
        body(self, *args, **kwargs)

    return init
