# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies for signatures: all features that the text form supports."""

from __future__ import annotations

import keyword
from dataclasses import replace

from hypothesis import strategies as st

from tvm_ffi._schema.schema import Schema
from tvm_ffi.signature import (
    EMPTY,
    Expression,
    Parameter,
    Result,
    ScalarType,
    Signature,
    TensorType,
    ValueType,
)

NAMES = st.text("abcxyz_é", min_size=1, max_size=4).filter(
    lambda name: name.isidentifier() and not keyword.iskeyword(name) and name != "_"
)
DTYPES = st.sampled_from(["float32", "float16", "bfloat16", "int8x4", "bool", "float8_e4m3fn"])
LEAVES = st.integers(0, 10) | st.sampled_from(["n", "m"])


def operation(operator, operands):
    """Return an operation; if it fails for all values of the names, only the first operand."""
    try:
        return Expression(operator, operands)
    except ValueError:
        return operands[0]


EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.builds(
        operation,
        st.sampled_from(["+", "-", "*", "//", "%", "cdiv", "min", "max"]),
        st.tuples(inner, inner),
    ),
    max_leaves=8,
)
SHAPES = st.lists(EXPRESSIONS | st.just("_"), max_size=4).flatmap(
    lambda extents: st.sampled_from(
        [extents, [*extents, "..."], ["...", *extents], ["*dims", *extents]]
    )
)


def tensor_type(dtype, shape, layout, *rest):
    """Return a tensor type; a tensor without dimensions has no layout."""
    return TensorType(dtype, shape, None if shape == () else layout, *rest)


TENSORS = st.builds(
    tensor_type,
    st.none() | DTYPES | st.lists(DTYPES, min_size=1, max_size=3) | st.just("T"),
    st.none() | SHAPES.map(tuple),
    st.sampled_from([None, "compact", "strided", "compact from -1"]),
    st.sampled_from([None, "cpu", "cuda:1"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, None, 2, 16, 4096]),
)
SCHEMAS = st.recursive(
    st.sampled_from(["int", "str", "Any", "dtype", "bool", "my.Type"]).map(Schema),
    lambda inner: st.one_of(
        st.builds(lambda one: Schema("Array", (one,)), inner),
        st.builds(lambda key, one: Schema("Map", (key, one)), inner, inner),
        st.builds(lambda one, other: Schema("tuple", (one, other)), inner, inner),
    ),
    max_leaves=4,
)
VALUES = SCHEMAS.map(ValueType)
SCALARS = st.builds(ScalarType, st.sampled_from(["int8", "uint64", "float32"]), st.booleans())
# Types of parameters, each with a strategy for default values.
WITH_DEFAULT = st.one_of(
    st.tuples(st.just(ValueType(Schema("int"))), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just(ValueType(Schema("float"))), st.floats()),
    st.tuples(st.just(ValueType(Schema("str"))), st.text(max_size=10)),
    st.tuples(st.just(ValueType(Schema("bytes"))), st.binary(max_size=10)),
    st.tuples(st.just(ValueType(Schema("bool"))), st.booleans()),
    st.tuples(
        st.just(ValueType(Schema("Array", (Schema("int"),)))),
        st.lists(st.integers(0, 9), max_size=3),
    ),
    st.tuples(TENSORS.filter(lambda tensor: tensor.is_optional), st.none()),
)
# Parameters that bind all extent names that other parameters use.
FIRST = (
    Parameter("all", TensorType(None, ("*dims",))),
    Parameter("first", TensorType("T", ("n", "m"))),
    Parameter("k", ValueType(Schema("int"))),
)


@st.composite
def signatures(draw):
    """Draw a signature with parameters of each kind, in valid order."""
    names = iter(draw(st.lists(NAMES, max_size=6, unique=True)))
    parameters = list(FIRST)
    for kind in ("positional", "positional-default", "variadic", "keyword-only"):
        for _ in range(draw(st.integers(0, 1 if kind == "variadic" else 2))):
            name = next(names, None)
            if name is None or name in ("k", "n", "m", "T"):
                continue
            parameters.append(draw(_parameter(name, kind)))
    return Signature(
        tuple(parameters),
        tuple(draw(st.lists(_results(), max_size=3))),
        draw(st.sampled_from(["", "f", "ns.f", "ns::f"])),
        {"T": ("float32", "float16")},
        draw(st.none() | st.text(max_size=20)),
        draw(st.booleans()),
        tuple(draw(st.lists(st.sampled_from(["ValueError", "TypeError"]), max_size=2))),
    )


@st.composite
def _parameter(draw, name, kind):
    if kind == "positional-default" or (kind == "keyword-only" and draw(st.booleans())):
        type_, default = draw(WITH_DEFAULT)
        doc = draw(st.none() | st.text(max_size=5))
        return Parameter(name, type_, kind.replace("-default", ""), default, doc=doc)
    type_ = draw(TENSORS | SCALARS | VALUES)
    direction = "in"
    if isinstance(type_, TensorType):
        direction = draw(st.sampled_from(["in", "out", "inout", "unknown"]))
    return Parameter(name, type_, kind, EMPTY, direction)


def _results():
    tensors = TENSORS.map(lambda tensor: replace(tensor, alignment=None))
    return st.builds(Result, tensors | SCALARS | VALUES, st.none() | st.just("result"))
