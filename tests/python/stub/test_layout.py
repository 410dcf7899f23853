# SPDX-License-Identifier: Apache-2.0
"""Layout checks of the stub generator: types that reflection describes completely."""

from __future__ import annotations

import json
import sys

import pytest

import tvm_ffi.testing  # noqa: F401  (registers types)
from tvm_ffi.core import TypeSchema
from tvm_ffi.stub import cli, lib_state
from tvm_ffi.stub.layout import ByteRange, FieldBytes, Verdict, align_up, classify
from tvm_ffi.stub.utils import NamedTypeSchema, ObjectInfo

UNACCOUNTED = "are not accounted for by reflected fields"
ROOT = ObjectInfo([], [], "ffi.Object", total_size=24)


def info(key: str, total_size: int | None, *fields, ancestors=("ffi.Object",)) -> ObjectInfo:
    """Return a type; offset, size and alignment in bytes describe each field."""
    return ObjectInfo(
        fields=[
            NamedTypeSchema(
                "abc"[i], TypeSchema("int"), offset=offset, size=size, alignment=alignment
            )
            for i, (offset, size, alignment) in enumerate(fields)
        ],
        methods=[],
        type_key=key,
        parent_type_key=ancestors[-1],
        ancestors=list(ancestors),
        total_size=total_size,
        is_final=False,
    )


def verdict_on(total_size: int | None, *fields, **options) -> Verdict:
    return classify({"ffi.Object": ROOT, "t": info("t", total_size, *fields)}, **options)["t"]


@pytest.mark.parametrize(
    ("total_size", "fields", "gaps"),
    [
        (24, [], ""),
        (32, [(24, 8, 8)], ""),
        (40, [(32, 8, 8), (24, 8, 8)], ""),
        (32, [(24, 4, 4)], " (alignment padding [28, 32))"),
        (40, [(24, 1, 1), (32, 8, 8)], " (alignment padding [25, 32))"),
        (48, [(32, 16, 16)], " (alignment padding [24, 32))"),
    ],
)
def test_complete_layouts(total_size, fields, gaps):
    verdict = verdict_on(total_size, *fields)
    assert (verdict.is_complete, verdict.reason) == (True, None)
    assert verdict.detail == f"reflected fields fill [24, {total_size}) exactly{gaps}"
    assert verdict.uncovered == []


@pytest.mark.parametrize(
    ("total_size", "fields", "reason", "detail"),
    [
        (None, [(24, 8, 8)], "layout-unknown", "total_size is not registered"),
        (
            32,
            [(None, 8, 8)],
            "layout-unknown",
            "field 'a' has no registered layout",
        ),
        (
            *(40, [(24, 8, 8), (28, 4, 4)], "field-overlap"),
            "field 'b' at [28, 32) starts before byte 32",
        ),
        (32, [(16, 8, 8)], "field-overlap", "field 'a' at [16, 24) starts before byte 24"),
        (28, [(24, 8, 8)], "field-overlap", "fields extend to byte 32, past total_size 28"),
        (
            *(40, [(24, 8, 8)], "uncovered-bytes"),
            f"bytes [32, 40) of [24, 40) {UNACCOUNTED}",
        ),
        (
            *(64, [(32, 8, 8), (48, 8, 8)], "uncovered-bytes"),
            f"bytes [24, 32), [40, 48), [56, 64) of [24, 64) {UNACCOUNTED}",
        ),
        (40, [(24, 16, 16)], "layout-unknown", "field 'a' at [24, 40) is not 16-aligned"),
        (28, [(24, 4, 4)], "layout-unknown", "total_size 28 is not a multiple of the alignment 8"),
    ],
)
def test_opaque_layouts(total_size, fields, reason, detail):
    verdict = verdict_on(total_size, *fields)
    assert (verdict.verdict, verdict.reason, verdict.detail) == ("opaque", reason, detail)


def test_derived_types():
    ancestors = ("ffi.Object", "p")
    infos = {
        "ffi.Object": ROOT,
        "t": info("t", 40, (32, 4, 4), ancestors=ancestors),
        "p": info("p", 32, (24, 4, 4)),
        "u": info("u", 40, (32, 8, 8), ancestors=("ffi.Object", "q")),
        "q": info("q", 32),
    }
    verdicts = classify(infos)
    assert list(verdicts) == list(infos)
    assert verdicts["t"].is_complete
    assert verdicts["t"].own_bytes == ByteRange(32, 40)
    assert verdicts["u"].reason == "parent-opaque"
    assert verdicts["u"].detail == "parent 'q' is opaque (uncovered-bytes)"
    assert verdicts["ffi.Object"].detail == "object header [0, 24): owned by the C ABI"


def test_options_of_the_caller():
    verdict = verdict_on(32, (24, 8, 8), field_renderable=lambda field: field.origin != "int")
    assert verdict.detail == "field 'a' (int) has no native mirror"
    assert verdict_on(32, (24, 8, 8), forced_opaque={"t"}).reason == "by-directive"
    assert verdict_on(40, (24, 8, 8), forced_opaque={"t"}).reason == "uncovered-bytes"
    assert verdict_on(32, (24, 8, 8), unmirrored={"t"}).reason == "no-mirror"
    with pytest.raises(KeyError, match="Ancestor 'ffi.Object' is not among the types"):
        classify({"t": info("t", 24)})


def test_helpers():
    assert [align_up(value, 8) for value in (0, 1, 8, 9)] == [0, 8, 8, 16]
    assert str(ByteRange(1, 2)) == "[1, 2)"
    assert FieldBytes("a", 24, 8, 8).end == 32


def test_types_of_the_runtime():
    keys = [key for keys in lib_state.collect_type_keys().values() for key in keys]
    verdicts = classify({key: lib_state.object_info_from_type_key(key) for key in keys})
    found = {
        key: (verdicts[key].reason, list(map(str, verdicts[key].padding)))
        for key in (
            *("testing.TestIntPair", "testing.TestCxxClassDerivedDerived", "ffi.Array"),
            *("testing.TestCxxClassHiddenField", "ffi.reflection.AccessPath"),
        )
    }
    assert found == {
        "testing.TestIntPair": (None, []),
        "testing.TestCxxClassDerivedDerived": (None, ["[73, 80)"]),
        "ffi.Array": ("layout-unknown", []),
        "testing.TestCxxClassHiddenField": ("uncovered-bytes", ["[44, 48)"]),
        "ffi.reflection.AccessPath": (None, ["[44, 48)"]),
    }


def test_the_report(tmp_path, monkeypatch):
    path = tmp_path / "coverage.json"
    monkeypatch.setattr(sys, "argv", ["tvm-ffi-stubgen", "--coverage-out", str(path)])
    assert cli.__main__() == 0
    report = json.loads(path.read_text(encoding="utf-8"))
    assert list(report) == sorted(report)
    assert report["testing.TestCxxClassBase"] == {
        "verdict": "complete",
        "reason": None,
        "detail": "reflected fields fill [24, 40) exactly (alignment padding [36, 40))",
        "parent": "ffi.Object",
        "ancestors": ["ffi.Object"],
        "total_size": 40,
        "is_final": False,
        "own_bytes": [24, 40],
        "fields": [
            {"name": "v_i64", "offset": 24, "size": 8, "alignment": 8},
            {"name": "v_i32", "offset": 32, "size": 4, "alignment": 4},
        ],
        "uncovered": [],
        "padding": [[36, 40]],
    }


def test_a_report_that_cannot_be_written(tmp_path, monkeypatch, capsys):
    path = tmp_path / "file"
    path.touch()
    arguments = ["tvm-ffi-stubgen", "--coverage-out", str(path / "coverage.json")]
    monkeypatch.setattr(sys, "argv", arguments)
    assert cli.__main__() == 2
    assert capsys.readouterr().out.startswith(f'[Failed] File "{path}/coverage.json": ')
