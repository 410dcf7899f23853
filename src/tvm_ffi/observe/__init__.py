# SPDX-License-Identifier: Apache-2.0
"""Observers of function calls: statistics per function, and traces.

Both see calls from every language.  A function that is not observed costs nothing; see the guide
"Profile calls".

>>> import tvm_ffi
>>> with tvm_ffi.stats(["testing.double"]) as stats:
...     double = tvm_ffi.register_global_func("testing.double", lambda x: 2 * x)
...     tvm_ffi.get_global_func("testing.double")(4)
8
>>> stats["testing.double"].calls
1
>>> tvm_ffi.remove_global_func("testing.double")
"""

from __future__ import annotations

from ._stats import FunctionStats, Stats
from ._trace import Trace

__all__ = ["FunctionStats", "Stats", "Trace", "stats", "trace"]

stats = Stats
trace = Trace
