# SPDX-License-Identifier: Apache-2.0
"""Names that published packages use: public modules, and private names that they need."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tvm_ffi
from tvm_ffi import core

MODULES = (
    *("access_path", "container", "core", "cpp", "cpp.dtype", "cpp.extension", "cpp.nvrtc", "cuda"),
    *("dataclasses", "error", "export", "inspection", "libinfo", "module", "registry"),
    *("serialization", "stream", "structural", "stub", "testing", "utils", "utils.embed_cubin"),
    *("utils.kwargs_wrapper", "utils.lockfile", "utils.unpack_dataclass"),
)


@pytest.mark.parametrize("name", MODULES)
def test_modules_are_attributes_after_the_import(run_python, name):
    result = run_python(
        f"import sys, tvm_ffi\nprint(tvm_ffi.{name} is sys.modules['tvm_ffi.{name}'])\n"
    )
    assert (result.returncode, result.stdout) == (0, "True\n"), result.stderr


def test_rarely_needed_modules_are_loaded_lazily(run_python):
    late = ("codegen", "cpp", "cuda", "export", "inspection", "libinfo", "structural", "stub")
    late += ("testing",)
    result = run_python(
        "import sys, tvm_ffi\n"
        f"print([name for name in {late} if 'tvm_ffi.' + name in sys.modules])\n"
    )
    assert (result.returncode, result.stdout) == (0, "[]\n"), result.stderr


def test_versions_have_two_names_each():
    from tvm_ffi import _version

    assert _version.version == _version.__version__ == tvm_ffi.__version__
    assert _version.version_tuple == tvm_ffi.__version_tuple__


def test_the_torch_extension_is_not_needed(run_python):
    result = run_python(
        "import sys\n"
        "from tvm_ffi import _optional_torch_c_dlpack as add_on\n"
        "print(add_on.load_torch_c_dlpack_extension(), 'torch' in sys.modules)\n"
    )
    assert (result.returncode, result.stdout) == (0, "None False\n"), result.stderr


@pytest.fixture
def torch_with_cuda(tmp_path):
    """Return a folder with a fake module `torch`; a variable controls its CUDA support."""
    (tmp_path / "torch.py").write_text(
        "import os\n"
        "class cuda:\n"
        "    is_available = staticmethod(lambda: os.environ['CUDA'] == 'yes')\n"
        "    class Stream:\n"
        "        cuda_stream = 4711\n",
        encoding="utf-8",
    )
    return tmp_path


@pytest.mark.parametrize(("has_cuda", "expected"), [("yes", "(0, 4711)"), ("no", "none")])
def test_torch_streams_get_the_cuda_stream_protocol(
    run_python, torch_with_cuda, has_cuda, expected
):
    code = (
        "import torch\n"
        "from tvm_ffi._optional_torch_c_dlpack import patch_torch_cuda_stream_protocol as patch\n"
        "patch(); patch()\n"
        "print(getattr(torch.cuda.Stream(), '__cuda_stream__', lambda: 'none')())\n"
    )
    result = run_python(code, PYTHONPATH=str(torch_with_cuda), CUDA=has_cuda)
    assert (result.returncode, result.stdout) == (0, f"{expected}\n"), result.stderr


# ---- Type information ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cls", "key", "index"),
    [
        (core.DataType, "DataType", 5),
        (core.Device, "Device", 6),
        (tvm_ffi.Object, "ffi.Object", 64),
        (core.String, "ffi.String", 65),
        (core.Error, "ffi.Error", 67),
        (tvm_ffi.Function, "ffi.Function", 68),
        (tvm_ffi.Shape, "ffi.Shape", 69),
        (tvm_ffi.Tensor, "ffi.Tensor", 70),
        (tvm_ffi.Array, "ffi.Array", 71),
        (tvm_ffi.Dict, "ffi.Dict", None),
        (tvm_ffi.VisitInterrupt, "ffi.VisitInterrupt", 77),
        (tvm_ffi.StructuralKey, "ffi.StructuralKey", None),
    ],
)
def test_types_by_class_and_by_index(cls, key, index):
    info = core._type_cls_to_type_info(cls)
    assert (info.type_cls, info.type_key) == (cls, key)
    assert index in {info.type_index, None}
    by_index = core._type_index_to_type_info(info.type_index)
    assert (by_index.type_cls, by_index.type_key) == (cls, key)


def test_parents_of_builtin_types_have_their_classes():
    """Regression: the parent of a type had no class if the class had not been used before."""
    program = (
        "from tvm_ffi import Object, dataclasses\n"
        "parent = dataclasses.Enum.__tvm_ffi_type_info__.parent_type_info\n"
        "assert parent.type_cls is Object, parent\n"
        "assert parent is Object.__tvm_ffi_type_info__\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


class _Derived(tvm_ffi.Array):
    pass


@pytest.mark.parametrize("cls", [int, str, core.CObject, tvm_ffi.dtype, _Derived, 3, "ffi.Array"])
def test_unregistered_classes_have_no_type_info(cls):
    assert core._type_cls_to_type_info(cls) is None


@pytest.mark.parametrize("index", [0, 1, 11, -1, 10**6])
def test_indices_without_a_class(index):
    assert core._type_index_to_type_info(index) is None


@pytest.mark.parametrize("index", [-1, 10**6])
def test_an_unregistered_type_index_is_a_value_error(index):
    """The C function cannot report an error, and would abort the process."""
    text = f"no type is registered with index {index}"
    with pytest.raises(ValueError, match=text):
        core._lookup_type_attr(index, "__ffi_repr__")
    with pytest.raises(ValueError, match=text):
        core._register_object_by_index(index, _Derived)


def test_the_class_of_a_type_index_is_loaded_on_first_use(run_python):
    result = run_python(
        "from tvm_ffi import core\n"
        "index = core._object_type_key_to_index('ffi.reflection.AccessStep')\n"
        "print(core._type_index_to_type_info(index).type_cls)\n"
    )
    assert result.stdout == "<class 'tvm_ffi.access_path.AccessStep'>\n", result.stderr


def test_registration_by_index_takes_keywords():
    index = core._object_type_key_to_index("ffi.VisitInterrupt")
    info = core._register_object_by_index(type_index=index, type_cls=tvm_ffi.VisitInterrupt)
    assert info.type_cls is tvm_ffi.VisitInterrupt
