# SPDX-License-Identifier: Apache-2.0
"""Launch plans as a module of the runtime's own kind, which needs no compiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..registry import get_global_func
from ..signature._metadata import metadata_text
from ._check_program import program_of
from ._device_image import DeviceImage
from ._launch import LaunchPlan

if TYPE_CHECKING:
    from ..module import Module

__all__ = ["launch_module"]


def launch_module(
    plans: Sequence[LaunchPlan] | LaunchPlan, *, kernels: Sequence[Sequence[Any]] = ()
) -> Module:
    """Return a module whose functions launch kernels.

    Parameters
    ----------
    plans : LaunchPlan or sequence of LaunchPlan
        Its functions.
    kernels : sequence, optional
        More functions of the first image, as `tvm_ffi.cuda` describes them to the runtime.

    Returns
    -------
    Module
        Of kind ``"cuda_driver"``.  It can be saved to bytes and exported, also where there is no
        GPU, and loaded by programs without Python.

    Raises
    ------
    ValueError
        If two plans have one name, or there is none.

    Notes
    -----
    A device gets an image when a function first runs there.  Functions launch on the current stream
    of the device, do not wait, and may be called from several threads and while a CUDA graph is
    captured.
    """
    listed = [plans] if isinstance(plans, LaunchPlan) else list(plans)
    if not listed:
        raise ValueError("expected at least one launch plan, got none")
    images = images_of(listed)
    create = get_global_func("pytvmffi.CUDAModuleCreateWithPlans")
    module: Module = create(
        [image_parts(image) for image in images],
        list(kernels),
        [plan_parts(plan, images) for plan in listed],
    )
    return module


def images_of(plans: Sequence[LaunchPlan]) -> list[DeviceImage]:
    """Return the images of plans, each once."""
    found = (image for plan in plans for launch in plan.launches for image in launch.images)
    return list(dict.fromkeys(found))


def image_parts(image: DeviceImage) -> list[Any]:
    """Return an image as the native side reads it."""
    return [image.content, image.format, image.architecture or ""]


def plan_parts(plan: LaunchPlan, images: Sequence[DeviceImage]) -> list[Any]:
    """Return a plan as the native side reads it."""
    documentation = plan.signature.doc or str(plan.signature)
    metadata = metadata_text(plan.signature)
    return [plan.name, documentation, metadata, program_of(plan, images)]
