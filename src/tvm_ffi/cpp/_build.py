# SPDX-License-Identifier: Apache-2.0
"""From a plan to its product: found in the cache, or made.

What makes products is loaded when there is something to make, so that finding stays quick.
"""

from __future__ import annotations

from pathlib import Path

from ._plan import Plan, key_of
from ._store import Store

__all__ = ["product_in_cache", "product_in_folder"]


def product_in_folder(plan: Plan, folder: Path, is_verbose: bool = False) -> Path:
    """Return the product of a plan in a folder of the caller's, brought up to date."""
    from ._carry_out import build_in_folder

    return build_in_folder(plan, folder, is_verbose)


def product_in_cache(plan: Plan, root: Path, is_verbose: bool = False) -> Path:
    """Return the product of a plan, built at the first time and whenever something has changed."""
    store = Store(root)
    base = key_of(plan)
    found = store.find(plan.name, base, plan.product)
    if found is not None:
        if is_verbose:
            _tell(f"{plan.name} is in the cache: {found}")
        return found
    from ._carry_out import build_in_cache

    return build_in_cache(plan, base, store, is_verbose)


def _tell(text: str) -> None:
    """Log a text where a verbose build is seen."""
    from ._command import log, log_as_wished

    with log_as_wished(is_verbose=True):
        log(text)
