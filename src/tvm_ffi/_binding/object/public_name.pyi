# SPDX-License-Identifier: Apache-2.0
from typing import Any

def show_in(module: str, *things: Any) -> None: ...
