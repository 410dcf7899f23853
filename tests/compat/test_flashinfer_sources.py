# SPDX-License-Identifier: Apache-2.0
"""FlashInfer sources, compiled against this project's headers, linked and loaded.

FlashInfer is the largest body of kernel code that uses these headers.  Its sources are not in this
repository: `make test-flashinfer` installs the package into the build folder and runs this file,
which takes minutes.  Device code is compiled to PTX without optimization; host code is compiled in
full.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import tvm_ffi
from tvm_ffi import libinfo

FOLDER = os.environ.get("TVM_FFI_FLASHINFER")
DATA = Path(FOLDER or ".").resolve() / "flashinfer" / "data"

pytestmark = [
    pytest.mark.skipif(FOLDER is None, reason="TVM_FFI_FLASHINFER not set: make test-flashinfer"),
    pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc"),
]


@dataclass(frozen=True)
class Operator:
    """Files below csrc that form one library, and functions that it exports."""

    sources: tuple[str, ...]
    functions: tuple[str, ...]
    architecture: str = "90a"
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class CubinHost:
    """Host code that launches a cubin and needs only a C++ compiler."""

    source: str
    definitions: dict[str, str] = field(default_factory=dict)


OPERATORS = {
    "api_log_stats": Operator(
        ("api_log_stats.cu", "flashinfer_api_log_stats_binding.cu"),
        ("api_log_print_tensor_stats",),
    ),
    "cascade": Operator(
        ("cascade.cu", "flashinfer_cascade_binding.cu"),
        ("merge_state", "merge_state_in_place", "merge_states"),
    ),
    "concat_mla": Operator(("concat_mla.cu",), ("concat_mla_k",)),
    "fast_topk_clusters": Operator(
        ("flashinfer_fast_topk_clusters_binding.cu",),
        ("fast_topk_clusters_exact", "fast_topk_clusters_exact_ragged_transform"),
    ),
    "fp4_kv_dequantization": Operator(
        ("fp4_kv_dequantization.cu",), ("nvfp4_kv_dequant", "nvfp4_paged_kv_dequant")
    ),
    "fp4_kv_quantization": Operator(("fp4_kv_quantization.cu",), ("nvfp4_kv_quant",), "100a"),
    "hash_topk": Operator(
        ("fused_moe/hash_topk.cu", "fused_moe/hash_topk_jit_binding.cu"), ("hash_topk",)
    ),
    "norm": Operator(
        ("norm.cu", "flashinfer_norm_binding.cu"),
        ("rmsnorm", "fused_add_rmsnorm", "gemma_rmsnorm", "layernorm"),
        flags=("-DENABLE_BF16", "-DENABLE_FP8"),
    ),
    "page": Operator(
        ("page.cu", "flashinfer_page_binding.cu"),
        ("append_paged_kv_cache", "append_paged_mla_kv_cache"),
    ),
    "quantization": Operator(
        ("quantization.cu", "flashinfer_quantization_binding.cu"), ("packbits", "segment_packbits")
    ),
    "rope": Operator(
        ("rope.cu", "flashinfer_rope_binding.cu"),
        ("apply_rope", "apply_llama31_rope_pos_ids", "rope_quantize"),
    ),
    "sampling": Operator(
        ("sampling.cu", "renorm.cu", "flashinfer_sampling_binding.cu"),
        ("softmax", "sampling_from_probs", "top_k_renorm_probs", "chain_speculative_sampling"),
    ),
    "seq_chunk_cumsum": Operator(
        ("seq_chunk_cumsum.cu", "seq_chunk_cumsum_jit_binding.cu"),
        ("seq_chunk_cumsum", "seq_chunk_cumsum_tile_state_size"),
    ),
    "trtllm_sage_quant": Operator(("trtllm_sage_quant.cu",), ("trtllm_sage_attention_quantize",)),
    "vllm_custom_all_reduce": Operator(
        ("vllm_custom_all_reduce.cu",), ("init_custom_ar", "all_reduce", "register_buffer")
    ),
}

KDA = {
    "KDA_PTX_MODULE_IDENT": "kda_image",
    "KDA_PTX_KERNEL_NAME": '"kda"',
    "KDA_PTX_DYNAMIC_SMEM_BYTES": "100000",
    "KDA_PTX_V_BOX_ROWS": "32",
    "KDA_PTX_OUT_BOX_DEPTH": "1",
    "KDA_PTX_HANDOFF_FLAGS": "1",
}
STATE_UPDATE = "cake_selective_state_update/host/cake_selective_state_update_stp_bf16"
CUBIN_HOSTS = {
    "kda": CubinHost("kda/ptx/shim.cc", {**KDA, "KDA_PTX_CLUSTER_X": "1"}),
    "kda_cluster": CubinHost("kda/ptx/shim.cc", {**KDA, "KDA_PTX_CLUSTER_X": "2"}),
    "state_update_direct": CubinHost(f"{STATE_UPDATE}_direct.cc"),
    "state_update_persistent": CubinHost(f"{STATE_UPDATE}_persistent.cc"),
}

# FlashInfer's own compiler flags, without optimization.
DEFINITIONS = [
    f"-DFLASHINFER_ENABLE_{name}"
    for name in ("F16", "BF16", "FP8_E4M3", "FP8_E5M2", "FP8_E8M0", "FP4_E2M1")
]
OURS = [f"-I{path}" for path in libinfo.include_paths()]
NVCC = [
    "nvcc", "-std=c++17", "-c", "-w", "-Xcompiler", "-fPIC", "--expt-relaxed-constexpr",
    "-static-global-template-stub=false", "-DNDEBUG", "-Xcicc", "-O0", *DEFINITIONS, *OURS,
]  # fmt: skip
# For C++ files, nvcc only adds the include directories of CUDA.
CXX = ["nvcc", "-std=c++17", "-c", "-Xcompiler", "-fPIC,-Wall", *OURS]

# CUDA components in separate packages; `pip install --target` puts them next to FlashInfer.
MISSING_LIBRARY = re.compile(r"fatal error: ((?:cublas|curand)\w*\.h): No such file")


def include_flags() -> list[str]:
    """Return the include directories of FlashInfer; its CCCL precedes the toolkit's."""
    cccl = [DATA / "cccl" / part for part in ("libcudacxx/include", "cub", "thrust")]
    other = [DATA / part for part in ("include", "csrc", "cutlass/include", "spdlog/include")]
    other += sorted(DATA.parents[1].glob("nvidia/*/include"))
    return [*(f"-I{path}" for path in cccl), *(f"-isystem={path}" for path in other)]


def run(command: list[str | Path], cwd: Path) -> None:
    """Run a compiler; raise its output if it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
        check=False,
    )
    missing = MISSING_LIBRARY.search(done.stdout)
    if missing:
        pytest.skip(f"no {missing[1]}")
    assert done.returncode == 0, f"{command[-1]}:\n{done.stdout}"


def build(operator: Operator, folder: Path) -> Path:
    architecture = f"-gencode=arch=compute_{operator.architecture}"
    target = f"{architecture},code=compute_{operator.architecture}"
    objects = []
    for source in operator.sources:
        objects.append(folder / f"{Path(source).stem}.o")
        path = DATA / "csrc" / source
        run([*NVCC, target, *operator.flags, *include_flags(), "-o", objects[-1], path], folder)
    library = folder / "operator.so"
    run(["nvcc", "-shared", *objects, "-o", library], folder)
    return library


@pytest.mark.parametrize("name", OPERATORS)
def test_operator_compiles_and_checks_its_arguments(tmp_path, name):
    """Each function is found, and reports its parameters when it is called without arguments."""
    module = tvm_ffi.load_module(build(OPERATORS[name], tmp_path))
    for function in OPERATORS[name].functions:
        with pytest.raises(TypeError, match=rf"when calling: `{function}\(.*but got 0 arguments"):
            module.get_function(function)()


@pytest.mark.parametrize("name", CUBIN_HOSTS)
@pytest.mark.parametrize("uses_driver", [0, 1])
def test_cubin_host_code_compiles(tmp_path, name, uses_driver):
    host = CUBIN_HOSTS[name]
    definitions = {"TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API": str(uses_driver), **host.definitions}
    flags = [f"-D{key}={value}" for key, value in definitions.items()]
    path = DATA / "csrc" / host.source
    run([*CXX, *flags, *include_flags(), "-o", tmp_path / "host.o", path], tmp_path)
