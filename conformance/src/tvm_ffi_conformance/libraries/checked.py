# SPDX-License-Identifier: Apache-2.0
"""Checks of one function on the checking reference, which counts all references.

The process that runs these checks has loaded the reference as its runtime, see
`callers.library`. The reference makes each call and notices broken rules of the callee.
"""

from __future__ import annotations

import ctypes
from typing import Any

from .. import abi
from ..runtimes.case import Mismatch, Topic
from ..runtimes.subject import SAFE_CALL, Runtime
from ..runtimes.values import view
from .calls import FORMS, arguments, wrong_arguments
from .memory import Tensor
from .signature import Signature


def register_checked(signature: Signature) -> list[str]:
    """Register the checks of one function; return their identifiers."""
    topic = Topic(f"checked.{signature.name}", "4.2")

    def call(runtime: Runtime, given: list[Any]) -> None:
        """Call through the reference; release all that the call returns."""
        symbol = getattr(runtime.kernel, abi.SYMBOL_PREFIX + signature.name)
        function = SAFE_CALL(ctypes.cast(symbol, ctypes.c_void_p).value)
        handle = runtime.create(function, None)
        values = [each.view() if isinstance(each, Tensor) else each for each in given]
        packed = (abi.TVMFFIAny * max(1, len(values)))(*values)
        result = abi.TVMFFIAny()
        out = ctypes.byref(result)
        if runtime.TVMFFIFunctionCall(handle, packed, len(values), out) == 0:
            if result.type_index >= abi.kTVMFFIStaticObjectBegin:
                runtime.TVMFFIObjectDecRef(result.v_obj)
        else:
            error = ctypes.c_void_p()
            runtime.TVMFFIErrorMoveFromRaised(ctypes.byref(error))
            runtime.TVMFFIObjectDecRef(error)
        for each in values:
            if each.type_index >= abi.kTVMFFIStaticObjectBegin:
                runtime.TVMFFIObjectDecRef(each.v_obj)
        runtime.TVMFFIObjectDecRef(handle)
        verify()

    @topic.case("right", "A call with right arguments breaks no rule and leaks no reference.")
    def right(runtime: Runtime) -> None:
        call(runtime, arguments(signature))

    @topic.case("objects", "A call with strings and bytes as objects leaks no reference.")
    def objects(runtime: Runtime) -> None:
        given = arguments(signature)
        for position, parameter in enumerate(signature.parameters):
            for form in FORMS.get(parameter.kind, ()):
                if form.name == "object":
                    given[position] = form.make(runtime)
        call(runtime, given)

    @topic.case("wrong", "Refused calls break no rule and leak no reference.")
    def refused(runtime: Runtime) -> None:
        call(runtime, [*arguments(signature), view(None)])
        for wrong in wrong_arguments(signature):
            given = arguments(signature)
            given[wrong.position] = wrong.make(runtime)
            call(runtime, given)

    return [f"checked.{signature.name}.{name}" for name in ("right", "objects", "wrong")]


def verify() -> None:
    """Raise `Mismatch` with the rules that were broken since the reference started."""
    from ..callers.start import finish_calls

    found = finish_calls()
    if found:
        raise Mismatch("; ".join(dict.fromkeys(str(each) for each in found)))
