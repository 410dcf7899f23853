# SPDX-License-Identifier: Apache-2.0
"""Classes of this package for built-in native types, by type key.

The modules that define these classes, such as `container`, import `_types`, so `_types` cannot
import them.  When such a module is imported, it calls `attach_lazy_type_info`, which adds its
classes to `CLASS_OF_KEY`.
"""

from __future__ import annotations

from .._internal.lazy import Any

CLASS_OF_KEY: dict[str, Any] = {}
