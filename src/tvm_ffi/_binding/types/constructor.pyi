# SPDX-License-Identifier: Apache-2.0
from typing import Any, Callable

class Constructor:
    def __new__(
        cls,
        construct: Any,
        cls_: type,
        info: Any,
        mark: Any,
        missing: Any,
        after: Callable[[Any], None] | None = None,
        leaves_made: bool = False,
        holders: tuple[Any, ...] | None = None,
    ) -> Constructor: ...
    def __call__(self, *args: Any, **kwargs: Any) -> None: ...
    def __get__(self, obj: Any, owner: type | None = None, /) -> Any: ...
