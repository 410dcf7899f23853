# SPDX-License-Identifier: Apache-2.0
"""Memory that parameters of Rust functions borrow: other accesses by safe code are refused.

Regression tests: safe code wrote memory that it was given to read, and accessed the memory of a
`&mut` slice through a tensor that was kept from an earlier call or was in a container.
"""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import tvm_ffi

F32 = np.float32


def shared(parameter: str, function: str, verb: str) -> str:
    """Return the message about memory that a running function borrows."""
    return (
        f"the array shares memory with argument '{parameter}' of {function}(), "
        f"which {verb} it until it returns; pass a copy"
    )


@pytest.fixture(scope="session")
def loaded(build_library):
    return tvm_ffi.load_module(
        build_library("borrows", Path(__file__).with_name("borrows.rs").read_text("utf-8"))
    )


@pytest.fixture
def library(loaded):
    yield loaded
    loaded.keep(None)


def refusal(function, *args) -> str:
    """Return the message of the ValueError that a call raises."""
    with pytest.raises(ValueError, match="shares memory") as caught:
        function(*args)
    return str(caught.value)


# ---- Reads of tensors ----------------------------------------------------------------------------


def test_a_kept_tensor_is_not_read_while_its_memory_is_written(library):
    x = np.zeros(4, F32)
    library.keep(x)
    text = shared("y", "read_kept_while_writing", "writes into")
    assert refusal(library.read_kept_while_writing, x) == text
    assert refusal(library.read_kept_while_writing, x[3:]) == text
    assert list(library.kept_elements()) == [7, 7, 7, 7]


def test_a_kept_tensor_is_read_while_other_memory_is_written(library):
    memory = np.arange(6, dtype=F32)
    library.keep(memory[:3])
    assert list(library.read_kept_while_writing(memory[3:])) == [0, 1, 2]
    assert list(library.read_kept_while_writing(memory[3:3])) == [0, 1, 2]


def test_a_kept_tensor_is_read_while_its_memory_is_read(library):
    x = np.arange(3, dtype=F32)
    library.keep(x)
    assert list(library.read_kept_while_reading(x)) == [0, 1, 2]


def test_a_tensor_in_a_container_is_not_read_while_its_memory_is_written(library):
    x = np.zeros(4, F32)
    text = shared("y", "read_element", "writes into")
    assert refusal(library.read_element, x[::2], [x]) == text
    assert list(library.read_element(x, [np.ones(1, F32)])) == [1]


def test_an_argument_of_any_type_is_not_read_while_its_memory_is_written(library):
    x = np.zeros(4, F32)
    assert refusal(library.read_any, x[1:], x) == shared("y", "read_any", "writes into")
    assert list(library.read_any(x[1:], x[:1])) == [0]


def test_a_borrow_ends_with_the_call_also_after_an_error(library):
    x = np.zeros(2, F32)
    library.keep(x)
    with pytest.raises(RuntimeError, match="panicked"):
        library.read_kept_while_reading(np.zeros(100, F32))
    refusal(library.read_kept_while_writing, x)
    assert library.size(x) == 2
    assert list(library.kept_elements()) == [7, 7]


def test_borrows_of_another_thread_do_not_count(library):
    x, outcomes = np.zeros(2, F32), []
    library.call_while_writing(
        x, lambda: run_in_thread(lambda: outcomes.append(library.size(np.ones(3, F32))))
    )
    assert outcomes == [3]


def run_in_thread(target) -> None:
    thread = threading.Thread(target=target)
    thread.start()
    thread.join()


# ---- Tensors that Rust passes to other functions -------------------------------------------------


@pytest.mark.parametrize("start", [0, 3])
def test_a_tensor_is_not_passed_on_while_its_memory_is_borrowed(library, start):
    x, received = np.zeros(4, F32), []
    library.keep(x)
    text = shared("x", "pass_kept", "reads")
    assert refusal(library.pass_kept, x[start:], received.append) == text
    text = shared("x", "pass_any", "reads")
    assert refusal(library.pass_any, x[start:], received.append, x) == text
    assert received == []
    library.pass_kept(np.zeros(4, F32), received.append)
    library.pass_kept(x[:0], received.append)
    library.pass_any(x[1:], received.append, x[:1])
    assert len(received) == 3


def test_a_tensor_is_returned_while_its_memory_is_borrowed(library):
    x = np.ones(4, F32)
    library.keep(x)
    tensor, size = library.return_kept(x)
    assert (tensor.shape, size) == ((4,), 4)


def test_a_callee_writes_memory_that_the_caller_passes_on(library):
    y = np.zeros(4, F32)
    assert library.lend(y, library.fill) == 9
    np.testing.assert_array_equal(y, [9, 9, 9, 9])


def test_passing_memory_on_does_not_permit_other_accesses(library):
    y = np.zeros(4, F32)
    library.keep(y)
    text = shared("y", "read_kept_while_writing", "writes into")
    assert refusal(library.lend, y, library.read_kept_while_writing) == text
    assert library.lend_to_read(y, library.size) == 4
    text = "fill() argument 'y': " + shared("x", "lend_to_read", "reads")
    assert refusal(library.lend_to_read, y, library.fill) == text


# ---- Calls during a call -------------------------------------------------------------------------


def test_a_function_does_not_write_memory_that_its_caller_reads(library):
    x = np.zeros(4, F32)
    text = "fill() argument 'y': " + shared("x", "call_while_reading", "reads")
    assert refusal(library.call_while_reading, x, lambda: library.fill(x[2:])) == text
    assert library.call_while_reading(x, lambda: library.size(x[1:])) == 3


def test_a_function_does_not_read_memory_that_its_caller_writes(library):
    x = np.zeros(4, F32)
    text = "size() argument 'x': " + shared("y", "call_while_writing", "writes into")
    assert refusal(library.call_while_writing, x, lambda: library.size(x[2:])) == text
    assert library.call_while_writing(x[2:], lambda: library.size(x[:2])) == 2


def test_calls_of_coroutines_end_in_any_order(library):
    """A coroutine can switch stacks while a Rust function runs, so that calls are not nested."""
    greenlet = pytest.importorskip("greenlet")
    x, y = np.zeros(4, F32), np.zeros(4, F32)
    outcomes = []

    def second():
        library.call_while_writing(y, first_stack.switch)
        outcomes.append(library.size(y))

    first_stack, second_stack = greenlet.getcurrent(), greenlet.greenlet(second)
    library.call_while_writing(x, second_stack.switch)
    assert library.size(x) == 4
    text = "size() argument 'x': " + shared("y", "call_while_writing", "writes into")
    assert refusal(library.size, y) == text
    second_stack.switch()
    assert outcomes == [4]


# ---- Arguments of one call -----------------------------------------------------------------------

OVERLAP = (
    "diagonal() argument 'y': the array shares memory with argument 'x', and the function writes "
    "into it; pass arrays that do not overlap"
)


@pytest.mark.parametrize(
    ("y", "text"),
    [
        (lambda x: x[0], OVERLAP),
        (lambda x: x[1, 1:], OVERLAP),
        (lambda x: x[:, 1], OVERLAP),
        (lambda x: x[2], None),
    ],
)
def test_a_slice_of_a_compact_tensor_contains_no_element_of_a_written_tensor(library, y, text):
    """A tensor with gaps may be interleaved with other such tensors, but not with a slice."""
    x = np.ones((3, 4), F32)
    if text is None:
        library.diagonal(x[:2], y(x))
    else:
        assert refusal(library.diagonal, x[:2], y(x)) == text


def test_tensors_with_gaps_may_be_interleaved(library):
    x = np.arange(12, dtype=F32).reshape(3, 4)
    library.diagonal(x[:, ::2], x[0, 1::2])
    assert x[0, 1] == 0


# ---- Compile errors ------------------------------------------------------------------------------

SAFE_ACCESSES = [
    ("fn f(x: pytvmffi::Tensor) { x.view::<f32>(); }", "method takes 0 generic arguments"),
    ("fn f(x: pytvmffi::Tensor) { x.view(); }", "call to unsafe function"),
    ("fn f(mut x: pytvmffi::Tensor) { x.view_mut(); }", "call to unsafe function"),
    ("fn f(x: pytvmffi::Tensor) { x.copy_from_slice(&[1.0f32]); }", "no method named `copy_from"),
    ("fn f(x: pytvmffi::TensorView<'_>) { x.set(&[0], 1.0f32); }", "no method named `set`"),
    ("fn f(x: pytvmffi::TensorView<'_>) { x.as_mut_slice::<f32>(); }", "no method named `as_mut"),
    ("fn f(x: pytvmffi::TensorView<'_>) { x.read_only(); }", "call to unsafe function"),
    (
        "fn f(x: pytvmffi::TensorView<'_>, g: pytvmffi::Function) { let _ = g.call::<()>((x,)); }",
        "IntoArgument<'_>` is not",
    ),
    (
        "fn f(x: pytvmffi::AnyView<'_>) { let _ = x.get::<pytvmffi::TensorMut<'_>>(); }",
        "is not general enough",
    ),
    (
        "fn f(x: pytvmffi::AnyView<'_>) { let _ = x.get::<&mut [f32]>(); }",
        "is not general enough",
    ),
    ("fn f(x: pytvmffi::AnyView<'_>) { let _ = x.borrow::<&[f32]>(); }", "unsafe function"),
    (
        "fn f(x: pytvmffi::Tensor) { std::thread::spawn(move || x.to_vec::<f32>()); }",
        "cannot be sent between threads safely",
    ),
]


@pytest.mark.parametrize(("source", "message"), SAFE_ACCESSES)
def test_safe_code_that_accesses_elements_without_permission_does_not_compile(
    cargo, write_package, source, message
):
    output = cargo("check", cwd=write_package("refused", source), status=101)
    assert message in output
