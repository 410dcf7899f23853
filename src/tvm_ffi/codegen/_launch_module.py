# SPDX-License-Identifier: Apache-2.0
"""Modules whose functions launch kernels by launch plans; creating them needs no compiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..registry import get_global_func
from ..signature._metadata import metadata_text
from ._device_image import DeviceImage
from ._launch import LaunchPlan
from ._launch_program import launch_program

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
        The functions of the module.
    kernels : sequence, optional
        Further kernels of the first image, in the form that `tvm_ffi.cuda` passes.

    Returns
    -------
    Module
        A module of kind ``"cuda_driver"``.  It can be saved to bytes and exported without a GPU,
        and loaded by programs without Python.

    Raises
    ------
    ValueError
        If two plans have the same name, or there are no plans.

    Notes
    -----
    The first call on a device loads the image there.  Functions launch on the current stream
    of the device, do not wait for the kernel, and may be called from several threads and during
    CUDA graph capture.
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
    """Return the distinct images of launch plans."""
    found = (image for plan in plans for launch in plan.launches for image in launch.images)
    return list(dict.fromkeys(found))


def image_parts(image: DeviceImage) -> list[Any]:
    """Return a device image as a list of content, format and architecture for the runtime."""
    return [image.content, image.format, image.architecture or ""]


def plan_parts(plan: LaunchPlan, images: Sequence[DeviceImage]) -> list[Any]:
    """Return a launch plan as a list of name, doc, metadata and launch program for the runtime."""
    documentation = plan.signature.doc or str(plan.signature)
    metadata = metadata_text(plan.signature, {"checked": True})
    return [plan.name, documentation, metadata, launch_program(plan, images)]
