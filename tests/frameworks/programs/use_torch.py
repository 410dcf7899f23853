# SPDX-License-Identifier: Apache-2.0
"""PyTorch: compiled, exported and packaged programs.  The last line printed is ``done``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from guide_page import run_guide

import tvm_ffi
import tvm_ffi.interop.torch as interop
from tvm_ffi import cpp, libinfo

SOURCE = """
namespace {
float* Floats(tvm::ffi::TensorView x) {
  return reinterpret_cast<float*>(static_cast<char*>(x.data_ptr()) + x.byte_offset());
}
}  // namespace
void scale(tvm::ffi::TensorView x, tvm::ffi::TensorView y, double factor) {
  if (factor == 0) TVM_FFI_THROW(ValueError) << "factor is 0";
  for (int64_t i = 0; i < x.numel(); ++i) Floats(y)[i] = Floats(x)[i] * factor;
}
void accumulate(tvm::ffi::TensorView x, tvm::ffi::TensorView total) {
  for (int64_t i = 0; i < x.numel(); ++i) Floats(total)[i] += Floats(x)[i];
}
"""
SIGNATURES = {
    "scale": "scale(x: float32[n, m], y: out float32[n, m], factor: float = 2.0)",
    "accumulate": "accumulate(x: float32[n, m], total: inout float32[n, m])",
}
LIBRARY = cpp.build_inline("torch_framework", cpp_sources=SOURCE, functions=SIGNATURES)
module = tvm_ffi.load_module(LIBRARY)
X = torch.arange(6.0).reshape(2, 3)
TORCH = Path(torch.__file__).parent


class Model(torch.nn.Module):
    """Computes x * 6 + 1, and applies a torch layer that is the identity."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3, bias=False)
        torch.nn.init.eye_(self.linear.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y, total = torch.empty_like(x), torch.ones_like(x)
        module.scale(self.linear(x), y, factor=3.0)
        module.accumulate(y, total)
        module.accumulate(y, total)
        return total


def exported() -> torch.export.ExportedProgram:
    rows = torch.export.Dim("rows", min=1, max=64)
    with torch.no_grad():
        return torch.export.export(Model(), (X,), dynamic_shapes=({0: rows},))


def check_modes() -> None:
    for options in ({}, {"mode": "reduce-overhead"}, {"dynamic": True}, {"backend": "aot_eager"}):
        torch._dynamo.reset()
        run = torch.compile(Model(), fullgraph=True, **options)
        with torch.no_grad():
            for x in (X, torch.cat([X, X])):
                assert torch.equal(run(x), x * 6 + 1), options
    print("modes of torch.compile")


def losses(step: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> list[float]:
    """Return the losses of a few training steps of a model."""
    weight = torch.nn.Parameter(torch.eye(3))
    optimizer = torch.optim.SGD([weight], lr=0.01)
    found = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = step(X, weight)
        loss.backward()
        optimizer.step()
        found.append(round(loss.item(), 3))
    return found


def check_training() -> None:
    scale = interop.register(
        module.scale,
        "framework::scale",
        functional=True,
        setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", inputs[1]),
        backward=lambda ctx, grad: (scale(grad.contiguous(), ctx.factor), None),
    )
    step = torch.compile(lambda x, weight: scale(x @ weight, 2.0).square().mean(), fullgraph=True)
    assert losses(step) == losses(lambda x, weight: ((x @ weight) * 2.0).square().mean())
    assert set(torch.library.opcheck(scale, (X.clone().requires_grad_(), 2.0)).values()) == {
        "SUCCESS"
    }
    print("training")


def in_another_process(text: str, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-c", text, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_exported_program() -> None:
    interop.save(exported(), "model.pt2")
    text = (
        "import sys, torch, tvm_ffi.interop.torch as interop\n"
        "model = interop.load('model.pt2').module()\n"
        "print(model(torch.ones(4, 3)).tolist())"
    )
    assert in_another_process(text) == f"{[[7.0] * 3] * 4}\n"
    without = "import torch\ntry:\n    torch.export.load('model.pt2')\n"
    assert in_another_process(without + "except RuntimeError:\n    print('refused')") == "refused\n"
    print("an exported program")


def check_package() -> None:
    torch._inductor.aoti_compile_and_package(exported(), package_path="package.pt2")
    assert torch.equal(torch._inductor.aoti_load_package("package.pt2")(X), X * 6 + 1)
    text = (
        "import torch, tvm_ffi.interop.torch as interop\n"
        "interop.load('model.pt2')\n"  # the import creates the operators
        "print(torch._inductor.aoti_load_package('package.pt2')(torch.ones(1, 3)).tolist())"
    )
    assert in_another_process(text) == "[[7.0, 7.0, 7.0]]\n"
    print("a package of AOTInductor")


HOST = """
#include <dlfcn.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/torch.h>
#include <iostream>
int main(int, char** argv) {
  if (dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    std::cerr << dlerror();
    return 1;
  }
  torch::inductor::AOTIModelPackageLoader loader(argv[2]);
  for (int64_t rows : {1, 5}) {
    const auto results = loader.run({torch::ones({rows, 3})});
    std::cout << results[0].sum().item<double>() << " ";
  }
  return dlsym(RTLD_DEFAULT, "Py_Initialize") == nullptr ? 0 : 2;
}
"""


def check_package_without_python() -> None:
    source = interop.operators_source([module.scale, module.accumulate])
    Path("operators.cc").write_text(source, encoding="utf-8")
    Path("host.cc").write_text(HOST, encoding="utf-8")
    runtime, library = Path(libinfo.find_libtvm_ffi()).parent, Path(LIBRARY)
    places = [f"-L{TORCH / 'lib'}", f"-L{runtime}"]
    places += [f"-Wl,-rpath,{one}" for one in (TORCH / "lib", runtime, library.parent)]
    includes = [f"-I{one}" for one in libinfo.include_paths()]
    shared = ["c++", "-std=c++17", "-shared", "-fPIC", "operators.cc", *includes, str(library)]
    subprocess.run([*shared, *places, "-ltorch_cpu", "-ltvm_ffi", "-o", "operators.so"], check=True)
    headers = [f"-I{TORCH / 'include'}", f"-I{TORCH / 'include/torch/csrc/api/include'}"]
    host = ["c++", "-std=c++20", "-O0", "host.cc", *headers, *places]
    subprocess.run([*host, "-ltorch", "-ltorch_cpu", "-lc10", "-ldl", "-o", "host"], check=True)
    done = subprocess.run(
        ["./host", "./operators.so", "package.pt2"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "21 105 "), done.stderr
    print("the package in a program without Python")


check_modes()
check_training()
check_exported_program()
check_package()
check_package_without_python()
run_guide("choosing-implementations.md")  # a dispatch as an operator
print("done")
