# SPDX-License-Identifier: Apache-2.0
"""Fuzz target of signatures: text, JSON, metadata, and side files of a library.

The first byte selects the format; after ``w`` the input selects tokens of the language.
"""

from __future__ import annotations

import json

import coverage_guided

with coverage_guided.instrumented(__name__):
    from tvm_ffi import Signature
    from tvm_ffi.module._signatures import _entries
    from tvm_ffi.signature import _checks, _metadata, _parsing

_WORDS = (
    *("f", "(", ")", "[", "]", "{", "}", ",", ":", "|", "=", "->", "/", "*", "...", "_", "-"),
    *("in", "out", "inout", "unknown", "x", "y", "n", "m", "T", "None", "True", "1", "2", "16"),
    *("1.5", "inf", "9223372036854775808", "'a\\n'", "b'\\xff'", "+", "//", "%", "cdiv", "min"),
    *("int", "float", "bool", "str", "Any", "Tensor", "float32", "int8", "uint64", "float4_e2m1fn"),
    *("Array", "Map", "Callable", "Optional", "tuple", "compact", "strided", "on", "cuda", "align"),
    *("from", "compact from -1"),
    *("where", "raises", "non_blocking", "doc", "x: float32[n, m]", "n: int", "float32*[", "= 3"),
)


@coverage_guided.watched(__name__)
def check(data: bytes) -> None:
    """Read the input in the format that its first byte selects."""
    kind, content = data[:1], data[1:].decode("utf-8", "replace")
    if kind == b"w":
        check_signature(" ".join(_WORDS[byte % len(_WORDS)] for byte in data[1:]))
    elif kind == b"j":
        check_json(content)
    elif kind == b"m":
        check_metadata(content)
    elif kind == b"e":
        check_parts(content)
    elif kind == b"s":
        lines = content.splitlines()
        for number, entry in _entries(content):
            assert 1 <= number <= len(lines)
            check_signature(entry)
    else:
        check_signature(content)


@coverage_guided.watched(__name__)
def check_signature(text: str) -> None:
    """Parse a signature, print it, and parse the printed text again."""
    try:
        signature = Signature.parse(text)
    except ValueError as error:
        assert str(error).startswith("character "), error  # noqa: PT017
        return
    check_value(signature)
    written = str(signature)
    assert Signature.parse(written) == signature
    assert str(Signature.parse(written)) == written
    carried = _metadata.signature_in(
        _metadata.parsed_metadata(_metadata.metadata_text(signature)), signature.name
    )
    assert carried == signature


@coverage_guided.watched(__name__)
def check_value(signature: Signature) -> None:
    """Use a signature in the way of callers and tools.

    Type keys in JSON may be any string, so not every signature from JSON has a text form.
    """
    assert isinstance(str(signature), str)
    assert Signature.from_json(json.dumps(signature.to_json())) == signature
    signature.to_inspect()
    assert all(check.failures is not None for check in _checks.checks(signature))
    for arguments in ((), (1,), ("text", None)):
        try:
            signature.check(*arguments)
        except (TypeError, ValueError, BufferError) as error:
            assert str(error)  # noqa: PT017


@coverage_guided.watched(__name__)
def check_json(text: str) -> None:
    """Read a signature from JSON."""
    try:
        signature = Signature.from_json(text)
    except (TypeError, ValueError):
        return
    check_value(signature)


@coverage_guided.watched(__name__)
def check_metadata(text: str) -> None:
    """Read metadata of a function; damaged metadata costs the parameter names and nothing else."""
    try:
        metadata = _metadata.parsed_metadata(text)
        signature = Signature.from_metadata(metadata, "f")
    except (TypeError, ValueError):
        return
    if signature is not None:
        check_value(signature)


@coverage_guided.watched(__name__)
def check_parts(text: str) -> None:
    """Read one annotation and one extent expression."""
    for read in (_parsing.parse_annotation, _parsing.parse_extent):
        try:
            read(text)
        except (TypeError, ValueError) as error:
            assert str(error)  # noqa: PT017


if __name__ == "__main__":
    coverage_guided.run(check)
