# SPDX-License-Identifier: Apache-2.0
"""Rules that the debug context checks: ids, and the sections of the specification that state them.

A rule that `tvm_ffi_conformance.reference` checks, too, has the same text there, except for
``error.kind``: only a host language knows the registered kinds.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["RULES", "Rule"]


class Rule(NamedTuple):
    """A rule that a function, or its caller, can break.

    Attributes
    ----------
    id : str
        Stable name, such as ``"any.padding"``.
    document, heading : str
        Section that states the rule.  The documents ``*.rst`` and ``c-abi.md`` belong to the
        specification; documents in a folder are pages of this documentation.
    sentence : str
        The rule.
    """

    id: str
    document: str
    heading: str
    sentence: str

    def __str__(self) -> str:
        return f'{self.id} ({self.document}, "{self.heading}"): {self.sentence}'


# One rule: id, document and heading on a line, then the sentence on indented lines.
_TABLE = """
any.padding | abi-overview.rst | Construct Any
    Always zero the zero_padding field and any unused bytes in the value union.
any.payload | abi-overview.rst | Construct Any
    Unused bytes of the payload are zero: all of None, the upper half of a data type.
any.bool | c-abi.md | 3. TVMFFIAny
    Bool is stored as a full 64-bit 0 or 1.
any.small-length | c-abi.md | 3. TVMFFIAny
    A small string or bytes holds 0 to 7 bytes; the bytes after the content are zero.
any.type-index | c-abi.md | 2.1 Static indices
    The type index names a plain value below 64 or a registered object type.
any.null-object | c-abi.md | 2.1 Static indices
    A null object reference is None, never an object index with a null pointer.
any.object-type | abi-overview-2025.txt | Object Storage Format
    The type index in the object header is consistent with the type index of the value.
call.arguments-constant | stable-c-abi.rst | Key Idea: A Single C ABI for all Functions
    The arguments are inputs (const TVMFFIAny* args); the callee does not write them.
call.result-cleared | abi-overview.rst | Function
    The caller must zero-initialize the output argument result before the call.
call.result-unset | stable-c-abi.rst | Function Calling Convention
    result receives the function result: type index and payload.
call.result-borrowed | abi-overview.rst | Function
    The result is an owning Any; views (raw pointers and strings) cannot be owned.
call.result-on-error | c-abi.md | 13.1 The packed convention
    The callee writes an owned value, or leaves the result slot on error.
call.return-code | abi-overview.rst | Function
    The return value is 0 for success and -1 for errors.
call.view-kept | concepts/memory.md | Ownership of arguments and results
    A callee cannot keep a DLTensor* or a const char*, because they have no owner.
error.missing | stable-c-abi.rst | Callee: add_one_cpu Kernel
    When an error occurs, set it before a non-zero code is returned.
error.unreported | stable-c-abi.rst | Callee: add_one_cpu Kernel
    Return 0 on success, or a non-zero code on failure: a raised error is a failure.
error.text | stable-c-abi.rst | Callee: add_one_cpu Kernel
    When an error occurs, set an error message.
error.kind | concepts/errors.md | Error kinds and exception classes
    The kind of an error is registered, so that callers can tell errors apart.
error.object | abi-overview.rst | Exception
    Errors are objects with a TVMFFIErrorCell payload.
object.released-too-often | abi-overview.rst | Ownership Management
    Each owner releases the reference that it acquired, once.
object.used-after-release | abi-overview.rst | Ownership Management
    A handle is used only while a reference is owned or borrowed.
object.leaked | abi-overview.rst | Ownership Management
    Ownership that was acquired is released later.
tensor.shape | c-abi.md | 5. Structs
    ndim is at least 0, extents are at least 0, and shape is not null unless ndim is 0.
tensor.fields-written | stable-c-abi.rst | Key Idea: A Single C ABI for all Functions
    A tensor argument is borrowed: the callee may write elements, not the DLTensor.
tensor.input-written | guides/signatures.md | Signature syntax
    A parameter without a direction is read; the function does not write its elements.
tensor.output-not-written | guides/signatures.md | Signature syntax
    The function writes all elements of a parameter with the direction out.
tensor.not-finite | guides/find-a-crash.md | Checks on demand
    The elements of outputs are finite.
environment.stream | concepts/streams.md | Stream selection
    The current stream of a device belongs to the caller; a function that changes it restores it.
environment.capture | concepts/streams.md | CUDA graphs
    A function that is captured launches on the current stream and does not wait.
environment.allocator | concepts/memory.md | Allocating tensors
    The tensor allocator belongs to the caller; a function that changes it restores it.
"""


def _parse(table: str) -> dict[str, Rule]:
    """Return the rules of a table by id."""
    rules = {}
    for entry in re.split(r"\n(?=\S)", table.strip()):
        head, *lines = entry.split("\n")
        rule_id, document, heading = head.split(" | ")
        sentence = " ".join(line.strip() for line in lines)
        rules[rule_id] = Rule(rule_id, document, heading, sentence)
    return rules


RULES = _parse(_TABLE)
