# SPDX-License-Identifier: Apache-2.0
"""Directives of Rust files: properties of types and fields that reflection does not provide."""

from .._stubgen.rust.directives import Directives, EnumSpec

__all__ = ["Directives", "EnumSpec"]

Directives.__module__ = EnumSpec.__module__ = __name__
