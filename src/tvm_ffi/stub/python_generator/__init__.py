# SPDX-License-Identifier: Apache-2.0
"""The Python target."""

from .generator import PythonGenerator

__all__ = ["PythonGenerator"]
