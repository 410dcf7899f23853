# SPDX-License-Identifier: Apache-2.0
"""Fuzz target of type schemas: arbitrary bytes as JSON give a valid schema, or an error."""

from __future__ import annotations

import coverage_guided

with coverage_guided.instrumented(__name__):
    from tvm_ffi.core import TypeSchema


def check(data: bytes) -> None:
    """Read the bytes as a type schema."""
    try:
        schema = TypeSchema.from_json_str(data.decode("utf-8", "replace"))
    except (TypeError, ValueError, RecursionError):
        return
    assert TypeSchema.from_json_obj(schema.to_json()) == schema
    assert isinstance(schema.output_repr(), str)
    assert isinstance(schema.input_repr(lambda name: name.upper()), str)
    for value in (None, 1, "text", [1, "a"], {"a": 1.5}):
        try:
            schema.check_value(value)
        except TypeError as error:
            assert str(error)  # noqa: PT017


if __name__ == "__main__":
    coverage_guided.run(check)
