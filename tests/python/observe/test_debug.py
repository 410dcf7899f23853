# SPDX-License-Identifier: Apache-2.0
"""Debug context: kernels with one fault each, right kernels, threads, processes, the command."""

from __future__ import annotations

import contextlib
import ctypes
import textwrap
import threading

import numpy as np
import pytest
from threads_together import run_together

import tvm_ffi

# If two contexts check a call, the first one makes the repairs, also of forged faults.
pytestmark = pytest.mark.undebugged("the context of the process changes the faults")


@pytest.fixture(scope="module")
def faulty(fault_library):
    return tvm_ffi.load_module(fault_library)


def tensor(*values):
    return tvm_ffi.from_dlpack(np.array(values or (1, 2, 3, 4), "float32"))


def array(*shape, dtype="float32"):
    return np.zeros(shape or (4,), dtype)


def text():
    return tvm_ffi.convert("a string on the heap")


def string_object():
    return tvm_ffi.Array(["x"])


# Each row: kernel, its arguments, the rule and the argument in the report.
FAULTS = [
    ("padding_unwritten", [], "any.padding", "result"),
    ("padding_garbage", [], "any.padding", "result"),
    ("bool_two", [], "any.bool", "result"),
    ("bool_byte", [], "any.bool", "result"),
    ("dtype_half", [], "any.payload", "result"),
    ("none_with_payload", [], "any.payload", "result"),
    ("payload_unwritten", [], "call.result-unset", "result"),
    ("small_string_too_long", [], "any.small-length", "result"),
    ("small_string_tail", [], "any.small-length", "result"),
    ("unknown_index", [], "any.type-index", "result"),
    ("negative_index", [], "any.type-index", "result"),
    ("unknown_object_index", [tensor], "any.type-index", "result"),
    ("null_tensor", [], "any.null-object", "result"),
    ("wrong_object_type", [tensor], "any.object-type", "result"),
    ("mistyped_string", [], "any.object-type", "result"),
    ("raw_string", [], "call.result-borrowed", "result"),
    ("byte_array", [], "call.result-borrowed", "result"),
    ("view_of_argument", [tensor], "call.result-borrowed", "result"),
    ("moved_reference", [], "call.result-borrowed", "result"),
    ("no_result", [lambda: 1], "call.result-unset", "result"),
    ("none_result", [lambda: 1], "call.result-unset", "result"),
    ("fails_silently", [], "error.missing", ""),
    ("succeeds_with_error", [], "error.unreported", ""),
    ("returns_five", [], "call.return-code", ""),
    ("error_without_text", [], "error.text", ""),
    ("error_of_unknown_kind", [], "error.kind", ""),
    ("error_without_kind", [], "error.kind", ""),
    ("throw_without_text", [], "error.text", ""),
    ("throw_unknown_kind", [], "error.kind", ""),
    ("fails_with_result", [], "call.result-on-error", "result"),
    ("releases_argument", [tensor], "object.released-too-often", "x"),
    ("releases_argument", [string_object], "object.released-too-often", "x"),
    ("returns_argument", [tensor], "object.released-too-often", "argument 0"),
    ("returns_argument", [array], "object.released-too-often", "argument 0"),
    ("release_tensor", [tensor], "object.released-too-often", "argument 0"),
    ("writes_arguments", [lambda: 1], "call.arguments-constant", "argument 0"),
    ("writes_input", [array, array], "tensor.input-written", "x"),
    ("writes_input", [tensor, tensor], "tensor.input-written", "x"),
    ("sorts_in_place", [tensor], "tensor.input-written", "x"),
    ("negate_input", [tensor, array], "tensor.input-written", "x"),
    ("skips_last", [array, array], "tensor.output-not-written", "y"),
    ("skips_middle", [array], "tensor.output-not-written", "y"),
    ("half_of_output", [array, array], "tensor.output-not-written", "y"),
    ("ignores_strides", [lambda: array(8)[::2]], "tensor.output-not-written", "y"),
    *(
        ("writes_nothing", [lambda dtype=dtype: array(3, 5, dtype=dtype)], rule, "y")
        for rule in ["tensor.output-not-written"]
        for dtype in ("float64", "float16", "int64", "int32", "int16", "uint8", "bool", "complex64")
    ),
    ("writes_nan", [array], "tensor.not-finite", "y"),
    ("writes_infinity", [array], "tensor.not-finite", "y"),
    ("divide_by_zero", [array], "tensor.not-finite", "y"),
    ("moves_tensor", [array], "tensor.fields-written", "argument 0"),
    ("changes_ndim", [array], "tensor.fields-written", "argument 0"),
]


def id_of(row):
    return f"{row[0]}-{row[2]}"


@pytest.mark.parametrize("row", FAULTS, ids=map(id_of, FAULTS))
def test_each_fault_is_named_once(faulty, row):
    name, make_arguments, rule, argument = row
    arguments = [make() for make in make_arguments]
    with tvm_ffi.debug(name, not_finite=True) as found, contextlib.suppress(Exception):
        getattr(faulty, name)(*arguments)
    assert [(fault.function, fault.rule.id, fault.argument) for fault in found] == [
        (name, rule, argument)
    ]
    assert "test_debug.py" in found[0].stack
    assert found[0].rule.sentence in str(found[0])


def rules(found):
    return [(fault.function, fault.argument, fault.rule.id, fault.count) for fault in found]


# ---- Released objects ----------------------------------------------------------------------------

# Each row: the kernel that keeps a pointer, the kernel that uses it after the release, the function
# and the argument in the report, the rule, a part of the message.
USES = [
    ("remember", "writes_remembered", "writes_remembered", "", "used-after", "was written"),
    (
        "remember_data",
        "writes_remembered_data",
        "writes_remembered_data",
        "",
        "used-after",
        "byte 4",
    ),
    ("remember", "returns_remembered", "returns_remembered", "result", "used-after", "released"),
    ("remember", "passes_remembered", "right", "argument 0", "used-after", "the caller passed"),
    (
        "remember",
        "releases_remembered",
        "releases_remembered",
        "",
        "released-too",
        "released again",
    ),
    ("remember", "acquires_remembered", "acquires_remembered", "", "used-after", "was added"),
    ("remember", "uses_remembered", "uses_remembered", "", "used-after", "was added"),
]


@pytest.mark.parametrize("row", USES, ids=[row[1] for row in USES])
def test_a_use_of_a_released_object_is_named_with_its_creation_and_release(faulty, row):
    keep, use, function, argument, rule, message = row
    with tvm_ffi.debug() as found:
        x = faulty.make_tensor(4)
        faulty[keep](x)
        del x  # the release
        faulty[use](*([faulty.right] if use == "passes_remembered" else []))
    assert [(fault.function, fault.argument) for fault in found] == [(function, argument)]
    assert rule in found[0].rule.id
    assert message in found[0].message
    events = found[0].events.splitlines()
    assert events[0] == "  the object was returned by make_tensor"
    assert any("x = faulty.make_tensor(4)" in line for line in events)
    assert "  and released outside of observed calls" in events
    assert any("del x  # the release" in line for line in events)


def test_an_object_that_was_an_argument_is_named_with_the_function_that_got_it_first(faulty):
    x = faulty.make_tensor(4)
    with tvm_ffi.debug() as found:
        faulty.remember(x)
        faulty.right(x)
        del x
        faulty.passes_remembered(faulty.right)
    assert [fault.function for fault in found] == ["right"]
    assert "  the object was first passed to remember" in found[0].events


def test_released_memory_is_kept_up_to_a_limit(faulty):
    """Evicted tensors are freed, and a write to one is found when it is evicted."""
    with tvm_ffi.debug() as found:
        x = faulty.make_tensor(1 << 20)  # 4 MiB
        faulty.remember_data(x)
        for _ in range(40):
            x = faulty.make_tensor(1 << 20)
    assert list(found) == []


def test_right_programs_with_released_objects_have_no_faults(kernels, faulty):
    def run():
        for i in range(200):
            x = faulty.make_tensor(i)
            y = tvm_ffi.Array([x, tvm_ffi.Shape((1, i)), "a string on the heap", b"bytes" * 9])
            z = kernels.echo(y)
            kernels.call_with_moved(kernels.take, text())
            view = np.from_dlpack(x)
            del x, y, z
            view[:] = i  # the export owns a reference
            assert view.sum() == i * i

    with tvm_ffi.debug() as found:
        threads = [threading.Thread(target=run) for _ in range(3)]
        for thread in threads:
            thread.start()
        run()
        for thread in threads:
            thread.join()
    assert list(found) == []


# ---- References and environment ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "argument"),
    [("keeps_argument", "x"), ("keeps_on_error", "argument 0"), ("leak_tensor", "argument 0")],
)
def test_arguments_that_a_function_keeps_at_each_call_are_leaks(faulty, name, argument):
    tensors = [tensor(i) for i in range(3)]
    with tvm_ffi.debug() as found:
        for each in tensors:
            with contextlib.suppress(ValueError):
                getattr(faulty, name)(each)
    assert rules(found) == [(name, argument, "object.leaked", 1)]
    assert found[0].message.startswith("3 references")
    assert "getattr(faulty, name)(each)" in found[0].stack
    for each in tensors:
        faulty.release(each, 1)


def test_tensors_of_a_cache_and_of_python_are_no_leaks(faulty):
    """Their owners are module state, a container, a view by DLPack, and a Python list."""
    kept = []
    with tvm_ffi.debug() as found:
        for i in range(1, 9):
            faulty.workspace(i)
            kept.append(np.from_dlpack(faulty.make_tensor(i)))
            kept.append(tvm_ffi.Array([faulty.make_tensor(i)]))
            kept.append(faulty.make_tensor(i))
            faulty.make_tensor(i)
    assert list(found) == []
    assert len(kept) == 24
    faulty.forget_workspaces()


def test_one_kept_reference_may_be_a_cache(kernels):
    with tvm_ffi.debug() as found:
        for i in range(3):
            kernels.keep(tensor(i))
    kernels.forget()
    assert list(found) == []


def test_arguments_that_a_container_or_a_callback_keeps_are_no_leaks():
    kept = []
    keep = tvm_ffi.convert_func(kept.append)
    with tvm_ffi.debug() as found:
        numbers = tvm_ffi.List([])
        for i in range(3):
            numbers.append(tensor(i))
            keep(tensor(i))
    assert len(numbers) == len(kept) == 3
    assert list(found) == []


def test_an_object_that_was_released_too_often_stays_usable(faulty):
    x = tensor(1, 2)
    with tvm_ffi.debug() as found:
        for _ in range(3):
            faulty.releases_argument(x)
        assert faulty.returns_argument(x).same_as(x)
    assert [fault.count for fault in found] == [3, 1]
    assert np.from_dlpack(x).tolist() == [1, 2]


def test_the_function_that_changed_the_stream_is_named_not_its_callers(faulty):
    with tvm_ffi.debug() as found, tvm_ffi.use_raw_stream(tvm_ffi.device("cuda:0"), 0x1000):
        faulty.calls(faulty.leave_stream, 0x2000)
    faulty.leave_stream(0)
    assert rules(found) == [("leave_stream", "", "environment.stream", 1)]
    assert "2:1" in found[0].message


@pytest.mark.parametrize("device", ["cuda:0", "cuda:7", "rocm:3", "vulkan:1"])
def test_a_stream_that_a_function_leaves_on_any_device_is_named(faulty, device):
    kind, number = tvm_ffi.device(device).dlpack_device_type(), tvm_ffi.device(device).index
    with tvm_ffi.debug() as found:
        faulty.leaves_stream_of(kind, number, 0x3000)
        faulty.right()
        faulty.leaves_stream_of(kind, number, 0x3000)  # no change
    faulty.leaves_stream_of(kind, number, 0)
    assert rules(found) == [("leaves_stream_of", "", "environment.stream", 1)]
    assert f"{kind}:{number}" in found[0].message


def test_a_changed_allocator_is_a_fault(faulty):
    before = faulty.allocator()
    with tvm_ffi.debug() as found:
        faulty.leaves_allocator()
    faulty.leaves_allocator(before)
    assert rules(found) == [("leaves_allocator", "", "environment.allocator", 1)]


WAIT = """
    import ctypes, os, tvm_ffi
    driver = ctypes.CDLL("libcuda.so.1")
    stream, graph = ctypes.c_void_p(4096), ctypes.c_void_p()
    faulty = tvm_ffi.load_module(os.environ["FAULTS"])
    with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda:1"), 4096), tvm_ffi.debug() as found:
        faulty.waits(4096)
        driver.cuStreamBeginCapture_v2(stream, 0)
        faulty.waits(0)
        faulty.calls(faulty.waits, 4096)
        faulty.right()
        assert driver.cuStreamEndCapture(stream, ctypes.byref(graph)) == 901
    print([(fault.function, fault.rule.id, fault.count) for fault in found])
"""


def test_the_function_that_ends_a_graph_capture_is_named(fault_library, run_python, fake_driver):
    environment = {"LD_LIBRARY_PATH": str(fake_driver), "FAULTS": str(fault_library)}
    done = run_python(textwrap.dedent(WAIT), **environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[('waits', 'environment.capture', 1)]\n"


def test_faults_of_the_caller_name_the_function_that_it_called(faulty):
    with tvm_ffi.debug() as found:
        faulty.passes_null(faulty.right)
        faulty.passes_full_slot(faulty.right)
    assert rules(found) == [
        ("right", "argument 0", "any.null-object", 1),
        ("right", "result", "call.result-cleared", 1),
    ]


# ---- Views ---------------------------------------------------------------------------------------

TENSOR, STRING, BYTES = 7, 8, 9


@pytest.mark.parametrize("kind", [TENSOR, STRING, BYTES])
def test_a_use_of_a_view_that_a_function_kept_is_named(faulty, kind):
    with tvm_ffi.debug() as found:
        faulty.lends_view(faulty.keeps_view, kind, 1)
        assert [faulty.uses_kept_view() for _ in range(2)] == [65, 65]
    assert rules(found) == [("keeps_view", "view", "call.view-kept", 1)]
    assert "uses_kept_view" in found[0].events
    assert "faulty.uses_kept_view()" in found[0].stack
    assert faulty.uses_kept_view() == 65  # also after the context


def test_a_use_of_the_kept_argument_array_is_named(faulty):
    with tvm_ffi.debug() as found:
        faulty.lends_view(faulty.keeps_view, TENSOR, 17)
        assert faulty.uses_kept_arguments() == 17
    assert rules(found) == [("keeps_view", "", "call.view-kept", 1)]


def test_a_view_that_is_used_outside_of_calls_is_found_at_the_end(faulty):
    with tvm_ffi.debug() as found:
        faulty.lends_view(faulty.keeps_view, TENSOR, 0)
        ndim = faulty.address_of_kept_view() + 16
        assert ctypes.c_int.from_address(ndim).value == 2
    assert rules(found) == [("keeps_view", "view", "call.view-kept", 1)]


def test_views_that_are_used_during_the_call_are_right(faulty):
    with tvm_ffi.debug() as found:
        for _ in range(1000):
            for kind in (TENSOR, STRING, BYTES):
                assert faulty.lends_view(faulty.reads_view, kind, 1) == 65
    assert list(found) == []


def test_observers_around_the_context_read_the_arguments_of_the_caller(faulty, tmp_path):
    with tvm_ffi.record(tmp_path / "run.tvmrec", contents="all"), tvm_ffi.debug() as found:
        faulty.lends_view(faulty.keeps_view, STRING, 1)
    assert list(found) == []


def test_each_context_and_thread_finds_the_views_of_its_functions(faulty):
    def run(_):
        for _ in range(100):
            faulty.lends_view(faulty.right, TENSOR, 1)

    with tvm_ffi.debug("keeps_view") as one, tvm_ffi.debug() as all_faults:
        run_together(run, 4)
        faulty.lends_view(faulty.keeps_view, STRING, 1)
        faulty.uses_kept_view()
    assert [fault.function for fault in one] == ["keeps_view"]
    assert [fault.function for fault in all_faults] == ["keeps_view"]


# ---- Tensors -------------------------------------------------------------------------------------


def test_elements_that_were_not_written_keep_their_values(faulty):
    y = np.arange(4, dtype="float32")
    with tvm_ffi.debug() as found:
        faulty.skips_last(np.full(4, 7, "float32"), y)
    assert y.tolist() == [7, 7, 7, 3]
    assert found[0].message == (
        "the function wrote 3 of 4 elements; element [3] is the first that it did not write"
    )


def test_messages_have_the_index_and_both_values(faulty):
    x = np.arange(4, dtype="float32")
    with tvm_ffi.debug() as found:
        faulty.writes_input(x, array())
    assert "element [1] changed from 1 to 9" in found[0].message


def test_a_write_to_a_large_input_has_the_stack_of_the_writer(faulty):
    x = np.arange(1 << 16, dtype="float32")
    with tvm_ffi.debug() as found:
        faulty.writes_input(x, array(1 << 16))
        faulty.writes_input(x, array(1 << 16))  # writes the same value
        faulty.writes_last(x)
        faulty.writes_first(x)
    assert [fault.function for fault in found] == ["writes_input", "writes_last", "writes_first"]
    assert "but element [1] changed from 1 to 9" in found[0].message
    x = np.zeros((1 << 16) + 1024, "float32")
    page = x[(-x.ctypes.data % 4096) // 4 :][: 1 << 16]
    with tvm_ffi.debug() as found:
        faulty.writes_middle(page)
    assert found[0].message.endswith("element [32768] changed from 0 to 7")
    assert "in __tvm_ffi_writes_middle" in found[0].events
    assert "written in:" in found[0].events
    page[:] = 1  # writable again


@pytest.mark.parametrize("element", [0, 5, 70_000, (1 << 20) - 1])
def test_a_write_to_an_input_after_many_right_calls_is_found(faulty, element):
    """Calls that compare a part of a large tensor compare all of it together."""
    x = array(1 << 20)
    with tvm_ffi.debug() as found:
        for _ in range(100):
            faulty.writes_at(x, -1)
        assert list(found) == []
        for _ in range(17):
            faulty.writes_at(x, element)
    assert [(fault.function, fault.argument) for fault in found] == [("writes_at", "x")]
    assert f"element [{element}] changed from" in found[0].message


def test_an_element_that_is_not_written_after_many_right_calls_is_found(faulty):
    y = array(1 << 16)
    with tvm_ffi.debug() as found:
        for _ in range(100):
            faulty.skips_at(y, -1)
        y[40_001] = 8
        for _ in range(17):
            faulty.skips_at(y, 40_001)
    assert [(fault.function, fault.argument) for fault in found] == [("skips_at", "y")]
    assert "element [40001] is the first" in found[0].message
    assert y[40_001] == 8
    assert y.sum() == (1 << 16) - 1 + 8


def test_memory_around_a_guarded_tensor_stays_writable(faulty):
    """Only whole pages inside of a tensor are protected."""
    base = np.zeros(1 << 18, "float32")
    with tvm_ffi.debug() as found:
        faulty.writes_around(base[1000:-1000])
        faulty.copies(base[1000:-1000], array((1 << 18) - 2000))
    assert list(found) == []
    assert base[999] == base[-1000] == 3


def test_large_inputs_of_concurrent_calls_have_no_faults(faulty):
    x = np.ones(1 << 18, "float32")

    def run(_):
        for _ in range(50):
            y = array(1 << 18)
            faulty.copies(x, y)
            assert y.sum() == 1 << 18

    with tvm_ffi.debug() as found:
        run_together(run, 4)
    assert list(found) == []
    x += 1


def test_bytes_that_are_equal_to_the_fill_pattern_keep_their_values(faulty):
    """A function may write any byte, also the one that the debug context wrote before."""
    values = np.arange(1 << 16, dtype="uint32").view("uint8")
    for shift in range(4):
        y = np.zeros(values.size - shift, "uint8")
        with tvm_ffi.debug() as found:
            faulty.copies_bytes(values[shift:], y)
        assert list(found) == []
        assert np.array_equal(y, values[shift:])


def test_nan_is_a_fault_only_on_demand(faulty):
    with tvm_ffi.debug() as found:
        faulty.writes_nan(array())
    assert list(found) == []


def test_tensors_above_the_limit_are_not_compared(faulty):
    with tvm_ffi.debug(max_bytes=15) as found:
        faulty.writes_input(array(), array())
    assert list(found) == []
    with tvm_ffi.debug(max_bytes=16) as found:
        faulty.writes_input(array(), array())
    assert len(found) == 1


def test_overlapping_arguments_are_not_compared(faulty):
    """The fill pattern of an output must not change an input with the same memory."""
    x = np.arange(4, dtype="float32")
    with tvm_ffi.debug() as found:
        tvm_ffi.unchecked(faulty.negate_input)(x, x)
    assert x.tolist() == [-0.0, -1, -2, -3]
    assert list(found) == []


# ---- No false alarms -----------------------------------------------------------------------------


def test_right_kernels_have_no_faults(kernels):
    with tvm_ffi.debug(not_finite=True) as found:
        kernels.noop(1, None, "text")
        values = (1, True, 2.5, None, "short", "a string on the heap", b"bytes", tvm_ffi.int8)
        for value in (*values, tvm_ffi.device("cpu"), tensor(), [1, 2], tvm_ffi.Shape((1, 2))):
            kernels.echo(value)
        for shape in [(), (0,), (3,), (2, 3)]:
            kernels.echo(array(*shape))
        kernels.add_one(array(8)[::2], array(12)[::3])
        kernels.call_with_moved(kernels.take, text())
        kernels.call_with_borrowed(kernels.type_index, array())
        with pytest.raises(ValueError, match="wrong"):
            kernels["raise"]("ValueError", "wrong")
    assert list(found) == []


def test_python_exceptions_without_text_have_no_faults(kernels):
    class Unregistered(Exception):
        pass

    def fail(cls):
        raise cls

    with tvm_ffi.debug() as found:
        for cls in (ValueError, AssertionError, Unregistered):
            with pytest.raises(cls):
                kernels.call(lambda: fail(cls))  # noqa: B023
    assert list(found) == []


def test_a_pending_python_exception_is_an_error(kernels):
    import signal

    def stop(*_):
        raise KeyboardInterrupt("stopped")

    before = signal.signal(signal.SIGALRM, stop)
    try:
        with tvm_ffi.debug() as found:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(KeyboardInterrupt, match="stopped"):
                kernels.wait_for_signal(-1, 5000)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert list(found) == []


# ---- The context ---------------------------------------------------------------------------------


def test_names_select_functions(faulty):
    with tvm_ffi.debug("bool_*") as found:
        faulty.bool_two()
        faulty.padding_garbage()
    assert rules(found) == [("bool_two", "result", "any.bool", 1)]


def test_contexts_nest_and_end_with_exceptions(faulty):
    with tvm_ffi.debug() as outer:
        inner = tvm_ffi.debug()
        with contextlib.suppress(KeyError), inner:
            faulty.bool_two()
            raise KeyError
        faulty.padding_garbage()
    faulty.none_with_payload()
    assert [fault.function for fault in inner] == ["bool_two"]
    assert [fault.function for fault in outer] == ["bool_two", "padding_garbage"]
    with outer:
        pass
    assert list(outer) == []  # results of the earlier run are discarded


def test_calls_of_all_threads_are_checked(faulty):
    def run(_):
        for _ in range(500):
            faulty.padding_garbage()
            faulty.right()

    with tvm_ffi.debug() as found:
        run_together(run, 4)
    assert rules(found) == [("padding_garbage", "result", "any.padding", 2000)]


def test_faults_are_reported_when_they_are_found(faulty):
    seen = []
    with tvm_ffi.debug(on_fault=seen.append) as found:
        faulty.bool_two()
        assert rules(seen) == rules(found) == [("bool_two", "result", "any.bool", 1)]


def test_misuse_is_one_clear_error():
    with pytest.raises(ValueError, match="max_bytes must be an int of at least 0, got -1"):
        tvm_ffi.debug(max_bytes=-1)
    with pytest.raises(TypeError, match="expected names of functions as str, got 3"):
        tvm_ffi.debug([3])
