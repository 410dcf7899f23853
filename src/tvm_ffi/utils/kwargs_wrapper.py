# SPDX-License-Identifier: Apache-2.0
"""Keyword arguments: Python wrappers with named parameters for positional functions.

A wrapper is compiled from generated Python source, so that it is as fast as a hand-written
function.  Only parameter names and the literals None, True and False are inserted into the source,
after a check that the names are identifiers; other defaults and functions are globals of the
wrapper with reserved names.
"""

from __future__ import annotations

import functools
import inspect
import keyword
import unicodedata
from collections.abc import Iterable
from typing import Any, Callable

from .._types.type_info import MISSING
from .unpack_dataclass import unpack_dataclass_to_tuple

__all__ = ["MISSING", "make_kwargs_wrapper", "make_kwargs_wrapper_from_signature"]

_RESERVED = "__i_"  # prefix of the names of global variables in the generated wrapper
# Default values that are written as literals in the generated source.
_LITERAL_DEFAULTS = (None, True, False)


def make_kwargs_wrapper(
    target_func: Callable[..., Any],
    arg_names: list[str],
    arg_defaults: tuple[Any, ...] = (),
    kwonly_names: list[str] | None = None,
    kwonly_defaults: dict[str, Any] | None = None,
    prototype: Callable[..., Any] | None = None,
    map_dataclass_to_tuple: list[str] | None = None,
) -> Callable[..., Any]:
    """Return a function with named parameters that passes its arguments by position.

    Parameters
    ----------
    target_func : callable
        Function that is called with all arguments by position, the keyword-only arguments last.
    arg_names : list of str
        Names of the positional-or-keyword parameters.
    arg_defaults : tuple
        Defaults of the last parameters in `arg_names`.
    kwonly_names : list of str, optional
        Names of the keyword-only parameters.
    kwonly_defaults : dict, optional
        Defaults of keyword-only parameters, by name.
    prototype : callable, optional
        Function whose name, documentation and annotations the wrapper gets.
    map_dataclass_to_tuple : list of str, optional
        Parameters in which dataclasses are replaced by tuples, see `unpack_dataclass_to_tuple`.

    Returns
    -------
    callable
        The wrapper.  Its signature shows the defaults None, True and False, and ``MISSING`` instead
        of all other defaults.  Passing ``MISSING`` as an argument selects the default.

    Raises
    ------
    ValueError
        If a name is not an identifier, is a keyword, occurs twice or begins with ``__i_``, or if
        there is a default without a parameter.
    TypeError
        If an argument of this function has the wrong type.

    Examples
    --------
    >>> from tvm_ffi.utils.kwargs_wrapper import make_kwargs_wrapper
    >>> def target(*args):
    ...     return args
    >>> scale = make_kwargs_wrapper(target, ["x", "factor"], (2,), ["out"], {"out": None})
    >>> scale(10)
    (10, 2, None)
    >>> scale(factor=3, x=10, out="y")
    (10, 3, 'y')
    """
    names, kwonly = list(arg_names), list(kwonly_names or ())
    _check_functions(target_func, prototype)
    _check_names(names, "")
    _check_names(kwonly, "keyword-only ")
    both = {_normalized(name) for name in names} & {_normalized(name) for name in kwonly}
    if both:
        raise ValueError(f"Arguments cannot be both positional and keyword-only: {both}")
    defaults = _defaults(names, arg_defaults, kwonly, kwonly_defaults)
    wrapper = _compiled(target_func, names, kwonly, defaults, set(map_dataclass_to_tuple or ()))
    if prototype is not None:
        functools.update_wrapper(wrapper, prototype, updated=())
    return wrapper


def make_kwargs_wrapper_from_signature(
    target_func: Callable[..., Any],
    signature: inspect.Signature,
    prototype: Callable[..., Any] | None = None,
    exclude_arg_names: Iterable[str] | None = None,
    map_dataclass_to_tuple: list[str] | None = None,
) -> Callable[..., Any]:
    """Return a function with a given signature that passes its arguments by position.

    Parameters
    ----------
    target_func : callable
        Function that is called with all arguments by position, the keyword-only arguments last.
    signature : inspect.Signature
        Signature of the wrapper.  Its positional-only parameters become positional-or-keyword.
    prototype : callable, optional
        Function whose name, documentation and annotations the wrapper gets.
    exclude_arg_names : iterable of str, optional
        Names of parameters that the wrapper omits.
    map_dataclass_to_tuple : list of str, optional
        Parameters in which dataclasses are replaced by tuples, see `unpack_dataclass_to_tuple`.

    Raises
    ------
    ValueError
        If the signature has ``*args`` or ``**kwargs``, or as in `make_kwargs_wrapper`.
    """
    excluded = set(exclude_arg_names or ())
    names: list[str] = []
    kwonly: list[str] = []
    defaults: list[Any] = []
    kwonly_defaults: dict[str, Any] = {}
    for parameter in signature.parameters.values():
        name, has_default = parameter.name, parameter.default is not inspect.Parameter.empty
        if name in excluded:
            continue
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            raise ValueError("*args not supported in wrapper generation")
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            raise ValueError("**kwargs not supported in wrapper generation")
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            kwonly.append(name)
            if has_default:
                kwonly_defaults[name] = parameter.default
        else:
            names.append(name)
            if has_default:
                defaults.append(parameter.default)
    return make_kwargs_wrapper(
        target_func,
        names,
        tuple(defaults),
        kwonly,
        kwonly_defaults,
        prototype,
        map_dataclass_to_tuple,
    )


# ---- checks of the arguments -----------------------------------------------------------------


def _check_functions(target_func: Any, prototype: Any) -> None:
    if not callable(target_func):
        raise TypeError(f"target_func must be callable, got {type(target_func).__name__}")
    if prototype is not None and not callable(prototype):
        raise TypeError(f"prototype must be callable, got {type(prototype).__name__}")


def _check_names(names: list[Any], kind: str) -> None:
    label = f"{kind}argument name"
    for name in names:
        if not isinstance(name, str):
            raise TypeError(
                f"{label.capitalize()} must be a string, got {type(name).__name__}: {name!r}"
            )
        if keyword.iskeyword(name) or name == "__debug__":
            raise ValueError(
                f"Invalid {label}: {name!r} is a Python keyword and cannot be used as a "
                "parameter name"
            )
        if not name.isidentifier():
            raise ValueError(f"Invalid {label}: {name!r} is not a valid Python identifier")
        if name.startswith(_RESERVED):
            raise ValueError(f"Invalid {label}: {name!r}; names that begin with __i_ are reserved")
    if len({_normalized(name) for name in names}) != len(names):
        raise ValueError(f"Duplicate {label}s found in: {names}")


def _normalized(name: str) -> str:
    """Return the name in NFKC form, as Python normalizes identifiers."""
    return unicodedata.normalize("NFKC", name)


def _defaults(
    names: list[str], arg_defaults: Any, kwonly: list[str], kwonly_defaults: Any
) -> dict[str, Any]:
    """Return the defaults of all parameters, by parameter name."""
    if not isinstance(arg_defaults, tuple):
        raise TypeError(f"arg_defaults must be a tuple, got {type(arg_defaults).__name__}")
    if len(arg_defaults) > len(names):
        raise ValueError(
            f"arg_defaults has {len(arg_defaults)} values but only {len(names)} "
            "positional arguments"
        )
    if not isinstance(kwonly_defaults or {}, dict):
        raise TypeError(f"kwonly_defaults must be a dict, got {type(kwonly_defaults).__name__}")
    for name in kwonly_defaults or ():
        if name not in kwonly:
            raise ValueError(
                f"Default provided for '{name}' which is not in kwonly_names: {kwonly}"
            )
    first = len(names) - len(arg_defaults)
    return {**dict(zip(names[first:], arg_defaults)), **(kwonly_defaults or {})}


# ---- generated source ------------------------------------------------------------------------


def _compiled(
    target_func: Callable[..., Any],
    names: list[str],
    kwonly: list[str],
    defaults: dict[str, Any],
    unpacked: set[str],
) -> Callable[..., Any]:
    namespace: dict[str, Any] = {
        "__name__": __name__,
        f"{_RESERVED}target": target_func,
        f"{_RESERVED}missing": MISSING,
        f"{_RESERVED}unpack": unpack_dataclass_to_tuple,
    }
    parameters, arguments = [], []
    for i, name in enumerate([*names, *kwonly]):
        if i == len(names):
            parameters.append("*")
        argument = name
        if name not in defaults:
            parameters.append(name)
        elif any(defaults[name] is literal for literal in _LITERAL_DEFAULTS):
            parameters.append(f"{name}={defaults[name]!r}")
        else:
            namespace[f"{_RESERVED}default_{i}"] = defaults[name]
            parameters.append(f"{name}={_RESERVED}missing")
            argument = f"{_RESERVED}default_{i} if {name} is {_RESERVED}missing else {name}"
        arguments.append(f"{_RESERVED}unpack({argument})" if name in unpacked else argument)
    text = (
        f"def wrapper({', '.join(parameters)}):\n"
        f"    return {_RESERVED}target({', '.join(arguments)})\n"
    )
    exec(text, namespace)
    # Remove the wrapper from its globals, because both would form a reference cycle.
    wrapper: Callable[..., Any] = namespace.pop("wrapper")
    return wrapper
