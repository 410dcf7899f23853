# SPDX-License-Identifier: Apache-2.0
"""Signatures: one description of a function, from which everything else follows.

A `Signature` has names, types, shapes, defaults and directions.  It is written as text or as JSON,
made from annotations or from what a library says about itself, and turned into what other tools
want.  Nothing here needs the native library.
"""

from ._expression import Expression, evaluate
from ._parameter import EMPTY, Parameter, Result
from ._signature import Signature
from ._tensor_like import TensorLike
from ._types import ScalarType, TensorType, ValueType

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
        globals()[_public].__module__ = __name__  # pickles and `help` name this place
