# SPDX-License-Identifier: Apache-2.0
"""Serialization of values to JSON graphs, and the public path of functions that pickles call.

A JSON graph lists a value and its children as nodes, children before parents; a node that several
parents share is stored once.
"""

from __future__ import annotations

from . import _ffi_api
from ._binding.call import function_of_class, named_function
from ._binding.object import empty_object, opaque_object, set_public_module
from ._binding.tensor import tensor_of_content
from ._binding.values import create_dtype
from ._internal.lazy import Any

__all__ = ["from_json_graph_str", "to_json_graph_str"]

# Functions that pickles call.  Existing pickles contain these names, so they must not change.
set_public_module(
    __name__,
    *(create_dtype, empty_object, function_of_class),
    *(named_function, opaque_object, tensor_of_content),
)


def to_json_graph_str(obj: Any, metadata: dict[str, Any] | None = None) -> str:
    """Serialize a value to a JSON graph.

    Parameters
    ----------
    obj : object
        A value that consists of data: scalars, strings, shapes, dtypes, devices, containers, and
        objects with registered fields.
    metadata : dict, optional
        Additional data to store in the JSON graph, under the key ``metadata``.

    Raises
    ------
    TypeError
        If `obj` contains a value without a JSON form, such as a function or a tensor.
    ValueError
        If `obj` is an empty wrapper or contains itself.

    Examples
    --------
    >>> to_json_graph_str([1, "a"])
    '{"root_index":2,"nodes":[{"type":"int","data":1},{"type":"ffi.String","data":"a"},\
{"type":"ffi.Array","data":[0,1]}]}'
    """
    return str(_ffi_api.ToJSONGraphString(obj, metadata))


def from_json_graph_str(json_str: str) -> Any:
    """Return the value of a JSON graph that `to_json_graph_str` has returned.

    Raises
    ------
    ValueError
        If `json_str` is not valid JSON or not a JSON graph.
    RuntimeError
        If the graph contains a type that is not registered in this process.

    Examples
    --------
    >>> from_json_graph_str(to_json_graph_str({"a": 1}))
    {"a": 1}
    """
    return _ffi_api.FromJSONGraphString(json_str)
