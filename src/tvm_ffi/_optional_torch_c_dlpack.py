# SPDX-License-Identifier: Apache-2.0
"""What other packages ask for before they use torch; this implementation needs no add-on.

A torch without an exchange table of its own is served through DLPack capsules.
"""

from __future__ import annotations

from typing import Any

__all__ = ["load_torch_c_dlpack_extension", "patch_torch_cuda_stream_protocol"]


def load_torch_c_dlpack_extension() -> Any:
    """Return None: there is nothing to load, and no compiler is started."""
    return None


def patch_torch_cuda_stream_protocol() -> None:
    """Give the streams of an old torch ``__cuda_stream__``, by which other libraries take them.

    Nothing happens without torch, without CUDA, and where torch has it already.
    """
    try:
        import torch
    except ImportError:
        return
    stream_class: Any = torch.cuda.Stream
    if torch.cuda.is_available() and not hasattr(stream_class, "__cuda_stream__"):
        stream_class.__cuda_stream__ = lambda stream: (0, stream.cuda_stream)  # version, address
