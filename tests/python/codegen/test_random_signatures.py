# SPDX-License-Identifier: Apache-2.0
"""Random signatures: their wrappers compile without warnings and agree with `Signature.check`."""

from __future__ import annotations

import random
from dataclasses import replace

import hypothesis
import numpy as np
import pytest

from tvm_ffi.codegen import make_wrapper
from tvm_ffi.signature import ScalarType, TensorType, ValueType
from tvm_ffi.signature._expression import ExtentError, evaluate, names_in

from ..signature.strategies import signatures
from .printers import built
from .test_agreement import outcome

NUM_SIGNATURES, NUM_CALLS = 80, 25
DTYPES = {"float32": np.float32, "float16": np.float16, "bool": np.bool_}
STRANGERS = (None, 1, -1, 300, 2.5, True, "a", b"a", [1], 2**70)
MOST_ELEMENTS = 1000


def drawn():
    """Return random signatures, the same ones in every run."""
    found = []

    @hypothesis.seed(20)
    @hypothesis.settings(
        max_examples=NUM_SIGNATURES,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(signatures())
    def collect(signature):
        found.append(signature)

    collect()
    return found


@pytest.fixture(scope="module")
def wrappers():
    """Return wrappers of the signatures that C supports, by number; results are omitted."""
    found = []
    for number, signature in enumerate(drawn()):
        named = replace(signature, name=f"f{number}", results=())
        try:
            found.append(make_wrapper(named, "idle", arguments=[]))
        except ValueError as error:
            assert "cannot be passed to C" in str(error)  # noqa: PT017  (what is left out)
    assert len(found) > NUM_SIGNATURES / 4
    return found


@pytest.fixture(scope="module")
def library(checker, c_compiler, wrappers, tmp_path_factory):
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"]
    folder, texts = tmp_path_factory.mktemp(checker), ["void idle(void) {}\n"]
    yield from built(checker, "random_signatures", wrappers, texts, folder, extra_cflags=flags)


@pytest.mark.breaks_rules
def test_check_and_wrapper_agree(library, wrappers):
    chooser = random.Random(7)
    accepted = refused = 0
    for wrapper in wrappers:
        function = getattr(library, wrapper.name)
        for _ in range(NUM_CALLS):
            args, kwargs = arguments(wrapper.signature, chooser)
            raised = outcome(lambda *a, k=kwargs, w=wrapper: w.signature.check(*a, **k), args)
            assert outcome(lambda *a, k=kwargs, f=function: f(*a, **k), args) == raised
            accepted += raised is None
            refused += raised is not None
    assert accepted > 100
    assert refused > 100


def arguments(signature, chooser):
    """Return positional and keyword arguments that mostly match the signature."""
    extents = {}
    values = [value_for(signature, one, extents, chooser) for one in signature.parameters]
    if values and chooser.random() < 0.05:
        values.pop()
    count = sum(parameter.kind != "keyword-only" for parameter in signature.parameters)
    names = [parameter.name for parameter in signature.parameters[count:]]
    return values[:count], dict(zip(names, values[count:]))


def value_for(signature, parameter, extents, chooser):
    if chooser.random() < 0.1:
        return chooser.choice(STRANGERS)
    type_ = parameter.type
    if isinstance(type_, TensorType):
        return tensor_for(signature, type_, extents, chooser)
    if isinstance(type_, ScalarType) and type_.dtype.startswith("float"):
        return 1.5
    origin = "int"
    if isinstance(type_, ValueType):
        schema = type_.schema
        origin = schema.args[0].origin if schema.origin == "Optional" else schema.origin
    number = extents.setdefault(parameter.name, chooser.randrange(1, 4))
    return {"int": number, "float": 1.0, "str": "text", "bytes": b"x", "bool": True}.get(origin)


def tensor_for(signature, type_, extents, chooser):
    shape = []
    for extent in (2,) if type_.shape is None else type_.shape:
        if extent == "...":
            shape += [2] * chooser.randrange(3)
        elif extent == "*dims":
            dims = extents.setdefault(extent, [3] * chooser.randrange(3))
            shape += dims if chooser.random() < 0.9 else [3]
        else:
            shape.append(extent_for(extent, extents, chooser))
    names = signature.dtypes_of(type_) or ("float32",)
    dtype = DTYPES.get(chooser.choice(names), np.float64)
    return np.zeros(shape if np.prod(shape) <= MOST_ELEMENTS else [1], dtype)


def extent_for(extent, extents, chooser):
    for name in names_in(extent):
        extents.setdefault(name, chooser.randrange(1, 4))
    try:
        return min(max(evaluate(extent, extents), 0), MOST_ELEMENTS)
    except ExtentError:
        return 1
