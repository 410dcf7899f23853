# SPDX-License-Identifier: Apache-2.0
"""Functions that third-party packages call to prepare torch for DLPack exchange.

This implementation needs no extension module: it exchanges tensors with a torch that lacks the
exchange API through the DLPack protocol.
"""

from __future__ import annotations

from typing import Any

__all__ = ["load_torch_c_dlpack_extension", "patch_torch_cuda_stream_protocol"]


def load_torch_c_dlpack_extension() -> Any:
    """Return None; this implementation does not need the extension module."""
    return None


def patch_torch_cuda_stream_protocol() -> None:
    """Add ``__cuda_stream__`` to `torch.cuda.Stream` if this torch lacks it.

    CUDA libraries read the address of a stream by this method.  Do nothing if torch is not
    installed or CUDA is not available.
    """
    try:
        import torch
    except ImportError:
        return
    stream_class: Any = torch.cuda.Stream
    if torch.cuda.is_available() and not hasattr(stream_class, "__cuda_stream__"):
        stream_class.__cuda_stream__ = lambda stream: (0, stream.cuda_stream)  # version, address
