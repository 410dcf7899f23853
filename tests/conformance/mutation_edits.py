# SPDX-License-Identifier: Apache-2.0
"""Edits of lines in C and C++ that seed faults, and the code that turns one of them on."""

from __future__ import annotations

import re
from collections.abc import Iterator

NUMBER, REACHED = "TVM_FFI_FAULT", "TVM_FFI_FAULT_REACHED"
MOST_FAULTS = 4096  # size of the file of reached faults

C_HEADER = """\
#pragma once
#ifdef __cplusplus
extern "C" {
#endif
extern int tvm_ffi_fault_number;
extern unsigned char* tvm_ffi_fault_reached;
#ifdef __cplusplus
}
#endif
static inline int tvm_ffi_fault(int number) {
  if (tvm_ffi_fault_reached) tvm_ffi_fault_reached[number] = 1;
  return tvm_ffi_fault_number == number;
}
"""
C_SOURCE = f"""\
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#ifdef __cplusplus
extern "C" {{
#endif
int tvm_ffi_fault_number = 0;
unsigned char* tvm_ffi_fault_reached = 0;
#ifdef __cplusplus
}}
#endif
/* Before all other constructors, which faults may change. */
__attribute__((constructor(101))) static void tvm_ffi_fault_start(void) {{
  const char* number = getenv("{NUMBER}");
  const char* path = getenv("{REACHED}");
  if (number) tvm_ffi_fault_number = atoi(number);
  if (!path) return;
  int file = open(path, O_RDWR);
  void* memory = mmap(0, {MOST_FAULTS}, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory != MAP_FAILED) tvm_ffi_fault_reached = (unsigned char*)memory;
}}
"""
_NOT_A_STATEMENT = re.compile(
    r"\s*(return|throw|delete|using|case|break|continue|else|goto|static|const|auto|template|typedef|"
    r"if|for|while|do|switch|public|private|default)\b"
)
_STATEMENT = re.compile(r"(\s+)([*+\-\w>.:\[\]()]+?(?:\(.*\)|\s(?:[+\-|&^]?=)\s[^{]*));$")
_M = "tvm_ffi_fault(@)"


def c_edits(line: str, before: str) -> Iterator[tuple[str, str]]:
    """Yield kind and new text of each fault in a line of C or C++; ``@`` is the number."""
    condition = re.match(
        r"(\s*(?:\} else )?if )\((.*)\) (\{|return .*|continue;|break;)(.*)$", line
    )
    if condition and balanced(condition[2]) and not re.search(r";|[^=!<>]=[^=]", condition[2]):
        yield (
            "negated condition",
            f"{condition[1]}({_M} != !!({condition[2]})) {condition[3]}{condition[4]}",
        )
    for operator, new, kind in (
        (" && ", f" && !{_M} && ", "condition always false"),
        (" || ", f" || {_M} || ", "condition always true"),
        (" < ", f" < {_M} + ", "limit plus one"), (" <= ", f" <= {_M} + ", "limit plus one"),
        (" > ", f" > {_M} + ", "limit plus one"), (" >= ", f" >= {_M} + ", "limit plus one"),
        (" + ", f" + {_M} + ", "sum plus one"), (" - ", f" - {_M} - ", "difference minus one"),
    ):  # fmt: skip
        if line.count(operator) == 1 and '"' not in line:
            yield kind, line.replace(operator, new)
    result = re.match(r"(.*\breturn )(-?\d+|true|false)(;.*)$", line)
    if result:
        value = f"{_M} != {result[2]}" if result[2].isalpha() else f"{_M} + {result[2]}"
        yield "other result", f"{result[1]}{value}{result[3]}"
    statement = _STATEMENT.match(line)
    complete = before.strip()[-1:] in ("", ";", "{", "}", ")") or before.strip().startswith("//")
    if statement and complete and not _NOT_A_STATEMENT.match(line) and balanced(statement[2]):
        yield "statement left out", f"{statement[1]}({_M} ? (void)0 : (void)({statement[2]}));"


def balanced(text: str) -> bool:
    """Return True if the parentheses of `text` match."""
    depth = 0
    for each in text:
        depth += (each == "(") - (each == ")")
        if depth < 0:
            return False
    return depth == 0
