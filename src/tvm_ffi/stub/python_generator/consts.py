# SPDX-License-Identifier: Apache-2.0
"""Python modules and classes of native types."""

from .._stubgen.python import imports as _imports
from .._stubgen.python import type_names as _type_names

MOD_MAP = _imports.MOD_MAP
TY_MAP_DEFAULTS = _type_names.TY_MAP_DEFAULTS
TY_MAP_INPUT_DEFAULTS = _type_names.TY_MAP_INPUT_DEFAULTS
