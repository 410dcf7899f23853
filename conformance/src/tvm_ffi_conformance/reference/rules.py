# SPDX-License-Identifier: Apache-2.0
"""Rules that the reference checks: one table with stable ids and the text that states each rule.

Documents: ``stable-c-abi.rst``, ``abi-overview.rst``, ``compiler-integration.md`` and
``tensor-and-dlpack.txt`` are pages of the specification, ``abi-overview-2025.txt`` is the first
edition of the overview, and ``c-abi.md`` is the fact sheet of the binary contract.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """A sentence of the specification that a library can break."""

    id: str
    document: str
    heading: str
    sentence: str

    def __str__(self) -> str:
        return f'{self.id} ({self.document}, "{self.heading}"): {self.sentence}'


@dataclass(frozen=True)
class Violation:
    """One broken rule: the function that broke it, the argument or result, and what was found."""

    rule: Rule
    function: str
    argument: str
    detail: str

    def __str__(self) -> str:
        where = f"{self.function}, {self.argument}" if self.argument else self.function
        return f"{where}: {self.detail}\n    {self.rule}"


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
error.missing | stable-c-abi.rst | Callee: add_one_cpu Kernel
    When an error occurs, set it before a non-zero code is returned.
error.unreported | stable-c-abi.rst | Callee: add_one_cpu Kernel
    Return 0 on success, or a non-zero code on failure: a raised error is a failure.
error.text | stable-c-abi.rst | Callee: add_one_cpu Kernel
    When an error occurs, set an error message.
error.kind | c-abi.md | 6.1 Conventions
    An error has a kind; a null kind ends the process.
error.object | abi-overview.rst | Exception
    Errors are objects with a TVMFFIErrorCell payload.
object.null-handle | c-abi.md | 6.2 Version, objects, allocation
    A handle is a pointer to an object header; a null handle crashes.
object.counter | c-abi.md | 4.2 Counting protocol
    A live object has a strong count and a weak count of at least one.
object.released-too-often | abi-overview.rst | Ownership Management
    Each owner releases the reference that it acquired, once.
object.used-after-release | abi-overview.rst | Ownership Management
    A handle is used only while a reference is owned or borrowed.
object.written-after-release | abi-overview.rst | Ownership Management
    The memory of an object is written only while a reference is owned or borrowed.
object.leaked | abi-overview.rst | Ownership Management
    Ownership that was acquired is released later.
type.ancestors | c-abi.md | 11.1 TVMFFITypeGetOrAllocIndex
    A dynamic type has a registered parent, and its depth is the depth of the parent plus one.
function.safe-call | abi-overview.rst | Construct and Destroy
    A function is constructed from a TVMFFISafeCallType, which is not null.
tensor.shape | c-abi.md | 5. Structs
    ndim is at least 0, extents are at least 0, and shape is not null unless ndim is 0.
dlpack.released-too-often | abi-overview.rst | Export Tensor to DLPack
    The caller owns the managed tensor and calls its deleter, once.
allocator.result | c-abi.md | 6.9 Environment
    An allocator returns 0 with a tensor, or a non-zero code after SetError.
"""


def _parse(table: str) -> dict[str, Rule]:
    """Return the rules of the table by id."""
    rules = {}
    for entry in re.split(r"\n(?=\S)", table.strip()):
        head, *lines = entry.split("\n")
        rule_id, document, heading = head.split(" | ")
        sentence = " ".join(line.strip() for line in lines)
        rules[rule_id] = Rule(rule_id, document, heading, sentence)
    return rules


RULES = _parse(_TABLE)
