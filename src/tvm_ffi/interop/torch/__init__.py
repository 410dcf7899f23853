# SPDX-License-Identifier: Apache-2.0
"""PyTorch: functions in programs that torch traces, compiles, transforms and exports.

Importing this module is enough for functions with a signature: where a program is traced, a call
becomes one operator, whose schema, marks of what is written and stand-in for tracing are made from
the signature.  Calls of programs that nobody traces are as they are without this module.
`register` makes operators of all other functions, and those with derivatives or rules of their own.
"""

from .._versions import load as _load

_load("torch", "2.13.0", "2.13.0")

from ._cpp import operators_source
from ._dispatcher_fallback import take_refused_calls
from ._operators import UntraceableError, operator_of
from ._program import MissingFunctionError, load, save
from ._register import register
from ._tracing import trace_functions

__all__ = [
    "MissingFunctionError",
    "UntraceableError",
    "load",
    "operator_of",
    "operators_source",
    "register",
    "save",
]

trace_functions()
take_refused_calls()
