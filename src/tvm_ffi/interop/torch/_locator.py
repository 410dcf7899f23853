# SPDX-License-Identifier: Apache-2.0
"""Where a process finds a function, as far as programs that travel can say it.

What pickles say is asked for: a module and the name in it, a name in the table of global functions,
or a Python callable.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from ..._binding.call import Function, convert_func, function_of_class, named_function
from ...module import Module
from ...module._signatures import display_name
from ...registry import get_global_func_metadata
from ...signature import Signature

__all__ = ["Place", "place_of"]


@dataclass(frozen=True)
class Place:
    """Where a function was found.

    Parameters
    ----------
    name : str
        The function's name there.
    library : str
        File of the module; what messages call a module that is none; empty for other functions.
    is_global : bool
        Whether `name` is one in the table of global functions.
    identity : hashable
        The same for all wrappers of one function, as long as one of them is there.
    home : object
        The module, global function or Python callable.
    """

    name: str
    library: str
    is_global: bool
    identity: Hashable
    home: Any

    @property
    def stem(self) -> str:
        """What names of operators begin with."""
        if self.library:
            return PurePath(self.library).name.partition(".")[0]
        return "global" if self.is_global else "python"

    def signature(self) -> Signature | None:
        """Return the function's signature; None where nobody knows it."""
        if isinstance(self.home, Module):
            return self.home.get_function_signature(self.name, True)
        if self.is_global:
            return Signature.from_metadata(get_global_func_metadata(self.name), self.name)
        try:
            return Signature.from_function(self.home)
        except (TypeError, ValueError):
            return None


def place_of(function: Function) -> Place | None:
    """Return where a function was found; None where nobody knows."""
    try:
        make, args = function.__reduce__()
        if make is function_of_class:  # of a class derived from Function
            make, args = args[1].__reduce__()
    except TypeError:
        return None
    if make is named_function:
        return Place(args[0], "", True, (args[0], _address(function)), function)
    if make is convert_func:
        name = getattr(args[0], "__name__", "")
        return Place(name, "", False, _address(function), args[0])
    module, name, _ = args
    return Place(name, display_name(module), False, (module.__chandle__(), name), module)


def _address(function: Function) -> int:
    return function.__chandle__()
