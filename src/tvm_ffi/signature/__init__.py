# SPDX-License-Identifier: Apache-2.0
"""Function signatures: parameters, types, shapes, defaults, directions and results.

A `Signature` is parsed from text or JSON, or derived from Python annotations or the metadata of a
library. Checks, generated wrappers, stubs and adapters are derived from it. Parsing and printing
signatures does not need the native library.
"""

# `typing.get_type_hints` looks names in annotations of the classes up in this module.
from typing import Any  # noqa: F401

from .._schema.schema import Schema  # noqa: F401
from ._expression import Expression, Extent, evaluate  # noqa: F401
from ._parameter import EMPTY, Parameter, Result
from ._signature import Signature
from ._tensor_like import TensorLike
from ._types import ScalarType, TensorType, Type, ValueType  # noqa: F401

__all__ = [
    "EMPTY",
    "Expression",
    "Parameter",
    "Result",
    "ScalarType",
    "Signature",
    "TensorLike",
    "TensorType",
    "ValueType",
    "evaluate",
]

for _public in __all__:
    if isinstance(globals()[_public], type):
        globals()[_public].__module__ = __name__  # pickles and `help` contain this module name
