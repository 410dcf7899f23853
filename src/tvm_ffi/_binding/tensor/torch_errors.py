# SPDX-License-Identifier: Apache-2.0
"""Why torch does not lend the memory of a tensor, and what to do instead, in one sentence.

Torch itself answers with the stack of its C++ code.  Loaded after such a refusal.
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
# Torch writes this line, then the frames of its C++ stack.
_STACK = "\nException raised from "


def message_for(tensor: Any) -> str | None:
    """Return a sentence about a tensor whose memory torch does not lend; None for others."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not isinstance(tensor, torch.Tensor):
        return None
    transform = _words_for_transform(torch, tensor)
    if transform is not None:
        return transform
    if tensor.is_nested:
        return (
            "torch nested tensor is several tensors in one: pass those that tensor.unbind() "
            "gives, or tensor.values() and tensor.offsets()"
        )
    if tensor.layout != torch.strided:
        return (
            f"torch tensor with layout {tensor.layout} has no strided memory: pass "
            "tensor.to_dense(), or the tensors that it consists of"
        )
    if tensor.device.type == "meta":
        return (
            "torch tensor on device 'meta' holds no data: make one that does, as "
            "torch.empty_like(tensor, device='cpu') is, or for tracing "
            f"{_CUSTOM_OPERATOR} with a fake implementation"
        )
    if tensor.is_quantized:
        return (
            f"torch tensor of {tensor.dtype} is quantized, which DLPack has no type for: pass "
            "tensor.int_repr() with scale and zero point, or tensor.dequantize()"
        )
    return None


def _words_for_transform(torch: Any, tensor: Any) -> str | None:
    """Return a sentence about a tensor that stands for another one inside torch.func."""
    functorch = getattr(torch._C, "_functorch", None)
    if functorch is None or not functorch.is_functorch_wrapped_tensor(tensor):
        return None
    if functorch.is_batchedtensor(tensor):
        return (
            "torch tensor inside torch.vmap stands for a whole batch: call the function outside of "
            f"vmap, or {_CUSTOM_OPERATOR} with register_vmap"
        )
    if functorch.is_gradtrackingtensor(tensor):
        return (
            "torch tensor inside a transform of torch.func (grad, jvp, vjp) has no memory of its "
            "own: pass tensor.detach() outside of the transform, or make the function a "
            "torch.autograd.Function with backward or jvp"
        )
    return (
        "torch tensor inside a transform of torch.func has no memory of its own: call the function "
        f"outside of the transform, or {_CUSTOM_OPERATOR}"
    )


def without_native_stack(text: str) -> str:
    """Return the message of torch without the stack of its C++ code."""
    return text.partition(_STACK)[0]
