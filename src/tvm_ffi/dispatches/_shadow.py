# SPDX-License-Identifier: Apache-2.0
"""Shadow mode: comparison of a candidate with the reference implementation, on copies of outputs.

CPU tensors are read with NumPy; tensors on other devices, and dtypes that NumPy lacks, with torch.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._binding.call import Function
from .._binding.tensor import Tensor
from ..signature import Signature

__all__ = ["Shadow"]

# (relative, absolute) tolerance by the start of the dtype's name; other dtypes must be equal.
_TOLERANCES = {
    "float64": (1e-7, 1e-7),
    "float32": (1.3e-6, 1e-5),
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float8": (0.25, 1e-2),
    "complex128": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
}


@dataclass(frozen=True)
class Shadow:
    """The options of shadow mode, and the comparison of one call.

    Parameters
    ----------
    every : int
        One in `every` calls is compared.
    rtol, atol : float, optional
        Relative and absolute tolerance; by default those of the dtype.
    """

    every: int
    rtol: float | None
    atol: float | None

    def run(
        self, signature: Signature, function: Function, reference: Function, args: Sequence[Any]
    ) -> tuple[Any, str | None]:
        """Call a candidate, then the reference on copies of the outputs.

        Returns
        -------
        result : object
            The result of the call.
        difference : str or None
            The first difference in words.  The outputs and the result are then those of the
            reference.
        """
        outputs = [
            index
            for index, parameter in enumerate(signature.parameters)
            if parameter.is_written and isinstance(args[index], Tensor)
        ]
        copies = {index: _copy(args[index]) for index in outputs}
        expected_args = [copies.get(index, arg) for index, arg in enumerate(args)]
        result = function(*args)
        expected = reference(*expected_args)
        for index in outputs:
            name = signature.parameters[index].name
            difference = self._difference(name, args[index], copies[index])
            if difference is not None:
                break
        else:
            difference = self._difference_of_results("result", result, expected)
        if difference is None:
            return result, None
        for index in outputs:
            _assign(args[index], copies[index])
        return expected, difference

    def _difference_of_results(self, name: str, got: Any, expected: Any) -> str | None:
        if isinstance(got, Tensor) and isinstance(expected, Tensor):
            return self._difference(name, got, expected)
        if _is_sequence(got) and _is_sequence(expected) and len(got) == len(expected):
            pairs = enumerate(zip(got, expected))
            found = (self._difference_of_results(f"{name}[{i}]", *pair) for i, pair in pairs)
            return next((each for each in found if each is not None), None)
        if isinstance(got, float) and isinstance(expected, float):
            rtol, atol = self._tolerance("float64")
            is_close = math.isfinite(expected) and abs(got - expected) <= atol + rtol * abs(
                expected
            )
            if is_close or got == expected or (math.isnan(got) and math.isnan(expected)):
                return None
        elif type(got) is type(expected) and got == expected:
            return None
        return f"{name} is {got!r}, the reference has {expected!r}"

    def _tolerance(self, dtype: str) -> tuple[float, float]:
        found = (pair for name, pair in _TOLERANCES.items() if dtype.startswith(name))
        rtol, atol = next(found, (0.0, 0.0))
        return (
            rtol if self.rtol is None else self.rtol,
            atol if self.atol is None else self.atol,
        )

    def _difference(self, name: str, got: Any, expected: Any) -> str | None:
        """Return the first different element of two tensors in words, or None."""
        import numpy

        left, right = _host(got), _host(expected)
        if left.shape != right.shape:
            return f"{name} has shape {left.shape}, the reference has {right.shape}"
        dtype = str(got.dtype)
        rtol, atol = self._tolerance(dtype)
        if left.dtype.kind in "fcV" or right.dtype.kind in "fcV":
            kind = numpy.complex128 if left.dtype.kind == "c" else numpy.float64
            left, right = left.astype(kind), right.astype(kind)
            with numpy.errstate(all="ignore"):
                is_close = abs(left - right) <= atol + rtol * abs(right)
            is_same = (
                (is_close & numpy.isfinite(right))
                | (left == right)
                | (numpy.isnan(left) & numpy.isnan(right))
            )
        else:
            is_same = left == right
        wrong = numpy.argwhere(~numpy.asarray(is_same))
        if len(wrong) == 0:
            return None
        index = tuple(map(int, wrong[0]))
        where = f"{name}[{', '.join(map(str, index))}]" if index else name
        values = left[index].item(), right[index].item()
        allowed = f", tolerance {rtol:g} relative and {atol:g} absolute" if rtol or atol else ""
        return (
            f"{where} is {values[0]!r}, the reference has {values[1]!r} "
            f"({len(wrong)} of {left.size} elements differ{allowed})"
        )


def _is_sequence(value: Any) -> bool:
    return not isinstance(value, (str, bytes)) and isinstance(value, Sequence)


def _torch_view(tensor: Any) -> Any:
    torch: Any = importlib.import_module("torch")
    return tensor if isinstance(tensor, torch.Tensor) else torch.from_dlpack(tensor)


def _is_on_cpu(tensor: Any) -> bool:
    return not hasattr(tensor, "device") or getattr(tensor.device, "type", "cpu") == "cpu"


def _numpy_view(tensor: Any) -> Any:
    """Return a NumPy array over the memory of a CPU tensor; None if NumPy lacks the dtype."""
    import numpy

    if isinstance(tensor, numpy.ndarray):
        return tensor
    if not isinstance(tensor, Tensor) or not _is_on_cpu(tensor):
        return None
    try:
        return tensor.numpy()
    except (ImportError, TypeError):  # ml_dtypes is not installed
        return None


def _copy(tensor: Any) -> Any:
    array = _numpy_view(tensor)
    return _torch_view(tensor).clone() if array is None else array.copy(order="K")


def _assign(target: Any, source: Any) -> None:
    array = _numpy_view(target)
    if array is None:
        _torch_view(target).copy_(_torch_view(source))
    else:
        array[...] = source


def _host(tensor: Any) -> Any:
    """Return the elements of a tensor as a NumPy array in host memory."""
    array = _numpy_view(tensor)
    if array is not None:
        return array
    found = _torch_view(tensor).cpu()
    return (found.double() if found.is_floating_point() else found).numpy()
