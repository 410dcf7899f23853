# SPDX-License-Identifier: Apache-2.0
"""`dataclass_transform` of Python 3.12, for older versions of Python without another package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(
        *,
        eq_default: bool = True,
        order_default: bool = False,
        kw_only_default: bool = False,
        frozen_default: bool = False,
        field_specifiers: tuple[Any, ...] = (),
        **kwargs: Any,
    ) -> Callable[[Any], Any]:
        """Return a decorator that stores the options as the attribute that tools read."""

        def decorate(function: Any) -> Any:
            function.__dataclass_transform__ = {
                "eq_default": eq_default,
                "order_default": order_default,
                "kw_only_default": kw_only_default,
                "frozen_default": frozen_default,
                "field_specifiers": field_specifiers,
                "kwargs": kwargs,
            }
            return function

        return decorate


__all__ = ["dataclass_transform"]
