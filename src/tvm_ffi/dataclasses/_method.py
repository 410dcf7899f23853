# SPDX-License-Identifier: Apache-2.0
"""Methods and hooks of a `py_class`: functions of the class body that native code calls."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from .._binding.call import convert_func
from .._binding.types import lookup_type_attr
from .._types.schema import TypeSchema
from ._annotations import Names, evaluate, own_annotations
from ._field_declarations import owners_of

if TYPE_CHECKING:
    from .._types.type_info import TypeInfo
    from ..core import Function

_MARK = "__ffi_is_method__"
# Names of hooks.  ORDER hooks: same order as in docs/guides/python_types.md.
_HOOKS = (
    "__ffi_repr__",
    "__ffi_hash__",
    "__ffi_eq__",
    "__ffi_compare__",
    "__any_hash__",
    "__any_equal__",
    "__s_equal__",
    "__s_hash__",
    "__s_visit__",
    "__s_mutate__",
    "__s_maybe_inplace_mutate__",
    "__data_to_json__",
    "__data_from_json__",
    "__ffi_convert__",
    "__ffi_convert_type_schema__",
)
_INHERITED = (
    "__s_equal__",
    "__s_hash__",
    "__s_visit__",
    "__data_to_json__",
    "__data_from_json__",
)


def method(fn: Any) -> Any:
    """Register a function of a `py_class` body as a method that native code can call.

    Parameters
    ----------
    fn : function or staticmethod
        The function to register; ``@staticmethod`` may precede or follow this decorator.

    Returns
    -------
    function or staticmethod
        `fn` itself.

    Raises
    ------
    TypeError
        If `fn` is a classmethod or not callable.

    Examples
    --------
    >>> from tvm_ffi.dataclasses import py_class
    >>> @py_class("doc.method.Account")
    ... class Account(tvm_ffi.Object):
    ...     balance: int
    ...
    ...     @tvm_ffi.method
    ...     def after(self, deposit: int) -> int:
    ...         return self.balance + deposit
    >>> Account.__tvm_ffi_type_info__.methods[0].func(Account(3), 4)
    7
    """
    if isinstance(fn, classmethod):
        raise TypeError(
            "@tvm_ffi.method: @classmethod is not supported, as native code has no class to pass; "
            "use @staticmethod or a plain method"
        )
    function = fn.__func__ if isinstance(fn, staticmethod) else fn
    if not callable(function):
        raise TypeError(f"@tvm_ffi.method: expected a callable, got {type(fn).__name__}")
    setattr(function, _MARK, True)
    return fn


class Method(NamedTuple):
    """A method of a class, with the data that its registration needs."""

    name: str
    doc: str
    schema: TypeSchema
    is_static: bool
    function: Function


def methods_of(cls: type, find_class: Callable[[str, str], type | None]) -> list[Method]:
    """Return the methods of a class and of its mixins that the decorator `method` has marked."""
    members = _members(cls)
    found = []
    for name, member in members.items():
        is_wrapped = isinstance(member, (staticmethod, classmethod))
        function = member.__func__ if is_wrapped else member
        if getattr(function, _MARK, False) is not True or isinstance(function, type):
            continue
        if isinstance(member, classmethod):
            raise _refused_classmethod(cls, name)
        is_static = isinstance(member, staticmethod)
        schema = _schema_of(cls, function, is_static, find_class)
        doc = getattr(function, "__doc__", None) or ""
        found.append(Method(name, doc, schema, is_static, convert_func(function)))
    return found


def _refused_classmethod(cls: type, name: str) -> TypeError:
    return TypeError(
        f"@py_class({cls.__name__!r}): {name!r} is a @classmethod, but native code has no class to "
        "pass; use @staticmethod or a plain method"
    )


def _members(cls: type) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for owner in reversed(owners_of(cls)):
        members.update(vars(owner))
    return members


def _schema_of(
    cls: type, function: Any, is_static: bool, find_class: Callable[[str, str], type | None]
) -> TypeSchema:
    """Return the type of a method from its annotations; `Callable` if they have no native type."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
        annotations = own_annotations(function)
        names = Names(cls, find_class)
        allowed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        if any(parameter.kind not in allowed for parameter in parameters):
            return TypeSchema("Callable")

        def read(name: str) -> TypeSchema:
            annotation = evaluate(annotations.get(name, Any), names)
            return TypeSchema.from_annotation(annotation)

        params = [read(parameter.name) for parameter in parameters]
        if not is_static:
            params[0] = TypeSchema.from_annotation(cls)
        return TypeSchema(
            "Callable", named_args={"return": (read("return"),), "params": tuple(params)}
        )
    except Exception:  # an annotation is not a type that native code knows
        return TypeSchema("Callable")


def attributes_of(cls: type, info: TypeInfo) -> dict[str, Any]:
    """Return the type attributes of a class: the hooks that it defines, and inherited attributes.

    Raises
    ------
    TypeError
        If a hook is a classmethod.
    """
    members = _members(cls)
    extra_names = tuple(members.get("__ffi_type_attr_names__", ()))
    found = {}
    for name in (*_HOOKS, *extra_names):
        if name in members:
            found[name] = _attribute(cls, name, members[name])
    parent = info.parent_type_info
    for name in getattr(cls, "__ffi_inherit_type_attrs__", _INHERITED):
        if name not in found and parent is not None:
            inherited = lookup_type_attr(parent.type_index, name, True)
            if inherited is not None:
                found[name] = inherited
    return found


def _attribute(cls: type, name: str, member: Any) -> Any:
    if isinstance(member, classmethod):
        raise _refused_classmethod(cls, name)
    if isinstance(member, staticmethod):
        member = member.__func__
    if isinstance(member, TypeSchema):
        return member.to_json()
    return convert_func(member) if inspect.isroutine(member) else member
