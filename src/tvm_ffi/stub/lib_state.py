# SPDX-License-Identifier: Apache-2.0
"""Registered global functions and object types of this process, as the stub generator sees them."""

from ._stubgen.registered import (
    GetRegisteredTypeKeys,
    collect_global_funcs,
    collect_type_keys,
    object_info_from_type_key,
    toposort_objects,
)

__all__ = [
    "GetRegisteredTypeKeys",
    "collect_global_funcs",
    "collect_type_keys",
    "object_info_from_type_key",
    "toposort_objects",
]
