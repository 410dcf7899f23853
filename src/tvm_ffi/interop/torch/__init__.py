# SPDX-License-Identifier: Apache-2.0
"""PyTorch adapter: functions in programs that torch traces, compiles, transforms and exports.

For functions with a signature, importing this module is enough: in a traced program, each call
becomes a call of a torch operator, whose schema and fake kernel are derived from the signature.
Eager calls do not change.  `register` creates operators of functions without a signature, and
operators with derivatives, batching rules or custom fake kernels.
"""

from ..._internal.public_name import set_public_module
from .._versions import load as _load

_load("torch", "2.13.0", "2.13.0")

from ._cpp import operators_source
from ._dispatcher_fallback import install_fallback
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

set_public_module(globals())
trace_functions()
install_fallback()
