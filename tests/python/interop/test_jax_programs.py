# SPDX-License-Identifier: Apache-2.0
"""The JAX adapter in transformed, exported and forked programs, and errors in its functions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import tvm_ffi

jax = pytest.importorskip("jax", exc_type=ImportError)

import jax.numpy as jnp  # noqa: E402

from tvm_ffi.interop.jax import call_tvm_ffi, export_checks  # noqa: E402

from .jax_functions import (  # noqa: E402
    Failure,
    functions,  # noqa: F401  (an automatic fixture)
    handler_fixture,  # noqa: F401
    scale,
    scaled,
    struct,
)

# ---- transformations ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "calls"),
    [("sequential", 3), ("sequential_unrolled", 3), ("expand_dims", 1), ("broadcast_all", 1)],
)
def test_vmap(handler, method, calls):
    shapes = []

    def twice(x, y):
        shapes.append(x.shape)
        y.numpy()[...] = 2 * x.numpy()

    def row(x):
        return call_tvm_ffi(twice, x, out=struct(x.shape), vmap_method=method)

    assert jax.vmap(row)(jnp.ones((3, 2))).tolist() == [[2, 2]] * 3
    assert shapes == [(2,) if calls == 3 else (3, 2)] * calls


def test_reverse_mode_derivative():
    def rule(inputs, outputs, cotangents):
        assert [x.shape for x in (*inputs, *outputs)] == [(2,), (4,)]
        (cotangent,) = cotangents
        return cotangent.reshape(-1, 2).sum(1) * 2

    def loss(x):
        return (call_tvm_ffi("tests.jax.repeated", x, vjp=rule) * jnp.arange(4.0)).sum()

    assert jax.grad(loss)(jnp.ones(2)).tolist() == [2, 10]
    assert jax.jit(jax.grad(loss))(jnp.ones(2)).tolist() == [2, 10]
    assert jax.vmap(jax.grad(loss))(jnp.ones((2, 2))).tolist() == [[2, 10]] * 2


def test_forward_mode_derivative():
    def rule(inputs, outputs, tangents):
        assert [x.shape for x in (*inputs, *outputs)] == [(2,), (4,)]
        (tangent,) = tangents
        return (tangent * 2).repeat(2)

    def function(x):
        return call_tvm_ffi("tests.jax.repeated", x, jvp=rule)

    _, tangent = jax.jvp(function, (jnp.ones(2),), (jnp.array([1.0, 3.0]),))
    assert tangent.tolist() == [2, 2, 6, 6]
    assert jax.grad(lambda x: function(x).sum())(jnp.ones(2)).tolist() == [4, 4]


@pytest.mark.parametrize("out", [struct((2,)), [struct((2,))]], ids=["array", "sequence"])
def test_derivative_rules_get_tuples_for_any_form_of_out(out):
    """The adapters of JAX and TensorFlow call a rule in the same way."""
    seen = []

    def rule(inputs, outputs, tangents):
        seen.append([type(values) for values in (inputs, outputs, tangents)])
        return [tangents[0] * 3]

    def last(x, **options):
        y = call_tvm_ffi("tests.jax.scaled", x, out=out, **options)
        return y[-1] if isinstance(out, list) else y

    x = jnp.ones(2)
    assert jax.grad(lambda x: last(x, vjp=rule).sum())(x).tolist() == [3, 3]
    assert jax.jvp(lambda x: last(x, jvp=rule), (x,), (x,))[1].tolist() == [3, 3]
    assert seen == [[tuple] * 3] * 2


def test_derivative_of_a_function_with_several_outputs_and_constants():
    def rule(inputs, outputs, cotangents):
        even, odd = cotangents
        return jnp.stack([even, odd], 1).reshape(-1), None

    def both(x, y, even, odd):
        even.numpy()[:], odd.numpy()[:] = x.numpy()[::2], x.numpy()[1::2]

    def loss(x):
        outputs = [struct((1,)), struct((1,))]
        even, odd = call_tvm_ffi(both, x, jnp.arange(2), out=outputs, vjp=rule)
        return (2 * even + 5 * odd).sum()

    assert jax.grad(loss)(jnp.ones(2)).tolist() == [2, 5]


def test_derivative_rule_may_call_another_function():
    def rule(inputs, outputs, cotangents):
        return scale(*cotangents)

    def loss(x):
        return scale(x, vjp=rule).sum()

    assert jax.grad(loss)(jnp.ones(3)).tolist() == [2, 2, 2]


def test_differentiation_without_a_rule_is_an_error():
    with pytest.raises(ValueError, match="cannot be differentiated"):
        jax.grad(lambda x: scale(x).sum())(jnp.ones(2))


@pytest.mark.parametrize("kind", ["vjp", "jvp"])
def test_exception_in_a_derivative_rule_propagates(kind):
    def rule(*_):
        raise ZeroDivisionError("in the rule")

    with pytest.raises(ZeroDivisionError, match="in the rule"):
        jax.grad(lambda x: scale(x, **{kind: rule}).sum())(jnp.ones(2))


@pytest.mark.parametrize("kind", ["vjp", "jvp"])
@pytest.mark.parametrize("is_compiled", [False, True], ids=["eager", "jit"])
def test_function_that_fails_in_a_derivative(kind, is_compiled):
    def rule(inputs, outputs, tangents):
        return call_tvm_ffi("tests.jax.fail", tangents[0], out=struct(tangents[0].shape))

    def derivative(x):
        return jax.jvp(lambda x: scale(x, **{kind: rule}), (x,), (x,))[1]

    if kind == "vjp":
        derivative = jax.grad(lambda x: scale(x, **{kind: rule}).sum())
    with pytest.raises(Failure, match="tests.jax.fail.*KeyError"):
        jax.block_until_ready((jax.jit(derivative) if is_compiled else derivative)(jnp.ones(2)))
    assert scale(jnp.ones(2)).tolist() == [2, 2]


def test_wrong_number_of_cotangents_is_rejected():
    def loss(x):
        return scale(x, vjp=lambda i, o, c: (*c, *c)).sum()

    with pytest.raises(ValueError, match="vjp: expected 1 cotangents, one per array, got 2"):
        jax.grad(loss)(jnp.ones(2))
    with pytest.raises(TypeError, match="expected vjp or jvp, got both"):
        scale(jnp.ones(2), vjp=loss, jvp=loss)


def test_loops_and_conditions():
    def body(_, x):
        return call_tvm_ffi("tests.jax.increment", x)

    x = jnp.zeros(2, int)
    assert jax.lax.fori_loop(0, 5, body, x).tolist() == [5, 5]
    carried, _ = jax.lax.scan(lambda c, _: (body(0, c), None), x, length=3)
    assert carried.tolist() == [3, 3]
    chosen = jax.jit(lambda p, x: jax.lax.cond(p, lambda x: body(0, x), lambda x: x, x))
    assert (chosen(True, x).tolist(), chosen(False, x).tolist()) == ([1, 1], [0, 0])


def test_exported_program_runs_in_another_process(tmp_path):
    exported = jax.export.export(
        jax.jit(lambda x: call_tvm_ffi("tests.jax.repeated", x)),
        disabled_checks=export_checks(),
    )(struct((2,)))
    path = tmp_path / "program"
    path.write_bytes(exported.serialize())
    program = f"""
        import jax, numpy as np, tvm_ffi, tvm_ffi.interop.jax
        exported = jax.export.deserialize(open({str(path)!r}, "rb").read())
        try:
            print(exported.call(np.ones(2, np.float32)))
        except jax.errors.JaxRuntimeError as error:
            print(error)
        def repeated(x, y, factor):
            y.numpy()[:] = (x.numpy() * factor).repeat(2) + 1
        tvm_ffi.register_global_func("tests.jax.repeated", repeated)
        print(exported.call(np.ones(2, np.float32)).tolist())
    """
    done = subprocess.run(
        [sys.executable, "-c", "import jax.export\n" + textwrap.dedent(program)],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    missing, result = done.stdout.splitlines()
    assert "no global function is named 'tests.jax.repeated'" in missing
    assert result == "[3.0, 3.0, 3.0, 3.0]"


CACHED = """
    import sys
    import jax, jax.numpy as jnp, numpy as np, tvm_ffi
    from jax._src import monitoring
    from tvm_ffi.interop.jax import call_tvm_ffi
    results = []
    def count(event, **_):
        if event.endswith(("/cache_hits", "/cache_misses")):
            results.append(event.rpartition("_")[2])
    x = jnp.ones(2)
    functions = [tvm_ffi.load_module(path).scale for path in sys.argv[1:]]
    monitoring.register_event_listener(count)
    for function in functions:
        print(jax.jit(lambda x: call_tvm_ffi(function, x))(x).tolist(), end=" ")
    print(*results)
"""


def test_programs_with_functions_of_modules_hit_the_compilation_cache(tmp_path):
    """Regression: the name of the function in the program was random in each process."""
    library, copy, other = (tmp_path / f"{name}.so" for name in ("library", "copy", "other"))
    for path, factor in ((library, 3), (other, 4)):
        built = tvm_ffi.cpp.build_inline(
            "scale",
            cpp_sources="""
                void scale(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
                  for (int64_t i = 0; i < x.numel(); ++i) {
                    static_cast<float*>(y.data_ptr())[i] =
                        FACTOR * static_cast<const float*>(x.data_ptr())[i];
                  }
                }
            """,
            functions={"scale": "scale(x: float32[n], y: out float32[n])"},
            extra_cflags=[f"-DFACTOR={factor}"],
        )
        shutil.copy(built, path)
    shutil.copy(library, copy)
    environment = {
        **os.environ,
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }

    def run(*libraries):
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(CACHED), *map(str, libraries)],
            capture_output=True, text=True, timeout=120, check=True, env=environment,
        ).stdout.strip()  # fmt: skip

    assert run(library) == "[3.0, 3.0] misses"
    assert run(copy) == "[3.0, 3.0] hits"
    assert run(other) == "[4.0, 4.0] misses"
    assert run(library, copy) == "[3.0, 3.0] [3.0, 3.0] hits misses"


def test_programs_with_symbolic_shapes():
    (n,) = jax.export.symbolic_shape("n")
    exported = jax.export.export(
        jax.jit(lambda x: call_tvm_ffi("tests.jax.repeated", x)),
        disabled_checks=export_checks(),
    )(struct((n,)))
    assert str(exported.out_avals[0].shape) == "(2*n,)"
    assert exported.call(np.ones(3, np.float32)).tolist() == [2] * 6


FOUR_DEVICES = """
    import os, sys
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
    import jax, numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
    from tvm_ffi.interop.jax import call_tvm_ffi
    shapes = []
    def twice(x, y):
        shapes.append(x.shape)
        y.numpy()[...] = 2 * x.numpy()
    mesh = Mesh(np.array(jax.devices()), ("i",))
    def call(x):
        out = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return call_tvm_ffi(twice, x, out=out, has_side_effect="effect" in sys.argv)
    if "shard_map" in sys.argv:
        call = jax.shard_map(call, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
    x = jax.device_put(np.arange(8, dtype=np.float32), NamedSharding(mesh, P("i")))
    try:
        y = jax.block_until_ready(jax.jit(call)(x))
        print(y.astype(int).tolist(), list(y.sharding.spec), shapes)
    except jax.errors.JaxRuntimeError as error:
        print(error)
"""
WHOLE, PARTS = f"[] {[(8,)] * 4}", f"['i'] {[(2,)] * 4}"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], f"[0, 2, 4, 6, 8, 10, 12, 14] {WHOLE}"),
        (["shard_map"], f"[0, 2, 4, 6, 8, 10, 12, 14] {PARTS}"),
        (["shard_map", "effect"], f"[0, 2, 4, 6, 8, 10, 12, 14] {PARTS}"),
        (["effect"], "Side-effect HLO must have sharding"),
    ],
    ids=["jit", "shard_map", "shard_map-side-effect", "jit-side-effect"],
)
def test_sharded_arrays(options, expected):
    """The program runs in a separate process: the number of devices is fixed when JAX starts.

    Outside `shard_map`, each device calls the function with the whole array, and XLA rejects calls
    with side effects.
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FOUR_DEVICES), *options],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert expected in done.stdout


# ---- forks --------------------------------------------------------------------------------------

FORK = """
    import os, sys
    import jax, jax.numpy as jnp, numpy as np, tvm_ffi
    from tvm_ffi.interop.jax import call_tvm_ffi
    def twice(x, y):
        y.numpy()[...] = 2 * x.numpy()
    out = jax.ShapeDtypeStruct((2,), np.float32)
    def program(x):
        return call_tvm_ffi(twice, x, out=out) + 1
    ones = np.ones(2, np.float32)
    if sys.argv[1] == "started":
        jax.jit(program)(ones)
    child = os.fork()
    if child == 0:
        try:
            print(jax.jit(lambda x: program(x))(ones).tolist(), flush=True)
        except RuntimeError as error:
            print(str(error).splitlines()[0], flush=True)
        os._exit(0)
    print(os.waitpid(child, 0)[1], jax.jit(program)(ones).tolist())
"""


@pytest.mark.parametrize(
    ("when", "in_child"),
    [
        ("imported", "[3.0, 3.0]"),
        ("started", "call_tvm_ffi('twice'): this process was forked after JAX had started"),
    ],
)
def test_call_in_a_forked_process(when, in_child):
    """XLA's threads do not exist in the child, so a program there would wait forever."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(FORK), when],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    child, parent = done.stdout.splitlines()
    assert child.startswith(in_child)
    assert parent == "0 [3.0, 3.0]"


# ---- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "text", "status"),
    [
        (ValueError, "n is 3", "INVALID_ARGUMENT: .*ValueError: n is 3"),
        (TypeError, "a str", "INVALID_ARGUMENT: .*TypeError: a str"),
        (IndexError, "5", "OUT_OF_RANGE: .*IndexError: 5"),
        (MemoryError, "all of it", "RESOURCE_EXHAUSTED: .*MemoryError: all of it"),
        (RuntimeError, "x" * 5000, "INTERNAL: .*RuntimeError: x{5000}"),
        (RuntimeError, "one\0two", r"INTERNAL: .*RuntimeError: one\\0two"),
    ],
    ids=["value", "type", "index", "memory", "long", "nul"],
)
def test_error_of_the_function_ends_the_program_with_kind_and_message(handler, kind, text, status):
    def raise_it(x, y):
        raise kind(text)

    with pytest.raises(Failure, match=status):
        jax.block_until_ready(call_tvm_ffi(raise_it, jnp.ones(2), out=struct((2,))))
    assert scale(jnp.ones(2)).tolist() == [2, 2]


def test_error_names_the_function():
    with pytest.raises(Failure, match=r"call_tvm_ffi\('tests.jax.fail'\): KeyError"):
        jax.block_until_ready(call_tvm_ffi("tests.jax.fail", jnp.ones(2), out=struct((2,))))


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap], ids=["jit", "vmap"])
@pytest.mark.parametrize("method", ["sequential", "expand_dims", "broadcast_all"])
def test_error_in_a_transformed_call(transform, method):
    def call(x):
        return call_tvm_ffi("tests.jax.fail", x, out=struct(x.shape), vmap_method=method)

    with pytest.raises(Failure, match="KeyError"):
        jax.block_until_ready(transform(call)(jnp.ones((2, 2))))
    assert jax.vmap(scale)(jnp.ones((2, 2))).tolist() == [[2, 2]] * 2


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap], ids=["jit", "vmap"])
def test_wrong_number_of_results_in_a_transformed_call(transform):
    tvm_ffi.register_global_func(
        "tests.jax.too_many",
        lambda x: [np.zeros(2, np.float32)] * 3,
        signature="tests.jax.too_many(x: float32[n]) -> (float32[n], float32[n])",
        override=True,
    )
    x = jnp.ones(2) if transform is jax.jit else jnp.ones((3, 2))
    with pytest.raises(Failure, match="ValueError: the function returned 3 tensors, expected 2"):
        jax.block_until_ready(transform(lambda x: call_tvm_ffi("tests.jax.too_many", x))(x))


def test_function_that_does_not_exist():
    with pytest.raises(ValueError, match=r"tests.jax.scale; did you mean 'tests.jax.scaled'"):
        call_tvm_ffi("tests.jax.scale", jnp.ones(2), out=struct((2,)))
    with pytest.raises(TypeError, match="a global name, a Function or a callable, got int"):
        call_tvm_ffi(5, out=())
    with pytest.raises(TypeError, match=r"call_tvm_ffi\('tests.jax.scaled'\): expected out= for"):
        call_tvm_ffi("tests.jax.scaled", jnp.ones(2))


def test_function_that_was_removed_before_the_program_runs():
    tvm_ffi.register_global_func("tests.jax.gone", scaled)
    program = jax.jit(lambda x: call_tvm_ffi("tests.jax.gone", x, out=struct((2,))))
    assert program(jnp.ones(2)).tolist() == [2, 2]
    tvm_ffi.remove_global_func("tests.jax.gone")
    with pytest.raises(Failure, match="no global function is named 'tests.jax.gone'"):
        jax.block_until_ready(program(jnp.ones(2)))
    tvm_ffi.register_global_func("tests.jax.gone", scaled)
    assert program(jnp.ones(2)).tolist() == [2, 2]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "TypeError: the function returned None, expected 2 tensors"),
        (np.zeros(3), "ValueError: the function returned 1 tensor, expected 2"),
        (
            (np.zeros(3, np.float32), 5),
            "TypeError: result 1 of the function is int, expected a tensor",
        ),
        (
            (np.zeros(3, np.float32), np.zeros(3, np.float32)),
            r"ValueError: result 1 of the function has shape \[3\], expected \[2\]",
        ),
        (
            (np.zeros(3, np.int32), np.zeros(2, np.float32)),
            "ValueError: result 0 of the function has dtype int32, expected float32",
        ),
    ],
    ids=["none", "too-few", "no-tensor", "shape", "dtype"],
)
@pytest.mark.breaks_rules
def test_results_that_do_not_match_the_signature(result, message):
    tvm_ffi.register_global_func(
        "tests.jax.returning",
        lambda x: result,
        signature="tests.jax.returning(x: float32[n]) -> (float32[cdiv(n, 2)], float32[n // 2])",
        override=True,
    )
    with pytest.raises(Failure, match=message):
        jax.block_until_ready(call_tvm_ffi("tests.jax.returning", jnp.ones(5)))


def test_borrowed_array_that_outlives_the_call_is_an_error():
    references = []

    def keep(x, y):
        references.append(np.from_dlpack(x))

    with pytest.raises(Failure, match="argument #0 of the callback is borrowed"):
        jax.block_until_ready(call_tvm_ffi(keep, jnp.ones(2), out=struct((2,))))
    references.clear()


def test_deleted_and_donated_arrays_are_rejected_by_jax():
    deleted, donated = jnp.ones(2), jnp.ones(2)
    deleted.delete()
    program = jax.jit(scale, donate_argnums=0)
    assert program(donated).tolist() == [2, 2]
    for x in (deleted, donated):
        for call in (scale, jax.jit(scale), program):
            with pytest.raises((RuntimeError, ValueError), match="deleted"):
                call(x)
    assert scale(jnp.ones(2)).tolist() == [2, 2]


def test_array_may_be_deleted_while_the_program_runs():
    """A running JAX program keeps its arguments alive."""

    def slow(x, y):
        time.sleep(0.1)
        y.numpy()[...] = x.numpy()

    x = jnp.full(1000, 3.0)
    y = jax.jit(lambda x: call_tvm_ffi(slow, x, out=struct((1000,))))(x)
    x.delete()
    assert set(y.tolist()) == {3.0}


def test_reserved_attribute_names_are_rejected():
    with pytest.raises(ValueError, match="argument name '__function' is reserved, or names two"):
        call_tvm_ffi("tests.jax.scaled", jnp.ones(2), out=(), __function=1)
