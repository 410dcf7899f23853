# SPDX-License-Identifier: Apache-2.0
"""Policy for late builds: compilations that a running process would start.

>>> from tvm_ffi import builds
>>> with builds.policy("error"):
...     builds.current_policy()
'error'

A *late build* is a compilation in the process that needs the result: a library that is not in the
build cache, device code that NVRTC compiles, a kernel of Numba.  A process that serves requests
should have none.  Code that compiles calls `announce` first; the policy then allows the build,
warns, or raises `LateBuildError`.  `on_build` registers a function that is called with each late
build.

If the policy is ``"warn"`` or ``"error"``, or a function is registered, the frameworks that
`tvm_ffi.builds` knows are observed, too: those that the process has imported, and others once it
imports them.  No framework is imported.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Callable, NamedTuple, Union

if TYPE_CHECKING:
    import traceback
    from typing import Literal

    from typing_extensions import Self

    _Mode = Literal["allow", "warn", "error"]

__all__ = [
    "Hook",
    "LateBuild",
    "LateBuildError",
    "LateBuildWarning",
    "Policy",
    "announce",
    "current_policy",
    "is_observed",
    "on_build",
    "policy",
]

_MODES = ("allow", "warn", "error")
_VARIABLE = "TVM_FFI_BUILDS"
_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"
# Files whose frames are not the code that caused a build.
_COMPILERS = re.compile(
    r"/(?:site|dist)-packages/(?:numba|torch|triton|llvmlite|tilelang|nvidia_cutlass_dsl)/"
    r"|/(?:contextlib|functools)\.py$|^<frozen "
)

_lock = threading.Lock()
_blocks: list[Policy] = []  # the policies of running `with` blocks, the newest last
_default: _Mode | None = None  # policy outside of blocks; None: the value of TVM_FFI_BUILDS
_hooks: list[Hook] = []


class LateBuild(NamedTuple):
    """A compilation that is about to start in this process."""

    kind: str
    """The compiler or the product, such as ``"library"``, ``"NVRTC"`` or ``"Numba"``."""
    name: str
    """Name of the library or kernel."""
    key: str
    """Hash of the inputs, in hexadecimal."""
    reasons: tuple[str, ...] = ()
    """Sentences that explain why the result was not found.

    The first one is the first difference from the most similar earlier build.
    """
    stack: Sequence[traceback.FrameSummary] = ()
    """The Python stack of the call, a `traceback.StackSummary` without frames of this package."""

    @property
    def caller(self) -> str:
        """File, line and function of the innermost frame outside of packages that compile."""
        for frame in reversed(self.stack):
            if not _is_of_compiler(frame.filename):
                return f"{frame.filename}:{frame.lineno} in {frame.name}"
        return "no Python code"

    def __str__(self) -> str:
        reason = f", because: {self.reasons[0]}" if self.reasons else ""
        return f"{self.kind} {self.name!r} with key {self.key} is not built yet{reason}"


class LateBuildError(RuntimeError):
    """Error: a build would start in a process whose policy is ``"error"``.

    Attributes
    ----------
    build : LateBuild
        The build, which has not started.
    """

    def __init__(self, message: str, build: LateBuild) -> None:
        super().__init__(message)
        self.build = build

    def __reduce__(self) -> tuple[type[LateBuildError], tuple[str, LateBuild]]:
        return type(self), (str(self), self.build)


class LateBuildWarning(RuntimeWarning):
    """Warning: a build starts in a process whose policy is ``"warn"``."""


# ---- Policy --------------------------------------------------------------------------------------


class Policy:
    """The result of `policy`; as a context manager, it limits the policy to a block."""

    def __init__(self, mode: _Mode) -> None:
        global _default  # noqa: PLW0603  (state of the process)
        self._mode = mode
        with _lock:
            self._previous = _default
            _default = mode

    def __enter__(self) -> Self:
        global _default  # noqa: PLW0603  (state of the process)
        with _lock:
            _blocks.append(self)
            _default = self._previous
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        with _lock:
            # Another thread may have entered a block since; only the own block ends.
            index = max(i for i, block in enumerate(_blocks) if block is self)
            del _blocks[index]


def policy(mode: _Mode) -> Policy:
    """Set the policy of this process for late builds.

    Parameters
    ----------
    mode : {"allow", "warn", "error"}
        ``"allow"`` lets builds run; ``"warn"`` emits a `LateBuildWarning` for each; ``"error"``
        raises `LateBuildError` instead.

    Returns
    -------
    Policy
        A context manager: with ``with policy(...):``, the policy holds until the end of the block.
        All threads of the process have the same policy, which is that of the newest block.

    Raises
    ------
    ValueError
        If `mode` is not one of these strings.

    Notes
    -----
    Without a call, the environment variable ``TVM_FFI_BUILDS`` contains the policy; its default is
    ``"allow"``.  During CUDA graph capture of a current stream the policy is always ``"error"``.
    """
    _check_mode("policy: mode", mode)
    chosen = Policy(mode)
    if mode != "allow":
        _observe_frameworks()
    return chosen


def current_policy() -> _Mode:
    """Return the policy of this process: ``"allow"``, ``"warn"`` or ``"error"``.

    Raises
    ------
    ValueError
        If the environment variable ``TVM_FFI_BUILDS`` has another value.
    """
    global _default  # noqa: PLW0603  (state of the process)
    with _lock:
        if _blocks:
            return _blocks[-1]._mode
        if _default is None:
            value = os.environ.get(_VARIABLE) or "allow"
            _check_mode(_VARIABLE, value)
            _default = value  # type: ignore[assignment]
        assert _default is not None
        return _default


def follow_variable() -> None:
    """Observe frameworks if the environment variable forbids builds; check its value."""
    if current_policy() != "allow":
        _observe_frameworks()


def _check_mode(where: str, mode: object) -> None:
    if mode not in _MODES:
        raise ValueError(f'{where}: expected "allow", "warn" or "error", got {mode!r}')


# ---- Hooks ---------------------------------------------------------------------------------------


class Hook:
    """A registered function; as a context manager, it is registered until the end of the block."""

    def __init__(self, function: Callable[[LateBuild], object]) -> None:
        self._function = function

    def remove(self) -> None:
        """Remove the function; do nothing if it was removed already."""
        with _lock:
            if self in _hooks:
                _hooks.remove(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.remove()


def on_build(function: Callable[[LateBuild], object]) -> Hook:
    """Call a function before each late build of this process, whatever the policy is.

    Parameters
    ----------
    function : callable
        Called with the `LateBuild`, in the thread that builds.  Its exception stops the build, and
        the policy that it sets applies to this build.

    Returns
    -------
    Hook
        Its method `remove` removes the function; a ``with`` statement does so at its end.
    """
    if not callable(function):
        raise TypeError(
            f"on_build: function must be callable with a LateBuild, got {type(function).__name__}"
        )
    hook = Hook(function)
    with _lock:
        _hooks.append(hook)
    _observe_frameworks()
    return hook


# ---- Announcement of builds ----------------------------------------------------------------------

Reasons = Union["Iterable[str]", "Callable[[], Iterable[str]]"]


def announce(kind: str, name: str, *, key: str, reasons: Reasons = ()) -> None:
    """Apply the policy to a build that is about to start; the caller compiles if this returns.

    Parameters
    ----------
    kind, name, key
        See `LateBuild`.
    reasons : iterable of str, or callable that returns one
        Sentences that explain why the build is necessary.  A callable is called only if there is a
        function or a policy that shows the reasons.

    Raises
    ------
    LateBuildError
        If the policy is ``"error"``, or a current stream is being captured into a CUDA graph.
    """
    is_captured, mode, hooks = _state()
    if mode == "allow" and not hooks:
        return
    found = tuple(reasons() if callable(reasons) else reasons)
    build = LateBuild(kind, name, key, found, _stack())
    for hook in hooks:
        hook._function(build)
    if not is_captured:
        mode = current_policy()  # a hook may have decided about this build
    if mode == "error":
        raise LateBuildError(_message(build, is_captured), build)
    if mode == "warn":
        warnings.warn(f"{build}; it is built now", LateBuildWarning, stacklevel=_stack_level())


def is_observed() -> bool:
    """Return True if `announce` has an effect now: by the policy, a function or a graph capture.

    Code that would have to search for the reasons, or for the need of a build, calls this first.
    """
    _, mode, hooks = _state()
    return mode != "allow" or bool(hooks)


def _state() -> tuple[bool, _Mode, tuple[Hook, ...]]:
    """Return whether a stream is captured, the policy that holds now, and the hooks."""
    from ._capture import is_capturing

    is_captured = is_capturing()
    return is_captured, "error" if is_captured else current_policy(), tuple(_hooks)


def _message(build: LateBuild, is_captured: bool) -> str:
    if is_captured:
        rule = "nothing may be built while a stream is captured into a CUDA graph"
        remedy = "run the code once before the capture"
    else:
        rule = f'the policy of this process is "error" ({_VARIABLE}, tvm_ffi.builds.policy)'
        remedy = (
            "build it in advance and ship the build cache: `tvm-ffi cache export` and "
            "`tvm-ffi cache import`"
        )
    others = "".join(f"\n  {reason}" for reason in build.reasons[1:])
    more = f"\nfurther reasons:{others}" if others else ""
    return f"{build}; {rule}\ncalled at {build.caller}\n{remedy}{more}"


def _stack() -> traceback.StackSummary:
    """Return the stack of this thread up to the innermost frame outside of this package."""
    import traceback

    # Copies without the code objects that frames have since Python 3.13 and that pickle refuses.
    return traceback.StackSummary.from_list(
        traceback.FrameSummary(frame.filename, frame.lineno, frame.name, line=frame.line)
        for frame in traceback.extract_stack(_outside())
    )


def _outside() -> FrameType | None:
    """Return the innermost frame whose file is not in this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return frame


def _stack_level() -> int:
    """Return the argument `stacklevel` with which `announce` warns about its caller's caller."""
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and _is_of_compiler(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    return level


def _is_of_compiler(file: str) -> bool:
    return file.startswith(_PACKAGE) or _COMPILERS.search(file) is not None


def _observe_frameworks() -> None:
    from ._frameworks import observe

    observe(announce)
