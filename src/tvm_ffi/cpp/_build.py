# SPDX-License-Identifier: Apache-2.0
"""From a plan to its product: found in the cache, or made.

What makes products is loaded when there is something to make, so that finding stays quick.
"""

from __future__ import annotations

from pathlib import Path

from ._plan import Plan, key_of
from ._store import Store

__all__ = ["product_in_cache", "product_in_folder"]


def product_in_folder(plan: Plan, folder: Path) -> Path:
    """Return the product of a plan in a folder of the caller's, brought up to date."""
    from ._carry_out import build_in_folder

    return build_in_folder(plan, folder)


def product_in_cache(plan: Plan, root: Path) -> Path:
    """Return the product of a plan, built at the first time and whenever something has changed."""
    store = Store(root)
    base = key_of(plan)
    found = store.find(plan.name, base)
    if found is not None:
        return found
    from ._carry_out import build_in_cache

    return build_in_cache(plan, base, store)
