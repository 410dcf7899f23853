# SPDX-License-Identifier: Apache-2.0
"""Classes of this package that stand for native types, by the types' keys.

What knows types (their fields, their conversion) is below the modules with these classes, so the
modules put them in here when they are loaded, which the package does; see `attach_lazy_type_info`.
"""

from __future__ import annotations

from .._internal.lazy import Any

CLASS_OF_KEY: dict[str, Any] = {}
