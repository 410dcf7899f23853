# SPDX-License-Identifier: Apache-2.0
"""Use of the installed package pair_extension."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pair_extension


def main() -> None:
    """Call the functions of the package; create, modify and pass an object."""
    y = np.empty(3, dtype=np.float32)
    pair_extension.add_one(np.array([1, 2, 3], dtype=np.float32), y)
    print("add_one wrote", y.tolist())

    pair = pair_extension.IntPair(3, 4)
    pair.name = "lengths"
    print(pair, "sum =", pair.sum())
    pair.swap()
    print("swapped:", pair, " mirrored:", pair_extension.mirror(pair))

    mistakes: list[Callable[[], object]] = [
        lambda: pair_extension.IntPair("x", 1),  # type: ignore[arg-type]  # a type error
        lambda: pair_extension.mirror(None),  # type: ignore[arg-type]
    ]
    for wrong in mistakes:
        try:
            wrong()
        except (TypeError, ValueError) as error:
            print(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
