# SPDX-License-Identifier: Apache-2.0
"""The binding's folders and modules: who may know whom, and the one order of conversion."""

from __future__ import annotations

import re


def test_each_precedence_belongs_to_one_rule_and_one_documented_step(repository):
    """Two rules once shared a number, and which came first depended on who was imported first."""
    binding = repository / "src/tvm_ffi/_binding"
    text = (binding / "convert/precedence.pxd").read_text(encoding="utf-8")
    declared = re.findall(r"^    ([A-Z]\w+)", text.partition("cdef enum")[2], re.MULTILINE)
    assert declared.pop() == "NUM_PRECEDENCES"
    used = []
    for path in binding.rglob("*.pyx"):
        used += re.findall(r"^add_rule\(Precedence\.(\w+), ", path.read_text("utf-8"), re.MULTILINE)
    page = (repository / "docs/concepts/conversion-order.md").read_text(encoding="utf-8")
    assert sorted(used) == sorted(declared)
    assert len(re.findall(r"^\d+\. ", page, re.MULTILINE)) == len(used)
