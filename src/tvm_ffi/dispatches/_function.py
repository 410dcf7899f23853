# SPDX-License-Identifier: Apache-2.0
"""`Dispatch`: a function object that chooses one of several implementations in each call.

The runtime checks the arguments and chooses (``runtime/extra/dispatch``).  `_State` has the
candidates in Python; each change publishes them to the runtime as a dispatch program.  The native
function and the candidates own the state, and the state owns neither, so that there is no cycle.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import partial
from importlib import metadata
from threading import Lock
from typing import Any, Callable

from .._binding.call import (
    NO_DEFAULT,
    Function,
    PreparedCall,
    arguments_in_order,
    called_like_functions,
    convert_func,
    function_of_class,
    named_function,
    set_member_origin,
)
from .._binding.call.description import global_name_of
from .._binding.call.signature_lookup import packable_default
from .._binding.object import set_object_metadata
from ..codegen import LaunchPlan
from ..registry import get_global_func
from ..signature import Signature
from ..signature._check_program import check_program
from ..signature._expression import names_in
from ..signature._metadata import metadata_text
from ._candidate import Candidate, function_of, new_candidate
from ._cpu import feature_names, features_of, processor_features
from ._explanation import CandidateReport, Explanation
from ._program import dispatch_program
from ._shadow import Shadow

__all__ = ["Dispatch", "dispatch", "restored"]

MAX_CANDIDATES = 256  # the runtime keeps the table of each change


class _Origin:
    """Origin of a dispatch or of a bound choice: the signature, as the metadata of a library.

    An origin does not refer to the candidates, because it may outlive the dispatch.
    """

    def __init__(self, signature: Signature, *, is_checked: bool) -> None:
        self.name = signature.name
        self._metadata = metadata_text(signature, {"checked": True} if is_checked else {})

    def metadata(self) -> str:
        return self._metadata

    def doc(self) -> str | None:
        return None

    def library(self) -> str:
        return "a dispatch"

    def reduce(self) -> Any:
        raise TypeError(
            f"cannot pickle the function of the dispatch `{self.name}`: pickle the dispatch, or "
            "register it as a global function"
        )


class _State:
    """The candidates of a dispatch, and their publication to the runtime.

    Threads: `lock` guards the candidates, `disabled` and `order`.
    """

    def __init__(
        self, signature: Signature, cpu: tuple[str, ...] | None, shadow: Shadow | None
    ) -> None:
        self.signature, self.cpu, self.shadow = signature, cpu, shadow
        self.features = processor_features() if cpu is None else features_of(cpu)
        self.candidates: list[Candidate] = []
        self.reference: Candidate | None = None
        self.disabled: dict[str, str] = {}  # name of a candidate -> reason
        self.order: tuple[Candidate, ...] = ()  # in the order in which a call tries them
        self.lock = Lock()
        values = [packable_default(parameter) for parameter in signature.parameters]
        first = max((i + 1 for i, v in enumerate(values) if v is NO_DEFAULT), default=0)
        self.defaults = values[first:]
        self.control: tuple[Any, Any, Any] = (None, None, None)

    def add(self, candidate: Candidate) -> None:
        with self.lock:
            if len(self.candidates) >= MAX_CANDIDATES:
                raise ValueError(
                    f"{self.signature.name}: a dispatch has at most {MAX_CANDIDATES} candidates"
                )
            if candidate.name in self.taken_names():
                raise ValueError(
                    f"{self.signature.name}: there is a candidate {candidate.name!r} already"
                )
            self.candidates.append(candidate)
            try:
                self._publish()
            except BaseException:
                self.candidates.pop()
                raise

    def set_reference(self, candidate: Candidate) -> None:
        with self.lock:
            self.reference = candidate
            self._publish()

    def disable(self, name: str, reason: str) -> bool:
        """Disable a candidate; return False if it is disabled already."""
        with self.lock:
            if name in self.disabled:
                return False
            self.disabled[name] = reason
            self._publish()
            return True

    def taken_names(self) -> set[str]:
        return {candidate.name for candidate in self.candidates} | {"reference"}

    def new_name(self, source: Any) -> str:
        """Return a name for a candidate without a name."""
        stem = getattr(source, "name", None) or getattr(source, "__name__", None)
        stem = stem if isinstance(stem, str) and stem else "candidate"
        taken = self.taken_names()
        names = (stem if i == 1 else f"{stem} {i}" for i in range(1, len(taken) + 2))
        return next(name for name in names if name not in taken)

    def _publish(self) -> None:
        """Publish the candidates to the runtime.  Threads: needs `lock`."""
        # The sort is stable: candidates of one priority stay in the order of their registration.
        order = sorted(self.candidates, key=lambda candidate: -candidate.priority)
        order += [] if self.reference is None else [self.reference]
        unavailable = [
            self.disabled.get(candidate.name) or candidate.unavailable(self.features)
            for candidate in order
        ]
        shadow, every = None, 1
        if self.shadow is not None:
            shadow, every = convert_func(partial(self._compare, tuple(order))), self.shadow.every
        replace = self.control[0]
        replace(
            dispatch_program(self.signature, order, unavailable),
            [candidate.function for candidate in order],
            self.defaults,
            shadow,
            every,
        )
        self.order = tuple(order)

    def _compare(self, order: tuple[Candidate, ...], index: int, *args: Any) -> Any:
        """Run a call in shadow mode: compare the chosen candidate with the reference."""
        candidate = order[index]
        if candidate.is_reference:
            return candidate.function(*args)
        assert self.shadow is not None
        assert self.reference is not None
        result, difference = self.shadow.run(
            self.signature, candidate.function, self.reference.function, args
        )
        if difference is not None and self.disable(
            candidate.name, f"disabled in shadow mode: {difference}"
        ):
            warnings.warn(
                f"{self.signature.name}: candidate {candidate.name!r} differs from the reference "
                f"and is disabled: {difference}",
                RuntimeWarning,
                stacklevel=2,
            )
        return result

    def explain(self, values: tuple[Any, ...]) -> Explanation:
        with self.lock:
            index, *reasons = self.control[1](*values)
            order = self.order
        reports = [
            CandidateReport(
                candidate.name,
                i == index,
                reason or ("" if i == index else f"fits, but {order[index].name!r} precedes it"),
            )
            for i, (candidate, reason) in enumerate(zip(order, reasons))
        ]
        return Explanation(self.signature.name, tuple(reports))

    def depends_on_numbers(self) -> bool:
        """Return True if a condition compares a number, which a prepared call may replace."""
        numbers = {
            parameter.name
            for parameter in self.signature.parameters
            if not hasattr(parameter.type, "shape")
        }
        with self.lock:
            conditions = [condition for each in self.candidates for condition in each.when]
        names = {
            name
            for condition in conditions
            for operand in condition.operands
            for name in names_in(operand)
        }
        return not numbers.isdisjoint(names)

    def reduce(self) -> Any:
        with self.lock:
            candidates = [(each.source, each.options()) for each in self.candidates]
        shadow = self.shadow
        options = {
            "reference": None if self.reference is None else self.reference.source,
            "shadow": None if shadow is None else shadow.every,
            "rtol": None if shadow is None else shadow.rtol,
            "atol": None if shadow is None else shadow.atol,
            "cpu": self.cpu,
        }
        return restored, (str(self.signature), options, candidates)


@called_like_functions
class Dispatch(Function):
    """A function with several implementations, the candidates; `dispatch` creates it.

    A call checks its arguments once, against the signature of the dispatch.  Of the candidates
    whose requirements are met, it calls the one with the highest priority, and of several such
    candidates the one that was added first.

    Raises
    ------
    RuntimeError
        If there are no candidates.
    ValueError
        If no candidate fits; the message lists each candidate with the reason.

    Notes
    -----
    A pickle contains the global name of the dispatch if it is registered, and otherwise the
    candidates.

    Threads: any; candidates may be added during calls.
    """

    _state: _State

    def add(
        self,
        function: Any = None,
        *,
        name: str | None = None,
        when: str | None = None,
        device: str | None = None,
        arch: str | None = None,
        cpu: str | Iterable[str] | None = None,
        priority: int = 0,
    ) -> Any:
        """Add a candidate; without `function`, return a decorator that adds one.

        Parameters
        ----------
        function : Function, LaunchPlan or callable
            The implementation.  It gets all arguments of the signature by position.
        name : str, optional
            Name in errors and explanations; by default the name of the function.
        when : str, optional
            Condition on the arguments: ``"d % 8 == 0 and bias is not None"``,
            ``"T == float16"`` for a dtype variable.
        device : str, optional
            Device type of the tensors, such as ``"cuda"``; by default all devices.
        arch : str, optional
            Lowest GPU architecture, such as ``"sm_80"``; ``"sm_90a"`` is exactly this one, and
            ``"sm_100f"`` is its family.
        cpu : str or sequence of str, optional
            Features of the processor: levels such as ``"x86-64-v3"``, names such as ``"avx2 fma"``.
        priority : int
            Candidates with a higher priority precede.

        Returns
        -------
        Function, LaunchPlan or callable
            The argument `function`, or a decorator that returns its argument.

        Raises
        ------
        TypeError, ValueError
            If the function cannot implement the signature, or a requirement is invalid.
        """
        if function is None:
            return partial(
                self.add, name=name, when=when, device=device, arch=arch, cpu=cpu, priority=priority
            )
        state = self._state
        with state.lock:
            chosen = state.new_name(function) if name is None else name
        if function is self:
            raise ValueError(f"{state.signature.name}: a dispatch cannot be its own candidate")
        state.add(
            new_candidate(
                state.signature,
                function,
                chosen,
                when=when,
                device=device,
                arch=arch,
                cpu=cpu,
                priority=priority,
            )
        )
        return function

    def add_entry_points(self, group: str) -> list[str]:
        """Load the entry points of a group, and call each with this dispatch to add candidates.

        Parameters
        ----------
        group : str
            Group of the entry points in the metadata of installed packages.

        Returns
        -------
        list of str
            Names of the entry points that were loaded.

        Warns
        -----
        RuntimeWarning
            If an entry point raises an exception; the other ones are loaded.
        """
        loaded = []
        for entry in sorted(metadata.entry_points(group=group), key=lambda entry: entry.name):
            try:
                entry.load()(self)
            except Exception as error:
                warnings.warn(
                    f"{self._state.signature.name}: entry point '{entry.name} = {entry.value}' of "
                    f"group '{group}' failed: {type(error).__name__}: {error}",
                    RuntimeWarning,
                    stacklevel=2,
                )
            else:
                loaded.append(entry.name)
        return loaded

    @property
    def candidates(self) -> tuple[str, ...]:
        """Names of the candidates, in the order in which a call tries them."""
        return tuple(candidate.name for candidate in self._state.order)

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """Return the candidate that a call with these arguments uses, and the reasons.

        Raises
        ------
        TypeError, ValueError
            If the signature refuses the arguments.
        """
        return self._state.explain(arguments_in_order(self, args, kwargs))

    def prepare(self, *args: Any, **kwargs: Any) -> PreparedCall:
        """Return a prepared call of the candidate that fits the arguments; see `Function.prepare`.

        The choice is repeated in each run if candidates were added or disabled since, in shadow
        mode, and if a condition contains a number, which a slot may change.
        """
        state = self._state
        if state.shadow is not None or state.depends_on_numbers():
            return super().prepare(*args, **kwargs)
        bound: Function = state.control[2](*arguments_in_order(self, args, kwargs))
        set_member_origin(bound, _Origin(state.signature, is_checked=False))
        return bound.prepare(*args, **kwargs)

    bind = prepare

    def __reduce__(self) -> Any:
        name = global_name_of(self)
        return self._state.reduce() if name is None else (named_function, (name,))


def dispatch(
    signature: Signature | str,
    *,
    reference: Function | LaunchPlan | Callable[..., Any] | None = None,
    shadow: int | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    cpu: str | Iterable[str] | None = None,
) -> Dispatch:
    """Return a function without implementations, to which `Dispatch.add` adds candidates.

    Parameters
    ----------
    signature : Signature or str
        Signature that callers see; it has a name and no variadic parameter.
    reference : Function, LaunchPlan or callable, optional
        Reference implementation: the candidate ``"reference"`` after all others.
    shadow : int, optional
        Shadow mode: one in `shadow` calls also runs the reference, on copies of the outputs.  A
        candidate whose outputs differ is disabled with a RuntimeWarning that names the first
        difference, and the call returns what the reference computed.
    rtol, atol : float, optional
        Relative and absolute tolerance of shadow mode; by default those of the dtype.
    cpu : str or sequence of str, optional
        Features of the processor for which candidates are chosen; by default those of this
        processor.

    Returns
    -------
    Dispatch
        A `Function` with the signature.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid.

    Examples
    --------
    >>> import tvm_ffi
    >>> scale = tvm_ffi.dispatch("scale(n: int, factor: int = 2) -> int")
    >>> @scale.add(when="n % 2 == 0")
    ... def even(n, factor):
    ...     return ("even", n * factor)[1]
    >>> @scale.add
    ... def general(n, factor):
    ...     return n * factor
    >>> scale(4), scale.explain(3).chosen
    (8, 'general')
    """
    declared = Signature.of(signature)
    if not declared.name:
        raise ValueError(f"dispatch: expected a signature with a name, got `{declared}`")
    if check_program(declared) is None:
        raise ValueError(
            f"{declared.name}: a dispatch cannot have a variadic parameter or more than 4096 "
            "parameters"
        )
    features = None if cpu is None else feature_names(declared.name, cpu)
    state = _State(declared, features, _checked_shadow(declared.name, shadow, rtol, atol))
    if state.shadow is not None and reference is None:
        raise ValueError(f"{declared.name}: shadow mode compares with `reference`, which is None")
    function = _new_dispatch(state)
    if reference is not None:
        where = f"{declared.name}: reference"
        found = function_of(where, declared, reference)
        state.set_reference(Candidate("reference", reference, found, is_reference=True))
    return function


def _new_dispatch(state: _State) -> Dispatch:
    create: Any = get_global_func("pytvmffi.DispatchCreate")
    native, *control = create(dispatch_program(state.signature, (), ()), state.defaults)
    state.control = tuple(control)
    set_object_metadata(native, _Origin(state.signature, is_checked=True))
    function = function_of_class(Dispatch, native, {"_state": state})
    assert isinstance(function, Dispatch)
    return function


def _checked_shadow(
    name: str, every: int | None, rtol: float | None, atol: float | None
) -> Shadow | None:
    if every is None:
        return None
    if isinstance(every, bool) or not isinstance(every, int):
        raise TypeError(f"{name}: shadow must be an int, got {type(every).__name__}")
    if every < 1:
        raise ValueError(f"{name}: shadow must be at least 1, got {every}")
    for option, value in (("rtol", rtol), ("atol", atol)):
        if value is not None and not value >= 0:
            raise ValueError(f"{name}: {option} must be at least 0, got {value}")
    return Shadow(every, rtol, atol)


def restored(
    signature: str, options: dict[str, Any], candidates: list[tuple[Any, dict[str, Any]]]
) -> Dispatch:
    """Return a dispatch with these candidates; pickles call this."""
    function = dispatch(signature, **options)
    for source, requirements in candidates:
        function.add(source, **requirements)
    return function


restored.__module__ = "tvm_ffi.dispatches"  # pickles contain the name
