# SPDX-License-Identifier: Apache-2.0
"""Element types that both XLA and DLPack support, by their numbers in XLA.

``runtime/xla/xla_values.c`` has the same table.
"""

from __future__ import annotations

__all__ = ["PACKED", "WHOLE_BYTES", "is_known"]

WHOLE_BYTES = {
    1: "bool", 2: "int8", 3: "int16", 4: "int32", 5: "int64",
    6: "uint8", 7: "uint16", 8: "uint32", 9: "uint64",
    10: "float16", 11: "float32", 12: "float64", 15: "complex64", 16: "bfloat16",
    18: "complex128", 19: "float8_e5m2", 20: "float8_e4m3fn", 23: "float8_e4m3b11fnuz",
    24: "float8_e5m2fnuz", 25: "float8_e4m3fnuz", 28: "float8_e4m3", 29: "float8_e3m4",
    33: "float8_e8m0fnu",
}  # fmt: skip
# Types smaller than a byte: a byte contains several elements, the first in the lowest bits.
PACKED = {21: "int4", 22: "uint4", 26: "int2", 27: "uint2", 32: "float4_e2m1fn"}

_NAMES = frozenset((*WHOLE_BYTES.values(), *PACKED.values()))


def is_known(dtype: object) -> bool:
    """Return True for a NumPy or JAX dtype that DLPack supports."""
    return str(dtype) in _NAMES
