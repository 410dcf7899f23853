# SPDX-License-Identifier: Apache-2.0
"""The documentation site: `make docs` writes it to build/docs.

Warnings are errors, so that what is written here and in docstrings stays true to the package:
references that lead nowhere, snippets whose region is gone, public names without documentation.
Nothing is fetched while building.
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
exclude_patterns = ["extensions", "benchmarks/rows.md"]  # the latter is part of a page
root_doc = "index"

# ---- Markdown ------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# ---- Docstrings ----------------------------------------------------------------------------------

nitpicky = True
# Prototypes name types of C, of C++ and of other libraries, which have no page here.
# Nor have type variables.
nitpick_ignore_regex = [
    *(("c:identifier", r".*"), ("cpp:identifier", r".*")),
    ("py:class", r"_[A-Z]\w*"),
]
default_role = "autolink"  # a name in single backticks: a link when it can be imported
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
]  # what adapters import
napoleon_google_docstring = False
napoleon_use_param = False  # types of parameters are prose: "sequence of int, length ndim"
napoleon_use_rtype = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 96  # longer ones have a line for each parameter

# ---- HTML ----------------------------------------------------------------------------------------

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_title = f"pytvmffi {version}"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
