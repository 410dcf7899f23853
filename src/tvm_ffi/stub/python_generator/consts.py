# SPDX-License-Identifier: Apache-2.0
"""Tables of Python modules and class names for native types."""

from .._stubgen.python import imports as _imports
from .._stubgen.python import type_names as _type_names

MOD_MAP = _imports.MOD_MAP
TY_MAP_DEFAULTS = _type_names.TY_MAP_DEFAULTS
TY_MAP_INPUT_DEFAULTS = _type_names.TY_MAP_INPUT_DEFAULTS
