# SPDX-License-Identifier: Apache-2.0
"""Error messages for torch tensors that cannot be exported, with the cause and the fix.

They replace the message of torch, which contains a C++ stack.  This module is imported only after
torch has refused to export a tensor.
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["FAKE_TENSOR", "message_for", "without_native_stack"]

_CUSTOM_OPERATOR = "register the function as a custom operator (torch.library.custom_op)"
FAKE_TENSOR = (
    "torch FakeTensor holds no data: native functions cannot be called while tracing; "
    "register the function as a custom operator with a fake implementation"
)
# Start of the line in torch's error messages after which the frames of the C++ stack follow.
_STACK = "\nException raised from "


def message_for(tensor: Any) -> str | None:
    """Return the error message for a tensor that torch cannot export; None for an unknown cause."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not isinstance(tensor, torch.Tensor):
        return None
    transform = _message_for_transform(torch, tensor)
    if transform is not None:
        return transform
    if tensor.is_nested:
        return (
            "torch nested tensor consists of several tensors: pass the tensors of tensor.unbind(), "
            "or tensor.values() and tensor.offsets()"
        )
    if tensor.layout != torch.strided:
        return (
            f"torch tensor with layout {tensor.layout} has no strided memory: pass "
            "tensor.to_dense(), or the tensors of which it consists"
        )
    if tensor.device.type == "meta":
        return (
            "torch tensor on device 'meta' holds no data: create one with data, such as "
            "torch.empty_like(tensor, device='cpu'); for shapes without data, call the function's "
            "operator, tvm_ffi.interop.torch.operator_of(function)"
        )
    if tensor.is_quantized:
        return (
            f"torch tensor of {tensor.dtype} is quantized, but DLPack has no such dtype: pass "
            "tensor.int_repr() with scale and zero point, or tensor.dequantize()"
        )
    return None


def _message_for_transform(torch: Any, tensor: Any) -> str | None:
    """Return the error message for a tensor inside a torch.func transform, otherwise None."""
    functorch = getattr(torch._C, "_functorch", None)
    if functorch is None or not functorch.is_functorch_wrapped_tensor(tensor):
        return None
    if functorch.is_batchedtensor(tensor):
        return (
            "torch tensor inside torch.vmap represents a whole batch: call the function outside of "
            f"vmap, or {_CUSTOM_OPERATOR} with register_vmap"
        )
    if functorch.is_gradtrackingtensor(tensor):
        return (
            "torch tensor inside a transform of torch.func (grad, jvp, vjp) does not own memory: "
            "pass tensor.detach() outside of the transform, or make the function a "
            "torch.autograd.Function with backward or jvp"
        )
    return (
        "torch tensor inside a transform of torch.func does not own memory: call the function "
        f"outside of the transform, or {_CUSTOM_OPERATOR}"
    )


def without_native_stack(text: str) -> str:
    """Return an error message of torch without its C++ stack."""
    return text.partition(_STACK)[0]
