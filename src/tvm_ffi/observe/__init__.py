# SPDX-License-Identifier: Apache-2.0
"""Observers of function calls: statistics per function, traces, and a debug context.

They see calls from every language.  A function that is not observed costs nothing; see the guides
"Profile calls" and "Find a crash".

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

from ._debug import Debug, Fault
from ._rules import Rule
from ._stats import FunctionStats, Stats
from ._trace import Trace

__all__ = ["Debug", "Fault", "FunctionStats", "Rule", "Stats", "Trace", "debug", "stats", "trace"]

debug = Debug
stats = Stats
trace = Trace
