# SPDX-License-Identifier: Apache-2.0
"""Type schemas: declared types as values, JSON and annotations.

A type is an origin with arguments. Native code and libraries write types as JSON; Python code and
generated stubs write them as annotations, such as ``Map[str, Array[int]] | None``. All readers and
writers of declared types use this package.

The package does not know which types are registered; callers of `TypePrinter` pass that
information.
"""
