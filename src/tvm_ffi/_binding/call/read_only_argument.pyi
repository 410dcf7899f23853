# SPDX-License-Identifier: Apache-2.0
from typing import Any

def check_memory(value: Any, direction: str) -> None: ...
