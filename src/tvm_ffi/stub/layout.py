# SPDX-License-Identifier: Apache-2.0
"""Whether reflection accounts for every byte of a native type, so that a struct can mirror it.

A type is an object header, what its ancestors add, and its own bytes.  Those are proved when the
fields, in order of their offsets, follow each other with no other gaps than alignment needs:

    0        24                parent's end              total_size
    | header | ancestors' bytes | field | pad | field | pad |

"complete" means proved for the type and all its ancestors, "opaque" anything else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Literal

from ._text_file import Line, TextFile
from .utils import NamedTypeSchema, ObjectInfo

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

OBJECT_HEADER_ALIGNMENT = 8  # bytes

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
    """Bytes of an object, counted from its start; the end is not included."""

    start: int
    end: int

    def __str__(self) -> str:
        return f"[{self.start}, {self.end})"

    def to_json_obj(self) -> list[int]:
        """Return start and end."""
        return [self.start, self.end]


@dataclass(frozen=True)
class FieldBytes:
    """A field's place in the object, in bytes."""

    name: str
    offset: int
    size: int
    alignment: int

    @property
    def end(self) -> int:
        """The first byte behind the field."""
        return self.offset + self.size

    def to_json_obj(self) -> dict[str, Any]:
        """Return all facts by name."""
        return {
            "name": self.name,
            "offset": self.offset,
            "size": self.size,
            "alignment": self.alignment,
        }


@dataclass
class Verdict:
    """What is known about the layout of a type.

    Parameters
    ----------
    type_key : str
        The type.
    verdict : str
        ``complete`` or ``opaque``.
    reason : str or None
        Why it is opaque.
    detail : str
        The evidence, in words.
    parent_type_key : str or None
        The type above; None for the root.
    ancestors : list of str
        All types above, the root first.
    total_size : int or None
        Bytes of an object; None when not registered.
    is_final : bool or None
        Whether no type may derive from it; None when not registered.
    alignment : int, optional
        Of the whole object, in bytes; None when the layout could not be looked at.
    own_bytes : ByteRange, optional
        What the type adds to its parent.
    fields : list of FieldBytes
        The type's own fields by offset.
    uncovered, padding : list of ByteRange
        Bytes that belong to no field: unexplained ones, and those that alignment explains.
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
        """Whether every byte is accounted for."""
        return self.verdict == "complete"

    def to_json_obj(self) -> dict[str, Any]:
        """Return what the report says about the type."""
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
        """Make the verdict opaque unless it is so already: the first reason counts."""
        if self.verdict == "complete":
            self.verdict, self.reason, self.detail = "opaque", reason, detail


def align_up(value: int, alignment: int) -> int:
    """Return the next multiple of an alignment."""
    return -(-value // alignment) * alignment


def classify(
    infos: Mapping[str, ObjectInfo],
    *,
    forced_opaque: AbstractSet[str] = frozenset(),
    unmirrored: AbstractSet[str] = frozenset(),
    field_renderable: Callable[[NamedTypeSchema], bool] | None = None,
) -> dict[str, Verdict]:
    """Return the verdicts on types.

    Parameters
    ----------
    infos : mapping from str to ObjectInfo
        The types by key, all ancestors included.
    forced_opaque : set of str
        Types that are to be opaque in any case.
    unmirrored : set of str
        Types whose bytes the target's own runtime keeps to itself.
    field_renderable : callable, optional
        Whether the target has a type of the same layout for a field; default: always.

    Raises
    ------
    KeyError
        If an ancestor is missing.
    """
    verdicts: dict[str, Verdict] = {}
    for key, info in sorted(infos.items(), key=lambda entry: (len(entry[1].ancestors), entry[0])):
        for ancestor in info.ancestors:
            if ancestor not in infos:
                raise KeyError(f"Ancestor {ancestor!r} is not among the types to classify")
        verdict = _new_verdict(key, info)
        if key in unmirrored:
            verdict._refuse(
                "no-mirror", "its bytes are owned by the target's runtime and never mirrored"
            )
        elif verdict.is_complete:
            _look_at_layout(verdict, info, verdicts, field_renderable)
        if key in forced_opaque:
            detail = "vetoed by directive although the layout is reproducible"
            verdict._refuse("by-directive", detail)
        verdicts[key] = verdict
    return {key: verdicts[key] for key in infos}


def _new_verdict(key: str, info: ObjectInfo) -> Verdict:
    parent, is_final, total_size = info.parent_type_key, info.is_final, info.total_size
    verdict = Verdict(key, "complete", None, "", parent, list(info.ancestors), total_size, is_final)
    if info.total_size is None:
        detail = "no metadata of its own: total_size is unknown"
        verdict._refuse("layout-unknown", detail)
        return verdict
    for entry in info.fields:
        if entry.offset is None or entry.size is None or not entry.alignment:
            detail = f"field {entry.name!r} carries no native layout facts"
            verdict._refuse("layout-unknown", detail)
        else:
            place = FieldBytes(entry.name, entry.offset, entry.size, entry.alignment)
            verdict.fields.append(place)
    verdict.fields.sort(key=lambda place: (place.offset, place.end))
    return verdict


def _look_at_layout(
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
    alignments = (place.alignment for place in verdict.fields)
    verdict.alignment = max([parent.alignment, *alignments])
    verdict.own_bytes = ByteRange(parent.total_size, total_size)
    _account_for_bytes(verdict, verdict.own_bytes, verdict.alignment)
    for entry in info.fields:
        if field_renderable is not None and not field_renderable(entry):
            detail = f"field {entry.name!r} ({entry.output_repr()}) has no native mirror"
            verdict._refuse("unrenderable-field", detail)
    if verdict.is_complete:
        gaps = ", ".join(map(str, verdict.padding))
        padded = f" (alignment padding {gaps})" if gaps else ""
        verdict.detail = f"reflected fields fill {verdict.own_bytes} exactly{padded}"


def _account_for_bytes(verdict: Verdict, own_bytes: ByteRange, alignment: int) -> None:
    """Go through the own bytes from start to end, and sort those between the fields."""
    reached = own_bytes.start
    for place in verdict.fields:
        where = f"{place.name!r} at {ByteRange(place.offset, place.end)}"
        if place.offset < reached:
            verdict._refuse("field-overlap", f"field {where} starts before byte {reached}")
        elif place.offset % place.alignment:
            verdict._refuse("layout-unknown", f"field {where} is not {place.alignment}-aligned")
        elif place.offset > reached:
            _sort_gap(verdict, ByteRange(reached, place.offset), place.alignment)
        reached = max(reached, place.end)
    if reached > own_bytes.end:
        detail = f"fields extend to byte {reached}, past total_size {own_bytes.end}"
        verdict._refuse("field-overlap", detail)
    elif reached < own_bytes.end:
        _sort_gap(verdict, ByteRange(reached, own_bytes.end), alignment)
    elif own_bytes.end % alignment:
        detail = f"total_size {own_bytes.end} is no multiple of the alignment {alignment}"
        verdict._refuse("layout-unknown", detail)
    if verdict.uncovered:
        gaps = ", ".join(map(str, verdict.uncovered))
        detail = f"bytes {gaps} of {own_bytes} are not accounted for by reflected fields"
        verdict._refuse("uncovered-bytes", detail)


def _sort_gap(verdict: Verdict, gap: ByteRange, alignment: int) -> None:
    is_padding = align_up(gap.start, alignment) == gap.end
    (verdict.padding if is_padding else verdict.uncovered).append(gap)


def coverage_report(verdicts: Mapping[str, Verdict]) -> dict[str, Any]:
    """Return the verdicts as JSON objects, by type key."""
    return {key: verdicts[key].to_json_obj() for key in sorted(verdicts)}


def write_coverage_report(path: Path, verdicts: Mapping[str, Verdict]) -> None:
    """Write the verdicts as a JSON file; in one step.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    text = json.dumps(coverage_report(verdicts), indent=2)
    TextFile(path).replace([Line(line, "\n") for line in text.splitlines()])
