# SPDX-License-Identifier: Apache-2.0
"""Headings of the specification documents: the sections that conformance cases cite.

A case names a document and a heading of this table, so that a reader finds the rule that the case
tests. The documents themselves are not part of the distribution.
"""

from __future__ import annotations

from typing import NamedTuple

C_ABI = "c-abi.md"
OVERVIEW = "abi-overview.rst"
STABLE = "stable-c-abi.rst"
TENSOR = "tensor-and-dlpack.txt"
COMPILERS = "compiler-integration.md"

DOCUMENTS: dict[str, tuple[str, ...]] = {
    C_ABI: (
        "1. Identity of the library",
        "2. Type indices",
        "2.1 Static indices",
        "2.2 Types the runtime registers dynamically while loading",
        "3. TVMFFIAny",
        "4. Objects and reference counts",
        "4.1 Header",
        "4.2 Counting protocol",
        "5. Structs",
        "6. C functions",
        "6.1 Conventions",
        "6.2 Version, objects, allocation",
        "6.3 Strings, bytes, integers, dtype",
        "6.4 Functions and globals",
        "6.5 Errors",
        "6.6 Types and reflection",
        "6.7 One-time handles",
        "6.8 Tensors",
        "6.9 Environment",
        "7. Errors",
        "7.1 Object and kinds",
        "7.2 Backtrace text",
        "8. In-memory layout of built-in objects",
        "8.1 Function",
        "8.2 Tensor extra storage",
        "8.3 Array (immutable with copy-on-write) and List (mutable)",
        "8.4 References inside C++ objects",
        "9. Map and Dict: complete layout and algorithm",
        "9.1 Fields (offset from handle)",
        "9.2 Small representation",
        "9.3 Dense blocks",
        "9.4 Dense operations",
        "9.5 Construction from a range of n pairs",
        "9.6 Who frees what; in-place switching",
        "10. Hash and equality",
        "10.1 Primitives",
        "10.2 AnyHash",
        "10.3 AnyEqual",
        "10.4 Test vectors",
        "10.5 Type key hash",
        "10.6 StructuralHash / StructuralEqual",
        "10.7 Recursive* (dataclass-style comparison), ReprPrint, DeepCopy",
        "11. Types and reflection",
        "11.1 TVMFFITypeGetOrAllocIndex",
        "11.2 Field info",
        "11.3 Methods, metadata, creation",
        "11.4 Metadata JSON and type schema",
        "12. Type attributes",
        "12.1 Mechanism",
        "12.2 Columns present after load, with built-in entries",
        "12.3 What the values must be",
        "12.4 Structural visitor and mutator tables",
        "13. Calls",
        "13.1 The packed convention",
        "13.2 TVMFFIFunctionCreate",
        "13.3 Exported function symbols",
        "14. Modules",
        "14.1 ModuleObj vtable",
        "14.2 Semantics",
        "14.3 Loading",
        "14.4 Import tree bytes",
        "15. DLPack",
        "16. Global functions registered by the runtime",
        "16.1 Core and reflection",
        "16.2 Containers",
        "16.3 Modules",
        "16.4 Comparison, structure, printing",
        "16.5 JSON",
        "16.6 Names the runtime calls but does not define",
        "17. C++ symbols",
        "17.1 Exported by the peer and imported by at least one inspected client",
        "17.2 Exported, not imported by those clients",
        "17.5 Exceptions across libraries",
        "18. Versions: what matters for older binaries",
        "20. Traps checklist",
    ),
    OVERVIEW: (
        "Any and AnyView",
        "Construct Any",
        "Destruct Any",
        "Extract from Any",
        "Object",
        "Ownership Management",
        "Inheritance Checking",
        "Tensor",
        "Access Tensor Metadata",
        "Construct Tensor",
        "Destruct Tensor",
        "Export Tensor to DLPack",
        "Function",
        "Construct and Destroy",
        "Global Registry",
        "Call Function",
        "Exception",
        "Retrieve Error Object",
        "Raise Exception",
        "String and Bytes",
    ),
    STABLE: (
        "Stable C Layout",
        "Layout of TVMFFIAny",
        "Function Calling Convention",
        "Stability and Interoperability",
        "Callee: add_one_cpu Kernel",
        "Caller: Kernel Loader",
    ),
    TENSOR: (
        "Tensor Layouts",
        "To Non-Owning Tensor",
        "To Owning Tensor",
        "From Owning Tensor",
        "From Non-Owning Tensor",
        "Allocation in C++",
        "Stream Handling in C++",
    ),
    COMPILERS: (
        "Kernel Language Compilers",
        "Graph Compilers",
        "Advanced: Custom Modules",
        "Enable Export and Loading",
    ),
}


class Section(NamedTuple):
    """One heading of one document."""

    document: str
    heading: str

    def __str__(self) -> str:
        return f"{self.document}: {self.heading}"


def section(text: str) -> Section:
    """Return the section that `text` names: ``"6.3"`` of c-abi.md, or ``"document#heading"``.

    Raises
    ------
    LookupError
        If no document of the table has the heading.
    """
    document, _, heading = text.rpartition("#")
    document = document or C_ABI
    if document == C_ABI:
        prefix = heading + (" " if "." in heading else ". ")
        found = [each for each in DOCUMENTS[C_ABI] if each.startswith(prefix) or each == heading]
    else:
        found = [each for each in DOCUMENTS.get(document, ()) if each == heading]
    if len(found) != 1:
        raise LookupError(f"section: expected a heading of the documents, got {text!r}")
    return Section(document, found[0])
