# SPDX-License-Identifier: Apache-2.0
"""Proof that reflected fields cover every byte of a native type, so that a struct can mirror it.

An object consists of a header, the bytes of its ancestors, and the bytes that its type adds.  The
added bytes are proved if the fields, sorted by offset, follow each other without gaps other than
alignment padding:

    0        24                parent's end              total_size
    | header | ancestors' bytes | field | pad | field | pad |

A type is "complete" if it and all its ancestors are proved, and "opaque" otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Callable, Literal

from .object_info import NamedTypeSchema, ObjectInfo
from .text_file import Line, TextFile

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

OBJECT_HEADER_ALIGNMENT = 8  # the alignment of every native object, in bytes

OpaqueReason = Literal[
    "layout-unknown",
    "parent-opaque",
    "field-overlap",
    "uncovered-bytes",
    "unrenderable-field",
    "by-directive",
    "no-mirror",
]


@dataclass(frozen=True)
class ByteRange:
    """A range of bytes in an object.

    Parameters
    ----------
    start, end : int
        Offsets from the start of the object; `end` is exclusive.
    """

    start: int
    end: int

    def __str__(self) -> str:
        return f"[{self.start}, {self.end})"

    def to_json_obj(self) -> list[int]:
        """Return the start and end offsets as a list of two numbers."""
        return [self.start, self.end]


@dataclass(frozen=True)
class FieldBytes:
    """Offset, size and alignment of a field in an object, in bytes."""

    name: str
    offset: int
    size: int
    alignment: int

    @property
    def end(self) -> int:
        """Offset of the first byte after the field."""
        return self.offset + self.size

    def to_json_obj(self) -> dict[str, Any]:
        """Return a dict of the field's name, offset, size and alignment."""
        return asdict(self)


@dataclass
class Verdict:
    """Result of the layout proof for one type.

    Parameters
    ----------
    type_key : str
        Key of the type that was examined.
    verdict : str
        ``complete`` or ``opaque``.
    reason : str or None
        Reason why the type is opaque; None for a complete type.
    detail : str
        Explanation of the verdict in English.
    parent_type_key : str or None
        Key of the parent type; None for the root.
    ancestors : list of str
        Keys of all ancestors, the root first.
    total_size : int or None
        Size of an object in bytes; None if the type does not register a size.
    is_final : bool or None
        True if no type may derive from the type; None if the type does not register this property.
    alignment : int, optional
        Alignment of the object in bytes; None if the layout is unknown.
    own_bytes : ByteRange, optional
        Bytes that the type adds after those of its parent.
    fields : list of FieldBytes
        Fields without inherited fields, sorted by offset.
    uncovered, padding : list of ByteRange
        Gaps between fields.  Padding aligns the next field; the other gaps are uncovered, because
        a hidden field may be there.
    """

    type_key: str
    verdict: Literal["complete", "opaque"]
    reason: OpaqueReason | None
    detail: str
    parent_type_key: str | None
    ancestors: list[str]
    total_size: int | None
    is_final: bool | None
    alignment: int | None = None
    own_bytes: ByteRange | None = None
    fields: list[FieldBytes] = field(default_factory=list)
    uncovered: list[ByteRange] = field(default_factory=list)
    padding: list[ByteRange] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """True if the proof covers every byte of the object."""
        return self.verdict == "complete"

    def to_json_obj(self) -> dict[str, Any]:
        """Return the JSON object of the type in the layout report."""
        return {
            "verdict": self.verdict,
            "reason": self.reason,
            "detail": self.detail,
            "parent": self.parent_type_key,
            "ancestors": self.ancestors,
            "total_size": self.total_size,
            "is_final": self.is_final,
            "own_bytes": self.own_bytes.to_json_obj() if self.own_bytes else None,
            "fields": [entry.to_json_obj() for entry in self.fields],
            "uncovered": [gap.to_json_obj() for gap in self.uncovered],
            "padding": [gap.to_json_obj() for gap in self.padding],
        }

    def _refuse(self, reason: OpaqueReason, detail: str) -> None:
        """Set the verdict to "opaque" for a reason; an opaque verdict keeps its first reason."""
        if self.verdict == "complete":
            self.verdict, self.reason, self.detail = "opaque", reason, detail


def align_up(value: int, alignment: int) -> int:
    """Return the smallest multiple of `alignment` that is at least `value`."""
    return -(-value // alignment) * alignment


def classify(
    infos: Mapping[str, ObjectInfo],
    *,
    forced_opaque: AbstractSet[str] = frozenset(),
    unmirrored: AbstractSet[str] = frozenset(),
    field_renderable: Callable[[NamedTypeSchema], bool] | None = None,
) -> dict[str, Verdict]:
    """Return a dict with the `Verdict` of every type, by type key: layout complete or opaque.

    A layout is complete if the reflected fields cover every byte of the object.

    Parameters
    ----------
    infos : mapping from str to ObjectInfo
        The types by key, including all ancestors.
    forced_opaque : set of str
        Keys of types that a directive declares opaque.
    unmirrored : set of str
        Keys of types whose layout the target language's runtime keeps private.
    field_renderable : callable, optional
        Returns True if the target language has a type with the layout of a field; default: True
        for every field.

    Raises
    ------
    KeyError
        If `infos` does not contain an ancestor of a type.
    """
    verdicts: dict[str, Verdict] = {}
    for key, info in sorted(infos.items(), key=lambda pair: (len(pair[1].ancestors), pair[0])):
        for ancestor in info.ancestors:
            if ancestor not in infos:
                raise KeyError(f"Ancestor {ancestor!r} is not among the types to classify")
        verdict = _new_verdict(key, info)
        if key in unmirrored:
            verdict._refuse("no-mirror", "its layout is private to the target language's runtime")
        elif verdict.is_complete:
            _prove(verdict, info, verdicts, field_renderable)
        if key in forced_opaque:
            detail = "made opaque by a directive"
            verdict._refuse("by-directive", detail)
        verdicts[key] = verdict
    return {key: verdicts[key] for key in infos}


def _new_verdict(key: str, info: ObjectInfo) -> Verdict:
    parent, is_final, total_size = info.parent_type_key, info.is_final, info.total_size
    verdict = Verdict(key, "complete", None, "", parent, list(info.ancestors), total_size, is_final)
    if info.total_size is None:
        detail = "total_size is not registered"
        verdict._refuse("layout-unknown", detail)
        return verdict
    for entry in info.fields:
        if entry.offset is None or entry.size is None or not entry.alignment:
            detail = f"field {entry.name!r} has no registered layout"
            verdict._refuse("layout-unknown", detail)
        else:
            entry_bytes = FieldBytes(entry.name, entry.offset, entry.size, entry.alignment)
            verdict.fields.append(entry_bytes)
    verdict.fields.sort(key=lambda entry: (entry.offset, entry.end))
    return verdict


def _prove(
    verdict: Verdict,
    info: ObjectInfo,
    verdicts: Mapping[str, Verdict],
    field_renderable: Callable[[NamedTypeSchema], bool] | None,
) -> None:
    total_size = verdict.total_size
    assert total_size is not None
    if verdict.parent_type_key is None:
        verdict.detail = f"object header [0, {total_size}): owned by the C ABI"
        verdict.alignment = OBJECT_HEADER_ALIGNMENT
        verdict.own_bytes = ByteRange(total_size, total_size)
        return
    parent = verdicts[verdict.parent_type_key]
    if not parent.is_complete:
        name = verdict.parent_type_key
        verdict._refuse("parent-opaque", f"parent {name!r} is opaque ({parent.reason})")
        return
    assert parent.total_size is not None
    assert parent.alignment is not None
    alignments = (entry.alignment for entry in verdict.fields)
    verdict.alignment = max([parent.alignment, *alignments])
    verdict.own_bytes = ByteRange(parent.total_size, total_size)
    _prove_own_bytes(verdict, verdict.own_bytes, verdict.alignment)
    for entry in info.fields:
        if field_renderable is not None and not field_renderable(entry):
            detail = f"field {entry.name!r} ({entry.output_repr()}) has no native mirror"
            verdict._refuse("unrenderable-field", detail)
    if verdict.is_complete:
        gaps = ", ".join(map(str, verdict.padding))
        padded = f" (alignment padding {gaps})" if gaps else ""
        verdict.detail = f"reflected fields fill {verdict.own_bytes} exactly{padded}"


def _prove_own_bytes(verdict: Verdict, own_bytes: ByteRange, alignment: int) -> None:
    """Check a type's fields in order of offset; record each gap before a field in the verdict."""
    reached = own_bytes.start
    for entry in verdict.fields:
        where = f"{entry.name!r} at {ByteRange(entry.offset, entry.end)}"
        if entry.offset < reached:
            verdict._refuse("field-overlap", f"field {where} starts before byte {reached}")
        elif entry.offset % entry.alignment:
            verdict._refuse("layout-unknown", f"field {where} is not {entry.alignment}-aligned")
        elif entry.offset > reached:
            _classify_gap(verdict, ByteRange(reached, entry.offset), entry.alignment)
        reached = max(reached, entry.end)
    if reached > own_bytes.end:
        detail = f"fields extend to byte {reached}, past total_size {own_bytes.end}"
        verdict._refuse("field-overlap", detail)
    elif reached < own_bytes.end:
        _classify_gap(verdict, ByteRange(reached, own_bytes.end), alignment)
    elif own_bytes.end % alignment:
        detail = f"total_size {own_bytes.end} is not a multiple of the alignment {alignment}"
        verdict._refuse("layout-unknown", detail)
    if verdict.uncovered:
        gaps = ", ".join(map(str, verdict.uncovered))
        detail = f"bytes {gaps} of {own_bytes} are not accounted for by reflected fields"
        verdict._refuse("uncovered-bytes", detail)


def _classify_gap(verdict: Verdict, gap: ByteRange, alignment: int) -> None:
    is_padding = align_up(gap.start, alignment) == gap.end
    (verdict.padding if is_padding else verdict.uncovered).append(gap)


def coverage_report(verdicts: Mapping[str, Verdict]) -> dict[str, Any]:
    """Return the layout report: a dict with the verdict of each type as a JSON object, by key."""
    return {key: verdicts[key].to_json_obj() for key in sorted(verdicts)}


def write_coverage_report(path: Path, verdicts: Mapping[str, Verdict]) -> None:
    """Write the layout report to a JSON file.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    text = json.dumps(coverage_report(verdicts), indent=2)
    TextFile(path).replace([Line(line, "\n") for line in text.splitlines()])
