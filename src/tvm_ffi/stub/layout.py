# SPDX-License-Identifier: Apache-2.0
"""Layout proof: reflected fields cover every byte of a native type; and the layout report."""

from ._stubgen.layout_proof import (
    OBJECT_HEADER_ALIGNMENT,
    ByteRange,
    FieldBytes,
    Verdict,
    align_up,
    classify,
    coverage_report,
    write_coverage_report,
)

__all__ = [
    "OBJECT_HEADER_ALIGNMENT",
    "ByteRange",
    "FieldBytes",
    "Verdict",
    "align_up",
    "classify",
    "coverage_report",
    "write_coverage_report",
]

ByteRange.__module__ = FieldBytes.__module__ = Verdict.__module__ = __name__
