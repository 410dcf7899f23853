# SPDX-License-Identifier: Apache-2.0
"""PTX that the CUDA driver would compile when a launch plan first runs, on the fake driver."""

from __future__ import annotations

import textwrap

PROGRAM = """
    import ctypes
    import tvm_ffi
    from tvm_ffi import builds, cuda

    ptx = ".version 7.0\\n.target sm_50\\n.visible .entry fill(.param .u64 x) { ret; }\\n"
    driver = ctypes.CDLL("libcuda.so.1")

    def new():
        return cuda.create_module(ptx, {"fill": ["void*"]})

    old = new()
    old.fill(None, 1, 1)
    seen = []
    builds.on_build(seen.append)
    with builds.policy("error"):
        old.fill(None, 1, 1)  # the driver has compiled it
        module = new()
        for _ in range(2):
            try:
                module.fill(None, 1, 1)
            except builds.LateBuildError as error:
                print(error)
            else:
                raise SystemExit("was compiled")
    module.fill(None, 1, 1)
    assert [(build.kind, build.name) for build in seen] == [("PTX", "fill")] * 3
    stream, graph = ctypes.c_void_p(4096), ctypes.c_void_p()
    with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda:0"), 4096):
        driver.cuStreamBeginCapture_v2(stream, 0)
        try:
            new().fill(None, 1, 1)
        except builds.LateBuildError as error:
            print(error)
        module.fill(None, 1, 1)
        driver.cuStreamEndCapture(stream, ctypes.byref(graph))
        new().fill(None, 1, 1)
"""


def test_the_policy_holds_for_ptx_of_launch_plans(run_python, fake_driver):
    code = textwrap.dedent(PROGRAM)
    done = run_python(code, LD_LIBRARY_PATH=str(fake_driver))
    assert done.returncode == 0, done.stderr
    first, *_ = done.stdout.splitlines()
    assert first.startswith("PTX 'fill' with key ")
    assert "because: the driver compiles PTX when cuda:0 first runs it; ship machine code" in first
    assert done.stdout.count('the policy of this process is "error"') == 2
    assert done.stdout.count("nothing may be built while a stream is captured") == 1
