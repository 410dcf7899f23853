# SPDX-License-Identifier: Apache-2.0
"""Objects as JSON text and back, and what pickles name.

The text lists the object and all it refers to as nodes, children before parents; what several
parents share is stored once.
"""

from __future__ import annotations

from . import _ffi_api
from ._binding.call import function_of_class, named_function
from ._binding.object import empty_object, opaque_object, show_in
from ._binding.tensor import tensor_of_content
from ._binding.values import create_dtype
from ._internal.lazy import Any

__all__ = ["from_json_graph_str", "to_json_graph_str"]

# What pickles name to make values again.  The names stay as they are: files hold them.
show_in(
    __name__,
    *(create_dtype, empty_object, function_of_class),
    *(named_function, opaque_object, tensor_of_content),
)


def to_json_graph_str(obj: Any, metadata: dict[str, Any] | None = None) -> str:
    """Return a value as the JSON text of its graph.

    Parameters
    ----------
    obj : object
        Anything that can be passed to a function and consists of data: scalars, text, shapes,
        dtypes, devices, containers, objects with registered fields.
    metadata : dict, optional
        What else to store in the text.

    Raises
    ------
    TypeError
        If `obj` contains something without a JSON form, such as a function or a tensor.
    ValueError
        If `obj` is empty, or contains itself.

    Examples
    --------
    >>> to_json_graph_str([1, "a"])
    '{"root_index":2,"nodes":[{"type":"int","data":1},{"type":"ffi.String","data":"a"},\
{"type":"ffi.Array","data":[0,1]}]}'
    """
    return str(_ffi_api.ToJSONGraphString(obj, metadata))


def from_json_graph_str(json_str: str) -> Any:
    """Return the value of a JSON text that `to_json_graph_str` has made.

    Raises
    ------
    ValueError
        If the text is no JSON, or no graph.
    RuntimeError
        If a type in it is not registered in this process.

    Examples
    --------
    >>> from_json_graph_str(to_json_graph_str({"a": 1}))
    {"a": 1}
    """
    return _ffi_api.FromJSONGraphString(json_str)
