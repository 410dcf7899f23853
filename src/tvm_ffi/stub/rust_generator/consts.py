# SPDX-License-Identifier: Apache-2.0
"""Tables of Rust keywords, and of Rust names and sizes for native types."""

from .._stubgen.rust import directives as _directives
from .._stubgen.rust import field_types as _field_types
from .._stubgen.rust import names as _names

RUST_MAX_WIDTH = 100  # maximum line width in columns, which is the default of rustfmt

RUST_ANY_BACKED_OPTIONAL_PAYLOADS = _field_types.RUST_ANY_BACKED_OPTIONAL_PAYLOADS
RUST_DIRECTIVE_KINDS = _directives.RUST_DIRECTIVE_KINDS
RUST_EXACT_PARAMS = _field_types.RUST_EXACT_PARAMS
RUST_KEYWORDS = _names.RUST_KEYWORDS
RUST_MOD_MAP = _names.RUST_MOD_MAP
RUST_NOT_RAW_IDENTIFIERS = _names.RUST_NOT_RAW_IDENTIFIERS
RUST_OBJECT_OPTIONAL_FIELD_SIZE = _field_types.RUST_OBJECT_OPTIONAL_FIELD_SIZE
RUST_OPTIONAL_FIELD_SIZE = _field_types.RUST_OPTIONAL_FIELD_SIZE
RUST_OPTIONAL_PATH = _field_types.RUST_OPTIONAL_PATH
RUST_POINTER_SIZE = _field_types.RUST_POINTER_SIZE
RUST_RESERVED_MEMBERS = _names.RUST_RESERVED_MEMBERS
RUST_ROOT_TYPE_KEY = _names.RUST_ROOT_TYPE_KEY
RUST_SCALAR_BY_SIZE = _field_types.RUST_SCALAR_BY_SIZE
RUST_SCALAR_WIDTHS = _directives.RUST_SCALAR_WIDTHS
RUST_TY_MAP_DEFAULTS = _field_types.RUST_TY_MAP_DEFAULTS
RUST_UNSUPPORTED_ORIGINS = _field_types.RUST_UNSUPPORTED_ORIGINS
