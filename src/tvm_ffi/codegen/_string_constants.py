# SPDX-License-Identifier: Apache-2.0
"""String constants in generated code: metadata, type names and device names."""

from __future__ import annotations

import json

from .._binding.values import Device
from .._schema.json_form import schema_to_json
from .._schema.names import json_name
from ..signature import Signature
from ..signature._values import type_name_of_index

__all__ = ["device_names", "embedded_strings", "type_names_by_index"]

_NUM_BUILTIN_INDICES = 79
_NUM_DEVICE_TYPES = 32


def embedded_strings(signature: Signature) -> dict[str, str]:
    """Return the strings that a function exports, by kind; see docs/design/export-rows.md."""
    schema = json.dumps(schema_to_json(signature.to_type_schema(), json_name))
    metadata = {"type_schema": schema, "signature": str(signature), "checked": True}
    texts = {"declaration": str(signature), "metadata": json.dumps(metadata)}
    return texts if signature.doc is None else {**texts, "doc": signature.doc}


def type_names_by_index() -> list[str | None]:
    """Return a list of the names of built-in types by type index; None at unused indices."""
    return [type_name_of_index(index) for index in range(_NUM_BUILTIN_INDICES)]


def device_names() -> list[str | None]:
    """Return a list of the names of device types by device type code; None at unused codes."""
    return [Device._DEVICE_TYPE_TO_NAME.get(code) for code in range(_NUM_DEVICE_TYPES)]
