# SPDX-License-Identifier: Apache-2.0
"""Type schemas: all printers and parsers of declared types use one notation."""

from __future__ import annotations

import inspect
import json
import re
import time

import pytest

import tvm_ffi
from tvm_ffi import testing
from tvm_ffi._schema.json_form import schema_from_json
from tvm_ffi._schema.parsing import parse_type
from tvm_ffi._schema.printing import TypePrinter
from tvm_ffi._schema.schema import Schema
from tvm_ffi.core import TypeSchema
from tvm_ffi.inspection._signatures import signature_of
from tvm_ffi.registry import get_global_func_metadata, list_global_func_names
from tvm_ffi.stub.lib_state import collect_global_funcs
from tvm_ffi.stub.python_generator.utils import render_func_signature


def declared_functions():
    """Return name and type of each global function (runtime and tests) that declares only a type.

    Functions with a signature, which other tests register, are shown as the signature.
    """
    assert testing.echo is not None  # loads the library that registers the functions
    for name in list_global_func_names():
        metadata = get_global_func_metadata(name)
        schema = metadata.get("type_schema")
        if schema is not None and "named_args" in schema and "signature" not in metadata:
            yield name, TypeSchema.from_json_str(schema)


def printed_types(schema):
    params = [repr(part) for part in schema.named_args["params"]]
    return params, repr(schema.named_args["return"][0])


# ---- Agreement of the printers -------------------------------------------------------------------


def test_many_functions_declare_their_types():
    assert len(dict(declared_functions())) > 150


def test_inspect_signature_matches_type_schema():
    """Regression: the binding printed `Map` as `Map[Any, Any]`, and `ffi.Module` as `Module`."""
    for name, schema in declared_functions():
        signature = inspect.signature(tvm_ffi.get_global_func(name))
        params = [parameter.annotation for parameter in signature.parameters.values()]
        assert (params, signature.return_annotation) == printed_types(schema), name


def test_library_inspection_matches_type_schema():
    for name, schema in declared_functions():
        params, result = printed_types(schema)
        metadata = json.dumps(get_global_func_metadata(name))
        assert signature_of("f", {"metadata": metadata}) == f"({', '.join(params)}) -> {result}", (
            name
        )


def test_stubs_match_type_schema_for_unchanged_names():
    stubs = {func.schema.name: func for group in collect_global_funcs().values() for func in group}
    for name, schema in declared_functions():
        if name not in stubs:
            continue
        params, result = printed_types(schema)
        line = render_func_signature(stubs[name], str, 0)
        shown, _, shown_result = line.removesuffix(": ...").partition("(")[2].rpartition(") -> ")
        # Strict type checkers require the length of a tuple type.
        plain = shown.replace("tuple[Any, ...]", "tuple")
        expected = ", ".join([f"_{i}: {param}" for i, param in enumerate(params)] + ["/"])
        assert plain == (expected if params else ""), name
        assert shown_result == result, name


def test_a_function_that_declares_only_its_result(echo):
    text = '{"type":"ffi.Function","named_args":{"return":[{"type":"int"}]}}'
    assert repr(TypeSchema.from_json_str(text)) == "Callable[..., int]"
    assert signature_of("f", {"metadata": json.dumps({"type_schema": text})}) == "(...) -> int"


# ---- Parsing -------------------------------------------------------------------------------------


def test_printed_types_of_runtime_functions_are_parsed_again():
    for name, schema in declared_functions():
        for part in (*schema.named_args["params"], *schema.named_args["return"], schema):
            assert parse_type(repr(part), TypeSchema) == part, name


@pytest.mark.parametrize(
    ("text", "json_form"),
    [
        ("int", {"type": "int"}),
        ("  my.ns.Type ", {"type": "my.ns.Type"}),
        ("Map", {"type": "Map", "args": [{"type": "Any"}, {"type": "Any"}]}),
        ("tuple", {"type": "tuple"}),
        ("tuple[()]", {"type": "tuple", "args": []}),
        ("None|int", {"type": "Optional", "args": [{"type": "int"}]}),
        ("int | str", {"type": "Union", "args": [{"type": "int"}, {"type": "str"}]}),
        ("Callable", {"type": "Callable"}),
        ("Callable[..., Any]", {"type": "Callable"}),
        (
            "Callable[[], None]",
            {"type": "Callable", "named_args": {"return": [{"type": "None"}], "params": []}},
        ),
        ("std::array[int]", {"type": "std::array", "args": [{"type": "int"}]}),
        ("ffi.String", {"type": "str"}),
    ],
)
def test_types_are_parsed(text, json_form):
    assert parse_type(text, Schema) == schema_from_json(json_form, Schema)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "character 0 of '': expected the name of a type, got the end of the text"),
        ("int |", "character 5 of 'int |': expected the name of a type, got the end of the text"),
        ("Array[int", "character 9 of 'Array[int': expected ']', got the end of the text"),
        ("Array[int]]", "character 10 of 'Array[int]]': expected '|' or the end, got ']'"),
        ("Map[str, 3]", "character 9 of 'Map[str, 3]': expected the name of a type, got '3'"),
        ("int | Map[str]", "character 6: Map must have 0 or 2 type arguments, got 1"),
        ("Callable[int]", "character 9 of 'Callable[int]': expected '[', got 'int'"),
        ("Array[" * 101, "expected at most 100 nested brackets, got '['"),
    ],
)
def test_invalid_types_are_refused_with_the_position(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_type(text, Schema)


LONG = 200_000


@pytest.mark.parametrize(
    "text",
    [
        "Array[" * (LONG // 6),
        "int | " * (LONG // 6) + "int",
        "tuple[" + "int, " * (LONG // 5) + "int]",
        "a" * LONG,
        "a." * (LONG // 2),
        " " * LONG,
        "[" * LONG,
        "tuple[" + "Array[int], " * (LONG // 12) + "]",
    ],
    ids=["nested", "union", "tuple", "name", "dots", "blank", "brackets", "containers"],
)
def test_long_strings_are_parsed_in_linear_time(text):
    start = time.process_time()
    try:
        parse_type(text, Schema)
    except ValueError as error:
        assert len(str(error)) < 200  # noqa: PT017  (success is allowed, too)
    assert time.process_time() - start < 5  # the limit is seconds; quadratic time would be minutes


@pytest.mark.parametrize(
    "text",
    [
        "[with FType = " * 700 + "]",
        "f [with FType = void(int)" + "; a = " * 1500 + "]",
        "f [with FType = " + "long " * 1900 + "()]",
        "f [FType = " + "(" * 4500 + ")" * 4500 + "]",
        "[FType = " + "; " + "a" * 9900,
        "[FType = void()]" * 12_500,
    ],
    ids=["starts", "parameters", "words", "parentheses", "name", "long"],
)
def test_hostile_template_names_are_parsed_in_linear_time(text):
    """Regression: one regular expression searched start, type and parameters: cubic time."""
    start = time.process_time()
    for _ in range(20):
        signature_of("f", {"signature": text})
    assert time.process_time() - start < 5  # the limit is seconds; quadratic time would be minutes


def test_nested_metadata_is_refused():
    text = '{"type":"ffi.Array","args":[' * 20_000
    start = time.process_time()
    assert signature_of("f", {"metadata": json.dumps({"type_schema": text})}) is None
    assert time.process_time() - start < 5  # seconds; quadratic would be minutes


# ---- Printing ------------------------------------------------------------------------------------


def test_the_fallback_is_printed_for_unknown_types():
    schema = Schema("my.Unknown", fallback=Schema("Object"))
    assert TypePrinter().text(schema) == "Object"
    assert TypePrinter(find_type=lambda key: 1).text(schema) == "my.Unknown"
