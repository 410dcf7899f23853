# SPDX-License-Identifier: Apache-2.0
"""Signatures: one description of a function, from which everything else follows.

A `Signature` has names, types, shapes, defaults and directions.  It is written as text or as JSON,
made from annotations or from what a library says about itself, and turned into what other tools
want.  Nothing here needs the native library.
"""

from .expression import Expression
from .parameter import EMPTY, Parameter, Result
from .signature import Signature
from .types import ScalarType, TensorType, ValueType

__all__ = [
    "EMPTY",
    "Expression",
    "Parameter",
    "Result",
    "ScalarType",
    "Signature",
    "TensorType",
    "ValueType",
]
