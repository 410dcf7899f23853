# SPDX-License-Identifier: Apache-2.0
from typing import Any, Callable

OPAQUE_PTR_HANDLERS: dict[type, Callable[[Any], int]]

def address_of_stream(stream: Any) -> int: ...
