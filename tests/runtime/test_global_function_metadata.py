# SPDX-License-Identifier: Apache-2.0
"""Type schemas of the library's global functions, compared with the contract."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

ABI = json.loads(
    (Path(__file__).resolve().parents[1] / "abi" / "abi.json").read_text(encoding="utf-8")
)

# Prefixes of the names of module loaders; a kind follows, which libraries and tests may define.
LOADER = "ffi.Module.load_from_bytes."


def registered_names(library: Any) -> list[str]:
    """Return the names of all global functions."""
    lister = library.call_global("ffi.FunctionListGlobalNamesFunctor")
    function = ctypes.c_void_p(lister.payload)
    int_index = ABI["type_index"]["kTVMFFIInt"]

    def ask(number: int) -> Any:
        argument = library.any_value(int_index, 0, number & 0xFFFFFFFFFFFFFFFF)
        answer = library.any_value()
        library.check(
            library.functions.TVMFFIFunctionCall(
                function, ctypes.byref(argument), 1, ctypes.byref(answer)
            )
        )
        return answer

    names = [library.take_text(ask(i)) for i in range(ask(-1).payload)]
    library.functions.TVMFFIObjectDecRef(function)
    return names


def test_registered_names_are_those_of_the_contract(library: Any) -> None:
    names = registered_names(library)
    assert len(names) == len(set(names))
    ours = {name for name in names if name.startswith("ffi.") and not name.startswith(LOADER)}
    assert ours, "no global function is registered"
    assert ours <= set(ABI["global_functions"])


def test_metadata_equals_the_schemas_of_the_contract(library: Any) -> None:
    differing = {}
    for name in registered_names(library):
        if name not in ABI["global_function_schemas"]:
            continue
        text = library.take_text(library.call_global("ffi.GetGlobalFuncMetadata", name))
        schema = json.loads(json.loads(text)["type_schema"])
        if schema != ABI["global_function_schemas"][name]:
            differing[name] = schema
    assert differing == {}
