# SPDX-License-Identifier: Apache-2.0
"""The Python target of the stub generator."""

from .generator import PythonGenerator

__all__ = ["PythonGenerator"]
