# SPDX-License-Identifier: Apache-2.0
"""Functions that third-party packages call to prepare torch for DLPack exchange.

The incumbent builds an extension module for torch versions without the exchange API.  This
package needs none: it exchanges tensors with such a torch through the DLPack protocol.
"""

from __future__ import annotations

from typing import Any

__all__ = ["load_torch_c_dlpack_extension", "patch_torch_cuda_stream_protocol"]


def load_torch_c_dlpack_extension() -> Any:
    """Return None: this package needs no extension module to exchange tensors with torch."""
    return None


def patch_torch_cuda_stream_protocol() -> None:
    """Add ``__cuda_stream__`` to `torch.cuda.Stream` if the installed torch lacks the method.

    CUDA libraries call this method to get the address of a stream.  Do nothing if torch is not
    installed or CUDA is not available.
    """
    try:
        import torch
    except ImportError:
        return
    stream_class: Any = torch.cuda.Stream
    if torch.cuda.is_available() and not hasattr(stream_class, "__cuda_stream__"):
        # The protocol method returns the version of the protocol and the address of the stream.
        stream_class.__cuda_stream__ = lambda stream: (0, stream.cuda_stream)
