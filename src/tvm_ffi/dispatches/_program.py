# SPDX-License-Identifier: Apache-2.0
"""Dispatch programs: signature and candidates as bytes for the runtime.

``runtime/extra/dispatch/dispatch_program.h`` describes the byte format.  The conditions are code of
the check program of the signature, as in launch programs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..codegen import Condition
from ..codegen._conditions import emit_condition
from ..signature import Signature, TensorType
from ..signature._check_program import NONE, CheckWriter, counted, string, words
from ..signature._expression import names_in
from ._candidate import Candidate

__all__ = ["dispatch_program"]

_VERSION = 1


def dispatch_program(
    signature: Signature, candidates: Sequence[Candidate], unavailable: Sequence[str]
) -> bytes:
    """Return the dispatch program of candidates, in the order in which a call tries them.

    Parameters
    ----------
    signature : Signature
        The signature of the dispatch.
    candidates : sequence of Candidate
        The candidates.
    unavailable : sequence of str
        Per candidate, the reason why no call may use it, or an empty string.
    """
    conditions = dict.fromkeys(condition for each in candidates for condition in each.when)
    names = {name for condition in conditions for name in _names(condition)}
    checks = CheckWriter(signature, keeps_values=names)
    checks.write_checks()
    checks.out.emit("end")
    result = checks.out.register() if conditions else NONE
    encoded = [_condition(checks, signature, condition, result) for condition in conditions]
    indices = {condition: index for index, condition in enumerate(conditions)}
    rows = [
        string(candidate.name)
        + words(candidate.device_type)
        + string(candidate.arch or "")
        + string(reason)
        + counted(words(indices[condition]) for condition in candidate.when)
        for candidate, reason in zip(candidates, unavailable)
    ]
    return b"".join(
        (
            words(_VERSION),
            string(signature.name),
            checks.encoded(),
            counted(map(words, _device_tensors(signature))),
            words(result),
            counted(encoded),
            counted(rows),
        )
    )


def _names(condition: Condition) -> list[str]:
    """Return the names of the values that a condition compares, each once."""
    return list(dict.fromkeys(name for each in condition.operands for name in names_in(each)))


def _device_tensors(signature: Signature) -> Iterable[int]:
    """Yield the indices of the tensors that may be on the device on which a candidate runs."""
    for index, parameter in enumerate(signature.parameters):
        type_ = parameter.type
        if isinstance(type_, TensorType) and type_.device != "cpu":
            yield index


def _condition(
    checks: CheckWriter, signature: Signature, condition: Condition, result: int
) -> bytes:
    """Emit a condition, whose value is stored in the register `result`; return its row."""
    out = checks.out
    start = len(out.code)
    out.reuse_temporaries()  # calls copy the initial values of all registers
    variable = str(condition.left)
    if variable in signature.dtype_variables:
        dtypes = signature.dtype_variables[variable]
        register = checks.variables[variable]
        wanted = out.constant(1 + dtypes.index(str(condition.right)))
        operation = "equal" if condition.operator == "==" else "not_equal"
        out.emit(operation, result, register, wanted)
        values = [string(variable) + words(register, out.dtypes(dtypes))]
    else:
        emit_condition(checks, signature, condition, result)
        names = _names(condition)
        values = [string(name) + words(checks.extents[name][0], NONE) for name in names]
    out.emit("end")
    return string(str(condition)) + words(start) + counted(values)
