# SPDX-License-Identifier: Apache-2.0
"""Classes for native types that are written, compared and copied like dataclasses."""

from .._types.info import MISSING
from ..core import Object
from .c_class import c_class

__all__ = ["MISSING", "Object", "c_class"]
