# SPDX-License-Identifier: Apache-2.0
"""`Explanation`: the candidate that a dispatch chooses for arguments, and the reasons."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CandidateReport", "Explanation"]


@dataclass(frozen=True)
class CandidateReport:
    """One candidate in an `Explanation`.

    Parameters
    ----------
    name : str
        Name of the candidate.
    is_chosen : bool
        Whether the call uses the candidate.
    reason : str
        Reason why the call does not use the candidate; empty for the chosen one.
    """

    name: str
    is_chosen: bool
    reason: str


@dataclass(frozen=True)
class Explanation:
    """The candidate that a dispatch chooses for the arguments of a call, and the reasons.

    Parameters
    ----------
    function : str
        Name of the dispatch.
    candidates : tuple of CandidateReport
        All candidates, in the order in which a call tries them.
    """

    function: str
    candidates: tuple[CandidateReport, ...]

    @property
    def chosen(self) -> str | None:
        """Name of the chosen candidate; None if no candidate fits."""
        return next((each.name for each in self.candidates if each.is_chosen), None)

    def __str__(self) -> str:
        chosen = self.chosen
        head = "no candidate fits" if chosen is None else f"the call uses {chosen!r}"
        width = max((len(each.name) for each in self.candidates), default=0)
        rows = [
            f"  {each.name:{width}}  {'chosen' if each.is_chosen else each.reason}"
            for each in self.candidates
        ]
        return "\n".join([f"{self.function}(): {head}", *rows])
