# SPDX-License-Identifier: Apache-2.0
"""The policy for late builds: modes, blocks, hooks, errors and graph capture."""

from __future__ import annotations

import pickle
import textwrap
import threading
import warnings

import pytest

from tvm_ffi import builds

REMEDY = (
    "build it in advance and ship the build cache: `tvm-ffi cache export` and "
    "`tvm-ffi cache import`"
)


@pytest.fixture(autouse=True)
def _default_policy(monkeypatch):
    """Begin with the policy of a process without the variable, and restore the policy."""
    monkeypatch.delenv("TVM_FFI_BUILDS", raising=False)
    monkeypatch.setattr(builds, "_default", None)


def announce(name="kernel", reasons=("flag changed", "header changed")):
    builds.announce("library", name, key="0123", reasons=reasons)


def test_without_a_policy_builds_run_silently():
    assert builds.current_policy() == "allow"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        announce()


def test_reasons_are_computed_only_if_they_are_shown():
    builds.announce("library", "k", key="0", reasons=lambda: pytest.fail("computed"))
    assert not builds.is_observed()
    with builds.on_build(lambda build: None):
        assert builds.is_observed()
        builds.announce("library", "k", key="0", reasons=lambda: ["a reason"])


def test_an_error_names_kind_name_key_reason_caller_and_remedy():
    with builds.policy("error"), pytest.raises(builds.LateBuildError) as caught:
        announce()
    build = caught.value.build
    assert (build.kind, build.name, build.key) == ("library", "kernel", "0123")
    assert build.reasons == ("flag changed", "header changed")
    assert build.stack[-1].name == "announce"
    first, second, *rest = str(caught.value).splitlines()
    assert first == (
        "library 'kernel' with key 0123 is not built yet, because: flag changed; the policy of "
        'this process is "error" (TVM_FFI_BUILDS, tvm_ffi.builds.policy)'
    )
    assert second == f"called at {__file__}:{build.stack[-1].lineno} in announce"
    assert rest == [
        REMEDY,
        "further reasons:",
        "  header changed",
    ]


def test_an_error_can_be_pickled():
    with builds.policy("error"), pytest.raises(builds.LateBuildError) as caught:
        announce()
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.build) == (str(caught.value), caught.value.build)


def test_a_warning_names_the_line_that_builds():
    with builds.policy("warn"), pytest.warns(builds.LateBuildWarning) as caught:
        announce()
    (warning,) = caught
    assert warning.filename == __file__
    assert str(warning.message) == (
        "library 'kernel' with key 0123 is not built yet, because: flag changed; it is built now"
    )


def test_a_call_sets_the_policy_and_a_block_restores_it():
    builds.policy("warn")
    assert builds.current_policy() == "warn"
    with builds.policy("error"):
        with builds.policy("allow"):
            announce()
        assert builds.current_policy() == "error"
    assert builds.current_policy() == "warn"
    builds.policy("allow")
    assert builds.current_policy() == "allow"


def test_a_block_ends_only_itself_whatever_the_order():
    """The end of a block in one thread must not end or restore the block of another thread."""
    first, second = builds.policy("error"), builds.policy("warn")
    builds.policy("allow")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert builds.current_policy() == "warn"
    second.__exit__(None, None, None)


def test_the_policy_holds_in_all_threads():
    seen = []
    with builds.policy("error"):
        thread = threading.Thread(target=lambda: seen.append(builds.current_policy()))
        thread.start()
        thread.join()
    assert seen == ["error"]


@pytest.mark.parametrize("mode", ["deny", "", None, 1])
def test_an_unknown_policy_is_an_error_and_changes_nothing(mode):
    with pytest.raises(ValueError, match='^policy: mode: expected "allow", "warn" or "error", got'):
        builds.policy(mode)
    assert builds.current_policy() == "allow"


def test_the_variable_sets_the_policy(monkeypatch):
    monkeypatch.setenv("TVM_FFI_BUILDS", "error")
    assert builds.current_policy() == "error"


def test_an_unknown_value_of_the_variable_is_an_error(run_python):
    done = run_python("import tvm_ffi", TVM_FFI_BUILDS="never")
    assert done.returncode == 1
    expected = 'ValueError: TVM_FFI_BUILDS: expected "allow", "warn" or "error", got \'never\''
    assert done.stderr.splitlines()[-1] == expected


def test_hooks_see_each_build_before_it_starts_under_every_policy():
    seen = []
    with builds.on_build(seen.append):
        announce("allowed")
        with builds.policy("error"), pytest.raises(builds.LateBuildError):
            announce("forbidden")
    announce("unseen")
    assert [build.name for build in seen] == ["allowed", "forbidden"]


def test_the_exception_of_a_hook_stops_the_build():
    def refuse(build):
        raise PermissionError(build.name)

    hook = builds.on_build(refuse)
    with pytest.raises(PermissionError, match="^kernel$"):
        announce()
    hook.remove()
    hook.remove()
    announce()


def test_a_hook_must_be_callable():
    message = "^on_build: function must be callable with a LateBuild, got str$"
    with pytest.raises(TypeError, match=message):
        builds.on_build("print")


CAPTURE = """
    import ctypes
    import tvm_ffi
    from tvm_ffi import builds

    def announce():
        builds.announce("library", "kernel", key="0123")

    driver = ctypes.CDLL("libcuda.so.1")
    stream, graph = ctypes.c_void_p(4096), ctypes.c_void_p()
    with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda:1"), 4096), builds.policy("allow"):
        announce()
        driver.cuStreamBeginCapture_v2(stream, 0)
        try:
            announce()
        except builds.LateBuildError as error:
            print(error)
        driver.cuStreamEndCapture(stream, ctypes.byref(graph))
        announce()
"""


def test_nothing_is_built_while_a_stream_is_captured(run_python, fake_driver):
    """The policy is "error" then, even in a block that allows builds."""
    done = run_python(textwrap.dedent(CAPTURE), LD_LIBRARY_PATH=str(fake_driver))
    assert done.returncode == 0, done.stderr
    message = "nothing may be built while a stream is captured into a CUDA graph"
    assert done.stdout.count(message) == 1


@pytest.mark.parametrize("module", ["numba.core.event", "torch._dynamo.callback", "triton.knobs"])
def test_observing_imports_no_framework(run_python, module):
    code = f"""
        import sys, tvm_ffi
        tvm_ffi.builds.policy("error")
        tvm_ffi.builds.on_build(print)
        assert {module!r} not in sys.modules
        assert not {{"numba", "torch", "triton"}} & set(sys.modules)
    """
    done = run_python(textwrap.dedent(code))
    assert done.returncode == 0, done.stderr


def test_a_framework_with_another_interface_warns_once(tmp_path, monkeypatch):
    """A framework that has changed must not break the import of itself."""
    from tvm_ffi.builds import _frameworks

    (tmp_path / "imagined_framework.py").write_text("hooks = None")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(
        _frameworks._pending, "imagined_framework", lambda module: module.hooks.append(1)
    )
    _frameworks.observe(builds.announce)
    with pytest.warns(RuntimeWarning, match="late builds of imagined_framework are not observed"):
        import imagined_framework  # type: ignore[import-not-found]
    assert imagined_framework.hooks is None
    loader = imagined_framework.__spec__.loader
    assert type(loader).__name__ == "SourceFileLoader"  # that of the import system
