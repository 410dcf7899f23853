# SPDX-License-Identifier: Apache-2.0
"""Classes of this package for built-in native types, by type key.

The modules that define these classes import `_types`, so `_types` cannot import them.  Each module
adds its classes to `CLASS_OF_KEY` when it is imported, by `attach_lazy_type_info`.
"""

from __future__ import annotations

from .._internal.lazy import Any

CLASS_OF_KEY: dict[str, Any] = {}
