# SPDX-License-Identifier: Apache-2.0
"""Ranges: function calls in the timelines of torch.profiler, NVTX tools and USDT probes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from ..core import Function, Tensor, convert_func
from ..registry import get_global_func
from ._observer import UNNAMED, Observer

__all__ = ["Ranges"]


class Ranges(Observer):
    """Ranges in the timelines of other profilers, one for each call of a function.

    `torch.profiler` shows the functions with the shapes of their arguments, if torch is imported
    before `start`.  If the NVTX library ``libnvToolsExt.so.1`` is found, each call is also a range
    of NVTX, for Nsight Systems.  While the ranges exist, the probes ``call__begin`` and
    ``call__end`` see the calls, for bpftrace and perf.

    Parameters
    ----------
    names : iterable of str, optional
        Names of the functions to observe; a name that ends with ``*`` is a prefix.  Default: all.

    Notes
    -----
    The environment variable ``TVM_FFI_RANGES`` starts ranges when the library is loaded, also in
    programs without Python; these ranges are not in `torch.profiler`.

    Examples
    --------
    >>> with tvm_ffi.ranges("my_library.*") as ranges:
    ...     pass
    >>> ranges.is_running
    False
    """

    def __init__(self, names: Iterable[str] | str = ()) -> None:
        super().__init__(names)

    def _add(self) -> tuple[Function, int]:
        add = get_global_func("pytvmffi.ObserverAddRanges")
        read, number = add(self._names, *_torch_functions())
        return read, number

    @property
    def profilers(self) -> list[str]:
        """Names of the profilers that were found, ``"torch"`` and ``"nvtx"``."""
        return list(self._content() or ())


def _torch_functions() -> tuple[Function | None, Function | None]:
    """Return the functions that begin and end a range of `torch.profiler`."""
    torch = sys.modules.get("torch")
    try:
        autograd = torch._C._autograd  # type: ignore[union-attr]
        is_profiling: Callable[[], bool] = autograd._profiler_enabled
        enter, leave = (
            autograd._record_function_with_args_enter,
            autograd._record_function_with_args_exit,
        )
        from_dlpack = torch.from_dlpack  # type: ignore[union-attr]
    except AttributeError:
        return None, None

    def as_torch(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        try:
            # A capsule: for a tensor, from_dlpack may make the current stream wait.
            return from_dlpack(value.__dlpack__())
        except Exception:  # a dtype or device that torch does not have
            return f"{value.dtype}{list(value.shape)}"

    def begin(name: str, *arguments: Any) -> Any:
        if not is_profiling():
            return None
        return enter(name or UNNAMED, *map(as_torch, arguments))

    return convert_func(begin), convert_func(leave)
