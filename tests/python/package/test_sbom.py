# SPDX-License-Identifier: Apache-2.0
"""The installed metadata: a bill of materials (PEP 770), and one version and licence everywhere."""

from __future__ import annotations

import importlib.metadata
import json

import pytest

import tvm_ffi

DISTRIBUTION = importlib.metadata.distribution("pytvmffi")


def test_the_bill_of_materials_names_the_package_and_nothing_that_it_bundles():
    files = [path for path in DISTRIBUTION.files or [] if path.parent.name == "sboms"]
    assert [path.name for path in files] == ["pytvmffi.cdx.json"]
    assert files[0].parent.parent.name.endswith(".dist-info")
    bill = json.loads(files[0].read_text(encoding="utf-8"))
    reference = f"pkg:pypi/pytvmffi@{tvm_ffi.__version__}"
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert bill["metadata"]["component"] == {
        "type": "library",
        "bom-ref": reference,
        "name": "pytvmffi",
        "version": tvm_ffi.__version__,
        "purl": reference,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
    }
    assert bill["components"] == []
    assert bill["dependencies"] == [{"ref": reference, "dependsOn": []}]


@pytest.mark.parametrize(
    ("field", "value"),
    [("Version", tvm_ffi.__version__), ("License-Expression", "Apache-2.0")],
)
def test_the_metadata_agrees_with_the_package(field, value):
    assert DISTRIBUTION.metadata[field] == value
