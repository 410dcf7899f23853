# SPDX-License-Identifier: Apache-2.0
"""The language of declared types: its names, its two written forms, and its values.

A type is an origin with arguments.  Native code and libraries write types as JSON, people read and
write them as annotations: ``Map[str, Array[int]] | None``.  Everything that shows or reads a
declared type does it here, so that all say the same of one function.

Nothing here knows which types are registered; who does says so (`TypePrinter`).
"""
