# SPDX-License-Identifier: Apache-2.0
"""Python modules and classes of native types."""

from .._stubgen.python.imports import MOD_MAP
from .._stubgen.python.type_names import TY_MAP_DEFAULTS, TY_MAP_INPUT_DEFAULTS

__all__ = ["MOD_MAP", "TY_MAP_DEFAULTS", "TY_MAP_INPUT_DEFAULTS"]
