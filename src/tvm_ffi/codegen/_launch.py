# SPDX-License-Identifier: Apache-2.0
"""`LaunchPlan`: the launch of a GPU kernel as data, from signature to launch grid.

Callers see a signature. After its checks, a plan selects the first launch variant whose condition
holds and that has an image for the device. Kernel arguments are written as the arguments of a C
function (`tvm_ffi.codegen.make_wrapper`). Grid, block, cluster and shared memory are expressions
over the extents and integers of the signature: ``cdiv(n, 1024)``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Union

from ..signature import Signature
from ..signature._expression import Extent
from ..signature._parsing import parse_extent
from ._conditions import conditions_of
from ._device_image import DeviceImage
from ._launch_checks import check_plan
from ._launch_parts import Launch, compared_with_none
from ._wrapper import Wrapper, callees_of, prepared, with_given

__all__ = ["LaunchPlan", "described_plans", "make_launch_plan", "three_extents"]

Amount = Union[int, str, "list[int | str]", "tuple[int | str, ...]"]
Source = Union[DeviceImage, bytes, str, "os.PathLike[str]"]


@dataclass(frozen=True)
class LaunchPlan:
    """A function that checks its arguments, computes the grid and launches a device kernel.

    Parameters
    ----------
    signature : Signature
        Signature that callers see, with every condition that the kernel relies on.
    launches : tuple of Launch
        The launch variants; a call uses the first one whose condition holds and that has an image
        for the device.

    Raises
    ------
    ValueError
        If the members contradict each other or the images, see `make_launch_plan`.

    Notes
    -----
    Plans are immutable.  `tvm_ffi.codegen.launch_module` creates a module from them, and
    `tvm_ffi.codegen.c.source_of` a C file.
    """

    signature: Signature
    launches: tuple[Launch, ...]

    def __post_init__(self) -> None:
        check_plan(self.signature, self.launches)

    @property
    def name(self) -> str:
        """Name by which callers find the function in a library or module."""
        return self.signature.name

    @staticmethod
    def first_of(plans: Iterable[LaunchPlan]) -> LaunchPlan:
        """Return one plan with the launch variants (kernels with conditions) of several plans.

        The order of the launch variants is that of `plans`.

        Raises
        ------
        ValueError
            If the plans have different signatures, or `plans` is empty.
        """
        plans = list(plans)
        signatures = list(dict.fromkeys(str(plan.signature) for plan in plans))
        if len(signatures) != 1:
            listed = " and ".join(f"`{text}`" for text in signatures) or "none"
            raise ValueError(f"expected launch plans with one signature, got {listed}")
        launches = [launch for plan in plans for launch in plan.launches]
        return LaunchPlan(plans[0].signature, tuple(launches))

    def wrapper_of(self, launch: Launch) -> Wrapper:
        """Return a `Wrapper` whose callee is the kernel of a launch variant, not a C function."""
        signature = with_given(self.signature, compared_with_none(launch.when, "is not"))
        return Wrapper(signature, launch.kernels, launch.arguments, "void")


def make_launch_plan(
    signature: Signature | str,
    images: Source | Sequence[Source],
    kernel: str | None = None,
    *,
    arguments: Sequence[str] | None = None,
    grid: Amount = 1,
    block: Amount = 1,
    cluster: Amount | None = None,
    shared_memory: int | str = 0,
    cooperative: bool = False,
    programmatic: bool = False,
    when: str | None = None,
) -> LaunchPlan:
    """Return the launch plan of a kernel.

    Parameters
    ----------
    signature : Signature or str
        Signature that callers see: ``"scale(x: float32[n], y: out float32[n], a: float32)"``.
        Tensors passed by address are ``on cuda`` unless the signature names another device.
    images : DeviceImage, bytes, str or path, or a sequence of them
        Device code: the contents of a cubin or a fatbin, the text of PTX, or the path of a file;
        one for each architecture.
    kernel : str, optional
        Name of the kernel in the images; by default the name of the function.  ``{T}`` is replaced
        by the dtype of the variable ``T``.
    arguments : sequence of str, optional
        Arguments of the kernel, as in `tvm_ffi.codegen.make_wrapper`: ``"x"``, ``"int32 n"``,
        ``"x.strides[0]"``, ``"null"``, ``"workspace(4*n)"``.  By default the parameters in order,
        followed by the results.
    grid, block, cluster : int or str, or up to three
        Blocks of the grid, threads of a block and blocks of a cluster: expressions over the
        signature's names, such as ``"cdiv(n, 1024)"``.
    shared_memory : int or str
        Bytes of dynamic shared memory of a block; more than 48 KiB is requested from the driver.
    cooperative : bool
        Whether all blocks must run at the same time.
    programmatic : bool
        Whether the kernel may start before the previous kernel in the stream has ended.
    when : str, optional
        Condition on the arguments under which a call uses this launch:
        ``"n >= 4096 and m % 16 == 0"``, ``"bias is not None"``.  By default there is no condition.

    Raises
    ------
    OSError
        If a file cannot be read.
    ValueError
        If a name is unknown, an extent exceeds the limits of CUDA, the kernel does not get the
        address of a result or of an ``out`` or ``inout`` parameter, or an image lacks the kernel or
        has one with other parameters (checked if the image lists its kernels).
    """
    listed = [images] if isinstance(images, (DeviceImage, bytes, str, os.PathLike)) else images
    signature = Signature.of(signature)
    conditions = conditions_of(signature.name, when)
    refined, read = prepared(
        signature,
        arguments,
        "cuda",
        given=compared_with_none(conditions, "is not"),
        absent=compared_with_none(conditions, "is"),
    )
    launch = Launch(
        images=tuple(map(DeviceImage.read, listed)),
        kernels=callees_of(refined, refined.name if kernel is None else kernel),
        arguments=read,
        grid=three_extents("grid", grid),
        block=three_extents("block", block),
        cluster=None if cluster is None else three_extents("cluster", cluster),
        shared_memory=_amount("shared_memory", shared_memory),
        cooperative=cooperative,
        programmatic=programmatic,
        when=conditions,
    )
    return LaunchPlan(refined, (launch,))


def described_plans(
    functions: Mapping[str, Mapping[str, Any]], images: Source | Sequence[Source]
) -> list[LaunchPlan]:
    """Return the launch plans of several functions with the same device code.

    Parameters
    ----------
    functions : mapping of str to mapping
        Arguments of `make_launch_plan` by function name; ``signature`` may omit the name.
    images
        As in `make_launch_plan`.

    Raises
    ------
    TypeError
        If an argument is unknown.
    ValueError
        If a signature has another name than its key, or as in `make_launch_plan`.
    """
    plans = []
    for name, parts in functions.items():
        signature = Signature.of(parts.get("signature", "()"))
        if signature.name not in ("", name):
            raise ValueError(f"expected a signature of '{name}', got one of '{signature.name}'")
        rest = {part: value for part, value in parts.items() if part != "signature"}
        plans.append(make_launch_plan(replace(signature, name=name), images, **rest))
    return plans


def three_extents(field: str, amount: Amount) -> tuple[Extent, ...]:
    """Return three expressions for one to three launch sizes; the missing sizes are 1."""
    given = list(amount) if isinstance(amount, (list, tuple)) else [amount]
    if not 1 <= len(given) <= 3:
        raise ValueError(f"{field} must have from 1 to 3 extents, got {len(given)}")
    return (*(_amount(field, extent) for extent in given), *[1] * (3 - len(given)))


def _amount(field: str, amount: int | str) -> Extent:
    if isinstance(amount, str):
        try:
            return parse_extent(amount)
        except ValueError as error:
            raise ValueError(f"{field}: {error}") from None
    if isinstance(amount, bool) or not isinstance(amount, int):
        raise TypeError(f"{field} must be an int or an expression, got {type(amount).__name__}")
    return amount
