# SPDX-License-Identifier: Apache-2.0
"""Registration of exception classes for native error kinds."""

from __future__ import annotations

from ._binding.object import ERROR_NAME_TO_TYPE, ERROR_TYPE_TO_NAME
from ._internal.lazy import TYPE_CHECKING, Any, late_attributes

if TYPE_CHECKING:
    from ._internal.traceback import TracebackManager

__all__ = ["TracebackManager", "register_error"]

__getattr__ = late_attributes(
    globals(), {"TracebackManager": "._internal.traceback:TracebackManager"}
)


def register_error(name_or_cls: str | type | None = None, cls: type | None = None) -> Any:
    """Register an exception class for a native error kind.

    Native errors of the kind are raised as the class, and exceptions of the class become native
    errors of the kind.

    Parameters
    ----------
    name_or_cls : str or type, optional
        The error kind; or the class, whose name is then the error kind.
    cls : type, optional
        The exception class.  If it is None, a decorator is returned.

    Returns
    -------
    type or callable
        The registered class, or a decorator that registers and returns a class.

    Notes
    -----
    An exception of an unregistered class has the error kind of its nearest registered base class.

    Examples
    --------
    >>> @register_error("ShapeMismatch")
    ... class ShapeMismatchError(ValueError):
    ...     pass
    """
    if isinstance(name_or_cls, type):
        return _register(name_or_cls.__name__, name_or_cls)
    if cls is not None:
        return _register(name_or_cls or cls.__name__, cls)
    return lambda decorated: _register(name_or_cls or decorated.__name__, decorated)


def _register(kind: str, cls: type) -> type:
    if not (isinstance(cls, type) and issubclass(cls, BaseException)):
        name = getattr(cls, "__name__", repr(cls))
        raise TypeError(f"{name} must be an exception class to represent error kind {kind!r}")
    ERROR_NAME_TO_TYPE[kind] = cls
    ERROR_TYPE_TO_NAME[cls] = kind
    return cls
