# SPDX-License-Identifier: Apache-2.0
"""Check that a library can replace its previous release:  ``python gate.py RELEASED CANDIDATE``.

The script reads the libraries without loading them, so they can be built for any machine.  The exit
status is 1 if the candidate breaks a rule.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from tvm_ffi.inspection import LibraryReport, compare_libraries, inspect_library, version_key

# Symbol versions that the oldest supported system provides.
NEWEST_VERSIONS = {"GLIBC": "2.34", "GLIBCXX": "3.4.30"}


def broken_rules(released: LibraryReport, candidate: LibraryReport) -> Iterator[str]:
    """Yield a message for each rule that the candidate breaks."""
    yield from candidate.problems
    difference = compare_libraries(released, candidate)
    for name in difference.functions_removed:
        yield f"the function {name} was removed"
    for change in difference.functions_changed:
        yield f"the signature {change.name}{change.before} became {change.name}{change.after}"
    for function in candidate.functions:
        if function.name in difference.functions_added and function.doc is None:
            yield f"the new function {function.name} has no documentation"
    for code in difference.device_code_removed:
        yield f"the device code {code} was removed"
    for family, newest in NEWEST_VERSIONS.items():
        needed = candidate.floors.get(family, "0")
        if version_key(needed) > version_key(newest):
            yield f"the library needs {family} {needed}, but supported systems have only {newest}"


if __name__ == "__main__":
    released, candidate = map(inspect_library, sys.argv[1:])
    rules = list(broken_rules(released, candidate))
    for rule in rules:
        print(f"{candidate.path}: {rule}")
    if rules:
        raise SystemExit(1)
    print(f"{candidate.path}: fine")
