# SPDX-License-Identifier: Apache-2.0
"""Tables of facts that cases share: global functions with schemas and levels, built-in types."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def load(name: str) -> Any:
    """Return the content of the table `name`."""
    return json.loads((Path(__file__).parent / f"{name}.json").read_text(encoding="utf-8"))
