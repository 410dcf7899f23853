# SPDX-License-Identifier: Apache-2.0
"""The JAX adapter `call_tvm_ffi`: arguments, results, signatures and call targets."""

from __future__ import annotations

import ctypes
import threading
from typing import Annotated

import numpy as np
import pytest

import tvm_ffi

jax = pytest.importorskip("jax", exc_type=ImportError)

import jax.numpy as jnp  # noqa: E402

from tvm_ffi.interop import jax as interop  # noqa: E402
from tvm_ffi.interop.jax import call_tvm_ffi  # noqa: E402

from .jax_functions import (  # noqa: E402
    ORACLE,
    Failure,
    functions,  # noqa: F401  (an automatic fixture)
    handler_fixture,  # noqa: F401
    increment,
    scale,
    scaled,
    struct,
)

# ---- arguments and results ----------------------------------------------------------------------


@pytest.mark.parametrize("is_compiled", [False, True], ids=["eager", "jit"])
def test_function_reads_inputs_and_writes_outputs(handler, is_compiled):
    function = jax.jit(scale) if is_compiled else scale
    assert function(jnp.arange(3.0)).tolist() == [0, 2, 4]


def test_argument_order_is_positional_then_outputs_then_keywords(handler):
    seen = []

    def look(*values):
        seen.extend(v if isinstance(v, (int, str, type(None))) else v.shape for v in values)

    x = jnp.zeros(2)
    call_tvm_ffi(look, x, 5, "a", None, out=[struct((3,)), struct((4, 1))], z=1, b="text", a=x)
    assert seen == [(2,), 5, "a", None, (3,), (4, 1), 1, "text", (2,)]


VALUES = [
    *(0, 1, -1, 2**63 - 1, -(2**63), True, False, 0.5, -0.0, float("inf"), None),
    *("", "short", "a text that is longer", "täxt", b"\0bytes", (1, "a", 2.5), [1, [2]], {"a": 1}),
    *(tvm_ffi.Shape((3, 4)), tvm_ffi.dtype("float8_e4m3fn"), tvm_ffi.device("cpu", 1)),
    *(np.float32(0.25), np.int8(-3), np.bool_(True)),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_constant_arrives_as_in_a_direct_call(handler, value):
    direct, from_program = [], []
    tvm_ffi.convert_func(direct.append)(value)
    call_tvm_ffi(from_program.append, value, out=())
    assert type(from_program[0]) is type(direct[0])
    assert repr(from_program[0]) == repr(direct[0])
    from_program.clear()  # JAX programs keep the functions that they call alive.


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16", "float32", "float64"])
def test_constant_array_is_a_tensor_in_cpu_memory(handler, dtype):
    seen = []

    def look(values):
        seen.append((values.numpy().tolist(), str(values.dtype), str(values.device)))

    call_tvm_ffi(look, out=(), values=np.array([1, 2], dtype))
    assert seen == [([1, 2], dtype, "cpu:0")]


def test_equal_constants_of_different_types_are_different_programs(handler):
    """JAX compares attributes of programs as Python values, and 1 == 1.0 == True."""
    seen = []

    def look(value):
        seen.append(repr(value))

    for value in (1, 1.0, True, 0.0, -0.0):
        call_tvm_ffi(look, value, out=())
    assert seen == ["1", "1.0", "True", "0.0", "-0.0"]


DTYPES = [
    *("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32"),
    *("bfloat16", "complex64", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz"),
    *("float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e3m4", "float8_e4m3", "float8_e8m0fnu"),
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtype_of_tensors_is_that_of_the_arrays(handler, dtype):
    seen = []

    def copy(x, y):
        seen.append(str(x.dtype))
        y.numpy()[...] = x.numpy()

    x = jnp.ones(3, dtype)
    y = call_tvm_ffi(copy, x, out=struct((3,), x.dtype))
    assert np.asarray(y).tobytes() == np.asarray(x).tobytes()
    assert seen == [dtype]


def written(tensor):
    """Return True if NumPy writes into a tensor, False if NumPy raises ValueError."""
    try:
        tensor.numpy()[...] = 77
    except ValueError as error:
        assert "read-only" in str(error)  # noqa: PT017  (the caller checks the result)
        return False
    return True


def test_operands_and_constants_are_read_only_in_python_functions(handler):
    """JAX arrays are immutable, and the programs of a process share their constants."""
    seen = []

    def write(x, y, values):
        seen.append([(tensor.readonly, written(tensor)) for tensor in (x, y, values)])

    x = jnp.arange(3.0)
    program = jax.jit(lambda: call_tvm_ffi(write, x, out=struct((3,)), values=np.array([1, 2])) + x)
    assert [program().tolist() for _ in range(2)] == [[77, 78, 79]] * 2
    assert x.tolist() == [0, 1, 2]
    assert seen == [[(True, False), (False, True), (True, False)]] * 2


def test_operand_is_not_passed_to_a_function_that_writes_it():
    module = tvm_ffi.cpp.load_inline(
        "bump",
        cpp_sources="void bump(tvm::ffi::TensorView x) { *static_cast<float*>(x.data_ptr()) = 9; }",
        functions={"bump": "bump(x: inout float32[n])"},
    )
    modules, read = [module], []

    def forward(x, y):
        with pytest.raises(BufferError, match="argument 'x' .*read-only, and the function writes"):
            modules[0].bump(x)
        modules[0].bump(y)
        read.append(x.numpy().tolist())

    x = jnp.arange(3.0)
    assert call_tvm_ffi(forward, x, out=struct((3,)))[0] == 9
    assert read == [[0, 1, 2]]
    with pytest.raises(BufferError, match="argument 'x' .*read-only, and the function writes"):
        module.bump(x)
    assert x.tolist() == [0, 1, 2]
    modules.clear()  # JAX programs keep the functions that they call alive.


def test_jax_arrays_are_read_only_in_python_callbacks():
    x = jnp.arange(3.0)
    seen = []
    tvm_ffi.convert_func(lambda tensor: seen.append(written(tensor)))(x)
    assert (seen, x.tolist()) == ([False], [0, 1, 2])


@pytest.mark.parametrize("shape", [(), (1,), (2, 3)], ids=str)
def test_shape_and_strides_of_tensors_are_those_of_the_arrays(handler, shape):
    seen = []

    def look(x, y):
        seen.append((x.shape, x.strides, y.shape))
        y.numpy()[...] = 1

    assert call_tvm_ffi(look, jnp.ones(shape), out=struct(shape)).shape == shape
    strides = {(): (), (1,): (1,), (2, 3): (3, 1)}[shape]
    assert seen == [(shape, strides, shape)]


@pytest.mark.parametrize("shape", [(0,), (2, 0, 3)], ids=str)
def test_arrays_without_elements(handler, shape):
    """XLA removes calls whose outputs are all empty."""
    seen = []

    def look(x, y, z):
        seen.append((x.shape, y.shape))
        z.numpy()[:] = 1

    outputs = [struct(shape), struct((2,))]
    y, z = call_tvm_ffi(look, jnp.ones(shape), out=outputs)
    assert (y.shape, z.tolist(), seen) == (shape, [1, 1], [(shape, shape)])


def test_more_buffers_and_values_than_fit_on_the_stack():
    seen = []
    arrays = [jnp.full((2,) * (1 + i % 4), i) for i in range(60)]
    values = {f"v{i:02}": i for i in range(40)}

    def look(*arguments):
        seen.extend(a if isinstance(a, int) else a.numpy().flat[0] for a in arguments)

    call_tvm_ffi(look, *arrays, out=(), **values)
    assert seen == [*range(60), *range(40)]


def test_64_bit_dtypes_need_jax_enable_x64():
    with pytest.raises(ValueError, match=r"float64, which JAX converts to float32; enable jax_ena"):
        call_tvm_ffi("tests.jax.scaled", jnp.ones(2), out=struct((2,), np.float64))


def test_64_bit_dtypes_with_jax_enable_x64(handler):
    with jax.enable_x64(True):
        for dtype in ("int64", "uint64", "float64", "complex128"):
            x = jnp.ones(2, dtype)
            y = call_tvm_ffi("tests.jax.scaled", x, out=struct((2,), dtype), factor=3)
            assert (y.tolist(), str(y.dtype)) == ([3, 3], dtype)


def bytes_of(tensor, size_bytes):
    """Return the bytes of a tensor with a dtype that NumPy lacks."""
    return (ctypes.c_uint8 * size_bytes).from_address(tensor.data_ptr())


@pytest.mark.parametrize(
    ("dtype", "values", "packed", "last"),  # last: mask of the used bits in the last byte
    [
        ("int4", [1, 0, -1, 7, -8], [0x01, 0x7F, 0x08], 0x0F),
        ("uint4", [1, 0, 15, 7, 8, 3], [0x01, 0x7F, 0x38], 0xFF),
        ("int2", [1, 0, -1, -2, 1], [0b10110001, 0b01], 0b11),
        ("uint2", [1, 0, 3, 2, 1], [0b10110001, 0b01], 0b11),
        ("float4_e2m1fn", [1.0, 0.5, -6.0, 0.0], [0x12, 0x0F], 0xFF),
    ],
    ids=["int4", "uint4", "int2", "uint2", "float4"],
)
@pytest.mark.parametrize("is_compiled", [False, True], ids=["eager", "jit"])
def test_sub_byte_elements_are_packed(dtype, values, packed, last, is_compiled):
    """The first element is in the lowest bits of the first byte, as DLPack specifies."""
    seen = []

    def copy(x, y):
        read, written = bytes_of(x, len(packed)), bytes_of(y, len(packed))
        seen.append((str(x.dtype), x.shape, [*read[:-1], read[-1] & last]))
        written[:] = read[:]

    def call(x):
        return call_tvm_ffi(copy, x, out=struct(x.shape, x.dtype))

    x = jnp.array(values, dtype)
    y = (jax.jit(call) if is_compiled else call)(x)
    assert seen == [(dtype, (len(values),), packed)]
    assert y.dtype == x.dtype
    assert np.asarray(y).astype(np.float32).tolist() == values


def test_sub_byte_elements_between_operations_of_a_program():
    def double(x, y):
        for i, byte in enumerate(bytes_of(x, 2)):
            bytes_of(y, 2)[i] = (byte << 1) & 0xEE

    tvm_ffi.register_global_func(
        "tests.jax.double4", double, signature="tests.jax.double4(x: uint4[n], y: out uint4[n])"
    )
    program = jax.jit(lambda x: call_tvm_ffi("tests.jax.double4", x.astype("uint4")) + 1)
    y = program(jnp.array([1, 2, 3, 7], jnp.int32))
    assert (y.tolist(), str(y.dtype)) == ([3, 5, 7, 15], "uint4")


def test_python_handler_rejects_sub_byte_elements(monkeypatch):
    monkeypatch.setattr(interop, "TARGET", ORACLE)
    with pytest.raises(Failure, match="UNIMPLEMENTED.*the Python handler does not support.*int4"):
        jax.block_until_ready(scale(jnp.ones(4, "int4")))


@pytest.mark.parametrize(
    ("arguments", "out", "message"),
    [
        (lambda: [jax.random.key(0)], (), r"argument #0: .*, got key<fry>.*jax.random.key_data"),
        (lambda: [1, np.zeros(2, jax.dtypes.float0)], (), "argument #1: expected .*float0"),
        (lambda: [np.array(["a"])], (), "argument #0: expected a DLPack dtype, got <U1"),
        (lambda: [np.zeros(2, ">f4")], (), "argument #0: expected a DLPack dtype, got >f4"),
        (list, [struct((2,)), struct((), "O")], "output 1: expected a DLPack dtype, got object"),
    ],
    ids=["key", "float0", "text", "big-endian", "output"],
)
def test_dtypes_without_tensors_are_rejected_by_index(arguments, out, message):
    with pytest.raises(TypeError, match=rf"call_tvm_ffi\('tests.jax.scaled'\): {message}"):
        call_tvm_ffi("tests.jax.scaled", *arguments(), out=out)


def test_dtype_without_tensors_is_rejected_by_name():
    with pytest.raises(TypeError, match=r"call_tvm_ffi\('tests.jax.fail'\): argument 'seed': exp"):
        call_tvm_ffi("tests.jax.fail", seed=jax.random.key(0), out=())


# ---- signatures ---------------------------------------------------------------------------------


def test_output_shapes_are_derived_from_the_signature(handler):
    x = jnp.arange(2.0)
    assert call_tvm_ffi("tests.jax.repeated", x).tolist() == [0, 0, 2, 2]
    assert call_tvm_ffi("tests.jax.repeated", x=x, factor=3).tolist() == [0, 0, 3, 3]
    shape = jax.eval_shape(lambda x: call_tvm_ffi("tests.jax.repeated", x), struct((7,)))
    assert (shape.shape, shape.dtype) == ((14,), np.float32)


def test_inout_argument_is_a_result_and_the_array_is_unchanged(handler):
    x = jnp.arange(3)
    assert call_tvm_ffi("tests.jax.increment", x).tolist() == [1, 2, 3]
    assert jax.jit(lambda x: call_tvm_ffi("tests.jax.increment", x) + x)(x).tolist() == [1, 3, 5]
    assert x.tolist() == [0, 1, 2]


def test_donated_inout_argument_is_written_in_place():
    addresses = []

    def look(x):
        addresses.append(x.data_ptr())
        increment(x)

    tvm_ffi.register_global_func(
        "tests.jax.look", look, signature="tests.jax.look(x: inout float32[n])"
    )
    x = jnp.zeros(1 << 16)
    address = x.unsafe_buffer_pointer()
    y = jax.jit(lambda x: call_tvm_ffi("tests.jax.look", x), donate_argnums=0)(x)
    assert addresses == [address]
    assert x.is_deleted()
    assert y[5] == 1


def test_returned_tensors_are_results(handler):
    even, odd = jax.jit(lambda x: call_tvm_ffi("tests.jax.split", x))(jnp.arange(5))
    assert (even.tolist(), odd.tolist()) == ([0, 2, 4], [1, 3])


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_outputs_have_the_extents_of_an_ellipsis(handler, shape):
    x, z = jnp.full(shape, 3.0), jnp.ones((2, *shape))
    y, total = jax.jit(lambda x, z: call_tvm_ffi("tests.jax.doubled", x, z=z))(x, z)
    assert (y.shape, total.shape) == (shape, shape)
    assert (y == 6).all()
    assert (total == 4).all()
    text = r"'z': \*s is \(.*\), got \(.*7\)"
    with pytest.raises(ValueError, match=text):
        call_tvm_ffi("tests.jax.doubled", x, z=jnp.ones((2, *shape, 7)))


def test_signature_is_read_from_the_annotations_of_a_python_function():
    def negated(
        x: Annotated[tvm_ffi.Tensor, "float32[n]"], y: Annotated[tvm_ffi.Tensor, "out float32[n]"]
    ) -> None:
        np.negative(x.numpy(), out=y.numpy())

    assert call_tvm_ffi(negated, jnp.ones(2)).tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, TypeError, "missing 1 required positional argument: 'x'"),
        ({"x": 5}, TypeError, "argument 'x': expected an array, got int"),
        ({"x": None}, TypeError, "argument 'x': expected an array, got NoneType"),
        (
            {"x": jnp.ones(2), "factor": jnp.ones(2)},
            TypeError,
            r"'factor': expected a scalar, got an array float32\[2\]",
        ),
        ({"x": jnp.ones(2), "factor": "\ud800"}, ValueError, "'factor': .* be encoded as UTF-8"),
        ({"x": jnp.ones(2), "vjp": 5}, TypeError, "`vjp`: expected a callable, got int"),
        ({"x": jnp.ones(2), "jvp": 5}, TypeError, "`jvp`: expected a callable, got int"),
        ({"x": jnp.ones(2), "scale": 1}, TypeError, "unexpected keyword argument 'scale'"),
        ({"x": jnp.ones(2, int)}, ValueError, "'x' must have dtype float32, got int32"),
        ({"x": jnp.ones((2, 2))}, ValueError, r"'x' must have 1 dimensions, got 2 \(shape"),
        ({"x": jnp.ones(2), "out": []}, ValueError, "out=: expected 1 outputs, got 0"),
        ({"x": jnp.ones(2), "out": 5}, TypeError, "out=: expected jax.ShapeDtypeStruct, got int"),
        ({"x": jnp.ones(2), "factor": object()}, TypeError, "'factor': a object cannot be a const"),
        ({"x": jnp.ones(2), "factor": 2**64}, ValueError, "does not fit 64 bits"),
    ],
)
def test_wrong_arguments_are_rejected_when_the_program_is_traced(arguments, error, message):
    with pytest.raises(error, match=message):
        call_tvm_ffi("tests.jax.repeated", **arguments)


def test_number_of_the_signature_must_be_a_constant():
    with pytest.raises(TypeError, match=r"'factor': expected a constant .*, got a traced array"):
        jax.jit(lambda f: call_tvm_ffi("tests.jax.repeated", jnp.ones(2), factor=f))(2.0)


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        (
            "tests.jax.open(x: float32[n], y: out float32[m])",
            "output 'y' depends on m, which no tensor determines",
        ),
        (
            "tests.jax.open(x: float32[n], y: out float32[_])",
            "not say which shape output 'y' has: '_'",
        ),
        (
            "tests.jax.open(x: float32[n], y: out float32[...])",
            "does not say which shape output 'y' has",
        ),
        (
            "tests.jax.open(x: float32[n], y: out Tensor[n])",
            "does not say which dtype output 'y' has",
        ),
    ],
)
def test_output_that_the_signature_does_not_determine_needs_out(signature, message):
    tvm_ffi.register_global_func("tests.jax.open", scaled, signature=signature, override=True)
    with pytest.raises(ValueError, match=message):
        call_tvm_ffi("tests.jax.open", jnp.ones(2))
    assert call_tvm_ffi("tests.jax.open", jnp.ones(2), out=struct((2,))).tolist() == [2, 2]


# ---- targets ------------------------------------------------------------------------------------


def test_function_without_a_name_is_kept_alive_for_the_program():
    program = jax.jit(lambda x: call_tvm_ffi(tvm_ffi.convert_func(scaled), x, out=struct((2,))))
    text = program.lower(jnp.ones(2)).as_text()
    assert "tvm_ffi.interop." in text
    assert program(jnp.ones(2)).tolist() == [2, 2]


def test_generated_name_of_a_function_does_not_change():
    texts = {
        jax.jit(lambda x: call_tvm_ffi(scaled, x, out=struct((2,)))).lower(jnp.ones(2)).as_text()
        for _ in range(2)
    }
    assert len(texts) == 1


def test_global_function_is_called_by_its_name():
    function = tvm_ffi.get_global_func("tests.jax.scaled")
    program = jax.jit(lambda x: call_tvm_ffi(function, x, out=struct((2,))))
    assert 'tests.jax.scaled"' in program.lower(jnp.ones(2)).as_text()


def test_compiled_function_with_a_signature(tmp_path):
    module = tvm_ffi.cpp.load_inline(
        "scale",
        cpp_sources="""
            void scale(tvm::ffi::TensorView x, tvm::ffi::TensorView y, double factor) {
              for (int64_t i = 0; i < x.numel(); ++i) {
                static_cast<float*>(y.data_ptr())[i] =
                    static_cast<float>(factor) * static_cast<const float*>(x.data_ptr())[i];
              }
            }
        """,
        functions={"scale": "scale(x: float32[n], y: out float32[n], factor: float = 3.0)"},
    )
    assert jax.jit(lambda x: call_tvm_ffi(module.scale, x))(jnp.ones(2)).tolist() == [3, 3]


def test_threads_run_programs_concurrently():
    program = jax.jit(scale)
    program(jnp.ones(4))
    barrier, wrong = threading.Barrier(4), []

    def run(value):
        barrier.wait()
        for _ in range(50):
            if program(jnp.full(4, value)).tolist() != [2 * value] * 4:
                wrong.append(value)

    threads = [threading.Thread(target=run, args=(float(i),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_call_without_outputs_is_not_removed():
    seen = []
    jax.jit(lambda x: call_tvm_ffi(lambda x: seen.append(x.shape), x, out=()))(jnp.ones(3))
    jax.effects_barrier()
    assert seen == [(3,)]
