# SPDX-License-Identifier: Apache-2.0
"""Sphinx configuration of the documentation site; `make docs` writes it to build/docs.

Warnings are errors: broken references, quoted regions that do not exist, public names without
documentation.  The build uses no network.
"""

import sys
from pathlib import Path

import tvm_ffi

sys.path.insert(0, str(Path(__file__).resolve().parent / "extensions"))

project = "pytvmffi"
author = "the pytvmffi authors"
project_copyright = ""
version = release = tvm_ffi.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "c_reference",
    "c_headers",
    "command_line",
    "cpp_reference",
    "public_names",
    "repository_links",
    "type_stubs",
]
exclude_patterns = ["extensions", "benchmarks/rows.md"]  # a page includes rows.md
root_doc = "index"

# ---- Markdown ------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# ---- Docstrings ----------------------------------------------------------------------------------

nitpicky = True
# Prototypes contain C and C++ types of other libraries, and annotations contain type variables;
# neither are documented here.
nitpick_ignore_regex = [
    *(("c:identifier", r".*"), ("cpp:identifier", r".*")),
    ("py:class", r"_[A-Z]\w*"),
]
default_role = "autolink"  # a name in single backticks is a link if it can be imported
autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_typehints = "signature"
autodoc_mock_imports = [
    "dask",
    "distributed",
    "tensorflow",
    "helion",
    "triton",
    "cuda",
]  # frameworks that adapters import
napoleon_google_docstring = False
napoleon_use_param = False  # parameter types are prose: "sequence of int, length ndim"
napoleon_use_rtype = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 96  # longer signatures have one parameter per line

# ---- HTML ----------------------------------------------------------------------------------------

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_title = f"pytvmffi {version}"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
