# SPDX-License-Identifier: Apache-2.0
from typing import Any, Callable

def set_plan_lookup(plan_of: Callable[[Any, Any], Any]) -> None: ...
