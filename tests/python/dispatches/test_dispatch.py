# SPDX-License-Identifier: Apache-2.0
"""Dispatches: choice by conditions, CPU features and priority; errors; use as a function."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import platform
import random
import threading
import weakref
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import cpp
from tvm_ffi.dispatches._cpu import features_of, processor_features

SIGNATURE = (
    "rms_norm(x: T[*b, d], w: T[d], y: out T[*b, d], eps: float = 0.5) "
    "where T in (float16, float32)"
)


def arguments(d=8, dtype=np.float32):
    return np.ones((2, d), dtype), np.ones(d, dtype), np.zeros((2, d), dtype)


class Recorder:
    """Functions that append their name and the value of `eps` to `calls`."""

    def __init__(self):
        self.calls = []

    def function(self, name):
        def run(x, w, y, eps):
            self.calls.append((name, eps))

        run.__name__ = name
        return run

    def taken(self):
        found, self.calls = self.calls, []
        return found


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture
def norm(recorder):
    """Return a dispatch with a candidate for each of three cases, and one for the rest."""
    d = tvm_ffi.dispatch(SIGNATURE)
    d.add(recorder.function("rest"), priority=-1)
    d.add(recorder.function("of_8"), when="d % 8 == 0")
    d.add(recorder.function("half"), when="T == float16", priority=2)
    d.add(recorder.function("large"), when="d >= 32 and d % 8 == 0", priority=1)
    return d


def test_a_call_uses_the_candidate_with_the_highest_priority_that_fits(norm, recorder):
    for d, dtype, expected in [
        (8, np.float32, "of_8"),
        (9, np.float32, "rest"),
        (32, np.float32, "large"),
        (33, np.float32, "rest"),
        (32, np.float16, "half"),
    ]:
        norm(*arguments(d, dtype))
        assert recorder.taken() == [(expected, 0.5)], (d, dtype)
    assert norm.candidates == ("half", "large", "of_8", "rest")


def test_of_equal_priorities_the_first_added_precedes(recorder):
    d = tvm_ffi.dispatch(SIGNATURE)
    for name in ("first", "second", "third"):
        d.add(recorder.function(name))
    d(*arguments())
    assert recorder.taken() == [("first", 0.5)]


def test_keywords_and_defaults(norm, recorder):
    x, w, y = arguments(9)
    norm(x, y=y, w=w)
    norm(x, w, y, eps=2)
    assert recorder.taken() == [("rest", 0.5), ("rest", 2.0)]
    with pytest.raises(TypeError, match=r"rms_norm\(\) got an unexpected keyword argument 'z'"):
        norm(x, w, y, z=1)


def test_the_arguments_are_checked_once_by_the_shared_signature(norm, recorder):
    x, w, y = arguments()
    with pytest.raises(ValueError, match=r"rms_norm\(\) argument 'w': shape\[0\] must be d = 8"):
        norm(x, w[:4], y)
    with pytest.raises(ValueError, match="the array shares memory with argument 'x'"):
        norm(x, w, x)
    assert recorder.taken() == []


def test_it_looks_like_a_function_with_the_signature(norm):
    assert isinstance(norm, tvm_ffi.Function)
    assert norm.__name__ == "rms_norm"
    assert list(inspect.signature(norm).parameters) == ["x", "w", "y", "eps"]
    assert inspect.signature(norm).parameters["eps"].default == 0.5
    assert repr(norm).startswith("<tvm_ffi.Function rms_norm(x: ")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names features of x86-64")
def test_features_of_the_processor_are_those_that_the_kernel_lists():
    line = next(x for x in Path("/proc/cpuinfo").read_text().splitlines() if x.startswith("flags"))
    renamed = {"x86-64": "lm", "bmi": "bmi1", "avx512vnni": "avx512_vnni"}
    known = features_of(["x86-64-v4", "avx512vnni"])
    flag_of = {name: renamed.get(name, name.replace(".", "_")) for name in known}
    assert processor_features() == {name for name in known if flag_of[name] in line.split()}


def test_no_candidate_fits(recorder):
    d = tvm_ffi.dispatch(SIGNATURE, cpu="x86-64-v2")
    d.add(recorder.function("of_8"), when="d % 8 == 0")
    d.add(recorder.function("half"), when="d > 3 and T == float16")
    d.add(recorder.function("gpu"), arch="sm_90")
    d.add(recorder.function("wide"), cpu="x86-64-v3")
    with pytest.raises(ValueError, match="no candidate fits") as caught:
        d(*arguments(9))
    assert str(caught.value) == (
        "rms_norm(): no candidate fits the arguments:\n"
        "  of_8: `d%8 == 0` is false: d = 9\n"
        "  half: `T == float16` is false: T = float32\n"
        "  gpu: runs on cuda, the arguments are on cpu:0\n"
        "  wide: needs x86-64-v3, the processor lacks avx, avx2, bmi, bmi2, fma"
    )
    d(*arguments(16))
    assert recorder.taken() == [("of_8", 0.5)]


def test_explain(recorder):
    d = tvm_ffi.dispatch(SIGNATURE, reference=recorder.function("slow"))
    d.add(recorder.function("of_8"), when="d % 8 == 0")
    d.add(recorder.function("rest"), priority=-1)
    found = d.explain(*arguments(9))
    assert found.chosen == "rest"
    assert str(found) == (
        "rms_norm(): the call uses 'rest'\n"
        "  of_8       `d%8 == 0` is false: d = 9\n"
        "  rest       chosen\n"
        "  reference  fits, but 'rest' precedes it"
    )
    assert recorder.taken() == []
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        d.explain(*arguments()[:2])


def test_without_candidates():
    d = tvm_ffi.dispatch(SIGNATURE)
    with pytest.raises(RuntimeError, match=r"rms_norm\(\): there are no candidates; add one with"):
        d(*arguments())
    assert d.explain(*arguments()).chosen is None
    assert str(d.explain(*arguments())) == "rms_norm(): no candidate fits"


def test_the_reference_is_the_last_candidate(recorder):
    d = tvm_ffi.dispatch(SIGNATURE, reference=recorder.function("slow"))
    d(*arguments())
    d.add(recorder.function("of_8"), when="d % 8 == 0", priority=-5)
    d(*arguments(8))
    d(*arguments(9))
    assert [name for name, _ in recorder.taken()] == ["slow", "of_8", "slow"]


def test_presence_conditions_guard_later_ones():
    d = tvm_ffi.dispatch("f(n: int, x: float32[m] | None = None) -> str")
    d.add(lambda n, x: "large", name="large", when="x is not None and m > 4")
    d.add(lambda n, x: "none", name="none", when="x is None")
    d.add(lambda n, x: "small", name="small")
    assert d(1) == "none"
    assert d(1, np.zeros(5, np.float32)) == "large"
    assert d(1, np.zeros(4, np.float32)) == "small"


def test_an_operation_of_a_condition_fails():
    d = tvm_ffi.dispatch("f(n: int, k: int)")
    d.add(lambda n, k: None, when="n % k == 0")
    with pytest.raises(ValueError, match=r"f\(\): `n%k` divides by zero"):
        d(1, 0)
    with pytest.raises(ValueError, match="divides by zero"):
        d.explain(1, 0)
    assert d(4, 2) is None


def test_functions_as_decorated_stay_what_they_were():
    d = tvm_ffi.dispatch("f(n: int) -> int")

    @d.add
    def always(n):
        return n

    @d.add(when="n > 3", priority=1)
    def large(n):
        return -n

    assert (always(9), large(9)) == (9, -9)
    assert (d(3), d(4)) == (3, -4)


def test_a_candidate_that_raises():
    """The error of a candidate is the error of the call; no other candidate is tried."""
    d = tvm_ffi.dispatch("f(n: int) -> int")

    @d.add(priority=1, when="n == 7")
    def wrong(n):
        raise KeyError("a problem of the candidate")

    d.add(lambda n: n)
    with pytest.raises(KeyError, match="a problem of the candidate"):
        d(7)
    assert d(8) == 8


def test_nested_dispatch():
    inner = tvm_ffi.dispatch("inner(n: int, k: int = 3) -> str")
    inner.add(lambda n, k: f"even {k}", when="n % 2 == 0")
    outer = tvm_ffi.dispatch("outer(n: int) -> str")
    outer.add(lambda n: "small", when="n < 10", priority=1)
    outer.add(inner, when="n >= 10")
    assert (outer(3), outer(12)) == ("small", "even 3")
    with pytest.raises(ValueError, match=r"inner\(\): no candidate fits"):
        outer(13)
    with pytest.raises(ValueError, match="a dispatch cannot be its own candidate"):
        outer.add(outer)


def test_functions_of_libraries_and_native_callers():
    """Native code calls a dispatch without Python, and may omit arguments that have defaults."""
    module = cpp.load_inline(
        "dispatch_library",
        cpp_sources="""
        #include <tvm/ffi/function.h>
        int64_t times(int64_t n, int64_t k) { return n * k; }
        int64_t plus(int64_t n, int64_t k) { return n + k; }
        int64_t call(tvm::ffi::Function f, int64_t n) { return f(n).cast<int64_t>(); }
        """,
        functions=["times", "plus", "call"],
    )
    d = tvm_ffi.dispatch("f(n: int, k: int = 10) -> int")
    d.add(module.times, when="n < 5")
    d.add(module.plus)
    assert (d(4), d(5), d(4, k=2)) == (40, 15, 8)
    assert (module.call(d, 4), module.call(d, 5)) == (40, 15)
    assert d.candidates == ("times", "plus")


def test_a_candidate_gets_the_defaults_of_the_dispatch():
    d = tvm_ffi.dispatch("f(a: int, b: int = 2, c: str = 'text that is not short') -> str")
    d.add(lambda *args: repr(args))
    module = cpp.load_inline(
        "dispatch_defaults",
        cpp_sources="""
        tvm::ffi::Any call(tvm::ffi::Function f, int64_t a) { return f(a); }
        """,
        functions=["call"],
    )
    assert d(1) == "(1, 2, 'text that is not short')"
    assert module.call(d, 1) == "(1, 2, 'text that is not short')"
    assert d(1, c="") == "(1, 2, '')"


def test_global_registration_keeps_the_signature():
    d = tvm_ffi.dispatch("registered(n: int, k: int = 1) -> int")
    d.add(lambda n, k: n + k)
    tvm_ffi.register_global_func("dispatch_test.registered", d)
    try:
        found = tvm_ffi.get_global_func("dispatch_test.registered")
        assert found(2, k=5) == 7
        text = tvm_ffi.get_global_func_metadata("dispatch_test.registered")["signature"]
        assert "(n: int, k: int = 1) -> int" in text
        assert pickle.loads(pickle.dumps(d))(1) == 2
        assert b"dispatch_test.registered" in pickle.dumps(d)
        del d, found
        assert tvm_ffi.get_global_func("dispatch_test.registered")(k=1, n=1) == 2
    finally:
        tvm_ffi.remove_global_func("dispatch_test.registered")


def double(n):
    return 2 * n


def negate(n):
    return -n


def test_pickling_and_copying():
    d = tvm_ffi.dispatch("f(n: int) -> int", reference=negate, cpu="x86-64-v2")
    d.add(double, when="n > 3", priority=4)
    d.add(negate, name="wide", cpu="x86-64-v4", priority=9)
    other = pickle.loads(pickle.dumps(d))
    assert other is not d
    assert other.candidates == ("wide", "double", "reference")
    assert [other(n) for n in (3, 4)] == [-3, 8]
    assert str(other.explain(4)) == str(d.explain(4))
    assert copy.copy(d) is d
    d.add(lambda n: n, name="local")
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(d)


# ---- errors of registration ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"when": "q > 3"}, "'q' in when q > 3 is not an extent of every call; expected one of: d"),
        ({"when": "d >"}, "when: character 3 of 'd >'"),
        ({"when": "T == int8"}, "compare the dtype variable 'T' by == or != with one of float16"),
        ({"when": "T > float16"}, "compare the dtype variable 'T' by == or !="),
        ({"when": "eps is None"}, "'eps' in when eps is None is not a parameter that may be None"),
        ({"arch": "90"}, "expected a GPU architecture such as 'sm_90', got '90'"),
        ({"arch": "sm_90", "device": "cpu"}, "`arch` is a property of cuda devices"),
        ({"cpu": "avx22"}, "got 'avx22'; did you mean 'avx2'?"),
        ({"cpu": "avx2", "device": "cuda"}, "`cpu` is a property of cpu devices"),
        ({"device": "gpuu"}, "device: "),
        ({"device": "cuda:1"}, "expected a device type such as 'cuda', got 'cuda:1'"),
        ({"name": "there"}, "there is a candidate 'there' already"),
        ({"name": "reference"}, "there is a candidate 'reference' already"),
    ],
)
def test_invalid_requirements(options, message):
    d = tvm_ffi.dispatch(SIGNATURE)
    d.add(lambda *args: None, name="there")
    with pytest.raises(ValueError, match="rms_norm") as caught:
        d.add(lambda x, w, y, eps: None, **options)
    assert message in str(caught.value)
    assert d.candidates == ("there",)
    d(*arguments())


def test_invalid_functions():
    d = tvm_ffi.dispatch("f(a: int, b: int)")
    with pytest.raises(ValueError, match=r"a function of 2 positional arguments, got \(a\)"):
        d.add(lambda a: None)
    with pytest.raises(TypeError, match="expected a function, a launch plan or a Python callable"):
        d.add(3)
    with pytest.raises(TypeError, match="priority must be an int, got str"):
        d.add(lambda a, b: None, priority="high")
    inner = tvm_ffi.dispatch("inner(a: int)")
    with pytest.raises(ValueError, match=r"a function of 2 arguments, got `inner\(a: int\)`"):
        d.add(inner)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("(n: int)", {}), "expected a signature with a name"),
        (("f(*n: int)", {}), "a dispatch cannot have a variadic parameter"),
        (("f(n: int)", {"shadow": 3}), "shadow mode compares with `reference`, which is None"),
        (("f(n: int)", {"shadow": 0, "reference": double}), "shadow must be at least 1, got 0"),
        (("f(n: int)", {"cpu": "pentium"}), "expected CPU features or levels"),
        (
            ("f(n: int)", {"shadow": 1, "reference": double, "rtol": float("nan")}),
            "rtol must be at least 0, got nan",
        ),
    ],
)
def test_invalid_dispatches(arguments, message):
    with pytest.raises(ValueError, match=".") as caught:
        tvm_ffi.dispatch(arguments[0], **arguments[1])
    assert message in str(caught.value)


def test_too_many_candidates():
    d = tvm_ffi.dispatch("f(n: int)")
    for i in range(256):
        d.add(double, name=str(i))
    with pytest.raises(ValueError, match="a dispatch has at most 256 candidates"):
        d.add(double)
    assert d(1) == 2


# ---- candidates of other packages ----------------------------------------------------------------


class _EntryPoint:
    def __init__(self, name, function):
        self.name, self.value, self._function = name, f"package:{name}", function

    def load(self):
        return self._function


def test_entry_points(monkeypatch):
    def fails(d):
        raise OSError("no such library")

    def adds(d):
        d.add(double, when="n > 3")

    found = [_EntryPoint("works", adds), _EntryPoint("broken", fails)]
    monkeypatch.setattr(metadata, "entry_points", lambda group: found if group == "g" else [])
    d = tvm_ffi.dispatch("f(n: int) -> int")
    message = "entry point 'broken = package:broken' of group 'g' failed: OSError: no such library"
    with pytest.warns(RuntimeWarning, match=message):
        assert d.add_entry_points("g") == ["works"]
    assert d(4) == 8
    assert d.add_entry_points("other") == []


# ---- prepared calls ------------------------------------------------------------------------------


def test_prepared_calls_remember_the_choice(norm, recorder):
    x, w, y = arguments(8)
    h = norm.prepare(x, w, y)
    h()
    h(eps=3.0)
    assert recorder.taken() == [("of_8", 0.5), ("of_8", 3.0)]
    with pytest.raises(ValueError, match="the array shares memory with argument 'x'"):
        h.y = x
    with pytest.raises(ValueError, match=r"argument 'w': shape\[0\] must be d = 8, got 4"):
        norm.prepare(x, w[:4], y)
    with pytest.raises(ValueError, match="slot 0: expected shape"):
        h(x=np.ones((2, 16), np.float32))
    assert recorder.taken() == []


def test_prepared_calls_notice_new_candidates(norm, recorder):
    h = norm.prepare(*arguments(8))
    norm.add(recorder.function("better"), priority=10)
    h()
    assert recorder.taken() == [("better", 0.5)]


def test_prepared_calls_with_conditions_on_numbers_choose_again():
    d = tvm_ffi.dispatch("f(n: int, k: int) -> str")
    d.add(lambda n, k: "large", when="n > 3")
    d.add(lambda n, k: "small")
    h = d.prepare(5, 1)
    assert (h(), h(n=2), h()) == ("large", "small", "large")
    h.n = 1
    assert h() == "small"


def test_prepared_calls_of_no_candidate(norm):
    d = tvm_ffi.dispatch(SIGNATURE)
    d.add(lambda x, w, y, eps: None, when="d == 3")
    with pytest.raises(ValueError, match="no candidate fits"):
        d.prepare(*arguments(8))


# ---- threads -------------------------------------------------------------------------------------


def test_candidates_are_added_during_calls():
    d = tvm_ffi.dispatch("f(n: int) -> int")
    d.add(lambda n: 0, name="0")
    stop, failures, seen = threading.Event(), [], set()

    def call():
        last = 0
        while not stop.is_set():
            found = d(3)
            if found < last:
                failures.append((last, found))
            last = found
            seen.add(found)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for i in range(1, 100):
        d.add(lambda n, i=i: i, name=str(i), priority=i)
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert d(3) == 99


def test_a_dispatch_is_released():
    from tvm_ffi._binding.object import live_object_count

    def make():
        d = tvm_ffi.dispatch("f(x: float32[n], y: out float32[n])", reference=copy_to, shadow=1)
        d.add(copy_to, name="a")
        d.prepare(np.ones(3, np.float32), np.zeros(3, np.float32))()
        d(np.ones(3, np.float32), np.zeros(3, np.float32))

    make()
    before = live_object_count()
    for _ in range(20):
        make()
    assert live_object_count() <= before + 2


def test_candidates_are_released_with_the_dispatch():
    """The callback of shadow mode, which the runtime owns, refers to the candidates."""

    def reference(x, y):
        copy_to(x, y)

    def candidate(x, y):
        copy_to(x, y)

    functions = [weakref.ref(reference), weakref.ref(candidate)]
    d = tvm_ffi.dispatch("f(x: float32[n], y: out float32[n])", reference=reference, shadow=1)
    d.add(candidate)
    d(np.ones(3, np.float32), np.zeros(3, np.float32))
    del d, reference, candidate
    gc.collect()
    assert [function() for function in functions] == [None, None]


def copy_to(x, y):
    y.numpy()[:] = x.numpy()


def test_corrupt_dispatch_programs_are_refused():
    """The runtime checks each index of a program; no prefix of a program is one."""
    from tvm_ffi.dispatches._candidate import new_candidate
    from tvm_ffi.dispatches._program import dispatch_program

    signature = tvm_ffi.Signature.parse("f(x: float32[n], k: int)")
    options = {"device": None, "arch": "sm_90", "cpu": None, "priority": 0}
    candidate = new_candidate(signature, copy_to, "c", when="n % 2 == k", **options)
    program = dispatch_program(signature, [candidate], [""])
    create = tvm_ffi.get_global_func("pytvmffi.DispatchCreate")
    for size in range(0, len(program), 8):
        with pytest.raises(ValueError, match="corrupt dispatch program at byte"):
            create(program[:size], [])
    rng = random.Random(35)
    for _ in range(2000):
        changed = bytearray(program)
        position = 8 * rng.randrange(len(program) // 8)
        changed[position : position + 8] = rng.choice([-1, 1, 2, 77, 2**62]).to_bytes(
            8, "little", signed=True
        )
        try:
            _, replace, explain, _ = create(bytes(changed), [])
            replace(bytes(changed), [tvm_ffi.convert_func(copy_to)], [], None, 1)
            explain(np.zeros(4, np.float32), 0)
        except (ValueError, RuntimeError, TypeError):
            pass
