# SPDX-License-Identifier: Apache-2.0
"""Observers of function calls: statistics, traces, ranges, a debug context, a flight recorder.

They see calls from every language.  A function that is not observed costs nothing; see the guides
"Profile calls", "Find a crash" and "Replay a call".

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

# `typing.get_type_hints` looks names in annotations of the classes up in this module.
from typing import Any  # noqa: F401

from .._internal.public_name import set_public_module
from ..core import Device  # noqa: F401
from ._call_program import call_program
from ._call_script import call_script
from ._compare import CallDifference, compare
from ._debug import Debug, Fault
from ._minimise import minimise
from ._ranges import Ranges
from ._recorded_values import (
    RecordedContainer,
    RecordedError,
    RecordedObject,
    RecordedTensor,
    RecordedText,
)
from ._recorder import Recorder
from ._recording import RecordedCall, Recording, RecordingFileError
from ._replay import ReplayReport, SkippedCall, replay
from ._replay_memory import ReplayMemory
from ._rules import Rule
from ._stats import FunctionStats, Stats
from ._trace import Trace

__all__ = [
    "CallDifference",
    "Debug",
    "Fault",
    "FunctionStats",
    "Ranges",
    "RecordedCall",
    "RecordedContainer",
    "RecordedError",
    "RecordedObject",
    "RecordedTensor",
    "RecordedText",
    "Recorder",
    "Recording",
    "RecordingFileError",
    "ReplayMemory",
    "ReplayReport",
    "Rule",
    "SkippedCall",
    "Stats",
    "Trace",
    "call_program",
    "call_script",
    "compare",
    "debug",
    "minimise",
    "ranges",
    "record",
    "replay",
    "stats",
    "trace",
]

debug = Debug
ranges = Ranges
record = Recorder
stats = Stats
trace = Trace

set_public_module(globals())
